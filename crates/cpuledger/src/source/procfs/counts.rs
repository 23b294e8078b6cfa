//! The files of a few numbers: `statm`, `schedstat` and `io`.

use super::number;

/// `/proc/PID/statm`, in pages.
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

/// `/proc/PID/task/TID/schedstat`, of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedstat {
    /// On a CPU.
    pub runtime_ns: u64,
    /// Runnable, waiting for one.
    pub wait_ns: u64,
    /// How often it was given one; 0 for everybody on a kernel that keeps no account.
    pub timeslices: u64,
}

/// Reads a whole line; `None` where it is not one.
pub fn parse_schedstat(line: &[u8]) -> Option<Schedstat> {
    let mut words = number::words(line.strip_suffix(b"\n")?).map(number::unsigned);
    let schedstat =
        Schedstat { runtime_ns: words.next()??, wait_ns: words.next()??, timeslices: words.next()?? };
    words.next().is_none().then_some(schedstat)
}

/// `/proc/PID/io`: what went to and came from block devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the field table documents each
pub struct Io {
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub cancelled_write_bytes: u64,
}

/// Reads a whole file; `None` where it was cut or is something else.
pub fn parse_io(bytes: &[u8]) -> Option<Io> {
    let (mut read, mut write, mut cancelled) = (None, None, None);
    for line in bytes.strip_suffix(b"\n")?.split(|&byte| byte == b'\n') {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let slot = match &line[..colon] {
            b"read_bytes" => &mut read,
            b"write_bytes" => &mut write,
            b"cancelled_write_bytes" => &mut cancelled,
            _ => continue,
        };
        *slot = Some(number::first(&line[colon + 1..])?);
    }
    Some(Io { read_bytes: read?, write_bytes: write?, cancelled_write_bytes: cancelled? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STATM: &[u8] = b"765 404 376 5 0 123 0\n";
    const SCHEDSTAT: &[u8] = b"1149155 780324 1\n";
    const IO: &[u8] = b"rchar: 8735\nwchar: 1759\nsyscr: 18\nsyscw: 4\nread_bytes: 1\nwrite_bytes: 4096\ncancelled_write_bytes: 2\n";

    #[test]
    fn files_of_the_kernel_are_read() {
        assert_eq!(parse_statm(STATM), Some(Statm { resident_pages: 404, shared_pages: 376 }));
        let schedstat = Schedstat { runtime_ns: 1_149_155, wait_ns: 780_324, timeslices: 1 };
        assert_eq!(parse_schedstat(SCHEDSTAT), Some(schedstat));
        let io = Io { read_bytes: 1, write_bytes: 4096, cancelled_write_bytes: 2 };
        assert_eq!(parse_io(IO), Some(io));
    }

    #[test]
    fn no_part_of_a_file_is_taken_for_a_file() {
        for length in 0..STATM.len() {
            assert_eq!(parse_statm(&STATM[..length]), None);
        }
        for length in 0..SCHEDSTAT.len() {
            assert_eq!(parse_schedstat(&SCHEDSTAT[..length]), None);
        }
        for length in 0..IO.len() {
            assert_eq!(parse_io(&IO[..length]), None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = (parse_statm(&bytes), parse_schedstat(&bytes), parse_io(&bytes));
        }

        #[test]
        fn numbers_are_read_back(numbers in prop::array::uniform3(any::<u64>())) {
            let [a, b, c] = numbers;
            let schedstat = parse_schedstat(format!("{a} {b} {c}\n").as_bytes());
            prop_assert_eq!(schedstat, Some(Schedstat { runtime_ns: a, wait_ns: b, timeslices: c }));
            let statm = parse_statm(format!("1 {a} {b} {c} 0 0 0\n").as_bytes());
            prop_assert_eq!(statm, Some(Statm { resident_pages: a, shared_pages: b }));
        }
    }
}
