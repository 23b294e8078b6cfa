//! What processes and their threads have used, kept between walks: those of a process that has not run since need not be visited again.
//!
//! The total of a process is what its dead threads have left, what its leader has used, and what its other threads have. The first two are
//! read in each walk over the leaders. The third is kept. It holds as long as no thread of the process has run or died.
//!
//! The records of those threads are kept as well, between listings of all threads: a visit of 100,000 takes most of the time of a listing.
//!
//! What a thread says of itself changes only while it runs: its name is changed by its own process, its user by itself. What its process
//! says of all threads, such as the parent or the terminal, is read in each listing. One thing changes from outside: a thread that is woken
//! is runnable before it runs. The kernel counts those.

use std::fs::File;
use std::io::Read;
use std::thread::sleep;
use std::time::Duration;

use cpuledger_bpf::abi;
use cpuledger_bpf::ledger::{Moment, Seen, Watch};
use cpuledger_bpf::{Request, Walked, Walker};
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_proc::machine::loadavg::parse_loadavg;
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::source::records::combined;

/// If more than this share of all threads has to be visited, all are.
const SHARE_OF_ALL: u32 = 4;
/// Of a machine with fewer threads nothing is kept: a visit of all takes less than the care.
const LEAST_THREADS: u32 = 2_000;
/// If more processes than this have to be visited one by one, all are.
const MOST_ALONE: usize = 256;
/// After a listing, the runnable tasks are counted up to this number of times, until they are no more than in the listing. In all, this takes
/// less than a fifth of the time of a visit of 100,000 threads.
const MOST_SAMPLES: u32 = 20;
const BETWEEN_SAMPLES: Duration = Duration::from_micros(200);

/// What a thread cannot change without having run, and what is read of its process each time.
const STEADY: FieldSet = FieldSet::of(&[
    Field::Tid,
    Field::Pid,
    Field::Ppid,
    Field::Pgid,
    Field::Sid,
    Field::TtyDevice,
    Field::TtyPgid,
    Field::StartTime,
    Field::Uid,
    Field::Euid,
    Field::Comm,
    Field::State,
    Field::Flags,
    Field::Threads,
    Field::Runtime,
    Field::User,
    Field::System,
]);

/// Whether listings with these fields can be made of what is kept.
pub(super) fn has_steady(fields: FieldSet) -> bool {
    fields.without(STEADY) == FieldSet::EMPTY
}

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

/// The last listing of all threads.
#[derive(Default)]
struct Listing {
    /// The groups that were read.
    groups: u32,
    /// Those whose records are kept come first.
    tasks: Vec<abi::cpuledger_task>,
    processes: Vec<abi::cpuledger_process>,
    /// How many processes those are, and how many records they have.
    kept: (usize, usize),
}

/// What is kept.
pub(super) struct Totals {
    watch: Watch,
    /// Since when `kept` holds for what has not run.
    since: Option<Moment>,
    kept: FxHashMap<i32, Kept>,
    records: Records,
    /// The last listing of all threads: the records that are kept come first.
    listing: Listing,
}

impl Totals {
    pub(super) fn new(watch: Watch) -> Totals {
        Totals {
            watch,
            since: None,
            kept: FxHashMap::default(),
            records: Records::default(),
            listing: Listing::default(),
        }
    }

    /// Walks over all processes, with their totals. It visits only the threads of those that may have run since the last call.
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

    /// Keeps the sums of a walk over all processes, which came after that over the leaders. What is kept of those that have not run stays: the
    /// records have it in them already.
    fn keep_all(&mut self, walked: &Walked<'_>) {
        let Records { tasks, rests, processes } = &self.records;
        let marks = processes.iter().filter(|process| process.threads > 1);
        let marks: FxHashMap<i32, Option<Mark>> =
            marks.map(|process| (process.pid, mark_of(process, tasks, rests))).collect();
        for summed in walked.processes.iter().filter(|process| process.threads > 1) {
            if self.kept.contains_key(&summed.pid) {
                continue;
            }
            let mark = marks.get(&summed.pid).copied().flatten();
            keep(&mut self.kept, mark, summed, walked);
        }
    }
}

impl Totals {
    /// Walks over all threads, each leader followed by its own. It visits only the threads of processes that may have run since the last
    /// call. There are no rests: no [steady](has_steady) field is of them.
    pub(super) fn walk_tasks<'a>(
        &'a mut self,
        walker: &'a mut Walker,
        request: &Request,
    ) -> Result<Walked<'a>, Error> {
        let Some((runnable, _)) = runnable_and_all().filter(|(_, threads)| *threads >= LEAST_THREADS) else {
            self.forget_tasks();
            return Ok(walker.walk(request)?);
        };
        // Records with more than is asked for do, too.
        if self.listing.groups & request.groups != request.groups {
            self.forget_tasks();
            self.listing.groups = request.groups;
        }
        let request = &Request { groups: self.listing.groups, ..*request };
        let told = self.update(walker, request)?;
        if let Some(told) = told
            && let Some(end_ns) = self.list(walker, request, runnable)?
        {
            let Listing { tasks, processes, .. } = &self.listing;
            let walked = told.with(tasks, &[], processes);
            return Ok(Walked { end_ns: walked.end_ns.max(end_ns), ..walked });
        }
        let walked = walker.walk(request)?;
        if told.is_none() {
            self.keep_all(&walked);
        }
        self.keep_tasks(&walked);
        Ok(walked)
    }

    fn forget_tasks(&mut self) {
        self.listing = Listing::default();
        self.kept.values_mut().for_each(|kept| kept.tasks = None);
    }

    /// Makes the listing of what is kept and of a visit of all others. Returns when its last walk has ended; `None`: the others are too many,
    /// or one of the kept has run meanwhile.
    fn list(&mut self, walker: &mut Walker, request: &Request, runnable: u32) -> Result<Option<u64>, Error> {
        self.list_kept();
        let Some(end_ns) = self.visit_others(walker, request)? else { return Ok(None) };
        let is_whole = self.listing.none_waits(runnable) && !self.have_run()?;
        Ok(is_whole.then_some(end_ns))
    }

    /// Begins the listing with the processes whose records are kept.
    fn list_kept(&mut self) {
        let Totals { kept, records, listing, .. } = self;
        let Listing { tasks, processes, .. } = listing;
        let mut places: Vec<(Place, usize)> = Vec::new();
        for (index, process) in records.processes.iter().enumerate() {
            let Some(kept) = kept.get_mut(&process.pid) else { continue };
            let leader = leader_of(process, &records.tasks).map(|leader| (leader.state, leader.exit_state));
            // If it is frozen in its sleep, so may others be.
            let is_same = |before: &abi::cpuledger_task| leader == Some((before.state, before.exit_state));
            kept.tasks.take_if(|place| !is_same(&tasks[place.begin]));
            places.extend(kept.tasks.map(|place| (place, index)));
        }
        places.sort_unstable();
        // A process may be told of twice.
        places.dedup_by_key(|(place, _)| place.begin);
        processes.clear();
        let mut end = 0;
        for &(Place { begin, count }, index) in &places {
            if begin != end {
                tasks.copy_within(begin..begin + count, end);
            }
            let process = &records.processes[index];
            if let Some(leader) = leader_of(process, &records.tasks) {
                tasks[end] = *leader;
            }
            processes.push(abi::cpuledger_process { task_index: end as u32, ..*process });
            if let Some(kept) = kept.get_mut(&process.pid) {
                kept.tasks = Some(Place { begin: end, count });
            }
            end += count;
        }
        tasks.truncate(end);
        listing.kept = (places.len(), end);
    }

    /// Adds all others to the listing, and visits the threads of those that have several. Returns when the last walk has ended; `None`:
    /// they are too many.
    fn visit_others(&mut self, walker: &mut Walker, request: &Request) -> Result<Option<u64>, Error> {
        let Totals { kept, records, listing: Listing { tasks, processes, .. }, .. } = self;
        let leader = |process: &abi::cpuledger_process| leader_of(process, &records.tasks);
        let is_alone = |process: &abi::cpuledger_process| process.threads > 1 || leader(process).is_none();
        let is_kept = |pid| kept.get(pid).is_some_and(|kept| kept.tasks.is_some());
        let others = || records.processes.iter().filter(|process| !is_kept(&process.pid));
        let alone: Vec<&abi::cpuledger_process> = others().filter(|process| is_alone(process)).collect();
        let visits = alone.iter().fold(0_u32, |sum, process| sum.saturating_add(process.threads));
        if visits > records.threads() / SHARE_OF_ALL || alone.len() > MOST_ALONE {
            return Ok(None);
        }
        for process in others() {
            if let Some(leader) = leader(process).filter(|_| !is_alone(process)) {
                processes.push(abi::cpuledger_process { task_index: tasks.len() as u32, ..*process });
                tasks.push(*leader);
            }
        }
        let mut end_ns = 0;
        for process in alone {
            let walked = walker.walk(&Request { only_pid: Some(process.pid), ..*request })?;
            end_ns = walked.end_ns;
            // It may have ended meanwhile.
            if let [visited] = walked.processes
                && leader_of(visited, walked.tasks).is_some()
            {
                let index = tasks.len() as u32 + visited.task_index;
                processes.push(abi::cpuledger_process { task_index: index, ..*visited });
                tasks.extend_from_slice(walked.tasks);
            }
        }
        Ok(Some(end_ns))
    }

    /// Whether a thread whose record is kept has run since the walk over the leaders began, or may have.
    fn have_run(&mut self) -> Result<bool, Error> {
        let Totals { watch, since, kept, .. } = self;
        let seen =
            watch.look(since.as_ref(), |pid| kept.get(&pid).is_some_and(|kept| kept.tasks.is_some()))?;
        Ok(seen.and_then(|seen| seen.ran).is_none_or(|ran| !ran.is_empty()))
    }

    /// Keeps the records of a walk over all threads, which came after that over the leaders: of a process of which a thread came or went in
    /// between, none are kept.
    fn keep_tasks(&mut self, walked: &Walked<'_>) {
        let Totals { kept, listing: Listing { tasks, .. }, .. } = self;
        tasks.clear();
        kept.values_mut().for_each(|kept| kept.tasks = None);
        let ends = walked.processes.iter().skip(1).map(|next| next.task_index as usize);
        for (process, end) in walked.processes.iter().zip(ends.chain([walked.tasks.len()])) {
            let Some(kept) = kept.get_mut(&process.pid) else { continue };
            let Some(records) = walked.tasks.get(process.task_index as usize..end) else { continue };
            let is_same = records.first().is_some_and(|first| first.start_time_ns == kept.mark.start_time_ns)
                && (kept.mark.threads, kept.mark.live) == (process.threads, process.live)
                && records.iter().all(|task| task.pid == process.pid);
            if is_same {
                kept.tasks = Some(Place { begin: tasks.len(), count: records.len() });
                tasks.extend_from_slice(records);
            }
        }
    }
}

impl Listing {
    /// Whether no kept thread has waited for a CPU since the listing began. Such a thread is runnable in each sample, and the listing has it
    /// as asleep. Other tasks of which that is true do not run for long: after a large process has ended, those of RCU do.
    fn none_waits(&self, mut runnable: u32) -> bool {
        let listed = self.runnable();
        for sample in 0..MOST_SAMPLES {
            if sample > 0 {
                sleep(BETWEEN_SAMPLES);
            }
            let Some((now, _)) = runnable_and_all() else { break };
            runnable = runnable.min(now);
            if runnable <= listed {
                return true;
            }
        }
        false
    }

    /// How many of its tasks are runnable, or on a CPU.
    fn runnable(&self) -> u32 {
        let (kept, others) = self.kept;
        let leaders = self.processes[..kept].iter().map(|process| process.task_index as usize);
        let fresh = leaders.chain(others..self.tasks.len()).map(|index| &self.tasks[index]);
        fresh.filter(|task| task.state == 0 && task.exit_state == 0).count() as u32
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

/// How many tasks of the machine are runnable or on a CPU, and how many there are; `None` where a file system other than procfs says so,
/// which may tell of a container alone.
fn runnable_and_all() -> Option<(u32, u32)> {
    let mut file = File::open("/proc/loadavg").ok()?;
    if rustix::fs::fstatfs(&file).ok()?.f_type != rustix::fs::PROC_SUPER_MAGIC {
        return None;
    }
    let mut line = String::new();
    file.read_to_string(&mut line).ok()?;
    let loadavg = parse_loadavg(&line)?;
    loadavg.runnable.zip(loadavg.tasks)
}
