//! How `cpuledger top` ends: exit codes, and one sentence where something is wrong.

use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

fn top(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.args(["top", "--source", "procfs", "-d", "0.01"]).args(arguments).stdin(Stdio::null());
    command
}

#[test]
fn a_bad_value_is_a_usage_error_in_one_sentence() {
    for arguments in [
        ["-d", "0"],
        ["-d", "abc"],
        ["-n", "-1"],
        ["-o", "cpu_n"],
        ["--format", "xml"],
        ["--source", "magic"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        let output = command.arg("top").args(arguments).output().expect("cpuledger runs");
        let sentence = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {sentence}");
        assert_eq!(sentence.lines().count(), 1, "{arguments:?}: {sentence}");
    }
}

#[test]
fn a_full_disk_is_said() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let output = top(&["-b", "-n", "3"]).stdout(full).output().expect("cpuledger runs");
    assert_eq!(output.status.code(), Some(1));
    let sentence = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(sentence.contains("standard output") && sentence.lines().count() == 1, "{sentence}");
}

#[test]
fn a_reader_that_has_enough_ends_it_silently() {
    let mut child =
        top(&["-b"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("cpuledger runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn without_batch_it_prints_two_intervals() {
    let output = top(&["--format", "json"]).output().expect("cpuledger runs");
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).expect("UTF-8").lines().count(), 2);
}

#[test]
fn csv_has_one_header() {
    let output = top(&["-b", "-n", "2", "--format", "csv", "--all"]).output().expect("cpuledger runs");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let is_header = |line: &&str| line.starts_with("kind,source,start_ns,end_ns,tid,pid,");
    assert_eq!(text.lines().filter(is_header).count(), 1);
    assert!(text.lines().next().is_some_and(|header| header.split(',').count() > 30));
}

#[test]
fn any_width_will_do() {
    for width in ["1", "20", "80", "0", "x"] {
        let mut command = top(&["-n", "1", "--all", "-c"]);
        let output = command.env("COLUMNS", width).output().expect("cpuledger runs");
        assert!(output.status.success(), "COLUMNS={width}");
        if let Ok(width @ 1..) = width.parse::<usize>() {
            let text = String::from_utf8(output.stdout).expect("UTF-8");
            assert!(text.lines().all(|line| line.chars().count() <= width), "COLUMNS={width}: {text}");
        }
    }
}

#[test]
fn no_match_is_said_and_code_1() {
    for (arguments, told) in [
        (["-b", "-n", "1", "-p", "2147483647"], "no process has pid 2147483647"),
        (["-b", "-n", "1", "-p", "2147483647,2147483646"], "no process has any of the pids of -p"),
        (["-b", "-n", "1", "-u", "4000000001,4000000002"], "no process matched -u"),
    ] {
        let output = top(&arguments).output().expect("cpuledger runs");
        let sentence = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {sentence}");
        assert_eq!(sentence, format!("cpuledger: {told}\n"));
    }
    // One that is there and idle is found.
    let output = top(&["-b", "-n", "1", "-p", "1"]).output().expect("cpuledger runs");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

/// Options of the screen are checked where there is none.
#[test]
fn a_theme_or_a_configuration_that_does_not_exist_is_an_error_in_text_too() {
    for (arguments, code, part) in [
        (["-n", "1", "--theme", "foo"], 2, "not `foo`"),
        (["-n", "1", "--config", "/nonexistent"], 1, "cannot read /nonexistent"),
    ] {
        let output = top(&arguments).output().expect("cpuledger runs");
        let sentence = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!((output.status.code(), output.stdout), (Some(code), Vec::new()), "{sentence}");
        assert!(sentence.contains(part), "{sentence}");
    }
}

#[test]
fn help_and_version_that_cannot_be_written_are_failures() {
    for arguments in [&["--help"][..], &["--version"], &["top", "--help"], &["help", "ps"], &["doctor"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        // Not open for writing: the answer is EBADF, as of a closed one.
        let unwritable = OpenOptions::new().read(true).open("/dev/null").expect("/dev/null");
        for (stdout, reason) in [(full, "No space left"), (unwritable, "Bad file descriptor")] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
            let output = command.args(arguments).stdout(stdout).output().expect("cpuledger runs");
            let sentence = String::from_utf8(output.stderr).expect("UTF-8");
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {sentence}");
            assert!(sentence.contains("standard output") && sentence.contains(reason), "{sentence}");
        }
    }
}

#[test]
fn ptop_has_its_own_help_and_version() {
    let ptop = |argument: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        let output = command.arg0("ptop").arg(argument).output().expect("cpuledger runs");
        assert_eq!(output.status.code(), Some(0), "{argument}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let help = ptop("--help");
    assert!(help.contains("Usage: ptop [OPTIONS]") && help.contains("--command-line"), "{help}");
    for argument in ["-V", "--version"] {
        assert_eq!(ptop(argument), concat!("ptop ", env!("CARGO_PKG_VERSION"), "\n"));
    }
}

#[test]
fn help_ps_is_the_page_of_ps() {
    let page = |arguments: [&str; 2]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        command.args(arguments).output().expect("cpuledger runs").stdout
    };
    assert_eq!(page(["help", "ps"]), page(["ps", "--help"]));
}
