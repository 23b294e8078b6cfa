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

/// `/proc/PID/io`; of a process, with its dead threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Io {
    /// Bytes asked for by read(2) and the like.
    pub read_chars: u64,
    /// Bytes given to write(2) and the like.
    pub write_chars: u64,
    /// Calls of read(2) and the like.
    pub read_calls: u64,
    /// Calls of write(2) and the like.
    pub write_calls: u64,
    /// Bytes read from block devices.
    pub read_bytes: u64,
    /// Bytes written to block devices.
    pub write_bytes: u64,
    /// Written bytes whose pages were dropped in time.
    pub cancelled_write_bytes: u64,
}

/// Reads a whole file; `None` where it was cut or is something else.
pub fn parse_io(bytes: &[u8]) -> Option<Io> {
    const LINES: u32 = 7;
    let (mut io, mut lines) = (Io::default(), 0);
    for line in bytes.strip_suffix(b"\n")?.split(|&byte| byte == b'\n') {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let (slot, bit) = match &line[..colon] {
            b"rchar" => (&mut io.read_chars, 0),
            b"wchar" => (&mut io.write_chars, 1),
            b"syscr" => (&mut io.read_calls, 2),
            b"syscw" => (&mut io.write_calls, 3),
            b"read_bytes" => (&mut io.read_bytes, 4),
            b"write_bytes" => (&mut io.write_bytes, 5),
            b"cancelled_write_bytes" => (&mut io.cancelled_write_bytes, 6),
            _ => continue,
        };
        *slot = number::first(&line[colon + 1..])?;
        lines |= 1 << bit;
    }
    (lines == (1 << LINES) - 1).then_some(io)
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
        let io = Io {
            read_chars: 8735,
            write_chars: 1759,
            read_calls: 18,
            write_calls: 4,
            read_bytes: 1,
            write_bytes: 4096,
            cancelled_write_bytes: 2,
        };
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
