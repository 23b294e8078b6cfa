//! The table of `docs/metrics.md` is made from the code. `CPULEDGER_WRITE_DOCS=1` writes it.

use std::fmt::Write as _;
use std::path::Path;

use cpuledger_net::families::{FAMILIES, Kind};

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
            Kind::Machine(_) | Kind::Own(_) => "",
        };
        let _ = writeln!(table, "| `{}{total}` | {labels} | {} |", family.name, family.help);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
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
