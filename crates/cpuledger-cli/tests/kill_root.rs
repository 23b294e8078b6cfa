//! I9: nothing of a killed cpuledger stays in the kernel. The objects are followed by id, from the files that the process
//! held. Needs root.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cpuledger_load::{BpfHeld, Storm, StormPlan};

/// The kernel frees BPF objects some grace periods after their last file is closed.
const GONE_WITHIN: Duration = Duration::from_secs(60);

/// A running `top` that has printed its first interval, and that interval.
fn running_top(source: &str) -> (Child, serde_json::Value) {
    let mut top = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
        .args(["top", "--batch", "--source", source, "--delay", "0.1", "--format", "json"])
        .args(["--iterations", "100000"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("cpuledger runs");
    let mut line = String::new();
    let stdout = top.stdout.as_mut().expect("a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("an interval");
    assert!(line.contains("cpuledger.interval/1"), "{line}");
    let interval = serde_json::from_str(&line).expect("one object a line");
    (top, interval)
}

/// Capacity is what was attributed and idle, and attributed is the sum of the processes.
fn assert_balance(interval: &serde_json::Value) {
    let of = |key: &str| interval[key].as_u64().unwrap_or_else(|| panic!("{key} of {interval}"));
    assert_eq!(of("attributed_ns") + of("idle_ns"), of("capacity_ns"));
    let rows = interval["processes"].as_array().expect("a list");
    let sum: u64 = rows.iter().filter_map(|row| row["cpu_ns"].as_u64()).sum();
    assert_eq!((sum, of("unattributed_ns"), of("unidentified_exits")), (of("attributed_ns"), 0, 0));
}

fn assert_nothing_is_left(held: &BpfHeld) {
    let left = held.left_after(GONE_WITHIN).expect("bpftool lists");
    assert_eq!(left, BpfHeld::default(), "still there");
}

fn assert_all_is_there(held: &BpfHeld) {
    assert_eq!(held.left().as_ref().ok(), Some(held), "what it holds is in the kernel");
}

#[test]
fn sigkill_leaves_nothing_attached_root() {
    let (mut top, _) = running_top("walk");
    let held = BpfHeld::by(top.id());
    assert!(
        !held.programs.is_empty() && !held.maps.is_empty() && !held.links.is_empty(),
        "{held:?}; it needs root"
    );
    assert_all_is_there(&held);
    top.kill().expect("SIGKILL is sent");
    top.wait().expect("it ends");
    assert_nothing_is_left(&held);
}

#[test]
fn sigterm_leaves_nothing_attached_root() {
    let (mut top, _) = running_top("walk");
    let held = BpfHeld::by(top.id());
    assert_all_is_there(&held);
    assert!(!held.links.is_empty(), "{held:?}; it needs root");
    let pid = rustix::process::Pid::from_child(&top);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("SIGTERM is sent");
    // It finishes its interval, which has to be read.
    std::io::copy(top.stdout.as_mut().expect("a pipe"), &mut std::io::sink()).expect("the rest");
    assert!(top.wait().expect("it ends").success());
    assert_nothing_is_left(&held);
}

/// In the middle of a storm: nothing stays, and the next ledger has books that balance from the first interval on.
#[test]
fn sigkill_in_a_storm_leaves_no_ledger_root() {
    let plan = StormPlan { workers: 3, ..StormPlan::default() };
    let storm = Storm::start(&plan).expect("processes are made");
    for _ in 0..3 {
        let (mut top, first) = running_top("ledger");
        assert_balance(&first);
        let held = BpfHeld::by(top.id());
        assert!(!held.programs.is_empty() && !held.maps.is_empty(), "{held:?}");
        assert!(held.links.len() >= 3, "the hooks of switch, fork and rename: {held:?}");
        assert_all_is_there(&held);
        top.kill().expect("SIGKILL is sent");
        top.wait().expect("it ends");
        // The next one begins while the kernel still takes this one apart.
        let (mut next, first) = running_top("ledger");
        assert_balance(&first);
        assert_nothing_is_left(&held);
        next.kill().expect("SIGKILL is sent");
        next.wait().expect("it ends");
    }
    storm.stop().expect("the storm ends");
}
