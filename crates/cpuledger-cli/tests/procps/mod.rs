//! ps of procps and ours, run in the same surroundings.

use std::process::{Command, Output};

/// Runs a program with these arguments in surroundings that make both write the same.
pub fn output(program: &str, arguments: &[&str]) -> Output {
    // `C.UTF-8` lets procps show what is not ASCII.
    Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C.UTF-8")
        .env_remove("COLUMNS")
        .env_remove("PS_FORMAT")
        .env_remove("PS_PERSONALITY")
        .output()
        .unwrap_or_else(|error| panic!("{program} does not start: {error}"))
}

/// What ps of procps writes.
pub fn theirs(arguments: &[&str]) -> String {
    text(&output("/usr/bin/ps", arguments))
}

/// What ours writes.
pub fn ours(source: &str, arguments: &[&str]) -> String {
    let all: Vec<&str> = ["ps", "--source", source].iter().chain(arguments).copied().collect();
    let output = output(env!("CARGO_BIN_EXE_cpuledger"), &all);
    let sentence = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(sentence.is_empty(), "{arguments:?}: {sentence}");
    text(&output)
}

/// The names that procps lists as those of columns.
#[allow(dead_code)] // not every test that asks procps asks this
pub fn specifiers() -> Vec<String> {
    let listed = theirs(&["L"]);
    let names: Vec<String> =
        listed.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect();
    assert!(names.len() >= 180, "procps lists {} columns only", names.len());
    names
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
