//! The table of docs/privileges.md is the one of the sources.

use std::fmt::Write;
use std::path::PathBuf;

use cpuledger::SourceKind;
use cpuledger::support::privilege::needs;

const BEGIN: &str = "<!-- begin: generated from the table of privileges -->\n";
const END: &str = "<!-- end: generated from the table of privileges -->\n";

/// With this set, the file is written instead.
const REWRITE: &str = "CPULEDGER_WRITE_DOCS";

fn generated() -> String {
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

#[test]
fn the_needs_of_each_source_are_documented() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/privileges.md");
    let text = std::fs::read_to_string(&path).expect("docs/privileges.md");
    let (before, rest) = text.split_once(BEGIN).expect("the first mark");
    let (found, after) = rest.split_once(END).expect("the second mark");
    let expected = generated();
    if found != expected && std::env::var_os(REWRITE).is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{expected}{END}{after}")).expect("it is written");
        return;
    }
    assert_eq!(
        found, expected,
        "`{REWRITE}=1 cargo test -p cpuledger --test privileges_in_docs` rewrites docs/privileges.md"
    );
}
