//! Files of the machine.

pub mod loadavg;
pub mod lockdown;
pub mod meminfo;
pub mod pressure;
pub mod stat;
pub mod tty_drivers;

/// The number at the beginning of a line that starts with `name`.
pub(crate) fn number_after(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::number_after;

    #[test]
    fn numbers_are_found_by_their_line() {
        let text = "cpu  1 2\nbtime 1700000000\nMemTotal:       16384 kB\n";
        assert_eq!(number_after(text, "btime "), Some(1_700_000_000));
        assert_eq!(number_after(text, "MemTotal:"), Some(16384));
        assert_eq!(number_after(text, "absent"), None);
    }
}
