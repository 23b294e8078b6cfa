//! What others have chosen, names and words of a command line, reaches no terminal as a control, and no spreadsheet as a formula;
//! a stack that is too small ends nothing by a signal.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

fn cpuledger() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.stdin(Stdio::null());
    command
}

/// Text without a control but the ends of lines, and without what is not seen.
fn assert_is_clean(what: &[u8], of: &str) {
    let text = str::from_utf8(what).unwrap_or_else(|_| panic!("{of}: not UTF-8"));
    let hidden = |character: &char| {
        character.is_control() && *character != '\n'
            || matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{202e}' | '\u{e0000}'..='\u{e007f}')
    };
    assert_eq!(text.chars().find(hidden), None, "{of}: {text:?}");
}

#[test]
fn a_bad_argument_reaches_standard_error_without_its_controls() {
    const FOUL: &str = "a\x1b[31m\x07\u{9b}1m\u{202e}\u{e0041}\r";
    for words in [
        &["top", FOUL][..],
        &["top", "-o", FOUL],
        &["top", "-u", FOUL],
        &["top", "-p", FOUL],
        &["top", "--format", FOUL],
        &["top", "--source", FOUL],
        &["top", "--config", FOUL, "-b", "-n", "1", "--slots", FOUL],
        &["top", "--procps", "-b", FOUL],
        &["top", "--procps", "-bn1", "-o", FOUL],
        &[FOUL],
        &["ps", "-o", FOUL],
        &["ps", FOUL],
        &["ps", "--sort", FOUL],
        &["ps", "--source", FOUL],
        &["status", "--as", FOUL],
        &["doctor", FOUL],
        &["help", FOUL],
    ] {
        let output = cpuledger().args(words).output().expect("cpuledger runs");
        assert!(!output.status.success() && !output.stderr.is_empty(), "{words:?}");
        assert_is_clean(&output.stderr, &format!("{words:?}"));
    }
    let not_utf8 = OsStr::from_bytes(b"\xff\x1b[31m");
    let output = cpuledger().arg("ps").arg(not_utf8).output().expect("cpuledger runs");
    assert!(output.status.code() == Some(1));
    assert_is_clean(&output.stderr, "not UTF-8");
}

/// A child whose arguments are foul, listed by each command that shows arguments.
fn listed(line: &[&str], argument: &str) -> Output {
    let mut child = Command::new("sleep");
    child.arg0(argument).arg("98766").stdin(Stdio::null());
    let mut child = child.spawn().expect("sleep runs");
    let pid = child.id().to_string();
    let words = line.iter().map(|word| word.replace("PID", &pid));
    let output = cpuledger().args(words).output().expect("cpuledger runs");
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    assert!(output.status.success(), "{line:?}: {output:?}");
    output
}

#[test]
fn arguments_that_are_not_seen_are_not_written() {
    const FOUL: &str = "x\u{61c}\u{ad}\u{180e}\u{e0041}\u{e007f}\u{2066}y";
    for line in [
        &["ps", "-o", "pid,args", "-p", "PID"][..],
        &["ps", "--format", "csv", "-o", "pid,args", "-p", "PID"],
        &["top", "-b", "-n", "1", "-d", "0.05", "-c", "--all", "--source", "procfs", "-p", "PID"],
        &["top", "--procps", "-bcn1", "-w", "512", "-p", "PID"],
    ] {
        let output = listed(line, FOUL);
        assert!(output.stdout.contains(&b'y'), "{output:?}");
        assert_is_clean(&output.stdout, &format!("{line:?}"));
    }
}

#[test]
fn a_formula_is_text_where_that_is_asked_for() {
    const FORMULA: &str = "=HYPERLINK(1)";
    let csv = |format: &str| {
        let output = listed(&["ps", "--format", format, "--no-headers", "-o", "args", "-p", "PID"], FORMULA);
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert_eq!(
        (csv("csv").as_str(), csv("csv-safe").as_str()),
        ("=HYPERLINK(1) 98766\n", "'=HYPERLINK(1) 98766\n")
    );
    let output = cpuledger()
        .args(["top", "--format", "csv-safe", "-n", "1", "-d", "0.05", "--source", "procfs"])
        .output();
    let output = output.expect("cpuledger runs");
    assert!(output.status.success() && output.stdout.starts_with(b"kind,source,"), "{output:?}");
}

#[test]
fn a_small_stack_ends_no_command_by_a_signal() {
    for kib in ["48", "64", "256"] {
        for line in ["ps -ef", "top -b -n 1 -d 0.05 --source procfs", "doctor", "status --all"] {
            // Both limits: without the right to raise the hard one, it says so.
            let script = format!("ulimit -s {kib} && exec \"$0\" {line}");
            let mut command = Command::new("/bin/sh");
            command.args(["-c", &script, env!("CARGO_BIN_EXE_cpuledger")]).stdin(Stdio::null());
            let output = command.output().expect("sh runs");
            let sentence = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.signal(), None, "{kib} KiB, {line}: {sentence}");
            let is_told = output.status.code() == Some(1) && sentence.contains("ulimit -s");
            assert!(output.status.success() || is_told, "{kib} KiB, {line}: {sentence}");
            assert!(sentence.lines().count() <= 1, "{sentence}");
        }
    }
}
