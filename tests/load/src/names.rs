//! Names that users may give to their processes, and what they are in outputs. Each has at most 15 bytes, no NUL and no `/`.

/// A name, and what it is in text, JSON and CSV.
pub type Named = (&'static [u8], &'static str);

/// Names that a terminal, a parser, a spreadsheet or a reader would take for something else.
pub const HOSTILE: [Named; 26] = [
    (b"two\nlines", r"two\nlines"),
    (b"a\r\nb", r"a\r\nb"),
    (b"tab\there", r"tab\there"),
    (b"\x1b[2J\x1b[31mred", r"\x1b[2J\x1b[31mred"),
    (b"\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
    (b"\xc2\x9b31mcsi", r"\xc2\x9b31mcsi"),
    (
        b"\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b",
        r"\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b\x9b",
    ),
    (b"\xe2\x80\xaegnp.exe", r"\xe2\x80\xaegnp.exe"),
    (b"ze\xe2\x80\x8bro", r"ze\xe2\x80\x8bro"),
    (b"\xff\xfe", r"\xff\xfe"),
    (b"\xef\xbf\xbd\xef\xbf\xbd", "\u{fffd}\u{fffd}"),
    (br"\xff\xfe", r"\\xff\\xfe"),
    (br"back\slash", r"back\\slash"),
    (b"q\",\"c,d", "q\",\"c,d"),
    (b"\"}],\"pid\":1,\"", "\"}],\"pid\":1,\""),
    (b"=cmd|'!A0", "=cmd|'!A0"),
    (b"<script>&'\"", "<script>&'\""),
    // Words for what is no process.
    (b"(others)", "(others)"),
    (b"(unidentified)", "(unidentified)"),
    (b"(other names)", "(other names)"),
    (b"(other)", "(other)"),
    (b"(kernel)", "(kernel)"),
    (b"idle", "idle"),
    (b"unattributed", "unattributed"),
    (b"= capacity", "= capacity"),
    (b"a > b", "a > b"),
];

/// The first character of a text that a terminal would obey, or that a reader does not see; the ends of lines are none.
pub fn foul(text: &str) -> Option<char> {
    text.chars().find(|letter| {
        (letter.is_control() && *letter != '\n')
            || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}')
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    })
}
