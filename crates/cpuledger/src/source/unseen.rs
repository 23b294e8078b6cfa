//! Tasks that the kernel hides from programs: found by counting, and fetched from /proc.
//!
//! # How they are found
//!
//! Some hosts hide tasks of their own from BPF programs; /proc shows them. `source/unseen.rs` finds them without reading /proc at each listing.
//!
//! - **Two counts.** The kernel counts its tasks, and each process its threads. If /proc/loadavg has the same number of tasks and the same last tid
//!   before and after a walk, no task came or went meanwhile. Then the difference to what the walk saw is what is hidden. A walk of all
//!   leaders takes some 20 µs, so this nearly always holds, and `Walk::open_whole` makes one anyway to see what the kernel does not have. If no task
//!   is hidden, it costs two reads of /proc/loadavg. (`procs` of sysinfo(2) is the same number in 16 bits.)
//! - **Cheapest first.** The search begins with process 1. Then it looks at parents that rows name and that have no row. It lists /proc, for which
//!   the kernel visits each task, only if the sum is still wrong, or if tasks came and went in three brackets in a row.
//! - **A thread** is missing if a process counts more threads than were visited. Then its directory is listed.
//! - **The rows** are those of the source `procfs`, so that the kernel decides what the caller may see (hidepid). What no file says is unknown,
//!   starts are in ticks, and `from_procfs` names their tids.
//! - A source that is kept, as for `top --all`, counts around each walk, and searches when the sum is wrong.
//!
//! User and system time follow the kernel's rule (`cputime_adjust`): the exact runtime divided in the proportion of the sampled
//! ticks, never below what the kernel has already shown. RSS is summed over CPUs like /proc/PID/status since 6.16. The
//! kernel's own /proc/PID/stat shows only the global part. For each CPU and counter that is off by up to 32 pages, or by twice the number of
//! CPUs if that is more.

use std::fs::File;
use std::os::unix::fs::FileExt;

use cpuledger_bpf::{Walked, abi};
use cpuledger_model::field::FieldSet;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::task::Pid;
use cpuledger_proc::machine::loadavg::parse_loadavg;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Error;
use crate::source::procfs::Procfs;

/// A bracket in which tasks came or went says nothing; after this many in a row the list of /proc decides.
const ATTEMPTS: u32 = 3;

/// What /proc/loadavg tells: all of it changes with each task that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    /// Tasks of the machine. `procs` of sysinfo(2) is the same number, but in 16 bits.
    tasks: u32,
    /// The tid that was given last: if it is still the same, no task has come, and if `tasks` is too, none has gone.
    last_tid: u32,
}

impl Count {
    /// By the text of the file.
    fn of(loadavg: &str) -> Option<Count> {
        let load = parse_loadavg(loadavg)?;
        Some(Count { tasks: load.tasks?, last_tid: load.last_tid? })
    }
}

/// A process as a walk saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leader {
    pid: i32,
    ppid: i32,
    /// By the count of the process itself, whether they were seen or not.
    threads: u32,
}

impl Leader {
    /// Of a record.
    pub(super) fn of(process: &abi::cpuledger_process) -> Leader {
        Leader { pid: process.pid, ppid: process.ppid, threads: process.threads }
    }
}

/// What /proc is asked.
pub(super) trait Proc {
    /// `None` where the kernel does not tell.
    fn count(&mut self) -> Option<Count>;

    /// How many threads a process has; `None` where there is none that the caller may see.
    fn threads(&mut self, pid: i32) -> Result<Option<u32>, Error>;

    /// Every process that the caller may see.
    fn pids(&mut self) -> Result<Vec<i32>, Error>;

    /// Appends a process, with its tasks where the scope has some.
    fn add_process(&mut self, pid: i32, request: &Request, into: &mut Snapshot) -> Result<(), Error>;

    /// Appends the tasks of a process that were not seen.
    fn add_tasks_but(
        &mut self,
        pid: i32,
        seen: &FxHashSet<i32>,
        fields: FieldSet,
        into: &mut Snapshot,
    ) -> Result<(), Error>;
}

/// The files of /proc, opened when they are first needed.
#[derive(Default)]
pub(super) struct Files {
    loadavg: Option<File>,
    procfs: Option<Procfs>,
}

impl Files {
    fn procfs(&mut self) -> Result<&mut Procfs, Error> {
        if self.procfs.is_none() {
            self.procfs = Some(Procfs::open()?);
        }
        Ok(self.procfs.as_mut().expect("it was just opened"))
    }
}

impl Proc for Files {
    fn count(&mut self) -> Option<Count> {
        if self.loadavg.is_none() {
            self.loadavg = File::open("/proc/loadavg").ok();
        }
        let mut line = [0; 128];
        let length = self.loadavg.as_ref()?.read_at(&mut line, 0).ok()?;
        Count::of(std::str::from_utf8(&line[..length]).ok()?)
    }

    fn threads(&mut self, pid: i32) -> Result<Option<u32>, Error> {
        Ok(self.procfs()?.process(Pid(pid), FieldSet::EMPTY)?.map(|row| row.threads))
    }

    fn pids(&mut self) -> Result<Vec<i32>, Error> {
        self.procfs()?.processes()
    }

    fn add_process(&mut self, pid: i32, request: &Request, into: &mut Snapshot) -> Result<(), Error> {
        self.procfs()?.add_process(Pid(pid), request, into)
    }

    fn add_tasks_but(
        &mut self,
        pid: i32,
        seen: &FxHashSet<i32>,
        fields: FieldSet,
        into: &mut Snapshot,
    ) -> Result<(), Error> {
        self.procfs()?.add_tasks_but(Pid(pid), seen, fields, into)
    }
}

/// The tasks that are missing from walks.
pub(super) struct Unseen<P = Files> {
    proc: P,
    /// Processes that are kept from programs, as of the last census.
    pids: Vec<Pid>,
    /// Whether nothing was asked since the census.
    is_fresh: bool,
}

impl Unseen<Files> {
    /// No search has been made yet; a procfs that is already open is used.
    pub(super) fn new(procfs: Option<Procfs>) -> Unseen {
        Unseen::with(Files { procfs, loadavg: None })
    }
}

impl<P: Proc> Unseen<P> {
    fn with(proc: P) -> Unseen<P> {
        Unseen { proc, pids: Vec::new(), is_fresh: false }
    }

    /// The processes that were missing at the last census.
    pub(super) fn pids(&self) -> &[Pid] {
        &self.pids
    }

    /// Tasks now, for the bracket of a walk.
    pub(super) fn count(&mut self) -> Option<Count> {
        self.proc.count()
    }

    /// Whether a census was just taken; it is used up by asking.
    pub(super) fn take_fresh(&mut self) -> bool {
        std::mem::take(&mut self.is_fresh)
    }

    /// Finds the processes that are missing. `walk` appends every process that it sees, and returns what the kernel lacks, as this does.
    ///
    /// # Errors
    /// Those of the walk, and those of /proc that are not about a process.
    pub(super) fn take_census(
        &mut self,
        walk: &mut dyn FnMut(&mut Vec<Leader>) -> Result<u32, Error>,
    ) -> Result<u32, Error> {
        let mut leaders = Vec::new();
        self.is_fresh = true;
        for _ in 0..ATTEMPTS {
            leaders.clear();
            let before = self.proc.count();
            let lacks = walk(&mut leaders)?;
            let after = self.proc.count();
            if self.find(&leaders, before, after)? {
                return Ok(lacks);
            }
        }
        let pids = self.proc.pids()?;
        // A task that is younger than the walk before is seen by the one after.
        let lacks = walk(&mut leaders)?;
        let seen: FxHashSet<i32> = leaders.iter().map(|leader| leader.pid).collect();
        self.pids = pids.into_iter().filter(|pid| !seen.contains(pid)).map(Pid).collect();
        Ok(lacks)
    }

    /// Whether all that the bracket counted was found, the likeliest first.
    fn find(
        &mut self,
        leaders: &[Leader],
        before: Option<Count>,
        after: Option<Count>,
    ) -> Result<bool, Error> {
        let mut found: u32 = leaders.iter().map(|leader| leader.threads).sum();
        let is_all = |found: u32| before == after && before.is_some_and(|count| count.tasks == found);
        self.pids.clear();
        if is_all(found) {
            return Ok(true);
        }
        if leaders.iter().all(|leader| leader.pid != INIT) {
            found += self.add_if_there(INIT)?;
            if is_all(found) {
                return Ok(true);
            }
        }
        if before != after {
            return Ok(false);
        }
        let mut known: FxHashSet<i32> = leaders.iter().map(|leader| leader.pid).collect();
        known.extend([0, INIT]);
        for leader in leaders {
            if known.insert(leader.ppid) {
                found += self.add_if_there(leader.ppid)?;
            }
        }
        Ok(is_all(found))
    }

    /// Takes that process for missing, if it is there; its threads.
    fn add_if_there(&mut self, pid: i32) -> Result<u32, Error> {
        let threads = self.proc.threads(pid)?;
        self.pids.extend(threads.map(|_| Pid(pid)));
        Ok(threads.unwrap_or(0))
    }

    /// Fetches what is known to be missing from a walk, into an empty snapshot, in the order of pids, threads of processes that were seen included.
    /// Answers whether nothing else is, by the counts before and after it.
    ///
    /// # Errors
    /// Those of /proc that are not about a process.
    pub(super) fn fetch(
        &mut self,
        request: &Request,
        walked: &Walked<'_>,
        bracket: [Option<Count>; 2],
        into: &mut Snapshot,
    ) -> Result<bool, Error> {
        let is_all = self.fetch_rows(request, walked, bracket, into)?;
        into.mark_from_procfs([0, 0]);
        Ok(is_all)
    }

    fn fetch_rows(
        &mut self,
        request: &Request,
        walked: &Walked<'_>,
        bracket: [Option<Count>; 2],
        into: &mut Snapshot,
    ) -> Result<bool, Error> {
        if let Scope::Process(pid) = request.scope {
            match walked.processes.iter().find(|process| process.pid == pid.0) {
                None => self.proc.add_process(pid.0, request, into)?,
                Some(process) => self.fetch_tasks(walked, Some(process), request.fields, into)?,
            }
            return Ok(true);
        }
        for index in 0..self.pids.len() {
            let pid = self.pids[index].0;
            if walked.processes.iter().all(|process| process.pid != pid) {
                self.proc.add_process(pid, request, into)?;
            }
        }
        let [before, after] = bracket;
        let has_tasks = request.scope == Scope::Tasks;
        let seen = if has_tasks {
            walked.tasks.len() as u32
        } else {
            walked.processes.iter().map(|process| process.threads).sum()
        };
        let is_all = |into: &Snapshot| {
            let fetched: u32 = if has_tasks {
                into.tasks.len() as u32
            } else {
                into.processes.iter().map(|row| row.threads).sum()
            };
            before == after && before.is_some_and(|count| count.tasks == seen + fetched)
        };
        if is_all(into) {
            return Ok(true);
        }
        if has_tasks {
            self.fetch_tasks(walked, None, request.fields, into)?;
            into.tasks.sort_by_key(|row| (row.pid, !row.is_leader()));
        }
        Ok(is_all(into))
    }

    /// Fetches the threads that one process, or each, has by its own count and not in the records.
    fn fetch_tasks(
        &mut self,
        walked: &Walked<'_>,
        only: Option<&abi::cpuledger_process>,
        fields: FieldSet,
        into: &mut Snapshot,
    ) -> Result<(), Error> {
        let mut seen: FxHashMap<i32, u32> = FxHashMap::default();
        // In most walks the threads of a process stand together: then it is looked up once, not for each of them.
        for together in walked.tasks.chunk_by(|one, next| one.pid == next.pid) {
            *seen.entry(together[0].pid).or_default() += together.len() as u32;
        }
        for process in only.map_or(walked.processes, std::slice::from_ref) {
            if seen.get(&process.pid).is_none_or(|&seen| seen < process.threads) {
                let of_it = walked.tasks.iter().filter(|task| task.pid == process.pid);
                let tids: FxHashSet<i32> = of_it.map(|task| task.tid).collect();
                self.proc.add_tasks_but(process.pid, &tids, fields, into)?;
            }
        }
        Ok(())
    }

    /// Adds to a snapshot of a walk the tasks that were found since, by a census after it.
    ///
    /// # Errors
    /// Those of /proc that are not about a process.
    pub(super) fn add_to(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Error> {
        let first = [into.processes.len(), into.tasks.len()];
        for pid in &self.pids {
            // Few are missing: to search for each takes less than to remember all.
            if into.processes[..first[0]].iter().all(|row| row.pid != *pid) {
                self.proc.add_process(pid.0, request, into)?;
            }
        }
        into.mark_from_procfs(first);
        if into.processes.len() > first[0] {
            into.processes.sort_by_key(|row| row.pid);
            into.tasks.sort_by_key(|row| (row.pid, !row.is_leader()));
        }
        Ok(())
    }
}

/// The first process of the machine.
const INIT: i32 = 1;

#[cfg(test)]
mod tests {
    use cpuledger_bpf::Mechanism;
    use cpuledger_model::make;

    use super::*;
    use cpuledger_model::task::{Task, Tid};

    /// A machine: its processes with their parents and tids, and how often each thing was asked.
    #[derive(Default)]
    struct Machine {
        processes: Vec<(i32, i32, Vec<i32>)>,
        /// Each count is another, as on a machine where tasks come and go.
        is_busy: bool,
        last_tid: u32,
        lists: u32,
        asked: Vec<i32>,
    }

    impl Machine {
        fn new(processes: &[(i32, i32, &[i32])]) -> Machine {
            let processes = processes.iter().map(|(pid, ppid, tids)| (*pid, *ppid, tids.to_vec())).collect();
            Machine { processes, ..Machine::default() }
        }

        fn row(pid: i32, tid: i32, threads: usize) -> Task {
            make!(Task { pid: Pid(pid), tid: Tid(tid), threads: threads as u32 })
        }
    }

    impl Proc for Machine {
        fn count(&mut self) -> Option<Count> {
            self.last_tid += u32::from(self.is_busy);
            let tasks = self.processes.iter().map(|(.., tids)| tids.len() as u32).sum();
            Some(Count { tasks, last_tid: self.last_tid })
        }

        fn threads(&mut self, pid: i32) -> Result<Option<u32>, Error> {
            self.asked.push(pid);
            let found = self.processes.iter().find(|(there, ..)| *there == pid);
            Ok(found.map(|(.., tids)| tids.len() as u32))
        }

        fn pids(&mut self) -> Result<Vec<i32>, Error> {
            self.lists += 1;
            Ok(self.processes.iter().map(|(pid, ..)| *pid).collect())
        }

        fn add_process(&mut self, pid: i32, request: &Request, into: &mut Snapshot) -> Result<(), Error> {
            for (pid, _, tids) in self.processes.iter().filter(|(there, ..)| *there == pid) {
                into.processes.push(Machine::row(*pid, *pid, tids.len()));
                let tids = tids.iter().filter(|_| request.scope.has_tasks());
                into.tasks.extend(tids.clone().map(|tid| Machine::row(*pid, *tid, tids.clone().count())));
            }
            Ok(())
        }

        fn add_tasks_but(
            &mut self,
            pid: i32,
            seen: &FxHashSet<i32>,
            _: FieldSet,
            into: &mut Snapshot,
        ) -> Result<(), Error> {
            for (pid, _, tids) in self.processes.iter().filter(|(there, ..)| *there == pid) {
                let unseen = tids.iter().filter(|tid| !seen.contains(tid));
                into.tasks.extend(unseen.map(|tid| Machine::row(*pid, *tid, tids.len())));
            }
            Ok(())
        }
    }

    /// A walk of a machine that shows all its tasks but these.
    fn walk_without(
        machine: &Machine,
        hidden: &[i32],
    ) -> (Vec<abi::cpuledger_process>, Vec<abi::cpuledger_task>) {
        let (mut processes, mut tasks) = (Vec::new(), Vec::new());
        for (pid, ppid, tids) in machine.processes.iter().filter(|(pid, ..)| !hidden.contains(pid)) {
            processes.push(abi::cpuledger_process {
                pid: *pid,
                ppid: *ppid,
                threads: tids.len() as u32,
                task_index: tasks.len() as u32,
                ..Default::default()
            });
            let shown = tids.iter().filter(|tid| !hidden.contains(tid));
            tasks.extend(shown.map(|&tid| abi::cpuledger_task { pid: *pid, tid, ..Default::default() }));
        }
        (processes, tasks)
    }

    /// What a census finds that is taken by such walks.
    fn census(machine: Machine, hidden: &[i32]) -> Unseen<Machine> {
        let (processes, _) = walk_without(&machine, hidden);
        let mut unseen = Unseen::with(machine);
        let mut walk = |leaders: &mut Vec<Leader>| {
            leaders.extend(processes.iter().map(Leader::of));
            Ok(0)
        };
        unseen.take_census(&mut walk).expect("nothing fails");
        unseen
    }

    /// The tids that are fetched for such a walk of all tasks, and whether all are there then.
    fn fetched(unseen: &mut Unseen<Machine>, hidden: &[i32]) -> (Vec<i32>, bool) {
        let (processes, tasks) = walk_without(&unseen.proc, hidden);
        let walked = Walked {
            tasks: &tasks,
            rests: &[],
            processes: &processes,
            begin_ns: 0,
            begin_boottime_ns: 0,
            end_ns: 0,
            lacks: 0,
            mechanism: Mechanism::OneCall,
        };
        let (mut rows, request) = (Snapshot::default(), Request::new(Scope::Tasks, FieldSet::EMPTY));
        let bracket = [unseen.count(), unseen.count()];
        let is_all = unseen.fetch(&request, &walked, bracket, &mut rows).expect("nothing fails");
        let tids: Vec<i32> = rows.tasks.iter().map(|row| row.tid.0).collect();
        assert_eq!(rows.from_procfs, tids.iter().copied().map(Tid).collect::<Vec<_>>());
        (tids, is_all)
    }

    #[test]
    fn two_counts_say_when_no_task_is_hidden() {
        let mut unseen = census(Machine::new(&[(1, 0, &[1]), (7, 1, &[7, 8])]), &[]);
        assert_eq!((unseen.pids(), unseen.proc.lists, unseen.proc.asked.len()), (&[][..], 0, 0));
        assert_eq!(fetched(&mut unseen, &[]), (vec![], true));
    }

    #[test]
    fn a_hidden_init_is_found_without_a_list() {
        let mut unseen = census(Machine::new(&[(1, 0, &[1, 4]), (7, 1, &[7, 8])]), &[1]);
        assert_eq!((unseen.pids(), unseen.proc.lists), (&[Pid(1)][..], 0));
        assert_eq!(fetched(&mut unseen, &[1]), (vec![1, 4], true));
    }

    #[test]
    fn a_hidden_parent_is_found_without_a_list() {
        let machine = Machine::new(&[(1, 0, &[1]), (5, 1, &[5]), (7, 5, &[7])]);
        let unseen = census(machine, &[5]);
        assert_eq!((unseen.pids(), unseen.proc.lists), (&[Pid(5)][..], 0));
    }

    #[test]
    fn a_hidden_process_without_children_is_found_in_the_list() {
        let machine = Machine::new(&[(1, 0, &[1]), (5, 1, &[5, 6]), (7, 1, &[7])]);
        let mut unseen = census(machine, &[5]);
        assert_eq!((unseen.pids(), unseen.proc.lists), (&[Pid(5)][..], 1));
        assert_eq!(fetched(&mut unseen, &[5]), (vec![5, 6], true));
        assert_eq!(fetched(&mut unseen, &[]), (vec![], true), "who is shown again is not there twice");
    }

    #[test]
    fn a_hidden_thread_is_missing_in_the_count_of_its_process() {
        let mut unseen = census(Machine::new(&[(1, 0, &[1]), (7, 1, &[7, 8, 9])]), &[]);
        assert_eq!(fetched(&mut unseen, &[8]), (vec![8], true));
    }

    #[test]
    fn a_hidden_task_is_found_in_the_list_while_others_come_and_go() {
        let machine = Machine { is_busy: true, ..Machine::new(&[(1, 0, &[1]), (5, 1, &[5]), (7, 1, &[7])]) };
        let mut unseen = census(machine, &[1, 5]);
        assert_eq!((unseen.pids(), unseen.proc.lists), (&[Pid(1), Pid(5)][..], 1));
        assert_eq!(
            fetched(&mut unseen, &[1, 5]),
            (vec![1, 5], false),
            "it is not known yet whether it is all"
        );
    }

    #[test]
    fn a_task_that_left_the_list_is_not_missing() {
        let mut unseen = census(Machine::new(&[(1, 0, &[1]), (7, 1, &[7])]), &[1]);
        unseen.proc.processes.remove(0);
        assert_eq!(fetched(&mut unseen, &[]), (vec![], true));
    }

    #[test]
    fn counts_are_read_from_loadavg() {
        let count = Count::of("0.54 80.53 265.92 1/89 2188521\n");
        assert_eq!(count, Some(Count { tasks: 89, last_tid: 2_188_521 }));
        assert_eq!((Count::of(""), Count::of("0.5 0.5 0.5 1 7")), (None, None));
        let mut files = Files::default();
        assert!(files.count().is_some_and(|count| count.tasks > 0));
    }
}
