//! Writes recordings: one writer at a time in a directory.

mod boots;
mod catch_up;
mod deleted;
mod lost;
mod merged;
mod open_segment;
mod options;
mod retention;
mod times;
mod track;

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use cpuledger_model::frame::Frame;

use crate::error::{Error, Kind};
use crate::folder::Folder;
use crate::length;

pub use deleted::Deleted;
pub use lost::Lost;
pub use options::{Options, Tier};
use retention::Limits;
use times::times_of;
use track::Track;

/// The one writer of a directory.
#[derive(Debug)]
pub struct Writer {
    folder: Folder,
    limits: Limits,
    tracks: Vec<Track>,
    deleted: Vec<Deleted>,
    /// Held as long as the writer lives.
    lock: File,
}

impl Writer {
    /// Makes the directory, if it is not there, but not those that it is in. Segments that another writer has not closed stay as they are.
    ///
    /// # Errors
    /// When another process records there, or the directory cannot be used.
    pub fn open(path: &Path, options: Options) -> Result<Writer, Error> {
        let failed = |error| Error::Io { path: path.into(), source: error };
        let (folder, lock) = take(path)?;
        let host = match &options.host {
            Some(host) => host.clone().into_bytes(),
            None => rustix::system::uname().nodename().to_bytes().to_vec(),
        };
        let tracks = options.tiers.iter().map(|tier| {
            let own = folder.make_inner(&length::name_of(tier.length)).map_err(failed)?;
            Track::open(own, *tier, &options, host.clone())
        });
        let mut tracks = tracks.collect::<Result<Vec<_>, Error>>()?;
        // Where there is no room, the minute stays missing, and the next interval says so.
        match catch_up::catch_up(&mut tracks) {
            Err(error) if error.kind() != Kind::Paused => return Err(error),
            _ => {}
        }
        let limits = Limits { most_bytes: options.most_bytes, least_free_bytes: options.least_free_bytes };
        Ok(Writer { folder, limits, tracks, deleted: Vec::new(), lock })
    }

    /// Adds an interval to each tier. Where others have deleted or moved what was written, directories and segments are made again.
    ///
    /// # Errors
    /// Of the kind [`Paused`](crate::Kind::Paused) when there is no room now: the interval is lost, and the next may be written again.
    pub fn append(&mut self, frame: &Frame) -> Result<(), Error> {
        let times = times_of(frame)?;
        let ready = self.stay_in_place().and_then(|()| {
            self.tracks.iter_mut().for_each(|track| track.meet(frame, &times));
            retention::apply(&self.limits, &self.folder, &mut self.tracks)
        });
        if let Err(error) = ready {
            self.skip(1);
            return Err(error);
        }
        let mut result = Ok(());
        // What one tier has no room for, another may have.
        for track in &mut self.tracks {
            let added = track.append(frame);
            result = result.and(added);
        }
        result
    }

    fn stay_in_place(&mut self) -> Result<(), Error> {
        self.note_deleted();
        let path = &self.folder.path;
        if !self.folder.is_in_place() || !self.folder.has_lock(&self.lock) {
            (self.folder, self.lock) = take(path)?;
        }
        for track in self.tracks.iter_mut().filter(|track| !track.folder.is_in_place()) {
            let name = length::name_of(Duration::from_nanos(track.length_ns));
            let own = self.folder.make_inner(&name);
            track.go_on_in(
                own.map_err(|error| Error::Io { path: track.folder.path.clone(), source: error })?,
            )?;
        }
        Ok(())
    }

    fn note_deleted(&mut self) {
        let moved = self.tracks.iter_mut().filter(|track| !track.is_in_place());
        self.deleted.extend(moved.filter_map(Track::forget_deleted));
    }

    /// What others have deleted or moved since this was asked last.
    pub fn take_deleted(&mut self) -> Vec<Deleted> {
        std::mem::take(&mut self.deleted)
    }

    /// What tiers of longer intervals could not write since this was asked last. The error of an interval counts as one, whatever was merged.
    pub fn take_lost(&mut self) -> Vec<Lost> {
        self.tracks.iter_mut().filter_map(|track| track.lost.take()).collect()
    }

    /// Leaves out the numbers of intervals that were not to be had, so that readers see that they are missing.
    pub fn skip(&mut self, intervals: u64) {
        self.tracks.iter_mut().for_each(|track| track.skip(intervals));
    }

    /// Length of all segments.
    pub fn bytes(&self) -> u64 {
        self.tracks.iter().map(Track::bytes).sum()
    }

    /// What the file system has free for this process.
    ///
    /// # Errors
    /// When it does not say.
    pub fn free_bytes(&self) -> io::Result<u64> {
        self.folder.free_bytes()
    }

    /// How many bytes this writer has added, whether they are there still or not.
    pub fn written_bytes(&self) -> u64 {
        self.tracks.iter().map(|track| track.written).sum()
    }

    /// Writes what is merged so far, and closes the segments; what is added later begins new ones. Dropping the writer does the same, if
    /// it can.
    ///
    /// # Errors
    /// When that cannot be written. What was written before can be read all the same.
    pub fn close(&mut self) -> Result<(), Error> {
        self.note_deleted();
        let mut result = Ok(());
        for track in &mut self.tracks {
            let closed = track.close();
            result = result.and(closed);
        }
        result
    }
}

/// The directory, and its lock.
fn take(path: &Path) -> Result<(Folder, File), Error> {
    let failed = |error| Error::Io { path: path.into(), source: error };
    let folder = Folder::make(path).map_err(failed)?;
    let lock = folder.lock().map_err(failed)?;
    let lock = lock.ok_or_else(|| Error::InUse { path: path.into() })?;
    Ok((folder, lock))
}

impl Drop for Writer {
    fn drop(&mut self) {
        for track in &mut self.tracks {
            // Unclosed segments can be read, too.
            let _ = track.close();
        }
    }
}
