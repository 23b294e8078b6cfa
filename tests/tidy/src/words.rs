//! Words that the project does not use, each with the standard term for it.

use crate::code::{code_of, has_word};

/// A word, and what to write instead. `*` at its end stands for any ending.
const WORDS: &[(&str, &str)] = &[
    ("mend", "remedy, hint or correct"),
    ("mends", "remedy, hint or correct"),
    ("mended", "corrected"),
    ("mending", "correcting"),
    ("keeper*", "attribution"),
    ("mourn*", "grace period"),
    ("buri*", "tombstone"),
    ("bury*", "tombstone"),
    ("household*", "process tree"),
    ("crowd*", "idle-task cache"),
    ("wish*", "subscription, or optional"),
    ("vitals", "host statistics"),
    ("stuck", "poisoned"),
    ("door", "entry point"),
    ("doors", "entry points"),
    ("asker*", "caller"),
    ("tile", "run segment"),
    ("tiles", "run segments"),
    ("tiled", "without a gap"),
    ("so many", "the number itself, or a limit"),
    ("so much", "the amount itself, or a limit"),
    ("so long", "the time itself, or a timeout"),
    ("so often", "the number of attempts"),
    ("he", "it"),
    ("him", "it"),
    ("his", "its"),
    ("himself", "itself"),
    ("nobody", "nothing, none or no task"),
    ("somebody", "something, a task or another process"),
    ("anybody", "anything or any task"),
    ("everybody", "all, every user or every task"),
    ("whoever", "the task that, or which"),
    ("whom", "which"),
];

/// As the name of a thing in code: as a verb in prose it is a word like any other.
const NAMES: &[(&str, &str)] = &[("means", "backend"), ("Means", "Backend")];

/// After these, `who` is a person.
const PERSONS: &[&str] = &[
    "user",
    "users",
    "person",
    "people",
    "someone",
    "anyone",
    "everyone",
    "administrator",
    "administrators",
    "developer",
    "developers",
];

/// A file, or a folder that ends in `/`, where a word may stand, and why.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "crates/cpuledger-cli/src/cmd/doctor.rs",
        "mend",
        "the former name of a key of JSON, kept for one version",
    ),
    (
        "crates/cpuledger-cli/tests/doctor.rs",
        "mend",
        "the former name of a key of JSON, kept for one version",
    ),
    ("CHANGELOG.md", "mend", "the former name of a key of JSON, kept for one version"),
    ("crates/cpuledger-cli/tests/doctor_root.rs", "nobody", "the user of that name"),
    ("crates/cpuledger-cli/tests/hostile_machine_root.rs", "nobody", "the user of that name"),
    ("crates/cpuledger-cli/tests/netlink_root.rs", "nobody", "the user of that name"),
    ("crates/cpuledger-cli/tests/privileges_root.rs", "nobody", "the user of that name"),
    ("crates/cpuledger-cli/tests/top_user_root.rs", "nobody", "the user of that name"),
    ("crates/cpuledger/tests/procfs_root.rs", "nobody", "the user of that name"),
    ("tests/tidy/src/words.rs", "", "the list of these words"),
];

/// What is looked at, by the end of the name.
const EXTENSIONS: &[&str] = &["rs", "c", "h", "md", "sh", "toml", "yml", "1"];

/// Reports each word of `text`, the file at `path`, that the project does not use.
pub fn check(path: &str, text: &str, add: &mut dyn FnMut(usize, String)) {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if !EXTENSIONS.contains(&extension) && !path.starts_with("scripts/") && name != "Makefile" {
        return;
    }
    for (number, line) in (1..).zip(text.lines()) {
        let mut report = |word: &str, instead: &str| {
            if !is_allowed(path, word) {
                add(number, format!("the project does not say '{word}' here: write {instead}"));
            }
        };
        let words = words_of(line);
        for (word, instead) in found(&words, WORDS) {
            report(&word, instead);
        }
        let code = code_of(line);
        for (name, instead) in NAMES.iter().filter(|(name, _)| extension == "rs" && has_word(&code, name)) {
            report(name, instead);
        }
        if has_who(&prose_of(extension, line)) {
            report("who", "which or that: a task or a process is 'it'");
        }
    }
}

fn is_allowed(path: &str, word: &str) -> bool {
    ALLOWED.iter().any(|(place, allowed, _)| covers(place, path) && (allowed.is_empty() || *allowed == word))
}

/// Whether `place` of a list is this file, or a folder that holds it.
fn covers(place: &str, path: &str) -> bool {
    if place.ends_with('/') { path.starts_with(place) } else { path == place }
}

/// The words of a line in small letters; names of code are taken apart. A word between quotes or backticks is a name.
fn words_of(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find(|character: char| character.is_ascii_alphabetic()) {
        let end = rest[start..]
            .find(|character: char| !character.is_ascii_alphabetic())
            .map_or(rest.len(), |length| start + length);
        let is_quoted = ['"', '`', '\'']
            .iter()
            .any(|&quote| rest[..start].ends_with(quote) && rest[end..].starts_with(quote));
        if is_quoted || !rest[..start].trim().is_empty() {
            words.push(String::new()); // No phrase goes over it.
        }
        if !is_quoted {
            split_camel_case(&rest[start..end], &mut words);
        }
        rest = &rest[end..];
    }
    words
}

fn split_camel_case(name: &str, words: &mut Vec<String>) {
    let mut word = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() && word.ends_with(|last: char| last.is_ascii_lowercase()) {
            words.push(std::mem::take(&mut word).to_lowercase());
        }
        word.push(character);
    }
    words.push(word.to_lowercase());
}

/// Which of `table` are among these words, with what to write instead.
fn found(words: &[String], table: &'static [(&str, &str)]) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        for (pattern, instead) in table {
            let is_found = match (pattern.split_once(' '), pattern.strip_suffix('*')) {
                (Some((first, second)), _) => {
                    word == first && words.get(index + 1).is_some_and(|next| next == second)
                }
                (None, Some(beginning)) => word.starts_with(beginning),
                (None, None) => word == pattern,
            };
            if is_found {
                found.push((pattern.trim_end_matches('*').to_owned(), *instead));
            }
        }
    }
    found
}

/// What of a line is prose: all of a text, the comment of a line of code.
fn prose_of(extension: &str, line: &str) -> String {
    let trimmed = line.trim_start();
    match extension {
        "rs" | "c" | "h" => {
            let is_comment = trimmed.starts_with("/*")
                || trimmed.starts_with("//")
                || extension != "rs" && trimmed.starts_with('*');
            let start =
                if is_comment { 0 } else { line.find("// ").or(line.find("/* ")).unwrap_or(line.len()) };
            line[start..].to_owned()
        }
        _ => line.to_owned(),
    }
}

fn has_who(prose: &str) -> bool {
    let words = words_of(prose);
    words
        .iter()
        .enumerate()
        .any(|(index, word)| word == "who" && (index == 0 || !PERSONS.contains(&words[index - 1].as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut lines = Vec::new();
        check(path, text, &mut |line, _| lines.push(line));
        lines
    }

    #[test]
    fn each_word_is_found_with_what_to_write_instead() {
        for (pattern, instead) in WORDS {
            let word = pattern.trim_end_matches('*');
            let mut sentences = Vec::new();
            check("a.md", &format!("A {word} here."), &mut |_, sentence| sentences.push(sentence));
            assert_eq!(sentences.len(), 1, "{word}");
            assert!(sentences[0].contains(word) && sentences[0].contains(instead), "{sentences:?}");
        }
    }

    #[test]
    fn names_of_code_are_taken_apart() {
        let text = "struct AskerOfTasks;\nlet is_stuck = 1;\nconst MOURNING_NS: u64 = 2;\nlet percentile = hostile;\n";
        assert_eq!(lines("tests/a.rs", text), [1, 2, 3]);
    }

    #[test]
    fn a_name_between_quotes_is_not_a_word() {
        assert!(lines("a.md", "The user `nobody`.\n").is_empty());
        assert!(lines("tests/a.rs", "let user = \"nobody\";\n").is_empty());
        assert_eq!(lines("tests/a.rs", "f(\"nobody is here\");\n"), [1]);
    }

    #[test]
    fn means_is_a_verb_but_no_name() {
        assert_eq!(
            lines(
                "tests/a.rs",
                "enum Means {\n/// What it means.\nlet a = \"- means none\";\nfn none_means_two() {\n"
            ),
            [1]
        );
    }

    #[test]
    fn only_a_person_is_who() {
        let text = "/// A task who ran.\n/// A user who waits.\nlet who = 1; // Who asks.\n// Processes which exited.\n";
        assert_eq!(lines("tests/a.rs", text), [1, 3]);
    }

    #[test]
    fn a_phrase_ends_at_a_mark() {
        assert_eq!(lines("a.md", "It waits so long.\nIt is so, long or not.\n"), [1]);
    }

    #[test]
    fn each_exception_is_needed() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (place, word, _) in ALLOWED.iter().filter(|(_, word, _)| !word.is_empty()) {
            let text = std::fs::read_to_string(root.join(place)).expect("a file of the list");
            assert!(text.contains(word), "{place} does not say '{word}' any more: drop the exception");
        }
    }
}
