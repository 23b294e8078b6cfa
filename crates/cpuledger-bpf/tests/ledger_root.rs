//! The books balance to the nanosecond, whatever the machine does. Needs root.

use std::time::Duration;

use cpuledger_bpf::abi;
use cpuledger_bpf::ledger::{Interval, Ledger, Lost, Options};
use cpuledger_load::{Storm, StormPlan};

/// CPUs that stay online are in the books for the whole interval.
fn assert_balance(interval: &Interval<'_>) {
    for cpu in interval.cpus {
        assert_eq!(cpu.begin_ns, interval.start_ns, "CPU {} entered late", cpu.cpu);
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

/// Closes intervals of `length` for as long as `total` and checks each. Returns how many, and how many tasks were seen dead.
fn run(ledger: &mut Ledger, length: Duration, total: Duration) -> (u64, u64) {
    let (mut intervals, mut deaths) = (0, 0);
    let mut cut_ns = ledger.start_ns();
    let end_ns = cut_ns + total.as_nanos() as u64;
    while cut_ns < end_ns {
        cut_ns += length.as_nanos() as u64;
        let interval = ledger.close_interval(cut_ns).expect("an interval closes");
        assert_balance(&interval);
        assert!(interval.end_ns >= cut_ns);
        intervals += 1;
        deaths += interval.tasks.iter().filter(|task| task.is_last).count() as u64;
    }
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
    assert_eq!(ledger.lost(), Lost::default());
}

#[test]
fn a_storm_of_processes_balances_root() {
    let mut ledger = attach();
    let plan = StormPlan { workers: 3, ..StormPlan::default() };
    let storm = Storm::start(&plan).expect("processes are made");
    let (intervals, deaths) = run(&mut ledger, Duration::from_millis(20), Duration::from_secs(4));
    let (more, _) = run(&mut ledger, Duration::from_secs(1), Duration::from_secs(2));
    storm.stop().expect("the storm ends");
    println!("{} intervals, {deaths} deaths, {:?}", intervals + more, ledger.lost());
    assert_eq!(ledger.lost(), Lost::default());
    assert!(deaths > 100, "a storm makes tasks that die");
}

#[test]
fn a_storm_of_threads_balances_root() {
    let mut ledger = attach();
    let plan = StormPlan { workers: 2, threads: true, ..StormPlan::default() };
    let storm = Storm::start(&plan).expect("threads are made");
    let (intervals, deaths) = run(&mut ledger, Duration::from_millis(5), Duration::from_secs(4));
    storm.stop().expect("the storm ends");
    println!("{intervals} intervals, {deaths} deaths, {:?}", ledger.lost());
    assert_eq!(ledger.lost(), Lost::default());
    assert!(deaths > 100, "a storm makes tasks that die");
}

#[test]
fn too_few_slots_lose_names_and_no_time_root() {
    let mut ledger =
        Ledger::attach(Options { slots: 24.max(abi::CPULEDGER_MIN_SLOTS) }).expect("the ledger attaches");
    for threads in [false, true] {
        let plan = StormPlan { workers: 4, threads, ..StormPlan::default() };
        let storm = Storm::start(&plan).expect("tasks are made");
        let (intervals, deaths) = run(&mut ledger, Duration::from_millis(10), Duration::from_secs(2));
        storm.stop().expect("the storm ends");
        println!("{intervals} intervals, {deaths} deaths, {:?}", ledger.lost());
    }
    assert!(ledger.lost().folded_processes + ledger.lost().folded_threads + ledger.lost().no_slot > 0);
}
