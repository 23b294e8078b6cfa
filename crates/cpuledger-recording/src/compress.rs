//! Frames as bytes of a record: links of a chain, of which what compresses well is compressed.

use std::io;

use cpuledger_model::frame::{ChainWriter, Frame, Link};
use zstd::bulk::{Compressor, Decompressor};

use crate::layout::{MOST_NEEDED, MOST_PLAIN_BYTES, Most};

/// Maximum number of records of a group. The first stands alone, and each of the others needs those before it.
const GROUP: usize = 16;

/// A group that has more bytes before compression is closed, so that a jump does not take long.
const GROUP_BYTES: usize = 4 << 20;

const _: () = assert!(GROUP <= MOST_NEEDED);

/// The level. With 6, a recording of real frames was 2 % shorter, and took a seventh longer to write (`examples/recording_bytes.rs`).
const LEVEL: i32 = 3;

/// A frame as the bytes of a record.
#[derive(Debug)]
pub(crate) struct Packed {
    /// What was compressed, then what was not.
    pub(crate) bytes: Vec<u8>,
    /// Length of what was compressed, before and after.
    pub(crate) plain_bytes: u32,
    pub(crate) compressed_bytes: u32,
    /// How many bytes before this record the one before it begins, of a chain; 0: it stands alone.
    pub(crate) back: u64,
}

/// Packs the frames of one segment.
pub(crate) struct Packer {
    compressor: Compressor<'static>,
    chain: ChainWriter,
    link: Link,
    /// Where the last record of the chain begins; `None`: the next stands alone.
    last: Option<u64>,
    records: usize,
    bytes: usize,
}

impl Packer {
    pub(crate) fn new() -> io::Result<Packer> {
        let compressor = Compressor::new(LEVEL)?;
        let (chain, link) = (ChainWriter::default(), Link::default());
        Ok(Packer { compressor, chain, link, last: None, records: 0, bytes: 0 })
    }

    /// The bytes of a record that begins at `offset`. The next stands alone, unless [`Packer::written`] is told that this one is in the
    /// file.
    pub(crate) fn pack(&mut self, frame: &Frame, offset: u64) -> io::Result<Packed> {
        let last = self.last.take().filter(|_| self.records < GROUP && self.bytes < GROUP_BYTES);
        if last.is_none() {
            self.chain.restart();
            (self.records, self.bytes) = (0, 0);
        }
        let too_long = || io::Error::from(io::ErrorKind::FileTooLarge);
        self.chain.write(frame, &mut self.link).map_err(|_| too_long())?;
        let Link { plain, dense, weight, .. } = &self.link;
        if plain.len() + dense.len() > MOST_PLAIN_BYTES as usize {
            return Err(too_long());
        }
        let mut bytes = self.compressor.compress(plain)?;
        let compressed_bytes = bytes.len() as u32;
        bytes.extend_from_slice(dense);
        // Behind the last bit nothing is read.
        let least = Most { plain_bytes: plain.len() as u64, weight: *weight }.least_length();
        bytes.resize(bytes.len().max(least as usize), 0);
        self.records += 1;
        self.bytes += plain.len() + dense.len();
        let back = last.map_or(0, |last| offset - last);
        Ok(Packed { bytes, plain_bytes: plain.len() as u32, compressed_bytes, back })
    }

    /// The record that begins there is in the file.
    pub(crate) fn written(&mut self, offset: u64) {
        self.last = Some(offset);
    }
}

/// The bytes, if they have this length, at which the caller has looked.
pub(crate) fn unpack(packed: &[u8], plain_bytes: usize) -> Option<Vec<u8>> {
    zstd::bulk::decompress(packed, plain_bytes).ok().filter(|plain| plain.len() == plain_bytes)
}

/// The same, with this decompressor and into this memory.
pub(crate) fn unpack_by(
    decompressor: &mut Decompressor<'_>,
    packed: &[u8],
    plain_bytes: u32,
    plain: &mut Vec<u8>,
) -> io::Result<()> {
    plain.clear();
    plain.reserve(plain_bytes as usize);
    let length = decompressor.decompress_to_buffer(packed, plain)?;
    if length as u64 == u64::from(plain_bytes) { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
