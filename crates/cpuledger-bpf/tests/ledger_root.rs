//! The books balance to the nanosecond, whatever the machine does. Needs root.

use std::time::Duration;

use cpuledger_bpf::abi;
use cpuledger_bpf::ledger::{Interval, Ledger, Lost, Options};
use cpuledger_load::{Storm, StormPlan, is_emulated};

/// Maximum number of times that a storm is given more time.
const STORM_LIMIT: usize = 20;

/// CPUs that stay online are in the books for the whole interval, and seen in all of it.
fn assert_balance(interval: &Interval<'_>) {
    for cpu in interval.cpus {
        let length_ns = interval.end_ns - interval.start_ns;
        assert_eq!((cpu.online_ns, cpu.uncovered_ns), (length_ns, 0), "CPU {} entered late", cpu.cpu);
    }
    assert_eq!(
        interval.imbalance_ns(),
        0,
        "interval {} of {} ns: {} attributed, {} idle, {} unattributed",
        interval.number,
        interval.capacity_ns(),
        interval.attributed_ns(),
        interval.idle_ns(),
        interval.unattributed_ns()
    );
}

/// What each task did off the CPU adds up with its time on one.
fn assert_off(interval: &Interval<'_>) {
    for task in interval.tasks {
        let Some(off) = task.off else { continue };
        let end_ns = if task.is_last { task.slot.end_ns_or_batch } else { interval.end_ns };
        let alive_ns = end_ns - off.begin_ns.min(end_ns);
        assert_eq!(task.wall_ns + off.time.iter().sum::<u64>(), alive_ns, "{task:?}");
        assert!(!(task.is_running && off.at_cut.is_some()), "{task:?}");
    }
}

/// How long a switch that the kernel hides may stay undetected: until the next one on its CPU.
const PATIENCE_NS: u64 = 3_000_000_000;

/// Time off the CPU that is booked twice or not at all. Only switches that the kernel hides from the hooks make some.
struct Faults {
    /// Hidden switches that were found.
    missed: u64,
    unexplained_ns: u64,
}

impl Faults {
    /// An interval has these. `missed` is the number of hidden switches that were found up to its end.
    fn add(&mut self, fault_ns: u64, missed: u64) {
        let is_explained = std::mem::replace(&mut self.missed, missed) < missed;
        self.unexplained_ns = if is_explained { 0 } else { self.unexplained_ns + fault_ns };
    }
}

/// Closes intervals of `length` for as long as `total`, or an eighth of it where the CPU is emulated, and checks each. Returns how many, and how many tasks were seen dead.
fn run(ledger: &mut Ledger, length: Duration, total: Duration) -> (u64, u64) {
    let (mut intervals, mut deaths) = (0, 0);
    let mut faults = Faults { missed: ledger.lost().missed, unexplained_ns: 0 };
    let total = if is_emulated() { total / 8 } else { total };
    let end_ns = ledger.start_ns() + total.as_nanos() as u64;
    let patience_ns = end_ns + PATIENCE_NS;
    // From when the last one has ended, not from when it should have: a busy machine shall not take longer, but fewer.
    while ledger.start_ns() < end_ns || (faults.unexplained_ns > 0 && ledger.start_ns() < patience_ns) {
        let cut_ns = ledger.start_ns() + length.as_nanos() as u64;
        let interval = ledger.close_interval(cut_ns).expect("an interval closes");
        assert_balance(&interval);
        assert!(interval.end_ns >= cut_ns);
        intervals += 1;
        deaths += interval.tasks.iter().filter(|task| task.is_last).count() as u64;
        assert_off(&interval);
        let fault_ns = interval.off_fault_ns;
        faults.add(fault_ns, ledger.lost().missed);
    }
    assert_eq!(faults.unexplained_ns, 0, "in {intervals} intervals");
    (intervals, deaths)
}

/// Switches that the kernel does not show cannot be helped.
fn assert_nothing_lost(lost: &Lost) {
    assert!(!lost.is_short_of_slots() && lost.contended == 0, "{lost:?}");
}

/// As [`run`], and on for as long as a slow machine needs until a storm has made tasks that die.
fn run_storm(ledger: &mut Ledger, length: Duration, total: Duration) -> (u64, u64) {
    let (mut intervals, mut deaths) = run(ledger, length, total);
    for _ in 0..STORM_LIMIT {
        if deaths > 100 {
            break;
        }
        let (more, died) = run(ledger, length, total);
        (intervals, deaths) = (intervals + more, deaths + died);
    }
    assert!(deaths > 100, "a storm makes tasks that die, and {deaths} did");
    (intervals, deaths)
}

fn attach() -> Ledger {
    Ledger::attach(Options::default()).expect("the ledger attaches; it needs root")
}

#[test]
fn idle_balances_root() {
    let mut ledger = attach();
    let (intervals, _) = run(&mut ledger, Duration::from_millis(100), Duration::from_secs(2));
    println!("{intervals} intervals, {} KiB locked", ledger.locked_bytes() / 1024);
    assert_nothing_lost(&ledger.lost());
}

/// The tasks of the machine, by the kernel's count.
fn living_tasks() -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").expect("/proc is mounted");
    let tasks = load.split_whitespace().nth(3).and_then(|field| field.split('/').nth(1));
    tasks.and_then(|tasks| tasks.parse().ok()).expect("the fourth field is running/all")
}

/// What all CPUs share is written once in as many forks, exits and first runs as are in a batch.
#[test]
fn a_storm_writes_shared_lines_once_a_batch_root() {
    const INTERVALS: u64 = 4;
    let batch = u64::from(abi::CPULEDGER_SLOT_BATCH.min(abi::CPULEDGER_LIST_BATCH));
    for threads in [false, true] {
        let mut ledger = attach();
        let storm = Storm::start(&StormPlan { workers: 1, threads, ..StormPlan::default() });
        let storm = storm.expect("tasks are made");
        let (mut deaths, mut listed, mut cpus) = (0, 0, 0);
        let mut before = ledger.shared_writes();
        for number in 0..=INTERVALS {
            let cut_ns = ledger.start_ns() + 500_000_000;
            let interval = ledger.close_interval(cut_ns).expect("an interval closes");
            if number > 0 {
                deaths += interval.tasks.iter().filter(|task| task.is_last).count() as u64;
                listed += interval.tasks.len() as u64;
                cpus = interval.cpus.len() as u64;
            }
            if number == 0 {
                before = ledger.shared_writes();
            }
        }
        let after = ledger.shared_writes();
        storm.stop().expect("the storm ends");
        let (slots, places) = (after.slots - before.slots, after.places - before.places);
        println!("{deaths} deaths, {listed} listed: {slots} writes for slots, {places} for places");
        assert!(deaths > 100, "a storm makes tasks that die");
        // Those that live on and the last cut's were born, too; the reader gives back once an interval.
        assert!(slots <= (deaths + listed) / batch + INTERVALS + cpus, "{slots} writes for {deaths} forks");
        // Each CPU may leave a part of its last places, in the closed interval and in the next.
        assert!(
            places <= listed / batch + 2 * cpus * (INTERVALS + 1),
            "{places} writes for {listed} first runs"
        );
        // No slot is lost: a living task has one at most, a CPU has two batches, the reader keeps less than one.
        let interval = ledger.close_interval(0).expect("an interval closes");
        let taken = u64::from(Options::default().slots) - interval.free_slots;
        let (living, died) = (living_tasks(), interval.tasks.len() as u64);
        assert!(
            taken <= living + died + (2 * cpus + 1) * batch,
            "{taken} slots are taken, {living} tasks live"
        );
    }
}

#[test]
fn a_storm_of_threads_balances_root() {
    let mut ledger = attach();
    let plan = StormPlan { workers: 2, threads: true, ..StormPlan::default() };
    let storm = Storm::start(&plan).expect("threads are made");
    let (intervals, deaths) = run_storm(&mut ledger, Duration::from_millis(5), Duration::from_secs(4));
    storm.stop().expect("the storm ends");
    println!("{intervals} intervals, {deaths} deaths, {:?}", ledger.lost());
    assert_nothing_lost(&ledger.lost());
}

#[test]
fn too_few_slots_lose_names_and_no_time_root() {
    let mut ledger =
        Ledger::attach(Options { slots: 24.max(abi::CPULEDGER_MIN_SLOTS), ..Options::default() })
            .expect("the ledger attaches");
    for threads in [false, true] {
        let plan = StormPlan { workers: 4, threads, ..StormPlan::default() };
        let storm = Storm::start(&plan).expect("tasks are made");
        let (intervals, deaths) = run(&mut ledger, Duration::from_millis(10), Duration::from_secs(2));
        // Thousands of cuts while every CPU switches all the time: what the reader and a hook could both write is seen.
        let (more, also) = run(&mut ledger, Duration::from_micros(500), Duration::from_secs(4));
        storm.stop().expect("the storm ends");
        println!("{} intervals, {} deaths, {:?}", intervals + more, deaths + also, ledger.lost());
    }
    assert!(ledger.lost().folded_processes + ledger.lost().folded_threads + ledger.lost().no_slot > 0);
}
