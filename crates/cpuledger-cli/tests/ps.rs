//! How `cpuledger ps` ends: codes, sentences, closed pipes, full disks, narrow screens. With the source it chooses.

use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

fn ps(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.arg("ps").args(arguments).env_remove("COLUMNS");
    command
}

fn run(arguments: &[&str]) -> Output {
    ps(arguments).output().expect("cpuledger starts")
}

fn sentence(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Our own pid is in every listing; the line of the listing's own process.
#[test]
fn this_process_is_listed() {
    let pid = std::process::id().to_string();
    let output = run(&["-p", &pid, "-o", "pid=,comm=,args="]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", sentence(&output));
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.trim_start().starts_with(&pid), "{text}");
}

#[test]
fn nothing_found_is_a_header_and_code_1() {
    let output = run(&["-p", "2147483647"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>(),
        ["PID", "TTY", "TIME", "CMD"]
    );
    assert_eq!(sentence(&output), "");
}

#[test]
fn a_wrong_command_line_is_one_sentence_and_code_2() {
    for (arguments, part) in [
        (&["-p", "abc"][..], "`abc` is none"),
        (&["-eo", "pdi"], "did you mean `pid`"),
        (&["-e", "--sort", "rsss"], "did you mean `rss`"),
        (&["--no-heders"], "did you mean `--no-headers`"),
        (&["-u", "no such user"], "there is no user `no`"),
        (&["--source", "ledgre"], "there is no source `ledgre`"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        let sentence = sentence(&output);
        assert!(sentence.starts_with("cpuledger: ") && sentence.contains(part), "{sentence}");
        assert_eq!(sentence.lines().count(), 1, "{sentence}");
    }
}

#[test]
fn help_and_version_need_no_source() {
    for (arguments, part) in [
        (&["--help"][..], "--no-headers"),
        (&["L"], "runqueue_wait_ns"),
        (&["--version"], env!("CARGO_PKG_VERSION")),
        (&["V"], env!("CARGO_PKG_VERSION")),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&output.stdout).contains(part), "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_said_and_a_closed_pipe_is_not() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let output = ps(&["-e"]).stdout(full).output().expect("cpuledger starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        sentence(&output).contains("cannot write to standard output: No space left"),
        "{}",
        sentence(&output)
    );

    let mut child =
        ps(&["-e"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("cpuledger starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(sentence(&output), "");
}

#[test]
fn screens_of_any_width_are_filled_and_not_left() {
    for columns in ["1", "2", "8", "20", "80", "100000"] {
        let output = ps(&["aux"]).env("COLUMNS", columns).output().expect("cpuledger starts");
        assert_eq!(output.status.code(), Some(0), "{columns}: {}", sentence(&output));
        let width = columns.parse::<usize>().expect("a number");
        // At least the columns fit; beyond that lines end with a screen's width.
        let longest = width.max(80).next_multiple_of(width);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let too_long = text.lines().find(|line| line.chars().count() > longest);
        assert_eq!(too_long, None, "{columns}");
    }
}
