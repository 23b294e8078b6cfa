//! Where what stands in a segment. All numbers are little-endian.

use std::time::Duration;

use crate::extent::Extent;
use crate::length;

/// The version that is written.
pub const VERSION: u16 = 2;

/// The oldest version whose readers understand what is written.
const OLDEST_READER: u16 = 2;

/// The first bytes of a segment, of a record, and of what a clean close adds.
pub(crate) const SEGMENT_MAGIC: [u8; 8] = *b"cpuledsg";
pub(crate) const RECORD_MAGIC: [u8; 4] = *b"cRec";
pub(crate) const SUMS_MAGIC: [u8; 4] = *b"cSum";
pub(crate) const INDEX_MAGIC: [u8; 4] = *b"cIdx";
const TRAILER_MAGIC: [u8; 4] = *b"cEnd";

/// Maximum length of a link before compression.
pub(crate) const MOST_PLAIN_BYTES: u32 = 256 << 20;

/// What a record of a length may cost its reader. Zeros at its end make one longer that would cost more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Most {
    /// Length of the compressed part before it was compressed.
    pub(crate) plain_bytes: u64,
    /// Weight of a link.
    pub(crate) weight: u64,
}

/// What each record may cost, and what for each of its bytes.
const FREE: Most = Most { plain_bytes: 1 << 20, weight: 1 << 10 };
const PER_BYTE: Most = Most { plain_bytes: 256, weight: 4 };

impl Most {
    /// By the length of what is behind its header.
    pub(crate) fn of(length: usize) -> Most {
        let bytes = (RECORD_BYTES + length) as u64;
        let plain_bytes = FREE.plain_bytes + PER_BYTE.plain_bytes * bytes;
        let weight = FREE.weight + PER_BYTE.weight * bytes;
        Most { plain_bytes: plain_bytes.min(MOST_PLAIN_BYTES.into()), weight }
    }

    /// The length behind the header of a record that may cost this much.
    pub(crate) fn least_length(self) -> u64 {
        let plain = self.plain_bytes.saturating_sub(FREE.plain_bytes).div_ceil(PER_BYTE.plain_bytes);
        let weight = self.weight.saturating_sub(FREE.weight).div_ceil(PER_BYTE.weight);
        plain.max(weight).saturating_sub(RECORD_BYTES as u64)
    }
}

/// Maximum number of records of a segment.
pub(crate) const MOST_RECORDS: u32 = 1 << 20;

/// Maximum number of records that one needs before it.
pub(crate) const MOST_NEEDED: usize = 64;

/// Length of the header of a segment, of that of a record, and of the trailer, in this version.
pub(crate) const HEADER_BYTES: usize = 256;
pub(crate) const RECORD_BYTES: usize = 64;
pub(crate) const TRAILER_BYTES: usize = 80;

/// Places for texts in the header of a segment. What is longer is cut.
const BOOT_ID_BYTES: usize = 64;
const HOST_BYTES: usize = 64;

const _: () = assert!(header::CHECKSUM + 4 <= HEADER_BYTES && header::RECORDING + 8 <= header::CHECKSUM);
const _: () = assert!(header::HOST + HOST_BYTES == header::RECORDING);
const _: () = assert!(record::BACK + 8 <= RECORD_BYTES && trailer::END_REALTIME + 8 == TRAILER_BYTES);

mod header {
    pub(super) const VERSION: usize = 8;
    pub(super) const OLDEST_READER: usize = 10;
    pub(super) const BYTES: usize = 12;
    pub(super) const RECORD_BYTES: usize = 14;
    pub(super) const SEQUENCE: usize = 16;
    pub(super) const TIER: usize = 24;
    pub(super) const REALTIME: usize = 32;
    pub(super) const MONOTONIC: usize = 40;
    pub(super) const BOOTTIME: usize = 48;
    pub(super) const BOOT_ID: usize = 56;
    pub(super) const HOST: usize = 120;
    pub(super) const RECORDING: usize = 184;
    pub(super) const CHECKSUM: usize = 252;
}

mod record {
    pub(super) const HEADER_CHECKSUM: usize = 4;
    pub(super) const CHECKSUM: usize = 8;
    pub(super) const LENGTH: usize = 12;
    pub(super) const PLAIN_BYTES: usize = 16;
    pub(super) const COMPRESSED_BYTES: usize = 20;
    pub(super) const SEQUENCE: usize = 24;
    pub(super) const START: usize = 32;
    pub(super) const END: usize = 40;
    pub(super) const END_REALTIME: usize = 48;
    pub(super) const BACK: usize = 56;
}

mod trailer {
    pub(super) const CHECKSUM: usize = 4;
    pub(super) const INDEX_CHECKSUM: usize = 8;
    pub(super) const RECORDS: usize = 12;
    pub(super) const INDEX_OFFSET: usize = 16;
    pub(super) const INDEX_BYTES: usize = 24;
    pub(super) const FIRST_SEQUENCE: usize = 32;
    pub(super) const LAST_SEQUENCE: usize = 40;
    pub(super) const START: usize = 48;
    pub(super) const END: usize = 56;
    pub(super) const START_REALTIME: usize = 64;
    pub(super) const END_REALTIME: usize = 72;
}

/// What the beginning of a segment says of all of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Header {
    /// Number of its first record, unless that was lost.
    pub first_sequence: u64,
    /// Length of the tier; 0: frames as they came.
    pub tier_ns: u64,
    /// CLOCK_REALTIME when it was made.
    pub realtime_ns: u64,
    /// CLOCK_MONOTONIC at that instant.
    pub monotonic_ns: u64,
    /// CLOCK_BOOTTIME at that instant.
    pub boottime_ns: u64,
    /// Identifier of the boot of all its frames.
    pub boot_id: Vec<u8>,
    /// Name of the machine.
    pub host: Vec<u8>,
    /// Identifies the recording: CLOCK_REALTIME when its first segment was made. 0: an older version wrote it.
    pub recording: u64,
}

/// Why a segment's header is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    Damaged,
    /// A newer version, which says that this one would not understand it.
    Newer(u16),
}

impl Header {
    /// The name of its tier's directory: `all`, `1s`, `1m`.
    pub fn tier_name(&self) -> String {
        length::name_of(Duration::from_nanos(self.tier_ns))
    }

    /// What identifies a recording that has segments with these headers, its first before all. `None`: none of them is whole.
    pub(crate) fn recording_of<'a>(headers: impl Iterator<Item = &'a Header>) -> Option<u64> {
        let mut first = None;
        for header in headers {
            if header.recording != 0 {
                return Some(header.recording);
            }
            first = first.or(Some(header.realtime_ns));
        }
        first
    }

    pub(crate) fn write(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..SEGMENT_MAGIC.len()].copy_from_slice(&SEGMENT_MAGIC);
        put(&mut bytes, header::VERSION, &VERSION.to_le_bytes());
        put(&mut bytes, header::OLDEST_READER, &OLDEST_READER.to_le_bytes());
        put(&mut bytes, header::BYTES, &(HEADER_BYTES as u16).to_le_bytes());
        put(&mut bytes, header::RECORD_BYTES, &(RECORD_BYTES as u16).to_le_bytes());
        for (at, value) in [
            (header::SEQUENCE, self.first_sequence),
            (header::TIER, self.tier_ns),
            (header::REALTIME, self.realtime_ns),
            (header::MONOTONIC, self.monotonic_ns),
            (header::BOOTTIME, self.boottime_ns),
            (header::RECORDING, self.recording),
        ] {
            put(&mut bytes, at, &value.to_le_bytes());
        }
        put(&mut bytes, header::BOOT_ID, cut(&self.boot_id, BOOT_ID_BYTES));
        put(&mut bytes, header::HOST, cut(&self.host, HOST_BYTES));
        let checksum = crc32c::crc32c(&bytes[..header::CHECKSUM]);
        put(&mut bytes, header::CHECKSUM, &checksum.to_le_bytes());
        bytes
    }

    /// Of the first bytes of a file.
    pub(crate) fn read(bytes: &[u8]) -> Result<Header, Unreadable> {
        let bytes = bytes.get(..HEADER_BYTES).ok_or(Unreadable::Damaged)?;
        if bytes[..SEGMENT_MAGIC.len()] != SEGMENT_MAGIC
            || crc32c::crc32c(&bytes[..header::CHECKSUM]) != get_u32(bytes, header::CHECKSUM)
        {
            return Err(Unreadable::Damaged);
        }
        let lengths = [header::BYTES, header::RECORD_BYTES].map(|at| usize::from(get_u16(bytes, at)));
        if get_u16(bytes, header::OLDEST_READER) > VERSION || lengths != [HEADER_BYTES, RECORD_BYTES] {
            return Err(Unreadable::Newer(get_u16(bytes, header::VERSION)));
        }
        let text = |at: usize, most: usize| {
            let text = &bytes[at..at + most];
            text[..text.iter().position(|byte| *byte == 0).unwrap_or(most)].to_vec()
        };
        Ok(Header {
            first_sequence: get_u64(bytes, header::SEQUENCE),
            tier_ns: get_u64(bytes, header::TIER),
            realtime_ns: get_u64(bytes, header::REALTIME),
            monotonic_ns: get_u64(bytes, header::MONOTONIC),
            boottime_ns: get_u64(bytes, header::BOOTTIME),
            boot_id: text(header::BOOT_ID, BOOT_ID_BYTES),
            host: text(header::HOST, HOST_BYTES),
            recording: get_u64(bytes, header::RECORDING),
        })
    }
}

/// The identifier of a boot as a header has it.
pub(crate) fn cut_boot_id(boot_id: &[u8]) -> &[u8] {
    cut(boot_id, BOOT_ID_BYTES)
}

fn cut(text: &[u8], most: usize) -> &[u8] {
    &text[..text.len().min(most)]
}

/// What stands before the bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) checksum: u32,
    /// Of the bytes behind it.
    pub(crate) length: u32,
    /// Length of what is compressed, before that.
    pub(crate) plain_bytes: u32,
    /// Length of the compressed part of a link.
    pub(crate) compressed_bytes: u32,
    pub(crate) sequence: u64,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) end_realtime_ns: u64,
    /// How many bytes before it begins the record that it needs; 0: it stands alone.
    pub(crate) back: u64,
}

impl RecordHeader {
    pub(crate) fn write(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        put(&mut bytes, 0, &RECORD_MAGIC);
        put(&mut bytes, record::CHECKSUM, &self.checksum.to_le_bytes());
        put(&mut bytes, record::LENGTH, &self.length.to_le_bytes());
        put(&mut bytes, record::PLAIN_BYTES, &self.plain_bytes.to_le_bytes());
        put(&mut bytes, record::COMPRESSED_BYTES, &self.compressed_bytes.to_le_bytes());
        put(&mut bytes, record::SEQUENCE, &self.sequence.to_le_bytes());
        put(&mut bytes, record::START, &self.start_ns.to_le_bytes());
        put(&mut bytes, record::END, &self.end_ns.to_le_bytes());
        put(&mut bytes, record::END_REALTIME, &self.end_realtime_ns.to_le_bytes());
        put(&mut bytes, record::BACK, &self.back.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[record::CHECKSUM..]);
        put(&mut bytes, record::HEADER_CHECKSUM, &checksum.to_le_bytes());
        bytes
    }

    /// `None`: it is none, or it is damaged.
    pub(crate) fn read(bytes: &[u8]) -> Option<RecordHeader> {
        let bytes = bytes.get(..RECORD_BYTES)?;
        if bytes[..RECORD_MAGIC.len()] != RECORD_MAGIC
            || crc32c::crc32c(&bytes[record::CHECKSUM..]) != get_u32(bytes, record::HEADER_CHECKSUM)
        {
            return None;
        }
        Some(RecordHeader {
            checksum: get_u32(bytes, record::CHECKSUM),
            length: get_u32(bytes, record::LENGTH),
            plain_bytes: get_u32(bytes, record::PLAIN_BYTES),
            compressed_bytes: get_u32(bytes, record::COMPRESSED_BYTES),
            sequence: get_u64(bytes, record::SEQUENCE),
            start_ns: get_u64(bytes, record::START),
            end_ns: get_u64(bytes, record::END),
            end_realtime_ns: get_u64(bytes, record::END_REALTIME),
            back: get_u64(bytes, record::BACK),
        })
    }
}

/// The last bytes of a segment that was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub(crate) index_checksum: u32,
    pub(crate) records: u32,
    pub(crate) index_offset: u64,
    pub(crate) index_bytes: u64,
    pub(crate) first_sequence: u64,
    pub(crate) last_sequence: u64,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) start_realtime_ns: u64,
    pub(crate) end_realtime_ns: u64,
}

impl Trailer {
    pub(crate) fn extent(&self) -> Extent {
        Extent {
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            start_realtime_ns: self.start_realtime_ns,
            end_realtime_ns: self.end_realtime_ns,
        }
    }

    pub(crate) fn write(&self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        put(&mut bytes, 0, &TRAILER_MAGIC);
        put(&mut bytes, trailer::INDEX_CHECKSUM, &self.index_checksum.to_le_bytes());
        put(&mut bytes, trailer::RECORDS, &self.records.to_le_bytes());
        for (at, value) in [
            (trailer::INDEX_OFFSET, self.index_offset),
            (trailer::INDEX_BYTES, self.index_bytes),
            (trailer::FIRST_SEQUENCE, self.first_sequence),
            (trailer::LAST_SEQUENCE, self.last_sequence),
            (trailer::START, self.start_ns),
            (trailer::END, self.end_ns),
            (trailer::START_REALTIME, self.start_realtime_ns),
            (trailer::END_REALTIME, self.end_realtime_ns),
        ] {
            put(&mut bytes, at, &value.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&bytes[trailer::INDEX_CHECKSUM..]);
        put(&mut bytes, trailer::CHECKSUM, &checksum.to_le_bytes());
        bytes
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Trailer> {
        let bytes = bytes.get(..TRAILER_BYTES)?;
        if bytes[..TRAILER_MAGIC.len()] != TRAILER_MAGIC
            || crc32c::crc32c(&bytes[trailer::INDEX_CHECKSUM..]) != get_u32(bytes, trailer::CHECKSUM)
        {
            return None;
        }
        Some(Trailer {
            index_checksum: get_u32(bytes, trailer::INDEX_CHECKSUM),
            records: get_u32(bytes, trailer::RECORDS),
            index_offset: get_u64(bytes, trailer::INDEX_OFFSET),
            index_bytes: get_u64(bytes, trailer::INDEX_BYTES),
            first_sequence: get_u64(bytes, trailer::FIRST_SEQUENCE),
            last_sequence: get_u64(bytes, trailer::LAST_SEQUENCE),
            start_ns: get_u64(bytes, trailer::START),
            end_ns: get_u64(bytes, trailer::END),
            start_realtime_ns: get_u64(bytes, trailer::START_REALTIME),
            end_realtime_ns: get_u64(bytes, trailer::END_REALTIME),
        })
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

fn get_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

fn get_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}
