//! Fixed intervals for tests: what a screen shows of them is known beforehand.

use std::sync::Arc;

use cpuledger::Boottime;
use cpuledger::counters::Counters;
use cpuledger::framing::CgroupNames;
use cpuledger::host_statistics::{CpuShare, HostStatistics, Memory, Pressure};
use cpuledger::interval::{Blocked, Division, Exited, Interval, Row, Usage};
use cpuledger::machine::Load;
use cpuledger::source::Exit;
use cpuledger::task::State as TaskState;
use cpuledger::{Comm, FieldSet, Pid, Snapshot, SourceKind, States, Task, TaskId, Tid};
use cpuledger_model::make;
use cpuledger_names::names::Names;

use super::frame::{Around, Asleep, Frame};

const SECOND: u64 = 1_000_000_000;

/// One that died.
pub fn exited(number: i32, comm: &str, cpu_ns: u64) -> Exited {
    let id = TaskId { tid: Tid(number), start_time_ns: Boottime::from_ns(70 * SECOND) };
    let exit = make!(Exit {
        task: id,
        process: id,
        ppid: Pid(30),
        comm: Comm::new(comm.as_bytes()),
        uid: 0,
        euid: Some(0),
        exit_code: Some(0),
        runtime_ns: cpu_ns,
        lifetime_ns: 2 * cpu_ns,
        cgroup_id: None,
        cgroup_v1_cpu_id: None,
    });
    let states = make!(States {
        elapsed_ns: 2 * cpu_ns,
        runqueue_wait_ns: cpu_ns / 2,
        blocked_ns: cpu_ns / 4,
        io_wait_ns: cpu_ns / 4,
        sleep_ns: cpu_ns - cpu_ns / 2 - cpu_ns / 4,
    });
    make!(Exited { exit, cpu_ns, states: Some(states), accounting_parent: Some(Pid(30)) })
}

/// A task or process of a family: number, parent, process, name.
pub fn task(tid: i32, ppid: i32, pid: i32, comm: &str) -> Task {
    make!(Task {
        known: FieldSet::ALL,
        tid: Tid(tid),
        pid: Pid(pid),
        ppid: Pid(ppid),
        comm: Comm::new(comm.as_bytes()),
        state: TaskState(if tid % 2 == 0 { b'R' } else { b'S' }),
        start_time_ns: Boottime::from_ns(tid as u64 * SECOND),
        priority: 20,
        threads: 1,
        vsize_bytes: tid as u64 * 7_340_032,
        rss_bytes: tid as u64 * 1_048_576,
        shared_bytes: tid as u64 * 524_288,
        runtime_ns: tid as u64 * SECOND,
        minor_faults: 1000,
        cgroup_id: u64::from(pid >= 30),
    })
}

/// What a row used: of itself, of dead threads, of dead children, in milliseconds.
pub fn usage(self_ms: u64, threads_ms: u64, children_ms: u64, accounting: i32) -> Usage {
    let ns = |ms: u64| ms * 1_000_000 + ms % 7;
    let (own, threads, children) = (ns(self_ms), ns(threads_ms), ns(children_ms));
    let growth = make!(Counters {
        known: Counters::FIELDS,
        user_ns: own / 2,
        system_ns: own / 4,
        minor_faults: self_ms,
        runqueue_wait_ns: own / 10,
    });
    make!(Usage {
        cpu_ns: own + threads + children,
        self_ns: own,
        exited_threads_ns: Some(threads),
        exited_children_ns: Some(children),
        stolen_ns: Some(own / 100),
        exited_children_stolen_ns: Some(0),
        division: make!(Division {
            self_user_ns: Some(own / 2),
            exited_threads_user_ns: Some(threads / 3),
            exited_threads_stolen_ns: Some(0),
            exited_children_user_ns: Some(children / 4),
        }),
        states: Some(states(own + threads, own, if threads > 0 { 2 } else { 1 })),
        off_at_start: None,
        off_at_end: None,
        accounting_parent: Some(Pid(accounting)),
        growth,
        is_unseen: false,
    })
}

/// What this number of tasks did in a second besides using this CPU time; `own` is that of those that live.
fn states(cpu_ns: u64, own: u64, tasks: u64) -> States {
    let (waited, blocked) = (own / 10, own / 5);
    let stopped = if own < 4_000_000 { SECOND / 2 } else { 0 };
    let elapsed = tasks * SECOND;
    make!(States {
        elapsed_ns: elapsed,
        runqueue_wait_ns: waited,
        blocked_ns: blocked,
        io_wait_ns: blocked / 3,
        sleep_ns: elapsed - cpu_ns - waited - blocked - stopped,
        stopped_ns: stopped,
        unseen_ns: 0,
    })
}

/// A task of a process that was blocked all the time until the 101st second.
fn blocked((tid, pid): (i32, i32), comm: &str, since_ns: Option<u64>, for_io: Option<bool>) -> Blocked {
    let id = |tid| TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(SECOND) };
    make!(Blocked {
        task: id(tid),
        process: id(pid),
        comm: Comm::new(comm.as_bytes()),
        euid: Some(0),
        since_ns,
        blocked_for_ns: 101 * SECOND - since_ns.unwrap_or(80 * SECOND),
        for_io,
    })
}

/// A machine of two CPUs and one second: a shell compiles, a server has threads, and everything balances.
pub fn frame() -> Frame {
    let rows = [
        (task(1, 0, 1, "init"), usage(1, 0, 0, 0)),
        (task(20, 1, 20, "server"), usage(600, 20, 0, 1)),
        (task(30, 1, 30, "make"), usage(5, 0, 871, 1)),
        (task(40, 30, 40, "sh"), usage(3, 0, 0, 30)),
        (task(51, 1, 51, "orphan"), usage(100, 0, 0, 30)),
        (task(62, 40, 62, "a\u{1b}[2Jb"), usage(250, 0, 0, 40)),
    ];
    let mut threads: Vec<(Task, Usage)> =
        rows.iter().map(|(row, usage)| (*row, make!(Usage { cpu_ns: usage.self_ns, ..*usage }))).collect();
    threads[1].1 = usage(400, 0, 0, 1);
    threads.insert(2, (task(21, 1, 20, "worker"), usage(200, 0, 0, 1)));
    let mut dead: Vec<Exited> =
        (0..312).map(|number| exited(1000 + number, "cc1plus", 2_000_000 + number as u64)).collect();
    dead.extend((0..40).map(|number| exited(2000 + number, "as", 6_000_000)));
    with(rows.to_vec(), threads, dead)
}

/// A machine on which no task did anything.
pub fn empty() -> Frame {
    with(Vec::new(), Vec::new(), Vec::new())
}

/// One process with this number of threads, all asleep but the first.
pub fn sleepers(threads: i32) -> Frame {
    let mut frame = with(
        vec![(make!(Task { threads: threads as u32, ..task(100, 1, 100, "sleepers") }), usage(10, 0, 0, 1))],
        vec![(task(100, 1, 100, "sleepers"), usage(10, 0, 0, 1))],
        Vec::new(),
    );
    let tasks: Vec<Task> = (0..threads).map(|number| task(100 + number, 1, 100, "sleeper")).collect();
    let mut gone = vec![false; tasks.len()];
    gone[0] = true;
    let walked = make!(Snapshot { processes: vec![task(100, 1, 100, "sleepers")], tasks });
    frame.asleep =
        Asleep { walked: Arc::new(walked), gone: [vec![true], gone], walk: 1, ..Asleep::default() };
    frame
}

fn with(processes: Vec<(Task, Usage)>, tasks: Vec<(Task, Usage)>, dead: Vec<Exited>) -> Frame {
    let rows = |rows: Vec<(Task, Usage)>| -> Vec<Row> {
        rows.into_iter().map(|(task, usage)| Row::new(task, usage)).collect()
    };
    let attributed_ns = processes.iter().map(|(_, usage)| usage.cpu_ns).sum();
    let interval = make!(Interval {
        source: SourceKind::Ledger,
        start_ns: 100 * SECOND,
        end_ns: 101 * SECOND,
        online_cpus: 2,
        capacity_ns: 2 * SECOND,
        attributed_ns,
        idle_ns: Some(2 * SECOND - attributed_ns),
        unattributed_ns: Some(0),
        processes: rows(processes),
        tasks: rows(tasks),
        exited: Some(dead),
        blocked: Some(vec![
            blocked((70, 70), "dd", Some(SECOND), Some(true)),
            blocked((82, 81), "hung", None, None),
        ]),
        blocked_tasks: 3,
        blocked_without_row: 3,
    });
    let mut users = Names::of_users();
    users.learn(0);
    let statistics = make!(HostStatistics {
        running: Some(2),
        memory: Some(Memory {
            free: 3 << 30,
            total: 8 << 30,
            available: 6 << 30,
            cache: 3 << 30,
            swap_total: 1 << 30,
            swap_free: 1 << 29,
        }),
        pressure: [Some(Pressure { some: 105, full: None }), None, Some(Pressure { some: 0, full: Some(0) })],
        load: Some(Load { averages: ["0.50", "1.00", "1.50"].map(str::to_owned), tasks: Some(123) }),
    });
    let around = Around {
        statistics,
        cpus: vec![
            make!(CpuShare { cpu: 0, user: 500, system: 300, stolen: 50 }),
            make!(CpuShare { cpu: 1, user: 100, system: 50, stolen: 0 }),
        ],
        born: Some(360),
        named: cpuledger_names::named::Named::of(
            [
                ((Some(0), Some(0)), CgroupNames::of_path(b"/")),
                ((Some(1), Some(0)), CgroupNames::of_path(b"/build.slice")),
            ]
            .into_iter()
            .collect(),
        ),
        time_of_day: "12:00:01".to_owned(),
        end_realtime_ns: 1_700_000_000 * SECOND,
        uptime: Boottime::from_ns(90_000 * SECOND),
        boot_id: Some("11111111-2222-3333-4444-555555555555".to_owned()),
        unread: 0,
    };
    Frame::of(interval, around, users)
}
