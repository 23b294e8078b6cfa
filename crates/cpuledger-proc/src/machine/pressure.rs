//! `/proc/pressure/{cpu,memory,io}`.

/// Shares of time in which tasks waited for a resource, over 10 s, in hundredths of a percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Some tasks waited.
    pub some: u32,
    /// All of them did; `None`: not told.
    pub full: Option<u32>,
}

/// `some avg10=0.12 avg60=…`, and `full …` on the next line.
pub fn parse_pressure(text: &str) -> Option<Pressure> {
    let share = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" avg10="))?;
        let (whole, rest) = line.split_once('.')?;
        let hundredths: u32 = rest.get(..2)?.parse().ok()?;
        whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(hundredths)
    };
    Some(Pressure { some: share("some")?, full: share("full") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_ten_seconds_are_read() {
        let text = "some avg10=1.05 avg60=82.96 avg300=79.23 total=5\nfull avg10=0.10 avg60=0.00 total=0\n";
        assert_eq!(parse_pressure(text), Some(Pressure { some: 105, full: Some(10) }));
        assert_eq!(parse_pressure(""), None);
        assert_eq!(parse_pressure("some avg10=4294967295.00\n"), None);
    }
}
