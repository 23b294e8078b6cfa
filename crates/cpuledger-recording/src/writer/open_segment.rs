//! The segment that is written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use cpuledger_model::frame::Frame;
use cpuledger_report::Sums;

use crate::compress::Packer;
use crate::extent::Extent;
use crate::folder::{Folder, Name, State};
use crate::index::{self, Entry};
use crate::layout::{HEADER_BYTES, Header, RecordHeader, Trailer};
use crate::segment::Summary;
use crate::sums;

pub(super) struct OpenSegment {
    file: File,
    pub(super) sequence: u64,
    pub(super) boot_id: Vec<u8>,
    packer: Packer,
    entries: Vec<Entry>,
    sums: Sums,
    /// Its length: what is behind that is not whole.
    pub(super) bytes: u64,
}

impl std::fmt::Debug for OpenSegment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OpenSegment").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl OpenSegment {
    /// A file that was not there before. If it cannot be begun, there is none.
    pub(super) fn create(folder: &Folder, header: &Header) -> io::Result<OpenSegment> {
        let packer = Packer::new()?;
        let name = Name { sequence: header.first_sequence, state: State::Open }.text();
        let file = folder.create(&name)?;
        if let Err(error) = file.write_all_at(&header.write(), 0) {
            folder.remove(&name)?;
            return Err(error);
        }
        Ok(OpenSegment {
            file,
            sequence: header.first_sequence,
            boot_id: header.boot_id.clone(),
            packer,
            entries: Vec::new(),
            sums: Sums::default(),
            bytes: HEADER_BYTES as u64,
        })
    }

    pub(super) fn name(&self, state: State) -> String {
        Name { sequence: self.sequence, state }.text()
    }

    pub(super) fn records(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn first(&self) -> Option<&Entry> {
        self.entries.first()
    }

    pub(super) fn last(&self) -> Option<&Entry> {
        self.entries.last()
    }

    /// Whether its file still has its name.
    pub(super) fn is_in(&self, folder: &Folder) -> bool {
        folder.has(&self.name(State::Open), &self.file)
    }

    /// How long its intervals are together.
    pub(super) fn length_ns(&self) -> u64 {
        self.entries.iter().map(Entry::length_ns).sum()
    }

    /// Adds a record. If that fails, the file is as it was, unless that fails, too.
    pub(super) fn append(&mut self, frame: &Frame, sequence: u64, times: &Extent) -> io::Result<()> {
        let packed = self.packer.pack(frame, self.bytes)?;
        let too_long = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        let header = RecordHeader {
            checksum: crc32c::crc32c(&packed.bytes),
            length: u32::try_from(packed.bytes.len()).map_err(too_long)?,
            plain_bytes: packed.plain_bytes,
            compressed_bytes: packed.compressed_bytes,
            sequence,
            start_ns: times.start_ns,
            end_ns: times.end_ns,
            end_realtime_ns: times.end_realtime_ns,
            back: packed.back,
        };
        let record = [&header.write()[..], &packed.bytes].concat();
        // One system call, so that a writer that is killed has written all of it or nothing.
        if let Err(error) = self.file.write_all_at(&record, self.bytes) {
            self.file.set_len(self.bytes)?;
            return Err(error);
        }
        let entry = crate::scan::entry_of(&header, self.bytes);
        self.sums.add(frame, entry.instants());
        self.entries.push(entry);
        self.packer.written(self.bytes);
        self.bytes += record.len() as u64;
        Ok(())
    }

    /// Adds sums, index and trailer, and gives it the name of what is closed. A segment without records is deleted. Returns its length.
    pub(super) fn close(self, folder: &Folder) -> io::Result<u64> {
        let open = self.name(State::Open);
        let Some(summary) = Summary::of(&self.entries) else {
            folder.remove(&open)?;
            return Ok(0);
        };
        // Where there is no room for both, the index is worth more.
        let written = self.write_end(&sums::write(&self.sums), &summary).or_else(|_| {
            self.file.set_len(self.bytes)?;
            self.write_end(&[], &summary)
        });
        let length = match written {
            Ok(length) => length,
            Err(error) => {
                // Its records are whole: it stays as what was cut off.
                self.file.set_len(self.bytes)?;
                folder.rename(&open, &self.name(State::CutOff))?;
                return Err(error);
            }
        };
        folder.rename(&open, &self.name(State::Closed))?;
        folder.sync()?;
        Ok(self.bytes + length)
    }

    /// Writes sums, index and trailer behind the records, and returns their length.
    fn write_end(&self, sums: &[u8], summary: &Summary) -> io::Result<u64> {
        let index = index::write(&self.entries)?;
        let trailer = Trailer {
            index_checksum: crc32c::crc32c(&index),
            records: self.entries.len() as u32,
            index_offset: self.bytes + sums.len() as u64,
            index_bytes: index.len() as u64,
            first_sequence: summary.first_sequence,
            last_sequence: summary.last_sequence,
            start_ns: summary.extent.start_ns,
            end_ns: summary.extent.end_ns,
            start_realtime_ns: summary.extent.start_realtime_ns,
            end_realtime_ns: summary.extent.end_realtime_ns,
        };
        let end = [sums, &index, &trailer.write()].concat();
        self.file.write_all_at(&end, self.bytes).and_then(|()| self.file.sync_all())?;
        Ok(end.len() as u64)
    }
}
