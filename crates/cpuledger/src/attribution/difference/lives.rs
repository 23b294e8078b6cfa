//! What the cumulative figures of the tasks that ran grow by from interval to interval. Those of a process are the sums of these: no
//! thread that did not run is looked at. Pure algebra, no kernel.

mod figures;

use cpuledger_model::boottime::Boottime;
use cpuledger_model::buffer::Trim;
use cpuledger_model::counters::Counters;
use cpuledger_model::field::Field;
use cpuledger_model::states::Lived;
use cpuledger_model::states::OffState;
use cpuledger_model::task::TaskId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::life::{LifeStates, Stretch};

use figures::{figures_before, never_back};

/// The kernel brings the runtime of a running task up to date at each tick, of which there are at least 100 a second.
const LONGEST_TICK_NS: u64 = 10_000_000;

/// A task as its slot tells it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// Of its slot. Two tasks never have the same one at once. After an exec by another thread, two can have the same (tid, start time).
    pub(crate) number: u32,
    pub(crate) task: TaskId,
    pub(crate) process: TaskId,
    /// Its runtime when the slot was made; 0 of a child.
    pub(crate) first_runtime_ns: u64,
    /// All its figures then. `None` for a task that has ended: its last figures have taken their place in the slot.
    pub(crate) first: Option<Counters>,
    /// On a CPU in the interval.
    pub(crate) wall_ns: u64,
    /// Whether it was on a CPU at the cut.
    pub(crate) is_running: bool,
    /// What it did besides; `None`: not known.
    pub(crate) stretch: Option<Stretch>,
    /// When its life began or, if that was before, when the ledger was attached: CLOCK_MONOTONIC.
    pub(crate) born_ns: u64,
}

/// What a task's figures grew by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    pub(crate) counters: Counters,
    /// The figures that it grew to.
    pub(crate) totals: Counters,
    /// What was stolen of the task by now and is not told yet: it never falls.
    pub(crate) stolen_ns: Option<u64>,
    /// By how much its time on a CPU has grown more than its runtime. With the sign, so that sums are right.
    pub(crate) ahead_ns: i64,
}

/// What sums of [`Growth::ahead_ns`] have more or less than was told, of a process and of the dead that it inherits from.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Owed {
    own_ns: i64,
    children_ns: i64,
}

/// What of a sum can be told of an interval with this time; the rest stays owed.
fn told_of(owed_ns: &mut i64, more_ns: i64, most_ns: u64) -> u64 {
    let sum_ns = *owed_ns + more_ns;
    let told_ns = sum_ns.max(0).cast_unsigned().min(most_ns);
    *owed_ns = sum_ns - told_ns.cast_signed();
    told_ns
}

/// A task that has run since the ledger was attached.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Life {
    task: TaskId,
    process: TaskId,
    /// When they were looked at last.
    counters: Counters,
    wall_ns: u64,
    /// What its runtime grew by while `wall_ns` was summed.
    runtime_ns: u64,
    /// By how much the former is ahead of the latter, as far as that is known.
    ahead_ns: i64,
    /// What was told of that.
    stolen_ns: u64,
    /// No ledger was attached since it was looked at last.
    is_past_gap: bool,
    shown: Shown,
    /// What it did since it was first seen; `None`: of some of that it is not known.
    states: Option<LifeStates>,
    /// Whether the last list of what lives did not have it. Then it is dead, but the next interval may still report its death.
    #[serde(skip)]
    is_missing: bool,
}

/// What the totals of a task are.
#[derive(Debug, Default, Serialize, Deserialize)]
enum Shown {
    /// Its own.
    #[default]
    Own,
    /// An exec has given it the (tid, start time) of the leader of its process, whose end is still to be told.
    Awaited { is_late: bool },
    /// Those of that leader, and what it has used since itself: else they would go back.
    Leader(Box<Counters>),
}

impl Life {
    fn new(task: TaskId, process: TaskId, counters: Counters) -> Life {
        Life { task, process, counters, ..Life::default() }
    }

    /// Whether it is to be remembered after another list, which has it or not.
    fn stays(&mut self, is_listed: bool) -> bool {
        let was_missing = std::mem::replace(&mut self.is_missing, !is_listed);
        is_listed || !was_missing
    }

    /// Adds an interval in which it ran.
    fn pass(&mut self, seen: &Seen) {
        self.wall_ns += seen.wall_ns;
        self.states = self.states.zip(seen.stretch).map(|(mut states, stretch)| {
            states.pass(seen.wall_ns, &stretch);
            states
        });
    }

    /// In an interval with `most_ns` on a CPU.
    fn advance(&mut self, now: &Counters, is_running: bool, most_ns: u64) -> Growth {
        let now = never_back(&self.counters, now);
        let growth = now.since(&self.counters);
        self.counters = now;
        self.runtime_ns += growth.runtime_ns;
        let all_ns = self.wall_ns.cast_signed() - self.runtime_ns.cast_signed();
        let slack_ns = if is_running { LONGEST_TICK_NS.cast_signed() } else { 0 };
        let ahead_ns = self.ahead_ns.clamp(all_ns - slack_ns, all_ns);
        let ahead_growth_ns = ahead_ns - std::mem::replace(&mut self.ahead_ns, ahead_ns);
        let stolen_ns = ahead_ns.max(0).cast_unsigned().clamp(self.stolen_ns, self.stolen_ns + most_ns);
        let stolen_growth_ns = stolen_ns - std::mem::replace(&mut self.stolen_ns, stolen_ns);
        let totals = match &mut self.shown {
            Shown::Leader(totals) => {
                totals.add(&growth);
                **totals
            }
            Shown::Own | Shown::Awaited { .. } => self.counters,
        };
        Growth {
            counters: growth,
            totals,
            stolen_ns: growth.known.contains(Field::Runtime).then_some(stolen_growth_ns),
            ahead_ns: ahead_growth_ns,
        }
    }
}

/// All tasks that have run, and their processes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Lives {
    /// When the ledger was attached: what started later is known from its start.
    attached: Boottime,
    /// By slot. Boxed, so that little memory moves when the map grows, and when slots get other numbers.
    tasks: FxHashMap<u32, Box<Life>>,
    /// Those that have not run since the slots got other numbers.
    former: FxHashMap<TaskId, Box<Life>>,
    /// Runtimes of threads that go on under the tid of their leader after an exec, by process, until they are seen again.
    renumbered: FxHashMap<TaskId, u64>,
    /// The last totals of leaders whose process lives on.
    leaders: FxHashMap<TaskId, Counters>,
    processes: FxHashMap<TaskId, Counters>,
    /// Of those that lack something.
    owed: FxHashMap<TaskId, Owed>,
}

impl Trim for Lives {
    fn trim(&mut self) {
        let Lives { attached: _, tasks, former, renumbered, leaders, processes, owed } = self;
        tasks.trim();
        former.trim();
        renumbered.trim();
        leaders.trim();
        processes.trim();
        owed.trim();
    }
}

impl Lives {
    pub(crate) fn new(attached: Boottime) -> Lives {
        Lives { attached, ..Lives::default() }
    }

    /// A task that is alive, with its figures of now; `None` where it could not be looked at: then they come later.
    pub(crate) fn go_on(&mut self, seen: &Seen, now: Option<&Counters>) -> Option<Growth> {
        let mut life = self.take(seen);
        life.pass(seen);
        let now = now.filter(|_| self.knows_totals(seen, &mut life));
        let growth = now.map(|now| life.advance(now, seen.is_running, seen.wall_ns));
        self.tasks.insert(seen.number, life);
        growth
    }

    /// The task as it was last seen. Its slot may have been that of another task that was folded, which nothing reported. It may also have
    /// become the leader of its process since, by an exec.
    fn take(&mut self, seen: &Seen) -> Box<Life> {
        let is_same = |life: &Life| {
            life.task == seen.task || (life.process == seen.process && seen.task == seen.process)
        };
        let known = self.tasks.remove(&seen.number).filter(|life| is_same(life));
        let mut life = known.unwrap_or_else(|| self.first(seen));
        if life.task != seen.task {
            // What it did before is of another task.
            life.states = None;
        }
        life
    }

    /// Forgets the processes that do not live, whose deaths may not have been told. Of tasks it forgets those that did not live the last
    /// time either: the death of one that is missing for the first time may be in the next interval.
    pub(crate) fn keep_living(
        &mut self,
        mut lives: impl FnMut(TaskId) -> bool,
        is_listed: impl Fn(TaskId) -> bool,
    ) {
        self.processes.retain(|process, _| lives(*process));
        self.owed.retain(|process, _| lives(*process));
        self.leaders.retain(|process, _| lives(*process));
        self.renumbered.retain(|process, _| lives(*process));
        let mut stays = |life: &mut Life| life.stays(lives(life.process) && is_listed(life.task));
        self.former.retain(|_, life| stays(life));
        self.tasks.retain(|_, life| stays(life));
    }

    /// How many tasks are remembered.
    pub(crate) fn tasks(&self) -> usize {
        self.former.len() + self.tasks.len()
    }

    /// How much is remembered that only a death ends.
    pub(crate) fn len(&self) -> usize {
        self.processes.len()
            + self.owed.len()
            + self.leaders.len()
            + self.renumbered.len()
            + self.former.len()
    }

    /// The totals of a process, if it was ever active.
    pub(crate) fn totals(&self, process: TaskId) -> Option<&Counters> {
        self.processes.get(&process)
    }

    /// The totals of a task that was last seen in this slot; `None`: they are not known, or not known yet.
    pub(crate) fn totals_of_task(&self, task: TaskId, slot: Option<u32>) -> Option<&Counters> {
        let life = slot.and_then(|slot| self.tasks.get(&slot)).filter(|life| life.task == task);
        let life = life.or_else(|| self.former.get(&task))?;
        match &life.shown {
            Shown::Own => Some(&life.counters),
            Shown::Awaited { .. } => None,
            Shown::Leader(totals) => Some(&**totals),
        }
    }

    /// A task has not run, and waits for a CPU since this time, CLOCK_MONOTONIC.
    pub(crate) fn wait(&mut self, task: TaskId, slot: Option<u32>, since_ns: u64) {
        let life = slot.and_then(|slot| self.tasks.get_mut(&slot)).filter(|life| life.task == task);
        let Some(life) = life.or_else(|| self.former.get_mut(&task)) else { return };
        if let Some(states) = &mut life.states {
            states.rest(since_ns, OffState::Waits);
        }
    }

    /// Slots have other numbers from now on: tasks are recognised by their (tid, start time).
    pub(crate) fn hand_over(&mut self) {
        let tasks = std::mem::take(&mut self.tasks).into_values();
        self.former.extend(tasks.map(|life| (life.task, life)));
    }

    /// As [`Lives::hand_over`], after a time in which no ledger was attached: until `attached`.
    pub(crate) fn resume_after_gap(&mut self, attached: Boottime) {
        self.hand_over();
        self.attached = attached;
        self.former.values_mut().for_each(|life| life.is_past_gap = true);
    }

    /// Whether it is known what the totals of a task begin with. The leader that an exec has replaced is on its way out:
    /// its end is told in the same interval or, if that was cut right there, in the next; where slots ran out, never.
    fn knows_totals(&mut self, seen: &Seen, life: &mut Life) -> bool {
        let Shown::Awaited { is_late } = &mut life.shown else { return true };
        if let Some(totals) = self.leaders.remove(&seen.process) {
            life.shown = Shown::Leader(Box::new(totals));
        } else if !std::mem::replace(is_late, true) {
            return false;
        } else {
            life.shown = Shown::Own;
        }
        true
    }

    /// A task that has died, with its final figures.
    pub(crate) fn end(&mut self, seen: &Seen, last: &Counters) -> (Growth, Option<Lived>) {
        let (growth, lived) = self.end_last(seen, last);
        if seen.task == seen.process {
            self.leaders.insert(seen.process, growth.totals);
        }
        (growth, lived)
    }

    /// Likewise, one with which its process ends: no other task can go on with its totals.
    pub(crate) fn end_last(&mut self, seen: &Seen, last: &Counters) -> (Growth, Option<Lived>) {
        let mut life = self.take(seen);
        life.pass(seen);
        self.knows_totals(seen, &mut life);
        let growth = life.advance(last, false, seen.wall_ns);
        (growth, life.states.map(|states| states.lived()))
    }

    /// A thread that goes on under the tid of its leader, in a slot that begins with its figures.
    pub(crate) fn renumber(&mut self, seen: &Seen, last: &Counters) -> Growth {
        let (growth, _) = self.end(seen, last);
        self.renumbered.insert(seen.process, last.runtime_ns);
        growth
    }

    /// Adds what the tasks of a living process grew by, and what it tells of its waited-for children, to its totals. Returns
    /// the growth and the totals; `None` for one that is seen first, is older than the ledger, and does not tell its totals.
    pub(crate) fn add_to_process(
        &mut self,
        process: TaskId,
        own: &Counters,
        told: &Counters,
    ) -> Option<(Counters, Counters)> {
        let total = match self.processes.get(&process) {
            Some(total) => *total,
            None if process.start_time_ns >= self.attached => Counters::ZERO,
            None if told.known.contains(Field::Runtime) => {
                return Some(self.begin_process(process, own, told));
            }
            None => return None,
        };
        let mut growth = *own;
        growth.take_children(&told.max(&total).since(&total));
        let mut sum = total;
        sum.add(&growth);
        self.processes.insert(process, sum);
        Some((growth, sum))
    }

    /// Begins the totals of a process that is older than the ledger with those it tells of itself at the end of the interval.
    pub(crate) fn begin_process(
        &mut self,
        process: TaskId,
        own: &Counters,
        told: &Counters,
    ) -> (Counters, Counters) {
        let mut growth = *own;
        // It is unknown how much of its waited-for children was before.
        growth.take_children(&Counters::default());
        self.processes.insert(process, *told);
        (growth, *told)
    }

    /// What was stolen of a process and of the dead that it inherits from, by how much the time of each is ahead of the runtime. What one has
    /// too much another may have too little. So what is less than nothing, or more than the time of the interval, is for the next ones.
    pub(crate) fn tell_stolen(&mut self, process: TaskId, ahead_ns: [i64; 2], most_ns: [u64; 2]) -> [u64; 2] {
        let mut owed = self.owed.remove(&process).unwrap_or_default();
        let own_ns = told_of(&mut owed.own_ns, ahead_ns[0], most_ns[0]);
        let children_ns = told_of(&mut owed.children_ns, ahead_ns[1], most_ns[1]);
        if owed.own_ns != 0 || owed.children_ns != 0 {
            self.owed.insert(process, owed);
        }
        [own_ns, children_ns]
    }

    /// What is owed to a process that has died is owed to its heir.
    pub(crate) fn take_owed(&mut self, process: TaskId) -> i64 {
        self.owed.remove(&process).map_or(0, |owed| owed.own_ns + owed.children_ns)
    }

    /// Forgets a process that has died.
    pub(crate) fn forget_process(&mut self, process: TaskId) {
        self.processes.remove(&process);
        // In a storm of forks there is room for very many, and none is there.
        if !self.renumbered.is_empty() {
            self.renumbered.remove(&process);
        }
        if !self.leaders.is_empty() {
            self.leaders.remove(&process);
        }
    }

    /// A task when its slot was made.
    fn first(&mut self, seen: &Seen) -> Box<Life> {
        if !self.former.is_empty()
            && let Some(mut life) = self.former.remove(&seen.task)
        {
            if std::mem::take(&mut life.is_past_gap) {
                // What it ran in the gap is not booked: it is no time that the scheduler has charged beyond that on a CPU.
                life.wall_ns += seen.first_runtime_ns.saturating_sub(life.counters.runtime_ns);
                life.states = None;
            }
            return life;
        }
        let mut life =
            Box::new(Life::new(seen.task, seen.process, figures_before(seen.first_runtime_ns, seen.first)));
        // A child waits for its first turn; what an older task did before is not known.
        let rests = if seen.first_runtime_ns == 0 { OffState::Waits } else { OffState::Unseen };
        let states = Some(LifeStates::new(seen.born_ns, rests));
        if seen.task != seen.process {
            life.states = states;
            return life;
        }
        // Between its last switch as a thread and its first as the leader it has not run; the old leader has another runtime.
        let is_renumbered = self.renumbered.get(&seen.process) == Some(&seen.first_runtime_ns);
        if is_renumbered {
            self.renumbered.remove(&seen.process);
        }
        match self.leaders.remove(&seen.process) {
            Some(totals) => life.shown = Shown::Leader(Box::new(totals)),
            None if is_renumbered => life.shown = Shown::Awaited { is_late: false },
            None => life.states = states,
        }
        life
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use cpuledger_model::field::FieldSet;
    use cpuledger_model::make;
    use cpuledger_model::states::States;
    use cpuledger_model::task::Tid;

    fn id(tid: i32, start_time_ns: u64) -> TaskId {
        TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(start_time_ns) }
    }

    fn seen(number: u32, task: TaskId, process: TaskId, wall_ns: u64) -> Seen {
        Seen {
            number,
            task,
            process,
            first_runtime_ns: 0,
            first: None,
            wall_ns,
            is_running: false,
            stretch: None,
            born_ns: 0,
        }
    }

    fn counters(runtime_ns: u64, user_ns: u64) -> Counters {
        make!(Counters { runtime_ns, user_ns, system_ns: runtime_ns - user_ns, ..Counters::ZERO })
    }

    #[test]
    fn stolen_is_what_the_kernel_does_not_count() {
        let mut lives = Lives::new(Boottime::from_ns(100));
        let task = id(7, 200);
        let growth = lives.go_on(&seen(3, task, task, 50), Some(&counters(40, 30))).expect("seen");
        assert_eq!((growth.stolen_ns, growth.counters.user_ns), (Some(10), 30));
        // The runtime of a running task is behind by a tick: no theft.
        let running = Seen { is_running: true, ..seen(3, task, task, LONGEST_TICK_NS) };
        assert_eq!(lives.go_on(&running, Some(&counters(40, 30))).expect("seen").stolen_ns, Some(0));
        let (growth, _) = lives.end(&seen(3, task, task, 0), &counters(LONGEST_TICK_NS + 40, 30));
        assert_eq!(growth.stolen_ns, Some(0));
    }

    #[test]
    fn what_was_used_before_the_slot_was_made_is_not_of_the_interval() {
        let mut lives = Lives::new(Boottime::from_ns(100));
        let task = id(7, 20);
        let old =
            Seen { first_runtime_ns: 1_100, first: Some(counters(1_100, 660)), ..seen(3, task, task, 50) };
        let growth = lives.go_on(&old, Some(&counters(1_150, 690))).expect("seen");
        assert_eq!((growth.counters.runtime_ns, growth.counters.user_ns), (50, 30));
        // This one ended before the first look: only its runtime is known.
        let other = id(8, 30);
        let ended = Seen { first_runtime_ns: 10, ..seen(4, other, other, 5) };
        let (growth, _) = lives.end(&ended, &counters(15, 7));
        assert_eq!(growth.counters.known, FieldSet::of(&[Field::Runtime]));
        assert_eq!((growth.counters.runtime_ns, growth.stolen_ns), (5, Some(0)));
    }

    #[test]
    fn totals_begin_with_what_an_older_process_tells_and_grow_by_its_tasks() {
        let mut lives = Lives::new(Boottime::from_ns(100));
        let (old, young) = (id(7, 20), id(8, 200));
        let (growth, total) =
            lives.add_to_process(old, &counters(50, 30), &counters(1_050, 600)).expect("told");
        assert_eq!((growth.runtime_ns, total.runtime_ns), (50, 1_050));
        assert!(!growth.known.contains(Field::ChildrenUser), "what was before is unknown");
        let (growth, total) = lives.add_to_process(old, &counters(5, 3), &counters(9_999, 1)).expect("known");
        assert_eq!((growth.runtime_ns, total.runtime_ns, total.user_ns), (5, 1_055, 603));
        let (_, total) = lives.add_to_process(young, &counters(5, 3), &Counters::default()).expect("young");
        assert_eq!(total.runtime_ns, 5);
        assert!(lives.add_to_process(id(9, 30), &counters(5, 3), &Counters::default()).is_none());
        let told = make!(Counters { children_user_ns: 70, ..counters(0, 0) });
        let (growth, _) = lives.add_to_process(young, &counters(0, 0), &told).expect("known");
        assert_eq!(growth.children_user_ns, 70);
    }

    #[test]
    fn a_thread_that_execs_takes_its_figures_along() {
        let mut lives = Lives::new(Boottime::from_ns(100));
        let (process, thread) = (id(7, 200), id(9, 210));
        lives.go_on(&seen(3, process, process, 30), Some(&counters(30, 10)));
        lives.go_on(&seen(4, thread, process, 50), Some(&counters(50, 20)));
        // The leader dies, the thread is the leader now, in a slot of its own.
        assert_eq!(lives.end(&seen(3, process, process, 1), &counters(31, 10)).0.counters.runtime_ns, 1);
        assert_eq!(lives.renumber(&seen(4, thread, process, 5), &counters(55, 20)).counters.runtime_ns, 5);
        let leader =
            Seen { first_runtime_ns: 55, first: Some(counters(55, 20)), ..seen(5, process, process, 7) };
        let growth = lives.go_on(&leader, Some(&counters(62, 20))).expect("seen");
        assert_eq!((growth.counters.runtime_ns, growth.counters.user_ns), (7, 0));
        // What is shown of (tid, start time) goes on where the old leader ended.
        assert_eq!(growth.totals.runtime_ns, 31 + 7);
    }

    #[test]
    fn the_end_of_a_replaced_leader_may_come_an_interval_later() {
        let mut lives = Lives::new(Boottime::from_ns(100));
        let (process, thread) = (id(7, 200), id(9, 210));
        lives.go_on(&seen(3, process, process, 90), Some(&counters(90, 10)));
        lives.renumber(&seen(4, thread, process, 50), &counters(50, 20));
        let leader =
            Seen { first_runtime_ns: 50, first: Some(counters(50, 20)), ..seen(5, process, process, 7) };
        assert!(lives.go_on(&leader, Some(&counters(57, 20))).is_none());
        lives.end(&seen(3, process, process, 1), &counters(91, 10));
        let growth = lives.go_on(&leader, Some(&counters(64, 20))).expect("seen");
        assert_eq!((growth.counters.runtime_ns, growth.totals.runtime_ns), (14, 105));
    }

    #[test]
    fn a_slot_that_was_given_back_untold_is_another_task() {
        let mut lives = Lives::new(Boottime::from_ns(100));
        let (dead, young) = (id(7, 200), id(8, 300));
        lives.go_on(&seen(3, dead, dead, 10_000), Some(&counters(10_000, 9_000)));
        let growth = lives.go_on(&seen(3, young, young, 40), Some(&counters(40, 30))).expect("seen");
        assert_eq!((growth.counters.runtime_ns, growth.totals.runtime_ns), (40, 40));
        assert_eq!(growth.stolen_ns, Some(0));
    }

    #[test]
    fn a_task_that_is_missing_twice_is_forgotten() {
        let mut lives = Lives::new(Boottime::from_ns(100));
        let process = id(1, 150);
        for number in 2..12 {
            lives.go_on(&seen(number, id(number as i32, 200), process, 10), Some(&counters(10, 1)));
            if number == 6 {
                lives.hand_over();
            }
        }
        let is_listed = |task: TaskId| task.tid.0 % 2 == 0;
        lives.keep_living(|_| true, is_listed);
        assert_eq!(lives.tasks(), 10);
        // The death of this one comes after all: what it had at the last cut is known.
        let (growth, _) = lives.end(&seen(11, id(11, 200), process, 5), &counters(15, 1));
        assert_eq!(growth.counters.runtime_ns, 5);
        lives.keep_living(|_| true, is_listed);
        assert_eq!(lives.tasks(), 5);
    }

    #[test]
    fn who_does_not_live_is_forgotten() {
        let mut lives = Lives::new(Boottime::from_ns(100));
        for number in 0..10 {
            let task = id(number, 200);
            lives.go_on(&seen(number as u32, task, task, 1), Some(&counters(1, 1)));
            lives.add_to_process(task, &counters(1, 1), &Counters::ZERO);
        }
        lives.hand_over();
        assert_eq!(lives.len(), 20);
        let lives_on = |process: TaskId| process.tid.0 < 2;
        lives.keep_living(lives_on, |_| true);
        lives.keep_living(lives_on, |_| true);
        assert_eq!(lives.len(), 4);
    }

    #[test]
    fn what_one_task_has_too_much_another_has_too_little() {
        let mut lives = Lives::new(Boottime::from_ns(100));
        let (one, other) = (id(7, 200), id(8, 200));
        // Each runs for 100; one is charged 10 less, the other 10 more.
        let less = lives.go_on(&seen(3, one, one, 100), Some(&counters(90, 1))).expect("seen");
        let more = lives.go_on(&seen(4, other, one, 100), Some(&counters(110, 1))).expect("seen");
        assert_eq!((less.ahead_ns, more.ahead_ns), (10, -10));
        assert_eq!(lives.tell_stolen(one, [less.ahead_ns + more.ahead_ns, -4], [200, 9]), [0, 0]);
        // What is lacking is carried on, and so is what the interval has no time for.
        assert_eq!(lives.tell_stolen(one, [-3, 6], [9, 9]), [0, 2]);
        assert_eq!(lives.tell_stolen(one, [20, 0], [9, 9]), [9, 0]);
        assert_eq!(lives.tell_stolen(one, [0, 0], [9, 9]), [8, 0]);
        // An heir lacks what a dead one lacked.
        assert_eq!(lives.tell_stolen(one, [-5, -1], [9, 9]), [0, 0]);
        assert_eq!((lives.take_owed(one), lives.take_owed(one)), (-6, 0));
        // A runtime that comes later takes back what was only apparently stolen.
        let later = lives.go_on(&seen(3, one, one, 0), Some(&counters(96, 1))).expect("seen");
        assert_eq!((later.ahead_ns, later.stolen_ns), (-6, Some(0)));
    }

    #[test]
    fn figures_go_on_when_slots_get_other_numbers() {
        let mut lives = Lives::new(Boottime::from_ns(100));
        let task = id(7, 200);
        lives.go_on(&seen(3, task, task, 30), Some(&counters(30, 10)));
        lives.hand_over();
        // The new slot was made before the old one was last looked at.
        let moved = Seen { first_runtime_ns: 20, first: Some(counters(20, 5)), ..seen(9, task, task, 4) };
        let growth = lives.go_on(&moved, Some(&counters(34, 11))).expect("seen");
        assert_eq!((growth.counters.runtime_ns, growth.totals.runtime_ns), (4, 34));
        assert_eq!(growth.stolen_ns, Some(0));
    }

    #[test]
    fn a_task_that_could_not_be_looked_at_comes_later() {
        let mut lives = Lives::new(Boottime::from_ns(100));
        let task = id(7, 200);
        assert!(lives.go_on(&seen(3, task, task, 30), None).is_none());
        let (growth, _) = lives.end(&seen(3, task, task, 10), &counters(40, 40));
        assert_eq!((growth.counters.runtime_ns, growth.stolen_ns), (40, Some(0)));
    }

    proptest! {
        #[test]
        fn user_and_system_never_go_back_and_are_the_runtime(
            steps in prop::collection::vec((0u64..1_000, 0u64..=100), 1..40),
        ) {
            let mut life = Life::new(id(7, 200), id(7, 200), Counters::ZERO);
            let (mut runtime_ns, mut user_ns, mut system_ns) = (0, 0, 0);
            for (more_ns, user_percent) in steps {
                runtime_ns += more_ns;
                let growth = life.advance(&counters(runtime_ns, runtime_ns * user_percent / 100), false, 0);
                user_ns += growth.counters.user_ns;
                system_ns += growth.counters.system_ns;
                prop_assert_eq!(user_ns + system_ns, runtime_ns);
                prop_assert_eq!((life.counters.user_ns, life.counters.system_ns), (user_ns, system_ns));
            }
        }
    }

    #[test]
    fn a_life_is_the_sum_of_its_intervals_and_the_rests_between() {
        let (task, process) = (id(8, 5), id(7, 1));
        let mut lives = Lives::new(Boottime::from_ns(0));
        // It is alive in it from one time to another, runs for 10 ns, and sleeps for the rest.
        let ran = |begin_ns: u64, end_ns: u64, rests| Seen {
            stretch: Some(Stretch {
                states: make!(States { elapsed_ns: end_ns - begin_ns, sleep_ns: end_ns - begin_ns - 10 }),
                begin_ns,
                end_ns,
                rests,
            }),
            born_ns: 90,
            ..seen(3, task, process, 10)
        };
        let zero = Counters::ZERO;
        lives.go_on(&ran(100, 200, OffState::Io), Some(&zero));
        lives.go_on(&ran(500, 600, OffState::Waits), None);
        let lived = lives.end(&ran(600, 650, OffState::Unseen), &zero).1.expect("all of it is known");
        let states = make!(States {
            elapsed_ns: 560,
            runqueue_wait_ns: 10,
            blocked_ns: 300,
            io_wait_ns: 300,
            sleep_ns: 220,
        });
        assert_eq!((lived, lived.imbalance_ns()), (make!(Lived { cpu_ns: 30, states }), 0));
        // What is not known of one of them is not known of its life.
        lives.go_on(&ran(700, 800, OffState::Sleeps), Some(&zero));
        lives.go_on(&Seen { stretch: None, ..ran(800, 900, OffState::Sleeps) }, Some(&zero));
        assert_eq!(lives.end(&ran(900, 950, OffState::Unseen), &zero).1, None);
    }
}
