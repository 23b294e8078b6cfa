//! A sentence of prose holds one idea: it has a limit of words, and of marks that join clauses. Prose is the text of Markdown without
//! code, tables and headings, and the comments of Rust and C.

/// Maximum number of words of a sentence. A piece of code between backticks is one word.
pub const MAX_WORDS: usize = 35;

/// Maximum number of semicolons and colons in a sentence.
pub const MAX_MARKS: usize = 2;

/// Reports each sentence of the file at `path` that holds more than one idea.
pub fn check(path: &str, text: &str, add: &mut dyn FnMut(usize, String)) {
    for (line, paragraph) in paragraphs(path, text) {
        for sentence in sentences(&paragraph) {
            let words = sentence.split_whitespace().count();
            let marks = sentence.matches(';').count() + sentence.matches(": ").count();
            if words > MAX_WORDS || marks > MAX_MARKS {
                let begin: Vec<&str> = sentence.split_whitespace().take(6).collect();
                add(
                    line,
                    format!(
                        "a sentence of {words} words, with {marks} semicolons and colons ('{}…'): make several of it",
                        begin.join(" ")
                    ),
                );
            }
        }
    }
}

/// Each paragraph with the number of its first line, code replaced by one word.
fn paragraphs(path: &str, text: &str) -> Vec<(usize, String)> {
    let is_prose_of: fn(&str) -> Option<&str> = match path.rsplit_once('.') {
        Some((_, "md")) => |line| Some(line.trim()),
        Some((_, "rs")) => rust_comment,
        Some((_, "c" | "h")) => c_comment,
        _ => return Vec::new(),
    };
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let (mut is_in_code, mut is_open) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let prose = is_prose_of(line).unwrap_or_default().trim();
        if prose.starts_with("```") {
            is_in_code = !is_in_code;
            is_open = false;
            continue;
        }
        if is_in_code || prose.is_empty() || prose.starts_with(['|', '#', '<', '!']) {
            is_open = false;
            continue;
        }
        let item = item_of(prose);
        if is_open && item.is_none() {
            let (_, paragraph) = paragraphs.last_mut().expect("it is open");
            paragraph.push(' ');
            paragraph.push_str(prose);
        } else {
            paragraphs.push((number, item.unwrap_or(prose).to_owned()));
        }
        is_open = true;
    }
    paragraphs.iter_mut().for_each(|(_, paragraph)| *paragraph = without_code(paragraph));
    paragraphs
}

/// What a line of a list says behind its mark; `None`: it begins no item.
fn item_of(prose: &str) -> Option<&str> {
    let behind_number = prose.trim_start_matches(|character: char| character.is_ascii_digit());
    let numbered = behind_number.strip_prefix(". ").filter(|_| behind_number.len() < prose.len());
    prose.strip_prefix("- ").or_else(|| prose.strip_prefix("* ")).or(numbered)
}

fn rust_comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["///", "//!", "//"].iter().find_map(|mark| line.strip_prefix(mark))
}

/// The text of a line that begins with a comment, or goes on with one of several lines.
fn c_comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = ["/*", "//", "*/", "*"].iter().find_map(|mark| line.strip_prefix(mark))?;
    Some(text.split("*/").next().unwrap_or_default())
}

/// Each piece of code as one word, links without their address.
fn without_code(paragraph: &str) -> String {
    let parts = paragraph.split('`').enumerate();
    let text: String = parts.map(|(index, part)| if index % 2 == 0 { part } else { "code" }).collect();
    let mut pieces = text.split("](");
    let mut without_links = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        without_links.push_str(piece.split_once(')').map_or(piece, |(_, rest)| rest));
    }
    without_links
}

/// The sentences of a paragraph: they end with a mark, a blank, and a capital letter, a digit, or a bracket.
fn sentences(paragraph: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (index, _) in paragraph.match_indices([' ', '\n']) {
        let next = paragraph[index + 1..].chars().next().unwrap_or(' ');
        let ends = paragraph[..index].trim_end_matches(['*', ')']).ends_with(['.', '!', '?']);
        if ends
            && (next.is_uppercase()
                || next.is_ascii_digit()
                || "(*[".contains(next)
                || paragraph[index + 1..].starts_with("code"))
        {
            sentences.push(&paragraph[start..index]);
            start = index + 1;
        }
    }
    sentences.push(&paragraph[start..]);
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut lines = Vec::new();
        check(path, text, &mut |line, _| lines.push(line));
        lines
    }

    fn words(count: usize) -> String {
        vec!["word"; count].join(" ")
    }

    #[test]
    fn a_long_sentence_is_found_in_each_kind_of_file() {
        let (fine, long) = (words(MAX_WORDS), words(MAX_WORDS + 1));
        assert!(lines("a.md", &format!("{fine}.\n")).is_empty());
        assert_eq!(lines("a.md", &format!("Short.\n\n{long}.\n")), [3]);
        assert_eq!(lines("a.rs", &format!("fn f() {{}}\n/// {long}.\n// {long}.\n")), [2]);
        assert_eq!(lines("a.c", &format!("int a;\n/*\n * {long}.\n */\n")), [3]);
        assert!(lines("a.sh", &format!("# {long}.\n")).is_empty());
    }

    #[test]
    fn a_sentence_over_several_lines_is_one() {
        let half = words(MAX_WORDS / 2 + 1);
        assert_eq!(lines("a.md", &format!("- {half}\n  {half}.\n")), [1]);
        assert!(lines("a.md", &format!("- {half}.\n- {half}.\n")).is_empty());
        assert!(lines("a.md", &format!("{half}.\nThen {half}.\n")).is_empty());
    }

    #[test]
    fn a_chain_of_clauses_is_found() {
        assert!(lines("a.md", "One: two; three.\n").is_empty());
        assert_eq!(lines("a.md", "One: two; three; four.\n"), [1]);
    }

    #[test]
    fn tables_code_and_headings_are_no_prose() {
        let long = words(MAX_WORDS + 1);
        let text = format!("# {long}\n| {long} |\n```\n{long}\n```\nSee `{long}` and [a](b/{long}).\n");
        assert!(lines("a.md", &text).is_empty());
        assert!(lines("a.rs", &format!("let a = \"{long}\";\n/// ```\n/// {long}\n/// ```\n")).is_empty());
    }
}
