//! What is still to be sent: a bounded queue, on disk if there is a folder for it.
//!
//! Sums are cumulative, so a request that is dropped costs detail in time and nothing else: later ones have its amounts, too. So the oldest is
//! dropped where there is no room, a disk that is full stops nothing, and nothing waits for fsync(2).

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::otlp::pushes::Pushes;

/// What the names of files end in, and what they end in while they are written.
const SUFFIX: &str = ".otlp.gz";
const UNFINISHED: &str = ".new";
/// A file of that name holds the lock of the folder.
const LOCK: &str = "lock";
/// How much is kept in memory, for as long as the disk takes nothing.
const IN_MEMORY_BYTES: u64 = 8 << 20;
/// No request has more bytes. A file that has is not one of ours.
const LONGEST_BYTES: u64 = 64 << 20;

/// A request that waits: its number, and its bytes or their file.
#[derive(Debug, Clone)]
pub struct Entry {
    number: u64,
    /// The number of its push; 0: an earlier run has left it.
    push: u64,
    bytes: u64,
    /// `None`: they are on disk.
    body: Option<Arc<[u8]>>,
}

/// The requests, oldest first.
#[derive(Debug, Default)]
pub struct Queue {
    folder: Option<PathBuf>,
    /// Held for as long as this is.
    _lock: Option<File>,
    limit_bytes: u64,
    entries: VecDeque<Entry>,
    /// Of all of them.
    bytes: u64,
    next: u64,
    dropped: u64,
    pushes: Pushes,
}

/// What became of a request.
#[derive(Debug)]
pub enum Kept {
    /// It is where it should be.
    Whole,
    /// The disk has not taken it, and it is in memory.
    InMemory(io::Error),
}

impl Queue {
    /// In memory.
    pub fn in_memory(limit_bytes: u64) -> Queue {
        Queue { limit_bytes: limit_bytes.min(IN_MEMORY_BYTES), next: 1, ..Queue::default() }
    }

    /// In a folder, which is made if it is missing, with what an earlier run has left there.
    ///
    /// # Errors
    /// When it cannot be used, or another process uses it.
    pub fn on_disk(folder: &Path, limit_bytes: u64) -> io::Result<Queue> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(folder.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| io::Error::other("another `cpuledger push` uses it"))?;
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.strip_suffix(UNFINISHED).and_then(number_of).is_some() {
                let _ = fs::remove_file(entry.path());
                continue;
            }
            let Some(number) = number_of(name) else { continue };
            let about = entry.metadata()?;
            // A file without bytes is what a crash of the machine has left of one.
            if !about.is_file() || about.len() == 0 || about.len() > LONGEST_BYTES {
                let _ = fs::remove_file(entry.path());
                continue;
            }
            entries.push(Entry { number, push: 0, bytes: about.len(), body: None });
        }
        entries.sort_unstable_by_key(|entry| entry.number);
        let next = entries.last().map_or(1, |last| last.number.saturating_add(1));
        let mut queue = Queue {
            folder: Some(folder.to_owned()),
            _lock: Some(lock),
            limit_bytes,
            bytes: entries.iter().map(|entry| entry.bytes).sum(),
            entries: entries.into(),
            next,
            ..Queue::default()
        };
        queue.make_room(0);
        Ok(queue)
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many bytes they have.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many were dropped, as there was no room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What became of each push.
    pub fn pushes(&mut self) -> &mut Pushes {
        &mut self.pushes
    }

    /// Adds one at the end, of the push that began last. The oldest make room.
    pub fn push(&mut self, body: Vec<u8>) -> Kept {
        let bytes = body.len() as u64;
        self.make_room(bytes);
        let number = self.next;
        self.next += 1;
        let written = match &self.folder {
            Some(folder) => write(&folder.join(name_of(number)), &body).map(|()| None),
            None => Ok(Some(Arc::from(body.as_slice()))),
        };
        let (body, kept) = match written {
            Ok(body) => (body, Kept::Whole),
            Err(error) => (Some(Arc::from(body)), Kept::InMemory(error)),
        };
        self.entries.push_back(Entry { number, push: self.pushes.last(), bytes, body });
        self.bytes += bytes;
        self.trim_memory();
        kept
    }

    /// Drops the oldest until there is room for so many bytes. One request has room always.
    fn make_room(&mut self, bytes: u64) {
        while !self.entries.is_empty() && self.bytes.saturating_add(bytes) > self.limit_bytes {
            self.drop_at(0);
        }
    }

    /// Drops the oldest that are in memory, but for the last one.
    fn trim_memory(&mut self) {
        let in_memory = |entry: &Entry| if entry.body.is_some() { entry.bytes } else { 0 };
        while self.entries.len() > 1 && self.entries.iter().map(in_memory).sum::<u64>() > IN_MEMORY_BYTES {
            let Some(place) = self.entries.iter().position(|entry| entry.body.is_some()) else { return };
            self.drop_at(place);
        }
    }

    fn drop_at(&mut self, place: usize) {
        self.dropped += 1;
        self.remove(place, false);
    }

    /// The oldest, and its bytes. One whose file cannot be read is left out.
    pub fn first(&mut self) -> Option<(Entry, Arc<[u8]>)> {
        loop {
            let entry = self.entries.front()?.clone();
            match self.read(&entry) {
                Ok(body) => return Some((entry, body)),
                Err(_) => self.drop_at(0),
            }
        }
    }

    /// It is taken, or never will be. It may have been dropped meanwhile.
    pub fn settle(&mut self, entry: &Entry, is_taken: bool) {
        if let Some(place) = self.entries.iter().position(|own| own.number == entry.number) {
            self.remove(place, is_taken);
        }
    }

    fn remove(&mut self, place: usize, is_taken: bool) {
        let Some(entry) = self.entries.remove(place) else { return };
        self.bytes -= entry.bytes;
        self.pushes.settle(entry.push, is_taken);
        if let (Some(folder), None) = (&self.folder, &entry.body) {
            // Where it stays, it is sent again by the next run, and counts once all the same.
            let _ = fs::remove_file(folder.join(name_of(entry.number)));
        }
    }

    fn read(&self, entry: &Entry) -> io::Result<Arc<[u8]>> {
        let (Some(folder), None) = (&self.folder, &entry.body) else {
            return entry.body.clone().ok_or_else(|| io::Error::other("it has no bytes"));
        };
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(folder.join(name_of(entry.number)))?;
        let mut body = Vec::new();
        file.take(LONGEST_BYTES).read_to_end(&mut body)?;
        Ok(Arc::from(body))
    }
}

fn name_of(number: u64) -> String {
    format!("{number:020}{SUFFIX}")
}

fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX)?;
    (digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// Writes a file beside its place first, so that it is whole or not there.
fn write(path: &Path, body: &[u8]) -> io::Result<()> {
    let unfinished = PathBuf::from(format!("{}{UNFINISHED}", path.display()));
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true).mode(0o600);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let written = options
        .open(&unfinished)
        .and_then(|mut file| file.write_all(body))
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

#[cfg(test)]
mod tests;
