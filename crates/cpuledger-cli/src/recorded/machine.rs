//! A machine that is always the same: its rows, an interval, its clocks, and files of /proc in a folder of their own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use cpuledger::counters::Counters;
use cpuledger::field::OF_ACCOUNTS;
use cpuledger::host_statistics::Memory;
use cpuledger::interval::{Blocked, Division, Exited, Interval, Row, Unattributed, Usage};
use cpuledger::machine::Load;
use cpuledger::source::Exit;
use cpuledger::task::{Guard, State, flags};
use cpuledger::{
    Boottime, Comm, Field, FieldSet, Lived, Pid, Snapshot, SourceKind, States, Task, TaskId, Tid,
};
use cpuledger_model::make;
use cpuledger_names::row::Surroundings;
use tempfile::TempDir;

const SECOND: u64 = 1_000_000_000;

/// When it is looked at, since the boot and since 1970.
pub const UPTIME_S: u64 = 1_000_000;
const NOW_S: i64 = 1_700_000_000;

/// The terminal `pts/1`.
const TERMINAL: u32 = 0x8801;

/// A user without a name on any machine.
const UNKNOWN_USER: u32 = 4_000_000_000;

/// Digits of the largest pid.
pub const PID_DIGITS: usize = 7;

/// The machine.
pub struct Machine {
    /// Removed at the end.
    _folder: TempDir,
    root: &'static str,
    /// Its rows.
    pub snapshot: Snapshot,
}

impl Machine {
    /// The machine, with its files.
    pub fn new() -> Machine {
        let folder = tempfile::tempdir().expect("a folder");
        let root: &'static str =
            Box::leak(folder.path().to_str().expect("UTF-8").to_owned().into_boxed_str());
        let snapshot = snapshot();
        for row in snapshot.processes.iter().chain(&snapshot.tasks) {
            if row.pid.0 >= 4000 && row.pid.0 != PARTLY_KNOWN {
                let process = folder.path().join("proc").join(row.pid.to_string());
                write_files(&process.join("task").join(row.tid.to_string()), row.pid.0);
                write_files(&process, row.pid.0);
            }
        }
        write(&folder.path().join("proc/1/cgroup"), "0::/init.scope\n");
        write(&folder.path().join("run/systemd/sessions/7"), "UID=1000\nSEAT=seat0\n");
        fs::create_dir_all(folder.path().join("run/systemd/machines")).expect("a folder");
        symlink("box", folder.path().join("run/systemd/machines/unit:server.service")).expect("a link");
        Machine { _folder: folder, root, snapshot }
    }

    /// Puts its clocks, its memory and its files in the place of those of the machine that the test runs on.
    pub fn settle(&self, around: &mut Surroundings) {
        let machine = &mut around.machine;
        machine.uptime = self.uptime();
        machine.now_seconds = NOW_S;
        machine.boot_time_seconds = NOW_S - UPTIME_S as i64;
        machine.memory_total_bytes = Some(MEMORY.total);
        machine.page_bytes = 4096;
        around.details.read_below(self.root);
    }

    /// When it is looked at.
    pub fn uptime(&self) -> Boottime {
        Boottime::from_ns(UPTIME_S * SECOND)
    }

    /// A second of it, as that source tells it.
    pub fn interval(&self, source: SourceKind) -> Interval {
        let Sight { is_ledger, sees_exits } = Sight::of(source);
        let rows = |tasks: &[Task], is_process| -> Vec<Row> {
            tasks.iter().map(|task| Row::new(*task, usage(task, source, is_process))).collect()
        };
        let processes = rows(&self.snapshot.processes, true);
        let attributed_ns = processes.iter().map(|row| row.usage.cpu_ns).sum();
        let by = make!(Unattributed { no_slot_ns: 1000, uncovered_cpu_ns: 234 });
        let (start_ns, capacity_ns) = (1000 * SECOND, 4 * SECOND);
        make!(Interval {
            source,
            start_ns,
            end_ns: start_ns + SECOND,
            online_cpus: 4,
            capacity_ns,
            attributed_ns,
            idle_ns: is_ledger.then(|| capacity_ns - attributed_ns - by.total_ns()),
            unattributed_ns: is_ledger.then(|| by.total_ns()),
            unattributed_by: if is_ledger { by } else { Unattributed::default() },
            processes,
            tasks: rows(&self.snapshot.tasks, false),
            exited: sees_exits.then(|| dead(source)),
            blocked: is_ledger.then(blocked),
            blocked_tasks: if is_ledger { 4 } else { 0 },
            blocked_without_row: if is_ledger { 2 } else { 0 },
            unidentified_exits: Some(5),
            missed_exits: 6,
            missed_switches: Some(7),
            hidden_cpu_ns: Some(8),
        })
    }
}

/// Its load.
pub fn load() -> Load {
    Load { averages: ["0.50", "1.00", "1.50"].map(str::to_owned), tasks: Some(123) }
}

/// Its memory.
pub const MEMORY: Memory = Memory {
    total: 8 << 30,
    free: 3 << 30,
    available: 6 << 30,
    cache: 2 << 30,
    swap_total: 1 << 30,
    swap_free: 1 << 29,
};

/// A process of which only numbers and the name are known.
const PARTLY_KNOWN: i32 = 7000;

/// A row whose figures follow from its number, each in another way.
fn task(tid: i32, pid: i32, ppid: i32, comm: &str) -> Task {
    let number = tid as u64;
    let user = UNKNOWN_USER + tid as u32;
    let millisecond = SECOND / 1000;
    make!(Task {
        known: FieldSet::ALL.without(OF_ACCOUNTS),
        tid: Tid(tid),
        pid: Pid(pid),
        ppid: Pid(ppid),
        pgid: pid,
        sid: 5000,
        tty_device: TERMINAL,
        tty_pgid: 5001,
        start_time_ns: Boottime::from_ns((UPTIME_S - number * 17) * SECOND + 7_000_000),
        uid: user,
        euid: user + 1,
        suid: user + 2,
        fsuid: user + 3,
        gid: user + 4,
        egid: user + 5,
        sgid: user + 6,
        fsgid: user + 7,
        guard: Guard::Open,
        state: State(b'S'),
        flags: 0x40 << (tid % 3),
        exit_signal: 17,
        nice: tid % 7 - 3,
        priority: 20 + tid % 7 - 3,
        // No machine has this number of CPUs.
        processor: 9000 + (tid % 5) as u32,
        threads: 1,
        namespace_tid: tid % 100,
        runtime_ns: number * 31 * millisecond + 1,
        user_ns: number * 20 * millisecond + 2,
        system_ns: number * 11 * millisecond + 3,
        children_user_ns: number * 13 * millisecond + 4,
        children_system_ns: number * 7 * millisecond + 5,
        runqueue_wait_ns: number * 1001,
        block_io_delay_ns: number * 1002,
        swap_in_delay_ns: number * 1003,
        vsize_bytes: number << 16,
        rss_bytes: number << 14,
        shared_bytes: number << 13,
        swap_bytes: number << 12,
        locked_bytes: (number % 2) << 12,
        minor_faults: number * 3,
        major_faults: number % 11,
        children_minor_faults: number * 5,
        children_major_faults: number % 13,
        voluntary_switches: number * 2,
        involuntary_switches: number / 3,
        read_bytes: number << 9,
        write_bytes: number << 10,
        cancelled_write_bytes: number << 2,
        cgroup_id: number + 100,
        cgroup_v1_cpu_id: number + 200,
        comm: Comm::new(comm.as_bytes()),
    })
}

/// Of the kernel or of root.
fn of_root(task: Task) -> Task {
    let [uid, euid, suid, fsuid, gid, egid, sgid, fsgid] = [0; 8];
    let (tty_device, tty_pgid, sid) = (0, -1, task.pid.0);
    make!(Task { uid, euid, suid, fsuid, gid, egid, sgid, fsgid, tty_device, tty_pgid, sid, ..task })
}

fn of_kernel(task: Task) -> Task {
    let [vsize_bytes, rss_bytes, shared_bytes, swap_bytes, locked_bytes] = [0; 5];
    let flags = flags::KTHREAD | task.flags;
    make!(Task { flags, vsize_bytes, rss_bytes, shared_bytes, swap_bytes, locked_bytes, ..of_root(task) })
}

fn snapshot() -> Snapshot {
    let memory = FieldSet::of(&[Field::Vsize, Field::Rss, Field::Shared, Field::Swap, Field::Locked]);
    let server = make!(Task { threads: 3, ..task(4000, 4000, 1, "server") });
    let leaderless = make!(Task {
        threads: 2,
        state: State(b'Z'),
        known: FieldSet::ALL.without(OF_ACCOUNTS).without(memory),
        ..task(8000, 8000, 1, "gone")
    });
    let known = FieldSet::of(&[Field::Tid, Field::Pid, Field::Ppid, Field::Comm]);
    let processes = vec![
        of_root(task(1, 1, 0, "init")),
        of_kernel(task(2, 2, 0, "kthreadd")),
        of_kernel(make!(Task { state: State(b'I'), ..task(300, 300, 2, "kworker/u4:1-events") })),
        server,
        make!(Task { sid: 5000, pgid: 5000, ..task(5000, 5000, 1, "ba sh\u{1b}[1m") }),
        make!(Task { state: State(b'R'), ..task(5001, 5001, 5000, "make") }),
        make!(Task { state: State(b'Z'), ..task(5002, 5002, 5001, "sh") }),
        make!(Task {
            policy: 1,
            rt_priority: 50,
            priority: -51,
            tty_device: 4 << 8 | 7,
            ..task(6000, 6000, 1, "=größe")
        }),
        make!(Task { known, ..task(PARTLY_KNOWN, PARTLY_KNOWN, 1, "hidden") }),
        leaderless,
    ];
    let mut tasks = processes.clone();
    let server_at = tasks.iter().position(|row| row.pid.0 == 4000).expect("it is there");
    let threads =
        [task(4001, 4000, 1, "worker"), make!(Task { state: State(b'D'), ..task(4002, 4000, 1, "writer") })];
    tasks.splice(server_at + 1..server_at + 1, threads.map(|row| make!(Task { threads: 3, ..row })));
    tasks.push(make!(Task { threads: 2, ..task(8001, 8000, 1, "survivor") }));
    make!(Snapshot { processes, tasks })
}

/// What a source tells of the machine beside what all tell.
struct Sight {
    /// The books are whole: idle, unattributed and stolen time, and the heir of each process.
    is_ledger: bool,
    sees_exits: bool,
}

impl Sight {
    fn of(source: SourceKind) -> Sight {
        let (is_ledger, sees_exits) = match source {
            SourceKind::Service | SourceKind::Ledger => (true, true),
            SourceKind::Walk | SourceKind::Netlink => (false, true),
            SourceKind::Procfs => (false, false),
        };
        Sight { is_ledger, sees_exits }
    }
}

/// What a row used; nothing, if its number can be divided by 3.
fn usage(row: &Task, source: SourceKind, is_process: bool) -> Usage {
    let self_ns = if row.tid.0 % 3 == 0 { 0 } else { row.tid.0 as u64 * 20_011 };
    let Sight { is_ledger, sees_exits } = Sight::of(source);
    let part = |divisor: u64, is_known: bool| is_known.then_some(self_ns / divisor);
    let inherits = is_process && sees_exits;
    let (threads_ns, children_ns) = (part(3, inherits), part(2, inherits));
    let growth = make!(Counters {
        known: row.known.intersection(Counters::FIELDS),
        user_ns: self_ns / 2,
        system_ns: self_ns / 4,
        runqueue_wait_ns: self_ns / 10,
        minor_faults: self_ns % 1000,
        major_faults: self_ns % 10,
        voluntary_switches: self_ns % 100,
        read_bytes: self_ns % 4096 * 512,
    });
    let is_unseen = row.pid.0 == PARTLY_KNOWN;
    let states = (is_ledger && !is_unseen).then(|| {
        let threads = if is_process { u64::from(row.threads) } else { 1 };
        states(threads * SECOND, self_ns + threads_ns.unwrap_or(0), growth.runqueue_wait_ns)
    });
    make!(Usage {
        cpu_ns: self_ns + threads_ns.unwrap_or(0) + children_ns.unwrap_or(0),
        self_ns,
        exited_threads_ns: threads_ns,
        exited_children_ns: children_ns,
        stolen_ns: part(100, is_ledger),
        exited_children_stolen_ns: children_ns.filter(|_| is_ledger).map(|ns| ns / 50),
        division: make!(Division {
            self_user_ns: part(2, is_ledger),
            exited_threads_user_ns: threads_ns.filter(|_| is_ledger).map(|ns| ns / 3),
            exited_threads_stolen_ns: threads_ns.filter(|_| is_ledger).map(|ns| ns / 200),
            exited_children_user_ns: children_ns.filter(|_| is_ledger).map(|ns| ns / 4),
        }),
        states,
        off_at_start: None,
        off_at_end: None,
        accounting_parent: is_ledger.then_some(row.ppid),
        growth,
        is_unseen,
    })
}

/// What a row did in `elapsed_ns`, with this time on a CPU and this time waiting for one; what did not run slept.
fn states(elapsed_ns: u64, cpu_ns: u64, runqueue_wait_ns: u64) -> States {
    let off_ns = elapsed_ns - cpu_ns - runqueue_wait_ns;
    let part = |divisor: u64| if cpu_ns == 0 { 0 } else { off_ns / divisor };
    let (blocked_ns, stopped_ns, unseen_ns) = (part(3), part(29), part(31));
    make!(States {
        elapsed_ns,
        runqueue_wait_ns,
        blocked_ns,
        io_wait_ns: part(5),
        sleep_ns: off_ns - blocked_ns - stopped_ns - unseen_ns,
        stopped_ns,
        unseen_ns,
    })
}

fn dead(source: SourceKind) -> Vec<Exited> {
    let exit = |number: i32, comm: &str, ppid| {
        let id = TaskId { tid: Tid(number), start_time_ns: Boottime::from_ns(number as u64 * SECOND) };
        let cpu_ns = number as u64 * 1000;
        let exit = make!(Exit {
            task: id,
            process: id,
            ppid: Pid(ppid),
            comm: Comm::new(comm.as_bytes()),
            uid: 0,
            euid: (number % 2 == 0).then_some(0),
            exit_code: Some(256),
            runtime_ns: 2 * cpu_ns,
            lifetime_ns: 3 * cpu_ns,
            cgroup_id: None,
            cgroup_v1_cpu_id: None,
        });
        let states = Sight::of(source).is_ledger.then(|| states(3 * cpu_ns, cpu_ns, cpu_ns / 7));
        // Of one, not all of its life is known.
        let lived = states.filter(|_| number != 9002).map(|_| {
            make!(Lived { cpu_ns: 2 * cpu_ns, states: self::states(5 * cpu_ns, 2 * cpu_ns, cpu_ns / 5) })
        });
        make!(Exited { exit, cpu_ns, states, lived, accounting_parent: (ppid > 0).then_some(Pid(ppid)) })
    };
    vec![exit(9001, "cc1", 5001), exit(9002, "as", 5001), exit(9003, "cc1", 0), exit(9004, "\"q\"\n", 1)]
}

/// Tasks that were blocked all the time: a process, a thread, and one that was so before the ledger was attached.
fn blocked() -> Vec<Blocked> {
    let id =
        |number: i32| TaskId { tid: Tid(number), start_time_ns: Boottime::from_ns(number as u64 * SECOND) };
    let blocked = |tid, pid, comm: &str, since_ns: Option<u64>, for_io| {
        make!(Blocked {
            task: id(tid),
            process: id(pid),
            comm: Comm::new(comm.as_bytes()),
            euid: since_ns.map(|_| 0),
            since_ns,
            blocked_for_ns: 123 * SECOND - since_ns.unwrap_or_default(),
            for_io,
        })
    };
    vec![
        blocked(9100, 9100, "mount.nfs", None, None),
        blocked(4003, 4000, "wri\x1bter", Some(119_800_000_000), Some(true)),
        blocked(5001, 5001, "make", Some(121 * SECOND), Some(false)),
    ]
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("it can be written");
}

/// The files of a process or of one of its tasks, as columns read them.
fn write_files(directory: &Path, pid: i32) {
    let cgroup = match pid {
        4000 => "/system.slice/server.service",
        5000..6000 => "/user.slice/user-1000.slice/session-7.scope",
        6000 => "/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
        _ => "/user.slice/user-1001.slice/user@1001.service/app.slice/editor.service",
    };
    let words: Vec<String> = (4..=52).map(|number| (number * pid).to_string()).collect();
    let status = format!(
        "Groups:\t0 4000000001 \nVmData:\t{pid} kB\nVmStk:\t132 kB\nSigPnd:\t000000000000000{}\nShdPnd:\t0000008000000200\n\
         SigBlk:\t0000000000010000\nSigIgn:\t0000000000001000\nSigCgt:\t0000000180014a07\nCapPrm:\t000001ff{pid:08x}\n",
        pid % 10
    );
    let io = format!(
        "rchar: {pid}\nwchar: 2{pid}\nsyscr: 3{pid}\nsyscw: 4{pid}\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n"
    );
    let shares = format!(
        "0-7 ---p 00000000 00:00 0    [rollup]\nPss:  {pid} kB\nPrivate_Clean:  1 kB\nPrivate_Dirty:  2 kB\n\
         Shared_Hugetlb:  2048 kB\nPrivate_Hugetlb:  4096 kB\n"
    );
    let cmdline = if pid == 5001 { "make\0-j\0all targets\n\0" } else { "/usr/bin/program\0--option=ä\0\0" };
    for (name, text) in [
        ("cmdline", cmdline),
        ("cgroup", &format!("0::{cgroup}\n")),
        ("wchan", "__do_epoll_wait"),
        ("status", &status),
        ("stat", &format!("{pid} (a) b) S {}\n", words.join(" "))),
        ("io", &io),
        ("smaps_rollup", &shares),
        ("oom_score", "666\n"),
        ("oom_score_adj", "-17\n"),
        ("autogroup", "/autogroup-25 nice 3\n"),
        ("loginuid", "1000\n"),
        ("environ", "LANG=C\0EMPTY=\0"),
        ("attr/current", "unconfined\n"),
        // The size of the folder is the number of its entries.
        ("fd", "12 entries.."),
    ] {
        write(&directory.join(name), text);
    }
    for name in ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"] {
        let link = directory.join("ns").join(name);
        fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
        if link.symlink_metadata().is_err() {
            // Its inode number is 1 everywhere.
            symlink("/proc", link).expect("a link");
        }
    }
    let exe = directory.join("exe");
    if exe.symlink_metadata().is_err() {
        symlink("/usr/bin/program", exe).expect("a link");
    }
}

/// What recorded outputs tell is possible: each row did something at any time of its life, on a CPU or off it.
#[test]
fn states_of_the_ledger_balance() {
    let machine = Machine::new();
    let interval = machine.interval(SourceKind::Ledger);
    let usages = || interval.processes.iter().chain(&interval.tasks).map(|row| row.usage);
    assert_eq!(usages().filter(|usage| usage.states.is_none()).count(), 2, "of one process and its task");
    for usage in usages().filter(|usage| usage.states.is_some()) {
        assert_eq!(usage.state_imbalance_ns(), Some(0), "{usage:?}");
        let states = usage.states.expect("it has some");
        assert_eq!(states.runqueue_wait_ns, usage.growth.runqueue_wait_ns);
        assert!(states.io_wait_ns <= states.blocked_ns);
    }
    for exited in interval.exited.as_ref().expect("the ledger sees the dead") {
        assert_eq!(exited.state_imbalance_ns(), Some(0), "{exited:?}");
    }
    for source in [SourceKind::Walk, SourceKind::Netlink, SourceKind::Procfs] {
        let interval = machine.interval(source);
        assert!(interval.processes.iter().all(|row| row.usage.states.is_none()));
    }
}
