//! The list of columns that are always `-` in docs/ps.md is the one that the tables of columns hold.

use std::fmt::Write;
use std::path::PathBuf;

use cpuledger::render::column::{Dash, columns};

const BEGIN: &str = "<!-- begin: generated from the tables of columns -->\n";
const END: &str = "<!-- end: generated from the tables of columns -->\n";

/// With this set, the file is written instead.
const REWRITE: &str = "CPULEDGER_WRITE_DOCS";

const REASONS: [(Dash, &str); 3] = [
    (Dash::NotKnown, "procps shows something, and nothing here can know it:"),
    (Dash::NotInOneLook, "Ours, known only where an interval was watched:"),
    (Dash::NotShown, "procps takes the name and shows `-` as well:"),
];

fn generated() -> String {
    let mut text = String::new();
    for (reason, sentence) in REASONS {
        let _ = write!(text, "\n{sentence}\n\n| column | what it is |\n|---|---|\n");
        let mut rows: Vec<(&str, Vec<&str>)> = Vec::new();
        for column in columns().filter(|column| column.dash == Some(reason)) {
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

#[test]
fn the_columns_without_content_are_documented() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/ps.md");
    let text = std::fs::read_to_string(&path).expect("docs/ps.md");
    let (before, rest) = text.split_once(BEGIN).expect("docs/ps.md has the first mark");
    let (found, after) = rest.split_once(END).expect("docs/ps.md has the second mark");
    let expected = generated();
    if found == expected {
        return;
    }
    if std::env::var_os(REWRITE).is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{expected}{END}{after}"))
            .expect("docs/ps.md is written");
        return;
    }
    panic!(
        "docs/ps.md lists other columns than there are; `{REWRITE}=1 cargo test -p cpuledger --test columns_in_docs` \
         rewrites it. It should say:\n{expected}"
    );
}
