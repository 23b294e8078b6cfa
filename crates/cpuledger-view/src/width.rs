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

/// Text in lines of at most `places` on a screen, broken at blanks; the blank there is dropped. A word that is longer than a line is broken
/// where the line ends.
pub fn wrap(text: &str, places: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let needed = width(line.as_bytes()) + usize::from(!line.is_empty()) + width(word.as_bytes());
        if !line.is_empty() && needed > places {
            lines.push(std::mem::take(&mut line));
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        while width(line.as_bytes()) > places.max(1) {
            let mut first = line.clone().into_bytes();
            cut(&mut first, places.max(1));
            let rest = line.split_off(first.len().max(1));
            lines.push(std::mem::replace(&mut line, rest));
        }
    }
    lines.push(line);
    lines
}

/// Phrases joined by `between`: as many of the first as there are places for, and the first in any case.
pub fn fitting(phrases: impl IntoIterator<Item = String>, between: &str, places: usize) -> String {
    let mut phrases = phrases.into_iter();
    let mut text = phrases.next().unwrap_or_default();
    for phrase in phrases {
        let longer = format!("{text}{between}{phrase}");
        if width(longer.as_bytes()) > places {
            break;
        }
        text = longer;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_blanks_and_lose_nothing() {
        assert_eq!(wrap("a bc def", 4), ["a bc", "def"]);
        assert_eq!(wrap("a  bc", 9), ["a  bc"], "blanks within a line stay");
        assert_eq!(wrap("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrap("größe ist", 5), ["größe", "ist"]);
        assert_eq!(wrap("", 5), [""]);
        let text = "Not seen: processes that exited in the interval (root sees them)";
        for places in 1..80 {
            let lines = wrap(text, places);
            assert!(lines.iter().all(|line| width(line.as_bytes()) <= places), "{places}: {lines:?}");
            let letters = |text: &str| text.replace(' ', "");
            assert_eq!(letters(&lines.concat()), letters(text));
        }
    }
}
