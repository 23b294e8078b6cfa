//! Who is who. A message tells how long its task has lived, in microseconds, and not since when; so the start is known to lie
//! between two readings of the clock. As long as those of two messages about one tid overlap they speak of one task, which
//! keeps the start that it was first given.

use rustc_hash::FxHashMap;

use crate::task::{TaskId, Tid};

/// By how much a report may be later than the clock reading in it: the task may have lost the CPU in between.
const REPORT_SLACK_NS: u64 = 100_000_000;

/// Tasks that are remembered at most; beyond that the dead are forgotten, and a zombie among them may count twice.
const MOST_TASKS: usize = 1 << 20;

/// Between which instants something was, CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Not before.
    pub first_ns: u64,
    /// Not after.
    pub last_ns: u64,
}

impl Window {
    /// When something began that had lasted so long within this window. It is told in whole microseconds, rounded down.
    fn before(self, elapsed_us: u64) -> Window {
        let elapsed_ns = elapsed_us.saturating_mul(1_000);
        Window {
            first_ns: self.first_ns.saturating_sub(elapsed_ns.saturating_add(1_000)),
            last_ns: self.last_ns.saturating_sub(elapsed_ns),
        }
    }

    /// For a report that was read within this window.
    pub fn of_report(self) -> Window {
        Window { first_ns: self.first_ns.saturating_sub(REPORT_SLACK_NS), ..self }
    }

    fn overlap(self, other: Window) -> Option<Window> {
        let both =
            Window { first_ns: self.first_ns.max(other.first_ns), last_ns: self.last_ns.min(other.last_ns) };
        (both.first_ns <= both.last_ns).then_some(both)
    }
}

/// What is remembered of a task.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// When it started.
    window: Window,
    /// The start it was given, CLOCK_BOOTTIME.
    pub start_ns: u64,
    /// The number of the snapshot that last heard of it.
    seen: u32,
    /// Whether it has reported its death.
    pub is_dead: bool,
    /// What was last shown of its times.
    pub user_ns: u64,
    /// Likewise.
    pub system_ns: u64,
}

/// All tasks that were heard of in this snapshot or the last.
#[derive(Debug, Default)]
pub struct Tasks {
    known: FxHashMap<i32, Known>,
    snapshot: u32,
}

impl Tasks {
    /// Begins a snapshot and forgets who was not heard of in the last.
    pub fn begin_snapshot(&mut self) {
        let last = self.snapshot;
        self.known.retain(|_, known| known.seen >= last);
        self.snapshot += 1;
    }

    /// The task of that number which had lived for so long at some instant of the window. `ahead_ns` is how far CLOCK_BOOTTIME
    /// is ahead.
    pub fn find(&mut self, tid: i32, elapsed_us: u64, window: Window, ahead_ns: u64) -> &mut Known {
        if self.known.len() >= MOST_TASKS {
            self.known.retain(|_, known| !known.is_dead);
        }
        let started = window.before(elapsed_us);
        let seen = self.snapshot;
        let fresh = Known {
            window: started,
            // Not before it was: what it used is then never taken for older than it is.
            start_ns: started.last_ns.saturating_add(ahead_ns),
            seen,
            is_dead: false,
            user_ns: 0,
            system_ns: 0,
        };
        let known = self.known.entry(tid).or_insert(fresh);
        match known.window.overlap(started) {
            Some(window) => known.window = window,
            None => *known = fresh,
        }
        known.seen = seen;
        known
    }

    /// Its identity.
    pub fn id(&mut self, tid: i32, elapsed_us: u64, window: Window, ahead_ns: u64) -> TaskId {
        TaskId { tid: Tid(tid), start_time_ns: self.find(tid, elapsed_us, window, ahead_ns).start_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(first_us: u64, last_us: u64) -> Window {
        Window { first_ns: first_us * 1_000, last_ns: last_us * 1_000 }
    }

    #[test]
    fn a_task_keeps_its_start_while_messages_agree() {
        let mut tasks = Tasks::default();
        tasks.begin_snapshot();
        let first = tasks.id(7, 100, window(1_000, 1_020), 0);
        assert_eq!(first.start_time_ns, 920_000);
        tasks.begin_snapshot();
        assert_eq!(tasks.id(7, 3_105, window(4_000, 4_500), 0), first, "any start from 894 to 1395 µs");
        // A window of 2 s says nothing, and does not move it.
        assert_eq!(tasks.id(7, 3_105, window(4_010, 2_004_010), 0), first);
    }

    #[test]
    fn a_reused_number_is_another_task() {
        let mut tasks = Tasks::default();
        tasks.begin_snapshot();
        let first = tasks.id(7, 100, window(1_000, 1_020), 0);
        tasks.find(7, 100, window(1_000, 1_020), 0).is_dead = true;
        let second = tasks.find(7, 10, window(2_000, 2_010), 0);
        assert!(!second.is_dead && second.start_ns == 2_000_000);
        assert_ne!(tasks.id(7, 10, window(2_000, 2_010), 0), first);
    }

    #[test]
    fn who_is_not_heard_of_is_forgotten_after_one_snapshot() {
        let mut tasks = Tasks::default();
        tasks.begin_snapshot();
        tasks.find(7, 100, window(1_000, 1_000), 0).user_ns = 5;
        tasks.begin_snapshot();
        tasks.find(8, 100, window(1_000, 1_000), 0);
        assert_eq!(tasks.known.len(), 2);
        tasks.begin_snapshot();
        assert_eq!(tasks.known.keys().collect::<Vec<_>>(), [&8]);
    }

    #[test]
    fn starts_are_told_by_the_clock_that_counts_suspension() {
        let mut tasks = Tasks::default();
        assert_eq!(tasks.id(7, 0, window(5, 5), 1_000_000).start_time_ns, 1_005_000);
    }
}
