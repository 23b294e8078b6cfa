//! What the cumulative figures of tasks grow by from interval to interval, and those of their processes by summing them:
//! no thread that did not run is looked at. Pure algebra, no kernel.

use rustc_hash::FxHashMap;

use crate::field::{Field, FieldSet};
use crate::interval::Counters;
use crate::task::TaskId;

/// The kernel brings the runtime of a running task up to date at each tick, of which there are at least 100 a second.
const LONGEST_TICK_NS: u64 = 10_000_000;

/// A task as its slot tells it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Of its slot: unlike (tid, start time) never of two tasks at once, as an exec by another thread makes it.
    pub(super) number: u32,
    pub(super) task: TaskId,
    pub(super) process: TaskId,
    /// Its runtime when the slot was made; 0 of a child.
    pub(super) first_runtime_ns: u64,
    /// On a CPU in the interval.
    pub(super) wall_ns: u64,
    /// Whether it was on a CPU at the cut.
    pub(super) is_running: bool,
}

/// What a task's figures grew by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth {
    pub(super) counters: Counters,
    /// The figures that it grew to.
    pub(super) totals: Counters,
    pub(super) stolen_ns: Option<u64>,
}

/// A task that has run since the ledger was attached.
#[derive(Debug, Clone, Copy)]
struct Life {
    /// When they were looked at last.
    counters: Counters,
    wall_ns: u64,
    /// What its runtime grew by while `wall_ns` was summed.
    runtime_ns: u64,
    stolen_ns: u64,
    shown: Shown,
}

/// What the totals of a task are.
#[derive(Debug, Clone, Copy)]
enum Shown {
    /// Its own.
    Own,
    /// An exec has given it the (tid, start time) of the leader of its process, whose end is still to be told.
    Awaited { is_late: bool },
    /// Those of that leader, and what it has used since itself: else they would go back.
    Leader(Counters),
}

impl Life {
    fn new(counters: Counters) -> Life {
        Life { counters, wall_ns: 0, runtime_ns: 0, stolen_ns: 0, shown: Shown::Own }
    }

    fn advance(&mut self, now: &Counters, is_running: bool) -> Growth {
        let now = never_back(&self.counters, now);
        let growth = now.since(&self.counters);
        self.counters = now;
        self.runtime_ns += growth.runtime_ns;
        let ahead_ns = self.wall_ns.saturating_sub(self.runtime_ns);
        let slack_ns = if is_running { LONGEST_TICK_NS } else { 0 };
        let stolen_ns = self.stolen_ns.max(ahead_ns.saturating_sub(slack_ns));
        let stolen_growth_ns = stolen_ns - std::mem::replace(&mut self.stolen_ns, stolen_ns);
        let totals = match &mut self.shown {
            Shown::Leader(totals) => {
                totals.add(&growth);
                *totals
            }
            Shown::Own | Shown::Awaited { .. } => self.counters,
        };
        Growth {
            counters: growth,
            totals,
            stolen_ns: growth.known.contains(Field::Runtime).then_some(stolen_growth_ns),
        }
    }
}

/// All tasks that have run, and their processes.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// CLOCK_BOOTTIME when the ledger was attached: what started later is known from its start.
    attached_ns: u64,
    /// As they were then, sorted.
    tasks_before: Vec<(TaskId, Counters)>,
    processes_before: Vec<(TaskId, Counters)>,
    /// By slot.
    tasks: FxHashMap<u32, Life>,
    /// Threads that go on under the tid of their leader after an exec, by process, until they are seen again.
    renumbered: FxHashMap<TaskId, Life>,
    /// The last totals of leaders whose process lives on.
    leaders: FxHashMap<TaskId, Counters>,
    processes: FxHashMap<TaskId, Counters>,
}

impl Lives {
    /// With the figures of all that lived when the ledger was attached.
    pub(super) fn new(
        attached_ns: u64,
        mut tasks_before: Vec<(TaskId, Counters)>,
        mut processes_before: Vec<(TaskId, Counters)>,
    ) -> Lives {
        tasks_before.sort_unstable_by_key(|(id, _)| *id);
        processes_before.sort_unstable_by_key(|(id, _)| *id);
        Lives { attached_ns, tasks_before, processes_before, ..Lives::default() }
    }

    /// A task that is alive, with its figures of now; `None` where it could not be looked at: then they come later.
    pub(super) fn go_on(&mut self, seen: &Seen, now: Option<&Counters>) -> Option<Growth> {
        let mut life = self.tasks.remove(&seen.number).unwrap_or_else(|| self.first(seen));
        life.wall_ns += seen.wall_ns;
        let now = now.filter(|_| self.knows_totals(seen, &mut life));
        let growth = now.map(|now| life.advance(now, seen.is_running));
        self.tasks.insert(seen.number, life);
        growth
    }

    /// Whether it is known what the totals of a task begin with. The leader that an exec has replaced is on its way out:
    /// its end is told in the same interval or, if that was cut right there, in the next; where slots ran out, never.
    fn knows_totals(&mut self, seen: &Seen, life: &mut Life) -> bool {
        let Shown::Awaited { is_late } = &mut life.shown else { return true };
        if let Some(totals) = self.leaders.remove(&seen.process) {
            life.shown = Shown::Leader(totals);
        } else if !std::mem::replace(is_late, true) {
            return false;
        } else {
            life.shown = Shown::Own;
        }
        true
    }

    /// A task that has died, with its final figures.
    pub(super) fn end(&mut self, seen: &Seen, last: &Counters) -> Growth {
        let mut life = self.tasks.remove(&seen.number).unwrap_or_else(|| self.first(seen));
        life.wall_ns += seen.wall_ns;
        self.knows_totals(seen, &mut life);
        let growth = life.advance(last, false);
        if seen.task == seen.process {
            self.leaders.insert(seen.process, growth.totals);
        }
        growth
    }

    /// A thread that goes on under the tid of its leader, and in another slot.
    pub(super) fn renumber(&mut self, seen: &Seen, last: &Counters) -> Growth {
        let mut life = self.tasks.remove(&seen.number).unwrap_or_else(|| self.first(seen));
        life.wall_ns += seen.wall_ns;
        let growth = life.advance(last, false);
        self.renumbered.insert(seen.process, life);
        growth
    }

    /// Adds what the tasks of a living process grew by, and what it says of its waited-for children, to its totals.
    /// Returns the growth and the totals.
    pub(super) fn add_to_process(
        &mut self,
        process: TaskId,
        own: &Counters,
        children: &Counters,
    ) -> (Counters, Counters) {
        let total = match self.processes.get(&process) {
            Some(total) => *total,
            None if process.start_time_ns >= self.attached_ns => Counters::ZERO,
            None => find(&self.processes_before, process).unwrap_or_default(),
        };
        let children = children.max(&total);
        let children_growth = children.since(&total);
        let mut growth = *own;
        growth.take_children(&children_growth);
        let mut sum = total;
        sum.add(&growth);
        self.processes.insert(process, sum);
        (growth, sum)
    }

    /// Forgets a process that has died.
    pub(super) fn forget_process(&mut self, process: TaskId) {
        self.processes.remove(&process);
        self.renumbered.remove(&process);
        self.leaders.remove(&process);
    }

    /// What a task had used before it was seen.
    fn first(&mut self, seen: &Seen) -> Life {
        let life = match self.renumbered.get(&seen.process) {
            // Between its last switch as a thread and its first as the leader it has not run; the old leader has another
            // runtime.
            Some(&life) if seen.task == seen.process && life.counters.runtime_ns == seen.first_runtime_ns => {
                self.renumbered.remove(&seen.process);
                Life { shown: Shown::Awaited { is_late: false }, ..life }
            }
            _ => Life::new(self.figures_before(seen)),
        };
        if seen.task == seen.process
            && let Some(totals) = self.leaders.remove(&seen.process)
        {
            return Life { shown: Shown::Leader(totals), ..life };
        }
        life
    }

    fn figures_before(&self, seen: &Seen) -> Counters {
        let is_child = seen.task.start_time_ns >= self.attached_ns;
        if is_child && seen.first_runtime_ns == 0 {
            return Counters::ZERO;
        }
        let known = if is_child { None } else { find(&self.tasks_before, seen.task) };
        match known {
            Some(before) => at_runtime(&before, seen.first_runtime_ns),
            None => Counters {
                known: FieldSet::of(&[Field::Runtime]),
                runtime_ns: seen.first_runtime_ns,
                ..Counters::default()
            },
        }
    }
}

fn find(sorted: &[(TaskId, Counters)], id: TaskId) -> Option<Counters> {
    let index = sorted.binary_search_by_key(&id, |(known, _)| *known).ok()?;
    Some(sorted[index].1)
}

/// The figures of a task when it had this runtime, a little earlier or later than it was looked at; the time between is user
/// and system time as the rest.
fn at_runtime(seen: &Counters, runtime_ns: u64) -> Counters {
    let whole_ns = u128::from((seen.user_ns + seen.system_ns).max(1));
    let user_ns = (u128::from(runtime_ns) * u128::from(seen.user_ns) / whole_ns) as u64;
    let user_ns = user_ns.min(runtime_ns);
    Counters { runtime_ns, user_ns, system_ns: runtime_ns - user_ns, ..*seen }
}

/// The figures of now, none below what they were: user and system time are what the kernel estimates from ticks, and by its
/// own rule (`cputime_adjust` of kernel/sched/cputime.c) neither falls below what was shown before.
fn never_back(before: &Counters, now: &Counters) -> Counters {
    let mut next = now.max(before);
    next.known = now.known;
    let runtime_ns = next.runtime_ns;
    if before.user_ns + before.system_ns >= runtime_ns {
        (next.user_ns, next.system_ns) = (before.user_ns, before.system_ns);
        return next;
    }
    next.system_ns = now.system_ns.max(before.system_ns).min(runtime_ns);
    next.user_ns = runtime_ns - next.system_ns;
    if next.user_ns < before.user_ns {
        next.user_ns = before.user_ns;
        next.system_ns = runtime_ns - before.user_ns;
    }
    next
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::task::Tid;

    fn id(tid: i32, start_time_ns: u64) -> TaskId {
        TaskId { tid: Tid(tid), start_time_ns }
    }

    fn seen(number: u32, task: TaskId, process: TaskId, wall_ns: u64) -> Seen {
        Seen { number, task, process, first_runtime_ns: 0, wall_ns, is_running: false }
    }

    fn counters(runtime_ns: u64, user_ns: u64) -> Counters {
        Counters { runtime_ns, user_ns, system_ns: runtime_ns - user_ns, ..Counters::ZERO }
    }

    #[test]
    fn stolen_is_what_the_kernel_does_not_count() {
        let mut lives = Lives::new(100, Vec::new(), Vec::new());
        let task = id(7, 200);
        let growth = lives.go_on(&seen(3, task, task, 50), Some(&counters(40, 30))).expect("seen");
        assert_eq!((growth.stolen_ns, growth.counters.user_ns), (Some(10), 30));
        // The runtime of a running task is behind by a tick: no theft.
        let running = Seen { is_running: true, ..seen(3, task, task, LONGEST_TICK_NS) };
        assert_eq!(lives.go_on(&running, Some(&counters(40, 30))).expect("seen").stolen_ns, Some(0));
        let growth = lives.end(&seen(3, task, task, 0), &counters(LONGEST_TICK_NS + 40, 30));
        assert_eq!(growth.stolen_ns, Some(0));
    }

    #[test]
    fn what_was_used_before_the_attachment_is_not_of_the_interval() {
        let before = vec![(id(7, 20), counters(1_000, 600))];
        let mut lives = Lives::new(100, before.clone(), before);
        let task = id(7, 20);
        let first = Seen { first_runtime_ns: 1_100, ..seen(3, task, task, 50) };
        let growth = lives.go_on(&first, Some(&counters(1_150, 690))).expect("seen");
        assert_eq!((growth.counters.runtime_ns, growth.counters.user_ns), (50, 30));
        // Looked at after its slot was made.
        let late = Seen { first_runtime_ns: 900, ..seen(5, id(9, 20), id(9, 20), 50) };
        let mut others = Lives::new(100, vec![(id(9, 20), counters(1_000, 600))], Vec::new());
        let growth_of_late = others.go_on(&late, Some(&counters(950, 570))).expect("seen");
        assert_eq!((growth_of_late.counters.runtime_ns, growth_of_late.stolen_ns), (50, Some(0)));
        let (grown, total) = lives.add_to_process(task, &growth.counters, &Counters::ZERO);
        assert_eq!((grown.runtime_ns, total.runtime_ns), (50, 1_050));
        // Nobody saw this one: only its runtime is known.
        let other = id(8, 30);
        let first = Seen { first_runtime_ns: 10, ..seen(4, other, other, 5) };
        let growth = lives.go_on(&first, Some(&counters(15, 7))).expect("seen");
        assert_eq!(growth.counters.known, FieldSet::of(&[Field::Runtime]));
        assert_eq!(growth.counters.runtime_ns, 5);
    }

    #[test]
    fn a_thread_that_execs_takes_its_figures_along() {
        let mut lives = Lives::new(100, Vec::new(), Vec::new());
        let (process, thread) = (id(7, 200), id(9, 210));
        lives.go_on(&seen(3, process, process, 30), Some(&counters(30, 10)));
        lives.go_on(&seen(4, thread, process, 50), Some(&counters(50, 20)));
        // The leader dies, the thread is the leader now, in a slot of its own.
        assert_eq!(lives.end(&seen(3, process, process, 1), &counters(31, 10)).counters.runtime_ns, 1);
        assert_eq!(lives.renumber(&seen(4, thread, process, 5), &counters(55, 20)).counters.runtime_ns, 5);
        let leader = Seen { first_runtime_ns: 55, ..seen(5, process, process, 7) };
        let growth = lives.go_on(&leader, Some(&counters(62, 20))).expect("seen");
        assert_eq!((growth.counters.runtime_ns, growth.counters.user_ns), (7, 0));
        // What is shown of (tid, start time) goes on where the old leader ended.
        assert_eq!(growth.totals.runtime_ns, 31 + 7);
    }

    #[test]
    fn the_end_of_a_replaced_leader_may_come_an_interval_later() {
        let mut lives = Lives::new(100, Vec::new(), Vec::new());
        let (process, thread) = (id(7, 200), id(9, 210));
        lives.go_on(&seen(3, process, process, 90), Some(&counters(90, 10)));
        lives.renumber(&seen(4, thread, process, 50), &counters(50, 20));
        let leader = Seen { first_runtime_ns: 50, ..seen(5, process, process, 7) };
        assert!(lives.go_on(&leader, Some(&counters(57, 20))).is_none());
        lives.end(&seen(3, process, process, 1), &counters(91, 10));
        let growth = lives.go_on(&leader, Some(&counters(64, 20))).expect("seen");
        assert_eq!((growth.counters.runtime_ns, growth.totals.runtime_ns), (14, 105));
    }

    #[test]
    fn a_task_that_could_not_be_looked_at_comes_later() {
        let mut lives = Lives::new(100, Vec::new(), Vec::new());
        let task = id(7, 200);
        assert!(lives.go_on(&seen(3, task, task, 30), None).is_none());
        let growth = lives.end(&seen(3, task, task, 10), &counters(40, 40));
        assert_eq!((growth.counters.runtime_ns, growth.stolen_ns), (40, Some(0)));
    }

    proptest! {
        #[test]
        fn user_and_system_never_go_back_and_are_the_runtime(
            steps in prop::collection::vec((0u64..1_000, 0u64..=100), 1..40),
        ) {
            let mut life = Life::new(Counters::ZERO);
            let (mut runtime_ns, mut user_ns, mut system_ns) = (0, 0, 0);
            for (more_ns, user_percent) in steps {
                runtime_ns += more_ns;
                let growth = life.advance(&counters(runtime_ns, runtime_ns * user_percent / 100), false);
                user_ns += growth.counters.user_ns;
                system_ns += growth.counters.system_ns;
                prop_assert_eq!(user_ns + system_ns, runtime_ns);
                prop_assert_eq!((life.counters.user_ns, life.counters.system_ns), (user_ns, system_ns));
            }
        }
    }
}
