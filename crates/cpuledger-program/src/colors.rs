//! How many colours the terminal has.

use std::env;

use term::terminfo::TermInfo;

/// How many colours a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colors {
    /// None, or none are wanted.
    None,
    /// Those of ISO 6429.
    Eight,
    /// The same, each also bright.
    Sixteen,
    /// 256.
    Indexed,
    /// 16 million.
    True,
}

impl Colors {
    /// Those of the terminal that the environment names.
    pub fn of_terminal() -> Colors {
        if env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
            return Colors::None; // https://no-color.org
        }
        let of = |name: &str| env::var(name).unwrap_or_default();
        let term = of("TERM");
        let info = TermInfo::from_name(&term).ok();
        let count = info.map(|info| info.numbers.get("colors").copied().unwrap_or(0));
        Colors::of(&term, &of("COLORTERM"), count)
    }

    /// By the name of the terminal, what it claims, and the number in terminfo; `None`: it is not in there.
    fn of(term: &str, claim: &str, count: Option<u32>) -> Colors {
        let is_plain = term.is_empty() || term == "dumb" || term.starts_with("vt") || term.contains("mono");
        match count {
            Some(0..8) => Colors::None,
            None if is_plain => Colors::None,
            _ if claim == "truecolor" || claim == "24bit" => Colors::True,
            Some(8..16) => Colors::Eight,
            Some(16..256) => Colors::Sixteen,
            Some(256..0x0100_0000) => Colors::Indexed,
            Some(_) => Colors::True,
            None if term.contains("256color") => Colors::Indexed,
            None => Colors::Sixteen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminfo_decides_and_a_claim_of_true_colour_is_believed_where_there_are_any() {
        for (term, claim, count, expected) in [
            ("xterm-256color", "", Some(256), Colors::Indexed),
            ("xterm-256color", "truecolor", Some(256), Colors::True),
            ("xterm-direct", "", Some(0x0100_0000), Colors::True),
            ("linux", "", Some(8), Colors::Eight),
            ("xterm", "24bit", Some(8), Colors::True),
            ("rxvt-16color", "", Some(16), Colors::Sixteen),
            ("rxvt-88color", "", Some(88), Colors::Sixteen),
            ("xterm-mono", "truecolor", Some(0), Colors::None),
            ("vt220", "", Some(0), Colors::None),
            ("foot", "", None, Colors::Sixteen),
            ("alacritty-256color", "", None, Colors::Indexed),
            ("vt100", "truecolor", None, Colors::None),
            ("dumb", "", None, Colors::None),
            ("xterm-mono", "", None, Colors::None),
            ("", "", None, Colors::None),
        ] {
            assert_eq!(Colors::of(term, claim, count), expected, "{term} {claim} {count:?}");
        }
    }
}
