//! Names and sentences as text in HTML.

use cpuledger_report::Name;

use super::super::document::Labels;

/// Appends what a name or a sentence is in HTML: text, whatever it holds.
pub(super) fn append_text(html: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
}

/// The longest name that is shown; its begin is kept.
const MOST_NAME_CHARACTERS: usize = 512;

/// The words for a name.
pub(super) fn name_of(labels: &Labels, name: &Name) -> String {
    let label = labels.label(name);
    match label.char_indices().nth(MOST_NAME_CHARACTERS) {
        Some((end, _)) => format!("{}…", &label[..end]),
        None => label,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_text() {
        let mut html = String::new();
        super::append_text(&mut html, "<script>alert('&\"')</script>");
        assert_eq!(html, "&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;");
    }
}
