//! Spans of the past: bounded work, one question at a time.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use cpuledger_page::{Sheet, append_sheet};
use cpuledger_report::{Dimension, Name};
use tokio::sync::Semaphore;
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

/// Answers questions about the past.
pub struct History {
    recording: Option<PathBuf>,
    waiting: Arc<Semaphore>,
    turn: Arc<Semaphore>,
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
        History { recording, waiting: Arc::new(Semaphore::new(WAITING)), turn: Arc::new(Semaphore::new(1)) }
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
