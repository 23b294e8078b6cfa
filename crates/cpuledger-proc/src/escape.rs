//! Names and arguments of tasks are any bytes their owner likes: nothing of them may reach a terminal as a control.

use crate::invisible::is_invisible;

/// Appends `bytes` as one line of printable UTF-8, from which the original can be told. What is not UTF-8 or would move a cursor
/// becomes `\xNN`, the usual controls become `\n`, `\t`, `\r`, and a backslash becomes `\\`.
///
/// ```
/// let mut line = Vec::new();
/// cpuledger_proc::escape::append_escaped(&mut line, b"a\x1b[31m\n\xff");
/// assert_eq!(line, br"a\x1b[31m\n\xff");
/// ```
pub fn append_escaped(line: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.iter().all(|&byte| (b' '..=b'~').contains(&byte) && byte != b'\\') {
        line.extend_from_slice(bytes); // nearly every name
        return;
    }
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => line.extend_from_slice(br"\n"),
                '\t' => line.extend_from_slice(br"\t"),
                '\r' => line.extend_from_slice(br"\r"),
                '\\' => line.extend_from_slice(br"\\"),
                hidden if is_invisible(hidden) => {
                    append_hex(line, hidden.encode_utf8(&mut [0; 4]).as_bytes())
                }
                printable => line.extend_from_slice(printable.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        append_hex(line, chunk.invalid());
    }
}

/// The same as a string.
pub fn escaped(bytes: &[u8]) -> String {
    let mut line = Vec::new();
    append_escaped(&mut line, bytes);
    String::from_utf8_lossy(&line).into_owned()
}

/// Appends a sentence that may quote a user's words: only invisible characters are escaped. It may have several lines.
pub fn append_sentence(text: &mut Vec<u8>, sentence: &str) {
    for character in sentence.chars() {
        let mut buffer = [0; 4];
        let encoded = character.encode_utf8(&mut buffer).as_bytes();
        if is_invisible(character) && character != '\n' {
            append_hex(text, encoded);
        } else {
            text.extend_from_slice(encoded);
        }
    }
}

/// Appends `bytes` as one line of printable UTF-8 as procps does, from which the original cannot be told. A backslash stays as
/// it is, and each byte of what may not reach a terminal becomes `?`. That is what procps replaces (controls, what is not UTF-8,
/// characters of private use), and what reorders text or is invisible.
///
/// ```
/// let mut line = Vec::new();
/// cpuledger_proc::escape::append_printable(&mut line, b"C:\\dir \x1b[31m\xff");
/// assert_eq!(line, br"C:\dir ?[31m?");
/// ```
pub fn append_printable(line: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        line.extend_from_slice(bytes); // nearly every name
        return;
    }
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let mut buffer = [0; 4];
            let encoded = character.encode_utf8(&mut buffer).as_bytes();
            if is_invisible(character) || is_private(character) {
                line.resize(line.len() + encoded.len(), b'?');
            } else {
                line.extend_from_slice(encoded);
            }
        }
        line.resize(line.len() + chunk.invalid().len(), b'?');
    }
}

/// Characters to which no standard gives a form.
fn is_private(character: char) -> bool {
    matches!(character, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}')
}

fn append_hex(line: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        line.extend_from_slice(&[
            b'\\',
            b'x',
            DIGITS[usize::from(byte >> 4)],
            DIGITS[usize::from(byte & 15)],
        ]);
    }
}

/// How cells of CSV are written that have text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cells {
    /// As they are.
    #[default]
    Plain,
    /// With an apostrophe before what a spreadsheet would take for a formula: a name may be one that its owner has chosen for it.
    Inert,
}

impl Cells {
    /// Appends the text of a cell. Where a spreadsheet separates cells by semicolons, as it does in some languages, each may begin one.
    pub fn append(self, cell: &mut Vec<u8>, text: &[u8]) {
        let mut begins = true;
        for &byte in text {
            if self == Cells::Inert && begins && matches!(byte, b'=' | b'+' | b'-' | b'@' | b'\'') {
                cell.push(b'\'');
            }
            begins = byte == b';' || begins && byte == b' ';
            cell.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cells, append_printable, escaped};

    #[test]
    fn printable_text_is_unchanged() {
        for text in ["plain", "a b) (c", "größe", "日本", ""] {
            assert_eq!(escaped(text.as_bytes()), text);
        }
    }

    #[test]
    fn what_is_not_seen_is_escaped() {
        for hidden in
            ["\u{61c}", "\u{ad}", "\u{180e}", "\u{e0041}", "\u{2066}", "\u{200d}", "\u{fe0f}", "\u{3164}"]
        {
            let bytes: Vec<String> = hidden.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
            assert_eq!(escaped(format!("a{hidden}b").as_bytes()), format!("a{}b", bytes.concat()));
        }
        // Written from right to left, and seen.
        for seen in [
            "\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
            "\u{633}\u{644}\u{627}\u{645}",
            "\u{600}",
            "e\u{301}",
            "\u{1f600}",
        ] {
            assert_eq!(escaped(seen.as_bytes()), seen);
        }
    }

    #[test]
    fn controls_and_invalid_bytes_are_visible() {
        assert_eq!(escaped(b"\x1b[31m"), r"\x1b[31m");
        assert_eq!(escaped(b"a\nb\tc\\"), r"a\nb\tc\\");
        assert_eq!(escaped(b"\xff\xfeok"), r"\xff\xfeok");
        assert_eq!(escaped("\u{9b}1m\u{202e}".as_bytes()), r"\xc2\x9b1m\xe2\x80\xae");
    }
    #[test]
    fn what_procps_replaces_is_a_question_mark_a_byte() {
        for (bytes, expected) in [
            (&b"C:\\dir\\x"[..], r"C:\dir\x"),
            (b"a\nb\tc\x7f", "a?b?c?"),
            ("gr\u{f6}\u{df}e \u{65e5}\u{672c}".as_bytes(), "gr\u{f6}\u{df}e \u{65e5}\u{672c}"),
            (b"\xff\xe6\x97ok", "???ok"),
            ("\u{9b}1m".as_bytes(), "??1m"),
            ("\u{202e}\u{e000}\u{f0000}".as_bytes(), "??????????"),
        ] {
            let mut line = Vec::new();
            append_printable(&mut line, bytes);
            assert_eq!(String::from_utf8_lossy(&line), expected);
        }
    }

    #[test]
    fn formulas_are_text_for_a_spreadsheet() {
        for (text, inert) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-x", "'-x"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("'=1", "''=1"),
            ("a=1", "a=1"),
            (" =1", " '=1"),
            ("x;=1+1; -2;y", "x;'=1+1; '-2;y"),
            ("", ""),
        ] {
            for (cells, expected) in [(Cells::Plain, text), (Cells::Inert, inert)] {
                let mut cell = Vec::new();
                cells.append(&mut cell, text.as_bytes());
                assert_eq!(String::from_utf8_lossy(&cell), expected);
            }
        }
    }
}
