//! Frames as zstd, with an earlier frame of the segment as the dictionary.

use std::io;

use zstd::bulk::{Compressor, Decompressor};

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

/// The bytes, if they have this length, compressed without a dictionary.
pub(crate) fn unpack(packed: &[u8], frame_bytes: u32) -> io::Result<Vec<u8>> {
    unpack_by(&mut Decompressor::new()?, packed, frame_bytes)
}

fn unpack_by(decompressor: &mut Decompressor<'_>, packed: &[u8], frame_bytes: u32) -> io::Result<Vec<u8>> {
    let most = (packed.len() as u64 * MOST_RATIO).max(LEAST_LIMIT).min(MOST_FRAME_BYTES.into());
    if u64::from(frame_bytes) > most {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut frame = Vec::with_capacity(frame_bytes as usize);
    let length = decompressor.decompress_to_buffer(packed, &mut frame)?;
    if length as u64 == u64::from(frame_bytes) { Ok(frame) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Decompresses the frames of a segment. It keeps the dictionary of the last one, which is mostly that of the next.
#[derive(Default)]
pub(crate) struct Unpacker {
    alone: Option<Decompressor<'static>>,
    /// With the dictionary that begins there.
    with_dictionary: Option<(u64, Decompressor<'static>)>,
}

impl Unpacker {
    /// The frame, if it has this length. The dictionary is that of the record which begins there.
    pub(crate) fn unpack(
        &mut self,
        packed: &[u8],
        frame_bytes: u32,
        dictionary: Option<(u64, &[u8])>,
    ) -> io::Result<Vec<u8>> {
        let Some((offset, dictionary)) = dictionary else {
            let alone = match &mut self.alone {
                Some(alone) => alone,
                none => none.insert(Decompressor::new()?),
            };
            return unpack_by(alone, packed, frame_bytes);
        };
        let with_dictionary = match &mut self.with_dictionary {
            Some((own, with_dictionary)) if *own == offset => with_dictionary,
            other => &mut other.insert((offset, Decompressor::with_dictionary(dictionary)?)).1,
        };
        unpack_by(with_dictionary, packed, frame_bytes)
    }
}
