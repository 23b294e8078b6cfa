//! What an interval costs in system calls, as strace sees them, and that it still learns which CPUs are online. Needs root.

use std::io::Write;
use std::process::{Command, Stdio};

use cpuledger_bpf::ledger::{Ledger, Options};
use cpuledger_load::not_run::MAY_UNPLUG;
use cpuledger_load::{not_run, online_cpus, removable_cpu};

/// Set in the environment of the process that strace looks at.
const TRACED: &str = "CPULEDGER_TEST_TRACED";
const INTERVALS: usize = 50;
const INTERVAL_NS: u64 = 2_000_000;

/// Intervals until all memory that they take is there, then those that count, between two marks in the trace.
fn traced() {
    let mut ledger = Ledger::attach(Options::default()).expect("the ledger attaches");
    let mut close = |count| {
        for _ in 0..count {
            let cut_ns = ledger.start_ns() + INTERVAL_NS;
            assert_eq!(ledger.close_interval(cut_ns).expect("an interval closes").imbalance_ns(), 0);
        }
    };
    let mark = || std::io::stderr().write_all(b"mark\n").expect("stderr is open");
    close(4 * INTERVALS);
    mark();
    close(INTERVALS);
    mark();
}

#[test]
fn an_interval_only_sleeps_root() {
    if std::env::var_os(TRACED).is_some() {
        return traced();
    }
    let trace = std::env::temp_dir().join(format!("cpuledger-ledger-trace-{}", std::process::id()));
    let status = Command::new("strace")
        .args(["-f", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().expect("this test is a file"))
        .args(["an_interval_only_sleeps_root", "--exact", "--nocapture"])
        .env(TRACED, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("strace runs: install the package strace");
    assert!(status.success());
    let text = std::fs::read_to_string(&trace).expect("a trace");
    std::fs::remove_file(&trace).expect("the trace is ours");
    let calls = between_marks(&text);
    // One until the cut is published, one until it has passed; more if a signal or a late wake-up needs it.
    assert!((INTERVALS..=4 * INTERVALS).contains(&calls.len()), "{} calls", calls.len());
    let others: Vec<_> = calls.iter().filter(|call| !call.starts_with("clock_nanosleep(")).collect();
    // While a switch on another CPU comes to its end, the reader gives way.
    assert!(others.iter().all(|call| call.starts_with("sched_yield(")), "{others:#?}");
    assert!(others.len() <= INTERVALS / 10, "{others:#?}");
}

/// The system calls between the two marks, of the thread that wrote them. A line is: tid, call(arguments) = result.
fn between_marks(text: &str) -> Vec<&str> {
    let lines: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let is_mark = |call: &str| call.trim_start().starts_with("write(2, \"mark");
    let marks: Vec<usize> = (0..lines.len()).filter(|place| is_mark(lines[*place].1)).collect();
    assert_eq!(marks.len(), 2, "{text}");
    let thread = lines[marks[0]].0;
    let of_thread = lines[marks[0] + 1..marks[1]].iter().filter(|(tid, _)| *tid == thread);
    // The second half of a call that another thread has interrupted in the trace is no call.
    of_thread.map(|(_, call)| call.trim_start()).filter(|call| !call.starts_with("<...")).collect()
}

/// Takes a CPU offline and back while the ledger is attached.
#[test]
fn a_cpu_that_leaves_and_comes_back_is_noticed_root() {
    if std::env::var_os(MAY_UNPLUG).is_none() {
        return not_run(&format!("it takes a CPU offline: set {MAY_UNPLUG}=1 on a machine of your own"));
    }
    let (unplugged, control) = removable_cpu().expect("a CPU that can be taken offline");
    let set = |online: &str| std::fs::write(&control, online);
    let mut ledger = Ledger::attach(Options::default()).expect("the ledger attaches; it needs root");
    let mut cpus = || {
        let mut seen = Vec::new();
        // The CPU leaves the books at the first cut at which it is offline, and enters them at its first switch.
        for _ in 0..3 {
            let cut_ns = ledger.start_ns() + 20_000_000;
            let interval = ledger.close_interval(cut_ns).expect("an interval closes");
            assert_eq!(interval.imbalance_ns(), 0);
            seen = interval.cpus.iter().map(|time| time.cpu).collect();
        }
        let online = online_cpus().expect("sysfs");
        assert!(seen.iter().copied().eq(online.iter().copied()), "in the books {seen:?}, online {online:?}");
        seen
    };
    let all = cpus();
    set("0").expect("it can be taken offline");
    let fewer = cpus();
    set("1").expect("a CPU that went offline comes back");
    let again = cpus();
    assert!(!fewer.contains(&unplugged), "{fewer:?} of {all:?}");
    assert_eq!(again, all);
}
