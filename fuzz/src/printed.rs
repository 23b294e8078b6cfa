//! Records of the kernel half as they are printed.

use cpuledger::Boottime;
use cpuledger::fuzzing::snapshot_of;
use cpuledger_names::row::{Row, Surroundings};
use cpuledger_view::csv::Cells;
use cpuledger_view::layout::{Chosen, Layout, names};
use cpuledger_view::table;

/// Rows as they are printed.
#[derive(Debug, Default)]
pub struct Printed {
    /// Every column, as text.
    pub text: Vec<u8>,
    /// One object a line.
    pub json: Vec<u8>,
}

thread_local! {
    /// Every column, at a time that is always the same: else a finding would be hard to repeat.
    static PAGE: (Surroundings, Vec<Chosen>) = {
        let mut around = Surroundings::now();
        (around.machine.uptime, around.machine.now_seconds) = (Boottime::from_ns(1 << 50), 1 << 31);
        (around, names().filter_map(Chosen::by_name).collect())
    };
}

/// Decodes records of the kernel half, and prints what they make.
pub fn print(bytes: &[u8]) -> Printed {
    let mut printed = Printed::default();
    let snapshot = snapshot_of(bytes);
    PAGE.with(|(around, columns)| {
        let mut layout = Layout::new(columns.clone(), None);
        for task in snapshot.processes.iter().chain(&snapshot.tasks) {
            let line = Row::new(task, around).into();
            layout.write_line(&line, &mut printed.text);
            table::append_json_row(&mut printed.json, columns, &line);
            table::append_csv_row(&mut printed.text, columns, &line, Cells::Inert);
        }
    });
    printed
}
