//! What the columns of the screen show of rows that are always the same, and what filters find among them.

use cpuledger::SourceKind;
use cpuledger::field::FIELDS;
use cpuledger::interval::Row;
use cpuledger_names::names::Names;
use cpuledger_view::interval::column::{CellContext, TABLE, TableColumn};
use cpuledger_view::key::PARTS;
use cpuledger_view::query::{Query, Subject, aliases};

use super::config::sort_name;
use crate::recorded::machine::{MEMORY, Machine};
use cpuledger_load::Transcript;

/// Headers, then keys, then names that there are not.
fn names() -> Vec<&'static str> {
    let mut headers: Vec<&str> = TABLE.iter().map(|column| column.name()).collect();
    headers.sort_unstable();
    let mut keys: Vec<&str> =
        PARTS.iter().map(|part| part.key).chain(FIELDS.iter().map(|info| info.key)).collect();
    keys.sort_unstable();
    headers.into_iter().chain(keys).chain(["cpu", "%cpu", "nTH", "TIME", "nothing"]).collect()
}

#[test]
fn columns_are_recorded() {
    let machine = Machine::new();
    let interval = machine.interval(SourceKind::Ledger);
    let mut users = Names::of_users();
    users.learn(0);
    let mut transcript = Transcript::default();
    for name in names() {
        let Some(column) = TableColumn::by_name(name) else {
            transcript.add(name, format!("no column; sorted as {:?}", sort_name(name)).as_bytes());
            continue;
        };
        let mut text = format!(
            "{} {} wide, exact {}, {}, rank {}, key {:?}, sorted as {:?}: {}\n",
            column.name(),
            column.width(false),
            column.width(true),
            if column.is_left() { "left" } else { "right" },
            column.rank(),
            column.key().map(|key| key.name()),
            sort_name(name),
            column.help()
        )
        .into_bytes();
        for shown in &interval.tasks {
            let Row { task, usage, .. } = shown;
            for (is_exact, has_arguments, end) in [(false, false, b'|'), (true, true, b'\n')] {
                let context = CellContext {
                    length_ns: interval.length_ns(),
                    interval_ns: interval.length_ns(),
                    users: &users,
                    memory_total_bytes: Some(MEMORY.total),
                    has_arguments,
                    cmdline: (task.tid.0 % 2 == 0).then_some(b"program\0--option"),
                    is_task: !is_exact,
                    subtree_ns: Some(usage.cpu_ns * 2),
                    named: None,
                    has_units: false,
                    is_exact,
                };
                column.append(&mut text, shown, &context);
                text.push(end);
            }
        }
        transcript.add(name, &text);
    }
    transcript.assert_recorded("screen_columns");
}

#[test]
fn filters_are_recorded() {
    let machine = Machine::new();
    let interval = machine.interval(SourceKind::Ledger);
    let mut users = Names::of_users();
    users.learn(0);
    let mut transcript = Transcript::default();
    let aliases = aliases().map(|(alias, _)| alias);
    for name in aliases.chain(names()) {
        for end in [">=1", "=S", "~^s", "!=0", "<5m", "<5ms"] {
            let text = format!("{name}{end}");
            let found = match Query::parse(&text) {
                Err(error) => error.to_string(),
                Ok(query) => {
                    let matches = interval.tasks.iter().filter(|row| {
                        query.matches(&Subject {
                            row,
                            length_ns: interval.length_ns(),
                            users: &users,
                            memory_total_bytes: Some(MEMORY.total),
                            arguments: (row.task.tid.0 % 2 == 0).then_some(b"program --option"),
                            named: None,
                        })
                    });
                    let tids: Vec<String> = matches.map(|row| row.task.tid.to_string()).collect();
                    let fields: Vec<&str> = query.fields().iter().map(|field| field.info().key).collect();
                    format!("{} (of {})", tids.join(" "), fields.join(" "))
                }
            };
            transcript.add(&text, found.as_bytes());
        }
    }
    transcript.assert_recorded("screen_filters");
}
