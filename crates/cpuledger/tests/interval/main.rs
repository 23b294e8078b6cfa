//! The books of intervals against a naive reference, from increments as the ledger delivers them and from snapshots and exits as
//! a walk does: the same histories, the same books.

mod rules;
mod world;

use std::collections::BTreeMap;

use cpuledger::attribution::Attribution;
use cpuledger::attribution::difference::CutFacts;
use cpuledger::interval::Row;
use cpuledger::{Books, Interval, Snapshot};
use proptest::prelude::*;
use world::{Heirs, World};

#[derive(Debug, Clone, Copy)]
enum Event {
    Fork(usize),
    Spawn(usize),
    Run(usize, u64),
    Exit(usize),
    Linger(usize),
    ExitGroup(usize),
    Reap(usize),
    Exec(usize),
    Flush,
    Suspend(u64),
    /// The walk.
    Cut,
    /// The exits are read.
    Drain,
}

fn event() -> impl Strategy<Value = Event> {
    let who = 0usize..64;
    prop_oneof![
        4 => who.clone().prop_map(Event::Fork),
        3 => who.clone().prop_map(Event::Spawn),
        12 => (who.clone(), 1u64..1_000_000).prop_map(|(who, ns)| Event::Run(who, ns)),
        3 => who.clone().prop_map(Event::Exit),
        2 => who.clone().prop_map(Event::ExitGroup),
        3 => who.clone().prop_map(Event::Reap),
        1 => who.prop_map(Event::Exec),
        1 => (1u64..2_000_000_000_000).prop_map(Event::Suspend),
        3 => Just(Event::Cut),
        2 => Just(Event::Drain),
    ]
}

/// As [`event`], and tasks leave the list before their last switch.
fn lingering_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        10 => event().prop_filter("an exec waits for its threads", |event| !matches!(event, Event::Exec(_))),
        1 => (0usize..64).prop_map(Event::Linger),
        1 => Just(Event::Flush),
    ]
}

fn act(world: &mut World, event: Event) {
    match event {
        Event::Fork(who) => world.fork(world.living(who)),
        Event::Spawn(who) => world.spawn(world.living(who)),
        Event::Run(who, ns) => world.run(world.living(who), ns),
        Event::Exit(who) => world.exit(world.living(who), false),
        Event::Linger(who) => world.exit(world.living(who), true),
        Event::ExitGroup(who) => world.exit_group(world.living(who)),
        Event::Reap(nth) => world.reap(nth),
        Event::Exec(who) => world.exec(world.living(who)),
        Event::Flush => world.flush(),
        Event::Suspend(ns) => world.suspend(ns),
        Event::Cut | Event::Drain => {}
    }
}

/// The books, and a snapshot whose exits have not been read yet.
struct Reader {
    books: Books,
    open: Option<Snapshot>,
    interval: Interval,
}

impl Reader {
    fn new() -> Reader {
        Reader { books: Books::new(true), open: None, interval: Interval::default() }
    }

    /// Reads the exits; the shares of the closed interval, unless it was the first cut.
    fn drain(&mut self, world: &mut World) -> Option<BTreeMap<i32, [u64; 3]>> {
        let snapshot = self.open.take()?;
        let cut = CutFacts::new(1, true);
        let is_closed = self.books.close(&cut, &snapshot, &mut world.exits, &mut self.interval);
        check(&self.interval);
        let mut shares = BTreeMap::new();
        for Row { task: row, usage, .. } in &self.interval.processes {
            let parts = [
                usage.self_ns,
                usage.exited_threads_ns.expect("the walk sees exits"),
                usage.exited_children_ns.expect("the walk sees exits"),
            ];
            assert_eq!(usage.cpu_ns, parts.iter().sum::<u64>());
            if usage.cpu_ns > 0 {
                shares.insert(row.pid.0, parts);
            }
        }
        is_closed.then_some(shares)
    }
}

/// The books of a source that delivers increments.
#[derive(Default)]
struct Ledger {
    attribution: Attribution,
}

impl Ledger {
    /// Each process with time: its own, that of its exited threads, and that of its exited children.
    fn close(&mut self, world: &mut World) -> BTreeMap<i32, [u64; 3]> {
        let mut accounts = Default::default();
        let now_ns = world.monotonic_ns();
        self.attribution.settle(now_ns, &world.increments(), &mut accounts);
        let with_time = accounts.into_iter().filter(|(_, parts)| parts.total_ns() > 0);
        let shares = with_time.map(|(process, parts)| {
            (process.tid.0, [parts.self_ns, parts.exited_threads_ns, parts.exited_children_ns])
        });
        let shares = shares.collect();
        self.attribution.forget(now_ns);
        shares
    }
}

fn check(interval: &Interval) {
    let sum: u64 = interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
    assert_eq!(sum, interval.attributed_ns);
    let tasks: u64 = interval.tasks.iter().map(|row| row.usage.cpu_ns).sum();
    let exited: u64 = interval.exited.iter().flatten().map(|exited| exited.cpu_ns).sum();
    assert_eq!(tasks + exited, interval.attributed_ns, "tasks and exits are the same time told otherwise");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Every interval, every process, every part: to the nanosecond. Where a hook sees the forks, the walk has the same books as
    /// the ledger.
    #[test]
    fn each_nanosecond_is_where_it_belongs(
        events in prop::collection::vec(event(), 1..160),
        heirs in prop_oneof![Just(Heirs::ByFork), Just(Heirs::ByFirstSight)],
    ) {
        let mut world = World::new(1_000_000_000, heirs);
        let (mut reader, mut ledger) = (Reader::new(), Ledger::default());
        let mut expected = None;
        let mut cuts = 0;
        for event in events.into_iter().chain([Event::Cut, Event::Drain]) {
            act(&mut world, event);
            if matches!(event, Event::Cut | Event::Drain) && reader.open.is_some() {
                let shares = reader.drain(&mut world);
                if let (Some(shares), Some(expected)) = (shares, expected.take()) {
                    prop_assert_eq!(shares, expected, "cut {}", cuts);
                }
            }
            if matches!(event, Event::Cut) {
                reader.open = Some(world.snapshot());
                let booked = ledger.close(&mut world);
                let reference = world.reference();
                if heirs == Heirs::ByFork {
                    prop_assert_eq!(&booked, &reference, "cut {} of the ledger", cuts);
                }
                expected = Some(reference);
                cuts += 1;
            }
        }
    }

    /// Tasks that leave the list before their last switch: nothing is lost and nothing counted twice in the end.
    #[test]
    fn nothing_is_lost_in_the_end(
        events in prop::collection::vec(lingering_event(), 1..160),
        heirs in prop_oneof![Just(Heirs::ByFork), Just(Heirs::ByFirstSight)],
    ) {
        let mut world = World::new(1_000_000_000, heirs);
        let mut reader = Reader::new();
        let mut attributed_ns = 0;
        reader.open = Some(world.snapshot());
        reader.drain(&mut world);
        let last = [Event::Cut, Event::Drain, Event::Flush, Event::Cut, Event::Drain];
        let mut lingered = 0;
        for event in events.into_iter().chain(last) {
            // No one lingers for more than one interval.
            if matches!(event, Event::Cut) {
                lingered += 1;
                if lingered % 2 == 0 {
                    world.flush();
                }
            }
            act(&mut world, event);
            if matches!(event, Event::Cut | Event::Drain) && reader.open.is_some() {
                reader.drain(&mut world);
                attributed_ns += reader.interval.attributed_ns;
            }
            if matches!(event, Event::Cut) {
                reader.open = Some(world.snapshot());
            }
        }
        prop_assert_eq!(attributed_ns, world.total_ns);
    }
}
