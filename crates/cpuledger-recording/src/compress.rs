//! Frames as zstd, with an earlier frame of the segment as the dictionary.

use std::io::{self, Read};

use zstd::bulk::Compressor;

use crate::layout::MOST_FRAME_BYTES;

/// What is decompressed is at most this many times longer than what it was, and [`LEAST_LIMIT`] where that is more.
const MOST_RATIO: u64 = 1 << 15;
const LEAST_LIMIT: u64 = 1 << 20;

/// Number of records of a group. The first stands alone. The others have it as their dictionary, so none needs a third.
const GROUP: u16 = 60;

/// The level. With 6, a recording of real frames was 3 % shorter (`examples/recording_bytes.rs`).
const LEVEL: i32 = 3;

/// Compresses frames for one segment.
pub(crate) struct Packer {
    alone: Compressor<'static>,
    /// With the first frame of the group as the dictionary, and where the record of that begins.
    with_first: Option<(Compressor<'static>, u64)>,
    /// Number of records in the group.
    records: u16,
}

impl Packer {
    pub(crate) fn new() -> io::Result<Packer> {
        Ok(Packer { alone: Compressor::new(LEVEL)?, with_first: None, records: 0 })
    }

    /// The compressed frame of a record that begins at `offset`, and how many bytes before that its dictionary is.
    pub(crate) fn pack(&mut self, frame: &[u8], offset: u64) -> io::Result<(Vec<u8>, u64)> {
        match &mut self.with_first {
            Some((with_first, first)) if self.records < GROUP => {
                Ok((with_first.compress(frame)?, offset - *first))
            }
            _ => Ok((self.alone.compress(frame)?, 0)),
        }
    }

    /// To be told of each record that is in the file.
    pub(crate) fn written(&mut self, frame: &[u8], offset: u64, back: u64) -> io::Result<()> {
        if back == 0 {
            self.with_first = Some((Compressor::with_dictionary(LEVEL, frame)?, offset));
            self.records = 0;
        }
        self.records += 1;
        Ok(())
    }
}

/// The frame, if it has this length.
pub(crate) fn unpack(packed: &[u8], frame_bytes: u32, dictionary: &[u8]) -> io::Result<Vec<u8>> {
    let most = (packed.len() as u64 * MOST_RATIO).max(LEAST_LIMIT).min(MOST_FRAME_BYTES.into());
    if u64::from(frame_bytes) > most {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let decoder = zstd::stream::read::Decoder::with_dictionary(packed, dictionary)?;
    let mut frame = Vec::new();
    decoder.take(u64::from(frame_bytes) + 1).read_to_end(&mut frame)?;
    if frame.len() as u64 == u64::from(frame_bytes) {
        Ok(frame)
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}
