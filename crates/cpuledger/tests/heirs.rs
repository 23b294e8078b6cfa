//! What it costs to find the heirs of all that died in an interval, counted in visited members: it follows the deaths, whatever the shape
//! of forks that a user makes. `benches/heirs.rs` has it in nanoseconds.

use std::collections::HashMap;

use cpuledger::attribution::{Attribution, Parts};

mod forests;

use forests::{Order, Shape, attribution, deaths, root};

const SECOND_NS: u64 = 1_000_000_000;

/// Members that are visited for each death, as a source asks: to settle, for the record of each, and to forget them.
fn steps_per_death(shape: Shape, order: Order, count: u64, intervals: u64) -> f64 {
    let mut attribution = attribution();
    let mut accounts = HashMap::with_hasher(Default::default());
    let deaths = deaths(shape, order, count);
    let (mut now_ns, mut inherited_ns) = (0, 0);
    for part in deaths.chunks(count.div_ceil(intervals) as usize) {
        // Those that die later are known, and live.
        for entry in &deaths {
            attribution.add(entry.process, entry.parent.expect("each has one"));
        }
        now_ns += SECOND_NS;
        attribution.settle(now_ns, part, &mut accounts);
        inherited_ns += accounts.values().map(Parts::total_ns).sum::<u64>();
        for entry in part {
            let heir = attribution.heir(entry.process);
            assert!(!attribution.is_dead(heir), "{shape:?} {order:?}: {heir:?} inherits and is dead");
        }
        attribution.forget(now_ns);
    }
    assert_eq!(inherited_ns, count);
    // Beyond 65,536, the oldest are forgotten.
    for entry in deaths.iter().filter(|entry| attribution.is_dead(entry.process)).collect::<Vec<_>>() {
        assert_eq!(attribution.heir(entry.process), root());
    }
    attribution.forget(now_ns + 60 * SECOND_NS);
    assert!(attribution.len() <= 2, "{} are left", attribution.len());
    attribution.steps() as f64 / count as f64
}

#[test]
fn the_heirs_of_an_interval_cost_what_died_in_it() {
    for shape in Shape::ALL {
        for order in Order::ALL {
            let [few, many] = [1_000, 100_000].map(|count| steps_per_death(shape, order, count, 1));
            assert!(many <= 2.0 * few, "{shape:?} {order:?}: {few} steps a death, and {many} of 100,000");
            assert!(many <= 8.0, "{shape:?} {order:?}: {many} steps a death");
        }
    }
}

/// The dead of former intervals are on the ways of those that die later.
#[test]
fn the_dead_of_former_intervals_are_passed_once() {
    for shape in Shape::ALL {
        for order in Order::ALL {
            let [few, many] = [1_000, 20_000].map(|count| steps_per_death(shape, order, count, 20));
            assert!(many <= 2.0 * few, "{shape:?} {order:?}: {few} steps a death, and {many} of 20,000");
        }
    }
}

/// No fork makes one. If a source says so all the same, each is walked once.
#[test]
fn a_circle_of_the_dead_is_walked_once() {
    let mut attribution = Attribution::default();
    let circle = deaths(Shape::Chain, Order::ParentsFirst, 10_000);
    let [first, last] = [circle[0].process, circle[9_999].process];
    attribution.add(first, last);
    let mut accounts = HashMap::with_hasher(Default::default());
    attribution.settle(SECOND_NS, &circle, &mut accounts);
    assert_eq!(accounts.values().map(Parts::total_ns).sum::<u64>(), 10_000);
    assert!(attribution.steps() <= 100_000, "{} steps", attribution.steps());
    attribution.forget(60 * SECOND_NS);
    assert_eq!(attribution.len(), 0);
}
