//! The tables of `docs/metrics.md` and `docs/otlp.md` are made from the code. `CPULEDGER_WRITE_DOCS=1` writes them.

use std::fmt::Write as _;
use std::path::Path;

use cpuledger_net::families::{FAMILIES, Kind, OF_CADVISOR, OF_PROCESS_EXPORTER, OfGroup, OfPairs};
use cpuledger_net::otlp::delivery::Outbox;
use cpuledger_net::otlp::queue::Queue;
use cpuledger_net::otlp::snapshot::metric_name;
use cpuledger_report::Dimension;

#[test]
fn the_document_has_all_metrics() {
    let mut table = String::from("| metric | labels | what |\n|---|---|---|\n");
    for family in &FAMILIES {
        let total = if family.is_counter { "_total" } else { "" };
        let labels = match family.kind {
            Kind::Cpu => "`by`, `name`, `part`",
            Kind::Series(_) => "`by`, `name`",
            Kind::Directions(..) => "`by`, `name`, `direction`",
            Kind::Pairs(OfPairs::Each) => "`by`, `name`, `caused_by`",
            Kind::Departed | Kind::Pairs(OfPairs::Departed) => "`by`",
            Kind::Unattributed => "`reason`",
            Kind::Pairs(OfPairs::All) | Kind::Machine(_) | Kind::Own(_) | Kind::Server(_) => "",
            Kind::Group(_) | Kind::Container(..) => panic!("{} is of another exporter", family.name),
        };
        let _ = writeln!(table, "| `{}{total}` | {labels} | {} |", family.name, family.help);
    }
    assert_has("metrics.md", "families", &table);
}

#[test]
fn the_document_has_all_metrics_under_the_names_of_others() {
    for (marks, families) in [
        ("families of process-exporter", &OF_PROCESS_EXPORTER[..]),
        ("families of cAdvisor", &OF_CADVISOR[..]),
    ] {
        let mut table = String::from("| metric | labels | what |\n|---|---|---|\n");
        for family in families {
            let total = if family.is_counter { "_total" } else { "" };
            let labels = match family.kind {
                Kind::Group(OfGroup::Cpu) => "`groupname`, `mode`: `user`, `system`".to_owned(),
                Kind::Group(OfGroup::Counts("", _) | OfGroup::Gauges("", _)) => "`groupname`".to_owned(),
                Kind::Group(OfGroup::Counts(label, values)) => {
                    of_group(label, values.iter().map(|(value, _)| *value))
                }
                Kind::Group(OfGroup::Gauges(label, values)) => {
                    of_group(label, values.iter().map(|(value, _)| *value))
                }
                Kind::Group(_) => "`groupname`".to_owned(),
                Kind::Container(own, _) => {
                    let own = own.iter().map(|(label, value)| format!(", `{label}`: `{value}`"));
                    "`id`, `name`, `image`, `container`, `pod`, `namespace`".to_owned()
                        + &own.collect::<String>()
                }
                _ => panic!("{} is of no other exporter", family.name),
            };
            let _ = writeln!(table, "| `{}{total}` | {labels} | {} |", family.name, family.help);
        }
        assert_has("metrics.md", marks, &table);
    }
}

/// A label of a group with its values.
fn of_group(label: &str, values: impl Iterator<Item = &'static str>) -> String {
    let values: Vec<String> = values.map(|value| format!("`{value}`")).collect();
    format!("`groupname`, `{label}`: {}", values.join(", "))
}

#[test]
fn the_document_has_all_metrics_of_a_push() {
    let mut table = String::from("| metric | attributes | what |\n|---|---|---|\n");
    for family in &FAMILIES {
        let of_directions;
        let (by, attributes) = match family.kind {
            Kind::Cpu => (Some(Dimension::Command), "`cpuledger.DIMENSION`, `cpuledger.part`"),
            Kind::Series(_) => (Some(Dimension::Command), "`cpuledger.DIMENSION`"),
            Kind::Directions(directions, _) => {
                of_directions = format!("`cpuledger.DIMENSION`, `{}`", directions.attribute);
                (Some(Dimension::Command), of_directions.as_str())
            }
            Kind::Pairs(OfPairs::Each) => {
                (Some(Dimension::Command), "`cpuledger.DIMENSION`, `cpuledger.caused_by`")
            }
            Kind::Departed | Kind::Pairs(OfPairs::Departed) => (Some(Dimension::Command), ""),
            Kind::Unattributed => (None, "`cpuledger.reason`"),
            Kind::Pairs(OfPairs::All) | Kind::Machine(_) | Kind::Own(_) | Kind::Server(_) => (None, ""),
            Kind::Group(_) | Kind::Container(..) => panic!("{} is of another exporter", family.name),
        };
        let Some(name) = metric_name(family, by) else { continue };
        let name = name.replace(".command.", ".DIMENSION.");
        let _ = writeln!(table, "| `{name}` | {attributes} | {} |", family.help);
    }
    for figure in Outbox::new(Queue::in_memory(1)).figures() {
        let _ = writeln!(table, "| `{}` | | {} |", figure.name, figure.help);
    }
    assert_has("otlp.md", "families", &table);
}

/// Fails unless the document has the table between its marks.
fn assert_has(document: &str, marks: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = std::fs::read_to_string(&path).expect("the document");
    let [begin, end] = ["begin", "end"].map(|word| format!("<!-- {word}: generated from {marks} -->\n"));
    let (before, rest) = text.split_once(&begin).expect("the first mark");
    let (found, after) = rest.split_once(&end).expect("the second mark");
    if found != table && std::env::var_os("CPULEDGER_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{table}{end}{after}")).expect("it is written");
        return;
    }
    assert_eq!(found, table, "CPULEDGER_WRITE_DOCS=1 cargo test -p cpuledger-net --test document writes it");
}
