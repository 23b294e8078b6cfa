//! What the intervals of a segment add up to, between its last record and its index. It is left out where that would be long.

use cpuledger_report::Sums;

use crate::compress::unpack;
use crate::layout::SUMS_MAGIC;

/// Their greatest length, before and after compression.
const MOST_PLAIN_BYTES: u32 = 16 << 20;
pub(crate) const MOST_BYTES: u64 = 8 << 20;

const LEVEL: i32 = 3;

/// [`SUMS_MAGIC`], the checksum of the rest, [`Sums::VERSION`], the length before compression, and what is compressed. Nothing where there are none.
pub(crate) fn write(sums: &Sums) -> Vec<u8> {
    let plain = sums.bytes().filter(|plain| plain.len() <= MOST_PLAIN_BYTES as usize);
    let packed =
        plain.and_then(|plain| Some((plain.len() as u32, zstd::bulk::compress(&plain, LEVEL).ok()?)));
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
    if u32::from_le_bytes(*version) != Sums::VERSION || plain_bytes > MOST_PLAIN_BYTES {
        return None;
    }
    unpack(packed, plain_bytes).ok()
}
