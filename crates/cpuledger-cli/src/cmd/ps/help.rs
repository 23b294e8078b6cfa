//! `ps --help` and `ps L`, from the tables of options and columns.

use cpuledger_view::column::{Dash, Listed, listed, listed_fields};

use super::flags::{FLAGS, Flag, Takes, Topic};

const INTRODUCTION: &str = "\
List tasks once, as procps' ps does.

Usage: cpuledger ps [options]

Options are UNIX letters after a dash, BSD letters without a dash, or GNU words after two dashes. Letters can be
combined, as in `-ef`, `aux` or `-eo pid,comm`. Separate the items of a list with commas. Without a selection, ps lists
your processes on this terminal.
";

const EXAMPLES: &str = "
Examples:
  cpuledger ps aux                                every process, with CPU and memory
  cpuledger ps -eLf                               every thread
  cpuledger ps -p 1,42 -o pid,ppid,comm           these processes and columns
  cpuledger ps -e --sort -rss --format json       every process as JSON, by memory

Exit codes: 0 done; 1 nothing matched, a wrong option, or output failed; 3 no usable source. ps works without root;
as root it shows more about other users' processes. docs/ps.md says what differs from procps, and has the modes of
$PS_PERSONALITY.
";

/// The sections, with the name that `--help` takes for each.
const TOPICS: [(Topic, &str, &str); 5] = [
    (Topic::Simple, "simple", "Select processes (several selections add up):"),
    (Topic::List, "list", "Select processes by a list:"),
    (Topic::Output, "output", "Columns and their format:"),
    (Topic::Threads, "threads", "Threads:"),
    (Topic::Misc, "misc", "Other:"),
];

/// Where the explanations begin.
const INDENT: usize = 26;

/// The text of `--help`: of one section by its name or the beginning of it, or else of all.
pub fn options(section: &str) -> String {
    let is_meant = |name: &str| !section.is_empty() && name.starts_with(section);
    let one = TOPICS.iter().find(|(_, name, _)| is_meant(name)).map(|(topic, _, _)| *topic);
    let mut text = INTRODUCTION.to_owned();
    for (topic, _, heading) in TOPICS.iter().filter(|(topic, _, _)| one.is_none_or(|one| one == *topic)) {
        text += &format!("\n{heading}\n");
        for flag in FLAGS.iter().filter(|flag| flag.topic == *topic) {
            text += &entry(&spelled(flag), flag.help);
        }
    }
    if one.is_none() {
        text += EXAMPLES;
        text += "\nColumns of `-o` and `--sort`:\n";
        text += &explained_columns();
    }
    text
}

/// Every column and what it shows.
fn explained_columns() -> String {
    let mut text = String::new();
    for column in listed().filter(is_listed) {
        let names: Vec<&str> = column.names.iter().map(|(name, _)| *name).collect();
        text += &entry(&names.join(" "), column.help);
    }
    for info in listed_fields() {
        text += &entry(info.key, info.help);
    }
    text
}

/// The text of `L`: a line for each name of a column, with its header. Those of procps come first and in its order and
/// form, for scripts read them; then our own.
pub fn columns() -> String {
    let all = || listed().filter(is_listed);
    let names = |column: &'static Listed| column.names.iter().copied();
    let mut of_procps: Vec<_> = all().filter(|column| !is_ours(column)).flat_map(names).collect();
    of_procps.sort_unstable();
    let mut text: String =
        of_procps.iter().map(|(name, header)| format!("{name:12.12} {header:8.8}\n")).collect();
    for (name, header) in all().filter(|column| is_ours(column)).flat_map(names) {
        text += &format!("{name:12} {header}\n");
    }
    for info in listed_fields() {
        text += &format!("{:12} {}\n", info.key, info.key.to_ascii_uppercase());
    }
    text
}

/// procps does not list names that it only takes.
fn is_listed(column: &&Listed) -> bool {
    column.dash != Some(Dash::NotShown)
}

fn is_ours(column: &Listed) -> bool {
    column.dash == Some(Dash::NotInOneLook)
}

/// The ways to write it: `-p p --pid PIDS`.
fn spelled(flag: &Flag) -> String {
    let unix = flag.unix.chars().map(|letter| format!("-{letter}"));
    let bsd = flag.bsd.chars().map(String::from);
    let long = flag.long.iter().take(1).map(|name| format!("--{name}"));
    let value = match flag.takes {
        Takes::Nothing | Takes::NothingAlone => None,
        Takes::Value(value) => Some(value.to_owned()),
        Takes::Optional(value) => Some(format!("[{value}]")),
    };
    let spellings = unix.chain(bsd).chain(long).collect::<Vec<_>>().join(", ");
    std::iter::once(spellings).chain(value).collect::<Vec<_>>().join(" ")
}

fn entry(name: &str, explanation: &str) -> String {
    if name.len() < INDENT - 3 {
        format!("  {name:width$}{explanation}\n", width = INDENT - 2)
    } else {
        format!("  {name}\n{:INDENT$}{explanation}\n", "")
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_list_of_columns_has_their_headers_and_ours_at_the_end() {
        let text = super::columns();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "%cpu         %CPU    ");
        let position = |name: &str| {
            let found = lines.iter().position(|line| line.split(' ').next() == Some(name));
            found.unwrap_or_else(|| panic!("{name} is missing in\n{text}"))
        };
        assert!(position("%mem") < position("ag_id") && position("zone") < position("stolen_ns"));
        assert!(position("stolen_ns") < position("runqueue_wait_ns"));
        assert!(!text.contains("acflag"));
    }

    #[test]
    fn help_has_every_option_and_column() {
        let text = super::options("");
        for part in ["  -e, -A ", "--no-headers", "runqueue_wait_ns", "%cpu pcpu", "--source", "  u "] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert_eq!(text, super::options("all"));
        let threads = super::options("t");
        assert!(threads.contains("SPID") && !threads.contains("--ppid"), "{threads}");
        let longest = text.lines().max_by_key(|line| line.len()).unwrap_or_default();
        assert!(longest.len() <= 120, "{longest}");
    }
}
