//! The source netlink against the walk, and its listener when more die than it is read for. Needs root.

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use cpuledger::attribution::difference::CutFacts;
use cpuledger::interval::Interval;
use cpuledger::source::netlink::Netlink;
use cpuledger::source::walk::Walk;
use cpuledger::source::{Exits, Source};
use cpuledger::{Books, Field, FieldSet, Request, Scope, Snapshot, Task, Tid, machine};
use cpuledger_load::scene::alone;
use cpuledger_load::{
    Burn, BurnPlan, Kin, Kinsman, Sleepers, Storm, StormPlan, is_emulated, not_run, online_cpus,
    possible_cpus,
};

/// One test at a time: they count what dies on this machine.
fn alone_as_root() -> MutexGuard<'static, ()> {
    assert!(nix::unistd::geteuid().is_root(), "this test reads taskstats: run it as root");
    alone()
}

/// The switch of delay accounting, which is as before in the end.
struct DelayAccounting {
    before: String,
}

impl DelayAccounting {
    const PATH: &str = "/proc/sys/kernel/task_delayacct";

    fn switch(to: &str) -> Option<DelayAccounting> {
        let before = std::fs::read_to_string(Self::PATH).ok()?;
        let accounting = DelayAccounting { before };
        accounting.set(to);
        Some(accounting)
    }

    fn set(&self, to: &str) {
        std::fs::write(Self::PATH, to).expect("root may switch it");
    }
}

impl Drop for DelayAccounting {
    fn drop(&mut self) {
        self.set(&self.before);
    }
}

fn open() -> Netlink {
    Netlink::open().expect("in the initial namespaces of a kernel with taskstats")
}

fn snapshot(source: &mut dyn Source, scope: Scope) -> Snapshot {
    let mut snapshot = Snapshot::default();
    source.snapshot(&Request::new(scope, FieldSet::ALL), &mut snapshot).expect("a snapshot");
    snapshot
}

fn by_tid(snapshot: &Snapshot) -> HashMap<Tid, &Task> {
    snapshot.tasks.iter().map(|row| (row.tid, row)).collect()
}

#[test]
fn every_task_has_what_walks_before_and_after_say_root() {
    let _alone = alone_as_root();
    let _sleepers = Sleepers::start(300, 3).expect("sleepers");
    let (mut walk, mut netlink) = (Walk::open().expect("a walk"), open());
    let plan = BurnPlan { cpu_ms: 60_000, threads: 3, ..BurnPlan::default() };
    let _burn = Burn::start(&plan).expect("burning threads");
    let before = snapshot(&mut walk, Scope::Tasks);
    let found = snapshot(&mut netlink, Scope::Tasks);
    let after = snapshot(&mut walk, Scope::Tasks);
    let (before, rows, after) = (by_tid(&before), by_tid(&found), by_tid(&after));
    let mut compared = 0;
    // A start is told by an age at some instant while the answer was waited for.
    let took_ns = found.end_ns - found.begin_ns;
    let start_limit_ns = took_ns + if is_emulated() { 5_000_000_000 } else { 1_000_000_000 };
    for (tid, first) in &before {
        let Some(last) = after.get(tid).filter(|last| last.start_time_ns == first.start_time_ns) else {
            continue;
        };
        // Some hosts show tasks to /proc and not to programs, or the other way: those that both show are compared.
        let Some(row) = rows.get(tid) else { continue };
        // An exec by a thread puts that in the place of the leader, with its start and other figures.
        if first.comm != last.comm || first.pid != last.pid || first.runtime_ns > last.runtime_ns {
            continue;
        }
        compared += 1;
        let name = row.comm;
        assert_eq!((row.pid, row.uid, row.gid), (last.pid, last.uid, last.gid), "{name:?}");
        assert!(
            row.start_time_ns.distance_ns(last.start_time_ns) < start_limit_ns,
            "{name:?}: {} and {} ns, which a busy machine cannot explain",
            row.start_time_ns.ns(),
            last.start_time_ns.ns()
        );
        for (what, first, here, last) in [
            ("runtime", first.runtime_ns, row.runtime_ns, last.runtime_ns),
            ("run-queue wait", first.runqueue_wait_ns, row.runqueue_wait_ns, last.runqueue_wait_ns),
            ("minor faults", first.minor_faults, row.minor_faults, last.minor_faults),
            ("switches", first.voluntary_switches, row.voluntary_switches, last.voluntary_switches),
            ("preemptions", first.involuntary_switches, row.involuntary_switches, last.involuntary_switches),
            ("written", first.write_bytes >> 10, row.write_bytes >> 10, last.write_bytes >> 10),
        ] {
            assert!((first..=last).contains(&here), "{what} of {name:?} {tid}: {first} {here} {last}");
        }
        assert_eq!(row.user_ns + row.system_ns, row.runtime_ns, "{name:?}");
    }
    assert!(compared > 300, "only {compared} tasks were compared");
}

/// Members of the family "sums": of four roles, three with two parts and the leader, one alone.
const SUMS: usize = 10;

#[test]
fn a_process_has_the_time_of_its_dead_threads_root() {
    let _alone = alone_as_root();
    let mut netlink = open();
    let mut kin = Kin::start("sums", 100).expect("a family");
    kin.begin().expect("it waits");
    let burned = kin.burned(SUMS).expect("all burn");
    // The leader lives on when its threads have died, until `kin` is dropped.
    let members: Vec<&Kinsman> = burned.iter().filter(|kinsman| kinsman.role == "dead-threads").collect();
    let pid = members.last().expect("the role is there").pid;
    let truth_ns: u64 = members.iter().map(|kinsman| kinsman.ns).sum();
    let deadline = Instant::now() + Duration::from_secs(60);
    let told_ns = loop {
        let found = snapshot(&mut netlink, Scope::Processes);
        let row = found.processes.iter().find(|row| row.pid.0 == pid).expect("it lives");
        // A task that has reported what it burned may still be on its way out.
        if row.threads == 1 || Instant::now() > deadline {
            break row.runtime_ns;
        }
    };
    println!("told {told_ns} ns, true {truth_ns} ns");
    assert!(members.len() > 1 && reports(told_ns, truth_ns), "{told_ns} of {truth_ns} ns");
}

#[test]
fn identities_stay_over_snapshots_and_exits_root() {
    let _alone = alone_as_root();
    let mut netlink = open();
    netlink.watch_exits().expect("a listener");
    let mut child = Command::new("sleep").arg("600").spawn().expect("sleep runs");
    let tid = Tid(child.id().cast_signed());
    let mut starts = Vec::new();
    for _ in 0..5 {
        let found = snapshot(&mut netlink, Scope::Tasks);
        starts.push(by_tid(&found)[&tid].id());
    }
    child.kill().expect("it runs");
    // Dead, and not waited for.
    let mut exits = Exits::default();
    while !exits.exits.iter().any(|death| death.exit.task.tid == tid) {
        std::thread::sleep(Duration::from_millis(5));
        netlink.exits(&mut exits).expect("exits");
    }
    let exit = exits.exits.iter().find(|death| death.exit.task.tid == tid).expect("just found").exit;
    assert!(starts.iter().all(|id| *id == exit.task), "{starts:?} {exit:?}");
    assert_eq!((exit.process, exit.ppid.0), (exit.task, std::process::id().cast_signed()));
    assert_eq!((exit.exit_code, exit.comm.as_bytes()), (Some(9), &b"sleep"[..]));
    let found = snapshot(&mut netlink, Scope::Tasks);
    let zombie = by_tid(&found)[&tid];
    assert_eq!((zombie.id(), zombie.state.0), (exit.task, b'Z'));
    child.wait().expect("it is ours");
}

/// What a program sees that asks /proc whether a task is still the same, before it acts on it.
/// The kernel tells 0 of each delay of a task that was made while it did not count them.
#[test]
fn delays_are_known_of_tasks_whose_delays_are_counted_root() {
    let _alone = alone_as_root();
    let Some(accounting) = DelayAccounting::switch("0") else {
        return not_run("it switches the counting of delays: have kernel.task_delayacct");
    };
    let elder = Sleepers::start(1, 1).expect("sleepers");
    accounting.set("1");
    let younger = Sleepers::start(1, 1).expect("sleepers");
    let found = snapshot(&mut open(), Scope::Tasks);
    let knows = |rows: &[Task], sleepers: &Sleepers| {
        let pid = sleepers.processes()[0].pid;
        let row = rows.iter().find(|row| row.tid.0 == pid).expect("its row");
        assert!(row.known.contains(Field::RunqueueWait), "{row:?}");
        (row.known.contains(Field::BlockIoDelay), row.known.contains(Field::SwapInDelay))
    };
    for rows in [&found.tasks, &found.processes] {
        assert_eq!((knows(rows, &elder), knows(rows, &younger)), ((false, false), (true, true)));
    }
}

#[test]
fn starts_are_those_of_proc_to_the_tick_root() {
    const TICK_NS: u64 = 10_000_000;
    let _alone = alone_as_root();
    let mut netlink = open();
    netlink.watch_exits().expect("a listener");
    let start = || Command::new("sleep").arg("600").spawn().expect("sleep runs");
    let mut children: Vec<_> = (0..100).map(|_| start()).collect();
    // Not by their name: spawn returns before the kernel has given it to the last of them.
    let started: Vec<u32> = children.iter().map(std::process::Child::id).collect();
    let found = snapshot(&mut netlink, Scope::Tasks);
    let mut compared = 0;
    for row in &found.tasks {
        let path = format!("/proc/{}/task/{}/stat", row.pid, row.tid);
        let Ok(stat) = std::fs::read_to_string(path) else { continue };
        let ticks = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(19)?.parse().ok());
        assert_eq!(Some(row.start_time_ns.ticks(TICK_NS)), ticks, "{row:?}");
        compared += usize::from(started.contains(&row.pid.0.cast_unsigned()));
    }
    for child in &mut children {
        child.kill().expect("it runs");
        child.wait().expect("it is ours");
    }
    assert_eq!(compared, started.len());
}

/// Whether a report fits to what the dead said before: it may be a tick older, 10 ms at most of 100 or more.
fn reports(told_ns: u64, said_ns: u64) -> bool {
    told_ns * 10 >= said_ns * 9
}

/// Takes cuts, as `top` does.
struct Cuts {
    netlink: Netlink,
    books: Books,
    exits: Exits,
    snapshot: Snapshot,
    interval: Interval,
}

impl Cuts {
    fn begin(netlink: Netlink) -> Cuts {
        let mut cuts = Cuts {
            netlink,
            books: Books::new(true),
            exits: Exits::default(),
            snapshot: Snapshot::default(),
            interval: Interval::default(),
        };
        cuts.cut();
        cuts
    }

    /// Waits until these have died, which they do after they have said what they burned; then cuts.
    fn cut_after(&mut self, dying: &[i32]) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            self.netlink.exits(&mut self.exits).expect("exits");
            let is_dead = |tid: &i32| self.exits.exits.iter().any(|death| death.exit.task.tid.0 == *tid);
            if dying.iter().all(is_dead) {
                return self.cut();
            }
            assert!(Instant::now() < deadline, "not all of {dying:?} have died");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn cut(&mut self) {
        let request = Request::new(Scope::Tasks, FieldSet::ALL);
        self.netlink.snapshot(&request, &mut self.snapshot).expect("a snapshot");
        self.netlink.exits(&mut self.exits).expect("exits");
        let cut = CutFacts::new(machine::online_cpus(), true);
        self.books.close(&cut, &self.snapshot, &mut self.exits, &mut self.interval);
    }
}

/// Some processes on that CPU, so that it has made reports since.
fn die_on(cpu: u32) {
    for _ in 0..4 {
        let status = Command::new("taskset").args(["--cpu-list", &cpu.to_string(), "true"]).status();
        assert!(status.expect("taskset runs: install the package util-linux").success());
    }
}

/// Tasks that were ever made on this machine.
fn forks() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").expect("procfs");
    let line = text.lines().find_map(|line| line.strip_prefix("processes ")).expect("a count of forks");
    line.parse().expect("a number")
}

/// Sockets that the listener has at most, and room in each for a few reports, which take about 1 KiB.
const MOST_SOCKETS: usize = 32;
const ROOM: usize = 8 << 10;
/// More than fit there.
const STORM: u64 = 150;

/// A storm on one CPU, whatever number there are: each has a socket of its own, which has to be too small.
fn storm_on(cpu: u32) -> Storm {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let all = sched_getaffinity(None).expect("the own CPUs");
    let mut one = CpuSet::new();
    one.set(cpu as usize);
    // What is started inherits it.
    sched_setaffinity(None, &one).expect("the CPU is online");
    let storm = Storm::start(&StormPlan { workers: 2, ..StormPlan::default() }).expect("a storm");
    sched_setaffinity(None, &all).expect("as it was");
    storm
}

#[test]
fn what_is_lost_in_a_full_socket_is_counted_root() {
    let _alone = alone_as_root();
    let mut netlink = open();
    // Room for a few reports in each socket.
    let cpus = possible_cpus().expect("sysfs").len();
    netlink.listen(cpus.min(MOST_SOCKETS) * ROOM).expect("a listener");
    let mut cuts = Cuts::begin(netlink);
    let cpu = *online_cpus().expect("sysfs").last().expect("there is one");
    let (begin, before) = (Instant::now(), forks());
    let storm = storm_on(cpu);
    let parents = storm.workers().to_vec();
    // Others make tasks, too: by its count alone the storm of a slow machine would be over too soon.
    while forks() < before + STORM || begin.elapsed() < Duration::from_millis(500) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let stormed = storm.stop().expect("it ends");
    // The first read tells of the overrun, the reports after it of its size.
    let mut exits = Exits::default();
    cuts.netlink.exits(&mut exits).expect("exits");
    assert!(exits.missed > 0, "{stormed:?} fit into {ROOM} bytes");
    die_on(cpu);
    cuts.netlink.exits(&mut exits).expect("exits");
    let told = exits.exits.iter().filter(|death| parents.contains(&death.exit.ppid.0)).count() as u64;
    println!("{stormed:?}: {told} told, {} missed, of the whole machine", exits.missed);
    // The numbers of a CPU are followed where it has a socket of its own; else it is known that some were lost, not how many.
    let is_counted = cpus <= MOST_SOCKETS;
    assert!(
        told + exits.missed >= stormed.made || !is_counted,
        "{told} told and {} missed of {stormed:?}",
        exits.missed
    );
    let missed = exits.missed;
    cuts.exits = exits;
    cuts.cut();
    assert!(cuts.interval.missed_exits >= missed, "the interval says so");
    assert!(cuts.interval.exited.is_some());
    cuts.cut();
    println!("in the next interval {}", cuts.interval.missed_exits);
}

#[test]
fn time_of_orphans_goes_up_to_a_living_ancestor_root() {
    let _alone = alone_as_root();
    let mut netlink = open();
    netlink.watch_exits().expect("a listener");
    let plan = BurnPlan { cpu_ms: 200, children: 3, ignore_sigchld: true, ..BurnPlan::default() };
    let mut cuts = Cuts::begin(netlink);
    let burn = Burn::start(&plan).expect("burning children");
    let parent = burn.pid();
    let burned = burn.finish(Duration::from_secs(120)).expect("it ends");
    let dying: Vec<i32> = burned.iter().map(|child| child.tid).chain([parent]).collect();
    cuts.cut_after(&dying);
    // Its parent, which is this process, inherits from it what it had inherited from them: they were not waited for.
    let myself = std::process::id().cast_signed();
    let mine = cuts.interval.processes.iter().map(|row| (&row.task, &row.usage));
    let inherited_ns: u64 =
        mine.filter(|(row, _)| row.pid.0 == myself).filter_map(|(_, usage)| usage.exited_children_ns).sum();
    let truth_ns: u64 = burned.iter().map(|child| child.ns).sum();
    println!("inherited {inherited_ns} ns, burned {truth_ns} ns");
    assert!(burned.iter().all(|child| child.ppid == parent) && burned.len() == 3);
    assert!(
        reports(inherited_ns, truth_ns) && inherited_ns < truth_ns * if is_emulated() { 4 } else { 2 },
        "{inherited_ns} of {truth_ns} ns"
    );
    let exited = cuts.interval.exited.as_ref().expect("exits are seen");
    for child in &burned {
        let record = exited.iter().find(|exited| exited.exit.task.tid.0 == child.tid).expect("its record");
        assert_eq!(record.exit.ppid.0, parent);
        assert!(
            reports(record.cpu_ns, child.ns) && record.cpu_ns < child.ns * if is_emulated() { 4 } else { 2 },
            "{child:?} {record:?}"
        );
    }
}

/// The members of a family that have burned, and the interval in which they did.
fn family(kind: &str) -> (Vec<Kinsman>, Cuts) {
    let mut netlink = open();
    netlink.watch_exits().expect("a listener");
    let mut kin = Kin::start(kind, 100).expect("a family");
    let mut cuts = Cuts::begin(netlink);
    kin.begin().expect("it waits");
    let burned = kin.burned(1).expect("one burns");
    drop(kin); // ends it
    cuts.cut_after(&burned.iter().map(|kinsman| kinsman.tid).collect::<Vec<_>>());
    (burned, cuts)
}

#[test]
fn odd_families_are_booked_once_root() {
    let _alone = alone_as_root();
    for kind in ["sigchld-ignored", "no-cld-wait", "vfork", "clone-parent", "double-fork", "leader-first"] {
        let (burned, cuts) = family(kind);
        let exited = cuts.interval.exited.as_ref().expect("exits are seen");
        for kinsman in &burned {
            let mut records = exited.iter().filter(|exited| exited.exit.task.tid.0 == kinsman.tid);
            let record = records.next().unwrap_or_else(|| panic!("{kind}: {kinsman:?} has no record"));
            assert!(records.next().is_none(), "{kind}: {kinsman:?} has died twice");
            assert!(reports(record.cpu_ns, kinsman.ns), "{kind}: {kinsman:?} {record:?}");
            assert_eq!(record.exit.process.tid.0, kinsman.pid, "{kind}: {record:?}");
        }
        let attributed_ns: u64 = cuts.interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
        let of_tasks: u64 = cuts.interval.tasks.iter().map(|row| row.usage.cpu_ns).sum();
        let of_dead: u64 = exited.iter().map(|exited| exited.cpu_ns).sum();
        // Parents know more of the dead than these had time to report.
        assert!(of_tasks + of_dead <= attributed_ns, "{kind}: {of_tasks} + {of_dead} of {attributed_ns} ns");
        assert_eq!(cuts.interval.attributed_ns, attributed_ns);
    }
}

#[test]
fn a_death_that_is_not_told_is_not_counted_again_root() {
    let _alone = alone_as_root();
    let mut netlink = open();
    netlink.listen(16 << 10).expect("a listener");
    let mut cuts = Cuts::begin(netlink);
    // It burns for a second in intervals of its own, and dies while no reader reads.
    let script = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; read word";
    let mut child = Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().expect("a shell");
    let pid = child.id().cast_signed();
    let asleep = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains("(sh) S ")
    };
    while !asleep(pid) {
        std::thread::sleep(Duration::from_millis(20));
    }
    cuts.cut();
    let index = cuts.snapshot.processes.iter().position(|row| row.pid.0 == pid).expect("it sleeps");
    let own_ns = cuts.interval.processes[index].usage.cpu_ns;
    assert!(own_ns > 100_000_000, "it has burned: {own_ns} ns");
    let (begin, before) = (Instant::now(), forks());
    let storm = Storm::start(&StormPlan { workers: 2, ..StormPlan::default() }).expect("a storm");
    // Until the sockets are full. Others make tasks, too.
    while forks() < before + STORM || begin.elapsed() < Duration::from_millis(500) {
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(child.stdin.take());
    child.wait().expect("it is ours");
    let stormed = storm.stop().expect("it ends");
    cuts.cut();
    assert!(cuts.interval.missed_exits > 0, "{stormed:?}");
    let myself = std::process::id().cast_signed();
    let mine = cuts.interval.processes.iter().map(|row| (&row.task, &row.usage));
    let inherited_ns: u64 =
        mine.filter(|(row, _)| row.pid.0 == myself).filter_map(|(_, usage)| usage.exited_children_ns).sum();
    println!("inherited {inherited_ns} ns, of the storm {} ns, shown before {own_ns} ns", stormed.cpu_ns);
    assert!(inherited_ns < stormed.cpu_ns + own_ns / 2, "{inherited_ns} ns, {own_ns} of them twice");
    assert!(inherited_ns * 2 > stormed.cpu_ns, "what the storm used is known to those who waited");
}
