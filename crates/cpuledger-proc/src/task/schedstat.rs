//! `/proc/PID/task/TID/schedstat`: one line, of one task.

use crate::number;

/// What the line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedstat {
    /// On a CPU.
    pub runtime_ns: u64,
    /// Runnable, waiting for one.
    pub wait_ns: u64,
    /// How often it was given one; 0 for every task on a kernel that keeps no account.
    pub timeslices: u64,
}

/// Reads a whole line; `None` where it is not one.
pub fn parse_schedstat(line: &[u8]) -> Option<Schedstat> {
    let mut words = number::words(line.strip_suffix(b"\n")?).map(number::unsigned);
    let schedstat =
        Schedstat { runtime_ns: words.next()??, wait_ns: words.next()??, timeslices: words.next()?? };
    words.next().is_none().then_some(schedstat)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCHEDSTAT: &[u8] = b"1149155 780324 1\n";

    #[test]
    fn a_line_of_the_kernel_is_read_whole_only() {
        let schedstat = Schedstat { runtime_ns: 1_149_155, wait_ns: 780_324, timeslices: 1 };
        assert_eq!(parse_schedstat(SCHEDSTAT), Some(schedstat));
        for length in 0..SCHEDSTAT.len() {
            assert_eq!(parse_schedstat(&SCHEDSTAT[..length]), None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = parse_schedstat(&bytes);
        }

        #[test]
        fn numbers_are_read_back(numbers in prop::array::uniform3(any::<u64>())) {
            let [a, b, c] = numbers;
            let schedstat = parse_schedstat(format!("{a} {b} {c}\n").as_bytes());
            prop_assert_eq!(schedstat, Some(Schedstat { runtime_ns: a, wait_ns: b, timeslices: c }));
        }
    }
}
