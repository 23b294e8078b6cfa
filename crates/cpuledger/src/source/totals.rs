//! What processes and their threads have used, kept between walks: those of a process that has not run since need not be visited again.
//!
//! The total of a process is what its dead threads have left, what its leader has used, and what its other threads have. The first two are
//! read in each walk over the leaders. The third is kept. It holds as long as no thread of the process has run or died.

mod tasks;

use cpuledger_bpf::abi;
use cpuledger_bpf::ledger::{Moment, Seen, Watch};
use cpuledger_bpf::{Request, Walked, Walker};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::source::records::combined;

pub(super) use tasks::has_steady;

/// A process is summed by itself where it has less than this share of the threads that would have to be visited otherwise.
const SHARE_OF_ALL: u32 = 4;

/// What tells whether the threads of a process are the same as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    start_time_ns: u64,
    threads: u32,
    /// Of these, those that have not begun to exit.
    live: u32,
    /// What the kernel keeps of the dead ones.
    dead: abi::cpuledger_counters,
}

/// What is kept of a process with several threads.
#[derive(Debug, Clone, Copy)]
struct Kept {
    mark: Mark,
    /// The sum of its threads but the leader.
    others: abi::cpuledger_counters,
    /// The records of its threads, where these are kept.
    tasks: Option<Place>,
}

/// Where the records of the threads of a process are, the leader's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    begin: usize,
    count: usize,
}

/// The records of a walk over the leaders, with totals of all processes.
#[derive(Default)]
struct Records {
    tasks: Vec<abi::cpuledger_task>,
    rests: Vec<abi::cpuledger_task_rest>,
    processes: Vec<abi::cpuledger_process>,
}

/// What is kept.
pub(super) struct Totals {
    watch: Watch,
    /// Since when `kept` holds for what has not run.
    since: Option<Moment>,
    kept: FxHashMap<i32, Kept>,
    records: Records,
    /// The last listing of all threads: the records that are kept come first.
    listing: tasks::Listing,
}

impl Totals {
    pub(super) fn new(watch: Watch) -> Totals {
        Totals {
            watch,
            since: None,
            kept: FxHashMap::default(),
            records: Records::default(),
            listing: tasks::Listing::default(),
        }
    }

    /// Walks over all processes, with their totals. It visits only the threads of those that may have run since the last call.
    ///
    /// # Errors
    /// Those of the walk.
    pub(super) fn walk<'a>(
        &'a mut self,
        walker: &'a mut Walker,
        request: &Request,
    ) -> Result<Walked<'a>, Error> {
        let Some(told) = self.update(walker, request)? else {
            let walked = walker.walk(request)?;
            self.keep_all(&walked);
            return Ok(walked);
        };
        let Records { tasks, rests, processes } = &self.records;
        Ok(told.with(tasks, rests, processes))
    }

    /// Walks over the leaders, and completes its records with totals of all processes. Returns what else the walk told; `None`: all threads
    /// are better visited at once.
    fn update(&mut self, walker: &mut Walker, request: &Request) -> Result<Option<Walked<'static>>, Error> {
        // Of others nothing is kept.
        let seen = self.watch.look(self.since.as_ref(), |pid| self.kept.contains_key(&pid))?;
        let leaders = walker.walk(&Request { scope: abi::CPULEDGER_WALK_LEADERS, ..*request })?;
        // Without them the parts of a total cannot be told apart.
        if leaders.rests.len() != leaders.tasks.len() {
            return Ok(None);
        }
        let told = leaders.with(&[], &[], &[]);
        self.records.copy(&leaders);
        let stale = self.complete(seen.as_ref());
        self.since = seen.map(|seen| seen.moment);
        if stale.threads > self.records.threads() / SHARE_OF_ALL {
            return Ok(None);
        }
        for index in stale.indices {
            let process = &mut self.records.processes[index];
            let alone =
                Request { scope: abi::CPULEDGER_WALK_PROCESSES, only_pid: Some(process.pid), ..*request };
            let walked = walker.walk(&alone)?;
            let [summed] = walked.processes else {
                // It has ended meanwhile: a row without a leader is passed over.
                process.task_index = u32::MAX;
                continue;
            };
            let mark = mark_of(process, &self.records.tasks, &self.records.rests);
            keep(&mut self.kept, mark, summed, &walked);
            (process.group, process.totals_known) = (summed.group, 1);
        }
        Ok(Some(told))
    }

    /// Whether it is of no more use.
    pub(super) fn is_over(&self) -> bool {
        self.watch.is_over()
    }

    /// Adds what is kept to the records. Returns those for which nothing is.
    fn complete(&mut self, seen: Option<&Seen>) -> Stale {
        let ran = seen.and_then(|seen| seen.ran.as_ref());
        let Records { tasks, rests, processes } = &mut self.records;
        let mut stale = Stale::default();
        let mut alive = FxHashMap::default();
        for (index, process) in processes.iter_mut().enumerate() {
            if process.totals_known != 0 {
                continue;
            }
            let mark = mark_of(process, tasks, rests);
            let kept = self.kept.get(&process.pid).copied();
            let kept = kept
                .filter(|kept| Some(kept.mark) == mark && ran.is_some_and(|ran| !ran.contains(&process.pid)));
            let Some(kept) = kept else {
                stale.indices.push(index);
                stale.threads = stale.threads.saturating_add(process.threads);
                continue;
            };
            process.group = combined(&process.group, &kept.others, u64::wrapping_add);
            process.totals_known = 1;
            alive.insert(process.pid, kept);
        }
        self.kept = alive;
        stale
    }

    /// Keeps the sums of a walk over all processes, which came after that over the leaders.
    fn keep_all(&mut self, walked: &Walked<'_>) {
        let Records { tasks, rests, processes } = &self.records;
        let marks = processes.iter().filter(|process| process.threads > 1);
        let marks: FxHashMap<i32, Option<Mark>> =
            marks.map(|process| (process.pid, mark_of(process, tasks, rests))).collect();
        self.kept.clear();
        for summed in walked.processes.iter().filter(|process| process.threads > 1) {
            let mark = marks.get(&summed.pid).copied().flatten();
            keep(&mut self.kept, mark, summed, walked);
        }
    }
}

/// Processes whose threads have to be visited.
#[derive(Default)]
struct Stale {
    indices: Vec<usize>,
    threads: u32,
}

impl Records {
    fn copy(&mut self, walked: &Walked<'_>) {
        self.tasks.clear();
        self.tasks.extend_from_slice(walked.tasks);
        self.rests.clear();
        self.rests.extend_from_slice(walked.rests);
        self.processes.clear();
        self.processes.extend_from_slice(walked.processes);
    }

    fn threads(&self) -> u32 {
        self.processes.iter().fold(0, |sum, process| sum.saturating_add(process.threads))
    }
}

/// The record of the leader of a process.
fn leader_of<'a>(
    process: &abi::cpuledger_process,
    tasks: &'a [abi::cpuledger_task],
) -> Option<&'a abi::cpuledger_task> {
    tasks.get(process.task_index as usize).filter(|leader| leader.tid == process.pid)
}

/// What the leader of a process has used; `None`: it is not recorded.
fn of_leader(
    process: &abi::cpuledger_process,
    tasks: &[abi::cpuledger_task],
    rests: &[abi::cpuledger_task_rest],
) -> Option<(u64, abi::cpuledger_counters)> {
    let (task, rest) = (leader_of(process, tasks)?, rests.get(process.task_index as usize)?);
    let own = abi::cpuledger_counters { cpu_time: task.cpu_time, activity: rest.activity };
    (task.pid == process.pid).then_some((task.start_time_ns, own))
}

/// The mark of a process by a walk over the leaders, which has added only the leader to what the dead have left.
fn mark_of(
    process: &abi::cpuledger_process,
    tasks: &[abi::cpuledger_task],
    rests: &[abi::cpuledger_task_rest],
) -> Option<Mark> {
    let (start_time_ns, leader) = of_leader(process, tasks, rests)?;
    let mut dead = combined(&process.group, &leader, u64::wrapping_sub);
    // What /proc has shown of the process: reading it there changes this.
    (dead.cpu_time.shown_user_ns, dead.cpu_time.shown_system_ns) = (0, 0);
    Some(Mark { start_time_ns, threads: process.threads, live: process.live, dead })
}

/// Keeps what the threads but the leader have used, by a walk over all of them. The mark is older: if a thread dies in between, the next one
/// differs.
fn keep(
    kept: &mut FxHashMap<i32, Kept>,
    mark: Option<Mark>,
    summed: &abi::cpuledger_process,
    walked: &Walked<'_>,
) {
    let leader = of_leader(summed, walked.tasks, walked.rests);
    let (Some(mark), Some((start_time_ns, leader))) = (mark, leader) else { return };
    if mark.start_time_ns == start_time_ns {
        let living = combined(&summed.group, &mark.dead, u64::wrapping_sub);
        let others = combined(&living, &leader, u64::wrapping_sub);
        kept.insert(summed.pid, Kept { mark, others, tasks: None });
    }
}
