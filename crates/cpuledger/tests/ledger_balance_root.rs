//! Through the library: the processes hold what was attributed, and with idle time that is all there was. Needs root.

mod books;

use std::any::Any;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use books::{Books, forks, is_full, keep_time};
use cpuledger::interval::{Row, Unattributed};
use cpuledger::source::ledger::{Ledger, Lost, Options, Wanted};
use cpuledger::{Account, Accounts, FieldSet, Interval};
use cpuledger_load::not_run::MAY_UNPLUG;
use cpuledger_load::scene::alone;
use cpuledger_load::{
    Cgroup, FileOnDisk, ForkingShells, Kin, Mixture, States, StatesPlan, Storm, StormPlan, is_emulated,
    not_run, removable_cpu,
};
use cpuledger_model::make;

/// Lengths of intervals, in turn.
const LENGTHS_NS: [u64; 6] =
    [100_000_000, 700_000_000, 250_000_000, 2_000_000_000, 130_000_000, 1_000_000_000];

#[test]
fn mixed_lengths_under_a_mixed_storm_balance_root() {
    let _alone = alone();
    let mut books = Books::open();
    // What others do on this machine is all there is.
    for length_ns in &LENGTHS_NS[..3] {
        books.close(*length_ns);
    }
    let quiet = books.exited.len();
    let mixture = Mixture::start().expect("a mixed load; it needs cc");
    let begin = books.intervals;
    for length_ns in LENGTHS_NS {
        books.close(length_ns);
        let capacity_ns = books.interval.capacity_ns;
        assert!(books.interval.attributed_ns <= capacity_ns);
        assert!(books.interval.processes.iter().all(|row| row.usage.cpu_ns <= capacity_ns));
    }
    let lost = books.ledger.lost();
    println!("{} intervals, {} deaths, {lost:?}", books.intervals - begin, books.exited.len() - quiet);
    assert!(!lost.is_short_of_slots() && lost.contended == 0, "{lost:?}");
    let enough = if is_emulated() { 10 } else { 100 };
    assert!(books.exited.len() - quiet > enough, "a storm makes tasks that die");
    // The shells that fork have what their children left them.
    for &shell in mixture.forking_shells() {
        let held = books.held[&books.process(shell)];
        // On an emulated CPU to fork takes longer than what is forked.
        assert!(held.exited_children_ns > if is_emulated() { 0 } else { held.self_ns }, "{shell}: {held:?}");
    }
}

/// 60 intervals under each load with CPULEDGER_TEST_FULL=1, which takes four minutes; else as many as take some seconds.
fn lengths() -> impl Iterator<Item = u64> {
    let (lengths, count) = match (is_full(), is_emulated()) {
        (true, _) => (&LENGTHS_NS[..], 60),
        (false, true) => (&LENGTHS_NS[..1], 3),
        (false, false) => (&LENGTHS_NS[..1], 10),
    };
    lengths.iter().copied().cycle().take(count)
}

/// Whether CPUs come and go under the load of this name.
fn has_hotplug(name: &str) -> bool {
    name.starts_with("a CPU comes and goes")
}

/// What each task and process did adds up to the time it was alive. `is_short`: slots ran low, and tasks without one are in the books of
/// others, of which the states are not told.
fn assert_states(name: &str, interval: &Interval, is_short: bool) {
    // It may have been given time from before it was born.
    let length_ns = interval.length_ns() + interval.off_fault_ns;
    for Row { task: row, usage, .. } in &interval.tasks {
        let Some(states) = usage.states else {
            assert!(is_short, "{name}: {row:?}");
            continue;
        };
        assert_eq!(usage.cpu_ns + states.off_ns(), states.elapsed_ns, "{name}: {row:?} {usage:?}");
        assert!(states.elapsed_ns <= length_ns, "{name}: {row:?} {usage:?}");
    }
    let mut dead: HashMap<i32, u64> = HashMap::new();
    for exited in interval.exited.iter().flatten() {
        match exited.states {
            Some(states) => {
                assert_eq!(exited.cpu_ns + states.off_ns(), states.elapsed_ns, "{name}: {exited:?}");
            }
            None => assert!(is_short, "{name}: {exited:?}"),
        }
        *dead.entry(exited.exit.process.tid.0).or_default() += 1;
    }
    for Row { task: row, usage, .. } in &interval.processes {
        let Some(states) = usage.states else { continue };
        let cpu_ns = usage.self_ns + usage.exited_threads_ns.unwrap_or(0);
        assert_eq!(cpu_ns + states.off_ns(), states.elapsed_ns, "{name}: {row:?} {usage:?}");
        // Threads that have died since the cut are in no count, but ran in the interval.
        let ran = interval.tasks.len() as u64;
        let threads = u64::from(row.threads).max(ran) + dead.get(&row.pid.0).copied().unwrap_or(0) + 1;
        assert!(states.elapsed_ns <= threads * length_ns, "{name}: {row:?} {usage:?}");
    }
}

/// How often tasks had no slot of their own.
fn want_of_slots(lost: &Lost) -> u64 {
    lost.no_slot + lost.no_entry + lost.unidentified_exits()
}

/// How many intervals a switch that the kernel hides may stay undetected: until the next one on its CPU.
const PATIENCE: usize = 30;

/// Time off the CPU that is booked twice or not at all. Only switches that the kernel hides from the hooks make some.
#[derive(Default)]
struct Faults {
    /// Intervals that have some.
    intervals: u64,
    /// Since the last hidden switch was found.
    unexplained_ns: u64,
}

impl Faults {
    fn add(&mut self, interval: &Interval) {
        self.intervals += u64::from(interval.off_fault_ns > 0);
        self.unexplained_ns = match interval.missed_switches {
            Some(0) => self.unexplained_ns + interval.off_fault_ns,
            _ => 0,
        };
    }
}

/// Closes intervals one after another, each of which balances to 0 ns with nothing unattributed, under a load of that name.
fn assert_balance_under<L: Any>(name: &str, load: impl FnOnce() -> L) {
    let options = make!(Options { accounts: Accounts::of(&[Account::Pairs]) });
    let mut ledger = Ledger::open(options).expect("the ledger attaches; it needs root");
    let load = load();
    keep_time();
    let mut interval = Interval::default();
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
    let begin_ns = ledger.start_ns();
    let (mut intervals, mut deaths, mut faults) = (0, 0, Faults::default());
    let (mut before_last, mut last) = (ledger.lost(), ledger.lost());
    for (place, length_ns) in lengths().chain(std::iter::repeat_n(LENGTHS_NS[0], PATIENCE)).enumerate() {
        if place >= lengths().count() && faults.unexplained_ns == 0 {
            break;
        }
        let start_ns = ledger.start_ns();
        ledger.close(start_ns + length_ns, &wanted, &mut interval).expect("an interval closes");
        assert_eq!(interval.start_ns, start_ns, "no time between two intervals");
        assert_eq!(interval.imbalance_ns(), Some(0), "{name}, interval {intervals}");
        // What a CPU runs while it is taken down no hook is told.
        let by = make!(Unattributed { uncovered_cpu_ns: 0, ..interval.unattributed_by });
        assert_eq!(
            by.total_ns(),
            0,
            "{name}, interval {intervals}: {by:?}, {:?} switches missed",
            interval.missed_switches
        );
        assert!(has_hotplug(name) || interval.unattributed_ns == Some(0), "{name}, interval {intervals}");
        let sum: u64 = interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
        assert_eq!(sum, interval.attributed_ns, "{name}, interval {intervals}");
        assert_eq!(
            interval.waits.imbalance_ns(),
            Some(0),
            "{name}, interval {intervals}: {:?}",
            interval.waits
        );
        let caused_ns = interval.processes.iter().map(|row| row.usage.growth.wait_caused_ns).sum();
        assert_eq!(interval.waits.tasks_ns, Some(caused_ns), "{name}, interval {intervals}");
        let pairs = interval.pairs.as_ref().expect("pairs are kept");
        assert_eq!(Some(pairs.sum_ns()), interval.waits.suffered_ns, "{name}, interval {intervals}");
        let by_tasks_ns = pairs.sum_of(|pair| pair.by.cause().is_none());
        let waits = &interval.waits;
        let of_tasks_ns =
            waits.tasks_ns.zip(waits.no_slot_ns).map(|(tasks_ns, no_slot_ns)| tasks_ns + no_slot_ns);
        assert_eq!(Some(by_tasks_ns), of_tasks_ns, "{name}, interval {intervals}");
        let lost = ledger.lost();
        // What is short at the beginning of an interval may have been counted at the end of the one before.
        let is_short = want_of_slots(&lost) > want_of_slots(&before_last);
        (before_last, last) = (last, lost);
        assert_states(&format!("{name}, interval {intervals}"), &interval, is_short);
        faults.add(&interval);
        intervals += 1;
        deaths += interval.exited.as_ref().map_or(0, Vec::len);
    }
    let seconds = Duration::from_nanos(ledger.start_ns() - begin_ns).as_secs_f64();
    println!(
        "{name}: {intervals} intervals, {:.0} deaths a second, 0 ns; {} with faults, {} switches missed",
        deaths as f64 / seconds,
        faults.intervals,
        ledger.lost().missed
    );
    assert_eq!(faults.unexplained_ns, 0, "{name}");
    let lost = ledger.lost();
    println!("{name}: {lost:?}");
    // In two seconds more threads may end than there are slots at first.
    let may_be_short = has_hotplug(name) || is_full();
    assert!(may_be_short || !lost.is_short_of_slots(), "{name}: {lost:?}");
    assert!(has_hotplug(name) || lost.contended == 0, "{name}: {lost:?}");
    drop(load);
}

#[test]
fn every_interval_balances_under_each_load_root() {
    let _alone = alone();
    assert_balance_under("idle", || ());
    assert_balance_under("two shells fork /bin/true", || ForkingShells::start(2).expect("shells"));
    assert_balance_under("threads come and go", || {
        Storm::start(&StormPlan { workers: 4, threads: true, ..StormPlan::default() }).expect("a storm")
    });
    assert_balance_under("parallel compilers and all else", || Mixture::start().expect("a mixed load"));
    // 200 tasks; on an emulated CPU fewer, which take turns there as well.
    let pairs = if is_emulated() { 10 } else { 100 };
    assert_balance_under("tasks at pipes", || {
        let mut kin = Kin::start_with("ping-pong", 0, pairs).expect("tasks at pipes");
        kin.begin().expect("they begin");
        kin
    });
}

/// Longer than any test.
const FOR_EVER_MS: u64 = 3_600_000;

fn states(plan: StatesPlan) -> States {
    let mut states = States::start(&StatesPlan { ms: FOR_EVER_MS, ..plan }).expect("tasks that do one thing");
    states.be_seen().and_then(|()| states.begin()).expect("they begin");
    states
}

fn of_kind(kind: &'static str) -> States {
    states(StatesPlan { kind, ..StatesPlan::default() })
}

#[test]
fn every_interval_balances_under_each_wait_root() {
    let _alone = alone();
    for kind in ["usleep", "futex", "stop", "vfork"] {
        assert_balance_under(kind, || of_kind(kind));
    }
    assert_balance_under("three times as many as CPUs", || {
        states(StatesPlan { kind: "spin", processes: 6, ..StatesPlan::default() })
    });
    assert_balance_under("a real-time task", || {
        let sleeper = of_kind("usleep");
        let chrt = Command::new("chrt").args(["-f", "-p", "10", &sleeper.pid().to_string()]).status();
        println!("chrt: {chrt:?}");
        sleeper
    });
    match FileOnDisk::new(16 << 20).expect("a file is written") {
        Some(file) => {
            for kind in ["disk", "sync"] {
                let file = Some(file.path().to_owned());
                assert_balance_under(kind, || states(StatesPlan { kind, file, ..StatesPlan::default() }));
            }
        }
        None => not_run("it reads a file past the page cache: have the folder of the tests on a disk"),
    }
}

/// Frozen and thawed, again and again, while it lives; thawed at its end.
struct Freezing {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Freezing {
    fn start(group: &Cgroup) -> Freezing {
        let file = group.path().join("cgroup.freeze");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                for state in ["1", "0"] {
                    fs::write(&file, state).expect("a cgroup can be frozen");
                    std::thread::sleep(Duration::from_millis(70));
                }
            }
        });
        Freezing { stop, thread: Some(thread) }
    }
}

impl Drop for Freezing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn every_interval_balances_in_a_cgroup_that_is_held_back_root() {
    let _alone = alone();
    let spin = |group: &Cgroup| {
        let spinning =
            States::start(&StatesPlan { kind: "usleep", ms: FOR_EVER_MS, ..StatesPlan::default() });
        let mut spinning = spinning.expect("a task");
        group.write("cgroup.procs", &spinning.pid().to_string()).expect("it moves");
        spinning.be_seen().and_then(|()| spinning.begin()).expect("it begins");
        spinning
    };
    match Cgroup::new("cpuacct").ok().filter(|group| group.path().join("cgroup.freeze").exists()) {
        Some(group) => assert_balance_under("frozen and thawed", || (Freezing::start(&group), spin(&group))),
        None => not_run("it freezes a cgroup: mount v2"),
    }
    match Cgroup::new("cpu") {
        Ok(group) => {
            group.limit_cpu(5_000, 20_000).expect("the kernel limits CPU time of cgroups");
            assert_balance_under("throttled", || {
                let mut spinning = States::start(&StatesPlan {
                    kind: "spin",
                    ms: FOR_EVER_MS,
                    processes: 2,
                    ..StatesPlan::default()
                })
                .expect("tasks");
                for pid in children_of(spinning.pid()) {
                    group.write("cgroup.procs", &pid).expect("it moves");
                }
                spinning.be_seen().and_then(|()| spinning.begin()).expect("they begin");
                spinning
            });
        }
        Err(reason) => not_run(&format!("it limits the CPU time of a cgroup: {reason}")),
    }
}

fn children_of(pid: i32) -> Vec<String> {
    let text =
        fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("the kernel lists children");
    text.split_whitespace().map(str::to_owned).collect()
}

/// Taken offline and back again and again while it lives; online at its end.
struct Unplugged {
    control: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u32>>,
}

impl Unplugged {
    fn start() -> Unplugged {
        let (_, control) = removable_cpu().expect("a CPU that can be taken offline");
        let file = control.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut times = 0;
            while !stopped.load(Ordering::Relaxed) {
                for (online, pause_ms) in [("0", 170), ("1", 230)] {
                    fs::write(&file, online).expect("a CPU can be taken offline and online");
                    std::thread::sleep(Duration::from_millis(pause_ms));
                }
                times += 1;
            }
            times
        });
        Unplugged { control, stop, thread: Some(thread) }
    }
}

impl Drop for Unplugged {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let times = self.thread.take().map(JoinHandle::join);
        let _ = fs::write(&self.control, "1");
        let times = times.and_then(Result::ok).expect("a CPU can be taken offline and online");
        println!("{} was written {times} times each", self.control.display());
        assert!(times > 0);
    }
}

/// A machine that others use keeps its CPUs, so this is done only where CPULEDGER_TEST_MAY_UNPLUG=1 allows it.
#[test]
fn every_interval_balances_while_a_cpu_comes_and_goes_root() {
    let _alone = alone();
    if std::env::var_os(MAY_UNPLUG).is_none() {
        return not_run(&format!("it takes a CPU offline: set {MAY_UNPLUG}=1 on a machine of your own"));
    }
    assert_balance_under("a CPU comes and goes", Unplugged::start);
    assert_balance_under("a CPU comes and goes, and two shells fork", || {
        (Unplugged::start(), ForkingShells::start(2).expect("shells"))
    });
}

/// CPU time of all children that a process has waited for, by the kernel's own account, to a hundredth of a second.
fn waited_for_ns(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let (_, fields) = text.rsplit_once(')').expect("a comm");
    let ticks = |index: usize| fields.split(' ').nth(index).expect("a field").parse::<u64>().expect("ticks");
    (ticks(14) + ticks(15)) * 10_000_000
}

/// A storm of exits in which no interval is closed: 150 s of it with CPULEDGER_TEST_FULL=1, else some seconds with few slots.
/// Many times more tasks die than there are slots.
#[test]
fn a_reader_that_stalls_loses_identities_but_no_time_root() {
    let _alone = alone();
    let (slots, stall) = if is_full() {
        (Options::default().slots, Duration::from_secs(150))
    } else {
        (if is_emulated() { 256 } else { 4_096 }, Duration::from_secs(3))
    };
    let mut ledger = Ledger::open(make!(Options { slots })).expect("the ledger attaches; it needs root");
    let shells = ForkingShells::start(2).expect("shells");
    let mut interval = Interval::default();
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
    let mut close = |ledger: &mut Ledger, length_ns: u64| {
        ledger.close(ledger.start_ns() + length_ns, &wanted, &mut interval).expect("an interval closes");
        assert_eq!(
            (interval.imbalance_ns(), interval.unattributed_ns),
            (Some(0), Some(0)),
            "{:?}",
            ledger.lost()
        );
        let rows = interval.processes.iter().map(|row| (&row.task, &row.usage));
        let of_shells = rows.filter(|(row, _)| shells.pids().any(|pid| row.pid.0 == pid));
        let inherited_ns: u64 =
            of_shells.map(|(_, usage)| usage.exited_children_ns.expect("the ledger knows")).sum();
        (inherited_ns, interval.exited.as_ref().map_or(0, Vec::len))
    };
    close(&mut ledger, 100_000_000);
    let before_ns: u64 = shells.pids().map(waited_for_ns).sum();
    let begin = Instant::now();
    // Twice as many are born as there are slots, however slow the machine is.
    let many = forks() + u64::from(slots) * 2;
    while begin.elapsed() < stall || forks() < many {
        std::thread::sleep(Duration::from_millis(100));
    }
    let waited_ns = shells.pids().map(waited_for_ns).sum::<u64>() - before_ns;
    let (inherited_ns, records) = close(&mut ledger, 0);
    println!(
        "{:?}; {records} records; {inherited_ns} ns inherited, {waited_ns} ns waited for",
        ledger.lost()
    );
    assert!(ledger.lost().is_short_of_slots(), "the loss is told");
    // What a task uses after its last own account is in ours alone; the shells' last children were not waited for yet.
    assert!(inherited_ns > waited_ns - waited_ns / 100, "{inherited_ns} of {waited_ns} ns");
    for _ in 0..5 {
        close(&mut ledger, 100_000_000);
    }
}
