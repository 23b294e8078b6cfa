//! An interval as text in top's habits: a head, a table, and the dead by name.

pub mod balance;
pub mod by;
pub mod column;
pub(crate) mod devices;
pub mod head;
mod pairs;
mod parts;
mod wire;

use crate::cell::{two_digits, unsigned};
use crate::column::TableCell;
use crate::group::{DeadName, Name, Sum, dead_names};
use crate::key::Shown;
use crate::layout;
use cpuledger_model::Dimension;
use cpuledger_model::interval::Row;
use cpuledger_names::named::Named;
use cpuledger_names::row::Surroundings;
use cpuledger_proc::machine::loadavg::Load;

use column::{CellContext, Columns, TableColumn, append_decimals, of_batch, of_parts, text_of};

/// What the text shows besides the interval.
#[derive(Debug)]
pub struct Page<'a> {
    /// The local time of day, `12:00:01`.
    pub time_of_day: &'a str,
    /// Load averages and the number of tasks, where known.
    pub load: Option<&'a Load>,
    /// Users, arguments, memory of the machine and uptime.
    pub around: &'a Surroundings,
    /// Show command lines instead of names.
    pub has_arguments: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Shares of states in place of the usual columns.
    pub has_states: bool,
    /// User, system and stolen time of each part of CPU time in place of the usual columns, and their sum.
    pub has_parts: bool,
    /// Rows put together, in the place of rows.
    pub groups: Option<&'a [Sum]>,
    /// Who made whom wait, by these names, in the place of rows.
    pub pairs: Option<Dimension>,
    /// What cgroups or units did on the wire, in the place of rows.
    pub wire: Option<Dimension>,
    /// What each disk did, in the place of rows.
    pub has_devices: bool,
    /// The columns of rows; nothing: the usual ones.
    pub columns: &'a [TableColumn],
    /// What cgroups are called, where a column shows it.
    pub named: Option<&'a Named>,
}

/// Writes an interval.
struct Writer<'a> {
    text: &'a mut Vec<u8>,
    shown: &'a Shown<'a>,
    page: &'a Page<'a>,
    line: Vec<u8>,
    cell: Vec<u8>,
}

/// Appends the interval.
pub fn append_interval(text: &mut Vec<u8>, shown: &Shown<'_>, page: &Page<'_>) {
    let mut writer = Writer { text, shown, page, line: Vec::new(), cell: Vec::new() };
    writer.append_head();
    writer.text.push(b'\n');
    if let Some(by) = page.pairs {
        return writer.append_pairs(by);
    }
    if let Some(by) = page.wire {
        return writer.append_wire(by);
    }
    if page.has_devices {
        return writer.append_devices();
    }
    match page.groups {
        Some(groups) => writer.append_groups(groups),
        None if page.has_states => writer.append_states(),
        None if page.has_parts => writer.append_parts(),
        None => writer.append_table(),
    }
    if page.has_states {
        writer.append_blocked();
    }
    writer.append_exited();
}

impl Writer<'_> {
    /// Ends the line, no longer than the page is wide.
    fn end_line(&mut self) {
        while self.line.last() == Some(&b' ') {
            self.line.pop();
        }
        layout::cut(&mut self.line, self.page.width);
        self.text.extend_from_slice(&self.line);
        self.text.push(b'\n');
        self.line.clear();
    }

    /// A sentence, in as many lines as it takes.
    fn say_lines(&mut self, sentence: &str) {
        for line in layout::wrap(sentence, self.page.width) {
            self.say_line(&line);
        }
    }

    fn say_line(&mut self, words: &str) {
        self.say(words);
        self.end_line();
    }

    fn say(&mut self, words: &str) {
        self.line.extend_from_slice(words.as_bytes());
    }

    fn append_head(&mut self) {
        let uptime =
            text_of(|cell| append_uptime(cell, self.page.around.machine.uptime.ticks(1_000_000_000)));
        let averages = self.page.load.map(|load| format!(",  load average: {}", load.averages.join(", ")));
        let load = averages.unwrap_or_default();
        self.say_line(&format!("cpuledger top - {} up {uptime}{load}", self.page.time_of_day));
        self.say_lines(&head::balance(self.shown.interval));
        for line in head::counts(self.shown.interval, self.page.load) {
            self.say_line(&line);
        }
        self.say_lines(&head::losses(self.shown.interval).0);
    }

    fn append_table(&mut self) {
        /// Of a command with a column behind it.
        const COMMAND_WIDTH: usize = 15;
        let columns = if self.page.columns.is_empty() { of_batch() } else { self.page.columns };
        let width = |place: usize| match columns[place].width(false) {
            0 if place + 1 < columns.len() => COMMAND_WIDTH,
            width => width,
        };
        let columns: Columns =
            columns.iter().enumerate().map(|(place, column)| (*column, width(place))).collect();
        self.append_rows(&columns);
    }

    /// The table of `--by parts`, and the sum of all processes, shown or not.
    fn append_parts(&mut self) {
        let (shown, page) = (self.shown, self.page);
        let is_share = |column: &TableColumn| column.cell() == TableCell::Share;
        let width = |column: &TableColumn| if is_share(column) { parts::WIDTH } else { column.width(false) };
        self.append_headers(&of_parts().iter().map(|column| (*column, width(column))).collect());
        self.end_line();
        let mut append = |row: &Row, context: &CellContext<'_>, is_sum: bool| {
            let mut percents = parts::percents(&row.usage, context.length_ns).into_iter();
            for column in of_parts() {
                if is_share(column) {
                    match percents.next().flatten() {
                        Some(percent) => append_decimals(&mut self.cell, percent, 2),
                        None => self.cell.push(b'-'),
                    }
                } else if !is_sum || column.is_of_sums() {
                    column.append(&mut self.cell, row, context);
                }
                self.append_cell(width(column), column.is_left());
            }
            self.end_line();
        };
        for_each_row(shown, page, |row, context| append(row, context, false));
        let mut all = Sum::new(Name::All);
        shown.interval.processes.iter().for_each(|row| all.add(row));
        append(&all.total, &context_of(shown, page), true);
    }

    /// Moves the cell to the line, aligned; a cell wider than its column pushes the rest to the right.
    fn append_cell(&mut self, width: usize, is_left: bool) {
        let blanks = width.saturating_sub(layout::width(&self.cell));
        let (before, behind) = if is_left { (0, blanks) } else { (blanks, 0) };
        self.line.resize(self.line.len() + before, b' ');
        self.line.append(&mut self.cell);
        self.line.resize(self.line.len() + behind + 1, b' ');
    }

    /// A header in its cell.
    fn say_header(&mut self, header: &str, width: usize, is_left: bool) {
        self.cell.extend_from_slice(header.as_bytes());
        self.append_cell(width, is_left);
    }

    /// A name in its cell, cut where there is no room for all of it.
    fn say_cell(&mut self, name: &str, width: usize, is_left: bool) {
        self.cell.extend_from_slice(name.as_bytes());
        layout::cut(&mut self.cell, width);
        self.append_cell(width, is_left);
    }

    /// The line above names and figures.
    fn say_headers(&mut self, name: &str, name_width: usize, figures: &[(&str, usize)]) {
        self.say_cell(name, name_width, true);
        figures.iter().for_each(|(header, width)| self.say_cell(header, *width, false));
        self.end_line();
    }

    /// A figure in its cell; `-` for what is not known.
    fn say_figure(&mut self, width: usize, figure: Option<u64>, append: impl Fn(&mut Vec<u8>, u64)) {
        match figure {
            Some(figure) => append(&mut self.cell, figure),
            None => self.cell.push(b'-'),
        }
        self.append_cell(width, false);
    }

    /// The dead by name, so that a storm of short processes is to be seen.
    fn append_exited(&mut self) {
        let Some(exited) = self.shown.interval.exited.as_ref().filter(|_| !self.shown.exited.is_empty())
        else {
            return;
        };
        self.text.push(b'\n');
        let title = match self.shown.tasks {
            _ if self.page.has_states => "Exited, by name",
            None => "Exited, by name (their time is in %CPU of their processes and parents above)",
            Some(_) => "Exited, by name (their time is in no line above)",
        };
        self.say_line(title);
        let names = dead_names(exited, self.shown.exited.iter().copied(), 0).into_iter();
        let names: Vec<Sum> = names.map(|DeadName { sum, .. }| sum).collect();
        self.append_dead_names(&names);
    }
}

/// Calls `each` with every shown row and what its cells are written with: the tasks, if they are wanted, or the processes.
fn for_each_row(shown: &Shown<'_>, page: &Page<'_>, mut each: impl FnMut(&Row, &CellContext<'_>)) {
    for row in shown.rows() {
        each(
            row,
            &CellContext { cmdline: page.around.details.cmdline(&row.task), ..context_of(shown, page) },
        );
    }
}

fn context_of<'a>(shown: &Shown<'_>, page: &'a Page<'_>) -> CellContext<'a> {
    CellContext {
        length_ns: shown.interval.length_ns(),
        interval_ns: shown.interval.length_ns(),
        users: &page.around.users,
        memory_total_bytes: page.around.machine.memory_total_bytes,
        has_arguments: page.has_arguments,
        cmdline: None,
        is_task: shown.tasks.is_some(),
        subtree_ns: None,
        named: page.named,
        has_units: false,
        is_exact: false,
    }
}

/// `3 days, 4:05`, `4:05` or `5 min`, as uptime(1).
pub fn append_uptime(cell: &mut Vec<u8>, seconds: u64) {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    if days > 0 {
        unsigned(cell, days);
        cell.extend_from_slice(if days == 1 { b" day, " } else { b" days, " });
    }
    if hours > 0 {
        unsigned(cell, hours);
        cell.push(b':');
        two_digits(cell, minutes);
    } else {
        unsigned(cell, minutes);
        cell.extend_from_slice(b" min");
    }
}

#[cfg(test)]
mod tests;
