//! What a user is shown of made books, and that it does not depend on what others do.

use std::sync::Arc;

use crate::boottime::Boottime;
use crate::counters::Counters;
use crate::exit::Exit;
use crate::frame::{Column, Frame, Section};
use crate::framing::{self, Circumstances};
use crate::interval::{Blocked, Exited, Interval, MOST_BLOCKED, Owner, Renumbered, Row, Unattributed, Usage};
use crate::snapshot::Snapshot;
use crate::task::{Comm, Tid};
use crate::wire::{Wire, WireCgroup, WireUse};

use super::*;

fn row(tid: i32, pid: i32, uid: u32) -> Task {
    Task {
        known: FieldSet::ALL,
        tid: Tid(tid),
        pid: Pid(pid),
        start_time_ns: Boottime::from_ns(1),
        uid,
        euid: uid,
        suid: uid,
        gid: uid,
        egid: uid,
        sgid: uid,
        guard: Guard::Open,
        read_bytes: 7,
        ..Task::default()
    }
}

fn usage(cpu_ns: u64) -> Usage {
    let growth = Counters { known: Counters::FIELDS, read_bytes: 3, ..Counters::default() };
    Usage {
        cpu_ns,
        self_ns: cpu_ns,
        exited_threads_ns: Some(0),
        exited_children_ns: Some(0),
        growth,
        ..Usage::default()
    }
}

fn viewer(strangers: Strangers) -> Viewer {
    Viewer { uid: 1000, gid: 1000, may_trace_own: true, strangers }
}

fn id(tid: i32, start_ns: u64) -> TaskId {
    TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(start_ns) }
}

fn exited(tid: i32, process: TaskId) -> Exited {
    let exit = Exit {
        task: id(tid, 1),
        process,
        uid: 1000,
        euid: Some(1000),
        exit_code: Some(9),
        ..Exit::default()
    };
    Exited { exit, ..Exited::default() }
}

/// Own process 5 with two threads, the second of which has become another user; a process of a setuid program, and one of another
/// user. A thread of process 5 has died, one of the process of another user that had pid 5 before, and one of process 7.
fn books() -> Interval {
    let setuid = Task { euid: 0, suid: 0, ..row(6, 6, 1000) };
    let processes = [(row(5, 5, 1000), 30), (setuid, 20), (row(7, 7, 1001), 10)];
    let tasks = [
        (row(5, 5, 1000), 10),
        (row(8, 5, 1000), 15),
        (Task { suid: 0, ..row(9, 5, 1000) }, 5),
        (setuid, 20),
        (row(7, 7, 1001), 10),
    ];
    let used = |(task, cpu_ns)| Row::new(task, usage(cpu_ns));
    let blocked = [5, 7].map(|tid| Blocked { task: id(tid, 1), process: id(tid, 1), ..Blocked::default() });
    Interval {
        capacity_ns: 100,
        attributed_ns: 60,
        idle_ns: Some(40),
        unattributed_ns: Some(0),
        processes: processes.map(used).to_vec(),
        tasks: tasks.map(used).to_vec(),
        exited: Some(vec![exited(10, id(5, 1)), exited(11, id(5, 0)), exited(12, id(7, 1))]),
        blocked: Some(blocked.to_vec()),
        blocked_tasks: 2,
        ..Interval::default()
    }
}

fn shown(strangers: Strangers) -> Interval {
    let mut books = books();
    books.wire = Some(Wire::of([WireCgroup::new(Some(1), WireUse::of([9; 4]))]));
    let (interval, _) = viewer(strangers).restrict(&books, &Circumstances::default());
    assert_eq!(interval.wire, None, "it would tell what the tasks of others send");
    assert_eq!(interval.imbalance_ns(), Some(0));
    let sum: u64 = interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
    assert_eq!((sum, interval.attributed_ns), (60, 60), "no time is lost");
    let exited = interval.exited.as_deref().expect("they are told");
    assert!(exited.iter().all(|exited| exited.exit.exit_code.is_none()));
    interval
}

fn ids(rows: &[Row]) -> Vec<i32> {
    rows.iter().map(|row| row.task.tid.0).collect()
}

fn dead(interval: &Interval) -> Vec<i32> {
    interval.exited.iter().flatten().map(|exited| exited.exit.task.tid.0).collect()
}

#[test]
fn the_time_of_strangers_is_one_row() {
    let interval = shown(Strangers::Summed);
    assert_eq!((ids(&interval.processes), ids(&interval.tasks)), (vec![0, 5], vec![5, 8, 9]));
    assert_eq!(interval.processes[0].task.comm.as_bytes(), OTHERS);
    assert_eq!((interval.processes[0].usage.cpu_ns, interval.processes[1].usage.cpu_ns), (30, 30));
    assert_eq!(interval.tasks.len(), 3);
    let tells_io: Vec<bool> =
        interval.tasks.iter().map(|row| row.task.known.contains(Field::ReadBytes)).collect();
    assert_eq!(tells_io, [true, true, false], "a thread of another user is guarded by itself");
    assert_eq!(dead(&interval), [10], "and not those of an earlier process with the same pid");
    assert_eq!((interval.blocked_tasks, interval.blocked.expect("told")[0].task.tid), (1, Tid(5)));
}

#[test]
fn the_sum_of_strangers_does_not_tell_of_their_dead() {
    let mut interval = books();
    let stranger = &mut interval.processes[2].usage;
    (stranger.self_ns, stranger.exited_children_ns) = (4, Some(6));
    let of = Circumstances::default();
    let (interval, _) = viewer(Strangers::Summed).restrict(&interval, &of);
    let others = &interval.processes[0].usage;
    assert_eq!((others.cpu_ns, others.self_ns, others.exited_children_ns), (30, 30, Some(0)));
}

#[test]
fn of_strangers_that_are_shown_the_guarded_figures_are_unknown() {
    let interval = shown(Strangers::Shown);
    assert_eq!((ids(&interval.processes), ids(&interval.tasks)), (vec![5, 6, 7], vec![5, 8, 9, 6, 7]));
    for Row { task: row, usage, .. } in &interval.processes {
        let is_own = row.pid == Pid(5);
        assert_eq!(row.known.contains(Field::ReadBytes), is_own, "{row:?}");
        assert_eq!(usage.growth.known.contains(Field::ReadBytes), is_own);
        assert!(row.known.contains(Field::Euid), "what /proc shows all stays");
    }
    assert_eq!(dead(&interval), [10, 11, 12]);
}

#[test]
fn a_row_whose_users_or_guard_are_not_known_is_of_a_stranger() {
    let viewer = viewer(Strangers::Summed);
    let own = row(5, 5, 1000);
    assert!(viewer.sees(&own));
    let partly = Task { known: FieldSet::of(&[Field::Uid, Field::Euid]), ..own };
    let of_other_group = Task { sgid: 5, ..own };
    for row in [partly, of_other_group, Task { guard: Guard::Unknown, ..own }] {
        assert!(!viewer.sees(&row), "{row:?}");
    }
    assert!(!viewer.sees(&Task { guard: Guard::Guarded, ..own }));
    let ending = Task { flags: flags::EXITING, ..own };
    assert!(viewer.sees(&ending) && viewer.may_read(&own) && !viewer.may_read(&ending));
    let confined = Viewer { may_trace_own: false, ..viewer };
    assert!(!confined.sees(&own));
}

/// What others do in an interval.
#[derive(Default)]
struct Foreign {
    /// Their processes, each with a thread more.
    processes: i32,
    /// CPU time of each, of tasks without a slot, and of those whose heir was forgotten.
    cpu_ns: u64,
    no_slot_ns: u64,
    forgotten_task_ns: u64,
    /// Blocked tasks, for longer than any other.
    blocked: i32,
    /// Tasks that died, and execs by threads.
    deaths: i32,
    execs: i32,
    /// A thread of root that ended before process 5 gave up its rights, and one that did an exec.
    had_root: bool,
    /// What is counted of the whole machine.
    counts: u64,
    /// How long it took to begin to read the rows, and to read them.
    reading_ns: u64,
    /// The heir of process 5, which is its parent no more.
    heir: i32,
}

impl Foreign {
    fn sum_ns(&self) -> u64 {
        self.processes as u64 * self.cpu_ns + self.no_slot_ns + self.forgotten_task_ns
    }

    /// The frame of user 1000, with process 5 and its threads, beside all this.
    fn frame(&self) -> Frame {
        let own_ns = 30;
        let mut interval = Interval::default();
        for pid in std::iter::once(5).chain(10..10 + self.processes) {
            let is_own = pid == 5;
            let uid = if is_own { 1000 } else { 1001 + pid as u32 };
            let comm = Comm::new(format!("name{pid}").as_bytes());
            for tid in [pid, pid + 100_000] {
                let task = Task { comm, ..row(tid, pid, uid) };
                interval.tasks.push(Row::new(task, usage(if is_own { own_ns / 2 } else { self.cpu_ns / 2 })));
            }
            let process = Task { comm, ppid: Pid(1), ..row(pid, pid, uid) };
            let heir = Some(Pid(if is_own { self.heir } else { 1 }));
            let cpu_ns = if is_own { own_ns } else { self.cpu_ns };
            interval.processes.push(Row::new(process, Usage { accounting_parent: heir, ..usage(cpu_ns) }));
            interval.from_procfs.extend([Tid(pid)]);
        }
        (interval.read_begin_ns, interval.read_end_ns) = (1000, 1000 + 2 * self.reading_ns);
        interval.read_begin = Boottime::from_ns(1500 + self.reading_ns);
        self.add_to(&mut interval, own_ns);
        assert_eq!(interval.imbalance_ns(), Some(0), "as it was closed");
        let of = Circumstances {
            sequence: Some(3),
            end: Some(Boottime::from_ns(1500)),
            ..Circumstances::default()
        };
        interval.frame = Some(Arc::default());
        let (interval, of) = viewer(Strangers::Summed).restrict(&interval, &of);
        assert!(interval.frame.is_none(), "it has what is withheld");
        assert_eq!(interval.imbalance_ns(), Some(0), "as it is shown");
        let sum: u64 = interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
        assert_eq!(sum, interval.attributed_ns);
        let mut frame = Frame::new();
        framing::write(&interval, &of, &mut frame);
        frame
    }

    fn add_to(&self, interval: &mut Interval, own_ns: u64) {
        (interval.start_ns, interval.end_ns) = (0, 1000);
        interval.capacity_ns = 1_000_000;
        interval.attributed_ns = own_ns + self.processes as u64 * self.cpu_ns;
        interval.unattributed_by = Unattributed {
            no_slot_ns: self.no_slot_ns,
            forgotten_task_ns: self.forgotten_task_ns,
            uncovered_cpu_ns: 7,
            not_attached_ns: 0,
        };
        interval.unattributed_ns = Some(interval.unattributed_by.total_ns());
        interval.idle_ns = Some(interval.capacity_ns - own_ns - self.sum_ns() - 7);
        let dead = |tid, process, uid: u32| {
            let mut exited = exited(tid, id(process, 1));
            (exited.exit.uid, exited.exit.euid) = (uid, Some(uid));
            exited.exit.comm = Comm::new(format!("dead{tid}").as_bytes());
            Exited { accounting_parent: Some(Pid(1)), accounting_start: Some(Boottime::from_ns(0)), ..exited }
        };
        let former = (self.had_root).then(|| dead(7000, 5, 0));
        let deaths = (0..self.deaths).map(|tid| dead(8000 + tid, 10 + tid, 1001));
        interval.exited = Some(deaths.chain(former).chain([dead(9, 5, 1000)]).collect());
        let renumbered = |tid, process, uid| Renumbered {
            task: id(tid, 4),
            owner: Some(Owner { process: id(process, 1), uid, euid: uid }),
        };
        let former = (self.had_root).then(|| renumbered(7001, 5, 0));
        let execs = (0..self.execs).map(|tid| renumbered(9000 + tid, 10 + tid, 1001));
        interval.renumbered = execs.chain(former).chain([renumbered(6, 5, 1000)]).collect();
        let blocked = |tid, process| Blocked {
            task: id(tid, 1),
            process: id(process, 1),
            comm: Comm::new(b"blocked"),
            ..Blocked::default()
        };
        let of_others = (0..self.blocked).map(|tid| blocked(20_000 + tid, 10));
        let all: Vec<Blocked> = of_others.chain([blocked(8, 5)]).collect();
        (interval.blocked_tasks, interval.blocked_without_row) = (all.len() as u64, self.counts);
        interval.blocked = Some(all);
        (interval.unidentified_exits, interval.missed_switches) = (Some(self.counts), Some(self.counts));
        (interval.missed_exits, interval.off_fault_ns) = (self.counts, self.counts);
        interval.wire = Some(Wire::of([WireCgroup::new(Some(1), WireUse::of([self.counts; 4]))]));
    }

    fn bytes(&self) -> Vec<u8> {
        encoded(&self.frame())
    }
}

fn encoded(frame: &Frame) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes).expect("it is short");
    bytes
}

/// One that makes as much of everything as it can, for 6,000 ns in all.
fn busy() -> Foreign {
    Foreign {
        processes: 300,
        cpu_ns: 10,
        no_slot_ns: 1000,
        forgotten_task_ns: 2000,
        blocked: 2 * MOST_BLOCKED as i32,
        deaths: 50,
        execs: 20,
        had_root: true,
        counts: 9,
        reading_ns: 777,
        heir: 12,
    }
}

#[test]
fn no_byte_depends_on_what_others_do() {
    let quiet = Foreign { processes: 10, cpu_ns: 600, heir: 11, ..Foreign::default() };
    assert_eq!((busy().sum_ns(), quiet.sum_ns()), (6000, 6000));
    let frame = quiet.frame();
    for (section, rows) in [
        (Section::Processes, 2),
        (Section::Tasks, 2),
        (Section::Exited, 1),
        (Section::Blocked, 1),
        (Section::Renumbered, 1),
        (Section::FromProcfs, 1),
    ] {
        assert_eq!(frame.table(section).len(), rows, "{section:?}: what is its own is told");
    }
    assert_eq!(quiet.bytes(), busy().bytes());
    for count in [Column::UNIDENTIFIED_EXITS, Column::MISSED_SWITCHES, Column::KNOWS_WIRE] {
        assert_eq!(frame.figure(count), None, "it is not known, which is not 0");
    }
}

#[test]
fn of_what_others_use_one_number_depends() {
    let alike = |foreign: &Foreign| {
        let mut frame = foreign.frame();
        assert_eq!(frame.table(Section::Processes).get(Column::CPU_NS, 0), Some(foreign.sum_ns()));
        for column in [Column::CPU_NS, Column::SELF_NS] {
            frame.table_mut(Section::Processes).set(column, 0, Some(0));
        }
        // The remainder is what the machine's idle time leaves.
        frame.set_figure(Column::ATTRIBUTED_NS, None);
        frame.set_figure(Column::IDLE_NS, None);
        encoded(&frame)
    };
    let nothing = Foreign { heir: 11, ..Foreign::default() };
    let more = Foreign { cpu_ns: 1000, ..busy() };
    assert!(nothing.sum_ns() == 0 && more.sum_ns() == 303_000);
    assert_eq!(alike(&nothing), alike(&more));
}

#[test]
fn a_listing_does_not_tell_how_long_its_walk_took() {
    let listed = |strangers: i32| {
        let processes = (5..6 + strangers).map(|pid| row(pid, pid, if pid == 5 { 1000 } else { 1001 }));
        let processes: Vec<Task> = processes.collect();
        let snapshot = Snapshot {
            begin_ns: 100,
            end_ns: 200 + strangers as u64,
            tasks: processes.clone(),
            processes,
            ..Snapshot::default()
        };
        let mut frame = Frame::new();
        framing::write_listing(
            &viewer(Strangers::Summed).restrict_listing(&snapshot),
            FieldSet::ALL,
            &mut frame,
        );
        encoded(&frame)
    };
    assert_eq!(listed(10), listed(300));
}
