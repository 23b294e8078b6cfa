//! The source procfs against what a process knows of itself, and against processes that come, go and hide.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger::Boottime;
use cpuledger::clock;
use cpuledger::source::procfs::Procfs;
use cpuledger::{Field, FieldSet, Pid, Request, Scope, Snapshot, Source, Task, Value};
use rustix::process::{getegid, geteuid, getgid, getpgid, getpid, getppid, getuid};
use rustix::time::{ClockId, clock_gettime};

fn snapshot(scope: Scope, fields: FieldSet) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mut procfs = Procfs::open().expect("procfs");
    procfs.snapshot(&Request::new(scope, fields), &mut snapshot).expect("a snapshot");
    snapshot
}

fn myself() -> Pid {
    Pid(getpid().as_raw_pid())
}

fn row_of(rows: &[Task], tid: i32) -> &Task {
    rows.iter().find(|row| row.tid.0 == tid).expect("a row")
}

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Runs for this CPU time.
fn burn(duration: Duration) {
    let begin = clock_ns(ClockId::ThreadCPUTime);
    while clock_ns(ClockId::ThreadCPUTime) - begin < duration.as_nanos() as u64 {
        std::hint::black_box(fs::metadata("/").expect("the root").ino());
    }
}

#[test]
fn our_own_process_is_as_we_know_it() {
    let before = clock_ns(ClockId::ProcessCPUTime);
    let seen = snapshot(Scope::Processes, FieldSet::ALL);
    let after = clock_ns(ClockId::ProcessCPUTime);
    let row = row_of(&seen.processes, myself().0);
    let pid = |pid: rustix::process::Pid| i64::from(pid.as_raw_pid());
    let signed = [
        (Field::Pid, pid(getpid())),
        (Field::Ppid, getppid().map_or(0, pid)),
        (Field::Pgid, pid(getpgid(None).expect("a process group"))),
        // Not by rustix, which holds that no session is 0: that of a process is, if its leader is out of sight.
        (Field::Sid, nix::unistd::getsid(None).expect("a session").as_raw().into()),
        (Field::Nice, rustix::process::getpriority_process(None).expect("a nice value").into()),
    ];
    for (field, expected) in signed {
        assert_eq!(field.value(row), Value::Signed(expected), "{field:?}");
    }
    let unsigned = [
        (Field::Uid, getuid().as_raw()),
        (Field::Euid, geteuid().as_raw()),
        (Field::Gid, getgid().as_raw()),
        (Field::Egid, getegid().as_raw()),
    ];
    for (field, expected) in unsigned {
        assert_eq!(field.value(row), Value::Unsigned(expected.into()), "{field:?}");
    }
    assert!(before <= row.runtime_ns && row.runtime_ns <= after, "{before} {} {after}", row.runtime_ns);
    assert!(row.known.contains(Field::Runtime));
    let comm = fs::read("/proc/self/comm").expect("our name");
    assert_eq!(row.comm.as_bytes(), comm.trim_ascii_end());
    let page = rustix::param::page_size() as u64;
    assert!(row.rss_bytes > 0 && row.rss_bytes.is_multiple_of(page) && row.rss_bytes < row.vsize_bytes);
    assert!(row.start_time_ns > Boottime::default() && row.start_time_ns < clock::boottime());
    assert!(seen.begin_ns < seen.end_ns && seen.end_ns <= clock_ns(ClockId::Monotonic));
    // The test runner and its tests are several threads.
    assert!(row.threads > 1);
    for field in [Field::VoluntarySwitches, Field::RunqueueWait] {
        assert_eq!(field.value(row), Value::Absent, "{field:?} of the leader is not that of the process");
    }
}

#[test]
fn our_own_threads_are_as_we_know_them() {
    let (send, receive) = mpsc::channel();
    let (release, wait) = mpsc::channel::<()>();
    let worker = thread::Builder::new().name("a) R 1 (b".to_owned()).spawn(move || {
        burn(Duration::from_millis(20));
        send.send((rustix::thread::gettid().as_raw_pid(), clock_ns(ClockId::ThreadCPUTime)))
            .expect("a listener");
        let _ = wait.recv();
    });
    let worker = worker.expect("a thread");
    let (tid, burned_ns) = receive.recv().expect("the thread");
    let seen = snapshot(Scope::Process(myself()), FieldSet::ALL);
    assert_eq!(seen.processes.len(), 1);
    let row = row_of(&seen.tasks, tid);
    assert_eq!(row.comm.as_bytes(), b"a) R 1 (b");
    assert_eq!((row.pid, row.exit_signal), (myself(), -1));
    assert!(row.runtime_ns >= burned_ns && row.runtime_ns < burned_ns + 50_000_000, "{row:?}");
    assert!(row.known.contains(Field::VoluntarySwitches));
    let process = &seen.processes[0];
    assert!(process.runtime_ns >= row.runtime_ns);
    assert_eq!(row.rss_bytes, process.rss_bytes);
    assert!(seen.tasks[0].is_leader(), "the leader comes first");
    drop(release);
    worker.join().expect("it ends");
    // Its time stays in the process, which schedstat of the leader would not tell.
    let after = snapshot(Scope::Processes, FieldSet::of(&[Field::Runtime]));
    assert!(row_of(&after.processes, myself().0).runtime_ns >= process.runtime_ns);
}

#[test]
fn rows_are_those_of_the_folder_and_in_order() {
    let listed = || -> BTreeSet<i32> {
        let names = fs::read_dir("/proc").expect("procfs").map(|entry| entry.expect("an entry").file_name());
        names.filter_map(|name| name.to_string_lossy().parse().ok()).collect()
    };
    let before = listed();
    let seen = snapshot(Scope::Tasks, FieldSet::of(&[Field::Uid, Field::Runtime]));
    let after = listed();
    let pids: BTreeSet<i32> = seen.processes.iter().map(|row| row.pid.0).collect();
    let stayed: Vec<&i32> = before.intersection(&after).filter(|pid| !pids.contains(pid)).collect();
    assert!(stayed.is_empty(), "{stayed:?} were there before and after, and are missing");
    assert!(seen.processes.is_sorted_by_key(|row| row.pid));
    assert!(seen.tasks.is_sorted_by_key(|row| (row.pid, !row.is_leader())));
    assert_eq!(seen.tasks.iter().filter(|row| row.is_leader()).count(), seen.processes.len());
}

#[test]
fn only_what_is_asked_for_is_read() {
    let seen = snapshot(Scope::Processes, FieldSet::of(&[Field::Comm]));
    let row = row_of(&seen.processes, myself().0);
    for field in [Field::Uid, Field::Rss, Field::Runtime, Field::ReadBytes] {
        assert_eq!(field.value(row), Value::Absent, "{field:?}");
    }
}

#[test]
fn neither_a_thread_nor_an_unused_pid_is_a_process() {
    let (send, receive) = mpsc::channel();
    let (release, wait) = mpsc::channel::<()>();
    let worker = thread::spawn(move || {
        send.send(rustix::thread::gettid().as_raw_pid()).expect("a listener");
        let _ = wait.recv();
    });
    let tid = receive.recv().expect("the thread");
    assert!(fs::exists(format!("/proc/{tid}/stat")).expect("procfs"), "/proc answers for it");
    for pid in [tid, 0, -1, 1 << 23, i32::MIN] {
        let seen = snapshot(Scope::Process(Pid(pid)), FieldSet::ALL);
        assert_eq!((seen.processes.len(), seen.tasks.len()), (0, 0), "{pid}");
    }
    drop(release);
    worker.join().expect("it ends");
}

/// Files of other users, and cgroups that are removed.
const MAY_BE_DENIED: FieldSet = FieldSet::of(&[
    Field::CgroupId,
    Field::CgroupV1CpuId,
    Field::ReadBytes,
    Field::WriteBytes,
    Field::CancelledWriteBytes,
]);

/// Starts one process of a few milliseconds after another.
fn spawn_until(is_over: Arc<AtomicBool>) -> impl FnOnce() + Send {
    move || {
        while !is_over.load(Ordering::Relaxed) {
            let status = Command::new("sleep").arg("0.004").status().expect("sleep runs");
            assert!(status.success());
        }
    }
}

#[test]
fn processes_that_vanish_are_left_out_whole() {
    // Lives as long as a snapshot, so that some are caught alive, some dead and some between two files.
    let is_over = Arc::new(AtomicBool::new(false));
    let spawners: Vec<_> = (0..4).map(|_| thread::spawn(spawn_until(Arc::clone(&is_over)))).collect();
    let (mut procfs, mut seen) = (Procfs::open().expect("procfs"), Snapshot::default());
    let (least, most) = (Instant::now() + Duration::from_secs(2), Instant::now() + Duration::from_secs(60));
    let mut short_lived = BTreeSet::new();
    let first: BTreeSet<i32> =
        snapshot(Scope::Processes, FieldSet::EMPTY).processes.iter().map(|row| row.pid.0).collect();
    // On a busy machine a snapshot may take as long as many of them live.
    while Instant::now() < least || short_lived.len() <= 20 && Instant::now() < most {
        procfs
            .snapshot(&Request::new(Scope::Tasks, FieldSet::ALL), &mut seen)
            .expect("a process that dies is no error");
        for row in seen.tasks.iter().chain(&seen.processes) {
            assert!(row.threads > 0 && row.pgid >= 0 && row.sid >= 0, "half a row: {row:?}");
            assert!(row.known.contains(Field::Uid), "half a row: {row:?}");
        }
        // A leader that exits before its threads has no memory; the others have all that this machine can say.
        for row in seen.tasks.iter().filter(|row| row.state.0 != b'Z') {
            let missing = procfs.fields().without(row.known).without(MAY_BE_DENIED);
            assert_eq!(missing, FieldSet::EMPTY, "half a row: {row:?}");
        }
        short_lived.extend(seen.processes.iter().map(|row| row.pid.0).filter(|pid| !first.contains(pid)));
    }
    is_over.store(true, Ordering::Relaxed);
    spawners.into_iter().for_each(|spawner| spawner.join().expect("it ends"));
    assert!(short_lived.len() > 20, "only {} short-lived processes were seen", short_lived.len());
}
