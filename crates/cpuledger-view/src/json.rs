//! An interval as one line of JSON: schema `cpuledger.interval/1`.

use crate::devices::{self, DEVICE, DeviceRow, Of};
use crate::group::{GROUP_KEYS, Name, Sum, exited_row};
use crate::key::{Beside, Key, PROCESS_KEYS, Shown, TASK_KEYS};
use crate::member::{
    BLOCKED, DISK, DISK_TIMES, EXITED, FOR_IO, LOSSES, MISSED_EXITS, Member, TOTALS, WAIT_CAUSES, WAIT_PAIRS,
    WIRE, known,
};
use crate::pairs::{self, Side};
use crate::wire::{self, WIRE_ROW, WireName};
use cpuledger_model::Dimension;
use cpuledger_model::disk::Disks;
use cpuledger_model::field::{Field, Value};
use cpuledger_model::interval::{Blocked, Exited, Interval, Row};
use cpuledger_model::pairs::WaitPairs;
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
    append_key(line, "processes");
    line.push(b'[');
    shown.processes().for_each(|row| append_row(line, &PROCESS_KEYS, row, shown));
    close(line, b']');
    if shown.tasks.is_some() {
        append_key(line, "tasks");
        line.push(b'[');
        shown.tasks().for_each(|row| append_row(line, &TASK_KEYS, row, shown));
        close(line, b']');
    }
    append_key(line, "exited");
    match &interval.exited {
        Some(exited) => {
            line.push(b'[');
            shown.exited.iter().for_each(|&index| append_exited(line, &exited[index], shown));
            close(line, b']');
        }
        None => line.extend_from_slice(b"null,"),
    }
    append_key(line, "blocked");
    match &interval.blocked {
        Some(blocked) => {
            line.push(b'[');
            shown.blocked.iter().for_each(|&index| append_blocked(line, &blocked[index]));
            close(line, b']');
        }
        None => line.extend_from_slice(b"null,"),
    }
    append_tail(line, interval);
}

/// Appends the interval with its rows put together as one line. Lists of rows, of the dead and of blocked tasks are not in it.
pub fn append_groups(line: &mut Vec<u8>, shown: &Shown<'_>, by: Dimension, groups: &[Sum]) {
    append_head(line, GROUPS_SCHEMA, shown);
    append_member(line, "by", Value::Bytes(by.name().as_bytes()));
    append_key(line, "groups");
    line.push(b'[');
    for group in groups {
        line.push(b'{');
        append_name(line, &group.name);
        append_member(line, "rows", Value::Unsigned(group.rows as u64));
        for key in GROUP_KEYS.iter() {
            append_member(line, key.name(), key.value(&group.total));
        }
        close(line, b'}');
    }
    close(line, b']');
    append_tail(line, shown.interval);
}

/// Appends who made whom wait as one line: cgroups by the names that they have.
pub fn append_pairs(line: &mut Vec<u8>, shown: &Shown<'_>, by: Dimension) {
    append_head(line, PAIRS_SCHEMA, shown);
    append_member(line, "by", Value::Bytes(by.name().as_bytes()));
    append_key(line, "pairs");
    match (&shown.interval.pairs, shown.named) {
        (Some(pairs), Some(named)) => {
            line.push(b'[');
            for pair in pairs::by_name(pairs, by, named) {
                line.push(b'{');
                let cause = if let Side::Cause(cause) = pair.by { Some(cause) } else { None };
                append_member(
                    line,
                    "by_cause",
                    cause.map_or(Value::Absent, |cause| Value::Bytes(cause.as_bytes())),
                );
                append_side(line, ["by_name", "by_others"], &pair.by);
                append_side(line, ["name", "is_others"], &pair.of);
                append_member(line, "wait_ns", Value::Unsigned(pair.ns));
                close(line, b'}');
            }
            close(line, b']');
        }
        _ => line.extend_from_slice(b"null,"),
    }
    append_tail(line, shown.interval);
}

/// Appends what each disk did as one line, by the names that disks have.
pub fn append_devices(line: &mut Vec<u8>, shown: &Shown<'_>) {
    append_head(line, DEVICES_SCHEMA, shown);
    append_member(line, "by", Value::Bytes(b"device"));
    append_key(line, "devices");
    match devices::rows(shown.interval) {
        Some(rows) => {
            line.push(b'[');
            rows.iter().for_each(|row| append_device(line, row));
            close(line, b']');
        }
        None => line.extend_from_slice(b"null,"),
    }
    append_tail(line, shown.interval);
}

/// Appends what each cgroup or unit sent and received on the wire as one line.
pub fn append_wire(line: &mut Vec<u8>, shown: &Shown<'_>, by: Dimension) {
    append_head(line, WIRE_SCHEMA, shown);
    append_member(line, "by", Value::Bytes(by.name().as_bytes()));
    append_key(line, "on_wire");
    match wire::rows(shown.interval, by) {
        Some(rows) => {
            line.push(b'[');
            for row in &rows {
                line.push(b'{');
                append_key(line, "name");
                match &row.name {
                    WireName::Named(name) if !name.is_empty() => append_text(line, name),
                    _ => line.extend_from_slice(b"null"),
                }
                line.push(b',');
                append_key(line, "is_others");
                line.extend_from_slice(if row.name == WireName::Other { b"true," } else { b"false," });
                append_members(line, &WIRE_ROW, row);
                close(line, b'}');
            }
            close(line, b']');
        }
        None => line.extend_from_slice(b"null,"),
    }
    append_tail(line, shown.interval);
}

/// A disk, or several, as an object.
pub(crate) fn append_device(line: &mut Vec<u8>, row: &DeviceRow) {
    let name = if row.name.is_empty() { Value::Absent } else { Value::Bytes(&row.name) };
    line.push(b'{');
    append_member(line, "name", name);
    for (key, of) in [("is_sum", Of::All), ("is_others", Of::Others)] {
        append_key(line, key);
        line.extend_from_slice(if row.of == of { b"true," } else { b"false," });
    }
    append_members(line, &DEVICE, row);
    close(line, b'}');
}

/// The name of one of both: null is what is not known, and empty what has none. Cgroups that are not told apart have none either, and that is said.
fn append_side(line: &mut Vec<u8>, [key, key_of_others]: [&str; 2], side: &Side) {
    let text = match side {
        Side::Tasks(Name::Text(text)) => Some(text.as_str()),
        Side::Tasks(Name::Without(_)) => Some(""),
        _ => None,
    };
    append_key(line, key);
    match text {
        Some(text) => append_text(line, text),
        None => line.extend_from_slice(b"null"),
    }
    line.push(b',');
    append_key(line, key_of_others);
    line.extend_from_slice(if *side == Side::Other { b"true," } else { b"false," });
}

/// As in a report: null is what is not known, and empty what has none. What the reader is not shown has no name either.
fn append_name(line: &mut Vec<u8>, name: &Name) {
    let text = match name {
        Name::Text(text) | Name::Process { comm: text, .. } => Some(text.as_str()),
        Name::Path { path, .. } => path.last().map(String::as_str),
        Name::Without(_) => Some(""),
        Name::Unknown | Name::Remainder | Name::OtherNames | Name::All => None,
    };
    append_key(line, "name");
    match text {
        Some(text) => append_text(line, text),
        None => line.extend_from_slice(b"null"),
    }
    line.push(b',');
    if *name == Name::Remainder {
        line.extend_from_slice(b"\"is_hidden\":true,");
    }
    if let Name::Process { pid, start_time_ns, .. } = name {
        append_member(line, "pid", Value::Signed((*pid).into()));
        append_member(line, "start_time_ns", Value::Unsigned(*start_time_ns));
    }
    if let Name::Path { path, .. } = name {
        append_key(line, "path");
        line.push(b'[');
        for comm in path {
            append_text(line, comm);
            line.push(b',');
        }
        close(line, b']');
    }
}

/// What was escaped before, as a JSON string.
fn append_text(line: &mut Vec<u8>, text: &str) {
    append_quoted(line, |line| line.extend_from_slice(text.as_bytes()));
}

/// The begin of an interval's object: what it is, and its sums.
fn append_head(line: &mut Vec<u8>, schema: &str, shown: &Shown<'_>) {
    let interval = shown.interval;
    let boot_id = shown.boot_id.map_or(Value::Absent, |id| Value::Bytes(id.as_bytes()));
    line.push(b'{');
    append_member(line, "schema", Value::Bytes(schema.as_bytes()));
    append_member(line, "source", Value::Bytes(interval.source_name().as_bytes()));
    append_member(line, "boot_id", boot_id);
    append_beside(line, &shown.beside);
    append_members(line, &TOTALS, interval);
    append_unattributed_by(line, interval);
    append_wait_caused_by(line, &interval.waits);
}

/// What is told of the machine and of the time of day, where that is asked for.
fn append_beside(line: &mut Vec<u8>, beside: &Beside<'_>) {
    if beside.keys.host {
        append_member(line, "host", beside.host.map_or(Value::Absent, Value::Bytes));
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
        append_member(
            line,
            keys[0],
            text.as_ref().map_or(Value::Absent, |text| Value::Bytes(text.as_bytes())),
        );
        append_member(line, keys[1], known(ns));
    }
}

/// Names of a row that are told where they are asked for.
fn append_names_beside(line: &mut Vec<u8>, row: &Task, shown: &Shown<'_>) {
    let Beside { keys, users, .. } = shown.beside;
    if keys.user {
        let name = users.filter(|_| row.known.contains(Field::Euid)).map(|users| users.name(row.euid));
        append_member(line, "user", name.filter(|name| !name.is_empty()).map_or(Value::Absent, Value::Bytes));
    }
    if keys.cgroup {
        let names = shown.named.and_then(|named| named.of_row(row));
        append_member(line, "cgroup", names.map_or(Value::Absent, |names| Value::Bytes(&names.path)));
    }
}

/// Its end: what is told behind its rows, and what it has lost.
fn append_tail(line: &mut Vec<u8>, interval: &Interval) {
    append_members(line, &LOSSES, interval);
    append_wait_pairs(line, interval.pairs.as_ref());
    append_disks(line, interval.disks.as_ref());
    append_wire_cgroups(line, interval.wire.as_ref());
    append_key(line, "from_procfs");
    line.push(b'[');
    for tid in &interval.from_procfs {
        line.extend_from_slice(itoa::Buffer::new().format(tid.0).as_bytes());
        line.push(b',');
    }
    close(line, b']');
    append_members(line, &MISSED_EXITS, interval);
    close(line, b'}');
    line.pop();
    line.push(b'\n');
}

/// By the numbers of cgroups, which rows have, too.
fn append_wait_pairs(line: &mut Vec<u8>, pairs: Option<&WaitPairs>) {
    append_key(line, "wait_pairs");
    let Some(pairs) = pairs else { return line.extend_from_slice(b"null,") };
    line.push(b'[');
    for pair in pairs.iter() {
        line.push(b'{');
        append_members(line, &WAIT_PAIRS, pair);
        close(line, b'}');
    }
    close(line, b']');
}

/// By the numbers of cgroups, and their paths.
fn append_wire_cgroups(line: &mut Vec<u8>, wire: Option<&Wire>) {
    append_key(line, "wire");
    let Some(wire) = wire else { return line.extend_from_slice(b"null,") };
    line.push(b'[');
    for cgroup in wire.iter() {
        line.push(b'{');
        append_members(line, &WIRE, cgroup);
        close(line, b'}');
    }
    close(line, b']');
}

/// Each with a histogram: numbers of requests by a power of two of nanoseconds.
fn append_disks(line: &mut Vec<u8>, disks: Option<&Disks>) {
    append_key(line, "disks");
    let Some(disks) = disks else { return line.extend_from_slice(b"null,") };
    line.push(b'[');
    for disk in &disks.devices {
        line.push(b'{');
        append_members(line, &DISK, disk);
        let times = disk.times.as_ref().map_or([None; 2], |times| [Some(times.reads), Some(times.writes)]);
        for (key, times) in DISK_TIMES.into_iter().zip(times) {
            append_key(line, key);
            let Some(times) = times else {
                line.extend_from_slice(b"null,");
                continue;
            };
            line.push(b'[');
            for count in times {
                line.extend_from_slice(itoa::Buffer::new().format(count).as_bytes());
                line.push(b',');
            }
            close(line, b']');
        }
        close(line, b'}');
    }
    close(line, b']');
}

fn append_unattributed_by(line: &mut Vec<u8>, interval: &Interval) {
    append_key(line, "unattributed_by");
    if interval.unattributed_ns.is_none() {
        return line.extend_from_slice(b"null,");
    }
    line.push(b'{');
    for (key, _, ns) in interval.unattributed_by.reasons() {
        append_member(line, key, Value::Unsigned(ns));
    }
    close(line, b'}');
}

fn append_wait_caused_by(line: &mut Vec<u8>, waits: &WaitTotals) {
    append_key(line, "wait_caused_by");
    if waits.suffered_ns.is_none() {
        return line.extend_from_slice(b"null,");
    }
    line.push(b'{');
    append_members(line, &WAIT_CAUSES, waits);
    close(line, b'}');
}

fn append_row(line: &mut Vec<u8>, keys: &[Key], row: &Row, shown: &Shown<'_>) {
    line.push(b'{');
    for key in keys {
        append_member(line, key.name(), key.value(row));
    }
    append_names(line, &row.task, shown);
    close(line, b'}');
}

/// The names that the cgroup of a row leads to.
fn append_names(line: &mut Vec<u8>, row: &Task, shown: &Shown<'_>) {
    for name in NameKey::ALL {
        append_member(line, name.name(), shown.name(row, name));
    }
    append_names_beside(line, row, shown);
}

fn append_exited(line: &mut Vec<u8>, exited: &Exited, shown: &Shown<'_>) {
    line.push(b'{');
    append_members(line, &EXITED, exited);
    append_names(line, &exited_row(exited).task, shown);
    close(line, b'}');
}

fn append_blocked(line: &mut Vec<u8>, blocked: &Blocked) {
    line.push(b'{');
    append_members(line, &BLOCKED, blocked);
    append_key(line, FOR_IO);
    line.extend_from_slice(match blocked.for_io {
        Some(true) => b"true,",
        Some(false) => b"false,",
        None => b"null,",
    });
    close(line, b'}');
}

pub(crate) fn append_members<T>(line: &mut Vec<u8>, members: &[Member<T>], of: &T) {
    members.iter().for_each(|member| append_member(line, member.key, (member.value)(of)));
}

/// Puts the closing bracket in the place of the last comma, and a comma behind it.
pub(crate) fn close(line: &mut Vec<u8>, bracket: u8) {
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
    close(line, b'}');
    line.pop();
    line.push(b'\n');
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
