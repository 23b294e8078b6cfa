//! The balance of an interval as percentages that add up as they are printed.

use cpuledger_model::interval::Interval;

use super::column::append_decimals;
use crate::shares::apportion;

/// Thousandths of a percent in 100 % of one CPU.
const WHOLE: u128 = 100_000;

/// What became of the capacity, in thousandths of a percent of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Attributed to tasks.
    pub attributed: u64,
    /// Idle and unattributed; `None`: the source does not tell them.
    pub rest: Option<[u64; 2]>,
    /// All of it.
    pub capacity: u64,
}

impl Shares {
    /// Those of an interval. Each is rounded, and where the parts are the capacity to the nanosecond, they are so as printed: what rounding
    /// has left over goes to the largest remainders.
    pub fn of(interval: &Interval) -> Shares {
        let length_ns = u128::from(interval.length_ns().max(1));
        let rounded = |ns: u64| ((u128::from(ns) * WHOLE + length_ns / 2) / length_ns) as u64;
        let capacity = rounded(interval.capacity_ns);
        let (Some(idle_ns), Some(unattributed_ns)) = (interval.idle_ns, interval.unattributed_ns) else {
            return Shares { attributed: rounded(interval.attributed_ns), rest: None, capacity };
        };
        let parts = [interval.attributed_ns, idle_ns, unattributed_ns];
        let sum: u128 = parts.iter().map(|&ns| u128::from(ns)).sum();
        let balanced =
            if sum == u128::from(interval.capacity_ns) { apportion(parts, capacity) } else { None };
        let [attributed, idle, unattributed] = balanced.unwrap_or_else(|| parts.map(rounded));
        Shares { attributed, rest: Some([idle, unattributed]), capacity }
    }
}

/// Appends a share, as `199.873%`; of a whole number of CPUs, as `200%`.
pub fn append_percent(text: &mut Vec<u8>, share: u64) {
    append_decimals(text, share, 3);
    text.push(b'%');
}

/// Appends all of the capacity: `200%`, or `150.000%` where a CPU has come or gone.
pub fn append_capacity(text: &mut Vec<u8>, interval: &Interval) {
    if interval.capacity_ns == interval.length_ns().saturating_mul(u64::from(interval.online_cpus)) {
        text.extend_from_slice(format!("{}%", u64::from(interval.online_cpus) * 100).as_bytes());
    } else {
        append_percent(text, Shares::of(interval).capacity);
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_model::SourceKind;
    use cpuledger_model::make;

    use super::*;

    fn interval(length_ns: u64, attributed_ns: u64, unattributed_ns: u64) -> Interval {
        let capacity_ns = 2 * length_ns;
        make!(Interval {
            source: SourceKind::Ledger,
            end_ns: length_ns,
            online_cpus: 2,
            capacity_ns,
            attributed_ns,
            idle_ns: Some(capacity_ns - attributed_ns - unattributed_ns),
            unattributed_ns: Some(unattributed_ns),
        })
    }

    #[test]
    fn parts_add_up_as_they_are_printed() {
        // Rounded down, these are 198.640 and 1.359.
        let shares = Shares::of(&interval(1_000_000_000, 1_986_405_000, 0));
        assert_eq!(shares.attributed + shares.rest.expect("known")[0], 200_000, "{shares:?}");
        for length_ns in [999_999_937, 1_000_003_211, 7, 333_333_333] {
            for attributed_ns in (0..=length_ns).step_by(1 + length_ns as usize / 97) {
                let unattributed_ns = attributed_ns / 3;
                let shares = Shares::of(&interval(length_ns, attributed_ns, unattributed_ns));
                let [idle, unattributed] = shares.rest.expect("known");
                assert_eq!(
                    shares.attributed + idle + unattributed,
                    200_000,
                    "{attributed_ns} of {length_ns}"
                );
                let exact = attributed_ns as f64 * 100_000.0 / length_ns as f64;
                assert!((shares.attributed as f64 - exact).abs() < 1.0);
            }
        }
    }

    #[test]
    fn books_that_do_not_balance_are_not_made_to() {
        let mut wrong = interval(1_000_000_000, 500_000_000, 0);
        wrong.idle_ns = Some(1_000_000_000);
        let shares = Shares::of(&wrong);
        assert_eq!((shares.attributed, shares.rest, shares.capacity), (50_000, Some([100_000, 0]), 200_000));
        wrong.idle_ns = None;
        assert_eq!(Shares::of(&wrong).rest, None);
    }
}
