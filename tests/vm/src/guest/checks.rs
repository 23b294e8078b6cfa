//! Tests that hold only where nothing else is on the machine, or that are about the kernel itself. They are listed and run
//! as those of a test binary are.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::panic::catch_unwind;
use std::process::{Command, ExitCode};

use cpuledger::source::walk::Walk;
use cpuledger::{FieldSet, Request, Scope, Snapshot, Source};
use cpuledger_bpf::Mechanism;
use cpuledger_vm::Machine;
use cpuledger_vm::machine::LEFT_ONLINE;
use serde_json::Value;

use crate::THREADS_OF_INIT;

/// All of them.
const CHECKS: [(&str, fn()); 3] = [
    ("cpus_are_as_the_machine_should_have_them_root", cpus_are_as_the_machine_should_have_them),
    ("walk_and_proc_list_the_same_tasks_root", walk_and_proc_list_the_same_tasks),
    ("auto_takes_the_best_that_works_root", auto_takes_the_best_that_works),
];

/// Prints their names.
pub fn list() {
    for (name, _) in CHECKS {
        println!("{name}: test");
    }
}

/// Runs these, and says of each what became of it, as libtest does.
pub fn check(names: &[&str]) -> ExitCode {
    let mut failed = false;
    for (name, check) in CHECKS.iter().filter(|(name, _)| names.contains(name)) {
        print!("test {name} ... ");
        let _ = std::io::stdout().flush();
        let passed = catch_unwind(check).is_ok();
        println!("{}", if passed { "ok" } else { "FAILED" });
        failed |= !passed;
    }
    if failed {
        println!("\n\nfailures:\n");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// That of a guest with other CPUs would be the tests of another machine.
fn cpus_are_as_the_machine_should_have_them() {
    let machine = crate::machine();
    let online = cpuledger_load::online_cpus().expect("sysfs");
    let expected: Vec<u32> = match machine {
        Machine::SparseCpus => LEFT_ONLINE.to_vec(),
        _ => (0..machine.cpus()).collect(),
    };
    assert_eq!(online, expected, "{machine}");
    let list = |name: &str| fs::read_to_string(format!("/sys/devices/system/cpu/{name}")).expect("sysfs");
    assert_eq!(list("present"), format!("0-{}\n", machine.cpus() - 1));
}

type Key = (i32, i32);

fn tasks_of_proc() -> BTreeSet<Key> {
    let numbers = |place: &str| -> Vec<i32> {
        let entries = fs::read_dir(place).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let of_process = |pid| numbers(&format!("/proc/{pid}/task")).into_iter().map(move |tid| (pid, tid));
    numbers("/proc").into_iter().flat_map(of_process).collect()
}

/// Set equality, by each mechanism that the kernel has: kernel threads come and go, so a walk counts when /proc listed the
/// same before and after it.
fn walk_and_proc_list_the_same_tasks() {
    const WANTED: usize = 10;
    let has_one_call = fs::read("/sys/kernel/btf/vmlinux")
        .is_ok_and(|btf| cpuledger_vm::Feature::OpenCodedIterator.is_here(&btf));
    let mechanisms: &[Mechanism] =
        if has_one_call { &[Mechanism::OneCall, Mechanism::Iterator] } else { &[Mechanism::Iterator] };
    for &mechanism in mechanisms {
        let mut walk = Walk::open_mechanism(mechanism).expect("the walk loads on every kernel of the matrix");
        let mut snapshot = Snapshot::default();
        let mut compared = 0;
        for _ in 0..50 * WANTED {
            let before = tasks_of_proc();
            walk.snapshot(&Request::new(Scope::Tasks, FieldSet::ALL), &mut snapshot).expect("a walk");
            if tasks_of_proc() != before {
                continue;
            }
            let walked: BTreeSet<Key> = snapshot.tasks.iter().map(|row| (row.pid.0, row.tid.0)).collect();
            assert_eq!(walked, before, "{mechanism:?}");
            assert_eq!(walked.len(), snapshot.tasks.len(), "no task is listed twice");
            let processes: BTreeSet<i32> = snapshot.processes.iter().map(|row| row.pid.0).collect();
            assert_eq!(processes, before.iter().map(|(pid, _)| *pid).collect());
            assert_eq!(
                before.range((1, 0)..(2, 0)).count(),
                1 + THREADS_OF_INIT,
                "threads of the first process"
            );
            compared += 1;
            if compared == WANTED {
                break;
            }
        }
        assert_eq!(compared, WANTED, "{mechanism:?}: the machine never stood still");
    }
}

fn has_atomics() -> bool {
    cpuledger_bpf::has_atomics().expect("root may ask")
}

fn cpuledger(arguments: &[&str]) -> Value {
    let output = Command::new("cpuledger").args(arguments).output().expect("the initramfs has it");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cpuledger {arguments:?}: {errors}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn auto_takes_the_best_that_works() {
    let arguments = ["top", "--batch", "--iterations", "1", "--delay", "0.2", "--format", "json"];
    let interval = cpuledger(&arguments);
    assert_eq!(interval["source"], if has_atomics() { "ledger" } else { "walk" }, "{interval}");
    if has_atomics() {
        assert_eq!(interval["unattributed_ns"], 0);
        return;
    }
    let asked = [&arguments[..], &["--source", "ledger"]].concat();
    let output = Command::new("cpuledger").args(&asked).output().expect("the initramfs has it");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("BPF atomics"), "{errors}");
}
