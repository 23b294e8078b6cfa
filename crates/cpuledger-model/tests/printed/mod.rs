//! Frames as JSON.

use std::fmt::Write;

use cpuledger_model::frame::{Column, Frame, Kind, Section};

/// A frame as an object: a member for each section with rows, and in each row one for each field that is known.
pub fn json_of(frame: &Frame) -> String {
    let sections = Section::ALL.into_iter().filter(|section| !frame.table(*section).is_empty());
    let sections: Vec<String> = sections
        .map(|section| {
            let rows: Vec<String> = (0..frame.table(section).len())
                .map(|row| format!("    {}", row_of(frame, section, row)))
                .collect();
            format!("  \"{}\": [\n{}\n  ]", name(section), rows.join(",\n"))
        })
        .collect();
    format!("{{\n{}\n}}\n", sections.join(",\n"))
}

fn row_of(frame: &Frame, section: Section, row: usize) -> String {
    let table = frame.table(section);
    let values: Vec<String> = Column::known()
        .filter_map(|column| {
            let value = match column.kind() {
                Kind::Signed => table.get_signed(column, row)?.to_string(),
                Kind::Text => string(frame.text_of(section, column, row)?),
                _ => table.get(column, row)?.to_string(),
            };
            Some(format!("\"{}\": {value}", column.name()))
        })
        .collect();
    format!("{{{}}}", values.join(", "))
}

fn name(section: Section) -> &'static str {
    match section {
        Section::Interval => "interval",
        Section::Cpus => "cpus",
        Section::Processes => "processes",
        Section::Tasks => "tasks",
        Section::Exited => "exited",
        Section::Blocked => "blocked",
        Section::FromProcfs => "from_procfs",
        Section::Renumbered => "renumbered",
        Section::Cgroups => "cgroups",
        Section::Ancestors => "ancestors",
        Section::Pairs => "pairs",
        Section::Disks => "disks",
        Section::Wire => "wire",
        _ => unreachable!("the vectors know every section"),
    }
}

/// A string of JSON or, where the bytes are no UTF-8, an object with their digits.
pub fn string(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else {
        let digits = bytes.iter().fold(String::new(), |mut digits, byte| {
            write!(digits, "{byte:02x}").expect("memory");
            digits
        });
        return format!("{{\"hex\": \"{digits}\"}}");
    };
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => {
                write!(quoted, "\\u{:04x}", u32::from(control)).expect("memory")
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}
