//! The source procfs as a user sees it that may not see everything. Needs root, to become such a user.

use std::path::Path;
use std::process::Command;

use cpuledger::source::procfs::Procfs;
use cpuledger::{Field, FieldSet, Pid, Request, Scope, Snapshot, Source, Value};
use cpuledger_load::scene::alone;

/// Set in the process that has become another user.
const INSIDE: &str = "CPULEDGER_TEST_INSIDE";

/// Runs this test again as the user nobody, in a mount namespace in which the script has been run.
fn again_as_nobody(test: &str, script: &str) {
    let this = std::env::current_exe().expect("this test");
    // A copy that the user nobody may execute, whatever the folder of the build allows.
    let copy = std::env::temp_dir().join(format!("cpuledger-{test}-{}", std::process::id()));
    std::fs::copy(this, &copy).expect("a copy");
    let become_nobody =
        "exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all";
    let status = Command::new("unshare")
        .args(["--mount", "sh", "-ec"])
        .arg(format!("{script}\n{become_nobody} \"$0\" --exact {test}"))
        .arg(&copy)
        .env(INSIDE, "1")
        .status();
    std::fs::remove_file(&copy).expect("it is ours");
    assert!(status.expect("unshare runs: install the package util-linux").success());
}

fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

fn snapshot(scope: Scope) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mut procfs = Procfs::open().expect("procfs");
    procfs.snapshot(&Request::new(scope, FieldSet::ALL), &mut snapshot).expect("a snapshot");
    snapshot
}

fn pids(snapshot: &Snapshot) -> Vec<Pid> {
    snapshot.processes.iter().map(|row| row.pid).collect()
}

#[test]
fn files_that_may_not_be_read_leave_their_fields_unknown_root() {
    let _alone = alone();
    if !is_inside() {
        return again_as_nobody("files_that_may_not_be_read_leave_their_fields_unknown_root", "true");
    }
    let seen = snapshot(Scope::Tasks);
    let (myself, init) = (std::process::id().cast_signed(), 1);
    for rows in [&seen.processes, &seen.tasks] {
        let row = |pid| rows.iter().find(|row| row.pid.0 == pid).expect("every process is seen");
        assert_eq!(Field::ReadBytes.value(row(init)), Value::Absent, "not ours to know");
        assert_ne!(Field::ReadBytes.value(row(myself)), Value::Absent);
        for field in [Field::Uid, Field::Rss, Field::Runtime, Field::RunqueueWait] {
            assert_ne!(field.value(row(init)), Value::Absent, "{field:?}");
        }
    }
    let init = seen.processes.iter().find(|row| row.pid.0 == 1).expect("it is there");
    assert!(init.runtime_ns > 0, "the CPU clock of a process of root");
}

#[test]
fn hidden_processes_are_left_out_root() {
    let _alone = alone();
    if !is_inside() {
        for option in ["hidepid=1", "hidepid=2"] {
            let script = format!("mount -t proc -o {option} proc /proc");
            again_as_nobody("hidden_processes_are_left_out_root", &script);
        }
        return;
    }
    for scope in [Scope::Processes, Scope::Tasks] {
        let seen = snapshot(scope);
        assert!(pids(&seen).contains(&Pid(std::process::id().cast_signed())));
        assert!(!pids(&seen).contains(&Pid(1)), "init is of root");
        assert!(seen.processes.iter().all(|row| row.uid == 65534));
    }
    let one = snapshot(Scope::Process(Pid(1)));
    assert_eq!((one.processes.len(), one.tasks.len()), (0, 0));
}

#[test]
fn a_machine_without_procfs_is_told_so_root() {
    let _alone = alone();
    if !is_inside() {
        return again_as_nobody("a_machine_without_procfs_is_told_so_root", "umount -l /proc");
    }
    let error = Procfs::open().err().expect("nothing is mounted there");
    assert_eq!(error.to_string(), "cannot read /proc: it is not a procfs; mount procfs on /proc");
}

#[test]
fn another_pid_namespace_has_no_clocks_that_are_ours_root() {
    let _alone = alone();
    if !is_inside() {
        // The old /proc stays mounted: its numbers are not those of system calls.
        let status = Command::new("unshare")
            .args(["--pid", "--fork"])
            .arg(std::env::current_exe().expect("this test"))
            .args(["--exact", "another_pid_namespace_has_no_clocks_that_are_ours_root"])
            .env(INSIDE, "1")
            .status()
            .expect("unshare runs: install the package util-linux");
        return assert!(status.success());
    }
    let seen = snapshot(Scope::Processes);
    assert!(seen.processes.len() > 1);
    for row in &seen.processes {
        assert_eq!(Field::Runtime.value(row), Value::Absent, "that of another process, or of none");
    }
    let tasks = snapshot(Scope::Tasks).tasks;
    assert!(tasks.iter().all(|row| row.known.contains(Field::Runtime)), "schedstat has numbers of its own");
    assert!(Path::new("/proc/self").exists());
}
