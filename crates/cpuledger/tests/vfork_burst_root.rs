//! A burst of nested vforks, in which all processes live at once and then die one after the other: each keeps its identity as long as
//! there are slots. Beyond that as many do as have slots, and the interval says that others are missing. Needs root.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::task::Comm;
use cpuledger::{FieldSet, Interval, TaskId};
use cpuledger_load::scene::alone;
use cpuledger_load::{Kin, is_emulated};
use cpuledger_model::make;

/// How many processes a burst has. An emulated CPU takes minutes for more.
fn processes() -> u64 {
    if is_emulated() { 200 } else { 1_000 }
}

const INTERVAL_NS: u64 = 100_000_000;
const LIMIT: Duration = Duration::from_secs(300);

/// What the intervals told of a burst.
#[derive(Debug, Default)]
struct Told {
    /// Its dead, by their identities.
    dead: HashSet<TaskId>,
    /// How many rows these have.
    deaths: u64,
    /// The dead of the machine that have no row.
    unidentified: u64,
    /// The most processes of it that had a row in one interval.
    most_rows: usize,
}

impl Told {
    fn add(&mut self, first: i32, interval: &Interval) {
        assert_eq!(interval.imbalance_ns(), Some(0), "{interval:?}");
        let is_of_burst = |comm: Comm| comm == Comm::new(b"cpuledger-load");
        for exited in interval.exited.as_ref().expect("the ledger has them") {
            if is_of_burst(exited.exit.comm) && exited.exit.task.tid.0 != first {
                self.dead.insert(exited.exit.task);
                self.deaths += 1;
            }
        }
        self.unidentified += interval.unidentified_exits.expect("the ledger has them");
        let rows = interval.processes.iter().filter(|row| is_of_burst(row.task.comm)).count();
        self.most_rows = self.most_rows.max(rows);
    }
}

/// Plays a burst beside a ledger of this size.
fn play(slots: u32) -> Told {
    let options = make!(Options { slots, may_grow: false });
    let mut ledger = Ledger::open(options).expect("it attaches; it needs root");
    let mut family = Kin::start_with("vfork-chain", 0, processes()).expect("it starts");
    let first = family.pid();
    let mut interval = Interval::default();
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
    let mut close = |told: &mut Told| {
        let cut_ns = ledger.start_ns() + INTERVAL_NS;
        ledger.close(cut_ns, &wanted, &mut interval).expect("an interval closes");
        told.add(first, &interval);
    };
    let mut told = Told::default();
    close(&mut Told::default());
    thread::scope(|scope| {
        let burst = scope.spawn(|| {
            family.begin().expect("it begins");
            family.brood(LIMIT).expect("it ends")
        });
        while !burst.is_finished() {
            close(&mut told);
        }
        assert_eq!(burst.join().expect("no panic").children, processes(), "all of them were made");
    });
    close(&mut told);
    let Told { dead, unidentified, most_rows, .. } = &told;
    println!("{slots} slots: {} identities, {unidentified} lost, {most_rows} rows", dead.len());
    told
}

#[test]
fn each_process_of_a_burst_has_its_row_root() {
    let _alone = alone();
    let told = play(4 * processes() as u32);
    assert_eq!(told.dead.len() as u64, processes(), "each keeps its identity");
    assert_eq!(told.deaths, processes(), "and dies once");
    assert_eq!(told.unidentified, 0);
}

#[test]
fn a_burst_that_has_too_few_slots_is_told_as_far_as_they_reach_root() {
    let _alone = alone();
    let slots = processes() / 2;
    let told = play(slots as u32);
    let dead = told.dead.len() as u64;
    assert_eq!(told.deaths, dead, "no identity twice");
    // Of an eighth the time is kept, but no identity. Others of the machine have slots, too.
    assert!(dead >= slots / 2 && dead < processes(), "{dead} of {slots} slots");
    assert!(dead + told.unidentified >= processes(), "each of the others is counted: {}", told.unidentified);
}
