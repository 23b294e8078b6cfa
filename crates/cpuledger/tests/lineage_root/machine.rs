//! Everybody else.

use cpuledger::source::procfs::Procfs;
use cpuledger::{Field, FieldSet, Pid, Request, Scope, Snapshot, Source};

use super::books::{Books, alone};

/// The process that makes kernel threads.
const KTHREADD: i32 = 2;

#[test]
fn kernel_threads_are_kthreadds_root() {
    let _alone = alone();
    let mut books = Books::open();
    let mut seen = 0;
    // They wake up for timers, writeback, RCU.
    while seen == 0 {
        books.close(100_000_000);
        assert!(books.intervals < 300, "no kernel thread has run");
        for (row, usage) in books.snapshot.processes.iter().zip(&books.interval.processes) {
            if row.is_kernel_thread() && row.pid.0 != KTHREADD {
                let heir = usage.accounting_parent.map(|pid| pid.0);
                assert_eq!((row.ppid.0, heir), (KTHREADD, Some(KTHREADD)), "{row:?}");
                assert_eq!(usage.exited_threads_ns, Some(0));
                seen += 1;
            }
        }
    }
}

/// Of those that were there before the books, the accounting parent is who was the parent then.
#[test]
fn who_existed_before_has_the_parent_of_then_root() {
    let _alone = alone();
    let mut before = Snapshot::default();
    let request = Request { scope: Scope::Leaders, fields: FieldSet::of(&[Field::Ppid]) };
    Procfs::open().and_then(|mut procfs| procfs.snapshot(&request, &mut before)).expect("procfs");
    let parent_of = |pid: Pid| before.processes.iter().find(|row| row.pid == pid).map(|row| row.ppid);
    let mut books = Books::open();
    books.close(500_000_000);
    let mut seen = 0;
    for (row, usage) in books.snapshot.processes.iter().zip(&books.interval.processes) {
        // Where the parent died in between, it is another.
        if row.ppid.0 > 0 && parent_of(row.pid) == Some(row.ppid) {
            assert_eq!(usage.accounting_parent, Some(row.ppid), "{:?} pid {}", row.comm, row.pid);
            seen += 1;
        }
    }
    assert!(seen > 0, "something ran");
}
