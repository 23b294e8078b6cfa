//! Nothing waits for a CPU that a real-time task keeps: `top` and `doctor` answer within a second, and an interrupt ends `top`. Needs
//! root, and a second CPU.

mod intervals;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger_load::is_emulated;
use intervals::{Killed, list, number};
use serde_json::Value;

/// How soon there is an answer. What answers has a real-time priority, so that other load does not matter, and its host may be busy once,
/// but not each time.
const LIMIT: Duration = Duration::from_secs(1);
const ATTEMPTS: usize = 8;

/// A real-time task on CPU 1 that never sleeps, until it is dropped or has run for five seconds.
fn spinner() -> Option<(MutexGuard<'static, ()>, Killed)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !fs::exists("/sys/devices/system/cpu/cpu1").is_ok_and(|has| has) {
        cpuledger_load::not_run("it needs a second CPU, for a real-time task that keeps it");
        return None;
    }
    let script = "ulimit -t 5; exec 2>/dev/null; while :; do :; done";
    let spinner = Command::new("taskset").args(["-c", "1", "chrt", "-f", "50", "sh", "-c", script]).spawn();
    let spinner = Killed(spinner.expect("taskset and chrt are installed: package util-linux"));
    let begin = Instant::now();
    while !fs::read_to_string(format!("/proc/{}/cmdline", spinner.0.id()))
        .is_ok_and(|words| words.starts_with("sh"))
    {
        assert!(begin.elapsed() < Duration::from_secs(60), "the spinner does not come to run");
        thread::sleep(Duration::from_millis(5));
    }
    Some((alone, spinner))
}

/// cpuledger with a real-time priority below the spinner's, on CPU 0 like all that is not the spinner.
fn cpuledger(arguments: &[&str]) -> Command {
    let mut command = Command::new("chrt");
    command.args(["-f", "1", env!("CARGO_BIN_EXE_cpuledger")]).args(arguments).stdin(Stdio::null());
    command
}

/// Makes several attempts, with a new spinner for each, of which one has to be in time.
fn assert_in_time(what: &str, attempt: impl Fn(&Killed) -> Result<(), String>) {
    for number in 1..=ATTEMPTS {
        let Some((_alone, mut spinner)) = spinner() else { return };
        let begin = Instant::now();
        let told = attempt(&spinner);
        let took = begin.elapsed();
        let still_spins = spinner.0.try_wait().expect("a child can be waited for").is_none();
        println!(
            "{what}: {took:?}, and the spinner {}",
            if still_spins { "still spins" } else { "has ended" }
        );
        if is_emulated() || (took <= LIMIT && still_spins) {
            return told.unwrap_or_else(|wrong| panic!("{what}: {wrong}"));
        }
        assert!(number < ATTEMPTS, "{what} takes {took:?}");
    }
}

#[test]
fn the_first_interval_comes_at_once_and_has_the_spinner_in_it_root() {
    assert_in_time("top", |spinner| {
        let top = cpuledger(&["top", "-b", "-d", "0.1", "-n", "3", "--source", "ledger", "--format", "json"])
            .stdout(Stdio::piped())
            .spawn();
        let mut top = Killed(top.expect("chrt runs"));
        let mut line = String::new();
        let stdout = top.0.stdout.as_mut().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("an interval");
        let interval: Value = serde_json::from_str(&line).expect("one object a line");
        let of = |key: &str| number(&interval[key]);
        let length_ns = of("end_ns") - of("start_ns");
        assert_eq!(of("capacity_ns"), length_ns * of("online_cpus"));
        assert_eq!(of("attributed_ns") + of("idle_ns") + of("unattributed_ns"), of("capacity_ns"));
        let reasons = interval["unattributed_by"].as_object().expect("an object");
        assert_eq!(reasons.values().map(number).sum::<u64>(), of("unattributed_ns"));
        let rows = list(&interval["processes"]).iter();
        let used_ns: u64 =
            rows.filter(|row| row["pid"] == spinner.0.id()).map(|row| number(&row["cpu_ns"])).sum();
        // Of each second the kernel keeps 50 ms for other tasks of that CPU, which may lie in this tenth of one.
        if 10 * used_ns > length_ns { Ok(()) } else { Err(format!("{used_ns} of {length_ns} ns")) }
    });
}

#[test]
fn an_interrupt_ends_it_at_once_root() {
    assert_in_time("an interrupted top", |_| {
        let top = cpuledger(&["top", "-b", "-d", "60", "--source", "ledger"]).stdout(Stdio::null()).spawn();
        let mut top = Killed(top.expect("chrt runs"));
        thread::sleep(Duration::from_millis(300));
        let pid = rustix::process::Pid::from_child(&top.0);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        top.0.wait().expect("it ends");
        Ok(())
    });
}

#[test]
fn doctor_answers_root() {
    assert_in_time("doctor", |_| {
        let status = cpuledger(&["doctor"]).stdout(Stdio::null()).status().expect("chrt runs");
        if status.success() { Ok(()) } else { Err(status.to_string()) }
    });
}
