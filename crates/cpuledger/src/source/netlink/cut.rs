//! All tasks at one instant, where the kernel has `/proc/taskstats` (see `kernel/series`): a write says what is wanted, reads give
//! records. Whether it is there is tried at the opening.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};

use nix::errno::Errno;

use super::layout::{self, Taskstats, Unknown};
use super::socket::Failure;

/// Where it is.
const PATH: &str = "/proc/taskstats";

/// Threads are wanted, not processes.
const OF_THREADS: u32 = 1;
/// All fields are wanted.
const WITH_DETAIL: u32 = 2;

/// `struct taskstats_header`.
const HEADER_BYTES: usize = 24;

/// Room for records at the beginning; it grows with what comes.
const ROOM_BYTES: usize = 1 << 18;

/// The open file.
pub struct Cuts {
    file: File,
    bytes: Vec<u8>,
}

/// What one snapshot has.
#[derive(Debug, Default)]
pub struct Cut {
    /// CLOCK_MONOTONIC to which the runtimes refer.
    pub at_ns: u64,
    /// Threads, or leaders with the runtime of their process, by number.
    pub records: Vec<Taskstats>,
}

impl Cuts {
    /// Opens it and takes a snapshot; `None` where the kernel does not have it, or another one.
    pub fn open() -> Option<Cuts> {
        let file = OpenOptions::new().read(true).write(true).open(PATH).ok()?;
        let mut cuts = Cuts { file, bytes: Vec::new() };
        let cut = cuts.take(false).ok()?;
        (cut.at_ns > 0 && !cut.records.is_empty()).then_some(cuts)
    }

    /// All processes, or all threads.
    ///
    /// # Errors
    /// When the kernel refuses it, or sends what is not known here.
    pub fn take(&mut self, of_threads: bool) -> Result<Cut, Failure> {
        let flags = WITH_DETAIL | if of_threads { OF_THREADS } else { 0 };
        let mut request = [0; 16];
        request[..4].copy_from_slice(&flags.to_ne_bytes());
        self.file.write_all(&request).map_err(failed)?;
        self.read()?;
        decode(&self.bytes).map_err(Failure::from)
    }

    /// Reads to the end. Each read has room for records, as one without is an error.
    fn read(&mut self) -> Result<(), Failure> {
        let mut done = 0;
        loop {
            if self.bytes.len() < done + ROOM_BYTES / 2 {
                self.bytes.resize((self.bytes.len() * 2).max(ROOM_BYTES), 0);
            }
            match self.file.read(&mut self.bytes[done..]).map_err(failed)? {
                0 => break,
                count => done += count,
            }
        }
        self.bytes.truncate(done);
        Ok(())
    }
}

fn failed(error: std::io::Error) -> Failure {
    Failure::Errno(Errno::from_raw(error.raw_os_error().unwrap_or_default()))
}

/// Decodes a header and the records behind it.
fn decode(bytes: &[u8]) -> Result<Cut, Unknown> {
    let (header, records) = bytes.split_at_checked(HEADER_BYTES).ok_or(Unknown::Nothing)?;
    let size = header[4..].first_chunk().copied().map_or(0, u32::from_ne_bytes) as usize;
    let at_ns = header[16..].first_chunk().copied().map_or(0, u64::from_ne_bytes);
    if size == 0 || !records.len().is_multiple_of(size) {
        return Err(Unknown::Nothing);
    }
    let mut cut = Cut { at_ns, records: Vec::with_capacity(records.len() / size) };
    for record in records.chunks_exact(size) {
        let figures = layout::decode(record)?;
        let runtime_ns = figures.exact_runtime_ns.ok_or(Unknown::Nothing)?;
        cut.records.push(Taskstats { runtime_ns, ..figures });
    }
    cut.records.sort_unstable_by_key(|figures| (figures.pid, figures.tid));
    Ok(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header and records of version 15 with these numbers.
    fn snapshot(numbers: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[..2].copy_from_slice(&15_u16.to_ne_bytes());
        bytes[4..8].copy_from_slice(&472_u32.to_ne_bytes());
        bytes[16..24].copy_from_slice(&77_u64.to_ne_bytes());
        for &number in numbers {
            let mut record = [0; 472];
            record[..2].copy_from_slice(&15_u16.to_ne_bytes());
            record[72..80].copy_from_slice(&9_u64.to_ne_bytes());
            record[128..132].copy_from_slice(&number.to_ne_bytes());
            record[368..372].copy_from_slice(&number.to_ne_bytes());
            record[448..456].copy_from_slice(&u64::from(number * 10).to_ne_bytes());
            bytes.extend_from_slice(&record);
        }
        bytes
    }

    #[test]
    fn records_come_by_number_with_the_runtime_of_the_cut() {
        let cut = decode(&snapshot(&[3, 1, 2])).expect("it is whole");
        let found: Vec<(u32, u64)> = cut.records.iter().map(|it| (it.tid, it.runtime_ns)).collect();
        assert_eq!((cut.at_ns, found), (77, vec![(1, 10), (2, 20), (3, 30)]));
        assert_eq!(decode(&snapshot(&[])).map(|cut| cut.records.len()), Ok(0));
    }

    #[test]
    fn a_part_is_refused() {
        let whole = snapshot(&[1, 2]);
        for length in (0..whole.len()).filter(|length| (length.saturating_sub(HEADER_BYTES)) % 472 != 0) {
            assert!(decode(&whole[..length]).is_err(), "{length}");
        }
        assert!(decode(&whole[..10]).is_err());
    }
}
