//! The threads of processes that have not run, kept between listings of all threads: a visit of 100,000 takes most of the time of a listing.
//!
//! What a thread says of itself changes only while it runs: its name is changed by its own process, its user by itself. What its process
//! says of all threads, such as the parent or the terminal, is read in each listing. One thing changes from outside: a thread that is woken
//! is runnable before it runs. The kernel counts those.

use std::fs::File;
use std::io::Read;
use std::thread::sleep;
use std::time::Duration;

use cpuledger_bpf::abi;
use cpuledger_bpf::ledger::Moment;
use cpuledger_bpf::{Request, Walked, Walker};
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_proc::machine::loadavg::parse_loadavg;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Error;
use crate::source::totals::Totals;

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
pub(super) fn has_steady(fields: FieldSet) -> bool {
    fields.without(STEADY) == FieldSet::EMPTY
}

/// A process with several threads whose records are kept.
#[derive(Debug, Clone, Copy)]
struct Family {
    pid: i32,
    start_time_ns: u64,
    threads: u32,
    /// Of these, those that have not begun to exit.
    live: u32,
    /// How many records it has.
    records: usize,
}

/// What is kept, and the last listing.
#[derive(Default)]
pub(super) struct KeptTasks {
    /// Since when it holds for what has not run, and the groups that were read.
    since: Option<(Moment, u32)>,
    /// In the order of their records.
    families: Vec<Family>,
    /// Those of the families, and in a listing those of all others after them.
    tasks: Vec<abi::cpuledger_task>,
    processes: Vec<abi::cpuledger_process>,
    leaders: Vec<abi::cpuledger_task>,
    /// As the walk over the leaders has told of them.
    told: Vec<abi::cpuledger_process>,
}

impl KeptTasks {
    /// Walks over all threads, each leader followed by its own. It visits only the threads of processes that may have run since the last
    /// call. There are no rests: no [steady](has_steady) field is of them.
    ///
    /// # Errors
    /// Those of the walk.
    pub(super) fn walk<'a>(
        &'a mut self,
        totals: &mut Totals,
        walker: &'a mut Walker,
        request: &Request,
    ) -> Result<Walked<'a>, Error> {
        let Some((runnable, _)) = runnable_and_all().filter(|(_, threads)| *threads >= LEAST_THREADS) else {
            *self = KeptTasks::default();
            return Ok(walker.walk(request)?);
        };
        let pids = pids_of(&self.families);
        // Records with more than is asked for do, too.
        let since = self.since.as_ref().filter(|(_, groups)| groups & request.groups == request.groups);
        let request = &Request { groups: since.map_or(request.groups, |(_, groups)| *groups), ..*request };
        let seen = totals.look(since.map(|(moment, _)| moment), |pid| pids.contains(&pid))?;
        let (moment, ran) = seen.map_or((None, None), |seen| (Some(seen.moment), seen.ran));
        let of_leaders = Request { scope: abi::CPULEDGER_WALK_PROCESSES, ..*request };
        let told = totals.walk(walker, &of_leaders)?;
        let [begin_ns, begin_boottime_ns] = [told.begin_ns, told.begin_boottime_ns];
        let (lacks, mechanism) = (told.lacks, told.mechanism);
        self.leaders.clear();
        self.leaders.extend_from_slice(told.tasks);
        self.told.clear();
        self.told.extend_from_slice(told.processes);
        let mut end_ns = told.end_ns;

        let is_possible = ran.is_some_and(|ran| {
            self.drop_moved(|pid| ran.contains(&pid));
            self.list_kept();
            true
        });
        let is_whole = is_possible
            && match self.visit_others(walker, request)? {
                Some(last_ns) => {
                    end_ns = end_ns.max(last_ns);
                    self.none_waits(runnable) && !self.have_run(totals, moment.as_ref())?
                }
                None => false,
            };
        self.since = moment.map(|moment| (moment, request.groups));
        if !is_whole {
            let walked = walker.walk(request)?;
            self.keep(&walked);
            return Ok(walked);
        }
        let KeptTasks { tasks, processes, .. } = self;
        Ok(Walked { tasks, rests: &[], processes, begin_ns, begin_boottime_ns, end_ns, lacks, mechanism })
    }

    /// Drops the families that have run or are not the same any more.
    fn drop_moved(&mut self, has_run: impl Fn(i32) -> bool) {
        let KeptTasks { families, tasks, leaders, told, .. } = self;
        let told: FxHashMap<i32, &abi::cpuledger_process> =
            told.iter().filter(|process| process.threads > 1).map(|process| (process.pid, process)).collect();
        let (mut from, mut to) = (0, 0);
        families.retain(|family| {
            let place = from..from + family.records;
            from = place.end;
            let leader = told.get(&family.pid).and_then(|process| leader_of(process, leaders).zip(Some(*process)));
            let Some((leader, process)) = leader.filter(|_| !has_run(family.pid)) else { return false };
            let is_same = (leader.start_time_ns, process.threads, process.live)
                == (family.start_time_ns, family.threads, family.live)
                // If it is frozen in its sleep, so may others be.
                && (leader.state, leader.exit_state) == (tasks[place.start].state, tasks[place.start].exit_state);
            if is_same {
                if place.start != to {
                    tasks.copy_within(place.clone(), to);
                }
                to += family.records;
            }
            is_same
        });
        tasks.truncate(to);
    }

    /// Begins a listing with the families that are kept.
    fn list_kept(&mut self) {
        let KeptTasks { families, tasks, processes, leaders, told, .. } = self;
        let told: FxHashMap<i32, &abi::cpuledger_process> =
            told.iter().map(|process| (process.pid, process)).collect();
        processes.clear();
        let mut begin = 0;
        for family in families {
            let process = told[&family.pid];
            if let Some(leader) = leader_of(process, leaders) {
                tasks[begin] = *leader;
            }
            processes.push(abi::cpuledger_process { task_index: begin as u32, ..*process });
            begin += family.records;
        }
    }

    /// Adds all others to the listing, and visits the threads of those that have several. Returns when the last walk has ended; `None`:
    /// they are too many.
    fn visit_others(&mut self, walker: &mut Walker, request: &Request) -> Result<Option<u64>, Error> {
        let KeptTasks { families, tasks, processes, leaders, told, .. } = self;
        let kept = pids_of(families);
        let all: usize = told.iter().map(|process| process.threads as usize).sum();
        let is_alone =
            |process: &abi::cpuledger_process| process.threads > 1 || leader_of(process, leaders).is_none();
        let others = || told.iter().filter(|process| !kept.contains(&process.pid));
        let alone: Vec<&abi::cpuledger_process> = others().filter(|process| is_alone(process)).collect();
        let visits: usize = alone.iter().map(|process| process.threads as usize).sum();
        if visits > all / SHARE_OF_ALL || alone.len() > MOST_ALONE {
            return Ok(None);
        }
        for process in others() {
            if let Some(leader) = leader_of(process, leaders).filter(|_| !is_alone(process)) {
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

    /// Whether a thread that is kept has run since then, or may have.
    fn have_run(&self, totals: &mut Totals, since: Option<&Moment>) -> Result<bool, Error> {
        let kept = pids_of(&self.families);
        let seen = totals.look(since, |pid| kept.contains(&pid))?;
        Ok(seen.and_then(|seen| seen.ran).is_none_or(|ran| !ran.is_empty()))
    }

    /// How many tasks of the listing are runnable, or on a CPU.
    fn runnable(&self) -> u32 {
        let kept = self.processes[..self.families.len()].iter().map(|process| process.task_index as usize);
        let others = self.families.iter().map(|family| family.records).sum();
        let fresh = kept.chain(others..self.tasks.len()).map(|index| &self.tasks[index]);
        fresh.filter(|task| task.state == 0 && task.exit_state == 0).count() as u32
    }

    /// Keeps the families of a walk over all threads, which came after that over the leaders: if a thread came or went in between, the
    /// family is not kept.
    fn keep(&mut self, walked: &Walked<'_>) {
        let KeptTasks { families, tasks, leaders, told, .. } = self;
        let told: FxHashMap<i32, &abi::cpuledger_process> =
            told.iter().map(|process| (process.pid, process)).collect();
        families.clear();
        tasks.clear();
        let ends = walked.processes.iter().skip(1).map(|next| next.task_index as usize);
        for (process, end) in walked.processes.iter().zip(ends.chain([walked.tasks.len()])) {
            let before = told.get(&process.pid).filter(|_| process.threads > 1);
            let leader = before.and_then(|before| leader_of(before, leaders));
            let (Some(before), Some(leader)) = (before, leader) else { continue };
            let Some(records) = walked.tasks.get(process.task_index as usize..end) else { continue };
            let is_same = records.first().is_some_and(|first| first.start_time_ns == leader.start_time_ns)
                && (before.threads, before.live) == (process.threads, process.live)
                && records.iter().all(|task| task.pid == process.pid);
            if is_same {
                tasks.extend_from_slice(records);
                families.push(Family {
                    pid: process.pid,
                    start_time_ns: leader.start_time_ns,
                    threads: process.threads,
                    live: process.live,
                    records: records.len(),
                });
            }
        }
    }
}

fn pids_of(families: &[Family]) -> FxHashSet<i32> {
    families.iter().map(|family| family.pid).collect()
}

/// The record of the leader of a process.
fn leader_of<'a>(
    process: &abi::cpuledger_process,
    leaders: &'a [abi::cpuledger_task],
) -> Option<&'a abi::cpuledger_task> {
    leaders.get(process.task_index as usize).filter(|leader| leader.tid == process.pid)
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
