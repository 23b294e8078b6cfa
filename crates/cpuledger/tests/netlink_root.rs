//! The source netlink against the walk, and its listener when more die than it is read for. Needs root.

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use cpuledger::interval::{Cut, Interval};
use cpuledger::source::netlink::Netlink;
use cpuledger::source::walk::Walk;
use cpuledger::source::{Exits, Source};
use cpuledger::{Books, FieldSet, Request, Scope, Snapshot, Task, Tid, machine};
use cpuledger_load::scene::alone;
use cpuledger_load::{Burn, BurnPlan, Kin, Kinsman, Sleepers, Storm, StormPlan, is_emulated};

/// One test at a time: they count what dies on this machine.
fn alone_as_root() -> MutexGuard<'static, ()> {
    assert!(nix::unistd::geteuid().is_root(), "this test reads taskstats: run it as root");
    alone()
}

fn open() -> Netlink {
    Netlink::open().expect("in the initial namespaces of a kernel with taskstats")
}

fn snapshot(source: &mut dyn Source, scope: Scope) -> Snapshot {
    let mut snapshot = Snapshot::default();
    source.snapshot(&Request { scope, fields: FieldSet::ALL }, &mut snapshot).expect("a snapshot");
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
    let start_limit_ns = if is_emulated() { 5_000_000_000 } else { 1_000_000_000 };
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
            row.start_time_ns.abs_diff(last.start_time_ns) < start_limit_ns,
            "{name:?}: {} and {} ns, which a busy machine cannot explain",
            row.start_time_ns,
            last.start_time_ns
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

#[test]
fn a_process_has_the_time_of_its_dead_threads_root() {
    let _alone = alone_as_root();
    let mut netlink = open();
    // The leader burns too and then waits: its threads die before it.
    let plan = BurnPlan { cpu_ms: 150, threads: 4, ..BurnPlan::default() };
    let burn = Burn::start(&plan).expect("burning threads");
    let pid = burn.pid();
    let mut most_ns = 0;
    let truth_ns = std::thread::scope(|scope| {
        let ended = scope.spawn(move || burn.finish(Duration::from_secs(120)).expect("it ends"));
        while !ended.is_finished() {
            let found = snapshot(&mut netlink, Scope::Processes);
            most_ns = found
                .processes
                .iter()
                .filter(|row| row.pid.0 == pid)
                .map(|row| row.runtime_ns)
                .fold(most_ns, u64::max);
        }
        ended.join().expect("no panic").iter().map(|thread| thread.ns).sum::<u64>()
    });
    println!("told {most_ns} ns, true {truth_ns} ns");
    assert!(most_ns * 10 > truth_ns * 7, "one thread alone has a quarter: {most_ns} of {truth_ns} ns");
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
    while !exits.exits.iter().any(|exit| exit.task.tid == tid) {
        std::thread::sleep(Duration::from_millis(5));
        netlink.exits(&mut exits).expect("exits");
    }
    let exit = exits.exits.iter().find(|exit| exit.task.tid == tid).expect("just found");
    assert!(starts.iter().all(|id| *id == exit.task), "{starts:?} {exit:?}");
    assert_eq!((exit.process, exit.ppid.0), (exit.task, std::process::id().cast_signed()));
    assert_eq!((exit.exit_code, exit.comm.as_bytes()), (9, &b"sleep"[..]));
    let found = snapshot(&mut netlink, Scope::Tasks);
    let zombie = by_tid(&found)[&tid];
    assert_eq!((zombie.id(), zombie.state.0), (exit.task, b'Z'));
    child.wait().expect("it is ours");
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
            let is_dead = |tid: &i32| self.exits.exits.iter().any(|exit| exit.task.tid.0 == *tid);
            if dying.iter().all(is_dead) {
                return self.cut();
            }
            assert!(Instant::now() < deadline, "not all of {dying:?} have died");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn cut(&mut self) {
        let request = Request { scope: Scope::Tasks, fields: FieldSet::ALL };
        self.netlink.snapshot(&request, &mut self.snapshot).expect("a snapshot");
        self.netlink.exits(&mut self.exits).expect("exits");
        let cut = Cut {
            suspended_ns: machine::suspended_ns(),
            online_cpus: machine::online_cpus(),
            sees_exits: true,
        };
        self.books.close(&cut, &self.snapshot, &mut self.exits, &mut self.interval);
    }
}

/// Some processes on each CPU, so that each CPU has made reports since.
fn die_on_each_cpu() {
    for cpu in (0..machine::online_cpus()).flat_map(|cpu| [cpu; 4]) {
        let status = Command::new("taskset").args(["--cpu-list", &cpu.to_string(), "true"]).status();
        assert!(status.expect("taskset runs: install the package util-linux").success());
    }
}

#[test]
fn what_is_lost_in_a_full_socket_is_counted_root() {
    let _alone = alone_as_root();
    let mut netlink = open();
    // Room for a few reports on each CPU.
    netlink.listen(16 << 10).expect("a listener");
    let mut cuts = Cuts::begin(netlink);
    let plan = StormPlan { workers: 2, seconds: Some(1), ..StormPlan::default() };
    let storm = Storm::start(&plan).expect("a storm");
    let parents = storm.workers().to_vec();
    let stormed = storm.finish(Duration::from_secs(120)).expect("it ends");
    // The first read tells of the overrun, the reports after it of its size.
    let mut exits = Exits::default();
    cuts.netlink.exits(&mut exits).expect("exits");
    assert!(exits.missed > 0, "{stormed:?} fit into 16 KiB");
    die_on_each_cpu();
    cuts.netlink.exits(&mut exits).expect("exits");
    let told = exits.exits.iter().filter(|exit| parents.contains(&exit.ppid.0)).count() as u64;
    println!("{stormed:?}: {told} told, {} missed, of the whole machine", exits.missed);
    assert!(told + exits.missed >= stormed.made, "{told} told and {} missed of {stormed:?}", exits.missed);
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
    // Its parent, which is this process, inherits from it what it had inherited from them: nobody has waited for them.
    let myself = std::process::id().cast_signed();
    let mine = cuts.snapshot.processes.iter().zip(&cuts.interval.processes);
    let inherited_ns: u64 =
        mine.filter(|(row, _)| row.pid.0 == myself).filter_map(|(_, usage)| usage.exited_children_ns).sum();
    let truth_ns: u64 = burned.iter().map(|child| child.ns).sum();
    println!("inherited {inherited_ns} ns, burned {truth_ns} ns");
    assert!(burned.iter().all(|child| child.ppid == parent) && burned.len() == 3);
    assert!(
        reports(inherited_ns, truth_ns) && inherited_ns < truth_ns * 2,
        "{inherited_ns} of {truth_ns} ns"
    );
    let exited = cuts.interval.exited.as_ref().expect("exits are seen");
    for child in &burned {
        let record = exited.iter().find(|exited| exited.exit.task.tid.0 == child.tid).expect("its record");
        assert_eq!(record.exit.ppid.0, parent);
        assert!(reports(record.cpu_ns, child.ns) && record.cpu_ns < child.ns * 2, "{child:?} {record:?}");
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
        let attributed_ns: u64 = cuts.interval.processes.iter().map(|usage| usage.cpu_ns).sum();
        let of_tasks: u64 = cuts.interval.tasks.iter().map(|usage| usage.cpu_ns).sum();
        let of_dead: u64 = exited.iter().map(|exited| exited.cpu_ns).sum();
        // Parents know more of the dead than these had time to report.
        assert!(of_tasks + of_dead <= attributed_ns, "{kind}: {of_tasks} + {of_dead} of {attributed_ns} ns");
        assert_eq!(cuts.interval.attributed_ns, attributed_ns);
    }
}

#[test]
fn who_dies_untold_is_not_counted_again_root() {
    let _alone = alone_as_root();
    let mut netlink = open();
    netlink.listen(16 << 10).expect("a listener");
    let mut cuts = Cuts::begin(netlink);
    // It burns for a second in intervals of its own, and dies while nobody reads.
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
    let own_ns = cuts.interval.processes[index].cpu_ns;
    assert!(own_ns > 100_000_000, "it has burned: {own_ns} ns");
    let plan = StormPlan { workers: 2, seconds: Some(1), ..StormPlan::default() };
    let storm = Storm::start(&plan).expect("a storm");
    std::thread::sleep(Duration::from_millis(500)); // the sockets are full
    drop(child.stdin.take());
    child.wait().expect("it is ours");
    let stormed = storm.finish(Duration::from_secs(120)).expect("it ends");
    cuts.cut();
    assert!(cuts.interval.missed_exits > 0, "{stormed:?}");
    let myself = std::process::id().cast_signed();
    let mine = cuts.snapshot.processes.iter().zip(&cuts.interval.processes);
    let inherited_ns: u64 =
        mine.filter(|(row, _)| row.pid.0 == myself).filter_map(|(_, usage)| usage.exited_children_ns).sum();
    println!("inherited {inherited_ns} ns, of the storm {} ns, shown before {own_ns} ns", stormed.cpu_ns);
    assert!(inherited_ns < stormed.cpu_ns + own_ns / 2, "{inherited_ns} ns, {own_ns} of them twice");
    assert!(inherited_ns * 2 > stormed.cpu_ns, "what the storm used is known to those who waited");
}
