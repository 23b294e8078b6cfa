//! The rows: procps' columns, in their widths, cut as there.

use std::cmp::Ordering;

use cpuledger::counters::Counters;
use cpuledger::field::Value;
use cpuledger::interval::{Row, Usage};
use cpuledger_model::make;
use cpuledger_names::row::Surroundings;
use cpuledger_view::column::TableCell;
use cpuledger_view::interval::column::{
    CellContext, TableColumn, append_bytes_from, append_per_mille, append_time, of_batch,
};
use cpuledger_view::key::Key;
use cpuledger_view::layout;

use super::entry::{Entry, tenths};
use super::fields::compare;
use super::options::Options;

/// How rows are written.
#[derive(Debug)]
pub struct Table<'a> {
    /// What was asked for.
    pub options: &'a Options,
    /// Places of a line.
    pub width: usize,
    /// Digits of the largest pid.
    pub pid_digits: usize,
    /// Names of users, and arguments where they are wanted.
    pub around: &'a Surroundings,
    /// Memory of the machine.
    pub memory_total_bytes: Option<u64>,
    /// As many rows as there is room for.
    pub most_rows: usize,
}

impl Table<'_> {
    /// Appends the heads of the columns and a line for each entry.
    pub fn append(&self, text: &mut Vec<u8>, mut entries: Vec<Entry<'_>>) {
        entries.sort_by(|one, other| -> Ordering {
            let order = compare(self.options.by.1, one, other, self.around);
            let order = if self.options.is_ascending { order } else { order.reverse() };
            order.then_with(|| (one.whole.pid, one.whole.tid).cmp(&(other.whole.pid, other.whole.tid)))
        });
        let (columns, rest) = self.fitting();
        self.append_line(text, columns, rest, &mut |cell, column| {
            cell.extend_from_slice(column.name().as_bytes());
        });
        for entry in entries.iter().take(self.most_rows) {
            self.append_line(text, columns, rest, &mut |cell, column| self.append_cell(cell, column, entry));
        }
    }

    /// The columns that fit, the last aside, and the width of the last; 0: it does not fit.
    fn fitting(&self) -> (&'static [TableColumn], usize) {
        // A blank ends each column, and the last place of a line stays free.
        let mut used = self.pid_digits + 1;
        let (_, columns) = of_batch().split_last().expect("there are columns");
        for (index, column) in columns.iter().enumerate().skip(1) {
            let wide = column.width(false) + 1;
            if used + wide >= self.width {
                return (&columns[..index], 0);
            }
            used += wide;
        }
        let rest = self.width.saturating_sub(used + 1);
        (columns, if rest < last().name().len() { 0 } else { rest })
    }

    fn append_line(
        &self,
        text: &mut Vec<u8>,
        columns: &[TableColumn],
        rest: usize,
        write: &mut dyn FnMut(&mut Vec<u8>, TableColumn),
    ) {
        let mut cell = Vec::new();
        for (place, &column) in columns.iter().enumerate() {
            cell.clear();
            write(&mut cell, column);
            // The first is as wide as the pids of this machine.
            let width = if place == 0 { self.pid_digits } else { column.width(false) };
            let blanks = width.saturating_sub(layout::width(&cell));
            if place > 0 {
                text.push(b' ');
            }
            text.extend(std::iter::repeat_n(b' ', if column.is_left() { 0 } else { blanks }));
            text.extend_from_slice(&cell);
            text.extend(std::iter::repeat_n(b' ', if column.is_left() { blanks } else { 0 }));
        }
        if rest > 0 {
            cell.clear();
            write(&mut cell, last());
            if layout::width(&cell) > rest {
                layout::cut(&mut cell, rest - 1);
                cell.push(b'+');
            }
            text.push(b' ');
            text.extend_from_slice(&cell);
        }
        while text.last() == Some(&b' ') {
            text.pop();
        }
        text.push(b'\n');
    }

    /// A cell as procps writes it: what has no size is 0, and shares are rounded to the nearest.
    fn append_cell(&self, cell: &mut Vec<u8>, column: TableColumn, entry: &Entry<'_>) {
        let size = || match column.key() {
            Some(Key::Field(field)) => match field.value(entry.whole) {
                Value::Unsigned(bytes) => bytes,
                _ => 0,
            },
            _ => 0,
        };
        match column.cell() {
            TableCell::Size => append_bytes_from(cell, size(), column.width(false), self.options.task_scale),
            TableCell::MemoryShare => {
                append_per_mille(cell, tenths(size(), self.memory_total_bytes.unwrap_or(u64::MAX)));
            }
            TableCell::Share => append_per_mille(cell, tenths(entry.cpu_ns, entry.length_ns)),
            TableCell::Time => append_time(cell, entry.time_ns()),
            _ => self.append_as_in_top(cell, column, entry),
        }
    }

    /// A cell as in the text of `cpuledger top`.
    fn append_as_in_top(&self, cell: &mut Vec<u8>, column: TableColumn, entry: &Entry<'_>) {
        // The columns of procps show totals, and the share of CPU time.
        let growth = Counters::of(entry.whole);
        let usage = make!(Usage { cpu_ns: entry.cpu_ns, growth });
        column.append(
            cell,
            &Row::new(*entry.whole, usage),
            &CellContext {
                length_ns: entry.length_ns,
                interval_ns: entry.length_ns,
                users: &self.around.users,
                memory_total_bytes: self.memory_total_bytes,
                has_arguments: self.options.has_arguments,
                cmdline: self.around.details.cmdline(entry.whole),
                is_task: self.options.has_threads,
                subtree_ns: None,
                named: None,
                has_units: false,
                is_exact: false,
            },
        );
        // As there, in a text that programs read as numbers.
        if cell == b"-" && !column.is_left() {
            *cell = b"0".to_vec();
        }
    }
}

/// The last column, which takes the rest of the line where its head has room.
fn last() -> TableColumn {
    *of_batch().last().expect("there are columns")
}
