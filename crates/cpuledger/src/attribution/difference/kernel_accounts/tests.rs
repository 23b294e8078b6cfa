//! Against a kernel that keeps accounts, and knows what was used since the last cut.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::Index;

use cpuledger_model::account::Dead;
use cpuledger_model::make;

use super::*;
use crate::attribution::Parts;

/// Between two steps: more than an age in a report is rounded.
const STEP_NS: u64 = 10_000;
const FIRST_PID: i32 = 1;

#[derive(Debug, Clone, Default)]
struct Thread {
    start: u64,
    used: Used,
    ran: bool,
}

#[derive(Debug, Clone, Default)]
struct Process {
    parent: i32,
    threads: BTreeMap<i32, Thread>,
    dead: Dead,
    is_zombie: bool,
}

/// Self, exited threads and exited children, as they should be told.
type Expected = BTreeMap<i32, [u64; 3]>;

#[derive(Debug)]
struct World {
    now_ns: u64,
    next: i32,
    processes: BTreeMap<i32, Process>,
    /// What each task used since the last cut.
    since: BTreeMap<i32, u64>,
    /// Of those that are gone: of threads and of children.
    gone: Expected,
    accounts: KernelAccounts,
    last_ns: u64,
}

fn used(ns: u64) -> Used {
    make!(Used { runtime_ns: ns - ns / 10, user_ns: ns / 2, system_ns: ns / 4, stolen_ns: ns / 10 })
}

impl World {
    fn new() -> World {
        let mut world = World {
            now_ns: 1_000_000,
            next: FIRST_PID,
            processes: BTreeMap::new(),
            since: BTreeMap::new(),
            gone: BTreeMap::new(),
            accounts: KernelAccounts::default(),
            last_ns: 0,
        };
        world.fork(0);
        world
    }

    fn thread(&mut self) -> (i32, Thread) {
        let tid = self.next;
        self.next += 1;
        (tid, Thread { start: self.now_ns, used: Used::default(), ran: true })
    }

    fn fork(&mut self, parent: i32) -> i32 {
        let (pid, leader) = self.thread();
        let threads = BTreeMap::from([(pid, leader)]);
        self.processes.insert(pid, Process { parent, threads, ..Process::default() });
        pid
    }

    fn clone_thread(&mut self, pid: i32) -> i32 {
        let (tid, thread) = self.thread();
        self.processes.get_mut(&pid).expect("it lives").threads.insert(tid, thread);
        tid
    }

    fn run(&mut self, pid: i32, tid: i32, ns: u64) {
        let thread = self.processes.get_mut(&pid).and_then(|process| process.threads.get_mut(&tid));
        let thread = thread.expect("it lives");
        thread.used.add(&used(ns));
        thread.ran = true;
        *self.since.entry(tid).or_default() += used(ns).cpu_ns();
    }

    fn report(&mut self, pid: i32, tid: i32, is_last: bool) {
        let start = Boottime::from_ns(self.processes[&pid].threads[&tid].start);
        self.accounts.report([pid, tid], start, self.now_ns, is_last);
    }

    /// A thread that is not the leader is released.
    fn release_thread(&mut self, pid: i32, tid: i32) {
        let process = self.processes.get_mut(&pid).expect("it lives");
        let thread = process.threads.remove(&tid).expect("it lives");
        process.dead.threads.add(&thread.used);
        process.threads.get_mut(&pid).expect("a leader").ran = true;
        self.gone.entry(pid).or_default()[1] += self.since.remove(&tid).unwrap_or(0);
    }

    /// All of its threads die; it waits to be reaped.
    fn die(&mut self, pid: i32) {
        let mut tids: Vec<i32> =
            self.processes[&pid].threads.keys().copied().filter(|&tid| tid != pid).collect();
        self.run(pid, pid, 30);
        self.report(pid, pid, tids.is_empty());
        let last = tids.pop();
        for tid in tids {
            self.run(pid, tid, 20);
            self.report(pid, tid, false);
            self.release_thread(pid, tid);
        }
        if let Some(tid) = last {
            self.run(pid, tid, 10);
            self.report(pid, tid, true);
            self.release_thread(pid, tid);
        }
        self.processes.get_mut(&pid).expect("it lives").is_zombie = true;
    }

    fn reap(&mut self, pid: i32) {
        let process = self.processes.remove(&pid).expect("a zombie");
        let heir = process.parent;
        let mut left = process.dead.threads;
        left.add(&process.dead.children);
        left.add(&process.threads[&pid].used);
        for other in self.processes.values_mut().filter(|other| other.parent == pid) {
            other.parent = heir;
        }
        let to = self.processes.get_mut(&heir).expect("an heir lives");
        to.dead.children.add(&left);
        to.threads.get_mut(&heir).expect("a leader").ran = true;
        let own_ns = self.since.remove(&pid).unwrap_or(0)
            + self.gone.remove(&pid).unwrap_or_default().iter().sum::<u64>();
        self.gone.entry(heir).or_default()[2] += own_ns;
    }

    /// A thread takes the number of the leader, whose figures go on. What it had used is that of a dead thread. Nothing reports its own number.
    fn exec_by(&mut self, pid: i32, tid: i32) {
        self.report(pid, pid, false);
        let others: Vec<i32> = self.processes[&pid]
            .threads
            .keys()
            .copied()
            .filter(|other| ![pid, tid].contains(other))
            .collect();
        for other in others {
            self.report(pid, other, false);
            self.release_thread(pid, other);
        }
        self.release_thread(pid, tid);
    }

    fn told(&self, has_all: bool) -> Vec<Told> {
        let mut told = Vec::new();
        for (&pid, process) in &self.processes {
            let dead = make!(Dead { accounting_parent: process.parent as u32, ..process.dead });
            for (&tid, thread) in process.threads.iter().filter(|(_, thread)| has_all || thread.ran) {
                let start = Boottime::from_ns(thread.start);
                told.push(Told { tid, pid, start, place: tid as u32, used: thread.used, dead });
            }
        }
        told
    }

    fn expected(&mut self) -> Expected {
        let mut expected = std::mem::take(&mut self.gone);
        for (&pid, process) in &self.processes {
            let own_ns: u64 = process.threads.keys().filter_map(|tid| self.since.get(tid)).sum();
            expected.entry(pid).or_default()[0] += own_ns;
        }
        self.since.clear();
        expected.retain(|_, parts| *parts != [0; 3]);
        expected
    }

    /// What is told, and what should be.
    fn cut(&mut self, has_all: bool) -> (Expected, Expected) {
        self.now_ns += STEP_NS;
        let told = self.told(has_all || self.last_ns == 0);
        let has_all = has_all || self.last_ns == 0;
        let capacity_ns = self.since.values().sum::<u64>() + self.gone.values().flatten().sum::<u64>();
        let cut = AccountCut { told: &told, has_all, at_ns: self.now_ns, capacity_ns };
        let processes = &self.processes;
        let lives = |pid: i32, tid: i32| {
            processes.get(&pid).is_some_and(|process| process.threads.contains_key(&tid))
        };
        // To weigh a cut twice makes no difference.
        for _ in 0..2 {
            assert_eq!(self.accounts.weigh(&cut, lives), Fit { excess_ns: 0, lacking_ns: 0 });
        }
        let (mut shares, mut growth) = (Vec::new(), Vec::new());
        let is_first = self.last_ns == 0;
        self.accounts.close(&cut, &mut shares, &mut growth);
        self.last_ns = self.now_ns;
        self.now_ns += STEP_NS;
        for thread in self.processes.values_mut().flat_map(|process| process.threads.values_mut()) {
            thread.ran = false;
        }
        let parts = |share: &Share| {
            let Parts { self_ns, exited_threads_ns, exited_children_ns } = share.parts;
            [self_ns, exited_threads_ns, exited_children_ns]
        };
        let found =
            shares.iter().map(|share| (share.pid, parts(share))).filter(|(_, parts)| *parts != [0; 3]);
        let (found, expected) = (found.collect(), self.expected());
        if is_first { (found, Expected::new()) } else { (found, expected) }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Fork(Index),
    Clone(Index),
    Run(Index, u64),
    EndThread(Index),
    Exec(Index),
    Die(Index),
    Reap(Index),
    Cut(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let any = any::<Index>;
    let step = prop_oneof![
        3 => any().prop_map(Step::Fork),
        3 => any().prop_map(Step::Clone),
        6 => (any(), 10u64..1_000).prop_map(|(who, tens)| Step::Run(who, tens * 10)),
        2 => any().prop_map(Step::EndThread),
        1 => any().prop_map(Step::Exec),
        2 => any().prop_map(Step::Die),
        2 => any().prop_map(Step::Reap),
        3 => prop::bool::weighted(0.1).prop_map(Step::Cut),
    ];
    prop::collection::vec(step, 1..200)
}

impl World {
    /// Tasks of living processes.
    fn tasks(&self) -> Vec<(i32, i32)> {
        let living = self.processes.iter().filter(|(_, process)| !process.is_zombie);
        living.flat_map(|(&pid, process)| process.threads.keys().map(move |&tid| (pid, tid))).collect()
    }

    fn threads(&self) -> Vec<(i32, i32)> {
        self.tasks().into_iter().filter(|(pid, tid)| pid != tid).collect()
    }

    fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
        self.now_ns += STEP_NS;
        let (tasks, threads) = (self.tasks(), self.threads());
        let pids: BTreeSet<i32> = tasks.iter().map(|(pid, _)| *pid).collect();
        let pids: Vec<i32> = pids.into_iter().collect();
        let zombies: Vec<i32> =
            self.processes.keys().copied().filter(|pid| self.processes[pid].is_zombie).collect();
        match step {
            Step::Fork(who) => drop(self.fork(*who.get(&pids))),
            Step::Clone(who) => drop(self.clone_thread(*who.get(&pids))),
            Step::Run(who, ns) => {
                let (pid, tid) = *who.get(&tasks);
                self.run(pid, tid, ns);
            }
            Step::EndThread(who) if !threads.is_empty() => {
                let (pid, tid) = *who.get(&threads);
                self.run(pid, tid, 40);
                self.report(pid, tid, false);
                self.release_thread(pid, tid);
            }
            Step::Exec(who) if !threads.is_empty() => {
                let (pid, tid) = *who.get(&threads);
                self.exec_by(pid, tid);
            }
            Step::Die(who) if *who.get(&pids) != FIRST_PID => self.die(*who.get(&pids)),
            Step::Reap(who) if !zombies.is_empty() => self.reap(*who.get(&zombies)),
            Step::Cut(has_all) => {
                let (found, expected) = self.cut(has_all);
                prop_assert_eq!(found, expected);
            }
            Step::EndThread(_) | Step::Exec(_) | Step::Die(_) | Step::Reap(_) => {}
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn shares_are_what_was_used(steps in steps()) {
        let mut world = World::new();
        for step in steps.into_iter().chain([Step::Cut(false), Step::Cut(true)]) {
            world.take(step)?;
        }
        // What has died is forgotten.
        let lives: usize = world.processes.values().map(|process| process.threads.len()).sum();
        prop_assert_eq!((world.accounts.tasks(), world.accounts.processes.len()), (lives, world.processes.len()));
        let zombies = world.processes.values().filter(|process| process.is_zombie).count();
        prop_assert!(world.accounts.dying() <= zombies);
    }
}

#[test]
fn sleepers_have_no_share_and_are_not_forgotten() {
    let mut world = World::new();
    let sleeper = world.fork(FIRST_PID);
    world.run(sleeper, sleeper, 1_000);
    world.cut(false);
    for _ in 0..3 {
        world.run(FIRST_PID, FIRST_PID, 10);
        let (found, expected) = world.cut(false);
        assert_eq!((found.keys().copied().collect::<Vec<_>>(), found.clone()), (vec![FIRST_PID], expected));
    }
    // It had 1,000 ns before: its heir gets only what is new.
    world.die(sleeper);
    world.reap(sleeper);
    assert_eq!(world.cut(false).0, Expected::from([(FIRST_PID, [0, 0, used(30).cpu_ns()])]));
}

#[test]
fn a_zombie_is_its_own_until_it_is_reaped() {
    let mut world = World::new();
    let (parent, child) = (world.fork(FIRST_PID), world.fork(FIRST_PID));
    world.run(child, child, 500);
    world.cut(false);
    world.die(child);
    assert_eq!(world.cut(false).0[&child], [used(30).cpu_ns(), 0, 0]);
    world.run(parent, parent, 100);
    assert!(!world.cut(false).0.contains_key(&child));
    world.reap(child);
    world.run(FIRST_PID, FIRST_PID, 100);
    let (found, expected) = world.cut(false);
    assert_eq!((found[&FIRST_PID], found.clone()), ([used(100).cpu_ns(), 0, 0], expected));
}

/// A cut of one process, whose other records are of the same instant.
fn alone(pid: i32, ns: u64, children_ns: u64) -> Told {
    let dead = make!(Dead { accounting_parent: 0, threads: Used::default(), children: used(children_ns) });
    Told { tid: pid, pid, start: Boottime::from_ns(1), place: 0, used: used(ns), dead }
}

#[test]
fn a_process_that_dies_after_the_cut_stays_in_it() {
    let child = Told { dead: make!(Dead { accounting_parent: 1 }), ..alone(2, 70_000, 0) };
    let mut accounts = KernelAccounts::default();
    let (mut shares, mut growth) = (Vec::new(), Vec::new());
    let mut close = |accounts: &mut KernelAccounts, told: &[Told], at_ns: u64, has_all: bool| {
        let cut = AccountCut { told, has_all, at_ns, capacity_ns: 0 };
        let fit = accounts.weigh(&cut, |_, _| false);
        accounts.close(&cut, &mut shares, &mut growth);
        let parts: Vec<(i32, u64, u64)> = shares
            .iter()
            .map(|share| (share.pid, share.parts.self_ns, share.parts.exited_children_ns))
            .collect();
        (fit.lacking_ns, parts)
    };
    close(&mut accounts, &[alone(1, 0, 0), child], 1_000_000, true);
    // It slept, woke up after the cut, and is gone: the heir has nothing of it yet.
    accounts.report([2, 2], child.start, 2_000_500, true);
    assert_eq!(close(&mut accounts, &[alone(1, 10, 0)], 2_000_000, false), (0, vec![(1, 10, 0)]));
    assert!(accounts.start_of(2).is_some());
    // Now it has: of that, 70,000 ns were told before.
    assert_eq!(close(&mut accounts, &[alone(1, 20, 70_100)], 3_000_000, false).1, [(1, 10, 100)]);
    assert_eq!(accounts.start_of(2), None);
}

#[test]
fn a_process_that_is_born_and_dies_after_the_cut_is_in_the_next() {
    let child =
        Told { start: Boottime::from_ns(9), dead: make!(Dead { accounting_parent: 1 }), ..alone(2, 700, 0) };
    let mut accounts = KernelAccounts::default();
    let (mut shares, mut growth) = (Vec::new(), Vec::new());
    let mut close = |accounts: &mut KernelAccounts, told: &[Told], at_ns: u64, lives: bool| {
        let cut = AccountCut { told, has_all: at_ns == 1_000_000, at_ns, capacity_ns: 0 };
        accounts.weigh(&cut, |_, _| lives);
        accounts.close(&cut, &mut shares, &mut growth);
        shares.iter().map(|share| share.parts.total_ns()).sum::<u64>()
    };
    close(&mut accounts, &[alone(1, 0, 0)], 1_000_000, true);
    accounts.report([2, 2], child.start, 2_500_000, true);
    assert_eq!(close(&mut accounts, &[alone(1, 10, 0)], 2_000_000, true), 10);
    // It is a zombie.
    assert_eq!(close(&mut accounts, &[alone(1, 20, 0), child], 3_000_000, true), 710);
    assert_eq!(close(&mut accounts, &[alone(1, 30, 700)], 4_000_000, false), 10);
    assert_eq!((accounts.tasks(), accounts.dying()), (1, 0));
}

#[test]
fn an_heir_that_was_read_too_early_owes_until_the_next_cut() {
    let child = Told { dead: make!(Dead { accounting_parent: 1 }), ..alone(2, 70_000, 0) };
    let mut accounts = KernelAccounts::default();
    let (mut shares, mut growth) = (Vec::new(), Vec::new());
    let mut close = |accounts: &mut KernelAccounts, told: &[Told], at_ns: u64, has_all: bool| {
        let cut = AccountCut { told, has_all, at_ns, capacity_ns: 0 };
        let fit = accounts.weigh(&cut, |_, _| false);
        accounts.close(&cut, &mut shares, &mut growth);
        let parts = shares.first().map_or(Parts::default(), |share| share.parts);
        (fit.lacking_ns, parts.self_ns, parts.exited_children_ns)
    };
    close(&mut accounts, &[alone(1, 0, 0), child], 1_000_000, true);
    accounts.report([2, 2], child.start, 1_500_000, true);
    // It was released after the record of its heir was read, and before its own would have been. Its own time of the heir is not touched.
    assert_eq!(close(&mut accounts, &[alone(1, 10, 0)], 2_000_000, false), (70_000, 10, 0));
    assert_eq!(close(&mut accounts, &[alone(1, 20, 70_100)], 3_000_000, false), (0, 10, 100));
    assert_eq!(close(&mut accounts, &[alone(1, 30, 70_100)], 4_000_000, false), (0, 10, 0));
}

#[test]
fn a_zombie_whose_report_was_lost_leaves_its_time_once() {
    let mut world = World::new();
    let child = world.fork(FIRST_PID);
    world.run(child, child, 5_000);
    world.die(child);
    world.accounts.dying.clear();
    world.cut(true);
    let start = Boottime::from_ns(world.processes[&child].threads[&child].start);
    world.accounts.note_zombie(child, start);
    world.reap(child);
    let (found, expected) = world.cut(false);
    assert_eq!((found, world.accounts.tasks()), (expected, 1));
}

/// Its heir got more from others than it had, so it would fit twice.
#[test]
fn a_zombie_that_was_found_and_reported_leaves_its_time_once() {
    let of_first = make!(Dead { accounting_parent: 1 });
    let zombie = Told { dead: of_first, ..alone(2, 10_000, 0) };
    let mut accounts = KernelAccounts::default();
    let (mut shares, mut growth) = (Vec::new(), Vec::new());
    accounts.note_zombie(2, zombie.start);
    accounts.report([2, 3], Boottime::from_ns(5), 2_500_000, true);
    let cuts: [(&[Told], u64); 2] =
        [(&[alone(1, 0, 0), zombie], 1_000_000), (&[alone(1, 0, 70_000)], 2_000_000)];
    for (told, at_ns) in cuts {
        let cut = AccountCut { told, has_all: at_ns == 1_000_000, at_ns, capacity_ns: 60_000 };
        assert_eq!(accounts.weigh(&cut, |_, _| false), Fit { excess_ns: 0, lacking_ns: 0 });
        accounts.close(&cut, &mut shares, &mut growth);
    }
}

#[test]
fn a_thread_that_execs_and_dies_as_a_zombie_leaves_its_time_once() {
    let mut world = World::new();
    let pid = world.fork(FIRST_PID);
    let tid = world.clone_thread(pid);
    world.run(pid, tid, 5_000);
    world.cut(false);
    world.now_ns += STEP_NS;
    world.exec_by(pid, tid);
    world.die(pid);
    let (found, expected) = world.cut(false);
    assert_eq!((found, world.accounts.tasks()), (expected, 2));
}

/// The thread used more between the cut and its exec than before, so what it had would fit twice.
#[test]
fn a_thread_that_execs_leaves_its_time_once_where_a_cut_has_all() {
    let mut world = World::new();
    let pid = world.fork(FIRST_PID);
    let tid = world.clone_thread(pid);
    world.run(pid, tid, 1_000);
    world.cut(true);
    world.run(pid, tid, 4_000);
    world.now_ns += STEP_NS;
    world.exec_by(pid, tid);
    let (found, expected) = world.cut(true);
    assert_eq!((found, world.accounts.tasks()), (expected, 2));
}

#[test]
fn zombies_below_a_zombie_that_is_reaped_leave_their_time_once() {
    let mut world = World::new();
    let above = world.fork(FIRST_PID);
    let below = world.fork(above);
    [below, above].into_iter().for_each(|pid| world.die(pid));
    world.cut(false);
    [below, above].into_iter().for_each(|pid| world.reap(pid));
    world.run(FIRST_PID, FIRST_PID, 100);
    let (found, expected) = world.cut(false);
    assert_eq!((found, world.accounts.dying()), (expected, 0));
}

#[test]
fn short_lives_are_forgotten_and_zombies_are_not() {
    let mut world = World::new();
    world.cut(false);
    let (zombie, gone) = (world.fork(FIRST_PID), world.fork(FIRST_PID));
    [zombie, gone].into_iter().for_each(|pid| world.die(pid));
    world.reap(gone);
    assert_eq!(world.accounts.dying(), 2);
    world.accounts.forget_short_lived(|pid, _| pid == zombie);
    assert_eq!(world.accounts.dying(), 1);
    let (found, expected) = world.cut(false);
    assert_eq!(found, expected);
    world.reap(zombie);
    let (found, expected) = world.cut(false);
    assert_eq!((found, world.accounts.dying()), (expected, 0));
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let of_first = make!(Dead { accounting_parent: 1 });
    let (old, young) = (
        Told { dead: of_first, ..alone(2, 70_000, 0) },
        Told { start: Boottime::from_ns(9), dead: of_first, ..alone(2, 300, 0) },
    );
    let mut accounts = KernelAccounts::default();
    let (mut shares, mut growth) = (Vec::new(), Vec::new());
    for (told, at_ns, has_all) in
        [([alone(1, 0, 0), old], 1_000_000, true), ([alone(1, 0, 70_100), young], 2_000_000, false)]
    {
        let cut = AccountCut { told: &told, has_all, at_ns, capacity_ns: 400 };
        assert_eq!(accounts.weigh(&cut, |_, _| true), Fit { excess_ns: 0, lacking_ns: 0 });
        accounts.close(&cut, &mut shares, &mut growth);
    }
    let parts: Vec<(u64, u64)> =
        shares.iter().map(|share| (share.parts.self_ns, share.parts.exited_children_ns)).collect();
    assert_eq!(parts, [(0, 100), (300, 0)]);
}

/// Its heir got more from others than it had, so it would fit twice.
#[test]
fn a_zombie_whose_number_is_used_again_leaves_its_time_once() {
    let of_first = make!(Dead { accounting_parent: 1 });
    let old = Told { dead: of_first, ..alone(2, 10_000, 0) };
    let young = Told { start: Boottime::from_ns(9), dead: of_first, ..alone(2, 300, 0) };
    let mut accounts = KernelAccounts::default();
    let (mut shares, mut growth) = (Vec::new(), Vec::new());
    accounts.note_zombie(2, old.start);
    for (told, at_ns, has_all) in
        [([alone(1, 0, 0), old], 1_000_000, true), ([alone(1, 0, 70_000), young], 2_000_000, false)]
    {
        let cut = AccountCut { told: &told, has_all, at_ns, capacity_ns: 60_300 };
        assert_eq!(accounts.weigh(&cut, |_, _| false), Fit { excess_ns: 0, lacking_ns: 0 });
        accounts.close(&cut, &mut shares, &mut growth);
    }
}
