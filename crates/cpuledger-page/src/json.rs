//! Text of JSON that may stand in a page.

use std::fmt::Write as _;

/// Appends a text with its quotes. Nothing of it ends the element that it stands in.
pub(crate) fn append_text(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                json.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => json.push(other),
        }
    }
    json.push('"');
}

/// Appends a number as a text of digits, which a script takes exactly.
pub(crate) fn append_number(json: &mut String, number: u64) {
    write!(json, "\"{number}\"").expect("memory takes all");
}

/// Likewise; `None` is null.
pub(crate) fn append_known(json: &mut String, number: Option<u64>) {
    match number {
        Some(number) => append_number(json, number),
        None => json.push_str("null"),
    }
}

/// Appends a list of what `append` appends.
pub(crate) fn append_list<T>(
    json: &mut String,
    items: impl IntoIterator<Item = T>,
    mut append: impl FnMut(&mut String, T),
) {
    json.push('[');
    for (number, item) in items.into_iter().enumerate() {
        if number > 0 {
            json.push(',');
        }
        append(json, item);
    }
    json.push(']');
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_text_ends_the_element_that_it_stands_in() {
        let hostile = "</script><!-- \"\\\u{2028}\n&\u{1}";
        let mut json = String::new();
        super::append_text(&mut json, hostile);
        assert!(!json.contains(['<', '>', '&', '\n', '\u{2028}']));
        assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), hostile);
    }
}
