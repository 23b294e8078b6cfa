//! The page that shows the books in a browser: `cpuledger web` serves it, and `cpuledger report --format html` writes it with its data inside.
//!
//! It is one file (`page/`, put together by `build.rs`), which loads nothing from elsewhere. Its policy lets a browser run this script and no
//! other, and refuses to make elements of text (Trusted Types). Data comes as *sheets* ([`append_sheet`]): numbers are texts of digits,
//! as a script counts exactly up to 2^53 only.
#![forbid(unsafe_code)]

mod json;
mod sheet;

pub use sheet::{SCHEMA, Sheet, append_sheet};

/// The page without data: it asks the server that it came from.
pub const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));

/// What the policy of the page (Content-Security-Policy) allows of scripts and styles.
pub const POLICY: &str = include_str!(concat!(env!("OUT_DIR"), "/policy"));

/// Where the data of a page stands.
const PLACE: &str = "<!--data-->";

/// A page with its data inside: what it is of, and sheets of the same span, the first of which is shown first.
pub fn page_of<'a>(host: &str, sheets: impl IntoIterator<Item = Sheet<'a>>) -> String {
    let mut data = String::from("<script type=\"application/json\" id=\"data\">{\"host\":");
    json::append_text(&mut data, host);
    data.push_str(",\"sheets\":[");
    for (number, sheet) in sheets.into_iter().enumerate() {
        if number > 0 {
            data.push(',');
        }
        append_sheet(&mut data, &sheet);
    }
    data.push_str("]}</script>");
    PAGE.replacen(PLACE, &data, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole page fits into what a slow line loads in a second or two.
    #[test]
    fn the_page_is_small_and_loads_nothing() {
        assert!(PAGE.len() < 300_000, "{} bytes", PAGE.len());
        assert_eq!(PAGE.matches(PLACE).count(), 1);
        assert!(PAGE.contains(POLICY) && !PAGE.contains("{{"));
        for foreign in
            ["src=", "@import", "url(", "innerHTML", "insertAdjacentHTML", "document.write", "eval("]
        {
            assert!(!PAGE.contains(foreign), "{foreign}");
        }
    }
}
