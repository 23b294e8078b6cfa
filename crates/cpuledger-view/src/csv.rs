//! Intervals as CSV: one row a process, and one a task where tasks are wanted.

use std::sync::LazyLock;

use crate::key::{Key, PROCESS_KEYS, Shown, TASK_KEYS};
use cpuledger_model::field::Value;
use cpuledger_model::interval::Row;
use cpuledger_names::named::NameKey;
pub use cpuledger_proc::escape::Cells;
use cpuledger_proc::escape::append_escaped;

/// Of each of the keys: whether only processes have it.
static IS_OF_PROCESSES: LazyLock<Vec<bool>> = LazyLock::new(|| {
    let is_of_tasks = |key: &Key| TASK_KEYS.iter().any(|other| other.name() == key.name());
    PROCESS_KEYS.iter().map(|key| matches!(key, Key::Part(_)) && !is_of_tasks(key)).collect()
});

/// What stands before the keys of a row: whose row it is, and which interval's.
const LEADING: [&str; 5] = ["kind", "source", "start_ns", "end_ns", "tid"];

/// Appends the names of the columns.
pub fn append_header(text: &mut Vec<u8>) {
    let names = NameKey::ALL.iter().map(|name| name.name());
    append_record(text, LEADING.into_iter().chain(PROCESS_KEYS.iter().map(|key| key.name())).chain(names));
}

/// Appends the rows of an interval. What is not known is an empty field; of a task, so is what only processes have.
pub fn append_interval(text: &mut Vec<u8>, shown: &Shown<'_>, cells: Cells) {
    let mut rows =
        Rows { writer: csv::Writer::from_writer(text), shown, cells, cell: Vec::new(), escaped: Vec::new() };
    // Memory takes everything.
    let _ = shown.processes().try_for_each(|row| rows.write("process", row));
    let _ = shown.tasks().try_for_each(|row| rows.write("task", row));
    let _ = rows.writer.flush();
}

/// Appends one record.
pub(crate) fn append_record(text: &mut Vec<u8>, fields: impl IntoIterator<Item: AsRef<[u8]>>) {
    let mut writer = csv::Writer::from_writer(text);
    // Memory takes everything.
    let _ = writer.write_record(fields);
    let _ = writer.flush();
}

struct Rows<'a, 'b> {
    writer: csv::Writer<&'a mut Vec<u8>>,
    shown: &'a Shown<'b>,
    cells: Cells,
    cell: Vec<u8>,
    escaped: Vec<u8>,
}

impl Rows<'_, '_> {
    fn write(&mut self, kind: &'static str, row: &Row) -> csv::Result<()> {
        let interval = self.shown.interval;
        let tid = if kind == "task" { Value::Signed(row.task.tid.0.into()) } else { Value::Absent };
        for value in [
            Value::Bytes(kind.as_bytes()),
            Value::Bytes(interval.source_name().as_bytes()),
            Value::Unsigned(interval.start_ns),
            Value::Unsigned(interval.end_ns),
            tid,
        ] {
            self.write_value(value)?;
        }
        for (key, is_of_processes) in PROCESS_KEYS.iter().zip(IS_OF_PROCESSES.iter()) {
            self.write_value(match kind {
                "task" if *is_of_processes => Value::Absent,
                _ => key.value(row),
            })?;
        }
        for name in NameKey::ALL {
            self.write_value(self.shown.name(&row.task, name))?;
        }
        self.writer.write_record(None::<&[u8]>)
    }

    fn write_value(&mut self, value: Value<'_>) -> csv::Result<()> {
        let mut number = itoa::Buffer::new();
        match value {
            Value::Absent => self.writer.write_field(""),
            Value::Unsigned(value) => self.writer.write_field(number.format(value)),
            Value::Signed(value) => self.writer.write_field(number.format(value)),
            Value::Letter(letter) => self.writer.write_field([letter]),
            Value::Bytes(bytes) => {
                self.cell.clear();
                self.escaped.clear();
                append_escaped(&mut self.escaped, bytes);
                self.cells.append(&mut self.cell, &self.escaped);
                self.writer.write_field(&self.cell)
            }
        }
    }
}
