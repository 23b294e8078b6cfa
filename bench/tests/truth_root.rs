//! What the ledger says of five programs, each in a cgroup of its own, beside the kernel's own counts: the short form of `cpuledger-bench truth`.
//! Needs root.
//!
//! A switch that the kernel hides leaves the time of one task with another. So a scene in which some were hidden is played again where it does
//! not hold, as in the other tests of times.

use std::process::Command;

use cpuledger_load::scene::{scene_of_times, were_missed};
use cpuledger_load::{not_run, online_cpus};
use serde_json::Value;

/// By how much CPU time may differ, in thousandths.
const CPU_THOUSANDTHS: u64 = 5;
/// By how much waits may.
const WAIT_THOUSANDTHS: u64 = 10;
/// What a task runs until the kernel charges it: a tick of the scheduler, 4 ms with 250 of them a second.
const CHARGED_WITHIN_NS: u64 = 4_000_000;
/// /proc/stat counts in ticks of 10 ms, of each CPU.
const TICK_NS: u64 = 10_000_000;
/// What the least of all differences may be.
const LEAST_NS: u64 = 2_000_000;

/// What `truth` has found.
struct Truth(Value);

impl Truth {
    /// Looks at one program; `None`: that is not installed.
    fn of(workload: &str) -> Option<Truth> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger-bench"));
        command.args(["truth", "--short", "--json", "--seconds", "3", "--only", workload]);
        let output = command.output().expect("the benchmarks are built");
        let (found, said) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        print!("{said}");
        if let Some(reason) = said.lines().find(|line| line.contains(" HAS NOT RUN: ")) {
            not_run(reason);
            return None;
        }
        assert!(output.status.success(), "{said}");
        assert_eq!(found.lines().count(), 1, "one workload has this name: {found}");
        Some(Truth(serde_json::from_str(&found).expect("JSON")))
    }

    fn count(&self, key: &str) -> u64 {
        self.0[key].as_u64().unwrap_or_else(|| panic!("{key} is no number: {}", self.0))
    }

    /// Nothing is counted twice or not at all.
    fn assert_whole(&self) {
        assert_eq!(self.0["imbalance_ns"].as_i64(), Some(0));
        assert_eq!(self.count("wrong_rows"), 0, "rows whose parts are not their whole");
    }

    /// Programs are stopped at both ends, so that all is charged. Those that want a CPU all the time are not.
    fn assert_ran(&self) {
        let (ledger_ns, kernel_ns) = (self.count("ledger_cpu_ns"), self.count("kernel_cpu_ns"));
        let uncharged_ns = if self.is_always_runnable() { cpus() * CHARGED_WITHIN_NS } else { 0 };
        let slack_ns = kernel_ns * CPU_THOUSANDTHS / 1_000 + uncharged_ns + LEAST_NS;
        assert!(
            ledger_ns.abs_diff(kernel_ns) <= slack_ns,
            "CPU time: {ledger_ns}, by the kernel {kernel_ns}"
        );
    }

    /// A task that a hidden process has put off its CPU seems to have it still: that is stolen time, and no wait.
    fn assert_waited(&self) {
        let (ledger_ns, kernel_ns) = (self.count("ledger_wait_ns"), self.count("kernel_wait_ns"));
        let (slack_ns, hidden_ns) =
            (kernel_ns * WAIT_THOUSANDTHS / 1_000 + LEAST_NS, self.count("hidden_cpu_ns"));
        assert!(ledger_ns <= kernel_ns + slack_ns, "waits: {ledger_ns}, by the kernel {kernel_ns}");
        assert!(
            kernel_ns <= ledger_ns + hidden_ns + slack_ns,
            "waits: {ledger_ns}, by the kernel {kernel_ns}, hidden {hidden_ns}"
        );
    }

    fn is_always_runnable(&self) -> bool {
        self.0["always_runnable"].as_bool().expect("yes or no")
    }

    /// What was stolen while a CPU was idle is in no row, and rows have the time of processes that the kernel hides.
    fn assert_stolen(&self) {
        let (ledger_ns, kernel_ns) = (self.count("ledger_stolen_ns"), self.count("kernel_stolen_ns"));
        let (idle_ns, hidden_ns) = (self.count("idle_ns"), self.count("hidden_cpu_ns"));
        let slack_ns = 2 * cpus() * TICK_NS;
        assert!(
            ledger_ns <= kernel_ns + hidden_ns + slack_ns,
            "stolen: {ledger_ns}, by the kernel {kernel_ns}, hidden {hidden_ns}"
        );
        assert!(
            kernel_ns <= ledger_ns + idle_ns + slack_ns,
            "stolen: {ledger_ns}, by the kernel {kernel_ns}, idle {idle_ns}"
        );
    }
}

fn cpus() -> u64 {
    online_cpus().expect("sysfs").len() as u64
}

fn the_kernel_agrees_on(workload: &str) {
    scene_of_times(|| {
        let Some(truth) = Truth::of(workload) else { return };
        were_missed(truth.count("missed_switches"));
        truth.assert_whole();
        truth.assert_ran();
        truth.assert_waited();
        truth.assert_stolen();
    });
}

#[test]
fn the_kernel_agrees_on_a_compiler_root() {
    the_kernel_agrees_on("make -j4");
}

#[test]
fn the_kernel_agrees_on_tasks_of_a_real_time_policy_root() {
    the_kernel_agrees_on("two loops of a real-time policy");
}

#[test]
fn the_kernel_agrees_on_2500_tasks_for_two_cpus_root() {
    the_kernel_agrees_on("2,500 loops");
}

#[test]
fn the_kernel_agrees_on_shells_that_fork_root() {
    the_kernel_agrees_on("two shells that fork");
}

#[test]
fn the_kernel_agrees_on_a_pipe_root() {
    the_kernel_agrees_on("dd through a pipe");
}
