//! The index of a segment: where its records are, and of when.

use std::io;

use cpuledger_report::Instants;

use crate::compress::unpack;
use crate::extent::Extent;
use crate::layout::{INDEX_MAGIC, MOST_RECORDS};

/// Where a record is, and of when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Where its header begins.
    pub(crate) offset: u64,
    /// Its number. Where an interval was not written, a number is left out.
    pub sequence: u64,
    /// Begin of the interval, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Its end, CLOCK_MONOTONIC.
    pub end_ns: u64,
    /// Its end, CLOCK_REALTIME.
    pub end_realtime_ns: u64,
    /// How many bytes before it begins the record that it needs; 0: it stands alone.
    pub(crate) back: u64,
}

impl Entry {
    /// Begin of the interval, CLOCK_REALTIME, if that clock was not set in it.
    pub fn start_realtime_ns(&self) -> u64 {
        self.end_realtime_ns.saturating_sub(self.length_ns())
    }

    /// Both, CLOCK_REALTIME.
    pub fn instants(&self) -> Instants {
        Instants { start_realtime_ns: self.start_realtime_ns(), end_realtime_ns: self.end_realtime_ns }
    }

    /// Length of the interval by CLOCK_MONOTONIC.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    pub(crate) fn extent(&self) -> Extent {
        Extent {
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            start_realtime_ns: self.start_realtime_ns(),
            end_realtime_ns: self.end_realtime_ns,
        }
    }

    /// Whether it begins where that one of the same boot ends, by both clocks: CLOCK_REALTIME was not set in between, and the machine not
    /// suspended.
    pub fn follows(&self, before: &Entry) -> bool {
        self.extent().follows(&before.extent())
    }

    fn numbers(&self) -> [u64; COLUMNS] {
        [self.offset, self.sequence, self.start_ns, self.end_ns, self.end_realtime_ns, self.back]
    }
}

const COLUMNS: usize = 6;
const LEVEL: i32 = 3;

/// One column after the other, each as differences from the row before, all compressed, behind [`INDEX_MAGIC`].
pub(crate) fn write(entries: &[Entry]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(entries.len() * COLUMNS * 8);
    for column in 0..COLUMNS {
        let mut last = 0;
        for entry in entries {
            let value = entry.numbers()[column];
            bytes.extend_from_slice(&value.wrapping_sub(last).to_le_bytes());
            last = value;
        }
    }
    Ok([&INDEX_MAGIC[..], &zstd::bulk::compress(&bytes, LEVEL)?].concat())
}

/// `None`: it is damaged.
pub(crate) fn read(packed: &[u8], records: u32) -> Option<Vec<Entry>> {
    if records > MOST_RECORDS {
        return None;
    }
    let packed = packed.strip_prefix(&INDEX_MAGIC)?;
    let rows = records as usize;
    let bytes = unpack(packed, rows * COLUMNS * 8)?;
    let mut numbers = vec![[0_u64; COLUMNS]; rows];
    let mut stored = bytes.chunks_exact(8);
    for column in 0..COLUMNS {
        let mut last = 0_u64;
        for row in &mut numbers {
            last = last.wrapping_add(u64::from_le_bytes(stored.next()?.try_into().ok()?));
            row[column] = last;
        }
    }
    let entry = |[offset, sequence, start_ns, end_ns, end_realtime_ns, back]: [u64; COLUMNS]| Entry {
        offset,
        sequence,
        start_ns,
        end_ns,
        end_realtime_ns,
        back,
    };
    Some(numbers.into_iter().map(entry).collect())
}
