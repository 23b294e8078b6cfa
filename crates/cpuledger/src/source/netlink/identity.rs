//! The identity of tasks. A message tells how long its task has lived, in microseconds, and not since when. So the start lies between
//! two readings of the clock. While these windows of two messages about one tid overlap, the messages are about one task, which
//! keeps the start that it was first given.
//!
//! That start is the one in /proc, in ticks, if the task can still be read: the same that every other reader of /proc has. For a
//! task that has died and been waited for, it is an estimate. An age does not count suspension: [`Suspensions`] knows how far
//! CLOCK_BOOTTIME was ahead when the task started.

use std::collections::hash_map::Entry;

use cpuledger_model::task::{TaskId, Tid};
use rustc_hash::FxHashMap;

use cpuledger_model::boottime::{Boottime, TICK_NS};

/// By how much a report may be later than the clock reading in it: the task may have lost the CPU in between.
const REPORT_SLACK_NS: u64 = 100_000_000;

/// By how much the start in /proc may be later than an age says, where it alone does not say whose it is. At a fork the kernel reads
/// the clock of ages first and that of /proc next, and a virtual CPU may lose its time in between: 20 ms were seen on a busy host.
/// Less than it takes to reuse a number.
const FORK_SLACK_NS: u64 = 100_000_000;

/// Tasks that are remembered at most; beyond that the dead are forgotten, and a zombie among them may count twice.
const MOST_TASKS: usize = 1 << 20;

/// Between which instants something was, CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Window {
    /// Not before.
    pub first_ns: u64,
    /// Not after.
    pub last_ns: u64,
}

impl Window {
    /// When something began that had this age within this window. The age is in whole microseconds, rounded down.
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

/// How far CLOCK_BOOTTIME is taken to be ahead at most without having moved: two readings are never simultaneous.
const SAME_AHEAD_NS: u64 = 1_000_000;

/// Suspensions that are told apart at most; of older ones it is only known that they were.
const MOST_SUSPENSIONS: usize = 64;

/// A stretch of CLOCK_MONOTONIC in which CLOCK_BOOTTIME was so far ahead.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    first_ns: u64,
    last_ns: u64,
    ahead_ns: u64,
}

/// How far CLOCK_BOOTTIME was ahead of CLOCK_MONOTONIC, and when.
#[derive(Debug, Default)]
pub struct Suspensions {
    stretches: Vec<Stretch>,
}

impl Suspensions {
    /// Takes a reading of both clocks: at `now_ns` of CLOCK_MONOTONIC the other one was so far ahead.
    pub fn note(&mut self, now_ns: u64, ahead_ns: u64) {
        if let Some(last) = self.stretches.last_mut()
            && ahead_ns.abs_diff(last.ahead_ns) < SAME_AHEAD_NS
        {
            last.last_ns = last.last_ns.max(now_ns);
            return;
        }
        if self.stretches.len() == MOST_SUSPENSIONS {
            self.stretches.remove(0);
        }
        self.stretches.push(Stretch { first_ns: now_ns, last_ns: now_ns, ahead_ns });
    }

    /// Whether the machine has never been suspended: then both clocks are the same.
    pub fn are_none(&self) -> bool {
        self.stretches.iter().all(|stretch| stretch.ahead_ns == 0)
    }

    /// The least and the most that it can have been ahead at an instant of CLOCK_MONOTONIC.
    fn bounds(&self, at_ns: u64) -> (u64, u64) {
        // Ahead it only gets: before the first reading by anything up to what that has found.
        let least = self.stretches.iter().rev().find(|stretch| stretch.first_ns <= at_ns);
        let most = self.stretches.iter().find(|stretch| at_ns <= stretch.last_ns).or(self.stretches.last());
        (least.map_or(0, |stretch| stretch.ahead_ns), most.map_or(0, |stretch| stretch.ahead_ns))
    }

    /// The latest instant of this window, by the clock that counts suspension.
    fn latest(&self, window: Window) -> Boottime {
        Boottime::from_ns(window.last_ns.saturating_add(self.bounds(window.last_ns).1))
    }

    /// The earliest instant of this window, by the clock that counts suspension.
    fn earliest(&self, window: Window) -> Boottime {
        Boottime::from_ns(window.first_ns.saturating_add(self.bounds(window.first_ns).0))
    }

    /// Whether a start in /proc, in ticks, is that of the task which sent a message within `sent` and by it started within `started`.
    ///
    /// /proc is read after the message, so it tells of this task or of one that has its number since. That one started after the
    /// message: a tick that was over by then is this task's, whatever its age says.
    fn allow(&self, sent: Window, started: Window, told: Boottime) -> bool {
        let told_end = told.with_slack_ns(TICK_NS);
        let is_older_than_its_message = told_end <= self.earliest(sent);
        let can_be = told <= self.latest(sent) && told <= self.latest(started).with_slack_ns(FORK_SLACK_NS);
        told_end > self.earliest(started) && (is_older_than_its_message || can_be)
    }
}

/// What is remembered of a task.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// When it started, CLOCK_MONOTONIC.
    window: Window,
    /// The start it was given.
    pub start: Boottime,
    /// Whether that is the one in /proc; else it is an estimate.
    pub is_told: bool,
    /// The number of the snapshot that last heard of it.
    seen: u32,
    /// Whether it has reported its death.
    pub is_dead: bool,
    /// What was last shown of its user and its system time.
    pub shown: (u64, u64),
    /// Likewise of its process, if it is the leader and these come with the threads.
    pub shown_of_process: (u64, u64),
}

/// All tasks that were heard of in this snapshot or the last.
#[derive(Debug, Default)]
pub struct Tasks {
    known: FxHashMap<i32, Known>,
    snapshot: u32,
    /// What is known of both clocks.
    pub suspensions: Suspensions,
}

impl Tasks {
    /// Begins a snapshot, and forgets the tasks that were not heard of in the last one.
    pub fn begin_snapshot(&mut self) {
        let last = self.snapshot;
        self.known.retain(|_, known| known.seen >= last);
        self.snapshot += 1;
    }

    /// The task of that number which had this age at some instant of the window. `tell` reads its start from /proc. It is asked
    /// once for each task, and ignored if another task has the number now.
    pub fn find(
        &mut self,
        tid: i32,
        elapsed_us: u64,
        window: Window,
        tell: impl FnOnce() -> Option<Boottime>,
    ) -> &mut Known {
        if self.known.len() >= MOST_TASKS {
            self.known.retain(|_, known| !known.is_dead);
        }
        let started = window.before(elapsed_us);
        let suspensions = &self.suspensions;
        let fresh = || {
            let told = tell().filter(|told| suspensions.allow(window, started, *told));
            Known {
                window: started,
                // Not before it was: what it used is then never taken for older than it is.
                start: told.unwrap_or_else(|| suspensions.latest(started)),
                is_told: told.is_some(),
                seen: 0,
                is_dead: false,
                shown: (0, 0),
                shown_of_process: (0, 0),
            }
        };
        let known = match self.known.entry(tid) {
            Entry::Vacant(unknown) => unknown.insert(fresh()),
            Entry::Occupied(known) => {
                let known = known.into_mut();
                match known.window.overlap(started) {
                    Some(window) => known.window = window,
                    None => *known = fresh(),
                }
                known
            }
        };
        known.seen = self.snapshot;
        known
    }

    /// Its identity.
    pub fn id(
        &mut self,
        tid: i32,
        elapsed_us: u64,
        window: Window,
        tell: impl FnOnce() -> Option<Boottime>,
    ) -> TaskId {
        TaskId { tid: Tid(tid), start_time_ns: self.find(tid, elapsed_us, window, tell).start }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(first_us: u64, last_us: u64) -> Window {
        Window { first_ns: first_us * 1_000, last_ns: last_us * 1_000 }
    }

    fn untold() -> Option<Boottime> {
        None
    }

    fn at(ns: u64) -> Boottime {
        Boottime::from_ns(ns)
    }

    #[test]
    fn a_task_keeps_its_start_while_messages_agree() {
        let mut tasks = Tasks::default();
        tasks.begin_snapshot();
        let first = tasks.id(7, 100, window(1_000, 1_020), untold);
        assert_eq!(first.start_time_ns, at(920_000));
        tasks.begin_snapshot();
        assert_eq!(tasks.id(7, 3_105, window(4_000, 4_500), untold), first, "any start from 894 to 1395 µs");
        // A window of 2 s says nothing, and does not move it.
        assert_eq!(tasks.id(7, 3_105, window(4_010, 2_004_010), || panic!("asked twice")), first);
    }

    #[test]
    fn a_reused_number_is_another_task() {
        let mut tasks = Tasks::default();
        tasks.begin_snapshot();
        let first = tasks.id(7, 100, window(1_000, 1_020), untold);
        tasks.find(7, 100, window(1_000, 1_020), untold).is_dead = true;
        let second = tasks.find(7, 10, window(2_000, 2_010), untold);
        assert!(!second.is_dead && second.start == at(2_000_000));
        assert_ne!(tasks.id(7, 10, window(2_000, 2_010), untold), first);
    }

    #[test]
    fn a_silent_task_is_forgotten_after_one_snapshot() {
        let mut tasks = Tasks::default();
        tasks.begin_snapshot();
        tasks.find(7, 100, window(1_000, 1_000), untold).shown = (5, 0);
        tasks.begin_snapshot();
        tasks.find(8, 100, window(1_000, 1_000), untold);
        assert_eq!(tasks.known.len(), 2);
        tasks.begin_snapshot();
        assert_eq!(tasks.known.keys().collect::<Vec<_>>(), [&8]);
    }

    const MS: u64 = 1_000_000;
    const S: u64 = 1_000 * MS;

    #[test]
    fn the_start_of_proc_is_taken_where_it_can_be_that_of_this_task() {
        let mut tasks = Tasks::default();
        tasks.suspensions.note(S, 0);
        // It has lived for 3 ms at 1.018 to 1.025 s: a start between 1.015 and 1.022 s, in tick 101 or 102.
        let found = |told| {
            let mut tasks = Tasks::default();
            tasks.suspensions.note(S, 0);
            let known = tasks.find(7, 3_000, window(1_018_000, 1_025_000), || told);
            (known.is_told, known.start)
        };
        assert_eq!(found(Some(at(1_010 * MS))), (true, at(1_010 * MS)));
        assert_eq!(found(Some(at(1_020 * MS))), (true, at(1_020 * MS)));
        // The task that has the number now is older, or younger than the message.
        for other in [at(1_000 * MS), at(1_030 * MS)] {
            assert_eq!(found(Some(other)), (false, at(1_022 * MS)), "{other:?}");
        }
        assert_eq!(found(None), (false, at(1_022 * MS)));
    }

    #[test]
    fn a_start_before_the_message_is_taken_however_long_its_fork_took() {
        // It says that it has lived for 5 s. Its CPU was taken away at its fork, between the readings of the two clocks.
        let found = |told| {
            let mut tasks = Tasks::default();
            tasks.suspensions.note(S, 0);
            tasks.find(7, 5_000_000, window(10_000_000, 10_001_000), || Some(told)).is_told
        };
        assert!(found(at(5_020 * MS)) && found(at(6_000 * MS)) && found(at(9_990 * MS)));
        // That tick was not over when the message was asked for: another task may have begun in it.
        assert!(!found(at(10_000 * MS)));
    }

    #[test]
    fn starts_are_told_by_the_clock_that_counts_suspension() {
        let mut tasks = Tasks::default();
        // Suspended for 100 s before the first look, and for 1,000 s between 20 and 30 s of the other clock.
        tasks.suspensions.note(10 * S, 100 * S);
        tasks.suspensions.note(20 * S, 100 * S + 7);
        assert!(!tasks.suspensions.are_none());
        tasks.suspensions.note(30 * S, 1_100 * S);
        let mut start = |tid, second, told: Option<u64>| {
            let started = Window { first_ns: second * S, last_ns: second * S };
            let known = tasks.find(tid, 0, started, || told.map(|second| at(second * S)));
            (known.is_told, known.start.ns() / S)
        };
        assert_eq!(start(1, 15, None), (false, 115));
        assert_eq!(start(2, 40, None), (false, 1_140));
        assert_eq!(start(3, 25, None), (false, 1_125), "not before it was");
        assert_eq!(start(4, 5, None), (false, 105), "likewise");
        // /proc knows, and is believed within what is possible.
        assert_eq!(start(5, 25, Some(125)), (true, 125));
        assert_eq!(start(6, 5, Some(5)), (true, 5));
        assert_eq!(start(7, 5, Some(106)), (false, 105));
        assert_eq!(start(8, 40, Some(140)), (false, 1_140));
    }

    #[test]
    fn no_more_suspensions_are_told_apart_than_there_is_room_for() {
        let mut suspensions = Suspensions::default();
        assert!(suspensions.are_none() && suspensions.bounds(5) == (0, 0));
        for count in 0..2 * MOST_SUSPENSIONS as u64 {
            suspensions.note(count * S, count * S);
        }
        assert_eq!(suspensions.stretches.len(), MOST_SUSPENSIONS);
        assert_eq!(
            suspensions.bounds(0),
            (0, MOST_SUSPENSIONS as u64 * S),
            "anything up to the oldest that is known"
        );
    }
}
