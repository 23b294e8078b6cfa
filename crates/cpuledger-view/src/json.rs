//! An interval as one line of JSON: schema `cpuledger.interval/1`.

use crate::devices::{self, DEVICE, DeviceRow, OF_DISK, Of};
use crate::group::{GROUP_KEYS, Name, Sum, exited_row};
use crate::key::{Beside, Key, PROCESS_KEYS, Shown, TASK_KEYS};
use crate::member::{
    BLOCKED, DISK_TIMES, EXITED, FOR_IO, LOSSES, MISSED_EXITS, Member, TOTALS, WAIT_CAUSES, WAIT_PAIRS, WIRE,
    known, known_bytes, known_name,
};
use crate::pairs::{self, Side};
use crate::wire::{self, WIRE_ROW};
use cpuledger_model::Dimension;
use cpuledger_model::disk::Disk;
use cpuledger_model::field::{Field, Value};
use cpuledger_model::interval::{Blocked, Exited, Interval, Row};
use cpuledger_model::task::Task;
use cpuledger_model::waits::WaitTotals;
use cpuledger_model::wire::Wire;
use cpuledger_names::named::NameKey;
use cpuledger_proc::escape::append_escaped;
use jiff::Timestamp;

/// The name of the schema; its number grows when a key changes its meaning or goes.
pub const SCHEMA: &str = "cpuledger.interval/1";

/// That of rows that are put together.
pub const GROUPS_SCHEMA: &str = "cpuledger.groups/1";

/// That of who made whom wait, by name.
pub const PAIRS_SCHEMA: &str = "cpuledger.pairs/1";

/// That of what each disk did, by name.
pub const DEVICES_SCHEMA: &str = "cpuledger.devices/1";

/// That of what cgroups did on the wire, by name.
pub const WIRE_SCHEMA: &str = "cpuledger.wire/1";

/// Appends the interval as one line.
pub fn append_interval(line: &mut Vec<u8>, shown: &Shown<'_>) {
    let interval = shown.interval;
    append_head(line, SCHEMA, shown);
    append_list(line, "processes", shown.processes(), |line, row| {
        append_row(line, &PROCESS_KEYS, row, shown);
    });
    if shown.tasks.is_some() {
        append_list(line, "tasks", shown.tasks(), |line, row| append_row(line, &TASK_KEYS, row, shown));
    }
    let exited = interval.exited.as_ref().map(|exited| shown.exited.iter().map(|&index| &exited[index]));
    append_known_list(line, "exited", exited, |line, exited| append_exited(line, exited, shown));
    let blocked = interval.blocked.as_ref().map(|blocked| shown.blocked.iter().map(|&index| &blocked[index]));
    append_known_list(line, "blocked", blocked, append_blocked);
    append_tail(line, interval);
}

/// Appends the interval with its rows put together as one line. Lists of rows, of the dead and of blocked tasks are not in it.
pub fn append_groups(line: &mut Vec<u8>, shown: &Shown<'_>, by: Dimension, groups: &[Sum]) {
    append_head_by(line, GROUPS_SCHEMA, shown, by.name());
    append_list(line, "groups", groups, |line, group| {
        append_braced(line, |line| {
            append_name(line, &group.name);
            append_member(line, "rows", Value::Unsigned(group.rows as u64));
            for key in GROUP_KEYS.iter() {
                append_member(line, key.name(), key.value(&group.total));
            }
        });
    });
    append_tail(line, shown.interval);
}

/// Appends who made whom wait as one line: cgroups by the names that they have.
pub fn append_pairs(line: &mut Vec<u8>, shown: &Shown<'_>, by: Dimension) {
    append_head_by(line, PAIRS_SCHEMA, shown, by.name());
    let pairs = shown.interval.pairs.as_ref().zip(shown.named);
    let pairs = pairs.map(|(pairs, named)| pairs::by_name(pairs, by, named));
    append_known_list(line, "pairs", pairs, |line, pair| {
        append_braced(line, |line| {
            let cause = if let Side::Cause(cause) = pair.by { Some(cause) } else { None };
            append_member(line, "by_cause", known_bytes(cause.map(str::as_bytes)));
            append_side(line, ["by_name", "by_others"], &pair.by);
            append_side(line, ["name", "is_others"], &pair.of);
            append_member(line, "wait_ns", Value::Unsigned(pair.ns));
        });
    });
    append_tail(line, shown.interval);
}

/// Appends what each disk did as one line, by the names that disks have.
pub fn append_devices(line: &mut Vec<u8>, shown: &Shown<'_>) {
    append_head_by(line, DEVICES_SCHEMA, shown, "device");
    append_known_list(line, "devices", devices::rows(shown.interval), |line, row| append_device(line, &row));
    append_tail(line, shown.interval);
}

/// Appends what each cgroup or unit sent and received on the wire as one line.
pub fn append_wire(line: &mut Vec<u8>, shown: &Shown<'_>, by: Dimension) {
    append_head_by(line, WIRE_SCHEMA, shown, by.name());
    append_known_list(line, "on_wire", wire::rows(shown.interval, by), |line, row| {
        append_braced(line, |line| {
            append_side(line, ["name", "is_others"], &row.name);
            append_members(line, &WIRE_ROW, &row);
        });
    });
    append_tail(line, shown.interval);
}

/// A disk, or several, as an object.
pub(crate) fn append_device(line: &mut Vec<u8>, row: &DeviceRow) {
    append_braced(line, |line| {
        append_member(line, "name", known_name(&row.name));
        append_flag(line, "is_sum", Some(row.of == Of::All));
        append_flag(line, "is_others", Some(row.of == Of::Others));
        append_members(line, &DEVICE, row);
    });
}

/// The name of one of both: null is what is not known, and empty what has none. Cgroups that are not told apart have none either, and that is said.
fn append_side(line: &mut Vec<u8>, [key, key_of_others]: [&str; 2], side: &Side) {
    let text = match side {
        Side::Tasks(Name::Text(text)) => Some(text.as_str()),
        Side::Tasks(Name::Without(_)) => Some(""),
        _ => None,
    };
    append_text(line, key, text);
    append_flag(line, key_of_others, Some(*side == Side::Other));
}

/// As in a report: null is what is not known, and empty what has none. What the reader is not shown has no name either.
fn append_name(line: &mut Vec<u8>, name: &Name) {
    let text = match name {
        Name::Text(text) | Name::Process { comm: text, .. } => Some(text.as_str()),
        Name::Path { path, .. } => path.last().map(String::as_str),
        Name::Without(_) => Some(""),
        Name::Unknown | Name::Remainder | Name::OtherNames | Name::All => None,
    };
    append_text(line, "name", text);
    if *name == Name::Remainder {
        append_flag(line, "is_hidden", Some(true));
    }
    if let Name::Process { pid, start_time_ns, .. } = name {
        append_member(line, "pid", Value::Signed((*pid).into()));
        append_member(line, "start_time_ns", Value::Unsigned(*start_time_ns));
    }
    if let Name::Path { path, .. } = name {
        append_list(line, "path", path, |line, comm| append_escaped_text(line, comm));
    }
}

/// What was escaped before, as a JSON string.
fn append_escaped_text(line: &mut Vec<u8>, text: &str) {
    append_quoted(line, |line| line.extend_from_slice(text.as_bytes()));
    line.push(b',');
}

/// A member that was escaped before; null is what is not known.
fn append_text(line: &mut Vec<u8>, key: &str, text: Option<&str>) {
    match text {
        Some(text) => {
            append_key(line, key);
            append_escaped_text(line, text);
        }
        None => append_member(line, key, Value::Absent),
    }
}

/// The begin of an interval's object: what it is, and its sums.
fn append_head(line: &mut Vec<u8>, schema: &str, shown: &Shown<'_>) {
    let interval = shown.interval;
    let boot_id = known_bytes(shown.boot_id.map(str::as_bytes));
    line.push(b'{');
    append_member(line, "schema", Value::Bytes(schema.as_bytes()));
    append_member(line, "source", Value::Bytes(interval.source_name().as_bytes()));
    append_member(line, "boot_id", boot_id);
    append_beside(line, &shown.beside);
    append_members(line, &TOTALS, interval);
    append_unattributed_by(line, interval);
    append_wait_caused_by(line, &interval.waits);
}

/// Likewise, of rows that are put together.
fn append_head_by(line: &mut Vec<u8>, schema: &str, shown: &Shown<'_>, by: &str) {
    append_head(line, schema, shown);
    append_member(line, "by", Value::Bytes(by.as_bytes()));
}

/// What is told of the machine and of the time of day, where that is asked for.
fn append_beside(line: &mut Vec<u8>, beside: &Beside<'_>) {
    if beside.keys.host {
        append_member(line, "host", known_bytes(beside.host));
    }
    if !beside.keys.realtime {
        return;
    }
    let times = beside.realtime_ns.map_or([None; 2], |times| times.map(Some));
    for (keys, ns) in
        [["start_realtime", "start_realtime_ns"], ["end_realtime", "end_realtime_ns"]].iter().zip(times)
    {
        let instant = ns.and_then(|ns| Timestamp::from_nanosecond(ns.into()).ok());
        let text = instant.map(|instant| format!("{instant:.9}"));
        append_member(line, keys[0], known_bytes(text.as_ref().map(String::as_bytes)));
        append_member(line, keys[1], known(ns));
    }
}

/// Names of a row that are told where they are asked for.
fn append_names_beside(line: &mut Vec<u8>, row: &Task, shown: &Shown<'_>) {
    let Beside { keys, users, .. } = shown.beside;
    if keys.user {
        let name = users.filter(|_| row.known.contains(Field::Euid)).map(|users| users.name(row.euid));
        append_member(line, "user", known_name(name.unwrap_or_default()));
    }
    if keys.cgroup {
        let names = shown.named.and_then(|named| named.of_row(row));
        append_member(line, "cgroup", known_bytes(names.map(|names| &*names.path)));
    }
}

/// Its end: what is told behind its rows, and what it has lost.
fn append_tail(line: &mut Vec<u8>, interval: &Interval) {
    append_members(line, &LOSSES, interval);
    // By the numbers of cgroups, which rows have, too.
    let pairs = interval.pairs.as_ref().map(|pairs| pairs.iter());
    append_known_list(line, "wait_pairs", pairs, |line, pair| {
        append_braced(line, |line| append_members(line, &WAIT_PAIRS, pair));
    });
    append_known_list(line, "disks", interval.disks.as_ref().map(|disks| &disks.devices), append_disk);
    // By the numbers of cgroups, and their paths.
    append_known_list(line, "wire", interval.wire.as_ref().map(Wire::iter), |line, cgroup| {
        append_braced(line, |line| append_members(line, &WIRE, cgroup));
    });
    append_list(line, "from_procfs", &interval.from_procfs, |line, tid| append_number(line, tid.0));
    append_members(line, &MISSED_EXITS, interval);
    end(line);
}

/// The end of a line that is an object.
pub(crate) fn end(line: &mut Vec<u8>) {
    close(line, b'}');
    line.pop();
    line.push(b'\n');
}

/// With a histogram: numbers of requests by a power of two of nanoseconds.
fn append_disk(line: &mut Vec<u8>, disk: &Disk) {
    append_braced(line, |line| {
        append_member(line, "name", known_name(&disk.name));
        append_members(line, &DEVICE[..OF_DISK], &DeviceRow::of_disk(disk));
        let times = disk.times.as_ref().map_or([None; 2], |times| [Some(times.reads), Some(times.writes)]);
        for (key, times) in DISK_TIMES.into_iter().zip(times) {
            append_known_list(line, key, times, append_number);
        }
    });
}

fn append_unattributed_by(line: &mut Vec<u8>, interval: &Interval) {
    append_key(line, "unattributed_by");
    if interval.unattributed_ns.is_none() {
        return line.extend_from_slice(b"null,");
    }
    append_braced(line, |line| {
        for (key, _, ns) in interval.unattributed_by.reasons() {
            append_member(line, key, Value::Unsigned(ns));
        }
    });
}

fn append_wait_caused_by(line: &mut Vec<u8>, waits: &WaitTotals) {
    append_key(line, "wait_caused_by");
    if waits.suffered_ns.is_none() {
        return line.extend_from_slice(b"null,");
    }
    append_braced(line, |line| append_members(line, &WAIT_CAUSES, waits));
}

fn append_row(line: &mut Vec<u8>, keys: &[Key], row: &Row, shown: &Shown<'_>) {
    append_braced(line, |line| {
        keys.iter().for_each(|key| append_member(line, key.name(), key.value(row)));
        append_names(line, &row.task, shown);
    });
}

/// The names that the cgroup of a row leads to.
fn append_names(line: &mut Vec<u8>, row: &Task, shown: &Shown<'_>) {
    for name in NameKey::ALL {
        append_member(line, name.name(), shown.name(row, name));
    }
    append_names_beside(line, row, shown);
}

fn append_exited(line: &mut Vec<u8>, exited: &Exited, shown: &Shown<'_>) {
    append_braced(line, |line| {
        append_members(line, &EXITED, exited);
        append_names(line, &exited_row(exited).task, shown);
    });
}

fn append_blocked(line: &mut Vec<u8>, blocked: &Blocked) {
    append_braced(line, |line| {
        append_members(line, &BLOCKED, blocked);
        append_flag(line, FOR_IO, blocked.for_io);
    });
}

/// True or false; null is what is not known.
pub(crate) fn append_flag(line: &mut Vec<u8>, key: &str, flag: Option<bool>) {
    append_key(line, key);
    line.extend_from_slice(flag.map_or("null,", |flag| if flag { "true," } else { "false," }).as_bytes());
}

/// An object of the members that `append` appends.
pub(crate) fn append_braced(line: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) {
    line.push(b'{');
    append(line);
    close(line, b'}');
}

/// A list of what `append` appends, each with a comma behind it.
pub(crate) fn append_list<T>(
    line: &mut Vec<u8>,
    key: &str,
    items: impl IntoIterator<Item = T>,
    mut append: impl FnMut(&mut Vec<u8>, T),
) {
    append_key(line, key);
    line.push(b'[');
    items.into_iter().for_each(|item| append(line, item));
    close(line, b']');
}

/// Likewise; null is what is not known.
fn append_known_list<T>(
    line: &mut Vec<u8>,
    key: &str,
    items: Option<impl IntoIterator<Item = T>>,
    append: impl FnMut(&mut Vec<u8>, T),
) {
    match items {
        Some(items) => append_list(line, key, items, append),
        None => append_member(line, key, Value::Absent),
    }
}

fn append_number(line: &mut Vec<u8>, number: impl itoa::Integer) {
    line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    line.push(b',');
}

pub(crate) fn append_members<T>(line: &mut Vec<u8>, members: &[Member<T>], of: &T) {
    members.iter().for_each(|member| append_member(line, member.key, (member.value)(of)));
}

/// Puts the closing bracket in the place of the last comma, and a comma behind it.
fn close(line: &mut Vec<u8>, bracket: u8) {
    if line.last() == Some(&b',') {
        line.pop();
    }
    line.extend_from_slice(&[bracket, b',']);
}

pub(crate) fn append_key(line: &mut Vec<u8>, key: &str) {
    line.push(b'"');
    line.extend_from_slice(key.as_bytes());
    line.extend_from_slice(b"\":");
}

pub(crate) fn append_member(line: &mut Vec<u8>, key: &str, value: Value<'_>) {
    append_key(line, key);
    append_value(line, value);
}

/// A member without a key.
pub(crate) fn append_value(line: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Absent => line.extend_from_slice(b"null"),
        Value::Unsigned(number) => line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        Value::Signed(number) => line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        Value::Letter(letter) => append_string(line, &[letter]),
        Value::Bytes(bytes) => append_string(line, bytes),
    }
    line.push(b',');
}

/// A value whose text is written already.
pub(crate) enum JsonValue {
    /// Not known.
    Null,
    /// Digits.
    Number(Vec<u8>),
    /// Text without controls.
    EscapedText(Vec<u8>),
}

/// Appends an object as one line.
pub(crate) fn append_object<'a>(line: &mut Vec<u8>, members: impl Iterator<Item = (&'a str, JsonValue)>) {
    line.push(b'{');
    for (key, value) in members {
        append_quoted(line, |line| line.extend_from_slice(key.as_bytes()));
        line.push(b':');
        match value {
            JsonValue::Null => line.extend_from_slice(b"null"),
            JsonValue::Number(digits) => line.extend_from_slice(&digits),
            JsonValue::EscapedText(text) => append_quoted(line, |line| line.extend_from_slice(&text)),
        }
        line.push(b',');
    }
    end(line);
}

/// The same escaped text as everywhere, which holds no controls, as a JSON string.
fn append_string(line: &mut Vec<u8>, bytes: &[u8]) {
    append_quoted(line, |line| append_escaped(line, bytes));
}

/// What is appended, which holds no controls, as a JSON string. Nearly always it is written once, as it is.
fn append_quoted(line: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) {
    let needs_backslash = |byte: &u8| matches!(byte, b'"' | b'\\');
    line.push(b'"');
    let start = line.len();
    append(line);
    // Counted, which takes many bytes at a time.
    if line[start..].iter().filter(|byte| needs_backslash(byte)).count() > 0 {
        for byte in line.split_off(start) {
            line.extend(needs_backslash(&byte).then_some(b'\\'));
            line.push(byte);
        }
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests;
