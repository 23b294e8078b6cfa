//! Whether each entry of the registry of columns is to be had wherever columns are named: so that a new one needs nothing but its entry.

use clap::Parser;
use cpuledger::field::{FIELDS, FieldSet, Value};
use cpuledger_names::lookups::Lookups;
use cpuledger_view::column::{
    Align, By, Column, Dash, InTable, Lines, Listed, Overflow, TableCell, Text, TopField, columns, top_fields,
};
use cpuledger_view::figure::{Key, Part};
use cpuledger_view::interval::column::TableColumn;
use cpuledger_view::key::{PROCESS_KEYS, TASK_KEYS};
use cpuledger_view::query::Query;
use cpuledger_view::sort;

use crate::cmd::ps::{Plan, help};
use crate::cmd::top::options::{Arguments, Options};
use crate::cmd::top::procps;
use crate::tui::config;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn document(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What is looked through for each entry.
struct Everything {
    help_of_ps: String,
    list_of_ps: String,
    csv_header: String,
    json: String,
    manual: String,
}

impl Everything {
    fn new() -> Everything {
        let mut header = Vec::new();
        cpuledger_view::csv::append_header(&mut header);
        Everything {
            help_of_ps: help::options(""),
            list_of_ps: help::columns(),
            csv_header: String::from_utf8(header).expect("UTF-8"),
            json: document("docs/json.md"),
            manual: document("man/ptop.1").replace(r"\-", "-").replace(r"\*(Aq", "'"),
        }
    }

    /// Where an entry is missing.
    fn lacks(&self, column: &'static Column) -> Vec<String> {
        let mut missing = Vec::new();
        let mut expect = |is_there: bool, place: &str, name: &str| {
            if !is_there {
                missing.push(format!("{place} {name}"));
            }
        };
        for (name, _) in column.listed.iter().flat_map(|listed| listed.names) {
            let is_said = |text: &str| text.split_whitespace().any(|word| word == *name);
            expect(Plan::of_line(&format!("-o {name}")).is_ok(), "ps -o", name);
            expect(Plan::of_line(&format!("--sort {name}")).is_ok(), "ps --sort", name);
            if column.listed.as_ref().is_some_and(|listed| listed.dash != Some(Dash::NotShown)) {
                expect(is_said(&self.help_of_ps), "ps --help", name);
                expect(is_said(&self.list_of_ps), "ps L", name);
            }
        }
        if let Some(Text::NameOf(number)) = column.listed.as_ref().map(|listed| listed.text) {
            expect(Listed::by_name(number).is_some(), "the columns of numbers", number);
        }
        if let Some(letter) = column.order_letter {
            expect(Plan::of_line(&format!("-o pid= O {letter}")).is_ok(), "ps O", &letter.to_string());
        }
        if let Some((letter, name)) = column.aix {
            expect(Plan::of_line(&format!("-o %{letter}")).is_ok(), "ps -o %", name);
        }
        if let Some(key) = column.key() {
            self.expect_key(key, &mut expect);
        }
        if let Some(shown) = &column.in_table {
            let header = shown.header;
            expect(TableColumn::by_name(header).is_some(), "the table", header);
            expect(can_be_chosen(header), "the settings", header);
            expect(self.manual.contains(&format!("\\fB{header}\\fR\n{}", shown.help)), "ptop(1)", header);
            if shown.cell.has_order() {
                expect(can_sort(header), "top -o", header);
                expect(config::sort_name(header).is_some(), "the order of the screen", header);
            }
            if column.key().is_some() {
                expect(Query::parse(&format!("{header}=1")).is_ok(), "filters", header);
            }
        }
        for (alias, explanation) in column.aliases {
            expect(Query::parse(&format!("{alias}=1")).is_ok(), "filters", alias);
            expect(self.manual.contains(&format!("\\fB{alias}\\fR\n{explanation}")), "ptop(1)", alias);
        }
        column.orders.iter().for_each(|name| expect(can_sort(name), "top -o", name));
        for field in column.procps {
            let line = ["-b", "-o", field.name];
            expect(procps::options::parse(&line, 1).is_ok(), "top --procps -o", field.name);
            expect(top_fields().iter().any(|known| known.name == field.name), "top --procps -O", field.name);
        }
        missing
    }

    /// A figure is in JSON, CSV, orders, filters, settings and documents, whatever columns show it.
    fn expect_key(&self, key: Key, expect: &mut dyn FnMut(bool, &str, &str)) {
        let name = key.name();
        let is_key = |keys: &[Key]| keys.iter().any(|known| known.name() == name);
        let is_of_processes = is_key(&PROCESS_KEYS);
        // What a process has no more than the sum of two others is told of tasks, or not at all.
        let is_told = is_of_processes || is_key(&TASK_KEYS) || FIELDS.iter().any(|info| info.key == name);
        expect(is_told, "JSON", name);
        if is_of_processes {
            expect(self.csv_header.trim().split(',').any(|column| column == name), "CSV", name);
            expect(self.json.contains(&format!("\n| `{name}` |")), "docs/json.md", name);
        }
        expect(can_sort(name), "top -o", name);
        expect(can_be_chosen(name), "the settings", name);
        expect(Query::parse(&format!("{name}=1")).is_ok(), "filters", name);
        expect(self.manual.contains(&format!("\\fB{name}\\fR\n")), "ptop(1)", name);
    }
}

/// Whether `top -o` takes it.
fn can_sort(name: &str) -> bool {
    let line = Line::parse_from(["top", "-b", "-o", name]);
    Options::parse(&line.arguments, false).is_ok()
}

/// Whether the file of settings takes it as a column.
fn can_be_chosen(name: &str) -> bool {
    config::read(&format!("columns = [\"{name}\"]\n")).is_ok_and(|(_, warnings)| warnings.is_empty())
}

#[test]
fn every_column_is_reachable_and_documented() {
    let everything = Everything::new();
    let mut count = 0;
    for column in columns() {
        let missing = everything.lacks(column);
        assert!(missing.is_empty(), "{:?}: it is not in {}", column.name_in_ps(), missing.join(", "));
        assert!(
            column.listed.is_some() || column.in_table.is_some() || column.figure.is_some(),
            "an entry that shows nothing: {column:?}"
        );
        count += 1;
    }
    assert!(count > 150, "{count} columns");
}

#[test]
fn every_field_is_a_column() {
    let everything = Everything::new();
    for info in FIELDS {
        let mut missing = Vec::new();
        everything.expect_key(Key::Field(info.field), &mut |is_there, place, _| {
            if !is_there {
                missing.push(place.to_owned());
            }
        });
        if Plan::of_line(&format!("-o {}", info.key)).is_err() {
            missing.push("ps -o".to_owned());
        }
        assert!(missing.is_empty(), "{}: it is not in {}", info.key, missing.join(", "));
    }
}

/// An entry that the registry does not have is missed wherever it is looked for.
#[test]
fn an_entry_outside_the_registry_is_missed_everywhere() {
    static PLANTED: Column = Column {
        figure: Some(Key::Part(&Part { key: "planted_ns", help: "Planted.", value: |_| Value::Absent })),
        listed: Some(Listed {
            names: &[("planted", "PLANTED")],
            width: 7,
            align: Align::Left,
            overflow: Overflow::Push,
            lines: Lines::Both,
            text: Text::Usual,
            dash: None,
            needs: FieldSet::EMPTY,
            optional: FieldSet::EMPTY,
            lookups: Lookups::NONE,
            shown: (|_, _| {}, |_| sort::Key::Absent),
            help: "Planted.",
        }),
        in_table: Some(InTable {
            place: 99,
            header: "PLANTD",
            width: 7,
            is_left: true,
            rank: 1,
            is_of_sums: false,
            cell: TableCell::Value,
            help: "Planted.",
        }),
        order_letter: Some('z'),
        aix: Some(('w', "planted")),
        orders: &["plntd"],
        procps: &[TopField { place: 99, name: "Plnt", by: By::Share }],
        aliases: &[("plant", "planted")],
    };
    let missing = Everything::new().lacks(&PLANTED);
    assert_eq!(
        missing,
        [
            "ps -o planted",
            "ps --sort planted",
            "ps --help planted",
            "ps L planted",
            "ps O z",
            "ps -o % planted",
            "JSON planted_ns",
            "top -o planted_ns",
            "the settings planted_ns",
            "filters planted_ns",
            "ptop(1) planted_ns",
            "the table PLANTD",
            "the settings PLANTD",
            "ptop(1) PLANTD",
            "top -o PLANTD",
            "the order of the screen PLANTD",
            "filters PLANTD",
            "filters plant",
            "ptop(1) plant",
            "top -o plntd",
            "top --procps -o Plnt",
            "top --procps -O Plnt",
        ]
    );
}
