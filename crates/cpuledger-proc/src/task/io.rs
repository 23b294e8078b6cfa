//! `/proc/PID/io` and `/proc/PID/task/TID/io`.

use crate::{entries, number};

/// What the lines say; of a process, with its dead threads.
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
    for (name, value) in entries(bytes.strip_suffix(b"\n")?) {
        let (slot, bit) = match name {
            b"rchar" => (&mut io.read_chars, 0),
            b"wchar" => (&mut io.write_chars, 1),
            b"syscr" => (&mut io.read_calls, 2),
            b"syscw" => (&mut io.write_calls, 3),
            b"read_bytes" => (&mut io.read_bytes, 4),
            b"write_bytes" => (&mut io.write_bytes, 5),
            b"cancelled_write_bytes" => (&mut io.cancelled_write_bytes, 6),
            _ => continue,
        };
        *slot = number::first(value)?;
        lines |= 1 << bit;
    }
    (lines == (1 << LINES) - 1).then_some(io)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const IO: &[u8] = b"rchar: 8735\nwchar: 1759\nsyscr: 18\nsyscw: 4\nread_bytes: 1\nwrite_bytes: 4096\ncancelled_write_bytes: 2\n";

    #[test]
    fn a_file_of_the_kernel_is_read_whole_only() {
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
        for length in 0..IO.len() {
            assert_eq!(parse_io(&IO[..length]), None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = parse_io(&bytes);
        }
    }
}
