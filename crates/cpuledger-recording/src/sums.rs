//! What the intervals of a segment add up to, between its last record and its index. It is left out where that would be long.

use cpuledger_report::Sums;

use crate::compress::unpack;
use crate::layout::{Most, SUMS_MAGIC};

/// Their greatest length.
pub(crate) const MOST_BYTES: usize = 8 << 20;

/// Their greatest length before compression: like that of a record, it is bounded by what is read.
fn most_plain_bytes(packed: &[u8]) -> u64 {
    Most::of(packed.len()).plain_bytes.min(16 << 20)
}

const LEVEL: i32 = 3;

/// [`SUMS_MAGIC`], the checksum of the rest, [`Sums::VERSION`], the length before compression, and what is compressed. Nothing where there are none.
pub(crate) fn write(sums: &Sums) -> Vec<u8> {
    let packed = sums.bytes().and_then(|plain| {
        let packed = zstd::bulk::compress(&plain, LEVEL).ok()?;
        let is_short = plain.len() as u64 <= most_plain_bytes(&packed) && packed.len() <= MOST_BYTES - 16;
        is_short.then_some((plain.len() as u32, packed))
    });
    let Some((plain_bytes, packed)) = packed else { return Vec::new() };
    let rest = [&Sums::VERSION.to_le_bytes()[..], &plain_bytes.to_le_bytes(), &packed].concat();
    [&SUMS_MAGIC[..], &crc32c::crc32c(&rest).to_le_bytes(), &rest].concat()
}

/// What [`cpuledger_report::Accumulator::add_sums`] adds. `None`: it is damaged, or of another version.
pub(crate) fn read(bytes: &[u8]) -> Option<Vec<u8>> {
    let (checksum, rest) = bytes.strip_prefix(&SUMS_MAGIC)?.split_first_chunk()?;
    if u32::from_le_bytes(*checksum) != crc32c::crc32c(rest) {
        return None;
    }
    let (version, rest) = rest.split_first_chunk()?;
    let (plain_bytes, packed) = rest.split_first_chunk()?;
    let plain_bytes = u32::from_le_bytes(*plain_bytes);
    if u32::from_le_bytes(*version) != Sums::VERSION || u64::from(plain_bytes) > most_plain_bytes(packed) {
        return None;
    }
    unpack(packed, plain_bytes as usize)
}
