#![allow(dead_code)] // each test has its own part of it
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

/// The ps to compare with: that of this machine, or another that `CPULEDGER_TEST_PS` names.
pub fn program() -> String {
    let named = std::env::var("CPULEDGER_TEST_PS").ok().filter(|program| !program.is_empty());
    named.unwrap_or_else(|| "/usr/bin/ps".to_owned())
}

/// A version of procps. We follow the newest, 4.0.7; docs/ps.md says what older ones do otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// That of [`program`].
    pub fn here() -> Version {
        let said = text(&output(&program(), &["--version"]));
        Version::told(&said).unwrap_or_else(|| panic!("this is not ps of procps: {said:?}"))
    }

    /// The last word of what `--version` says.
    pub fn told(said: &str) -> Option<Version> {
        let mut numbers = said.trim().rsplit(' ').next()?.split('.').map(|number| number.parse().ok());
        Some(Version(numbers.next()??, numbers.next()??, numbers.next()??))
    }

    /// The dead say so in their name, arguments that are all empty are `-`, orders go by classes as they are written and keep
    /// all lines of trees.
    pub fn marks_the_dead(self) -> bool {
        self >= Version(4, 0, 5)
    }

    /// Trees begin below the first process, `-ad` leaves out all session leaders, `--ppid 0`, `-o cpu`.
    pub fn has_whole_trees(self) -> bool {
        self >= Version(4, 0, 6)
    }
}

/// What ps of procps writes.
pub fn theirs(arguments: &[&str]) -> String {
    text(&output(&program(), arguments))
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

/// The first lines in which two listings differ.
pub fn first_differences(theirs: &[String], ours: &[String]) -> String {
    const SHOWN: usize = 4;
    let nothing = "nothing".to_owned();
    let line = |lines: &[String], index: usize| lines.get(index).unwrap_or(&nothing).clone();
    (0..theirs.len().max(ours.len()))
        .map(|index| (line(theirs, index), line(ours, index)))
        .filter(|(theirs, ours)| theirs != ours)
        .take(SHOWN)
        .map(|(theirs, ours)| format!("procps: {theirs}\nours:   {ours}\n"))
        .collect()
}
