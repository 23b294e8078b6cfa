//! `ps --help` and `ps L`, from the tables of options and columns.

use cpuledger::render::column::COLUMNS;
use cpuledger::render::layout::field_columns;

use super::flags::{FLAGS, Flag, Topic};

const INTRODUCTION: &str = "\
List tasks once, as ps of procps does.

Usage: cpuledger ps [options]

Options are UNIX letters after a dash, BSD letters without one, or GNU words after two; letters may stand together,
as in `-ef`, `aux`, `-eo pid,comm`. A list has its items separated by commas. Without a selection: your processes at
this terminal.
";

const TOPICS: [(Topic, &str); 5] = [
    (Topic::Selection, "Which processes (all selections add to each other):"),
    (Topic::Columns, "Which columns:"),
    (Topic::Threads, "Threads:"),
    (Topic::Output, "Order, headers, width:"),
    (Topic::Other, "Other:"),
];

/// Where the explanations begin.
const INDENT: usize = 26;

/// The text of `--help`.
pub fn options() -> String {
    let mut text = INTRODUCTION.to_owned();
    for (topic, heading) in TOPICS {
        text += &format!("\n{heading}\n");
        for flag in FLAGS.iter().filter(|flag| flag.topic == topic) {
            text += &entry(&spelled(flag), &sentence(flag));
        }
    }
    text += "\nColumns of `-o` and `--sort`:\n";
    text += &columns();
    text
}

/// The text of `L`: every column.
pub fn columns() -> String {
    let mut text = String::new();
    for column in COLUMNS {
        let names: Vec<&str> = column.names.iter().map(|(name, _)| *name).collect();
        text += &entry(&names.join(" "), column.help);
    }
    for info in field_columns() {
        text += &entry(info.key, info.help);
    }
    text
}

/// The ways to write it: `-p p --pid`.
fn spelled(flag: &Flag) -> String {
    let unix = flag.unix.chars().map(|letter| format!("-{letter}"));
    let bsd = flag.bsd.chars().map(String::from);
    let long = flag.long.iter().take(1).map(|name| format!("--{name}"));
    unix.chain(bsd).chain(long).collect::<Vec<_>>().join(" ")
}

fn sentence(flag: &Flag) -> String {
    match flag.value {
        "" => flag.help.to_owned(),
        value => format!("{} ({value})", flag.help),
    }
}

fn entry(name: &str, explanation: &str) -> String {
    if name.len() < INDENT - 2 {
        format!("  {name:width$}{explanation}\n", width = INDENT - 2)
    } else {
        format!("  {name}\n{:INDENT$}{explanation}\n", "")
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn help_has_every_option_and_column() {
        let text = super::options();
        for part in ["  -e -A ", "--no-headers", "runqueue_wait_ns", "%cpu pcpu", "--source", "  u "] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        let longest = text.lines().max_by_key(|line| line.len()).unwrap_or_default();
        assert!(longest.len() <= 120, "{longest}");
    }
}
