//! One segment, for reading.

use std::io;

pub use crate::index::Entry;
pub use crate::layout::Header;

use cpuledger_model::frame::{ChainReader, Frame, Wanted};
use zstd::bulk::Decompressor;

use crate::compress::unpack_by;
use crate::extent::Extent;
use crate::index;
use crate::layout::{
    HEADER_BYTES, MOST_NEEDED, MOST_RECORDS, Most, RECORD_BYTES, RecordHeader, SEGMENT_MAGIC, TRAILER_BYTES,
    Trailer, Unreadable,
};
use crate::scan::{Found, entry_of};
use crate::source::ReadAt;
use crate::sums;

/// Memory that a segment keeps for its next record, of two kinds each.
const MOST_KEPT_BYTES: usize = 1 << 20;

/// What a segment says of itself without being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) records: u64,
    pub(crate) first_sequence: u64,
    pub(crate) last_sequence: u64,
    pub(crate) extent: Extent,
}

impl Summary {
    /// `None`: it has no record.
    pub(crate) fn of(entries: &[Entry]) -> Option<Summary> {
        Some(Summary {
            records: entries.len() as u64,
            first_sequence: entries.first()?.sequence,
            last_sequence: entries.last()?.sequence,
            extent: entries.iter().map(Entry::extent).reduce(Extent::with)?,
        })
    }
}

/// Why a segment cannot be opened.
#[derive(Debug)]
pub(crate) enum NotOpened {
    Newer(u16),
    Io(io::Error),
}

impl From<io::Error> for NotOpened {
    fn from(error: io::Error) -> NotOpened {
        NotOpened::Io(error)
    }
}

/// Why a record cannot be read.
#[derive(Debug)]
pub(crate) enum NotRead {
    Damaged,
    Io(io::Error),
}

/// A segment: any bytes are one, if perhaps without records.
pub struct Segment {
    source: Box<dyn ReadAt + Send>,
    header: Option<Header>,
    trailer: Option<Trailer>,
    /// Once it was wanted.
    found: Option<Found>,
    /// Likewise, until there is more.
    summary: Option<Option<Summary>>,
    decompressor: Option<Decompressor<'static>>,
    /// Memory for a record as it is read, and as it is decompressed.
    packed: Vec<u8>,
    plain: Vec<u8>,
    /// What reads the chain, and where the last link begins that it has read.
    chain: Option<(ChainReader, Option<u64>)>,
    /// Where the last record begins that could not be read: what needs it cannot be read either.
    unread: Option<u64>,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Segment").field("header", &self.header).finish_non_exhaustive()
    }
}

impl Segment {
    pub(crate) fn open(source: Box<dyn ReadAt + Send>) -> Result<Segment, NotOpened> {
        let length = source.length()?;
        let mut bytes = [0; HEADER_BYTES];
        let header = if length < HEADER_BYTES as u64 {
            None
        } else {
            source.read_at(0, &mut bytes)?;
            match Header::read(&bytes) {
                Ok(header) => Some(header),
                Err(Unreadable::Damaged) => None,
                Err(Unreadable::Newer(version)) => return Err(NotOpened::Newer(version)),
            }
        };
        let trailer = read_trailer(&*source, length)?;
        Ok(Segment {
            source,
            header,
            trailer,
            found: None,
            summary: None,
            decompressor: None,
            packed: Vec::new(),
            plain: Vec::new(),
            chain: None,
            unread: None,
        })
    }

    /// What its beginning says; `None`: that is damaged.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Whether its end says that it was closed.
    pub fn is_closed(&self) -> bool {
        self.trailer.is_some()
    }

    /// Whether it begins as each segment does, as far as it goes.
    pub(crate) fn has_magic(&self) -> io::Result<bool> {
        let mut begin = [0; SEGMENT_MAGIC.len()];
        let length = self.source.length()?.min(begin.len() as u64) as usize;
        self.source.read_at(0, &mut begin[..length])?;
        Ok(SEGMENT_MAGIC.starts_with(&begin[..length]))
    }

    /// Its records that were found.
    pub(crate) fn entries(&mut self) -> io::Result<&[Entry]> {
        Ok(&self.found()?.entries)
    }

    /// Where bytes begin that are no record, and how many they are.
    pub(crate) fn damaged(&mut self) -> io::Result<&[(u64, u64)]> {
        Ok(&self.found()?.damaged)
    }

    /// From now on it can be read whatever this process may not open any more.
    pub(crate) fn keep_open(&mut self) -> io::Result<()> {
        self.source.keep_open()
    }

    /// Takes what was added to it since.
    pub(crate) fn refresh(&mut self) -> io::Result<()> {
        let length = self.source.length()?;
        self.trailer = read_trailer(&*self.source, length)?;
        self.summary = None;
        if let Some(found) = &mut self.found {
            let end = self.trailer.map_or(length, |trailer| trailer.index_offset);
            found.scan(&*self.source, end)?;
            found.is_complete |= self.trailer.is_some_and(|trailer| trailer.index_offset == found.end);
        }
        Ok(())
    }

    pub(crate) fn summary(&mut self) -> io::Result<Option<Summary>> {
        if let Some(summary) = self.summary {
            return Ok(summary);
        }
        let summary = match self.trailer {
            // What was found says it better. An older version wrote what the clock was at both ends: if it was set in between, only the
            // records show it.
            Some(trailer) if self.found.is_none() && trailer.records > 0 && !trailer.extent().was_set() => {
                Some(Summary {
                    records: trailer.records.into(),
                    first_sequence: trailer.first_sequence,
                    last_sequence: trailer.last_sequence,
                    extent: trailer.extent(),
                })
            }
            _ => Summary::of(self.entries()?),
        };
        Ok(*self.summary.insert(summary))
    }

    /// What was found where records are.
    pub(crate) fn found(&mut self) -> io::Result<&Found> {
        let found = match self.found.take() {
            Some(found) => found,
            None => {
                // Its end may count records that are not there.
                self.summary = None;
                self.find()?
            }
        };
        Ok(self.found.insert(found))
    }

    /// By the index or, where there is none, by looking at all of it.
    fn find(&self) -> io::Result<Found> {
        if let Some(trailer) = self.trailer
            && let Some(entries) = read_index(&*self.source, &trailer)?
        {
            return Ok(Found { entries, end: trailer.index_offset, is_complete: true, ..Found::default() });
        }
        let mut found = Found::new();
        let end = match self.trailer {
            Some(trailer) => trailer.index_offset,
            None => self.source.length()?,
        };
        found.scan(&*self.source, end)?;
        found.is_complete |= self.trailer.is_some_and(|trailer| trailer.index_offset == found.end);
        Ok(found)
    }

    /// What all of its records add up to, as bytes, if it has that.
    pub(crate) fn sums(&mut self) -> Option<Vec<u8>> {
        let Trailer { records, index_offset: end, .. } = self.trailer?;
        let entries = self.entries().ok()?;
        // They are of all that was written.
        let last = *entries.last().filter(|_| entries.len() == records as usize)?;
        let mut header = [0; RECORD_BYTES];
        self.source.read_at(last.offset, &mut header).ok()?;
        let begin = last.offset + (RECORD_BYTES as u64) + u64::from(RecordHeader::read(&header)?.length);
        let length = end.checked_sub(begin).filter(|length| *length <= sums::MOST_BYTES as u64)?;
        let mut bytes = vec![0; length as usize];
        self.source.read_at(begin, &mut bytes).ok()?;
        sums::read(&bytes)
    }

    /// What is wanted of the record at this place of [`Segment::entries`], into the memory of a frame.
    pub(crate) fn read_into(
        &mut self,
        place: usize,
        wanted: &Wanted,
        frame: &mut Frame,
    ) -> Result<(), NotRead> {
        let read = self.read_with_needed(place, wanted, frame);
        let read = read.and_then(|()| frame.check_figures().map_err(|_| NotRead::Damaged));
        let entry = self.found().map_err(NotRead::Io)?.entries.get(place);
        let offset = entry.map(|entry| entry.offset);
        if matches!(read, Err(NotRead::Damaged)) {
            self.unread = offset;
        } else if self.unread == offset {
            self.unread = None;
        }
        read
    }

    fn read_with_needed(&mut self, place: usize, wanted: &Wanted, frame: &mut Frame) -> Result<(), NotRead> {
        self.chain = self.chain.take().filter(|(chain, _)| chain.wanted() == wanted);
        let needed = self.needed(place)?;
        let is_last = self.found.as_ref().is_some_and(|found| found.entries.len() == place + 1);
        let mut packed = std::mem::take(&mut self.packed);
        let read = needed.into_iter().rev().try_for_each(|entry| {
            let header = read_record(&*self.source, &entry, &mut packed)?;
            self.read_link(&header, &packed, &entry, wanted, frame)
        });
        // What a longer one needed is given back, and all of it at the end: a recording has many segments.
        let is_kept = |bytes: &Vec<u8>| !is_last && bytes.capacity() <= MOST_KEPT_BYTES;
        self.packed = Some(packed).filter(is_kept).unwrap_or_default();
        self.plain = Some(std::mem::take(&mut self.plain)).filter(is_kept).unwrap_or_default();
        read
    }

    /// A record and what it needs that has not been read yet, the nearest first.
    fn needed(&mut self, place: usize) -> Result<Vec<Entry>, NotRead> {
        let read = self.chain.as_ref().and_then(|(_, last)| *last);
        let unread = self.unread;
        let entries = &self.found().map_err(NotRead::Io)?.entries;
        let mut needed = vec![*entries.get(place).ok_or(NotRead::Damaged)?];
        while let Some(last) = needed.last().filter(|last| last.back > 0) {
            let offset = last.offset.checked_sub(last.back).ok_or(NotRead::Damaged)?;
            if read == Some(offset) {
                break;
            }
            let base =
                entries.binary_search_by_key(&offset, |entry| entry.offset).map_err(|_| NotRead::Damaged)?;
            if needed.len() > MOST_NEEDED || unread == Some(offset) {
                return Err(NotRead::Damaged);
            }
            needed.push(entries[base]);
        }
        Ok(needed)
    }

    fn read_link(
        &mut self,
        header: &RecordHeader,
        packed: &[u8],
        entry: &Entry,
        wanted: &Wanted,
        frame: &mut Frame,
    ) -> Result<(), NotRead> {
        let (chain, last) = self.chain.get_or_insert_with(|| (ChainReader::new(wanted), None));
        if entry.back == 0 {
            chain.restart();
        } else if *last != entry.offset.checked_sub(entry.back) {
            return Err(NotRead::Damaged);
        }
        *last = None;
        let parts = packed.split_at_checked(header.compressed_bytes as usize);
        let (compressed, dense) = parts.ok_or(NotRead::Damaged)?;
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new().map_err(NotRead::Io)?),
        };
        unpack_by(decompressor, compressed, header.plain_bytes, &mut self.plain)
            .map_err(|_| NotRead::Damaged)?;
        let most = Most::of(packed.len()).weight;
        chain.read(&self.plain, dense, most, frame).map_err(|_| NotRead::Damaged)?;
        *last = Some(entry.offset);
        Ok(())
    }
}

/// The header of a record. What is behind it is put into `packed`.
fn read_record(source: &dyn ReadAt, entry: &Entry, packed: &mut Vec<u8>) -> Result<RecordHeader, NotRead> {
    let mut header = [0; RECORD_BYTES];
    read_within(source, entry.offset, &mut header)?;
    let header = RecordHeader::read(&header).filter(|header| entry_of(header, entry.offset) == *entry);
    let is_small =
        |header: &RecordHeader| u64::from(header.plain_bytes) <= Most::of(header.length as usize).plain_bytes;
    let header = header.filter(is_small).ok_or(NotRead::Damaged)?;
    let from = entry.offset + RECORD_BYTES as u64;
    if source.length().map_err(NotRead::Io)? < from + u64::from(header.length) {
        return Err(NotRead::Damaged);
    }
    packed.resize(header.length as usize, 0);
    read_within(source, from, packed)?;
    if crc32c::crc32c(packed) != header.checksum {
        return Err(NotRead::Damaged);
    }
    Ok(header)
}

/// What is not there was cut off.
fn read_within(source: &dyn ReadAt, offset: u64, bytes: &mut [u8]) -> Result<(), NotRead> {
    source.read_at(offset, bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => NotRead::Damaged,
        _ => NotRead::Io(error),
    })
}

fn read_trailer(source: &dyn ReadAt, length: u64) -> io::Result<Option<Trailer>> {
    let Some(at) = length.checked_sub(TRAILER_BYTES as u64) else { return Ok(None) };
    let mut bytes = [0; TRAILER_BYTES];
    source.read_at(at, &mut bytes)?;
    let is_whole = |trailer: &Trailer| trailer.index_offset.checked_add(trailer.index_bytes) == Some(at);
    Ok(Trailer::read(&bytes).filter(is_whole))
}

/// `None`: it is damaged.
fn read_index(source: &dyn ReadAt, trailer: &Trailer) -> io::Result<Option<Vec<Entry>>> {
    // Each record has a header.
    if trailer.records > MOST_RECORDS
        || u64::from(trailer.records) * RECORD_BYTES as u64 > trailer.index_offset
    {
        return Ok(None);
    }
    // It is not longer than the file.
    let mut packed = vec![0; trailer.index_bytes as usize];
    source.read_at(trailer.index_offset, &mut packed)?;
    if crc32c::crc32c(&packed) != trailer.index_checksum {
        return Ok(None);
    }
    let is_sorted = |entries: &Vec<Entry>| entries.windows(2).all(|two| two[0].offset < two[1].offset);
    Ok(index::read(&packed, trailer.records).filter(is_sorted))
}
