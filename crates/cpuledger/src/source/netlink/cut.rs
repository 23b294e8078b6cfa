//! All tasks at one instant, where the kernel has `/proc/taskstats` (see `kernel/series`): a write says what is wanted, reads give
//! records. Whether it is there is tried at the opening.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};

use nix::errno::Errno;

use crate::machine;

use super::layout::{self, Taskstats, Unknown};
use super::socket::Failure;

/// Where it is.
const PATH: &str = "/proc/taskstats";

/// Threads are wanted, not processes.
const OF_THREADS: u32 = 1;
/// Exact figures, as of the request: for root alone.
const EXACT: u32 = 2;
/// All fields are wanted.
const WITH_DETAIL: u32 = 4;

/// `struct taskstats_header`.
const HEADER_BYTES: usize = 40;

/// Room for records at the beginning; it grows with what comes, and stays.
const ROOM_BYTES: usize = 1 << 18;

/// How often it is tried to have a snapshot without the CPU being lost in it, and for how long in all.
const MOST_ATTEMPTS: usize = 6;
const LONGEST_ATTEMPTS_NS: u64 = 50_000_000;
/// Likewise, one of what ran: it is short, so a lost CPU is nearly all of it.
const LONGEST_ATTEMPTS_FOR_RAN_NS: u64 = 300_000_000;

/// What a snapshot takes besides its records, in records.
const RECORDS_OF_A_CUT: u64 = 32;

/// Whether the kernel may have it: no more than a look at its name.
pub fn may_have_snapshots() -> bool {
    std::fs::exists(PATH).unwrap_or(false)
}

/// The open file.
pub struct Cuts {
    file: File,
    /// Room, whose pages are there before a cut is made: the kernel writes records as they are read.
    bytes: Vec<u8>,
    usual: Usual,
    /// Likewise, of snapshots of what ran.
    usual_ran: Usual,
    /// Whether the kernel has cookies.
    pub has_cookies: bool,
}

/// What one snapshot has.
#[derive(Debug, Default)]
pub struct Cut {
    /// CLOCK_MONOTONIC to which the runtimes refer.
    pub at_ns: u64,
    /// How long it took from then on.
    took_ns: u64,
    /// What asks for those that run from then on; 0: the kernel has no cookies.
    pub cookie: u64,
    /// Whether it has all tasks, not only those that ran.
    pub has_all: bool,
    /// Threads, or leaders with the runtime of their process.
    pub records: Vec<Taskstats>,
}

impl Cut {
    /// Of one at that instant.
    pub fn new(at_ns: u64, records: Vec<Taskstats>) -> Cut {
        Cut { at_ns, took_ns: 0, cookie: 0, has_all: true, records }
    }

    fn record_ns(&self) -> u64 {
        self.took_ns / (self.records.len() as u64 + RECORDS_OF_A_CUT)
    }
}

/// How long the quickest took for each record.
#[derive(Debug, Clone, Copy, Default)]
struct Usual {
    record_ns: Option<u64>,
}

impl Usual {
    fn is_late(self, cut: &Cut) -> bool {
        self.record_ns.is_some_and(|usual_ns| cut.record_ns() > usual_ns * 2)
    }

    fn learn(&mut self, cut: &Cut) {
        // It is forgotten slowly: a machine may get slower.
        let usual_ns = self.record_ns.map_or(u64::MAX, |usual_ns| usual_ns + usual_ns.div_ceil(64));
        self.record_ns = Some(cut.record_ns().min(usual_ns));
    }
}

impl Cuts {
    /// Opens it and takes snapshots; `None` where the kernel does not have it, or another one.
    pub fn open() -> Option<Cuts> {
        let file = OpenOptions::new().read(true).write(true).open(PATH).ok()?;
        let mut cuts = Cuts {
            file,
            bytes: vec![1; ROOM_BYTES],
            usual: Usual::default(),
            usual_ran: Usual::default(),
            has_cookies: false,
        };
        // Several, of which one at least tells how long it takes if the CPU is not lost in it.
        let mut took_ns = 0;
        for _ in 0..MOST_ATTEMPTS {
            let cut = cuts.take_once(false, 0).ok()?;
            if cut.at_ns == 0 || cut.records.is_empty() {
                return None;
            }
            cuts.usual.learn(&cut);
            cuts.has_cookies = cut.cookie != 0;
            took_ns += cut.took_ns;
            if took_ns > LONGEST_ATTEMPTS_NS {
                break;
            }
        }
        Some(cuts)
    }

    /// All processes, or all threads. Tasks run on while the kernel writes records. So where we lost the CPU meanwhile it is done again.
    ///
    /// # Errors
    /// When the kernel refuses it, or sends what is not known here.
    pub fn take(&mut self, of_threads: bool) -> Result<Cut, Failure> {
        let mut cut = self.take_since(of_threads, 0)?;
        cut.records.sort_unstable_by_key(|figures| (figures.pid, figures.tid));
        Ok(cut)
    }

    /// Those that ran since the cut with this cookie and are not released, in the order in which the kernel read them; all where it is 0.
    ///
    /// # Errors
    /// As [`Cuts::take`]; `EINVAL` where the kernel does not know the cookie.
    pub fn take_since(&mut self, of_threads: bool, cookie: u64) -> Result<Cut, Failure> {
        let (mut usual, longest_ns) = match cookie {
            0 => (self.usual, LONGEST_ATTEMPTS_NS),
            _ => (self.usual_ran, LONGEST_ATTEMPTS_FOR_RAN_NS),
        };
        let mut best = self.take_once(of_threads, cookie)?;
        let mut took_ns = best.took_ns;
        for _ in 1..MOST_ATTEMPTS {
            if !usual.is_late(&best) || took_ns > longest_ns {
                break;
            }
            let cut = self.take_once(of_threads, cookie)?;
            took_ns += cut.took_ns;
            if cut.took_ns < best.took_ns {
                best = cut;
            }
        }
        usual.learn(&best);
        *(if cookie == 0 { &mut self.usual } else { &mut self.usual_ran }) = usual;
        Ok(best)
    }

    /// Gives back the room of a snapshot of all tasks, where the next ones have what ran.
    pub fn release(&mut self) {
        self.bytes.truncate(ROOM_BYTES);
        self.bytes.shrink_to_fit();
    }

    fn take_once(&mut self, of_threads: bool, cookie: u64) -> Result<Cut, Failure> {
        let flags = EXACT | WITH_DETAIL | if of_threads { OF_THREADS } else { 0 };
        let mut request = [0; 16];
        request[..4].copy_from_slice(&flags.to_ne_bytes());
        request[8..].copy_from_slice(&cookie.to_ne_bytes());
        self.file.write_all(&request).map_err(failed)?;
        let length = self.read()?;
        let end_ns = machine::monotonic_ns();
        let cut = decode(&self.bytes[..length])?;
        Ok(Cut { took_ns: end_ns.saturating_sub(cut.at_ns), has_all: cookie == 0, ..cut })
    }

    /// Reads to the end, and returns how much that was. Each read has room for records, as one without is an error.
    fn read(&mut self) -> Result<usize, Failure> {
        let mut done = 0;
        loop {
            if self.bytes.len() < done + ROOM_BYTES / 2 {
                self.bytes.resize(self.bytes.len() * 2, 1);
            }
            match self.file.read(&mut self.bytes[done..]).map_err(failed)? {
                0 => return Ok(done),
                count => done += count,
            }
        }
    }
}

fn failed(error: std::io::Error) -> Failure {
    Failure::Errno(Errno::from_raw(error.raw_os_error().unwrap_or_default()))
}

/// Decodes a header and the records behind it.
fn decode(bytes: &[u8]) -> Result<Cut, Unknown> {
    let (header, records) = bytes.split_at_checked(HEADER_BYTES).ok_or(Unknown::Nothing)?;
    let size = header[8..].first_chunk().copied().map_or(0, u32::from_ne_bytes) as usize;
    let at_ns = header[24..].first_chunk().copied().map_or(0, u64::from_ne_bytes);
    if size == 0 || !records.len().is_multiple_of(size) {
        return Err(Unknown::Nothing);
    }
    let cookie = header[16..].first_chunk().copied().map_or(0, u64::from_ne_bytes);
    let mut cut = Cut { cookie, ..Cut::new(at_ns, Vec::with_capacity(records.len() / size)) };
    for record in records.chunks_exact(size) {
        let figures = layout::decode(record)?;
        let runtime_ns = figures.exact.ok_or(Unknown::Nothing)?.used.runtime_ns;
        cut.records.push(Taskstats { runtime_ns, ..figures });
    }
    Ok(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header and records of version 18 with these numbers.
    fn snapshot(numbers: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[..2].copy_from_slice(&18_u16.to_ne_bytes());
        bytes[8..12].copy_from_slice(&728_u32.to_ne_bytes());
        bytes[16..24].copy_from_slice(&66_u64.to_ne_bytes());
        bytes[24..32].copy_from_slice(&77_u64.to_ne_bytes());
        for &number in numbers {
            let mut record = [0; 728];
            record[..2].copy_from_slice(&18_u16.to_ne_bytes());
            record[72..80].copy_from_slice(&9_u64.to_ne_bytes());
            record[128..132].copy_from_slice(&number.to_ne_bytes());
            record[368..372].copy_from_slice(&number.to_ne_bytes());
            record[704..712].copy_from_slice(&u64::from(number * 10).to_ne_bytes());
            bytes.extend_from_slice(&record);
        }
        bytes
    }

    #[test]
    fn records_have_the_runtime_of_the_cut_and_its_cookie() {
        let cut = decode(&snapshot(&[3, 1, 2])).expect("it is whole");
        let found: Vec<(u32, u64)> = cut.records.iter().map(|it| (it.tid, it.runtime_ns)).collect();
        assert_eq!((cut.at_ns, cut.cookie, found), (77, 66, vec![(3, 30), (1, 10), (2, 20)]));
        assert_eq!(decode(&snapshot(&[])).map(|cut| cut.records.len()), Ok(0));
    }

    #[test]
    fn a_cut_in_which_the_cpu_was_lost_is_late() {
        let mut usual = Usual::default();
        let cut = |took_ns, records| Cut { took_ns, ..Cut::new(1, vec![Taskstats::default(); records]) };
        // 1,000 ns for each, and for what a cut takes besides.
        let usual_ns = |records: usize| 1_000 * (records as u64 + RECORDS_OF_A_CUT);
        assert!(!usual.is_late(&cut(usual_ns(10), 10)), "nothing is known");
        usual.learn(&cut(usual_ns(10), 10));
        assert!(!usual.is_late(&cut(2 * usual_ns(100), 100)) && usual.is_late(&cut(3 * usual_ns(100), 100)));
        usual.learn(&cut(usual_ns(10) / 2, 10));
        assert!(usual.is_late(&cut(usual_ns(10) * 11 / 10, 10)));
        (0..100).for_each(|_| usual.learn(&cut(9 * usual_ns(10), 10)));
        assert!(!usual.is_late(&cut(usual_ns(10) * 11 / 10, 10)), "it is slower than it was");
    }

    #[test]
    fn a_part_is_refused() {
        let whole = snapshot(&[1, 2]);
        for length in (0..whole.len()).filter(|length| (length.saturating_sub(HEADER_BYTES)) % 728 != 0) {
            assert!(decode(&whole[..length]).is_err(), "{length}");
        }
        assert!(decode(&whole[..10]).is_err());
    }
}
