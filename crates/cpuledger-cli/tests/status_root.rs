//! `cpuledger status --source walk` while processes die: whole texts and no others. Needs root.

use std::io::Read;
use std::process::{Command, Stdio};

use cpuledger_load::{Sleepers, Storm, StormPlan, is_emulated};

/// The lines of each block begin with the name of the task and end with its switches, whatever goes on.
fn check_blocks(text: &str) {
    let mut blocks = 0;
    for block in text.trim_end_matches('\n').split("\n\n") {
        let last = block.lines().rev().find(|line| !line.starts_with("x86_"));
        assert!(block.starts_with("Name:\t"), "{block}");
        assert!(last.is_some_and(|line| line.starts_with("nonvoluntary_ctxt_switches:\t")), "{block}");
        blocks += 1;
    }
    assert!(blocks > 10, "{blocks} blocks");
    assert!(text.ends_with('\n'));
}

#[test]
fn texts_are_whole_while_tasks_come_and_go_root() {
    let storm = Storm::start(&StormPlan::default()).expect("a storm");
    for _ in 0..20 {
        let output = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
            .args(["status", "--all", "-H", "--source", "walk"])
            .output()
            .expect("cpuledger starts");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
        check_blocks(&String::from_utf8_lossy(&output.stdout));
    }
    drop(storm);
}

/// A reader that has enough after the first lines of many: nothing is said, and the code is 0.
#[test]
fn a_reader_that_has_enough_is_no_error_root() {
    // Much more than a pipe holds.
    let _sleepers = Sleepers::start(if is_emulated() { 400 } else { 2_000 }, 1).expect("sleepers");
    let mut child = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
        .args(["status", "--all", "-H", "--source", "walk"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cpuledger starts");
    let mut first = [0; 100];
    child.stdout.take().expect("a pipe").read_exact(&mut first).expect("there is more than that");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}
