//! The columns of an interval's rows: one table for the text of `--batch` and for the screen, so that both show the same
//! figures.

use crate::cell::{command_line, signed, unsigned};
use crate::key::Key;
use crate::layout;
use cpuledger::enrich::names::Names;
use cpuledger::field::{Field, Unit, Value};
use cpuledger::interval::Usage;
use cpuledger::task::Task;
use cpuledger::text::escape::append_escaped;
use cpuledger::text::manner::Manner;

/// What a line of the table is written from.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// With what its cumulative figures grew by: [`crate::Interval::row`].
    pub row: &'a Task,
    /// As it was at the end of the interval.
    pub whole: &'a Task,
    /// What it used.
    pub usage: &'a Usage,
    /// What 100 % of one CPU are.
    pub length_ns: u64,
    /// Names of users.
    pub users: &'a Names,
    /// Memory of the machine; `None`: not known.
    pub memory_total_bytes: Option<u64>,
    /// Arguments are shown in the place of names.
    pub has_arguments: bool,
    /// The arguments, separated by NUL, where they are known.
    pub cmdline: Option<&'a [u8]>,
    /// Whether it is a task, not a process.
    pub is_task: bool,
    /// CPU time of its subtree, where rows are shown as a tree.
    pub subtree_ns: Option<u64>,
    /// Figures are told to the nanosecond and to the byte, as in JSON.
    pub is_exact: bool,
}

impl Line<'_> {
    fn knows(&self, field: Field) -> bool {
        self.row.known.contains(field)
    }
}

/// Where a column is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the text of `--batch` too.
    Everywhere,
    /// On the screen, where it is asked for.
    Screen,
}

/// One column of the table.
#[derive(Debug)]
pub struct Column {
    /// Its header.
    pub name: &'static str,
    /// Its usual width; 0: what is left of the line.
    pub width: usize,
    /// Whether cells begin at the left.
    pub is_left: bool,
    /// The key of JSON that it shows; empty: it has none.
    pub key: &'static str,
    /// Where it is shown.
    pub place: Place,
    /// Where space is short, those of the highest rank go first.
    pub rank: u8,
    /// One sentence for help and documentation.
    pub help: &'static str,
    write: fn(&mut Vec<u8>, &Line<'_>),
}

impl Column {
    /// Appends the cell of a line.
    pub fn append(&self, cell: &mut Vec<u8>, line: &Line<'_>) {
        (self.write)(cell, line);
    }
}

macro_rules! columns {
    ($($name:literal $side:ident $width:literal $key:literal $place:ident $rank:literal $help:literal $write:expr;)*) => {
        /// Every column, those of `--batch` first.
        pub static COLUMNS: &[Column] = &[$(Column {
            name: $name,
            width: $width,
            is_left: columns!(@$side),
            key: $key,
            place: Place::$place,
            rank: $rank,
            help: $help,
            write: $write,
        },)*];
    };
    (@left) => { true };
    (@right) => { false };
}

columns! {
    "PID" right 7 "pid" Everywhere 0 "Id of the process, or of the task where tasks are shown." |cell, line| {
        signed(cell, if line.is_task { line.row.tid.0 } else { line.row.pid.0 });
    };
    "USER" left 8 "euid" Everywhere 4 "Effective user." append_user;
    "PR" right 3 "priority" Everywhere 11 "Priority; rt: real-time." |cell, line| match line.row.priority {
        _ if !line.knows(Field::Priority) => cell.push(b'-'),
        ..-99 => cell.extend_from_slice(b"rt"),
        priority => signed(cell, priority),
    };
    "NI" right 3 "nice" Everywhere 10 "Nice value." |cell, line| append_value(cell, Field::Nice.value(line.row));
    "VIRT" right 7 "vsize_bytes" Everywhere 9 "Virtual memory." |cell, line| append_size(cell, line, Field::Vsize, 7);
    "RES" right 6 "rss_bytes" Everywhere 5 "Resident memory." |cell, line| append_size(cell, line, Field::Rss, 6);
    "SHR" right 6 "shared_bytes" Everywhere 8 "Resident file and shared memory." |cell, line| {
        append_size(cell, line, Field::Shared, 6);
    };
    "S" left 1 "state" Everywhere 3 "State letter." |cell, line| append_value(cell, Field::State.value(line.row));
    "%CPU" right 5 "cpu_ns" Everywhere 1 "CPU time: SELF, X and C together." |cell, line| {
        append_share(cell, line, line.usage.known_cpu_ns());
    };
    "%MEM" right 5 "rss_bytes" Everywhere 7 "Resident memory as a share of the machine's." |cell, line| {
        match line.memory_total_bytes {
            _ if line.is_exact => append_value(cell, Field::Rss.value(line.row)),
            Some(total_bytes) if line.knows(Field::Rss) => {
                append_per_mille(cell, per_mille(line.row.rss_bytes, total_bytes));
            }
            _ => cell.push(b'-'),
        }
    };
    "TIME+" right 9 "" Everywhere 6 "CPU time since the start: minutes, seconds, hundredths." |cell, line| {
        append_time(cell, line.whole);
    };
    "COMMAND" left 0 "comm" Everywhere 0 "Name, or arguments." append_command;
    "TGID" right 7 "pid" Screen 3 "Id of the process." |cell, line| signed(cell, line.row.pid.0);
    "PPID" right 7 "ppid" Screen 7 "Pid of the parent." |cell, line| append_value(cell, Field::Ppid.value(line.row));
    "ACCT" right 7 "accounting_ppid" Screen 6 "Accounting parent: the process that inherits its time." |cell, line| {
        match line.usage.accounting_parent {
            Some(pid) => signed(cell, pid.0),
            None => cell.push(b'-'),
        }
    };
    "TH" right 4 "threads" Screen 9 "Threads of the process." |cell, line| append_value(cell, Field::Threads.value(line.row));
    "P" right 3 "processor" Screen 9 "CPU it ran on last." |cell, line| append_value(cell, Field::Processor.value(line.row));
    "SELF" right 5 "self_ns" Screen 2 "CPU time of its live tasks." |cell, line| {
        append_share(cell, line, line.usage.known_self_ns());
    };
    "X" right 5 "exited_threads_ns" Screen 2 "CPU time of its threads that exited in the interval." |cell, line| {
        append_share(cell, line, line.usage.exited_threads_ns);
    };
    "C" right 5 "exited_children_ns" Screen 2 "CPU time inherited from processes that exited." |cell, line| {
        append_share(cell, line, line.usage.exited_children_ns);
    };
    "PARTS" left 10 "" Screen 12 "Self, exited threads and exited children as one bar." |_, _| {};
    "SUM" right 6 "" Screen 2 "CPU time of its subtree, where rows are shown as a tree." |cell, line| {
        append_share(cell, line, line.subtree_ns);
    };
    "USR" right 5 "user_ns" Screen 6 "CPU time in user mode." |cell, line| {
        append_share(cell, line, number(Field::User.value(line.row)));
    };
    "SYS" right 5 "system_ns" Screen 6 "CPU time in the kernel." |cell, line| {
        append_share(cell, line, number(Field::System.value(line.row)));
    };
    "STOLN" right 5 "stolen_ns" Screen 6 "Time on a CPU without executing." |cell, line| {
        append_share(cell, line, line.usage.stolen_ns);
    };
    "WAIT" right 5 "runqueue_wait_ns" Screen 5 "Time spent waiting for a CPU." |cell, line| {
        append_share(cell, line, number(Field::RunqueueWait.value(line.row)));
    };
}

/// Those of `--batch`, in the order of output.
pub(super) fn of_batch() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| column.place == Place::Everywhere)
}

/// A column that was chosen: one of the table, or any key of JSON.
#[derive(Debug, Clone, Copy)]
pub enum Chosen {
    /// Of the table.
    Column(&'static Column),
    /// A key.
    Key(Key),
}

impl PartialEq for Chosen {
    fn eq(&self, other: &Chosen) -> bool {
        self.name() == other.name()
    }
}

impl Chosen {
    /// By the header, whatever its case, or by the key.
    pub fn by_name(name: &str) -> Option<Chosen> {
        let column = COLUMNS.iter().find(|column| column.name.eq_ignore_ascii_case(name));
        column.map(Chosen::Column).or_else(|| Key::by_name(name).map(Chosen::Key))
    }

    /// Its header.
    pub fn name(self) -> &'static str {
        match self {
            Chosen::Column(column) => column.name,
            Chosen::Key(key) => key.name(),
        }
    }

    /// The key it shows, if it has one.
    pub fn key(self) -> Option<Key> {
        match self {
            Chosen::Column(column) => Key::by_name(column.key),
            Chosen::Key(key) => Some(key),
        }
    }

    /// One sentence.
    pub fn help(self) -> &'static str {
        match self {
            Chosen::Column(column) => column.help,
            Chosen::Key(Key::Field(field)) => field.info().help,
            Chosen::Key(Key::Part(part)) => part.help,
        }
    }

    /// Its usual width; 0: what is left of the line.
    pub fn width(self, is_exact: bool) -> usize {
        let width = match self {
            Chosen::Column(column) => column.width,
            Chosen::Key(key) => key.name().len().max(7),
        };
        let grows =
            self.key().is_some_and(|key| key.name().ends_with("_ns") || key.name().ends_with("_bytes"));
        if is_exact && grows { width.max(EXACT_WIDTH) } else { width }
    }

    /// Whether cells begin at the left.
    pub fn is_left(self) -> bool {
        matches!(self, Chosen::Column(column) if column.is_left)
    }

    /// Where space is short, those of the highest rank go first.
    pub fn rank(self) -> u8 {
        match self {
            Chosen::Column(column) => column.rank,
            Chosen::Key(_) => 3,
        }
    }

    /// Appends the cell of a line.
    pub fn append(self, cell: &mut Vec<u8>, line: &Line<'_>) {
        match self {
            Chosen::Column(column) => column.append(cell, line),
            Chosen::Key(key) => append_key(cell, key, line),
        }
    }
}

/// The time of all CPUs in an hour is not longer.
const EXACT_WIDTH: usize = 13;

fn append_key(cell: &mut Vec<u8>, key: Key, line: &Line<'_>) {
    let value = key.value(line.row, line.usage);
    let unit = match key {
        Key::Field(field) => field.info().unit,
        Key::Part(part) if part.key.ends_with("_ns") => Unit::Nanoseconds,
        Key::Part(_) => Unit::None,
    };
    match (unit, value) {
        (Unit::Nanoseconds, Value::Unsigned(ns)) if !line.is_exact => {
            append_decimals(cell, ns / 1000, 3);
            cell.extend_from_slice(b"ms");
        }
        (Unit::Bytes, Value::Unsigned(bytes)) if !line.is_exact => append_bytes(cell, bytes, 6),
        _ => append_value(cell, value),
    }
}

/// The same digits as in JSON; `-` for what is not known.
pub fn append_value(cell: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Absent => cell.push(b'-'),
        Value::Unsigned(number) => unsigned(cell, number),
        Value::Signed(number) => unsigned(cell, number),
        Value::Letter(letter) => cell.push(letter),
        Value::Bytes(bytes) => append_escaped(cell, bytes),
    }
}

fn number(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Unsigned(number) => Some(number),
        _ => None,
    }
}

fn append_user(cell: &mut Vec<u8>, line: &Line<'_>) {
    if !line.knows(Field::Euid) {
        return cell.push(b'-');
    }
    let start = cell.len();
    match line.users.name(line.row.euid) {
        b"" => unsigned(cell, line.row.euid),
        name => append_escaped(cell, name),
    }
    if cell.len() > start + 8 {
        layout::cut(cell, 7);
        cell.push(b'+');
    }
}

fn append_command(cell: &mut Vec<u8>, line: &Line<'_>) {
    if line.has_arguments {
        command_line(cell, line.row, line.cmdline, Manner::Exact);
    } else {
        append_escaped(cell, line.row.comm.as_bytes());
    }
}

/// A time in percent of the interval, or in nanoseconds.
fn append_share(cell: &mut Vec<u8>, line: &Line<'_>, part_ns: Option<u64>) {
    match part_ns {
        None => cell.push(b'-'),
        Some(part_ns) if line.is_exact => unsigned(cell, part_ns),
        Some(part_ns) => append_per_mille(cell, per_mille(part_ns, line.length_ns)),
    }
}

/// Thousandths of a whole, rounded down.
pub fn per_mille(part: u64, whole: u64) -> u64 {
    (u128::from(part) * 1000 / u128::from(whole.max(1))) as u64
}

/// `12.3`, and without the decimal from 1000 on.
pub fn append_per_mille(cell: &mut Vec<u8>, per_mille: u64) {
    if per_mille >= 10_000 { unsigned(cell, per_mille / 10) } else { append_decimals(cell, per_mille, 1) }
}

/// A number that is given in units of its last decimal.
pub fn append_decimals(cell: &mut Vec<u8>, number: u64, decimals: u32) {
    let unit = 10u64.pow(decimals);
    unsigned(cell, number / unit);
    cell.push(b'.');
    let mut digit = unit / 10;
    while digit > 0 {
        cell.push(b'0' + (number / digit % 10) as u8);
        digit /= 10;
    }
}

fn append_size(cell: &mut Vec<u8>, line: &Line<'_>, field: Field, width: usize) {
    match field.value(line.row) {
        Value::Unsigned(bytes) if !line.is_exact => append_bytes(cell, bytes, width),
        value => append_value(cell, value),
    }
}

/// A size as top writes it: KiB where they fit, else the first larger unit that does, with one decimal.
pub fn append_bytes(cell: &mut Vec<u8>, bytes: u64, width: usize) {
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
pub(super) fn append_time(cell: &mut Vec<u8>, whole: &Task) {
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

pub(super) fn append_two_digits(cell: &mut Vec<u8>, number: u64) {
    cell.extend_from_slice(&[b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::PROCESS_KEYS;

    #[test]
    fn every_key_of_a_column_exists_and_names_differ() {
        for column in COLUMNS {
            assert!(column.key.is_empty() || Key::by_name(column.key).is_some(), "{}", column.key);
            let same = |other: &&Column| other.name.eq_ignore_ascii_case(column.name);
            assert_eq!(COLUMNS.iter().filter(same).count(), 1, "{}", column.name);
        }
        assert_eq!(of_batch().count(), 12);
        assert!(COLUMNS[..12].iter().all(|column| column.place == Place::Everywhere));
    }

    #[test]
    fn every_key_is_a_column() {
        for key in PROCESS_KEYS.iter() {
            let chosen = Chosen::by_name(key.name()).expect("every key is one");
            assert!(!chosen.help().is_empty() && chosen.width(false) > 0 && !chosen.is_left());
        }
        assert!(Chosen::by_name("pid").is_some_and(|chosen| matches!(chosen, Chosen::Column(_))));
        assert!(Chosen::by_name("nonsense").is_none());
    }
}
