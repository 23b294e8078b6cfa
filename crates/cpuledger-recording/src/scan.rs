//! Finds the records of a segment that has no index.

use std::io;

use crate::index::Entry;
use crate::layout::{
    HEADER_BYTES, INDEX_MAGIC, MOST_RECORDS, RECORD_BYTES, RECORD_MAGIC, RecordHeader, SUMS_MAGIC,
};
use crate::source::ReadAt;

/// How much is read at once.
const PIECE_BYTES: usize = 256 << 10;

/// How much at first where a header is looked for: it may be near.
const FIRST_PIECE_BYTES: usize = 4 * RECORD_BYTES;

/// What is found where records are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    /// The records that are whole.
    pub(crate) entries: Vec<Entry>,
    /// Where bytes begin that are no record, and how many they are.
    pub(crate) damaged: Vec<(u64, u64)>,
    /// Where the last whole record ends or, with an index, where that begins.
    pub(crate) end: u64,
    /// Whether what a clean close adds begins there, so that nothing is missing at the end.
    pub(crate) is_complete: bool,
}

impl Found {
    /// Nothing yet: records begin behind the header.
    pub(crate) fn new() -> Found {
        Found { end: HEADER_BYTES as u64, ..Found::default() }
    }

    /// Adds what is between the last whole record and `end`. What is behind a damaged record is found by its first bytes.
    pub(crate) fn scan(&mut self, source: &dyn ReadAt, end: u64) -> io::Result<()> {
        let mut at = self.end;
        self.damaged.retain(|(from, _)| *from < at);
        let mut payload = vec![0; PIECE_BYTES];
        while at < end && self.entries.len() < MOST_RECORDS as usize {
            match read_record(source, at, end, &mut payload)? {
                Looked::Whole(entry, behind) => {
                    self.entries.push(entry);
                    (at, self.end) = (behind, behind);
                }
                // Its header is whole, so its length is known.
                Looked::Damaged(behind) => {
                    self.damaged.push((at, behind - at));
                    at = behind;
                }
                Looked::End => {
                    self.is_complete = self.end == at;
                    return Ok(());
                }
                Looked::None => {
                    let behind = next_header(source, at + 1, end)?;
                    self.damaged.push((at, behind - at));
                    at = behind;
                }
            }
        }
        Ok(())
    }
}

enum Looked {
    Whole(Entry, u64),
    Damaged(u64),
    /// What a clean close adds.
    End,
    None,
}

fn read_record(source: &dyn ReadAt, at: u64, end: u64, piece: &mut [u8]) -> io::Result<Looked> {
    let mut bytes = [0; RECORD_BYTES];
    let length = (end - at).min(RECORD_BYTES as u64) as usize;
    source.read_at(at, &mut bytes[..length])?;
    if bytes.starts_with(&INDEX_MAGIC) || bytes.starts_with(&SUMS_MAGIC) {
        return Ok(Looked::End);
    }
    let header = RecordHeader::read(&bytes).filter(|_| length == RECORD_BYTES);
    let Some(header) = header else { return Ok(Looked::None) };
    let from = at + RECORD_BYTES as u64;
    let behind = from + u64::from(header.length);
    if behind > end {
        return Ok(Looked::Damaged(end));
    }
    let (mut checksum, mut next) = (0, from);
    while next < behind {
        let length = (behind - next).min(piece.len() as u64) as usize;
        source.read_at(next, &mut piece[..length])?;
        checksum = crc32c::crc32c_append(checksum, &piece[..length]);
        next += length as u64;
    }
    Ok(if checksum == header.checksum {
        Looked::Whole(entry_of(&header, at), behind)
    } else {
        Looked::Damaged(behind)
    })
}

pub(crate) fn entry_of(header: &RecordHeader, offset: u64) -> Entry {
    Entry {
        offset,
        sequence: header.sequence,
        start_ns: header.start_ns,
        end_ns: header.end_ns,
        end_realtime_ns: header.end_realtime_ns,
        back: header.back,
    }
}

/// Where the next record with a whole header begins; `end`: there is none.
fn next_header(source: &dyn ReadAt, from: u64, end: u64) -> io::Result<u64> {
    let mut piece = Vec::new();
    let (mut at, mut most) = (from, FIRST_PIECE_BYTES);
    while end.saturating_sub(at) >= RECORD_BYTES as u64 {
        let length = (end - at).min(most as u64) as usize;
        most = (2 * most).min(PIECE_BYTES);
        piece.resize(length, 0);
        source.read_at(at, &mut piece)?;
        let places = piece.windows(RECORD_BYTES).enumerate();
        let mut headers = places.filter(|(_, bytes)| bytes.starts_with(&RECORD_MAGIC));
        if let Some((place, _)) = headers.find(|(_, bytes)| RecordHeader::read(bytes).is_some()) {
            return Ok(at + place as u64);
        }
        // A header may begin in the last bytes of this piece.
        at += (length - RECORD_BYTES + 1) as u64;
    }
    Ok(end)
}
