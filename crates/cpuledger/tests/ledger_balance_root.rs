//! Through the library: the processes hold what was attributed, and with idle time that is all there was. Needs root.

mod books;

use books::{Books, alone};
use cpuledger_load::Mixture;

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
