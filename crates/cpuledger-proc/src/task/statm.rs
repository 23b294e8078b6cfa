//! `/proc/PID/statm`: one line of numbers.

use crate::number;

/// What the line says, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statm {
    /// Resident.
    pub resident_pages: u64,
    /// Of these, those of files and shared memory.
    pub shared_pages: u64,
}

/// Reads a whole line; `None` where it is not one.
pub fn parse_statm(line: &[u8]) -> Option<Statm> {
    let mut words = number::words(line.strip_suffix(b"\n")?).map(number::unsigned);
    words.next()??; // virtual memory: /proc/PID/stat has it
    let statm = Statm { resident_pages: words.next()??, shared_pages: words.next()?? };
    (words.count() == 4).then_some(statm)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STATM: &[u8] = b"765 404 376 5 0 123 0\n";

    #[test]
    fn a_line_of_the_kernel_is_read_whole_only() {
        assert_eq!(parse_statm(STATM), Some(Statm { resident_pages: 404, shared_pages: 376 }));
        for length in 0..STATM.len() {
            assert_eq!(parse_statm(&STATM[..length]), None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = parse_statm(&bytes);
        }

        #[test]
        fn numbers_are_read_back(resident: u64, shared: u64) {
            let statm = parse_statm(format!("1 {resident} {shared} 7 0 0 0\n").as_bytes());
            prop_assert_eq!(statm, Some(Statm { resident_pages: resident, shared_pages: shared }));
        }
    }
}
