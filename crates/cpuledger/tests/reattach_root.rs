//! A ledger that cannot be closed is attached anew, and the time between is told; a successor that cannot be had is tried again. Needs
//! root.

mod books;

use std::time::{Duration, Instant};

use books::forks;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval, machine};
use cpuledger_load::ForkingShells;
use cpuledger_load::scene::alone;
use cpuledger_model::make;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const INTERVAL_NS: u64 = 50_000_000;

struct Closing {
    ledger: Ledger,
    interval: Interval,
}

impl Closing {
    fn open(options: Options) -> Closing {
        let ledger = Ledger::open(options).expect("the ledger attaches; it needs root");
        Closing { ledger, interval: Interval::default() }
    }

    /// Closes an interval, which follows the one before and balances.
    fn close(&mut self) {
        let start_ns = self.ledger.start_ns();
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
        let cut_ns = start_ns + INTERVAL_NS;
        self.ledger.close(cut_ns, &wanted, &mut self.interval).expect("an interval");
        assert_eq!((self.interval.start_ns, self.interval.end_ns), (start_ns, self.ledger.start_ns()));
        assert_eq!(self.interval.imbalance_ns(), Some(0));
        assert_eq!(self.interval.unattributed_ns, Some(self.interval.unattributed_by.total_ns()));
    }
}

/// The limit of open files, as it was when this ends.
struct FewFiles(Rlimit);

impl FewFiles {
    /// Room for as many more than are open: enough to read a file, and too few to load programs.
    fn begin(more: i64) -> FewFiles {
        let before = getrlimit(Resource::Nofile);
        let open = std::fs::read_dir("/proc/self/fd").expect("/proc is mounted").count() as u64;
        let few = Rlimit { current: open.checked_add_signed(more), ..before };
        setrlimit(Resource::Nofile, few).expect("a limit can be lowered");
        FewFiles(before)
    }
}

impl Drop for FewFiles {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Nofile, self.0);
    }
}

#[test]
fn a_ledger_that_fails_is_attached_anew_and_the_gap_is_told_root() {
    let _alone = alone();
    let mut closing = Closing::open(Options::default());
    closing.close();
    let shells = ForkingShells::start(1).expect("a shell");
    closing.close();
    for _ in 0..2 {
        closing.ledger.fail_next();
        closing.close();
        let interval = &closing.interval;
        assert!(interval.processes.is_empty() && closing.interval.processes.is_empty());
        assert_eq!(interval.capacity_ns, interval.length_ns() * u64::from(machine::online_cpus()));
        assert_eq!(interval.unattributed_by.not_attached_ns, interval.capacity_ns);
        // The books go on.
        for _ in 0..3 {
            closing.close();
            assert_eq!(closing.interval.unattributed_ns, Some(0));
            assert!(closing.interval.attributed_ns > 0);
        }
        // However busy the machine is, the shell comes to run.
        let is_shell = |pid: i32| shells.pids().any(|shell| shell == pid);
        let begin = Instant::now();
        while !closing.interval.processes.iter().any(|row| is_shell(row.task.pid.0)) {
            assert!(begin.elapsed() < Duration::from_secs(60), "a process that runs has no row");
            closing.close();
        }
    }
}

#[test]
fn while_no_ledger_can_be_had_the_gap_goes_on_root() {
    let _alone = alone();
    let mut closing = Closing::open(Options::default());
    closing.close();
    closing.ledger.fail_next();
    // Those of the failed ledger are closed.
    let few_files = FewFiles::begin(-10);
    for _ in 0..3 {
        closing.close();
        assert_eq!(closing.interval.unattributed_by.not_attached_ns, closing.interval.capacity_ns);
        assert!(closing.interval.length_ns() >= INTERVAL_NS);
    }
    drop(few_files);
    let begin = Instant::now();
    while closing.interval.attributed_ns == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "no ledger was attached again");
        closing.close();
    }
    assert_eq!(closing.interval.unattributed_ns, Some(0));
}

#[test]
fn a_successor_that_cannot_be_had_is_tried_again_root() {
    let _alone = alone();
    let mut closing = Closing::open(make!(Options { slots: 64, may_grow: true }));
    let _shells = ForkingShells::start(2).expect("shells");
    let few_files = FewFiles::begin(4);
    let many = forks() + 300;
    while forks() < many {
        closing.close();
    }
    assert_eq!(closing.ledger.slots(), 64, "there are no files for a successor");
    drop(few_files);
    let begin = Instant::now();
    while closing.ledger.slots() == 64 {
        assert!(begin.elapsed() < Duration::from_secs(60), "no successor was attached");
        closing.close();
    }
}
