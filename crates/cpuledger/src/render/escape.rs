//! Names and arguments of tasks are any bytes their owner likes: nothing of them may reach a terminal as a control.

/// Appends `bytes` as one line of printable UTF-8: what is not UTF-8 or would move a cursor becomes `\xNN`, the usual
/// controls `\n`, `\t`, `\r`, and a backslash `\\`, so that the original can be told from the text.
///
/// ```
/// let mut line = Vec::new();
/// cpuledger::render::escape::append_escaped(&mut line, b"a\x1b[31m\n\xff");
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
                control if is_control(control) => {
                    append_hex(line, control.encode_utf8(&mut [0; 4]).as_bytes())
                }
                printable => line.extend_from_slice(printable.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        append_hex(line, chunk.invalid());
    }
}

/// Controls of ASCII and of Latin-1, and the characters that reorder text or break lines.
fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
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

#[cfg(test)]
mod tests {
    use super::append_escaped;

    fn escaped(bytes: &[u8]) -> String {
        let mut line = Vec::new();
        append_escaped(&mut line, bytes);
        String::from_utf8(line).expect("escaped text is UTF-8")
    }

    #[test]
    fn printable_text_is_unchanged() {
        for text in ["plain", "a b) (c", "größe", "日本", ""] {
            assert_eq!(escaped(text.as_bytes()), text);
        }
    }

    #[test]
    fn controls_and_invalid_bytes_are_visible() {
        assert_eq!(escaped(b"\x1b[31m"), r"\x1b[31m");
        assert_eq!(escaped(b"a\nb\tc\\"), r"a\nb\tc\\");
        assert_eq!(escaped(b"\xff\xfeok"), r"\xff\xfeok");
        assert_eq!(escaped("\u{9b}1m\u{202e}".as_bytes()), r"\xc2\x9b1m\xe2\x80\xae");
    }
}
