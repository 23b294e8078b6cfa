//! The thread that writes a recording. The one that closes intervals never waits for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use cpuledger::framing::{self, Circumstances};
use cpuledger::{Interval, machine};
use cpuledger_model::frame::Frame;
use cpuledger_model::make;
use cpuledger_program::output::count_of;
use cpuledger_recording::{Error, Kind, Lost, Options, Writer};

use super::beside::Beside;

/// Intervals that wait for the disk. What comes while as many wait is missing in the recording.
const WAITING: usize = 16;

/// How often it is looked whether the thread has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A recording, for the one that has the intervals.
#[derive(Debug)]
pub struct Recorder {
    to_thread: SyncSender<Box<Order>>,
    /// Orders that are done, whose memory can be used again.
    done: Receiver<Box<Order>>,
    thread: JoinHandle<Outcome>,
    boot_id: Option<String>,
    /// Intervals that the thread had no time for, and does not know of.
    missed: u64,
}

/// What the thread is to write.
#[derive(Debug, Default)]
struct Order {
    /// Intervals that are missing before this one.
    missed: u64,
    frame: Arc<Frame>,
}

/// What has become of a recording.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Intervals that are in it.
    pub intervals: u64,
    /// Intervals that are missing.
    pub missed: u64,
    /// Bytes that were written.
    pub bytes: u64,
    /// The length of these intervals.
    pub length_ns: u64,
    /// Of that: what others have deleted or moved since.
    pub deleted_ns: u64,
    /// What a tier of longer intervals could not write: most of all tiers.
    pub lost_ns: u64,
    /// Why it could not be closed.
    pub failure: Option<String>,
}

impl Recorder {
    /// Writes to this directory from now on. Without a writer, the directory is opened when there is an interval, and tried again with
    /// the next one if that fails. `tell` gets a sentence when recording pauses and when it goes on.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn start(
        place: Place,
        writer: Option<Writer>,
        tell: impl FnMut(&str) + Send + 'static,
    ) -> anyhow::Result<Recorder> {
        let (to_thread, orders) = sync_channel::<Box<Order>>(WAITING);
        let (finished, done) = sync_channel(WAITING + 1);
        let (beside, outcome) = (Beside::default(), Outcome::default());
        let mut run = Run { place, writer, tell, beside, outcome, pause: None, lost: Vec::new() };
        let work = move || {
            for mut order in orders {
                run.beside.tell(Arc::make_mut(&mut order.frame));
                run.write(&order);
                // If there are enough, this one is not needed.
                let _ = finished.try_send(order);
            }
            run.end()
        };
        let thread = thread::Builder::new().name("recorder".into()).spawn(work);
        let thread = thread.context("cannot begin a thread")?;
        Ok(Recorder { to_thread, done, thread, boot_id: machine::boot_id(), missed: 0 })
    }

    /// Begins to record what is shown: as it comes, and for ever. To be called once privileges are given up, as the directory is the
    /// user's.
    ///
    /// # Errors
    /// When the directory cannot be written, or another process records there.
    pub fn of_shown(path: &Path, tell: impl FnMut(&str) + Send + 'static) -> anyhow::Result<Recorder> {
        let place = Place { path: path.into(), options: Options::default() };
        let writer = place.open()?;
        Recorder::start(place, Some(writer), tell)
    }

    /// Hands an interval over. It never waits: where too many are waiting, this one is missing in the recording.
    pub fn add(&mut self, interval: &Interval, of: &Circumstances<'_>) {
        let mut order = self.done.try_recv().unwrap_or_default();
        let of = make!(Circumstances { boot_id: self.boot_id.as_deref(), ..*of });
        order.frame = match &interval.frame {
            Some(frame) => Arc::clone(frame),
            None => framing::write_shared(interval, &of, std::mem::take(&mut order.frame)),
        };
        order.missed = std::mem::take(&mut self.missed);
        if let Err(TrySendError::Full(order) | TrySendError::Disconnected(order)) =
            self.to_thread.try_send(order)
        {
            self.missed = order.missed + 1;
        }
    }

    /// Waits until all is written, and closes the recording.
    pub fn finish(self) -> Outcome {
        self.finish_within(Duration::MAX).unwrap_or_default()
    }

    /// The same, but the thread is left alone if it takes longer than this: the disk may not answer.
    pub fn finish_within(self, limit: Duration) -> Option<Outcome> {
        let Recorder { to_thread, thread, missed, .. } = self;
        drop(to_thread);
        let begin = Instant::now();
        while !thread.is_finished() {
            if begin.elapsed() > limit {
                return None;
            }
            thread::sleep(LOOK_AGAIN);
        }
        let mut outcome = thread.join().unwrap_or_default();
        outcome.missed += missed;
        Some(outcome)
    }

    /// The same where nothing is said of a recording that is whole.
    ///
    /// # Errors
    /// When it is not.
    pub fn end(self) -> anyhow::Result<()> {
        let Outcome { missed, failure, deleted_ns, lost_ns, .. } = self.finish();
        match failure {
            Some(failure) => bail!("the recording could not be closed: {failure}"),
            None if deleted_ns > 0 => bail!("of the recording, {}", deleted(deleted_ns)),
            None if lost_ns > 0 => bail!("of the recording, {}", lost(lost_ns)),
            None if missed > 0 => bail!("{} in the recording", missing(missed)),
            None => Ok(()),
        }
    }
}

/// Where and how it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The directory.
    pub path: PathBuf,
    /// Tiers and limits.
    pub options: Options,
}

impl Place {
    /// Opens it for writing.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open(&self) -> Result<Writer, Error> {
        Writer::open(&self.path, self.options.clone())
    }
}

/// The thread.
struct Run<Tell> {
    place: Place,
    writer: Option<Writer>,
    tell: Tell,
    beside: Beside,
    outcome: Outcome,
    /// While it pauses: how many intervals are missing since.
    pause: Option<u64>,
    /// What tiers have lost meanwhile, each once.
    lost: Vec<Lost>,
}

impl<Tell: FnMut(&str)> Run<Tell> {
    fn write(&mut self, order: &Order) {
        if order.missed > 0 {
            self.outcome.missed += order.missed;
            if let Some(writer) = &mut self.writer {
                writer.skip(order.missed);
            }
            (self.tell)(&format!(
                "{}: {}: writing is too slow",
                self.place.path.display(),
                missing(order.missed)
            ));
        }
        match self.append(&order.frame) {
            Ok(()) => {
                self.outcome.length_ns += order.frame.length_ns().unwrap_or(0);
                self.go_on();
            }
            Err(error) => self.note(&error),
        }
    }

    fn append(&mut self, frame: &Frame) -> Result<(), Error> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(self.place.open()?),
        };
        let appended = writer.append(frame);
        self.note_deleted();
        appended
    }

    /// Says what others have deleted or moved. The tiers have the same time.
    fn note_deleted(&mut self) {
        let all = self.writer.as_mut().map(Writer::take_deleted).unwrap_or_default();
        self.outcome.deleted_ns += all.iter().map(|deleted| deleted.length_ns).max().unwrap_or(0);
        all.iter().for_each(|deleted| (self.tell)(&deleted.to_string()));
    }

    fn go_on(&mut self) {
        self.outcome.intervals += 1;
        if let Some(missed) = self.pause.take() {
            let path = self.place.path.display();
            (self.tell)(&format!("{path}: recording goes on; {}", missing(missed)));
        }
        self.tell_lost();
    }

    /// Adds up what tiers of longer intervals have lost.
    fn note_lost(&mut self) {
        for more in self.writer.as_mut().map(Writer::take_lost).unwrap_or_default() {
            match self.lost.iter_mut().find(|lost| lost.path == more.path) {
                Some(lost) => {
                    lost.intervals += more.intervals;
                    lost.length_ns += more.length_ns;
                }
                None => self.lost.push(more),
            }
        }
    }

    fn tell_lost(&mut self) {
        self.note_lost();
        let all = std::mem::take(&mut self.lost);
        self.outcome.lost_ns += all.iter().map(|lost| lost.length_ns).max().unwrap_or(0);
        all.iter().for_each(|lost| (self.tell)(&lost.to_string()));
    }

    /// An interval is missing. The first of them is told, with the reason.
    fn note(&mut self, error: &Error) {
        self.outcome.missed += 1;
        self.note_lost();
        if self.pause.is_none() {
            let sentence = self.sentence_of(error);
            (self.tell)(&sentence);
        }
        self.pause = Some(self.pause.unwrap_or(0) + 1);
    }

    fn sentence_of(&self, error: &Error) -> String {
        match error.kind() {
            Kind::Paused => error.to_string(),
            _ => format!("{}: recording pauses: {error}", self.place.path.display()),
        }
    }

    fn end(mut self) -> Outcome {
        if let Some(writer) = &mut self.writer {
            self.outcome.failure = writer.close().err().map(|error| error.to_string());
            self.outcome.bytes = writer.written_bytes();
        }
        self.note_deleted();
        self.tell_lost();
        self.outcome
    }
}

/// `3.000 s were deleted or moved while it was written`.
pub fn deleted(ns: u64) -> String {
    format!("{:.3} s were deleted or moved while it was written", ns as f64 / 1e9)
}

/// `60.000 s could not be written to a tier`.
pub fn lost(ns: u64) -> String {
    format!("{:.3} s could not be written to a tier of longer intervals", ns as f64 / 1e9)
}

/// `1 interval is missing`, `2 intervals are missing`.
pub fn missing(intervals: u64) -> String {
    let verb = if intervals == 1 { "is" } else { "are" };
    format!("{} {verb} missing", count_of(intervals, "interval"))
}
