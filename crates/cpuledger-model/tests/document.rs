//! The tables and the example of `docs/format/frames.md`. `CPULEDGER_WRITE_DOCS=1` writes them.

mod example;

use std::fmt::Write;
use std::path::Path;

use cpuledger_model::frame::{Column, Kind, Rule};
use example::example;

fn hexdump(bytes: &[u8]) -> String {
    let mut text = "```\n".to_owned();
    for (line, bytes) in bytes.chunks(16).enumerate() {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let shown = |byte: &u8| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' };
        let letters: String = bytes.iter().map(shown).collect();
        writeln!(text, "{:04x}  {:<47}  {letters}", line * 16, hex.join(" ")).expect("memory");
    }
    text + "```\n"
}

fn fields() -> String {
    let mut columns: Vec<Column> = Column::known().collect();
    columns.sort_by_key(|column| column.id());
    let mut text = "| id | field | kind | merged | what |\n|---|---|---|---|---|\n".to_owned();
    for column in columns {
        let kind = match column.kind() {
            Kind::Signed => "signed",
            Kind::Text => "text",
            _ => "",
        };
        let merged = match column.rule() {
            Rule::First => "first",
            Rule::Last => "last",
            Rule::Sum => "sum",
            Rule::Both => "lesser",
            _ => "",
        };
        let (id, name, help) = (column.id(), column.name(), column.help());
        writeln!(text, "| {id} | `{name}` | {kind} | {merged} | {help} |").expect("memory");
    }
    text
}

#[test]
fn the_document_has_every_field_and_the_example() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format/frames.md");
    let mut text = std::fs::read_to_string(&path).expect("docs/format/frames.md");
    for (name, part) in [("hexdump", hexdump(&example())), ("fields", fields())] {
        let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
        let from = text.find(&begin).expect(name) + begin.len();
        let to = text.find(&end).expect(name);
        if std::env::var_os("CPULEDGER_WRITE_DOCS").is_some() {
            text.replace_range(from..to, &part);
        } else {
            assert!(
                text[from..to] == part,
                "CPULEDGER_WRITE_DOCS=1 cargo test -p cpuledger-model writes:\n{part}"
            );
        }
    }
    if std::env::var_os("CPULEDGER_WRITE_DOCS").is_some() {
        std::fs::write(&path, text).expect("docs/format/frames.md");
    }
}
