//! Running something through its interleavings.

use loom::model::Builder;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Steps of one run after which it counts as one that does not end.
const MAX_STEPS: usize = 5_000;

/// How an exploration ended.
#[derive(Debug)]
pub struct Explored {
    /// Interleavings that were run, the failing one included.
    pub runs: usize,
    /// How long it took.
    pub took: Duration,
    /// What was wrong in the last one.
    pub failure: Option<String>,
}

/// Runs `run` through the interleavings with at most `preemptions` preemptions, or until it panics.
pub fn explore(preemptions: usize, run: impl Fn() + Send + Sync + 'static) -> Explored {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = MAX_STEPS;

    let begin = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        builder.check(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            run();
        });
    }));
    let failure = outcome.err().map(|payload| match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().map_or_else(|| "a panic".into(), ToString::to_string),
    });
    Explored { runs: runs.load(Ordering::Relaxed), took: begin.elapsed(), failure }
}
