//! How wide text is on a screen.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The places that text takes on a screen.
#[inline]
pub fn width(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    str::from_utf8(text).map_or(text.len(), UnicodeWidthStr::width)
}

/// Cuts text to `places` on a screen, between two characters.
pub fn cut(text: &mut Vec<u8>, places: usize) {
    if text.is_ascii() {
        return text.truncate(places);
    }
    let mut taken = 0;
    let end = str::from_utf8(text).ok().and_then(|text| {
        let beyond = text.char_indices().find(|(_, character)| {
            taken += character.width().unwrap_or(0);
            taken > places
        });
        beyond.map(|(index, _)| index)
    });
    text.truncate(end.unwrap_or(text.len()));
}
