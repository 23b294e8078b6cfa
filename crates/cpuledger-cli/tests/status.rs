//! How `cpuledger status` ends: codes, sentences, closed pipes, full disks; and that its text is that of the files.

use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

use cpuledger_load::Sleepers;

fn status(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.arg("status").args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    status(arguments).output().expect("cpuledger starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn each_form_is_the_text_of_the_file() {
    let sleepers = Sleepers::start(6, 2).expect("sleepers");
    let pids: Vec<String> = sleepers.processes().iter().map(|process| process.pid.to_string()).collect();
    let file =
        |pid: &str, name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).expect("it sleeps");
    for form in ["status", "stat", "statm"] {
        let separator = if form == "status" { "\n" } else { "" };
        let expected = || [file(&pids[1], form), file(&pids[0], form)].join(separator);
        // A sleeper may not be asleep yet, and what its user has queued is the doing of others.
        let output = (0..50)
            .map(|_| (expected(), run(&["--as", form, &pids[1], &pids[0]])))
            .find(|(expected, output)| text(&output.stdout) == *expected);
        let (_, output) = output.expect("the same text, once in a while");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    }
    let numbered = run(&["--as", "statm", "--numbered", &pids[0]]);
    assert_eq!(text(&numbered.stdout), format!("{} {}", pids[0], file(&pids[0], "statm")));
    let threads = run(&["--as", "stat", "-H", &pids[0]]);
    let tids: Vec<String> = text(&threads.stdout)
        .lines()
        .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(tids.len(), 3);
    assert!(tids.iter().all(|tid| std::path::Path::new(&format!("/proc/{}/task/{tid}", pids[0])).exists()));
}

#[test]
fn a_wrong_command_line_says_what_is_right() {
    for (arguments, part) in [
        (&[][..], "give one or more pids, or --all"),
        (&["--source", "netlink", "1"], "status cannot use `netlink`"),
        (&["abc"], "a pid is a whole number from 1 to 2147483647, not `abc`"),
        (&["--as", "maps", "1"], "the texts are status, stat and statm, not `maps`"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(part), "{}", text(&output.stderr));
    }
}

#[test]
fn a_missing_process_is_named_and_the_others_are_shown() {
    let own = std::process::id().to_string();
    let output = run(&["2147483647", &own, "2147483646"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains(&format!("\nPid:\t{own}\n")), "{}", text(&output.stdout));
    assert!(text(&output.stdout).starts_with("Name:\t"), "no empty line for who is not there");
    let sentences = text(&output.stderr);
    assert_eq!(sentences.lines().count(), 2, "{sentences}");
    assert!(sentences.contains("process 2147483647 does not exist"), "{sentences}");
}

/// A thread has files of its own, but is no process.
#[test]
fn a_thread_is_not_taken_for_a_process() {
    let sleepers = Sleepers::start(2, 1).expect("sleepers");
    let pid = sleepers.processes()[0].pid.to_string();
    let tids = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it sleeps");
    let thread = tids
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .find(|tid| *tid != pid)
        .expect("it has two");
    let output = run(&[&thread]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
    assert!(text(&output.stderr).contains(&format!("process {thread} does not exist")));
}

#[test]
fn a_wrong_command_line_is_said_and_code_2() {
    for arguments in [
        &[][..],
        &["abc"],
        &["0"],
        &["-1"],
        &["1", "--all"],
        &["1", "--as", "maps"],
        &["1", "--source", "ledger"],
        &["1", "--source", "none"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_said_and_a_closed_pipe_is_not() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let output = status(&["--all"]).stdout(full).output().expect("cpuledger starts");
    assert_eq!(output.status.code(), Some(1));
    let sentence = text(&output.stderr);
    assert!(sentence.contains("cannot write to standard output: No space left"), "{sentence}");
    assert_eq!(sentence.lines().count(), 1, "{sentence}");

    let mut child = status(&["--all", "-H"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cpuledger starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

/// All processes, while some of them go: whole texts, and code 0.
#[test]
fn all_processes_have_whole_texts() {
    let output = run(&["--all", "--source", "procfs"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for block in text(&output.stdout).split("\n\n") {
        assert!(block.starts_with("Name:\t") && block.contains("\nnonvoluntary_ctxt_switches:\t"), "{block}");
    }
}
