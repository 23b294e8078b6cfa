//! Through the library: the processes hold what was attributed, and with idle time that is all there was. Needs root.

mod books;

use std::any::Any;
use std::time::Duration;

use books::{Books, alone};
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval, Snapshot};
use cpuledger_load::{ForkingShells, Kin, Mixture, Storm, StormPlan};

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
        assert!(books.interval.processes.iter().all(|usage| usage.cpu_ns <= capacity_ns));
    }
    let lost = books.ledger.lost();
    println!("{} intervals, {} deaths, {lost:?}", books.intervals - begin, books.exited.len() - quiet);
    assert!(!lost.is_short_of_slots() && lost.contended == 0, "{lost:?}");
    assert!(books.exited.len() - quiet > 100, "a storm makes tasks that die");
    // The shells that fork have what their children left them.
    for &shell in mixture.forking_shells() {
        let held = books.held[&books.process(shell)];
        assert!(held.exited_children_ns > held.self_ns, "{shell}: {held:?}");
    }
}

/// 60 intervals under each load with CPULEDGER_TEST_FULL=1, which takes four minutes; else as many as take some seconds.
fn lengths() -> impl Iterator<Item = u64> {
    let is_full = std::env::var_os("CPULEDGER_TEST_FULL").is_some_and(|value| value == "1");
    let (lengths, count) = if is_full { (&LENGTHS_NS[..], 60) } else { (&LENGTHS_NS[..1], 10) };
    lengths.iter().copied().cycle().take(count)
}

/// Closes intervals one after another, each of which balances to 0 ns with nothing unattributed, under a load of that name.
fn assert_balance_under<L: Any>(name: &str, load: impl FnOnce() -> L) {
    let mut ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
    let load = load();
    let (mut snapshot, mut interval) = (Snapshot::default(), Interval::default());
    let wanted = Wanted { fields: FieldSet::ALL, pids: &[], all: false };
    let begin_ns = ledger.start_ns();
    let (mut intervals, mut deaths) = (0, 0);
    for length_ns in lengths() {
        let start_ns = ledger.start_ns();
        ledger
            .close(start_ns + length_ns, &wanted, &mut snapshot, &mut interval)
            .expect("an interval closes");
        assert_eq!(interval.start_ns, start_ns, "no time between two intervals");
        assert_eq!(interval.imbalance_ns(), Some(0), "{name}, interval {intervals}");
        assert_eq!(interval.unattributed_ns, Some(0), "{name}, interval {intervals}");
        let sum: u64 = interval.processes.iter().map(|usage| usage.cpu_ns).sum();
        assert_eq!(sum, interval.attributed_ns, "{name}, interval {intervals}");
        intervals += 1;
        deaths += interval.exited.as_ref().map_or(0, Vec::len);
    }
    let seconds = Duration::from_nanos(ledger.start_ns() - begin_ns).as_secs_f64();
    println!("{name}: {intervals} intervals, {:.0} deaths a second, 0 ns", deaths as f64 / seconds);
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
    assert_balance_under("200 tasks at pipes", || {
        let mut kin = Kin::start("ping-pong", 0).expect("tasks at pipes");
        kin.begin().expect("they begin");
        kin
    });
}
