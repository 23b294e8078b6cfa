//! The tables of `docs/metrics.md` and `docs/otlp.md` are made from the code. `CPULEDGER_WRITE_DOCS=1` writes them.

use std::fmt::Write as _;
use std::path::Path;

use cpuledger_net::families::{FAMILIES, Kind};
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
            Kind::Departed => "`by`",
            Kind::Unattributed => "`reason`",
            Kind::Machine(_) | Kind::Own(_) | Kind::Server(_) => "",
        };
        let _ = writeln!(table, "| `{}{total}` | {labels} | {} |", family.name, family.help);
    }
    assert_has("metrics.md", &table);
}

#[test]
fn the_document_has_all_metrics_of_a_push() {
    let mut table = String::from("| metric | attributes | what |\n|---|---|---|\n");
    for family in &FAMILIES {
        let (by, attributes) = match family.kind {
            Kind::Cpu => (Some(Dimension::Command), "`cpuledger.DIMENSION`, `cpuledger.part`"),
            Kind::Series(_) => (Some(Dimension::Command), "`cpuledger.DIMENSION`"),
            Kind::Departed => (Some(Dimension::Command), ""),
            Kind::Unattributed => (None, "`cpuledger.reason`"),
            Kind::Machine(_) | Kind::Own(_) | Kind::Server(_) => (None, ""),
        };
        let Some(name) = metric_name(family, by) else { continue };
        let name = name.replace(".command.", ".DIMENSION.");
        let _ = writeln!(table, "| `{name}` | {attributes} | {} |", family.help);
    }
    for figure in Outbox::new(Queue::in_memory(1)).figures() {
        let _ = writeln!(table, "| `{}` | | {} |", figure.name, figure.help);
    }
    assert_has("otlp.md", &table);
}

/// Fails unless the document has the table.
fn assert_has(document: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = std::fs::read_to_string(&path).expect("the document");
    let [begin, end] = ["begin", "end"].map(|word| format!("<!-- {word}: generated from families -->\n"));
    let (before, rest) = text.split_once(&begin).expect("the first mark");
    let (found, after) = rest.split_once(&end).expect("the second mark");
    if found != table && std::env::var_os("CPULEDGER_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{table}{end}{after}")).expect("it is written");
        return;
    }
    assert_eq!(found, table, "CPULEDGER_WRITE_DOCS=1 cargo test -p cpuledger-net --test document writes it");
}
