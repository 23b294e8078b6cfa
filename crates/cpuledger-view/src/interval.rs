//! An interval as text in top's habits: a head, a table, and the dead by name.

pub mod balance;
pub mod by;
pub mod column;
pub(crate) mod devices;
mod pairs;
mod parts;
mod wire;

use crate::cell::unsigned;
use crate::column::TableCell;
use crate::group::{DeadName, Name, Sum, dead_names};
use crate::key::Shown;
use crate::layout;
use cpuledger_model::interval::{Interval, Row, TaskCounts};
use cpuledger_model::{Dimension, SourceKind};
use cpuledger_names::named::Named;
use cpuledger_names::row::Surroundings;
use cpuledger_proc::machine::loadavg::Load;

use balance::{Shares, append_capacity, append_percent};
use column::{CellContext, TableColumn, append_decimals, append_two_digits, of_batch, of_parts};

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

/// Writes intervals; its buffers are reused.
#[derive(Debug, Default)]
pub struct Writer {
    line: Vec<u8>,
    cell: Vec<u8>,
}

impl Writer {
    /// Appends the interval.
    pub fn append_interval(&mut self, text: &mut Vec<u8>, shown: &Shown<'_>, page: &Page<'_>) {
        self.append_head(text, shown, page);
        text.push(b'\n');
        if let Some(by) = page.pairs {
            return self.append_pairs(text, by, shown, page);
        }
        if let Some(by) = page.wire {
            return self.append_wire(text, by, shown, page);
        }
        if page.has_devices {
            return self.append_devices(text, shown, page);
        }
        match page.groups {
            Some(groups) => self.append_groups(text, groups, shown, page),
            None if page.has_states => self.append_states(text, shown, page),
            None if page.has_parts => self.append_parts(text, shown, page),
            None => self.append_table(text, shown, page),
        }
        if page.has_states {
            self.append_blocked(text, shown, page);
        }
        self.append_exited(text, shown, page);
    }

    /// Ends the line, no longer than the page is wide.
    fn end_line(&mut self, text: &mut Vec<u8>, page: &Page<'_>) {
        while self.line.last() == Some(&b' ') {
            self.line.pop();
        }
        layout::cut(&mut self.line, page.width);
        text.extend_from_slice(&self.line);
        text.push(b'\n');
        self.line.clear();
    }

    /// Ends a sentence, in as many lines as it takes.
    fn end_lines(&mut self, text: &mut Vec<u8>, page: &Page<'_>) {
        let sentence = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        for line in layout::wrap(&sentence, page.width) {
            self.say(&line);
            self.end_line(text, page);
        }
    }

    fn say(&mut self, words: &str) {
        self.line.extend_from_slice(words.as_bytes());
    }

    fn number(&mut self, number: u64, words: &str) {
        unsigned(&mut self.line, number);
        self.say(words);
    }

    fn append_head(&mut self, text: &mut Vec<u8>, shown: &Shown<'_>, page: &Page<'_>) {
        let interval = shown.interval;
        self.say("cpuledger top - ");
        self.say(page.time_of_day);
        self.say(" up ");
        append_uptime(&mut self.line, page.around.machine.uptime.ticks(1_000_000_000));
        if let Some([one, five, fifteen]) = page.load.map(|load| &load.averages) {
            for (words, load) in [(",  load average: ", one), (", ", five), (", ", fifteen)] {
                self.say(words);
                self.say(load);
            }
        }
        self.end_line(text, page);
        self.say_balance(interval);
        self.end_lines(text, page);
        self.append_counts(text, shown, page);
        self.append_unseen(interval);
        self.end_lines(text, page);
    }

    /// Appends what was attributed, and what was not, of the time of all CPUs; without the end of the line.
    pub fn append_balance(&mut self, text: &mut Vec<u8>, interval: &Interval) {
        self.say_balance(interval);
        text.append(&mut self.line);
    }

    /// Appends what the source cannot see, and what it has lost; without the end of the line. Returns how much that is.
    pub fn append_losses(&mut self, text: &mut Vec<u8>, interval: &Interval) -> usize {
        let count = self.append_unseen(interval);
        text.append(&mut self.line);
        count
    }

    fn say_balance(&mut self, interval: &Interval) {
        let since = if interval.is_since_boot() { " CPUs, since boot: " } else { " CPUs, interval " };
        self.number(interval.online_cpus.into(), since);
        append_decimals(&mut self.line, interval.length_ns() / 1_000_000, 3);
        self.say(" s, source ");
        self.say(interval.source_name());
        self.say(": attributed ");
        let shares = Shares::of(interval);
        append_percent(&mut self.line, shares.attributed);
        if let Some([idle, unattributed]) = shares.rest {
            self.say(" idle ");
            append_percent(&mut self.line, idle);
            if interval.unattributed_ns != Some(0) {
                self.say(" unattributed ");
                append_percent(&mut self.line, unattributed);
            }
        }
        self.say(" of ");
        append_capacity(&mut self.line, interval);
        if let (Some(_), Some(unattributed_ns)) = (shares.rest, interval.unattributed_ns) {
            self.say("; unattributed ");
            self.number(unattributed_ns, " ns");
            self.say_reasons(interval);
        }
    }

    /// ` (uncovered CPU 1200)`: why some time is unattributed.
    fn say_reasons(&mut self, interval: &Interval) {
        let mut before = " (";
        for (_, words, ns) in interval.unattributed_by.reasons().into_iter().filter(|(_, _, ns)| *ns > 0) {
            self.say(before);
            self.say(words);
            self.say(" ");
            self.number(ns, "");
            before = ", ";
        }
        if before == ", " {
            self.say(")");
        }
    }

    /// What this source cannot see, and what it has lost. Returns how much was not seen, or is wrong.
    fn append_unseen(&mut self, interval: &Interval) -> usize {
        let fault = interval.fault();
        if let Some(fault) = &fault {
            self.say("Out of balance, which is an error of cpuledger: ");
            self.say(&fault.to_string());
            self.say(". ");
        }
        let unseen = match (interval.source, &interval.exited) {
            (SourceKind::Service | SourceKind::Ledger, _) => {
                return self.append_lost(interval) + usize::from(fault.is_some());
            }
            (SourceKind::Walk, Some(_)) => {
                "Not seen: idle, stolen, blocked and sleeping time, the parent at fork of processes older than its hooks, \
                 what running tasks used since the last tick"
            }
            (SourceKind::Walk, None) => {
                "Not seen: tasks that exited in the interval, idle, stolen, blocked and sleeping time, what running tasks \
                 used since the last tick"
            }
            (SourceKind::Netlink, _) if interval.is_of_accounts() => {
                "Not seen: idle, blocked and sleeping time"
            }
            (SourceKind::Netlink, Some(_)) => {
                "Not seen: idle, stolen, blocked and sleeping time, the parent at fork, the last tick of threads that \
                 exited"
            }
            (SourceKind::Netlink, None) => {
                "Not seen: tasks that exited in the interval, idle, stolen, blocked and sleeping time"
            }
            (SourceKind::Procfs, _) => {
                "Not seen (root sees them; `cpuledger doctor` says why): processes that exited in the interval, idle, stolen, \
                 blocked and sleeping time; time is in ticks"
            }
        };
        self.say(unseen);
        if interval.missed_exits > 0 {
            self.say("; lost: ");
            self.number(interval.missed_exits, " reports of exits");
        }
        1 + usize::from(interval.missed_exits > 0) + usize::from(fault.is_some())
    }

    /// Returns how much was lost.
    fn append_lost(&mut self, interval: &Interval) -> usize {
        let by = &interval.unattributed_by;
        let plural = |count: u64, one, many| if count == 1 { one } else { many };
        let without_books = match interval.source {
            _ if interval.is_replayed => " ns of which nothing is recorded, or not any more",
            SourceKind::Service => " ns of which there are no books from the service",
            _ => " ns without a ledger, because the previous one failed",
        };
        let unidentified = interval.unidentified_exits.unwrap_or(0);
        let missed_switches = interval.missed_switches.unwrap_or(0);
        let losses = [
            (by.no_slot_ns + by.forgotten_task_ns, " ns of tasks without a slot (a larger --slots helps)"),
            (
                by.uncovered_cpu_ns,
                " ns on CPUs where no context switch was seen yet (usual in the first interval)",
            ),
            (by.not_attached_ns, without_books),
            (
                unidentified,
                plural(
                    unidentified,
                    " exited task has no name; its time is with its process or parent",
                    " exited tasks have no name; their time is with their processes and parents",
                ),
            ),
            (
                missed_switches,
                plural(
                    missed_switches,
                    " context switch that this kernel hides from BPF, so its time is with the task that ran next",
                    " context switches that this kernel hides from BPF, so their time is with the task that ran next",
                ),
            ),
            (
                interval.hidden_cpu_ns.unwrap_or(0),
                " ns of CPU time of processes that the kernel hides, which is in the rows of others or idle",
            ),
        ];
        if losses.iter().all(|(count, _)| *count == 0) {
            self.say("Balanced: every nanosecond is attributed to the task that had the CPU");
            return 0;
        }
        let mut words = "Not exact: ";
        for (count, what) in losses.iter().filter(|(count, _)| *count > 0) {
            self.say(words);
            self.number(*count, what);
            words = "; ";
        }
        losses.iter().filter(|(count, _)| *count > 0).count()
    }

    fn append_counts(&mut self, text: &mut Vec<u8>, shown: &Shown<'_>, page: &Page<'_>) {
        let interval = shown.interval;
        if interval.source.is_of_ledger() || interval.is_of_accounts() {
            return self.append_active(text, interval, page);
        }
        self.say("Processes: ");
        self.number(interval.processes.len() as u64, " total, ");
        self.number(active(&interval.processes), " active");
        self.end_line(text, page);
        let counts = |rows: &[Row]| TaskCounts::of(rows.iter().map(|row| &row.task));
        let by_task = Some(&interval.tasks).filter(|tasks| !tasks.is_empty()).map(|tasks| counts(tasks));
        let tasks = by_task.or(interval.listed_tasks);
        self.say(if tasks.is_some() { "Tasks: " } else { "Main threads: " });
        let TaskCounts { total, running, stopped, dead, .. } =
            tasks.unwrap_or_else(|| counts(&interval.processes));
        self.number(total, " total, ");
        let tells_states = match interval.source {
            SourceKind::Netlink => false, // taskstats tell the dead from the living, and nothing else
            SourceKind::Service | SourceKind::Ledger | SourceKind::Walk | SourceKind::Procfs => true,
        };
        if tells_states {
            self.number(running, " running, ");
            self.number(total - running - stopped - dead, " sleeping, ");
            self.number(stopped, " stopped, ");
        }
        self.number(dead, " zombie");
        self.append_exit_count(interval);
        self.end_line(text, page);
    }

    /// Of a source that looks only at what ran.
    fn append_active(&mut self, text: &mut Vec<u8>, interval: &Interval, page: &Page<'_>) {
        self.say("Processes: ");
        self.number(active(&interval.processes), " active");
        self.end_line(text, page);
        self.say("Tasks: ");
        if let Some(tasks) = page.load.and_then(|load| load.tasks) {
            self.number(tasks.into(), " total, ");
        }
        self.number(active(&interval.tasks), " active");
        self.append_exit_count(interval);
        self.end_line(text, page);
    }

    fn append_exit_count(&mut self, interval: &Interval) {
        if let Some(exited) = &interval.exited {
            let unidentified = interval.unidentified_exits.unwrap_or(0);
            self.say(", ");
            self.number(exited.len() as u64 + unidentified, " exited");
            if unidentified > 0 {
                self.say(" (");
                self.number(unidentified, " without names, because the list was full)");
            }
        }
    }

    fn append_table(&mut self, text: &mut Vec<u8>, shown: &Shown<'_>, page: &Page<'_>) {
        /// Of a command with a column behind it.
        const COMMAND_WIDTH: usize = 15;
        let columns = if page.columns.is_empty() { of_batch() } else { page.columns };
        let width = |place: usize| match columns[place].width(false) {
            0 if place + 1 < columns.len() => COMMAND_WIDTH,
            width => width,
        };
        for (place, column) in columns.iter().enumerate() {
            self.cell.extend_from_slice(column.name().as_bytes());
            self.append_cell(width(place), column.is_left());
        }
        self.end_line(text, page);
        for_each_row(shown, page, |row, context| {
            for (place, column) in columns.iter().enumerate() {
                column.append(&mut self.cell, row, context);
                self.append_cell(width(place), column.is_left());
            }
            self.end_line(text, page);
        });
    }

    /// The table of `--by parts`, and the sum of all processes, shown or not.
    fn append_parts(&mut self, text: &mut Vec<u8>, shown: &Shown<'_>, page: &Page<'_>) {
        let is_share = |column: &TableColumn| column.cell() == TableCell::Share;
        let width = |column: &TableColumn| if is_share(column) { parts::WIDTH } else { column.width(false) };
        for column in of_parts() {
            self.cell.extend_from_slice(column.name().as_bytes());
            self.append_cell(width(column), column.is_left());
        }
        self.end_line(text, page);
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
            self.end_line(text, page);
        };
        for_each_row(shown, page, |row, context| append(row, context, false));
        let mut all = Sum::new(Name::All);
        shown.interval.processes.iter().for_each(|row| all.add(row));
        append(&all.total, &context_of(shown, page), true);
    }

    /// Moves the cell to the line, aligned; a cell wider than its column pushes the rest to the right.
    fn append_cell(&mut self, width: usize, is_left: bool) {
        let blanks = width.saturating_sub(layout::width(&self.cell));
        if !is_left {
            self.line.extend(std::iter::repeat_n(b' ', blanks));
        }
        self.line.append(&mut self.cell);
        if is_left {
            self.line.extend(std::iter::repeat_n(b' ', blanks));
        }
        self.line.push(b' ');
    }

    /// The dead by name, so that a storm of short processes is to be seen.
    fn append_exited(&mut self, text: &mut Vec<u8>, shown: &Shown<'_>, page: &Page<'_>) {
        let Some(exited) = shown.interval.exited.as_ref().filter(|_| !shown.exited.is_empty()) else {
            return;
        };
        text.push(b'\n');
        self.say(match shown.tasks {
            _ if page.has_states => "Exited, by name",
            None => "Exited, by name (their time is in %CPU of their processes and parents above)",
            Some(_) => "Exited, by name (their time is in no line above)",
        });
        self.end_line(text, page);
        let names: Vec<Sum> = dead_names(exited, shown.exited.iter().copied(), 0)
            .into_iter()
            .map(|DeadName { sum, .. }| sum)
            .collect();
        self.append_dead_names(text, &names, shown, page);
    }
}

/// How many of them ran.
fn active(rows: &[Row]) -> u64 {
    rows.iter().filter(|row| row.usage.cpu_ns > 0).count() as u64
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
        append_two_digits(cell, minutes);
    } else {
        unsigned(cell, minutes);
        cell.extend_from_slice(b" min");
    }
}

#[cfg(test)]
mod tests;
