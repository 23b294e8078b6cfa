//! The walk as a machine with many threads sees it: one system call, whole, and the same by either mechanism. Needs root.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cpuledger::source::walk::Walk;
use cpuledger::{Error, Field, FieldSet, Pid, Request, Scope, Snapshot, Source};
use cpuledger_bpf::Mechanism;
use cpuledger_load::{Lent, Shared, Sleepers, is_emulated};

/// More than the first buffer holds, so that it has to grow.
const THREADS: usize = 5000;

const EVERYTHING: Request = Request::new(Scope::Tasks, FieldSet::ALL);

/// A walk for those tests that are not about its beginning.
fn walk() -> Lent<'static, Walk> {
    static WALK: Shared<Walk> = Shared::new();
    WALK.lend(|| Walk::open().expect("the walk loads; it needs root"))
}

/// The same by this mechanism.
fn walk_by(mechanism: Mechanism) -> Lent<'static, Walk> {
    static WALKS: [Shared<Walk>; 2] = [Shared::new(), Shared::new()];
    let place = usize::from(mechanism == Mechanism::Iterator);
    WALKS[place].lend(|| Walk::open_mechanism(mechanism).expect("the walk loads"))
}

/// An example of this package; `cargo test` builds them beside the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    test.ancestors().nth(2).map(|profile| profile.join("examples").join(name)).expect("a profile folder")
}

/// How many bpf(2) calls this number of walks makes, from the first program that runs on. Threads that load it together may both
/// ask what the kernel can do.
fn bpf_calls(repetitions: u32, trace: &Path) -> usize {
    let status = Command::new("strace")
        .args(["-f", "-e", "trace=bpf", "-o"])
        .arg(trace)
        .arg(example("all_tasks"))
        .args(["walk", &repetitions.to_string()])
        .stdout(Stdio::null())
        .status()
        .expect("strace runs: install the package strace");
    assert!(status.success());
    let text = std::fs::read_to_string(trace).expect("a trace");
    let calls = text.lines().filter(|line| line.contains(" bpf(") || line.starts_with("bpf("));
    calls.skip_while(|line| !line.contains("BPF_PROG_TEST_RUN") && !line.contains("BPF_PROG_RUN")).count()
}

#[test]
fn one_walk_is_one_bpf_call_root() {
    let _sleepers = Sleepers::start(THREADS, 1).expect("threads that sleep");
    let trace = std::env::temp_dir().join(format!("cpuledger-walk-trace-{}", std::process::id()));
    let (one, eleven) = (bpf_calls(1, &trace), bpf_calls(11, &trace));
    std::fs::remove_file(&trace).expect("the trace is ours");
    assert!(one > 0, "no program is run");
    assert_eq!(eleven - one, 10, "ten more walks of {THREADS} threads are ten more calls");
}

#[test]
fn every_thread_is_seen_by_both_mechanisms_root() {
    let threads = if is_emulated() { 1500 } else { THREADS };
    let sleepers = Sleepers::start(threads, 3).expect("threads that sleep");
    let pids: BTreeSet<i32> = sleepers.processes().iter().map(|process| process.pid).collect();
    for mechanism in [Mechanism::OneCall, Mechanism::Iterator] {
        let mut walk = walk_by(mechanism);
        let mut snapshot = Snapshot::default();
        walk.snapshot(&EVERYTHING, &mut snapshot).expect("a snapshot");
        for &pid in &pids {
            let listed: BTreeSet<i32> = std::fs::read_dir(format!("/proc/{pid}/task"))
                .expect("the process is alive")
                .map(|entry| entry.expect("a task").file_name().to_string_lossy().parse().expect("a tid"))
                .collect();
            let walked: BTreeSet<i32> =
                snapshot.tasks.iter().filter(|row| row.pid.0 == pid).map(|row| row.tid.0).collect();
            assert_eq!(walked, listed, "{mechanism:?}");
            let process = snapshot.processes.iter().find(|row| row.pid.0 == pid).expect("its process");
            assert_eq!(process.threads as usize, listed.len());
            let sum: u64 =
                snapshot.tasks.iter().filter(|row| row.pid.0 == pid).map(|row| row.runtime_ns).sum();
            assert_eq!(process.runtime_ns, sum, "{mechanism:?}: no thread of it is dead");
        }
        assert!(snapshot.processes.is_sorted_by_key(|row| row.pid));
        assert!(snapshot.tasks.is_sorted_by_key(|row| (row.pid, !row.is_leader())));
        assert!(snapshot.begin_ns < snapshot.end_ns);
    }
}

#[test]
fn one_process_is_walked_alone_root() {
    let sleepers = Sleepers::start(100, 2).expect("threads that sleep");
    let pid = sleepers.processes()[0].pid;
    for mechanism in [Mechanism::OneCall, Mechanism::Iterator] {
        let mut walk = walk_by(mechanism);
        let mut snapshot = Snapshot::default();
        let request = Request::new(Scope::Process(Pid(pid)), FieldSet::ALL);
        walk.snapshot(&request, &mut snapshot).expect("a snapshot");
        assert_eq!(snapshot.processes.len(), 1, "{mechanism:?}");
        assert_eq!(snapshot.tasks.len(), 50, "{mechanism:?}");
        assert!(snapshot.tasks.iter().all(|row| row.pid.0 == pid));
    }
}

#[test]
fn a_process_that_is_gone_is_an_empty_snapshot_root() {
    let mut walk = walk();
    let mut snapshot = Snapshot::default();
    // Above the largest pid_max there is.
    let request = Request::new(Scope::Process(Pid(1 << 23)), FieldSet::ALL);
    walk.snapshot(&request, &mut snapshot).expect("a snapshot");
    assert_eq!((snapshot.processes.len(), snapshot.tasks.len()), (0, 0));
}

#[test]
fn a_population_that_grows_between_walks_is_never_cut_root() {
    let mut walk = Walk::open().expect("the walk loads");
    let mut snapshot = Snapshot::default();
    let mut held = Vec::new();
    // Twice more than there was room for.
    for threads in if is_emulated() { [10, 500, 700] } else { [10, 1000, 10_000] } {
        held.push(Sleepers::start(threads, 1).expect("threads that sleep"));
        walk.snapshot(&EVERYTHING, &mut snapshot).expect("a snapshot");
        for sleepers in &held {
            let pid = sleepers.processes()[0].pid;
            let process = snapshot.processes.iter().find(|row| row.pid.0 == pid).expect("its process");
            let tasks = snapshot.tasks.iter().filter(|row| row.pid.0 == pid).count();
            assert_eq!(tasks, process.threads as usize);
        }
    }
}

#[test]
fn another_pid_namespace_is_refused_root() {
    if std::env::var_os("CPULEDGER_TEST_INSIDE").is_some() {
        let error = Walk::open().err().expect("tasks have other numbers here");
        assert!(matches!(error, Error::Client(cpuledger_client::Error::Unusable { .. })), "{error}");
        assert!(error.to_string().contains("host's PID namespace"), "{error}");
        return;
    }
    let status = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc"])
        .arg(std::env::current_exe().expect("this test"))
        .args(["another_pid_namespace_is_refused_root", "--exact"])
        .env("CPULEDGER_TEST_INSIDE", "1")
        .stdout(Stdio::null())
        .status()
        .expect("unshare runs: install the package util-linux");
    assert!(status.success());
}

/// In the environment of a process that replaces itself: how many times more.
const EXECS: &str = "CPULEDGER_TEST_EXECS";

#[test]
fn exec_by_another_thread_shows_no_task_twice_root() {
    if let Ok(left) = std::env::var(EXECS) {
        // A test runs in a thread of its own, so this exec is not by the leader: the two exchange their tids.
        let left: u32 = left.parse().expect("a number");
        if left > 0 {
            let error = this_test_with(left - 1).exec();
            panic!("{error}");
        }
        return;
    }
    let mut children: Vec<_> = (0..3).map(|_| this_test_with(300).spawn().expect("this test")).collect();
    let mut walk = Walk::open().expect("the walk loads; it needs root");
    let mut snapshot = Snapshot::default();
    let mut walks = 0;
    while children.iter_mut().any(|child| child.try_wait().expect("our child").is_none()) {
        let scope = if walks % 2 == 0 { Scope::Processes } else { Scope::Tasks };
        walk.snapshot(&Request::new(scope, FieldSet::ALL), &mut snapshot).expect("a snapshot");
        let pids: BTreeSet<i32> = snapshot.processes.iter().map(|row| row.pid.0).collect();
        assert_eq!(pids.len(), snapshot.processes.len(), "a process is there twice");
        assert!(snapshot.processes.iter().all(|row| row.tid.0 == row.pid.0), "a process under another tid");
        let leaders: Vec<i32> =
            snapshot.tasks.iter().filter(|row| row.is_leader()).map(|row| row.tid.0).collect();
        assert_eq!(leaders.iter().collect::<BTreeSet<_>>().len(), leaders.len(), "a leader is there twice");
        walks += 1;
    }
    assert!(walks > 100, "{walks} walks");
    assert!(children.iter_mut().all(|child| child.wait().expect("our child").success()));
}

/// The test above as a process of its own.
fn this_test_with(execs: u32) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["exec_by_another_thread_shows_no_task_twice_root", "--exact"])
        .env(EXECS, execs.to_string())
        .stdout(Stdio::null());
    command
}

#[test]
fn names_that_were_not_asked_for_are_unknown_root() {
    let mut walk = walk();
    let mut snapshot = Snapshot::default();
    walk.snapshot(&EVERYTHING, &mut snapshot).expect("a snapshot");
    let request = Request::new(Scope::Processes, FieldSet::of(&[Field::Pid]));
    walk.snapshot(&request, &mut snapshot).expect("a snapshot");
    for field in [Field::Comm, Field::Rss, Field::Uid, Field::CgroupId] {
        assert!(snapshot.processes.iter().all(|row| !row.known.contains(field)), "{}", field.info().key);
    }
}

#[test]
fn the_rows_of_a_walk_take_the_memory_of_those_of_the_last_root() {
    let _sleepers = Sleepers::start(THREADS, 1).expect("threads that sleep");
    let mut walk = walk();
    let mut snapshot = Snapshot::default();
    let mut rows = || {
        walk.snapshot(&EVERYTHING, &mut snapshot).expect("a snapshot");
        snapshot.tasks.as_ptr().addr()
    };
    rows();
    assert_eq!(rows(), rows());
}
