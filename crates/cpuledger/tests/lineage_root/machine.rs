//! All other processes of the machine.

use cpuledger::interval::Row;
use cpuledger::source::procfs::Procfs;
use cpuledger::{Field, FieldSet, Pid, Request, Scope, Snapshot, Source};

use super::{books, new_books};
use cpuledger_load::scene::scene;

/// The process that makes kernel threads.
const KTHREADD: i32 = 2;

#[test]
fn kernel_threads_are_kthreadds_root() {
    scene(|| {
        let mut books = books();
        let mut seen = 0;
        let limit = books.intervals + 300;
        // They wake up for timers, writeback, RCU.
        while seen == 0 {
            books.close(100_000_000);
            assert!(books.intervals < limit, "no kernel thread has run");
            for Row { task: row, usage, .. } in &books.interval.processes {
                if row.is_kernel_thread() && row.pid.0 != KTHREADD {
                    let heir = usage.accounting_parent.map(|pid| pid.0);
                    assert_eq!((row.ppid.0, heir), (KTHREADD, Some(KTHREADD)), "{row:?}");
                    assert_eq!(usage.exited_threads_ns, Some(0));
                    seen += 1;
                }
            }
        }
    });
}

/// A process from before the books keeps the parent it had then as its accounting parent.
#[test]
fn a_process_from_before_keeps_its_parent_of_then_root() {
    scene(|| {
        let mut before = Snapshot::default();
        let request = Request::new(Scope::Leaders, FieldSet::of(&[Field::Ppid]));
        Procfs::open().and_then(|mut procfs| procfs.snapshot(&request, &mut before)).expect("procfs");
        let parent_of = |pid: Pid| before.processes.iter().find(|row| row.pid == pid).map(|row| row.ppid);
        let mut books = new_books();
        books.close(500_000_000);
        let mut seen = 0;
        for Row { task: row, usage, .. } in &books.interval.processes {
            // Where the parent died in between, it is another.
            if row.ppid.0 > 0 && parent_of(row.pid) == Some(row.ppid) {
                assert_eq!(usage.accounting_parent, Some(row.ppid), "{:?} pid {}", row.comm, row.pid);
                seen += 1;
            }
        }
        assert!(seen > 0, "something ran");
    });
}

/// A process that is hidden from programs is read from files, which tell a start in ticks: it has one identity all the same.
#[test]
fn a_process_and_its_leader_are_one_root() {
    scene(|| {
        let mut books = books();
        let (mut compared, mut from_files) = (0, 0);
        for _ in 0..5 {
            books.close(200_000_000);
            let rows = &books.interval.processes;
            for leader in books.interval.tasks.iter().map(|row| &row.task).filter(|task| task.is_leader()) {
                let Some(process) = rows.iter().map(|row| &row.task).find(|row| row.pid == leader.pid) else {
                    continue;
                };
                assert_eq!(process.id(), leader.id(), "{:?}", process.comm);
                compared += 1;
            }
            from_files += rows.iter().filter(|row| !row.task.known.contains(Field::CgroupV1CpuId)).count();
        }
        println!("{compared} leaders compared, {from_files} rows without what only programs see");
        assert!(compared > 0, "something ran");
    });
}
