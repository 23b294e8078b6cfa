//! What `top --by` prints: states in the place of the usual columns, and rows put together.

use std::cell::LazyCell;

use cpuledger_model::interval::{Blocked, Row, Usage};
use cpuledger_proc::escape::append_escaped;

use super::column::{CellContext, Columns, TableColumn, append_decimals, append_per_mille, per_mille};
use super::{Page, Writer, context_of, for_each_row};
use crate::cell::{signed, unsigned};
use crate::group::Sum;
use crate::shares::cells::Cells;
use crate::shares::columns::{Room, columns};

/// The width of a count of rows.
const COUNT_WIDTH: usize = 7;
/// That of a share of CPU time.
const SHARE_WIDTH: usize = 5;

/// Tasks that were blocked all the time that have a line each.
const MOST_BLOCKED_LINES: usize = 40;

impl Writer<'_> {
    /// A line for each row, with its states.
    pub(super) fn append_states(&mut self) {
        let mut has_unseen = false;
        for_each_row(self.shown, self.page, |row, _| has_unseen |= is_unseen(&row.usage));
        let room = Room { width: self.page.width, has_unseen, is_exact: false, without: &["STATES"] };
        self.append_rows(&columns(&room));
    }

    /// A line for each row.
    pub(super) fn append_rows(&mut self, columns: &Columns) {
        self.append_headers(columns);
        self.end_line();
        for_each_row(self.shown, self.page, |row, context| {
            self.append_cells(columns, row, context);
            self.end_line();
        });
    }

    /// A line for each group.
    pub(super) fn append_groups(&mut self, groups: &[Sum]) {
        let rows = if self.shown.tasks.is_some() {
            &self.shown.interval.tasks
        } else {
            &self.shown.interval.processes
        };
        let columns = if rows.iter().any(|row| row.usage.states.is_some()) {
            columns_of_sums(groups, self.page)
        } else {
            // The only state that other sources know.
            let wait = TableColumn::by_name("%WAIT");
            wait.map(|column| (column, column.width(false))).into_iter().collect()
        };
        self.append_sums(["ROWS", "GROUP"], &columns, groups);
    }

    /// A line for each name of the dead.
    pub(super) fn append_dead_names(&mut self, names: &[Sum]) {
        let columns = if self.page.has_states { columns_of_sums(names, self.page) } else { Columns::new() };
        self.append_sums(["EXITED", "COMMAND"], &columns, names);
    }

    /// A line for each task that was blocked all the time.
    pub(super) fn append_blocked(&mut self) {
        let Some(blocked) = &self.shown.interval.blocked else { return };
        if self.shown.blocked.is_empty() {
            return;
        }
        self.text.push(b'\n');
        for &index in self.shown.blocked.iter().take(MOST_BLOCKED_LINES) {
            self.say("Blocked all the time: ");
            append_blocked_task(&mut self.line, &blocked[index]);
            self.end_line();
        }
        // Of those that are not in the list it is not known whether they were asked for.
        let not_listed = self.shown.interval.blocked_tasks - blocked.len() as u64;
        let others = self.shown.blocked.len().saturating_sub(MOST_BLOCKED_LINES) as u64 + not_listed;
        if others > 0 {
            self.say_line(&format!("Blocked all the time: {others} more"));
        }
    }

    fn append_sums(&mut self, [count, name]: [&str; 2], columns: &Columns, sums: &[Sum]) {
        self.say_cell(count, COUNT_WIDTH, false);
        self.say_cell("%CPU", SHARE_WIDTH, false);
        self.append_headers(columns);
        self.say_line(name);
        let context = context_of(self.shown, self.page);
        for sum in sums {
            self.say_figure(COUNT_WIDTH, Some(sum.rows as u64), unsigned);
            let share = per_mille(sum.total.usage.cpu_ns, context.length_ns);
            self.say_figure(SHARE_WIDTH, Some(share), append_per_mille);
            self.append_cells(columns, &sum.total, &context);
            self.say_line(sum.name.label());
        }
    }

    pub(super) fn append_headers(&mut self, columns: &Columns) {
        for (column, width) in columns {
            self.say_header(column.name(), *width, column.is_left());
        }
    }

    /// The cells of a row. CPU time that is not known by mode stands in those of user and system time, as one.
    fn append_cells(&mut self, columns: &Columns, row: &Row, context: &CellContext<'_>) {
        let cells = LazyCell::new(|| Cells::of(&row.usage, context.length_ns, context.is_exact));
        let mut covered = None;
        for (column, width) in columns {
            match column {
                TableColumn::State(state) if state.name == "USR" && cells.is_undivided() => {
                    covered = Some(width + 1);
                    continue;
                }
                TableColumn::State(state) if state.name == "SYS" && cells.is_undivided() => {
                    self.say_header(&cells.undivided_text(), width + covered.take().unwrap_or(0), false);
                    continue;
                }
                TableColumn::State(state) => self.cell.extend_from_slice(cells.text(state).as_bytes()),
                column => column.append(&mut self.cell, row, context),
            }
            self.append_cell(*width, column.is_left());
        }
    }
}

/// `dd (1234) for 3.2 s, I/O`: a task that was blocked all the time. Of a thread, with its process: `(1236 of 1234)`.
pub fn append_blocked_task(line: &mut Vec<u8>, blocked: &Blocked) {
    append_escaped(line, blocked.comm.as_bytes());
    line.extend_from_slice(b" (");
    signed(line, blocked.task.tid.0);
    if blocked.task != blocked.process {
        line.extend_from_slice(b" of ");
        signed(line, blocked.process.tid.0);
    }
    line.extend_from_slice(if blocked.since_ns.is_some() { b") for " } else { b") for more than " });
    append_decimals(line, blocked.blocked_for_ns / 100_000_000, 1);
    line.extend_from_slice(b" s");
    if blocked.for_io == Some(true) {
        line.extend_from_slice(b", I/O");
    }
}

fn is_unseen(usage: &Usage) -> bool {
    usage.states.is_some_and(|states| states.unseen_ns > 0)
}

/// Those between a count and a name.
fn columns_of_sums(sums: &[Sum], page: &Page<'_>) -> Columns {
    const LEAST_NAME: usize = 12;
    let before = COUNT_WIDTH + 1 + SHARE_WIDTH + 1;
    columns(&Room {
        width: page.width.saturating_sub(before + LEAST_NAME),
        has_unseen: sums.iter().any(|sum| is_unseen(&sum.total.usage)),
        is_exact: false,
        without: &["PID", "USER", "STATES", "COMMAND"],
    })
}
