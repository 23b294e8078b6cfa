//! What of a line is code, and which words are in it.

/// The line without strings and line comments. The inside of a string of several lines counts as code.
pub fn code_of(line: &str) -> String {
    let mut code = String::new();
    let mut in_string = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if in_string => drop(characters.next()),
            '\'' if !in_string && characters.peek() == Some(&'"') => drop(characters.next()),
            '"' => in_string = !in_string,
            '/' if !in_string && characters.peek() == Some(&'/') => break,
            _ if in_string => {}
            _ => code.push(character),
        }
    }
    code
}

/// Whether `word` stands in the line, and not as a part of a longer one.
pub fn has_word(line: &str, word: &str) -> bool {
    let part_of_word = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(start, _)| {
        !line[..start].ends_with(part_of_word) && !line[start + word.len()..].starts_with(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_not_code() {
        assert_eq!(code_of(r#"f("a\"b", '"', "c") // d"#), "f(, ', ) ");
    }
}
