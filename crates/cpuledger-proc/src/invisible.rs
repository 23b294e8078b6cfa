//! Characters that are not seen as themselves: they move the cursor, reorder text, break lines, or are shown as nothing, so that
//! two names look alike.

/// By the properties of Unicode 16: categories Cc, Zl, Zp, `Default_Ignorable_Code_Point`, and those of category Cf that are not
/// `Prepended_Concatenation_Mark`, which are seen. A test derives it again.
const RANGES: [(char, char); 20] = [
    ('\u{0}', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether a character is one of these.
pub fn is_invisible(character: char) -> bool {
    let after = RANGES.partition_point(|(first, _)| *first <= character);
    after > 0 && character <= RANGES[after - 1].1
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::is_invisible;

    #[test]
    fn ranges_are_those_of_the_properties() {
        let properties = r"^[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}[\p{Cf}--\p{Prepended_Concatenation_Mark}]]$";
        let properties = Regex::new(properties).expect("properties that regex knows");
        for character in '\0'..=char::MAX {
            let expected = properties.is_match(character.encode_utf8(&mut [0; 4]));
            assert_eq!(is_invisible(character), expected, "U+{:04X}", u32::from(character));
        }
    }
}
