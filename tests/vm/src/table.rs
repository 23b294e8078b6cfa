//! The tables: of features, of tests, and of what the verifier pays, by kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use cpuledger_vm::protocol::{Event, Outcome};
use cpuledger_vm::suite::{Exception, SUITES};
use cpuledger_vm::{Feature, Machine, Series};

use crate::boot::Booted;

/// What the document says before its tables.
const INTRODUCTION: &str = "\
# Kernels

Written by `make vm`, which boots these kernels of Debian under QEMU's emulation, and runs the privileged tests in them.

Each kernel has two CPUs, which one thread of the emulator runs in turn. There are more machines, each with one kernel: one has 64 CPUs. One
has eight, with gaps between the ids of those that are online, which tests take offline and back. One has a thread of the emulator for each
CPU, so that two CPUs work at the same time. Two kernels run on an emulated arm64, with tests that are compiled for it in a Debian of its own.

A `-` is a suite that was not run there. Suites that take long even in their short form run with the newest kernel only. On all kernels they
would double the time of the matrix: there `ledger_root`, `coverage_root` and `lineage_root` check the same sums under shorter loads. Suites
that do not depend on the kernel run with the oldest kernel that has what they need, and with the newest. The other machines run the suites
that depend on their CPUs. `make vm VM=--whole` runs all of them everywhere. A test is left out only if the kernel lacks the feature that
it needs. A kernel that lacks what its series should have, or has what it should not, is a failure. `tests/vm/src/suite.rs` says what runs
and what it needs, and `tests/vm/src/feature.rs` has the features.
";

/// A table whose first column is left-aligned.
struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty one with a column a guest, after those that come first.
    fn new(first: &[&str], guests: impl IntoIterator<Item = String>) -> Table {
        let first = first.iter().map(|name| (*name).to_owned());
        Table { head: first.chain(guests).collect(), rows: Vec::new() }
    }

    fn row(&mut self, first: impl IntoIterator<Item = String>, cells: impl Iterator<Item = String>) {
        self.rows.push(first.into_iter().chain(cells).collect());
    }

    fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: Vec<String> = self.head.iter().map(|_| "---".to_owned()).collect();
        let head = line(&self.head) + &line(&rule);
        self.rows.iter().fold(head, |text, row| text + &line(row))
    }

    fn terminal(&self) -> String {
        let lines: Vec<&Vec<String>> = std::iter::once(&self.head).chain(&self.rows).collect();
        let width =
            |column: usize| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = String::new();
        for cells in lines {
            for (cell, width) in cells.iter().zip(&widths) {
                let _ = write!(text, "{cell:<width$}  ");
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }
}

/// The tables as `make vm` prints them.
pub fn terminal(booted: &[Booted]) -> String {
    let mut text = String::from("\n");
    let found = found(booted);
    if !found.is_empty() {
        text += &features(&found).terminal();
        text.push('\n');
    }
    text += &tests(booted, counted).terminal();
    text.push('\n');
    for booted in booted {
        let seconds = booted.took.as_secs_f64();
        let (name, release, cpu) = (booted.name(), booted.release(), booted.cpu.as_secs_f64());
        let _ = writeln!(text, "{name} took {seconds:.0} s, {cpu:.0} s of CPU time: {release}");
    }
    text
}

/// The document.
pub fn document(booted: &[Booted]) -> String {
    let mut text = INTRODUCTION.to_owned();
    let releases: Vec<String> = each_kernel(booted).map(|booted| format!("`{}`", booted.release())).collect();
    let _ = write!(text, "\nLast run on {}.\n", releases.join(", "));
    text += "\n## Features\n\n";
    text += &features(&found(booted)).markdown();
    text += "\n## Tests\n\n";
    text += &tests(booted, in_words).markdown();
    text += "\n## What runs elsewhere\nTests of these suites that run on the machine that builds, and not in the guests, for what is missing there.\n\n";
    text += &elsewhere().markdown();
    text += "\n## Not run\nTests that found out themselves that they cannot run there.\n\n";
    text += &not_run(booted).markdown();
    text += "\n## What the verifier pays\nInstructions that it processed for each program; `-` where the program does not load, \
             `?` where the kernel does not tell.\n\n";
    text += &verifier(booted).markdown();
    text
}

/// Guests on the machine that every kernel is booted on: of these is what is said of kernels.
fn plain(booted: &[Booted]) -> impl Iterator<Item = &Booted> {
    booted.iter().filter(|booted| booted.machine == Machine::TwoCpus)
}

/// One guest of each kernel, those of other architectures too.
fn each_kernel(booted: &[Booted]) -> impl Iterator<Item = &Booted> {
    booted.iter().filter(|booted| matches!(booted.machine, Machine::TwoCpus | Machine::Arm64))
}

/// What each guest has found, by series.
fn found(booted: &[Booted]) -> Vec<(Series, Vec<Option<bool>>)> {
    let of_guest = |booted: &Booted| Feature::ALL.iter().map(|feature| booted.has(*feature)).collect();
    plain(booted).map(|booted| (booted.series, of_guest(booted))).collect()
}

/// What has said itself that it cannot run, once for each reason, with the guests.
fn not_run(booted: &[Booted]) -> Table {
    let mut guests: BTreeMap<(String, String, String), Vec<String>> = BTreeMap::new();
    for booted in booted {
        for event in &booted.events {
            if let Event::Test { suite, name, outcome: Outcome::NotRun, output, .. } = event {
                let key = (suite.clone(), name.clone(), output.clone());
                guests.entry(key).or_default().push(booted.name());
            }
        }
    }
    let mut table = Table::new(&["tests", "name", "why", "on"], []);
    for ((suite, name, reason), guests) in guests {
        table.row([suite, format!("`{name}`"), reason, guests.join("; ")], std::iter::empty());
    }
    table
}

fn features(found: &[(Series, Vec<Option<bool>>)]) -> Table {
    let mut table = Table::new(&["feature", "for"], found.iter().map(|(series, _)| series.to_string()));
    for (index, feature) in Feature::ALL.iter().enumerate() {
        let cells = found.iter().map(|(_, has)| match has[index] {
            Some(true) => "yes".to_owned(),
            Some(false) => "no".to_owned(),
            None => "?".to_owned(),
        });
        table.row([feature.name().to_owned(), feature.purpose().to_owned()], cells);
    }
    table
}

fn tests(booted: &[Booted], cell: fn(&[Outcome]) -> String) -> Table {
    let mut table = Table::new(&["tests"], booted.iter().map(Booted::name));
    for suite in SUITES {
        let name = suite.name();
        let outcomes = |booted: &Booted| -> Vec<Outcome> {
            booted.tests().filter(|test| test.0 == name).map(|test| test.2).collect()
        };
        table.row([name.clone()], booted.iter().map(|booted| cell(&outcomes(booted))));
    }
    table
}

/// Tests that no guest can run, and why.
fn elsewhere() -> Table {
    let mut table = Table::new(&["tests", "whose name begins", "not on", "for it needs"], []);
    for suite in SUITES {
        for (start, exception) in suite.exceptions {
            let (on, what) = match exception {
                Exception::Needs(_) | Exception::Long | Exception::OfCpus | Exception::AtEnds => continue,
                Exception::Elsewhere(what) => ("any machine", what),
                Exception::NotOn(machine, what) => (machine.name(), what),
            };
            let names = if start.is_empty() { "(all)".to_owned() } else { format!("`{start}`") };
            let cells = [suite.name(), names, on.to_owned(), (*what).to_owned()];
            table.row(cells, std::iter::empty());
        }
    }
    table
}

/// How many passed, failed and were left out.
fn counted(outcomes: &[Outcome]) -> String {
    let count = |is_it: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| is_it(outcome)).count();
    let parts = [
        (count(|outcome| *outcome == Outcome::Passed), "passed"),
        (count(|outcome| matches!(outcome, Outcome::Failed | Outcome::Late)), "FAILED"),
        (count(|outcome| matches!(outcome, Outcome::Lacks(_))), "left out"),
        (count(|outcome| *outcome == Outcome::NotRun), "not run"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

/// What passed, without numbers: another test is no other document. Where one failed there is no document.
fn in_words(outcomes: &[Outcome]) -> String {
    let lacking: BTreeSet<Feature> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            Outcome::Lacks(feature) => Some(*feature),
            _ => None,
        })
        .collect();
    let names: Vec<&str> = lacking.iter().map(|feature| feature.name()).collect();
    let not_run = if outcomes.contains(&Outcome::NotRun) { ", without what was not run" } else { "" };
    if outcomes.is_empty() {
        return "-".to_owned();
    }
    match (outcomes.contains(&Outcome::Passed), names.is_empty()) {
        (true, true) => format!("pass{not_run}"),
        (true, false) => format!("pass, without what needs {}{not_run}", names.join(", ")),
        (false, false) => format!("need {}", names.join(", ")),
        (false, true) => "not run".to_owned(),
    }
}

fn verifier(booted: &[Booted]) -> Table {
    let programs = |booted: &Booted| -> Vec<(String, u32)> {
        let of_event = |event: &Event| match event {
            Event::Program(name, instructions) => Some((name.clone(), *instructions)),
            _ => None,
        };
        booted.events.iter().filter_map(of_event).collect()
    };
    let of_kernels: Vec<Vec<(String, u32)>> = each_kernel(booted).map(programs).collect();
    let names: BTreeSet<&String> = of_kernels.iter().flatten().map(|(name, _)| name).collect();
    let mut table = Table::new(&["program"], each_kernel(booted).map(Booted::name));
    for name in names {
        let cells = of_kernels.iter().map(|programs| {
            let costs = programs.iter().filter(|(program, _)| program == name).map(|(_, cost)| *cost);
            match costs.max() {
                None => "-".to_owned(),
                Some(0) => "?".to_owned(),
                Some(cost) => cost.to_string(),
            }
        });
        table.row([format!("`{name}`")], cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The committed document, whose kernels change as Debian's do: what it says of them has to be what this source says.
    const COMMITTED: &str = include_str!("../../../docs/kernels.md");

    fn series() -> Vec<Series> {
        let head =
            COMMITTED.lines().find(|line| line.starts_with("| feature |")).expect("the table of features");
        head.split('|').filter_map(|cell| cell.trim().parse().ok()).collect()
    }

    #[test]
    fn the_document_is_of_these_features_and_suites() {
        let series = series();
        assert!(series.len() >= 6, "{series:?}");
        let expected: Vec<_> = series
            .iter()
            .map(|series| (*series, Feature::ALL.map(|feature| Some(*series >= feature.since())).to_vec()))
            .collect();
        let is_as_written = COMMITTED.starts_with(INTRODUCTION)
            && COMMITTED.contains(&features(&expected).markdown())
            && COMMITTED.contains(&elsewhere().markdown())
            && COMMITTED.contains("\n| `cpul_on_switch` | ")
            && SUITES.iter().all(|suite| COMMITTED.contains(&format!("\n| {} | ", suite.name())));
        assert!(is_as_written, "docs/kernels.md is not what `make vm` writes now: run it");
    }

    #[test]
    fn outcomes_in_words_and_numbers() {
        let lacks = Outcome::Lacks(Feature::Atomics);
        assert_eq!(in_words(&[Outcome::Passed, Outcome::Passed]), "pass");
        assert_eq!(in_words(&[]), "-");
        assert_eq!(in_words(&[Outcome::Passed, lacks]), "pass, without what needs BPF atomics");
        assert_eq!(in_words(&[lacks, lacks]), "need BPF atomics");
        assert_eq!(counted(&[Outcome::Passed, lacks, Outcome::Late]), "1 passed, 1 FAILED, 1 left out");
        assert_eq!(counted(&[]), "-");
        assert_eq!(in_words(&[Outcome::Passed, Outcome::NotRun]), "pass, without what was not run");
        assert_eq!(
            (in_words(&[Outcome::NotRun]), counted(&[Outcome::NotRun])),
            ("not run".to_owned(), "1 not run".to_owned())
        );
    }

    #[test]
    fn columns_stand_below_each_other() {
        let mut table = Table::new(&["what"], ["5.10", "6.1"].map(str::to_owned));
        table.row(["longer".to_owned()], ["yes", "no"].map(str::to_owned).into_iter());
        assert_eq!(table.terminal(), "what    5.10  6.1\nlonger  yes   no\n");
        assert_eq!(table.markdown(), "| what | 5.10 | 6.1 |\n| --- | --- | --- |\n| longer | yes | no |\n");
    }
}
