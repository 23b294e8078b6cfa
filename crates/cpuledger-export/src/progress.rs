//! How far an export is, and the request to end it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Shared by the threads of an export and the thread that watches it. Any of its counts may be a little old.
#[derive(Debug, Default)]
pub struct Progress {
    stop: AtomicBool,
    intervals: AtomicU64,
    of_intervals: AtomicU64,
    rows: AtomicU64,
    /// Files that have no name yet.
    unfinished: Mutex<BTreeSet<PathBuf>>,
}

impl Progress {
    /// The export ends soon, and leaves no unfinished file.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Intervals that are done, and how many there are to do.
    pub fn intervals(&self) -> (u64, u64) {
        (self.intervals.load(Ordering::Relaxed), self.of_intervals.load(Ordering::Relaxed))
    }

    /// Rows that are written.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Removes the files that are not finished: for the end of a process whose export does not end in time.
    pub fn remove_unfinished(&self) {
        for path in std::mem::take(&mut *self.unfinished()) {
            let _ = std::fs::remove_file(path);
        }
    }

    pub(crate) fn add_unfinished(&self, path: &Path) {
        self.unfinished().insert(path.into());
    }

    pub(crate) fn drop_unfinished(&self, path: &Path) {
        self.unfinished().remove(path);
    }

    fn unfinished(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn set_total(&self, intervals: u64) {
        self.of_intervals.store(intervals, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, intervals: u64, rows: u64) {
        self.intervals.fetch_add(intervals, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }
}
