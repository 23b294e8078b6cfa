//! What the ledger says that tasks did while they were on no CPU, of programs that know what they did. Needs root.
//!
//! A task's own clocks tell how long it was not executed. The ledger's time on a CPU has what the hypervisor and interrupts took, too. So
//! its time on none is less by that.

mod books;

use std::collections::HashMap;
use std::fs;

use books::is_full;
use cpuledger::interval::Usage;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval, Snapshot, States};
use cpuledger_load::scene::{scene_of_times, were_missed};
use cpuledger_load::{Cgroup, Did, FileOnDisk, StatesPlan, is_emulated, not_run, online_cpus};

const INTERVAL_NS: u64 = 150_000_000;
/// Of the time of a task, in thousandths, by which an account may be off.
const TOLERANCE_THOUSANDTHS: u64 = 2;
/// An emulated CPU takes a good part of each turn between a switch and its hook.
const EMULATED_THOUSANDTHS: u64 = 200;
/// From the clock of a task to a switch, or back, for each of its switches.
const SWITCH_NS: u64 = 2_000;
/// By its own CPU clock a task is executed from the last time on that its run queue has looked at the clock. The hook comes after that, and
/// after the hooks of others; where the CPU was idle, its caches are cold.
const HOOK_NS: u64 = 20_000;
/// A task that is preempted is queued, by the kernel's clock, before the hook has seen it leave.
const QUEUE_NS: u64 = 5_000;
/// Of what the kernel counts as waiting, in thousandths.
const KERNEL_THOUSANDTHS: u64 = 5;
/// The same where the CPU is emulated: it loses its turn between the two clocks.
const EMULATED_KERNEL_THOUSANDTHS: u64 = 50;
const TICK_NS: u64 = 10_000_000;
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
        let most_ns = self.did.most_ns + self.did.switches * HOOK_NS;
        self.assert_near(what, told_ns, least_ns + outside_ns, most_ns + outside_ns);
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
        let most_ns = did.off_ns + outside_ns + did.switches * HOOK_NS;
        self.assert_near("off the CPU", told.states.off_ns(), off_ns, most_ns);
        let wait_ns = told.states.runqueue_wait_ns;
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
        assert!(wait_ns.abs_diff(did.run_delay_ns) <= slack_ns, "waited {wait_ns} ns: {self:#?}");
        assert_eq!(told.states.unseen_ns, 0, "{self:#?}");
        assert!(did.off_ns > 0 && told.cpu_ns > 0, "{self:#?}");
    }
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
    let (mut snapshot, mut interval) = (Snapshot::default(), Interval::default());
    let wanted = Wanted { fields: FieldSet::ALL, pids: &[], all: true };
    let mut told: HashMap<i32, Told> = HashMap::new();
    states.be_seen().expect("they wake");
    let seen_ns = ledger.start_ns() + 3 * INTERVAL_NS;
    ledger.close(seen_ns, &wanted, &mut snapshot, &mut interval).expect("an interval closes");
    let first_ns = ledger.start_ns();
    let mut close = |ledger: &mut Ledger| {
        let cut_ns = ledger.start_ns() + INTERVAL_NS;
        ledger.close(cut_ns, &wanted, &mut snapshot, &mut interval).expect("an interval closes");
        were_missed(interval.missed_switches);
        for (row, usage) in snapshot.tasks.iter().zip(&interval.tasks).filter(|(_, usage)| !usage.is_unseen) {
            told.entry(row.tid.0).or_default().add(usage);
        }
    };
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
    println!("{}:", plan.kind);
    for did in did.expect("each says what it did") {
        let told = told[&did.tid];
        assert_eq!(told.states.elapsed_ns, last_ns - first_ns, "it was alive all the time: {told:?}");
        let thousandths = if is_emulated() { EMULATED_THOUSANDTHS } else { TOLERANCE_THOUSANDTHS };
        let tolerance_ns = (last_ns - first_ns) * thousandths / 1_000 + did.switches * SWITCH_NS;
        let outside_ns = did.begin_ns - first_ns + last_ns - did.end_ns;
        let case = Case { did, told, outside_ns, tolerance_ns };
        case.assert_whole();
        check(&case);
    }
}

fn plan(kind: &'static str) -> StatesPlan {
    StatesPlan { kind, ms: if is_full() { 5_000 } else { 2_000 }, ..StatesPlan::default() }
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
            let by_kernel_ns = case.did.block_ticks * TICK_NS;
            println!("  I/O {io_ns} ns, {by_kernel_ns} ns by the kernel's ticks");
            // Another program may have turned it off meanwhile.
            if accounting.is_some() && is_counting() {
                let slack_ns =
                    by_kernel_ns * KERNEL_THOUSANDTHS / 1_000 + TICK_NS + case.did.switches * HOOK_NS;
                assert!(io_ns.abs_diff(by_kernel_ns) <= slack_ns, "{io_ns} ns told: {case:#?}");
            }
        });
    });
    if accounting.is_none() {
        not_run("it compares with the delays that the kernel counts: have kernel.task_delayacct");
    }
}
