//! The threads of processes that have not run, kept between listings of all threads: a visit of 100,000 takes most of the time of a listing.
//!
//! What a thread says of itself changes only while it runs: its name is changed by its own process, its user by itself. What its process
//! says of all threads, such as the parent or the terminal, is read in each listing. One thing changes from outside: a thread that is woken
//! is runnable before it runs. The kernel counts those.

use std::fs::File;
use std::io::Read;
use std::thread::sleep;
use std::time::Duration;

use cpuledger_bpf::{Request, Walked, Walker, abi};
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_proc::machine::loadavg::parse_loadavg;

use super::{Place, Totals, leader_of};
use crate::error::Error;

/// Of a machine with fewer threads nothing is kept: a visit of all takes less than the care.
const LEAST_THREADS: u32 = 2_000;
/// If more than this share of all threads has to be visited, all are.
const SHARE_OF_ALL: usize = 4;
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
pub(in crate::source) fn has_steady(fields: FieldSet) -> bool {
    fields.without(STEADY) == FieldSet::EMPTY
}

/// The last listing of all threads.
#[derive(Default)]
pub(super) struct Listing {
    /// The groups that were read.
    groups: u32,
    /// Those whose records are kept come first.
    tasks: Vec<abi::cpuledger_task>,
    processes: Vec<abi::cpuledger_process>,
    /// How many processes those are, and how many records they have.
    kept: (usize, usize),
}

impl Totals {
    /// Walks over all threads, each leader followed by its own. It visits only the threads of processes that may have run since the last
    /// call. There are no rests: no [steady](has_steady) field is of them.
    ///
    /// # Errors
    /// Those of the walk.
    pub(in crate::source) fn walk_tasks<'a>(
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
        let leader_of = |process: &abi::cpuledger_process| leader_of(process, &records.tasks);
        let is_alone = |process: &abi::cpuledger_process| process.threads > 1 || leader_of(process).is_none();
        let is_kept = |pid| kept.get(pid).is_some_and(|kept| kept.tasks.is_some());
        let others = || records.processes.iter().filter(|process| !is_kept(&process.pid));
        let alone: Vec<&abi::cpuledger_process> = others().filter(|process| is_alone(process)).collect();
        let visits: usize = alone.iter().map(|process| process.threads as usize).sum();
        if visits > records.threads() as usize / SHARE_OF_ALL || alone.len() > MOST_ALONE {
            return Ok(None);
        }
        for process in others() {
            if let Some(leader) = leader_of(process).filter(|_| !is_alone(process)) {
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
                && super::leader_of(visited, walked.tasks).is_some()
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
