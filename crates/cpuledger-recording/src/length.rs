//! Lengths of tiers as names of directories.

use std::time::Duration;

const UNITS: [(u128, &str); 5] = [
    (86_400_000_000_000, "d"),
    (3_600_000_000_000, "h"),
    (60_000_000_000, "m"),
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
];

/// As `1s`, `1m` or `250ms`; of frames as they come, `all`.
pub(crate) fn name_of(length: Duration) -> String {
    let ns = length.as_nanos();
    if ns == 0 {
        return "all".into();
    }
    let unit = UNITS.iter().find(|(unit_ns, _)| ns.is_multiple_of(*unit_ns));
    unit.map_or_else(|| format!("{ns}ns"), |(unit_ns, name)| format!("{}{name}", ns / unit_ns))
}

/// The length that has this name.
pub(crate) fn of_name(name: &str) -> Option<Duration> {
    if name == "all" {
        return Some(Duration::ZERO);
    }
    let digits = name.len() - name.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (count, unit) = name.split_at(digits);
    let unit_ns = if unit == "ns" { 1 } else { UNITS.iter().find(|(_, own)| *own == unit)?.0 };
    let ns = count.parse::<u64>().ok()?.checked_mul(u64::try_from(unit_ns).ok()?)?;
    let length = Duration::from_nanos(ns);
    // Another spelling is not a directory of ours.
    (name_of(length) == name).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_one_length() {
        for (ns, name) in
            [(0, "all"), (1_000_000_000, "1s"), (90_000_000_000, "90s"), (60_000_000_000, "1m"), (7, "7ns")]
        {
            assert_eq!(name_of(Duration::from_nanos(ns)), name);
            assert_eq!(of_name(name), Some(Duration::from_nanos(ns)));
        }
        for name in ["", "60s", "s", "1", "1y", "01s", "99999999999999999999s", "lock", "0s"] {
            assert_eq!(of_name(name), None, "{name}");
        }
    }
}
