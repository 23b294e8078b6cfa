//! Names of signals, as kill(1) lists them, without `SIG`.

/// The names of signals 1 to 31, in this order.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "POLL", "PWR", "SYS",
];

/// The name of a signal; `None` for a real-time signal, and for a number that is none.
pub fn name(number: u32) -> Option<&'static str> {
    NAMES.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_numbers() {
        assert_eq!(
            [1, 9, 15, 29, 31].map(name),
            [Some("HUP"), Some("KILL"), Some("TERM"), Some("POLL"), Some("SYS")]
        );
        assert_eq!([0, 32, u32::MAX].map(name), [None; 3]);
    }
}
