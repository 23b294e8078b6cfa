//! An interval as text in top's habits: a head, a table, and the dead by name.

use crate::field::Field;
use crate::interval::{Exited, Interval, Usage};
use crate::machine::Load;
use crate::render::cell::{command_line, signed, unsigned};
use crate::render::escape::append_escaped;
use crate::render::key::Shown;
use crate::render::layout;
use crate::render::row::Surroundings;
use crate::source::SourceKind;
use crate::task::Task;

/// Names of exited tasks that are listed one by one; the rest share a line.
const EXITED_NAMES: usize = 40;

/// What the text shows besides the interval.
#[derive(Debug)]
pub struct Page<'a> {
    /// The local time of day, `12:00:01`.
    pub time_of_day: &'a str,
    /// Load averages and the number of tasks, where known.
    pub load: Option<&'a Load>,
    /// Users, arguments, memory of the machine and uptime.
    pub around: &'a Surroundings,
    /// Show arguments in the place of names.
    pub has_arguments: bool,
    /// Columns of the terminal.
    pub width: usize,
}

/// Writes intervals; its buffers are reused.
#[derive(Debug, Default)]
pub struct Writer {
    line: Vec<u8>,
    cell: Vec<u8>,
    by_name: Vec<usize>,
}

/// One column of the table.
struct Column {
    name: &'static str,
    width: usize,
    is_left: bool,
    write: fn(&mut Vec<u8>, &Line<'_>),
}

/// What a line of the table is written from.
struct Line<'a> {
    /// With what its cumulative figures grew by.
    row: &'a Task,
    /// As it was at the end of the interval.
    whole: &'a Task,
    usage: &'a Usage,
    length_ns: u64,
    page: &'a Page<'a>,
    is_task: bool,
}

impl Line<'_> {
    fn knows(&self, field: Field) -> bool {
        self.row.known.contains(field)
    }
}

const fn right(name: &'static str, width: usize, write: fn(&mut Vec<u8>, &Line<'_>)) -> Column {
    Column { name, width, is_left: false, write }
}

const fn left(name: &'static str, width: usize, write: fn(&mut Vec<u8>, &Line<'_>)) -> Column {
    Column { name, width, is_left: true, write }
}

static COLUMNS: [Column; 12] = [
    right("PID", 7, |cell, line| signed(cell, if line.is_task { line.row.tid.0 } else { line.row.pid.0 })),
    left("USER", 8, |cell, line| {
        if !line.knows(Field::Euid) {
            return cell.push(b'-');
        }
        let start = cell.len();
        match line.page.around.users.name(line.row.euid) {
            b"" => unsigned(cell, line.row.euid),
            name => append_escaped(cell, name),
        }
        if cell.len() > start + 8 {
            layout::cut(cell, 7);
            cell.push(b'+');
        }
    }),
    right("PR", 3, |cell, line| match line.row.priority {
        _ if !line.knows(Field::Priority) => cell.push(b'-'),
        ..-99 => cell.extend_from_slice(b"rt"),
        priority => signed(cell, priority),
    }),
    right("NI", 3, |cell, line| match line.row.nice {
        _ if !line.knows(Field::Nice) => cell.push(b'-'),
        nice => signed(cell, nice),
    }),
    right("VIRT", 7, |cell, line| append_size(cell, line, Field::Vsize, 7)),
    right("RES", 6, |cell, line| append_size(cell, line, Field::Rss, 6)),
    right("SHR", 6, |cell, line| append_size(cell, line, Field::Shared, 6)),
    left("S", 1, |cell, line| cell.push(if line.knows(Field::State) { line.row.state.0 } else { b'-' })),
    right("%CPU", 5, |cell, line| append_per_mille(cell, per_mille(line.usage.cpu_ns, line.length_ns))),
    right("%MEM", 5, |cell, line| match line.page.around.machine.memory_total_bytes {
        Some(total_bytes) if line.knows(Field::Rss) => {
            append_per_mille(cell, per_mille(line.row.rss_bytes, total_bytes));
        }
        _ => cell.push(b'-'),
    }),
    right("TIME+", 9, |cell, line| append_time(cell, line.whole)),
    left("COMMAND", 0, append_command),
];

impl Writer {
    /// Appends the interval.
    pub fn append_interval(&mut self, text: &mut Vec<u8>, shown: &Shown<'_>, page: &Page<'_>) {
        self.append_head(text, shown, page);
        text.push(b'\n');
        self.append_table(text, shown, page);
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
        append_uptime(&mut self.line, page.around.machine.uptime_ns / 1_000_000_000);
        if let Some([one, five, fifteen]) = page.load.map(|load| &load.averages) {
            for (words, load) in [(",  load average: ", one), (", ", five), (", ", fifteen)] {
                self.say(words);
                self.say(load);
            }
        }
        self.end_line(text, page);
        self.number(interval.online_cpus.into(), " CPUs, interval ");
        append_decimals(&mut self.line, interval.length_ns() / 1_000_000, 3);
        self.say(" s, source ");
        self.say(interval.source.name());
        self.say(": attributed ");
        self.append_percent(interval.attributed_ns, interval.length_ns());
        if let (Some(idle_ns), Some(unattributed_ns)) = (interval.idle_ns, interval.unattributed_ns) {
            self.say(" idle ");
            self.append_percent(idle_ns, interval.length_ns());
            self.say(" unattributed ");
            self.number(unattributed_ns, " ns");
        }
        self.say(" of ");
        self.number(u64::from(interval.online_cpus) * 100, "%");
        self.end_line(text, page);
        self.append_counts(text, shown, page);
        self.append_unseen(interval);
        self.end_line(text, page);
    }

    /// What this source cannot see, and what it has lost.
    fn append_unseen(&mut self, interval: &Interval) {
        if interval.source == SourceKind::Ledger {
            return self.append_lost(interval);
        }
        self.say(match (interval.source, &interval.exited) {
            (SourceKind::Walk, Some(_)) => {
                "Not seen: idle and stolen time, the parent at fork, time since the last tick of running tasks"
            }
            (SourceKind::Walk, None) => {
                "Not seen: tasks that died in the interval, idle and stolen time, time since the last tick of \
                 running tasks"
            }
            _ => "Not seen: processes that died in the interval, idle and stolen time; time in ticks",
        });
    }

    fn append_lost(&mut self, interval: &Interval) {
        let losses = [
            (
                interval.unattributed_ns.unwrap_or(0),
                " ns of tasks without a slot: more --slots tell them apart",
            ),
            (
                interval.unidentified_exits,
                " exits have no name, their time is with their processes and parents",
            ),
            (
                interval.missed_switches,
                " switches are not shown by this kernel, the time is with the task after",
            ),
        ];
        if losses.iter().all(|(count, _)| *count == 0) {
            return self.say("Balanced: every nanosecond is with the task that had the CPU");
        }
        let mut words = "Lost: ";
        for (count, what) in losses.into_iter().filter(|(count, _)| *count > 0) {
            self.say(words);
            self.number(count, what);
            words = "; ";
        }
    }

    /// `199.873%` of one CPU.
    fn append_percent(&mut self, part_ns: u64, length_ns: u64) {
        let thousandths = u128::from(part_ns) * 100_000 / u128::from(length_ns.max(1));
        append_decimals(&mut self.line, thousandths as u64, 3);
        self.line.push(b'%');
    }

    fn append_counts(&mut self, text: &mut Vec<u8>, shown: &Shown<'_>, page: &Page<'_>) {
        let (interval, snapshot) = (shown.interval, shown.snapshot);
        if interval.source == SourceKind::Ledger {
            return self.append_active(text, interval, page);
        }
        let active = interval.processes.iter().filter(|usage| usage.cpu_ns > 0).count();
        self.say("Processes: ");
        self.number(snapshot.processes.len() as u64, " total, ");
        self.number(active as u64, " active");
        self.end_line(text, page);
        let rows = if snapshot.tasks.is_empty() { &snapshot.processes } else { &snapshot.tasks };
        let count = |letters: &[u8]| rows.iter().filter(|row| letters.contains(&row.state.0)).count() as u64;
        let (running, stopped, zombie) = (count(b"R"), count(b"Tt"), count(b"ZX"));
        self.say(if snapshot.tasks.is_empty() { "Leaders: " } else { "Tasks: " });
        self.number(rows.len() as u64, " total, ");
        self.number(running, " running, ");
        self.number(rows.len() as u64 - running - stopped - zombie, " sleeping, ");
        self.number(stopped, " stopped, ");
        self.number(zombie, " zombie");
        self.append_exit_count(interval);
        self.end_line(text, page);
    }

    /// Of a source that looks only at what ran.
    fn append_active(&mut self, text: &mut Vec<u8>, interval: &Interval, page: &Page<'_>) {
        let active = |usages: &[Usage]| usages.iter().filter(|usage| usage.cpu_ns > 0).count() as u64;
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
            self.say(", ");
            self.number(exited.len() as u64 + interval.unidentified_exits, " exited");
            if interval.unidentified_exits > 0 {
                self.say(" (");
                self.number(interval.unidentified_exits, " without their names: their list was full)");
            }
        }
    }

    fn append_table(&mut self, text: &mut Vec<u8>, shown: &Shown<'_>, page: &Page<'_>) {
        for column in &COLUMNS {
            self.cell.extend_from_slice(column.name.as_bytes());
            self.append_cell(column);
        }
        self.end_line(text, page);
        let length_ns = shown.interval.length_ns();
        let (indexes, rows, usages) = match shown.tasks {
            Some(tasks) => (tasks, &shown.snapshot.tasks, &shown.interval.tasks),
            None => (shown.processes, &shown.snapshot.processes, &shown.interval.processes),
        };
        for &index in indexes {
            let (whole, usage) = (&rows[index], &usages[index]);
            let row = &shown.interval.row(usage, whole);
            let line = Line { row, whole, usage, length_ns, page, is_task: shown.tasks.is_some() };
            for column in &COLUMNS {
                (column.write)(&mut self.cell, &line);
                self.append_cell(column);
            }
            self.end_line(text, page);
        }
    }

    /// Moves the cell to the line, aligned; a cell wider than its column pushes the rest to the right.
    fn append_cell(&mut self, column: &Column) {
        let blanks = column.width.saturating_sub(layout::width(&self.cell));
        if !column.is_left {
            self.line.extend(std::iter::repeat_n(b' ', blanks));
        }
        self.line.append(&mut self.cell);
        if column.is_left {
            self.line.extend(std::iter::repeat_n(b' ', blanks));
        }
        self.line.push(b' ');
    }

    /// The dead by name, so that a storm of short processes is to be seen.
    fn append_exited(&mut self, text: &mut Vec<u8>, shown: &Shown<'_>, page: &Page<'_>) {
        let Some(exited) = shown.interval.exited.as_ref().filter(|_| !shown.exited.is_empty()) else {
            return;
        };
        let name = |index: usize| exited[index].exit.comm;
        self.by_name.clear();
        self.by_name.extend_from_slice(shown.exited);
        self.by_name.sort_unstable_by(|&one, &other| name(one).as_bytes().cmp(name(other).as_bytes()));
        let mut groups: Vec<(u64, &[usize])> = self
            .by_name
            .chunk_by(|&one, &other| name(one) == name(other))
            .map(|group| (group.iter().map(|&index| exited[index].cpu_ns).sum(), group))
            .collect();
        groups.sort_by_key(|&(cpu_ns, _)| std::cmp::Reverse(cpu_ns));
        let mut lines = Vec::new();
        for &(cpu_ns, group) in groups.iter().take(EXITED_NAMES) {
            lines.push((group.len(), cpu_ns, Some(group[0])));
        }
        if let Some(rest) = groups.get(EXITED_NAMES..).filter(|rest| !rest.is_empty()) {
            let tasks = rest.iter().map(|(_, group)| group.len()).sum();
            lines.push((tasks, rest.iter().map(|(cpu_ns, _)| cpu_ns).sum(), None));
        }
        text.push(b'\n');
        self.say(match shown.tasks {
            None => "Exited, by name (their time is in %CPU of their processes and parents above)",
            Some(_) => "Exited, by name (their time is in no line above)",
        });
        self.end_line(text, page);
        self.say(" EXITED  %CPU COMMAND");
        self.end_line(text, page);
        for (tasks, cpu_ns, first) in lines {
            self.append_exited_line(tasks, per_mille(cpu_ns, shown.interval.length_ns()), first, exited);
            self.end_line(text, page);
        }
    }

    fn append_exited_line(&mut self, tasks: usize, per_mille: u64, first: Option<usize>, exited: &[Exited]) {
        unsigned(&mut self.cell, tasks);
        self.append_cell(&right("", 7, |_, _| {}));
        append_per_mille(&mut self.cell, per_mille);
        self.append_cell(&right("", 5, |_, _| {}));
        match first {
            Some(index) => append_escaped(&mut self.line, exited[index].exit.comm.as_bytes()),
            None => self.say("(other names)"),
        }
    }
}

fn append_command(cell: &mut Vec<u8>, line: &Line<'_>) {
    if line.page.has_arguments {
        command_line(cell, line.row, line.page.around.details.cmdline(line.row));
    } else {
        append_escaped(cell, line.row.comm.as_bytes());
    }
}

fn per_mille(part: u64, whole: u64) -> u64 {
    (u128::from(part) * 1000 / u128::from(whole.max(1))) as u64
}

/// `12.3`, and without the decimal from 1000 on.
fn append_per_mille(cell: &mut Vec<u8>, per_mille: u64) {
    if per_mille >= 10_000 { unsigned(cell, per_mille / 10) } else { append_decimals(cell, per_mille, 1) }
}

/// A number that is given in units of its last decimal.
fn append_decimals(cell: &mut Vec<u8>, number: u64, decimals: u32) {
    let unit = 10u64.pow(decimals);
    unsigned(cell, number / unit);
    cell.push(b'.');
    let mut digit = unit / 10;
    while digit > 0 {
        cell.push(b'0' + (number / digit % 10) as u8);
        digit /= 10;
    }
}

/// A size as top writes it: KiB where they fit, else the first larger unit that does, with one decimal.
fn append_size(cell: &mut Vec<u8>, line: &Line<'_>, field: Field, width: usize) {
    let crate::Value::Unsigned(bytes) = field.value(line.row) else {
        cell.push(b'-');
        return;
    };
    let start = cell.len();
    unsigned(cell, bytes >> 10);
    for (unit, shift) in [(b'm', 20), (b'g', 30), (b't', 40), (b'p', 50)] {
        if cell.len() - start <= width {
            return;
        }
        cell.truncate(start);
        let tenths = ((u128::from(bytes) * 10) + (1 << (shift - 1))) >> shift;
        append_decimals(cell, tenths as u64, 1);
        cell.push(unit);
    }
}

/// Minutes, seconds and hundredths of its life; from 10,000 minutes on without hundredths.
fn append_time(cell: &mut Vec<u8>, whole: &Task) {
    let knows = |field| whole.known.contains(field);
    let time_ns = if knows(Field::Runtime) {
        whole.runtime_ns
    } else if knows(Field::User) && knows(Field::System) {
        whole.user_ns + whole.system_ns
    } else {
        return cell.push(b'-');
    };
    let hundredths = time_ns / 10_000_000;
    let minutes = hundredths / 6000;
    unsigned(cell, minutes);
    cell.push(b':');
    append_two_digits(cell, hundredths / 100 % 60);
    if minutes < 10_000 {
        cell.push(b'.');
        append_two_digits(cell, hundredths % 100);
    }
}

fn append_two_digits(cell: &mut Vec<u8>, number: u64) {
    cell.extend_from_slice(&[b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8]);
}

/// `3 days, 4:05`, `4:05` or `5 min`, as uptime(1).
fn append_uptime(cell: &mut Vec<u8>, seconds: u64) {
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
