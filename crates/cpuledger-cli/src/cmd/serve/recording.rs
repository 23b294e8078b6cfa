//! The recording of the service, if its configuration wants one. A thread of its own writes it, so nothing that the disk does delays an
//! interval.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cpuledger_program::output::count_of;

use super::audiences::Last;
use super::log::log;
use crate::record::limits;
use crate::record::recorder::{self, Place, Recorder};

/// How long the end waits for the disk. What is not closed by then can be read all the same.
const LONGEST_END: Duration = Duration::from_secs(5);

/// What is recorded now.
#[derive(Debug, Default)]
pub struct Recording(Mutex<Option<(Place, Recorder)>>);

impl Recording {
    fn lock(&self) -> MutexGuard<'_, Option<(Place, Recorder)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it is recorded there, or nowhere.
    pub fn configure(&self, wanted: Option<Place>) {
        if self.lock().as_ref().map(|(place, _)| place) == wanted.as_ref() {
            return;
        }
        self.end();
        let Some(place) = wanted else { return };
        let mut sentence = format!("records to {}", place.path.display());
        // A string has room.
        let _ = limits::explain(&place.options, &mut sentence);
        // The thread opens the directory, as that may take its time, too.
        match Recorder::start(place.clone(), None, log) {
            Ok(recorder) => {
                log(&sentence);
                *self.lock() = Some((place, recorder));
            }
            Err(error) => log(&format!("cannot record: {error:#}")),
        }
    }

    /// Hands over an interval. It never waits for the disk.
    pub fn add(&self, last: &Last) {
        if let Some((_, recorder)) = &mut *self.lock() {
            recorder.add(&last.interval, &last.of);
        }
    }

    /// Closes what is recorded.
    pub fn end(&self) {
        // The lock is free while the disk is waited for.
        let ended = self.lock().take();
        let Some((place, recorder)) = ended else { return };
        let path = place.path.display();
        match recorder.finish_within(LONGEST_END) {
            None => log(&format!("{path}: the recording is not closed: the disk does not answer")),
            Some(outcome) => match outcome.failure {
                Some(failure) => log(&format!("{path}: the recording could not be closed: {failure}")),
                None if outcome.deleted_ns > 0 => log(&format!(
                    "has recorded {} intervals to {path}; {}",
                    outcome.intervals,
                    recorder::deleted(outcome.deleted_ns)
                )),
                None => {
                    let intervals = count_of(outcome.intervals, "interval");
                    log(&format!("has recorded {intervals} to {path}"));
                }
            },
        }
    }
}
