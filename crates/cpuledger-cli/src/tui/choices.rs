//! What can be chosen for a task: signals, priorities for I/O, CPUs. What is done with the choice is in `act`.

use cpuledger_proc::cpu_list;
use rustix::thread::CpuSet;

/// Numbers of signals, in the order of the list: those that are sent most often come first.
pub const SIGNALS: [u32; 31] = [
    15, 9, 2, 1, 19, 18, 3, 10, 12, 6, 14, 20, 28, 13, 17, 23, 4, 5, 7, 8, 11, 16, 21, 22, 24, 25, 26, 27,
    29, 30, 31,
];

/// Classes and levels of I/O, as they are listed.
pub fn io_priorities() -> Vec<String> {
    let levels = |class: &'static str| (0..8).map(move |level| format!("{class} {level}"));
    ["by nice value".to_owned()]
        .into_iter()
        .chain(levels("best effort"))
        .chain(levels("real time"))
        .chain(["idle".to_owned()])
        .collect()
}

/// The CPUs of a list.
///
/// # Errors
/// A sentence about what is no number.
pub fn parse_cpus(list: &str) -> Result<Vec<usize>, String> {
    let wrong = |part: &str| format!("CPUs are a list such as 0-3,5, not `{part}`");
    let ranges = cpu_list::ranges(list).map_err(wrong)?;
    match ranges.iter().find(|range| *range.end() as usize >= CpuSet::MAX_CPU) {
        Some(range) => Err(wrong(&range.end().to_string())),
        None => Ok(ranges.into_iter().flatten().map(|cpu| cpu as usize).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(parse_cpus("0-2,5,7-8"), Ok(vec![0, 1, 2, 5, 7, 8]));
        for bad in ["", "x", "1-", "3-1", "99999"] {
            assert!(parse_cpus(bad).is_err(), "{bad}");
        }
        assert_eq!(io_priorities().len(), 18);
    }
}
