//! What the ledger says that tasks did while they were on no CPU, of programs that know what they did. Needs root.
//!
//! A task's own clocks tell how long it was not executed. The ledger's time on a CPU has what the hypervisor and interrupts took, too. So
//! its time on none is less by that.

mod books;
mod loops;
mod resting;
mod together;

use std::collections::HashMap;
use std::fs;

use books::is_full;
use cpuledger::clock::monotonic_ns;
use cpuledger::interval::{Blocked, Usage};
use cpuledger::source::Source;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::source::netlink::Netlink;
use cpuledger::{Field, FieldSet, Interval, Lived, Request, Scope, Snapshot, States, TaskId};
use cpuledger_load::scene::{scene_of_times, were_missed};
use cpuledger_load::{Cgroup, Did, FileOnDisk, StatesPlan, is_emulated, not_run, online_cpus};
use cpuledger_model::make;
use loops::Loops;

const INTERVAL_NS: u64 = 150_000_000;
/// Of the time of a task, in thousandths, by which an account may be off.
const TOLERANCE_THOUSANDTHS: u64 = 2;
/// An emulated CPU takes a good part of each turn between a switch and its hook.
const EMULATED_THOUSANDTHS: u64 = 200;
/// From the clock of a task to a switch, or back, for each of its switches.
const SWITCH_NS: u64 = 2_000;
/// By the kernel's count a task is executed from the last time on that its run queue has looked at the clock: where the CPU was idle, from
/// its wake-up. The hook comes after that, and after the hooks of others; until then the task waits. On a busy host that takes longer.
const HOOK_NS: u64 = 50_000;
/// A task that is preempted is queued, by the kernel's clock, before the hook has seen it leave.
const QUEUE_NS: u64 = 5_000;
/// Of what the kernel counts as waiting, in thousandths.
const KERNEL_THOUSANDTHS: u64 = 5;
/// The same where the CPU is emulated: it loses its turn between the two clocks.
const EMULATED_KERNEL_THOUSANDTHS: u64 = 200;
/// A task that waits for a CPU for more than this, in thousandths, does so beside others.
const BUSY_THOUSANDTHS: u64 = 20;
const FILE_BYTES: usize = 64 << 20;
const DELAY_ACCOUNTING: &str = "/proc/sys/kernel/task_delayacct";

/// What the ledger told of a task from one cut to another.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    cpu_ns: u64,
    stolen_ns: u64,
    states: States,
}

impl Told {
    fn add(&mut self, usage: &Usage) {
        let states = usage.states.expect("the ledger knows it of each task");
        assert_eq!(usage.cpu_ns + states.off_ns(), states.elapsed_ns, "{usage:?}");
        self.cpu_ns += usage.cpu_ns;
        self.stolen_ns += usage.stolen_ns.unwrap_or(0);
        self.states.add(&states);
    }

    fn blocked_without_io_ns(&self) -> u64 {
        self.states.blocked_ns - self.states.io_wait_ns
    }
}

/// What a task did, and what the ledger said of it.
#[derive(Debug, Clone, Copy)]
struct Case {
    did: Did,
    told: Told,
    /// For how long it slept before its beginning and after its end.
    outside_ns: u64,
    tolerance_ns: u64,
    /// How long it waited for I/O by the kernel's delay accounting.
    io_delay_ns: Option<u64>,
}

impl Case {
    fn assert_near(&self, what: &str, told_ns: u64, least_ns: u64, most_ns: u64) {
        let (least_ns, most_ns) = (least_ns.saturating_sub(self.tolerance_ns), most_ns + self.tolerance_ns);
        assert!((least_ns..=most_ns).contains(&told_ns), "{what}: {told_ns} ns told: {self:#?}");
    }

    /// What it did, as one of its states has it. Where it had to wait for a CPU first, that began later.
    fn assert_did(&self, what: &str, told_ns: u64, outside_ns: u64) {
        let least_ns =
            self.did.least_ns.saturating_sub(self.told.states.runqueue_wait_ns + self.told.stolen_ns);
        self.assert_near(what, told_ns, least_ns + outside_ns, self.did.most_ns + outside_ns);
    }

    fn assert_none(&self, names: &[&str]) {
        let Told { states, .. } = self.told;
        for name in names {
            let ns = match *name {
                "I/O" => states.io_wait_ns,
                "blocked" => self.told.blocked_without_io_ns(),
                "stopped" => states.stopped_ns,
                "sleep" => states.sleep_ns.saturating_sub(self.outside_ns),
                other => unreachable!("{other}"),
            };
            self.assert_near(name, ns, 0, 0);
        }
    }

    /// What holds of each kind.
    fn assert_whole(&self) {
        let Case { did, told, outside_ns, .. } = *self;
        let off_ns = (did.off_ns + outside_ns).saturating_sub(told.stolen_ns);
        let wait_ns = told.states.runqueue_wait_ns;
        let most_ns = did.off_ns + outside_ns + wait_ns.saturating_sub(did.run_delay_ns);
        self.assert_near("off the CPU", told.states.off_ns(), off_ns, most_ns);
        let thousandths = if is_emulated() { EMULATED_KERNEL_THOUSANDTHS } else { KERNEL_THOUSANDTHS };
        let slack_ns = did.run_delay_ns * thousandths / 1_000 + did.switches * QUEUE_NS + told.stolen_ns;
        println!(
            "  tid {} {} switches: off {} ns of {} true, wait {wait_ns} ns of {} by the kernel, {:+.3} %; \
             sleep {} blocked {} io {} stopped {} unseen {} stolen {}; did {} to {} ns, outside {outside_ns} ns",
            did.tid,
            did.switches,
            told.states.off_ns(),
            did.off_ns + outside_ns,
            did.run_delay_ns,
            (wait_ns as f64 - did.run_delay_ns as f64) * 100.0 / did.run_delay_ns.max(1) as f64,
            told.states.sleep_ns,
            told.blocked_without_io_ns(),
            told.states.io_wait_ns,
            told.states.stopped_ns,
            told.states.unseen_ns,
            told.stolen_ns,
            did.least_ns,
            did.most_ns,
        );
        // It reads its own count, so that no wait of it is under way, and none comes after that.
        let slack_ns = slack_ns + if is_emulated() { self.tolerance_ns } else { 0 };
        let least_ns = did.run_delay_ns.saturating_sub(slack_ns);
        let most_ns = did.run_delay_ns + slack_ns + did.switches * HOOK_NS;
        assert!((least_ns..=most_ns).contains(&wait_ns), "waited {wait_ns} ns: {self:#?}");
        assert_eq!(told.states.unseen_ns, 0, "{self:#?}");
        assert!(did.off_ns > 0 && told.cpu_ns > 0, "{self:#?}");
    }
}

/// How long each task has waited for I/O in its life, by taskstats, where the kernel counts that.
fn io_delays_ns() -> HashMap<i32, u64> {
    let Some(mut netlink) = Netlink::open().ok().filter(Netlink::has_delays) else { return HashMap::new() };
    let request = Request::new(Scope::Tasks, FieldSet::of(&[Field::BlockIoDelay]));
    let mut snapshot = Snapshot::default();
    netlink.snapshot(&request, &mut snapshot).expect("taskstats");
    snapshot.tasks.iter().map(|row| (row.tid.0, row.block_io_delay_ns)).collect()
}

/// Has tasks do what the plan says. All states of each task add up, and so do its elapsed times.
fn play(plan: &StatesPlan, tasks: usize, check: impl Fn(&Case)) {
    play_in(None, plan, tasks, check);
}

/// Likewise, with all children of the first process in a cgroup.
fn play_in(group: Option<&Cgroup>, plan: &StatesPlan, tasks: usize, check: impl Fn(&Case)) {
    let mut states = cpuledger_load::States::start(plan).expect("tasks that know what they do");
    if let Some(group) = group {
        let pid = states.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("its children");
        for child in children.split_whitespace() {
            group.write("cgroup.procs", child).expect("it moves");
        }
    }
    let mut ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
    let mut interval = Interval::default();
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: true });
    let mut told: HashMap<i32, Told> = HashMap::new();
    states.be_seen().expect("they wake");
    let seen_ns = ledger.start_ns() + 3 * INTERVAL_NS;
    ledger.close(seen_ns, &wanted, &mut interval).expect("an interval closes");
    let first_ns = ledger.start_ns();
    let mut close = |ledger: &mut Ledger| {
        let cut_ns = ledger.start_ns() + INTERVAL_NS;
        ledger.close(cut_ns, &wanted, &mut interval).expect("an interval closes");
        were_missed(interval.missed_switches.expect("the ledger counts them"));
        for (row, usage) in
            interval.tasks.iter().map(|row| (&row.task, &row.usage)).filter(|(_, usage)| !usage.is_unseen)
        {
            told.entry(row.tid.0).or_default().add(usage);
        }
    };
    let delays_ns = io_delays_ns();
    states.begin().expect("they begin");
    let hear = std::thread::spawn(move || {
        let did: Result<Vec<Did>, _> = (0..tasks).map(|_| states.did()).collect();
        (did, states)
    });
    while !hear.is_finished() {
        close(&mut ledger);
    }
    close(&mut ledger);
    let (did, _states) = hear.join().expect("no panic");
    let last_ns = ledger.start_ns();
    let now_ns = io_delays_ns();
    println!("{}:", plan.kind);
    for did in did.expect("each says what it did") {
        let told = told[&did.tid];
        assert_eq!(told.states.elapsed_ns, last_ns - first_ns, "it was alive all the time: {told:?}");
        let thousandths = if is_emulated() { EMULATED_THOUSANDTHS } else { TOLERANCE_THOUSANDTHS };
        let tolerance_ns = (last_ns - first_ns) * thousandths / 1_000 + did.switches * SWITCH_NS;
        let outside_ns = did.begin_ns - first_ns + last_ns - did.end_ns;
        let io_delay_ns = now_ns.get(&did.tid).zip(delays_ns.get(&did.tid)).map(|(now, then)| now - then);
        let case = Case { did, told, outside_ns, tolerance_ns, io_delay_ns };
        case.assert_whole();
        check(&case);
    }
}

fn plan(kind: &'static str) -> StatesPlan {
    let ms = match (is_full(), is_emulated()) {
        (true, _) => 5_000,
        (false, true) => 700,
        (false, false) => 2_000,
    };
    StatesPlan { kind, ms, ..StatesPlan::default() }
}

#[test]
fn a_task_that_sleeps_is_told_so_root() {
    for (kind, tasks) in [("usleep", 1), ("pipe", 1), ("futex", 2)] {
        scene_of_times(|| {
            play(&plan(kind), tasks, |case| {
                case.assert_did("sleep", case.told.states.sleep_ns, case.outside_ns);
                case.assert_none(&["I/O", "blocked", "stopped"]);
            });
        });
    }
}

#[test]
fn a_task_that_is_stopped_is_told_so_root() {
    scene_of_times(|| {
        play(&plan("stop"), 1, |case| {
            case.assert_did("stopped", case.told.states.stopped_ns, 0);
            case.assert_none(&["I/O", "blocked"]);
        });
    });
}

#[test]
fn a_task_that_waits_for_its_child_cannot_be_interrupted_root() {
    scene_of_times(|| {
        play(&plan("vfork"), 1, |case| {
            case.assert_did("blocked", case.told.blocked_without_io_ns(), 0);
            case.assert_none(&["I/O", "stopped", "sleep"]);
        });
    });
}

/// One has a CPU, two share one, and six share all. The kernel's count of what each waits ends when it reads it, so that both have
/// the same.
#[test]
fn a_task_that_waits_for_a_cpu_waits_as_long_as_the_kernel_says_root() {
    let cpus = online_cpus().expect("sysfs");
    let last = *cpus.last().expect("a CPU");
    for (processes, cpu) in [(1, None), (2, Some(last)), (3 * cpus.len().min(8), None)] {
        scene_of_times(|| {
            play(&StatesPlan { processes, cpu, ..plan("spin") }, processes, |case| {
                let Case { did, told, .. } = *case;
                let least_ns = did.off_ns.saturating_sub(told.stolen_ns);
                // It waits before its beginning, too.
                case.assert_near(
                    "wait",
                    told.states.runqueue_wait_ns,
                    least_ns,
                    did.off_ns + case.outside_ns,
                );
                case.assert_none(&["I/O", "blocked", "stopped", "sleep"]);
                if processes == 2 {
                    assert!(told.states.runqueue_wait_ns * 3 > did.end_ns - did.begin_ns, "{case:#?}");
                }
            });
        });
    }
}

#[test]
fn a_task_that_is_throttled_waits_for_a_cpu_root() {
    scene_of_times(|| {
        let group = match Cgroup::new("cpu") {
            Ok(group) => group,
            Err(reason) => return not_run(&format!("it limits the CPU time of a cgroup: {reason}")),
        };
        group.limit_cpu(5_000, 20_000).expect("the kernel limits CPU time of cgroups");
        play_in(Some(&group), &StatesPlan { processes: 1, ..plan("spin") }, 1, |case| {
            case.assert_none(&["I/O", "blocked", "stopped", "sleep"]);
            let Case { did, told, .. } = *case;
            // It has a quarter of a CPU.
            let length_ns = did.end_ns - did.begin_ns;
            assert!(told.states.runqueue_wait_ns * 10 > length_ns * 7, "{case:#?}");
        });
    });
}

/// Has the kernel count delays of tasks that are made from now on, for as long as this lives.
struct DelayAccounting {
    before: String,
}

impl DelayAccounting {
    fn start() -> Option<DelayAccounting> {
        let before = fs::read_to_string(DELAY_ACCOUNTING).ok()?;
        fs::write(DELAY_ACCOUNTING, "1").ok()?;
        Some(DelayAccounting { before })
    }
}

fn is_counting() -> bool {
    fs::read_to_string(DELAY_ACCOUNTING).is_ok_and(|text| text.trim() == "1")
}

impl Drop for DelayAccounting {
    fn drop(&mut self) {
        let _ = fs::write(DELAY_ACCOUNTING, &self.before);
    }
}

#[test]
fn a_task_that_reads_from_a_disk_waits_for_io_root() {
    let Some(file) = FileOnDisk::new(FILE_BYTES).expect("a file is written") else {
        return not_run("it reads a file past the page cache: have the folder of the tests on a disk");
    };
    let accounting = DelayAccounting::start();
    scene_of_times(|| {
        let plan = StatesPlan { file: Some(file.path().to_owned()), ..plan("disk") };
        play(&plan, 1, |case| {
            let io_ns = case.told.states.io_wait_ns;
            case.assert_did("I/O", io_ns, 0);
            case.assert_none(&["blocked", "stopped", "sleep"]);
            // Another program may have turned it off meanwhile.
            let Some(by_kernel_ns) = case.io_delay_ns.filter(|_| accounting.is_some() && is_counting())
            else {
                return;
            };
            println!("  I/O {io_ns} ns, {by_kernel_ns} ns by taskstats");
            let Did { run_delay_ns, begin_ns, end_ns, .. } = case.did;
            if run_delay_ns * 1_000 > (end_ns - begin_ns) * BUSY_THOUSANDTHS {
                // Since 6.12, 152e11f6df29, a task may leave its queue only after its CPU has switched to another: then the kernel
                // begins the delay of that one.
                return not_run("it compares with the delays that the kernel counts: have no other load");
            }
            let slack_ns = by_kernel_ns * KERNEL_THOUSANDTHS / 1_000 + case.did.switches * SWITCH_NS;
            assert!(io_ns.abs_diff(by_kernel_ns) <= slack_ns, "{io_ns} ns told: {case:#?}");
        });
    });
    if accounting.is_none() {
        not_run("it compares with the delays that the kernel counts: have kernel.task_delayacct");
    }
}

/// What a ledger tells of a task that is blocked all the time.
fn blocked(ledger: &mut Ledger, pid: i32) -> Option<Blocked> {
    // Switches that both ledgers miss are not counted: they are of other tasks.
    let mut interval = Interval::default();
    let wanted = make!(Wanted { fields: FieldSet::EMPTY, pids: &[], all: false });
    let cut_ns = ledger.start_ns() + INTERVAL_NS;
    ledger.close(cut_ns, &wanted, &mut interval).expect("an interval closes");
    let all = interval.blocked.expect("the ledger knows them");
    assert_eq!(interval.blocked_tasks, all.len() as u64);
    let found = all.iter().find(|blocked| blocked.task.tid.0 == pid).copied();
    if let Some(found) = found {
        let since_ns = found.since_ns.unwrap_or(interval.end_ns - found.blocked_for_ns);
        assert_eq!(found.blocked_for_ns, interval.end_ns - since_ns);
        assert!(since_ns <= interval.start_ns, "all of the interval: {found:?}");
        assert_eq!(found.process, found.task);
    }
    found
}

#[test]
fn a_task_that_is_blocked_all_the_time_is_named_root() {
    scene_of_times(|| {
        let plan = StatesPlan {
            kind: "hung",
            ms: if is_emulated() { 12_000 } else { 10_000 },
            ..StatesPlan::default()
        };
        let mut load = cpuledger_load::States::start(&plan).expect("a task that is to be blocked");
        let pid = load.pid();
        let mut ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
        load.be_seen().expect("it wakes");
        assert_eq!(blocked(&mut ledger, pid), None, "it sleeps");
        load.begin().expect("it begins");
        let is_blocked = || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
            stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('D'))
        };
        while !is_blocked() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let seen_ns = monotonic_ns();
        assert_eq!(blocked(&mut ledger, pid), None, "it has run in this interval");
        let first = blocked(&mut ledger, pid).expect("it has been blocked all the time");
        assert_eq!((first.for_io, first.comm.as_bytes()), (Some(false), &b"cpuledger-load"[..]));
        let second = blocked(&mut ledger, pid).expect("it still is");
        assert_eq!((second.since_ns, second.blocked_for_ns > first.blocked_for_ns), (first.since_ns, true));
        // One that is attached now has not seen how that began.
        let mut late = Ledger::open(Options::default()).expect("a second ledger");
        assert_eq!(blocked(&mut late, pid), None, "it was not asked to look");
        late.find_blocked().expect("a walk");
        let found = blocked(&mut late, pid).expect("it is blocked");
        assert_eq!((found.since_ns, found.for_io, found.comm), (None, None, first.comm));
        assert!(is_blocked(), "it lasts longer than this");
        let did = load.did().expect("it says what it did");
        let since_ns = first.since_ns.expect("the ledger has seen it");
        assert!((did.begin_ns..=seen_ns).contains(&since_ns), "{since_ns} {did:?}, seen at {seen_ns}");
        for ledger in [&mut ledger, &mut late] {
            assert_eq!(blocked(ledger, pid), None, "it has run");
            assert_eq!(blocked(ledger, pid), None, "it sleeps");
        }
    });
}

/// What lives for several intervals, runs in some of them, waits for a child, and is stopped for a while.
const LIFE: &str = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.5; kill -STOP $$; \
                    i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.2";

/// A process that is killed at the end.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_life_is_what_was_told_of_its_intervals_root() {
    scene_of_times(|| {
        let mut ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
        let attached = cpuledger::clock::boottime();
        let mut interval = Interval::default();
        let shell = Killed(std::process::Command::new("sh").args(["-c", LIFE]).spawn().expect("a shell"));
        let pid = nix::unistd::Pid::from_raw(shell.0.id() as i32);
        let mut told: HashMap<TaskId, Lived> = HashMap::new();
        let (mut compared, mut is_over, mut stopped) = (0, false, 0);
        while !is_over {
            let stat =
                fs::read_to_string(format!("/proc/{pid}/stat")).expect("its parent has not waited for it");
            stopped += u32::from(stat.contains(") T "));
            if stopped == 3 {
                nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGCONT).expect("it is ours");
            }
            let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: true });
            let cut_ns = ledger.start_ns() + INTERVAL_NS;
            ledger.close(cut_ns, &wanted, &mut interval).expect("an interval closes");
            were_missed(interval.missed_switches.expect("the ledger counts them"));
            for (row, usage) in
                interval.tasks.iter().map(|row| (&row.task, &row.usage)).filter(|(_, usage)| !usage.is_unseen)
            {
                let lived = told.entry(row.id()).or_default();
                lived.cpu_ns += usage.cpu_ns;
                usage.states.iter().for_each(|states| lived.states.add(states));
            }
            for exited in interval.exited.iter().flatten() {
                let lived = exited.lived.expect("no slot was lacking");
                assert_eq!(lived.imbalance_ns(), 0, "{exited:?}");
                is_over |= exited.exit.task.tid.0 == pid.as_raw();
                let is_ours = [exited.exit.ppid.0, exited.exit.task.tid.0].contains(&pid.as_raw());
                // One that first ran in the interval after its birth is not told of before that.
                if !is_ours || exited.exit.task.start_time_ns < attached || lived.states.unseen_ns > 0 {
                    continue;
                }
                let mut sum = told.remove(&exited.exit.task).unwrap_or_default();
                sum.cpu_ns += exited.cpu_ns;
                sum.states.add(&exited.states.expect("likewise"));
                assert_eq!(lived, sum, "of all of its intervals: {exited:?}");
                let short_ns = exited.exit.lifetime_ns.abs_diff(lived.states.elapsed_ns);
                // The host may take the CPU between two readings of its clock.
                assert!(short_ns < 20_000_000, "all of its life: {exited:?}");
                compared += 1;
                if is_over {
                    let States { sleep_ns, stopped_ns, .. } = lived.states;
                    assert!(sleep_ns > 700_000_000 && stopped_ns > INTERVAL_NS, "{lived:?}");
                }
            }
        }
        assert!(compared > 0, "the shell, or what it waited for");
    });
}

/// Runnable at once: most of them do not run in an interval.
const RUNNABLE: usize = 300;

/// None of them is told to be asleep, and each has a row: from its fork on it waits for a CPU, whether it has run or not.
#[test]
fn a_task_that_waits_from_its_fork_on_has_a_row_root() {
    scene_of_times(|| {
        let mut ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
        let mut interval = Interval::default();
        // The shell runs before them: they are made faster than they can run.
        let loops = Loops::start(RUNNABLE, &["chrt", "-R", "-f", "1"], "", "sh");
        let (mut pids, mut whole, mut never_ran) = (Vec::new(), 0, 0);
        for round in 0..200 {
            let is_whole = pids.len() == RUNNABLE;
            let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: round % 2 == 1 });
            ledger.close(ledger.start_ns() + INTERVAL_NS, &wanted, &mut interval).expect("it closes");
            were_missed(interval.missed_switches.expect("the ledger counts them"));
            let rows: HashMap<i32, &Usage> =
                interval.processes.iter().map(|row| (row.task.pid.0, &row.usage)).collect();
            for pid in &pids {
                let usage = rows.get(pid).unwrap_or_else(|| panic!("no row of {pid}, all: {}", wanted.all));
                let states = usage.states.expect("the ledger knows it");
                assert_eq!(usage.state_imbalance_ns(), Some(0), "{usage:?}");
                if usage.cpu_ns == 0 {
                    assert_eq!(
                        (states.runqueue_wait_ns, states.sleep_ns),
                        (states.elapsed_ns, 0),
                        "{pid}: {usage:?}"
                    );
                    never_ran += 1;
                }
            }
            whole += usize::from(is_whole);
            if whole == 4 {
                break;
            }
            // Those that are there now are in the next interval from its begin on, or from a moment after it.
            pids = loops.pids();
        }
        assert_eq!((pids.len(), whole), (RUNNABLE, 4), "all of them run, or wait");
        assert!(never_ran > RUNNABLE, "{never_ran} rows of such that did not run");
    });
}
