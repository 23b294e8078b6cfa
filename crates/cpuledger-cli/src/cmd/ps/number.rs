//! Numbers as C reads them: decimal, 0x and hexadecimal, 0 and octal, with blanks and a sign in front.

/// The number, if the text is one and nothing else.
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.strip_prefix('0') {
        Some(rest) if rest.starts_with(['x', 'X']) => (16, &rest[1..]),
        Some(rest) if !rest.is_empty() => (8, rest),
        _ => (10, digits),
    };
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    let number = i64::from_str_radix(digits, radix).ok()?;
    Some(if is_negative { -number } else { number })
}

/// A number above 0 that an option needs.
///
/// # Errors
/// A sentence with the option's name.
pub fn positive_number(option: &str, text: &str) -> Result<usize, String> {
    let number = parse(text).filter(|&number| (1..=i64::from(i32::MAX)).contains(&number));
    let number = number.and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| format!("`{option}` needs a number above 0, not `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        for (text, number) in
            [("0", 0), ("10", 10), ("0x20", 32), ("020", 16), (" +7", 7), ("-3", -3), ("00", 0)]
        {
            assert_eq!(parse(text), Some(number), "{text:?}");
        }
        for text in ["", "x", "7x", "7 ", "0x", "08", "--1", "- 1", "99999999999999999999"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert_eq!(positive_number("--cols", "80"), Ok(80));
        assert!(positive_number("--cols", "0").is_err());
    }
}
