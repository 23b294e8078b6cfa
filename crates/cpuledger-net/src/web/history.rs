//! Spans of the past: bounded work, one question at a time.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use cpuledger_page::{Sheet, append_sheet};
use cpuledger_report::{Dimension, Name};
use hyper::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use crate::labels;
use crate::read::read;
use crate::users::Users;
use crate::web::ask::{Ask, BRANCHES};
use crate::web::live;

/// Questions that wait for their turn, with the one that has it.
const WAITING: usize = 16;
/// How long the work for one may take.
const LONGEST: Duration = Duration::from_secs(20);

/// Answers that are not read yet have no more than that together, in KiB.
const UNREAD_KIB: u32 = 64 << 10;

/// Answers questions about the past.
pub struct History {
    recording: Option<PathBuf>,
    waiting: Arc<Semaphore>,
    turn: Arc<Semaphore>,
    unread: Arc<Semaphore>,
}

/// An answer until it is sent.
struct Unread {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Unread {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Tells the work to end when nobody waits for it any more.
struct Asking(Arc<AtomicBool>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl History {
    /// From the service and this recording.
    pub fn new(recording: Option<PathBuf>) -> History {
        let [waiting, turn, unread] =
            [WAITING, 1, UNREAD_KIB as usize].map(|places| Arc::new(Semaphore::new(places)));
        History { recording, waiting, turn, unread }
    }

    /// An answer that takes room until it is sent; `None`: others have not read theirs, and there is no room.
    pub fn unread(&self, mut bytes: Vec<u8>) -> Option<Bytes> {
        bytes.shrink_to_fit();
        let kib = u32::try_from(bytes.len().div_ceil(1 << 10)).unwrap_or(UNREAD_KIB).min(UNREAD_KIB);
        let room = Arc::clone(&self.unread).try_acquire_many_owned(kib).ok()?;
        Some(Bytes::from_owner(Unread { bytes, _room: room }))
    }

    /// The sheet of a span; `None`: too many questions wait.
    ///
    /// # Errors
    /// When there is nothing of that span, or it takes too long: one sentence.
    pub async fn sheet(&self, ask: Ask) -> Option<anyhow::Result<String>> {
        let _place = self.waiting.try_acquire().ok()?;
        // It stays with the work: one that is given up ends within a frame, and until then no other begins.
        let turn = Arc::clone(&self.turn).acquire_owned().await.ok()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let asking = Asking(Arc::clone(&is_over));
        let recording = self.recording.clone();
        let work = spawn_blocking(move || {
            let _turn = turn;
            sheet_of(recording, &ask, &is_over)
        });
        let sheet = work.await.context("the work for it has failed");
        drop(asking);
        Some(sheet.and_then(|sheet| sheet))
    }
}

fn sheet_of(recording: Option<PathBuf>, ask: &Ask, is_over: &AtomicBool) -> anyhow::Result<String> {
    let begin = Instant::now();
    let goes_on = || {
        if is_over.load(Ordering::Relaxed) {
            bail!("nobody waits for it any more");
        }
        if begin.elapsed() > LONGEST {
            bail!(
                "it takes more than {} s: ask for a shorter span, or use `cpuledger report`",
                LONGEST.as_secs()
            );
        }
        Ok(())
    };
    let question = ask.view.question(ask.buckets);
    let found = read(recording.as_deref(), ask.source, &ask.span, &question, &goes_on)?;
    let report = live::report(&found.accumulator, ask.view.by, ask.view.rows);
    let ancestry = found.accumulator.report(Dimension::Ancestor, BRANCHES);
    let users = Users::shared();
    let of_users = || report.rows.iter().filter(|row| matches!(row.name, Name::User(_)));
    // All are asked for before the first is waited for.
    of_users().for_each(|row| labels::ask_ahead(&row.name, &users));
    of_users().for_each(|row| drop(labels::waited_for(&row.name, &users)));
    let sheet = Sheet {
        by: ask.view.by.name(),
        within: &ask.view.within(),
        source: &found.source,
        report: &report,
        ancestry: Some(&ancestry),
        labels: &live::labels(&[&report], &users),
        notes: &found.notes,
    };
    let mut json = String::new();
    append_sheet(&mut json, &sheet);
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_nobody_reads_are_bounded() {
        let history = History::new(None);
        let answer = || history.unread(vec![b'x'; 10 << 20]);
        let mut held: Vec<Bytes> = std::iter::from_fn(answer).collect();
        assert_eq!(held.len(), 6);
        assert!(history.unread(vec![b'x'; 100]).is_some(), "a short one has room");
        held.pop();
        assert!(answer().is_some());
        held.clear();
        assert!(history.unread(vec![b'x'; 100 << 20]).is_some(), "one has room always");
    }
}
