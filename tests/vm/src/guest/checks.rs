//! Tests that hold only where nothing else is on the machine, or that are about the kernel itself. They are listed and run
//! as those of a test binary are.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use cpuledger::source::walk::Walk;
use cpuledger::{FieldSet, Request, Scope, Snapshot, Source};
use cpuledger_bpf::ledger::{Ledger, Options};
use cpuledger_bpf::{ExitHook, Inspector, Mechanism, StatusWalker, Walker, abi};
use cpuledger_vm::protocol::Event;
use libbpf_rs::query::ProgInfoIter;
use serde_json::Value;

use crate::{THREADS_OF_INIT, run};

/// All of them.
const CHECKS: [(&str, fn()); 4] = [
    ("walk_and_proc_list_the_same_tasks_root", walk_and_proc_list_the_same_tasks),
    ("doctor_says_what_is_usable_root", doctor_says_what_is_usable),
    ("auto_takes_the_best_that_works_root", auto_takes_the_best_that_works),
    ("what_the_verifier_pays_root", what_the_verifier_pays),
];

/// Prints their names.
pub fn list() {
    for (name, _) in CHECKS {
        println!("{name}: test");
    }
}

/// Runs one of them; it panics where it does not hold.
pub fn check(name: &str) {
    let (_, check) = CHECKS.iter().find(|(known, _)| *known == name).expect("a check of that name");
    check();
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
            walk.snapshot(&Request { scope: Scope::Tasks, fields: FieldSet::ALL }, &mut snapshot)
                .expect("a walk");
            if tasks_of_proc() != before {
                continue;
            }
            let walked: BTreeSet<Key> = snapshot.tasks.iter().map(|row| (row.pid.0, row.tid.0)).collect();
            assert_eq!(walked, before, "{mechanism:?}");
            assert_eq!(walked.len(), snapshot.tasks.len(), "nobody is listed twice");
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

fn doctor_says_what_is_usable() {
    let report = cpuledger(&["doctor", "--format", "json"]);
    let sources = report["sources"].as_array().expect("a list");
    let source = |name: &str| sources.iter().find(|source| source["source"] == name).expect("it is listed");
    for name in ["walk", "netlink", "procfs"] {
        assert_eq!(source(name)["usable"], true, "{}", source(name));
        assert_eq!(source(name)["hidden_pids"], Value::Array(Vec::new()), "nothing is hidden here");
    }
    let ledger = source("ledger");
    if has_atomics() {
        assert_eq!(
            (&ledger["usable"], &ledger["ledger"]["imbalance_ns"]),
            (&true.into(), &0.into()),
            "{ledger}"
        );
    } else {
        assert_eq!(ledger["usable"], false, "{ledger}");
        let reason = ledger["reason"].as_str().expect("a sentence");
        assert!(reason.contains("BPF atomics are missing"), "{reason}");
        assert!(ledger["mend"].as_str().is_some_and(|mend| mend.contains("5.12")), "{ledger}");
    }
    // Nothing happens on this machine, so the ledger costs nothing.
    assert_eq!(report["auto"], if has_atomics() { "ledger" } else { "walk" }, "{}", report["costs"]);
}

fn auto_takes_the_best_that_works() {
    let arguments = ["top", "--batch", "--iterations", "1", "--delay", "0.2", "--format", "json"];
    let interval = cpuledger(&arguments);
    assert_eq!(interval["source"], if has_atomics() { "ledger" } else { "walk" }, "{interval}");
    let asked = [&arguments[..], &["--source", "ledger"]].concat();
    if has_atomics() {
        assert_eq!(cpuledger(&asked)["unattributed_ns"], 0);
        return;
    }
    let output = Command::new("cpuledger").args(&asked).output().expect("the initramfs has it");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("BPF atomics"), "{errors}");
}

/// Says what each program costs that loads here.
fn what_the_verifier_pays() {
    let before: BTreeSet<u32> = ProgInfoIter::default().map(|program| program.id).collect();
    // What does not load here is missing in the table; where it should load, other tests fail.
    let _loaded = (
        Walker::load_mechanism(Mechanism::OneCall).ok(),
        Walker::load_for(1, 1, abi::CPULEDGER_READ_BRIEFLY).ok(),
        Walker::load_mechanism(Mechanism::Iterator).ok(),
        Walker::load_plain_iterator().ok(),
        Inspector::load(1, 1).ok(),
        StatusWalker::load(1, 1).ok(),
        ExitHook::attach().ok(),
        Ledger::attach(Options::default()).ok(),
    );
    let mut count = 0;
    for program in ProgInfoIter::default().filter(|program| !before.contains(&program.id)) {
        run::say(&Event::Program(program.name.to_string_lossy().into_owned(), program.verified_insns));
        count += 1;
    }
    assert!(count > 0, "not one program loads");
}
