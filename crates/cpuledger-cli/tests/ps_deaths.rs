//! Thousands of tasks die while they are listed: every line is whole, and nothing panics.

use std::process::{Child, Command, Output, Stdio};

use cpuledger_load::Sleepers;

/// How many die, together, in the midst of the listings.
const TASKS: usize = 5_000;
const PROCESSES: usize = 500;

fn ps(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.arg("ps").args(arguments).env_remove("COLUMNS").env_remove("PS_FORMAT");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("cpuledger starts")
}

fn check(arguments: &[&str], output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    assert_eq!(said, "", "{arguments:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.ends_with('\n'), "{arguments:?} ends in half a line");
    let columns = text.lines().next().map_or(0, |header| header.split_whitespace().count());
    for line in text.lines() {
        assert!(
            line.split_whitespace().count() >= columns,
            "{arguments:?}: half a line {line:?} of {columns} columns"
        );
    }
}

#[test]
fn lines_are_whole_while_thousands_of_tasks_die() {
    let listings: [&[&str]; 6] = [
        &["-eLo", "pid,tid,stat,time,comm"],
        &["-eo", "pid,ppid,user,stat,time,args", "--sort", "-pid"],
        &["axm", "-o", "pid,tid,time,comm"],
        &["axf", "-o", "pid,ppid,comm"],
        &["-eo", "pid,wchan,cgroup,pending,oom,environ"],
        &["-eLo", "pid,tid,comm", "--source", "procfs"],
    ];
    for arguments in listings {
        let sleepers = Sleepers::start(TASKS, PROCESSES).expect("the sleepers start");
        let before = ps(arguments);
        let during = ps(arguments);
        sleepers.stop().expect("the sleepers end");
        for child in [before, during, ps(arguments)] {
            check(arguments, &child.wait_with_output().expect("it ends"));
        }
    }
}
