//! How the text of `top` and the screen write the columns of the registry, so that both show the same figures.

use std::sync::LazyLock;

pub use crate::cell::value as append_value;
use crate::cell::{command_line, signed, two_digits, unsigned};
use crate::column::{BATCH_PLACES, Column, InTable, TableCell, in_table};
use crate::figure::alive_ns;
use crate::key::Key;
use crate::layout;
use crate::shares::{StateCell, StateColumn};
use cpuledger_model::field::{Field, FieldSet, Unit, Value};
use cpuledger_model::interval::Row;
use cpuledger_model::task::Task;
use cpuledger_names::manner::Manner;
use cpuledger_names::named::{Grouped, NameKey, Named};
use cpuledger_names::names::Names;
use cpuledger_proc::escape::append_escaped;

/// What the cells of a row are written with.
#[derive(Debug, Clone, Copy)]
pub struct CellContext<'a> {
    /// What 100 % of one CPU are; of the machine, where shares are of that.
    pub length_ns: u64,
    /// The length of the interval.
    pub interval_ns: u64,
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
    /// What cgroups are called, where that was looked up.
    pub named: Option<&'a Named>,
    /// Sizes have a unit, KiB too.
    pub has_units: bool,
    /// Figures are told to the nanosecond and to the byte, as in JSON.
    pub is_exact: bool,
}

/// A column of the table.
#[derive(Debug, Clone, Copy)]
pub enum TableColumn {
    /// One of the registry, and the key that it shows, if it has one.
    Declared(&'static InTable, Option<Key>),
    /// Any key of JSON, as it is.
    Key(Key),
    /// One of states.
    State(&'static StateColumn),
}

/// Columns, and their widths.
pub(super) type Columns = Vec<(TableColumn, usize)>;

/// Those of the registry, from left to right: those of `--batch` first.
pub static TABLE: LazyLock<Vec<TableColumn>> = LazyLock::new(|| {
    let column = |(column, declared): (&'static Column, _)| TableColumn::Declared(declared, column.key());
    in_table().into_iter().map(column).collect()
});

/// Those of `--batch`.
pub fn of_batch() -> &'static [TableColumn] {
    &TABLE[..usize::from(BATCH_PLACES)]
}

/// Those of `--by parts`: which process, user, system and stolen time of each part of its CPU time, and all of that.
pub fn of_parts() -> &'static [TableColumn] {
    static COLUMNS: LazyLock<Vec<TableColumn>> = LazyLock::new(|| {
        let names = [
            "PID", "USER", "S.USR", "S.SYS", "S.STL", "C.USR", "C.SYS", "C.STL", "X.USR", "X.SYS", "X.STL",
            "%CPU", "COMMAND",
        ];
        names.into_iter().filter_map(TableColumn::by_name).collect()
    });
    &COLUMNS
}

impl PartialEq for TableColumn {
    fn eq(&self, other: &TableColumn) -> bool {
        self.name() == other.name()
    }
}

impl TableColumn {
    /// By the header, whatever its case, or by the key.
    pub fn by_name(name: &str) -> Option<TableColumn> {
        let headed = TABLE.iter().find(|column| column.name().eq_ignore_ascii_case(name));
        headed.copied().or_else(|| Key::by_name(name).map(TableColumn::Key))
    }

    /// Its header.
    pub fn name(self) -> &'static str {
        match self {
            TableColumn::Declared(declared, _) => declared.header,
            TableColumn::Key(key) => key.name(),
            TableColumn::State(column) => column.name,
        }
    }

    /// The key it shows, if it has one.
    pub fn key(self) -> Option<Key> {
        match self {
            TableColumn::Declared(_, key) => key,
            TableColumn::Key(key) => Some(key),
            TableColumn::State(_) => None,
        }
    }

    fn declared(self) -> Option<&'static InTable> {
        if let TableColumn::Declared(declared, _) = self { Some(declared) } else { None }
    }

    /// What stands in it.
    pub fn cell(self) -> TableCell {
        self.declared().map_or(TableCell::Value, |declared| declared.cell)
    }

    /// What a source has to tell for it.
    pub fn fields(self) -> FieldSet {
        match self.key() {
            Some(Key::Field(field)) => self.cell().fields().union(FieldSet::of(&[field])),
            _ => self.cell().fields(),
        }
    }

    /// One sentence.
    pub fn help(self) -> &'static str {
        match self {
            TableColumn::Declared(declared, _) => declared.help,
            TableColumn::Key(key) => key.help(),
            TableColumn::State(column) => column.help,
        }
    }

    /// Its usual width; 0: what is left of the line.
    pub fn width(self, is_exact: bool) -> usize {
        let (width, grows) = match self {
            TableColumn::Declared(declared, _) => (declared.width, declared.cell == TableCell::Subtree),
            TableColumn::Key(key) => (key.name().len().max(7), false),
            TableColumn::State(column) => (column.width, column.cell != StateCell::Bar),
        };
        let is_amount = |key: Key| matches!(key.unit(), Unit::Nanoseconds | Unit::Bytes);
        let grows = grows || self.key().is_some_and(is_amount);
        if is_exact && grows { width.max(EXACT_WIDTH) } else { width }
    }

    /// Whether cells begin at the left.
    pub fn is_left(self) -> bool {
        match self {
            TableColumn::Declared(declared, _) => declared.is_left,
            TableColumn::Key(_) => false,
            TableColumn::State(column) => column.cell == StateCell::Bar,
        }
    }

    /// Whether it makes sense for rows that were put together.
    pub fn is_of_sums(self) -> bool {
        self.declared().is_some_and(|declared| declared.is_of_sums)
    }

    /// Where space is short, those of the highest rank go first.
    pub fn rank(self) -> u8 {
        self.declared().map_or(3, |declared| declared.rank)
    }

    /// Appends the cell of a row; those of states are in [`crate::shares::cells`].
    pub fn append(self, cell: &mut Vec<u8>, row: &Row, context: &CellContext<'_>) {
        let Some(declared) = self.declared() else { return append_figure(cell, self.key(), row, context) };
        let task = &row.task;
        match declared.cell {
            TableCell::Id if context.is_task => signed(cell, task.tid.0),
            TableCell::Id | TableCell::Pid => signed(cell, task.pid.0),
            TableCell::Value => append_value(cell, self.value(row)),
            TableCell::Size | TableCell::Rate => match self.value(row) {
                Value::Unsigned(bytes) if !context.is_exact => {
                    let is_size = declared.cell == TableCell::Size;
                    let bytes = if is_size { bytes } else { per_second(bytes, context.interval_ns) };
                    match context.has_units {
                        true => append_size(cell, bytes),
                        false => append_bytes(cell, bytes, declared.width),
                    }
                }
                value => append_value(cell, value),
            },
            TableCell::Share => append_share(cell, context, number(self.value(row)), context.length_ns),
            TableCell::ElapsedShare => {
                let alive_ns = alive_ns(&row.usage, context.length_ns);
                append_share(cell, context, number(self.value(row)), alive_ns);
            }
            TableCell::MemoryShare => append_memory_share(cell, context, self.value(row)),
            TableCell::User => append_user(cell, task, context),
            TableCell::Priority => match task.priority {
                _ if !task.known.contains(Field::Priority) => cell.push(b'-'),
                ..-99 => cell.extend_from_slice(b"rt"),
                priority => signed(cell, priority),
            },
            TableCell::Time => match task.lifetime_cpu_ns() {
                None => cell.push(b'-'),
                Some(time_ns) => append_time(cell, time_ns),
            },
            TableCell::Command => append_command(cell, task, context),
            TableCell::Parts | TableCell::History => {} // a picture is drawn, not written
            TableCell::Subtree => append_share(cell, context, context.subtree_ns, context.length_ns),
            TableCell::Name(name) => append_named(cell, task, context, name),
        }
    }

    fn value(self, row: &Row) -> Value<'_> {
        self.key().map_or(Value::Absent, |key| key.value(row))
    }
}

/// What the cgroup is called; a container without a name by its id.
fn append_named(cell: &mut Vec<u8>, task: &Task, context: &CellContext<'_>, name: NameKey) {
    match context.named.map(|named| named.group(task, name)) {
        Some(Grouped::Name(name)) => append_escaped(cell, &name),
        Some(Grouped::None | Grouped::Unknown) | None => cell.push(b'-'),
    }
}

/// The time of all CPUs in an hour is not longer.
const EXACT_WIDTH: usize = 13;

/// With the unit that suits it.
fn append_figure(cell: &mut Vec<u8>, key: Option<Key>, row: &Row, context: &CellContext<'_>) {
    let Some(key) = key else { return };
    match (key.unit(), key.value(row)) {
        (Unit::Nanoseconds, Value::Unsigned(ns)) if !context.is_exact => {
            append_decimals(cell, ns / 1000, 3);
            cell.extend_from_slice(b"ms");
        }
        (Unit::Bytes, Value::Unsigned(bytes)) if !context.is_exact => append_bytes(cell, bytes, 6),
        (_, value) => append_value(cell, value),
    }
}

fn number(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Unsigned(number) => Some(number),
        _ => None,
    }
}

fn append_user(cell: &mut Vec<u8>, task: &Task, context: &CellContext<'_>) {
    if !task.known.contains(Field::Euid) {
        return cell.push(b'-');
    }
    let start = cell.len();
    match context.users.name(task.euid) {
        b"" => unsigned(cell, task.euid),
        name => append_escaped(cell, name),
    }
    if cell.len() > start + 8 {
        layout::cut(cell, 7);
        cell.push(b'+');
    }
}

fn append_command(cell: &mut Vec<u8>, task: &Task, context: &CellContext<'_>) {
    if context.has_arguments {
        command_line(cell, task, context.cmdline, Manner::Exact);
    } else {
        append_escaped(cell, task.comm.as_bytes());
    }
}

/// What is appended, as a text of its own.
pub fn text_of(append: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut text = Vec::new();
    append(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// A number that is given in units of its last decimal: [`append_decimals`].
pub fn decimals(number: u64, decimals: u32) -> String {
    text_of(|text| append_decimals(text, number, decimals))
}

/// Thousandths in percent: [`append_per_mille`].
pub fn percent(per_mille: u64) -> String {
    text_of(|text| append_per_mille(text, per_mille))
}

/// A time in percent of another, or in nanoseconds.
fn append_share(cell: &mut Vec<u8>, context: &CellContext<'_>, part_ns: Option<u64>, whole_ns: u64) {
    match part_ns {
        None => cell.push(b'-'),
        Some(part_ns) if context.is_exact => unsigned(cell, part_ns),
        Some(part_ns) => append_per_mille(cell, per_mille(part_ns, whole_ns)),
    }
}

/// What that is in a second, rounded down.
pub fn per_second(number: u64, length_ns: u64) -> u64 {
    let in_second = u128::from(number) * 1_000_000_000 / u128::from(length_ns.max(1));
    u64::try_from(in_second).unwrap_or(u64::MAX)
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

/// A size in percent of the machine's memory, or in bytes.
fn append_memory_share(cell: &mut Vec<u8>, context: &CellContext<'_>, size: Value<'_>) {
    match (size, context.memory_total_bytes) {
        _ if context.is_exact => append_value(cell, size),
        (Value::Unsigned(bytes), Some(total_bytes)) => append_per_mille(cell, per_mille(bytes, total_bytes)),
        _ => cell.push(b'-'),
    }
}

/// A size as top writes it: KiB where they fit, else the first larger unit that does, with one decimal.
pub fn append_bytes(cell: &mut Vec<u8>, bytes: u64, width: usize) {
    append_bytes_from(cell, bytes, width, 0);
}

/// The same from a larger unit on: a power of 1024 KiB.
pub fn append_bytes_from(cell: &mut Vec<u8>, bytes: u64, width: usize, least_unit: usize) {
    let start = cell.len();
    for (power, &unit) in b"kmgtp".iter().enumerate().skip(least_unit) {
        cell.truncate(start);
        if power == 0 {
            unsigned(cell, bytes >> 10);
        } else {
            let shift = 10 * (power + 1);
            let tenths = ((u128::from(bytes) * 10) + (1 << (shift - 1))) >> shift;
            append_decimals(cell, tenths as u64, 1);
            cell.push(unit);
        }
        if cell.len() - start <= width {
            return;
        }
    }
}

/// A size with its unit: `512B`, `1.2K`, `34.5M`.
pub fn append_size(cell: &mut Vec<u8>, bytes: u64) {
    let mut power = 0;
    while power < 5 && bytes >> (10 * power) >= 1024 {
        power += 1;
    }
    match power {
        0 => unsigned(cell, bytes),
        _ => append_decimals(cell, ((u128::from(bytes) * 10) >> (10 * power)) as u64, 1),
    }
    cell.push(b"BKMGTP"[power]);
}

/// A time with the unit that suits it: `950 ns`, `1.2 ms`, `3.4 s`.
pub fn append_duration(cell: &mut Vec<u8>, ns: u64) {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, " s"), (1_000_000, " ms"), (1_000, " µs")];
    match UNITS.iter().find(|(unit, _)| ns >= *unit) {
        None => {
            unsigned(cell, ns);
            cell.extend_from_slice(b" ns");
        }
        Some((unit, name)) => {
            append_decimals(cell, ns / (unit / 10), 1);
            cell.extend_from_slice(name.as_bytes());
        }
    }
}

/// Minutes, seconds and hundredths; from 1,000 minutes on without hundredths, for which there is no room.
pub fn append_time(cell: &mut Vec<u8>, time_ns: u64) {
    let hundredths = time_ns / 10_000_000;
    let minutes = hundredths / 6000;
    unsigned(cell, minutes);
    cell.push(b':');
    two_digits(cell, hundredths / 100 % 60);
    if minutes < 1_000 {
        cell.push(b'.');
        two_digits(cell, hundredths % 100);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::PROCESS_KEYS;

    #[test]
    fn headers_differ_and_places_follow_each_other() {
        for (index, column) in TABLE.iter().enumerate() {
            let same = |other: &&TableColumn| other.name().eq_ignore_ascii_case(column.name());
            assert_eq!(TABLE.iter().filter(same).count(), 1, "{}", column.name());
            assert_eq!(
                column.declared().map(|declared| usize::from(declared.place)),
                Some(index),
                "{}",
                column.name()
            );
        }
    }

    #[test]
    fn what_is_told_by_second_is_so_in_any_interval() {
        assert_eq!(per_second(3_000, 3_000_000_000), 1_000);
        assert_eq!(per_second(1, 100_000_000), 10);
        assert_eq!((per_second(7, 0), per_second(u64::MAX, 1)), (7_000_000_000, u64::MAX));
    }

    #[test]
    fn sizes_and_times_have_the_unit_that_fits() {
        let written = |append: fn(&mut Vec<u8>, u64), number| {
            let mut cell = Vec::new();
            append(&mut cell, number);
            String::from_utf8(cell).expect("UTF-8")
        };
        let sizes = [0, 1023, 1024, 1_258_291, u64::MAX].map(|bytes| written(append_size, bytes));
        assert_eq!(sizes, ["0B", "1023B", "1.0K", "1.1M", "16383.9P"]);
        let times = [0, 999, 1_000, 1_299_999, 61_000_000_000].map(|ns| written(append_duration, ns));
        assert_eq!(times, ["0 ns", "999 ns", "1.0 µs", "1.2 ms", "61.0 s"]);
    }

    #[test]
    fn every_key_is_a_column() {
        for key in PROCESS_KEYS.iter() {
            let column = TableColumn::by_name(key.name()).expect("every key is one");
            assert!(!column.help().is_empty() && column.width(false) > 0 && !column.is_left());
        }
        assert!(TableColumn::by_name("pid").is_some_and(|column| column.name() == "PID"));
        assert!(TableColumn::by_name("nonsense").is_none());
    }
}
