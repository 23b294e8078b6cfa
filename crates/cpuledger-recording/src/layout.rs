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
            || crc32c::crc32c(&bytes[..header::CHECKSUM]) != u32::from_le_bytes(get(bytes, header::CHECKSUM))
        {
            return Err(Unreadable::Damaged);
        }
        let short = |at| u16::from_le_bytes(get(bytes, at));
        let lengths = [header::BYTES, header::RECORD_BYTES].map(|at| usize::from(short(at)));
        if short(header::OLDEST_READER) > VERSION || lengths != [HEADER_BYTES, RECORD_BYTES] {
            return Err(Unreadable::Newer(short(header::VERSION)));
        }
        let number = |at| u64::from_le_bytes(get(bytes, at));
        let text = |at: usize, most: usize| {
            let text = &bytes[at..at + most];
            text[..text.iter().position(|byte| *byte == 0).unwrap_or(most)].to_vec()
        };
        Ok(Header {
            first_sequence: number(header::SEQUENCE),
            tier_ns: number(header::TIER),
            realtime_ns: number(header::REALTIME),
            monotonic_ns: number(header::MONOTONIC),
            boottime_ns: number(header::BOOTTIME),
            boot_id: text(header::BOOT_ID, BOOT_ID_BYTES),
            host: text(header::HOST, HOST_BYTES),
            recording: number(header::RECORDING),
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

/// Where the checksum of a header of a record, or of a trailer, stands: of all that is behind it.
const CHECKSUM: usize = 4;
const CHECKED: usize = 8;

/// A header or trailer of numbers, behind magic bytes and a checksum. Each number has its place, for both ways.
macro_rules! numbers {
    (
        $(#[$about:meta])*
        $name:ident: $magic:ident $bytes:ident {
            $($(#[$what:meta])* $at:literal $member:ident: $type:ident;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) struct $name {
            $($(#[$what])* pub(crate) $member: $type,)*
        }

        const _: () = assert!($($at >= CHECKED && $at + size_of::<$type>() <= $bytes)&&*);

        impl $name {
            pub(crate) fn write(&self) -> [u8; $bytes] {
                let mut bytes = [0; $bytes];
                put(&mut bytes, 0, &$magic);
                $(put(&mut bytes, $at, &self.$member.to_le_bytes());)*
                let checksum = crc32c::crc32c(&bytes[CHECKED..]);
                put(&mut bytes, CHECKSUM, &checksum.to_le_bytes());
                bytes
            }

            /// `None`: it is none, or it is damaged.
            pub(crate) fn read(bytes: &[u8]) -> Option<$name> {
                let bytes = bytes.get(..$bytes)?;
                let is_whole = bytes[..$magic.len()] == $magic
                    && crc32c::crc32c(&bytes[CHECKED..]) == u32::from_le_bytes(get(bytes, CHECKSUM));
                is_whole.then(|| $name { $($member: $type::from_le_bytes(get(bytes, $at)),)* })
            }
        }
    };
}

numbers! {
    /// What stands before the bytes of a frame.
    RecordHeader: RECORD_MAGIC RECORD_BYTES {
        8 checksum: u32;
        /// Of the bytes behind it.
        12 length: u32;
        /// Length of what is compressed, before that.
        16 plain_bytes: u32;
        /// Length of the compressed part of a link.
        20 compressed_bytes: u32;
        24 sequence: u64;
        32 start_ns: u64;
        40 end_ns: u64;
        48 end_realtime_ns: u64;
        /// How many bytes before it begins the record that it needs; 0: it stands alone.
        56 back: u64;
    }
}

numbers! {
    /// The last bytes of a segment that was closed.
    Trailer: TRAILER_MAGIC TRAILER_BYTES {
        8 index_checksum: u32;
        12 records: u32;
        16 index_offset: u64;
        24 index_bytes: u64;
        32 first_sequence: u64;
        40 last_sequence: u64;
        48 start_ns: u64;
        56 end_ns: u64;
        64 start_realtime_ns: u64;
        72 end_realtime_ns: u64;
    }
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
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn get<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|byte| bytes[at + byte])
}
