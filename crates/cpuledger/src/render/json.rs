//! An interval as one line of JSON: schema `cpuledger.interval/1`.

use crate::field::Value;
use crate::interval::{Exited, Usage};
use crate::render::escape::append_escaped;
use crate::render::key::{Key, PROCESS_KEYS, Shown, TASK_KEYS};
use crate::task::Task;

/// The name of the schema; its number grows when a key changes its meaning or goes.
pub const SCHEMA: &str = "cpuledger.interval/1";

/// Appends the interval as one line.
pub fn append_interval(line: &mut Vec<u8>, shown: &Shown<'_>) {
    let interval = shown.interval;
    let boot_id = shown.boot_id.map_or(Value::Absent, |id| Value::Bytes(id.as_bytes()));
    let known = |number: Option<u64>| number.map_or(Value::Absent, Value::Unsigned);
    line.push(b'{');
    for (key, value) in [
        ("schema", Value::Bytes(SCHEMA.as_bytes())),
        ("source", Value::Bytes(interval.source.name().as_bytes())),
        ("boot_id", boot_id),
        ("start_ns", Value::Unsigned(interval.start_ns)),
        ("end_ns", Value::Unsigned(interval.end_ns)),
        ("online_cpus", Value::Unsigned(interval.online_cpus.into())),
        ("capacity_ns", Value::Unsigned(interval.capacity_ns)),
        ("attributed_ns", Value::Unsigned(interval.attributed_ns)),
        ("idle_ns", known(interval.idle_ns)),
        ("unattributed_ns", known(interval.unattributed_ns)),
    ] {
        append_member(line, key, value);
    }
    append_key(line, "processes");
    line.push(b'[');
    shown.for_each_process(|row, usage| append_row(line, &PROCESS_KEYS, row, usage));
    close(line, b']');
    if shown.tasks.is_some() {
        append_key(line, "tasks");
        line.push(b'[');
        shown.for_each_task(|row, usage| append_row(line, &TASK_KEYS, row, usage));
        close(line, b']');
    }
    append_key(line, "exited");
    match &interval.exited {
        Some(exited) => {
            line.push(b'[');
            shown.exited.iter().for_each(|&index| append_exited(line, &exited[index]));
            close(line, b']');
        }
        None => line.extend_from_slice(b"null,"),
    }
    // I7: where a list was full, time is kept and identity lost, and it is said.
    let unidentified = interval.exited.as_ref().map(|_| interval.unidentified_exits);
    append_member(line, "unidentified_exits", known(unidentified));
    close(line, b'}');
    line.pop();
    line.push(b'\n');
}

fn append_row(line: &mut Vec<u8>, keys: &[Key], row: &Task, usage: &Usage) {
    line.push(b'{');
    for key in keys {
        append_member(line, key.name(), key.value(row, usage));
    }
    close(line, b'}');
}

fn append_exited(line: &mut Vec<u8>, exited: &Exited) {
    let exit = &exited.exit;
    line.push(b'{');
    for (key, value) in [
        ("pid", Value::Signed(exit.process.tid.0.into())),
        ("tid", Value::Signed(exit.task.tid.0.into())),
        ("ppid", Value::Signed(exit.ppid.0.into())),
        ("accounting_ppid", Value::Absent),
        ("comm", Value::Bytes(exit.comm.as_bytes())),
        ("cpu_ns", Value::Unsigned(exited.cpu_ns)),
        ("lifetime_ns", Value::Unsigned(exit.lifetime_ns)),
        ("exit_code", Value::Signed(exit.exit_code.into())),
        ("uid", Value::Unsigned(exit.uid.into())),
        ("start_time_ns", Value::Unsigned(exit.task.start_time_ns)),
    ] {
        append_member(line, key, value);
    }
    close(line, b'}');
}

/// Puts the closing bracket in the place of the last comma, and a comma behind it.
fn close(line: &mut Vec<u8>, bracket: u8) {
    if line.last() == Some(&b',') {
        line.pop();
    }
    line.extend_from_slice(&[bracket, b',']);
}

fn append_key(line: &mut Vec<u8>, key: &str) {
    line.push(b'"');
    line.extend_from_slice(key.as_bytes());
    line.extend_from_slice(b"\":");
}

fn append_member(line: &mut Vec<u8>, key: &str, value: Value<'_>) {
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

/// The same escaped text as everywhere, which holds no controls, as a JSON string.
fn append_string(line: &mut Vec<u8>, bytes: &[u8]) {
    line.push(b'"');
    let start = line.len();
    append_escaped(line, bytes);
    let mut index = start;
    while index < line.len() {
        if matches!(line[index], b'"' | b'\\') {
            line.insert(index, b'\\');
            index += 1;
        }
        index += 1;
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_a_valid_string() {
        for name in
            [&b"plain"[..], b"qu\"ote", b"back\\slash", b"\x1b[31m", b"\xff\xfe", "größe".as_bytes(), b""]
        {
            let mut line = Vec::new();
            append_string(&mut line, name);
            let read: String = serde_json::from_slice(&line).expect("valid JSON");
            let mut escaped = Vec::new();
            append_escaped(&mut escaped, name);
            assert_eq!(read.as_bytes(), escaped);
        }
    }
}
