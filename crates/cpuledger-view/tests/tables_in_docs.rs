//! What stands between marks in the documents is made from the tables of the code.

use std::fmt::Write;
use std::path::PathBuf;

use cpuledger::SourceKind;
use cpuledger::field::Unit;
use cpuledger::support::privilege::{LIMITS, Limit, needs};
use cpuledger_view::column::{Dash, listed};
use cpuledger_view::key::{Key, PROCESS_KEYS, TASK_KEYS};

/// With this set, the documents are written instead.
const REWRITE: &str = "CPULEDGER_WRITE_DOCS";

fn assert_has(document: &str, table: &str, expected: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = std::fs::read_to_string(&path).expect("the document");
    let [begin, end] = ["begin", "end"].map(|word| format!("<!-- {word}: generated from {table} -->\n"));
    let (before, rest) = text.split_once(&begin).expect("the document has the first mark");
    let (found, after) = rest.split_once(&end).expect("the document has the second mark");
    if found != expected && std::env::var_os(REWRITE).is_some() {
        std::fs::write(&path, format!("{before}{begin}{expected}{end}{after}")).expect("it is written");
        return;
    }
    assert_eq!(
        found, expected,
        "`{REWRITE}=1 cargo test -p cpuledger-view --test tables_in_docs` rewrites docs/{document}"
    );
}

const REASONS: [(Dash, &str); 3] = [
    (Dash::NotKnown, "procps shows something, and nothing here can know it:"),
    (Dash::NotInOneLook, "Ours, known only where an interval was watched:"),
    (Dash::NotShown, "procps takes the name and shows `-` as well:"),
];

fn columns_without_content() -> String {
    let mut text = String::new();
    for (reason, sentence) in REASONS {
        let _ = write!(text, "\n{sentence}\n\n| column | what it is |\n|---|---|\n");
        let mut rows: Vec<(&str, Vec<&str>)> = Vec::new();
        for column in listed().filter(|column| column.dash == Some(reason)) {
            let names = column.names.iter().map(|(name, _)| *name);
            match rows.last_mut() {
                Some((help, all)) if *help == column.help => all.extend(names),
                _ => rows.push((column.help, names.collect())),
            }
        }
        for (help, names) in rows {
            let _ = writeln!(text, "| `{}` | {help} |", names.join("` `"));
        }
    }
    text + "\n"
}

fn needs_of_sources() -> String {
    let mut text =
        "\n| source | capability | without it | what for | kept by `top` |\n|---|---|---|---|---|\n"
            .to_owned();
    for kind in SourceKind::ALL {
        for need in needs(kind) {
            let without = if need.is_needed { "not usable" } else { "sees less" };
            let kept = if need.is_kept { "yes" } else { "no" };
            let _ = writeln!(text, "| `{kind}` | {} | {without} | {} | {kept} |", need.name, need.purpose);
        }
    }
    text + "\n"
}

fn limits_of_callers() -> String {
    let mut text =
        "\n| of what | a user other than root gets | not limited | why |\n|---|---|---|---|\n".to_owned();
    for Limit { what, limit, unlimited, reason, .. } in LIMITS {
        let _ = writeln!(text, "| {what} | {limit} | {unlimited} | {reason} |");
    }
    text + "\n"
}

fn keys_of_rows() -> String {
    let mut text = "| key | of | unit | when | what it is |\n|---|---|---|---|---|\n".to_owned();
    let is_in = |keys: &[Key], key: &Key| keys.iter().any(|of| of.name() == key.name());
    let of_tasks = TASK_KEYS.iter().filter(|key| !is_in(&PROCESS_KEYS, key));
    for key in PROCESS_KEYS.iter().chain(of_tasks) {
        let of = match (is_in(&PROCESS_KEYS, key), is_in(&TASK_KEYS, key)) {
            (true, true) => "both",
            (true, false) => "processes",
            (false, _) => "tasks",
        };
        let unit = match key.unit() {
            Unit::None => "",
            Unit::Count => "count",
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "bytes",
        };
        let grows = match key {
            Key::Part(_) => key.unit() == Unit::Nanoseconds,
            Key::Field(field) => field.info().cumulative,
        };
        let when = if grows { "in the interval" } else { "at the end" };
        let _ = writeln!(text, "| `{}` | {of} | {unit} | {when} | {} |", key.name(), key.help());
    }
    text
}

#[test]
fn the_keys_of_rows_are_documented() {
    assert_has("json.md", "the keys of rows", &keys_of_rows());
}

#[test]
fn the_limits_of_callers_are_documented() {
    assert_has("privileges.md", "the table of limits", &limits_of_callers());
}

#[test]
fn the_columns_without_content_are_documented() {
    assert_has("ps.md", "the tables of columns", &columns_without_content());
}

#[test]
fn the_needs_of_each_source_are_documented() {
    assert_has("privileges.md", "the table of privileges", &needs_of_sources());
}
