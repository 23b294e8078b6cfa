//! An interval as one line of JSON: schema `cpuledger.interval/1`.

use crate::group::exited_row;
use crate::key::{Key, PROCESS_KEYS, Shown, TASK_KEYS};
use crate::member::{BLOCKED, EXITED, FOR_IO, LOSSES, MISSED_EXITS, Member, TOTALS};
use cpuledger_model::field::Value;
use cpuledger_model::interval::{Blocked, Exited, Interval, Row};
use cpuledger_model::task::Task;
use cpuledger_names::named::NameKey;
use cpuledger_proc::escape::append_escaped;

/// The name of the schema; its number grows when a key changes its meaning or goes.
pub const SCHEMA: &str = "cpuledger.interval/1";

/// Appends the interval as one line.
pub fn append_interval(line: &mut Vec<u8>, shown: &Shown<'_>) {
    let interval = shown.interval;
    let boot_id = shown.boot_id.map_or(Value::Absent, |id| Value::Bytes(id.as_bytes()));
    line.push(b'{');
    append_member(line, "schema", Value::Bytes(SCHEMA.as_bytes()));
    append_member(line, "source", Value::Bytes(interval.source_name().as_bytes()));
    append_member(line, "boot_id", boot_id);
    append_members(line, &TOTALS, interval);
    append_unattributed_by(line, interval);
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
    append_members(line, &LOSSES, interval);
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

fn append_members<T>(line: &mut Vec<u8>, members: &[Member<T>], of: &T) {
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
mod tests {
    use super::*;
    use cpuledger_model::exit::Exit;
    use cpuledger_model::interval::Unattributed;
    use cpuledger_model::task::{Comm, Pid, TaskId, Tid};
    use cpuledger_model::{Lived, SourceKind, States};

    #[test]
    fn any_name_is_a_valid_string() {
        let (long, plain) = (b"\"a\\\x01".repeat(32 << 10), b"a".repeat(131 << 10));
        for name in [
            &b"plain"[..],
            b"qu\"ote",
            b"back\\slash",
            b"\x1b[31m",
            b"\xff\xfe",
            "größe".as_bytes(),
            b"",
            &long,
            &plain,
        ] {
            let mut line = Vec::new();
            append_string(&mut line, name);
            let read: String = serde_json::from_slice(&line).expect("valid JSON");
            let mut escaped = Vec::new();
            append_escaped(&mut escaped, name);
            assert!(read.as_bytes() == escaped, "{}", name[..name.len().min(16)].escape_ascii());
        }
    }

    /// A part of docs/json.md by its heading.
    fn section(heading: &str) -> String {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
        let text = std::fs::read_to_string(path).expect("docs/json.md");
        let mut sections = text.split("\n## ");
        sections.find(|section| section.starts_with(heading)).expect(heading).to_owned()
    }

    fn keys(object: &serde_json::Value) -> Vec<String> {
        object.as_object().expect("an object").keys().cloned().collect()
    }

    /// An interval with one row of each kind, as it is printed.
    fn printed() -> serde_json::Value {
        printed_from(SourceKind::Procfs)
    }

    fn exited(id: TaskId, cpu_ns: u64) -> Exited {
        let exit = Exit {
            task: id,
            process: id,
            ppid: Pid(1),
            comm: Comm::new(b"true"),
            uid: 0,
            euid: Some(0),
            exit_code: Some(0),
            runtime_ns: 1,
            lifetime_ns: 1,
            cgroup_id: None,
            cgroup_v1_cpu_id: None,
        };
        Exited { exit, cpu_ns, accounting_parent: Some(Pid(7)), ..Exited::default() }
    }

    fn printed_from(source: SourceKind) -> serde_json::Value {
        let id = TaskId { tid: Tid(9), start_time_ns: cpuledger_model::Boottime::from_ns(1) };
        let interval = Interval {
            source,
            missed_exits: 3,
            missed_switches: Some(4),
            hidden_cpu_ns: Some(5),
            processes: vec![Row::default()],
            tasks: vec![Row::default()],
            exited: Some(vec![exited(id, 1)]),
            blocked: Some(vec![Blocked {
                task: id,
                process: id,
                comm: Comm::new(b"dd"),
                euid: None,
                since_ns: None,
                blocked_for_ns: 5,
                for_io: Some(true),
            }]),
            blocked_tasks: 1,
            ..Interval::default()
        };
        let shown = Shown {
            interval: &interval,
            processes: &[0],
            tasks: Some(&[0]),
            exited: &[0],
            blocked: &[0],
            boot_id: None,
            named: None,
        };
        let mut line = Vec::new();
        append_interval(&mut line, &shown);
        serde_json::from_slice(&line).expect("valid JSON")
    }

    #[test]
    fn what_was_lost_is_null_where_it_cannot_be() {
        for (source, exits, switches) in [
            (SourceKind::Ledger, None, Some(4)),
            (SourceKind::Walk, None, None),
            (SourceKind::Netlink, Some(3), None),
            (SourceKind::Procfs, None, None),
        ] {
            let printed = printed_from(source);
            assert_eq!(
                (printed["missed_exits"].as_u64(), printed["missed_switches"].as_u64()),
                (exits, switches)
            );
        }
    }

    #[test]
    fn what_the_dead_did_is_told_and_adds_up() {
        assert!(printed()["exited"][0]["elapsed_ns"].is_null());
        let states = States {
            runqueue_wait_ns: 1,
            blocked_ns: 20,
            io_wait_ns: 7,
            sleep_ns: 300,
            stopped_ns: 4000,
            unseen_ns: 50_000,
            elapsed_ns: 654_321,
        };
        let id = TaskId { tid: Tid(9), start_time_ns: cpuledger_model::Boottime::from_ns(1) };
        let lived = Lived { cpu_ns: 600_000, states };
        let exited = Exited { states: Some(states), lived: Some(lived), ..exited(id, 600_000) };
        let mut line = Vec::new();
        let interval = Interval::default();
        let shown = Shown {
            interval: &interval,
            processes: &[],
            tasks: None,
            exited: &[],
            blocked: &[],
            boot_id: None,
            named: None,
        };
        append_exited(&mut line, &exited, &shown);
        line.pop();
        let printed: serde_json::Value = serde_json::from_slice(&line).expect("valid JSON");
        let number = |key: &str| printed[key].as_u64().expect(key);
        let off = ["runqueue_wait_ns", "blocked_ns", "sleep_ns", "stopped_ns", "unseen_ns"].map(number);
        assert_eq!(
            (number("cpu_ns") + off.iter().sum::<u64>(), number("io_wait_ns")),
            (number("elapsed_ns"), 7)
        );
        assert_eq!(exited.state_imbalance_ns(), Some(0));
        for key in ["cpu", "runqueue_wait", "blocked", "io_wait", "sleep", "stopped", "unseen", "elapsed"] {
            assert_eq!(number(&format!("life_{key}_ns")), number(&format!("{key}_ns")), "{key}");
        }
    }

    #[test]
    fn every_reason_is_in_the_document_and_adds_to_the_sum() {
        let by = Unattributed {
            no_slot_ns: 1,
            forgotten_task_ns: 20,
            uncovered_cpu_ns: 300,
            not_attached_ns: 4000,
        };
        let interval = Interval { unattributed_by: by, unattributed_ns: Some(4321), ..Interval::default() };
        let mut line = b"{".to_vec();
        append_unattributed_by(&mut line, &interval);
        close(&mut line, b'}');
        line.pop();
        let printed: serde_json::Value = serde_json::from_slice(&line).expect("valid JSON");
        let reasons = printed["unattributed_by"].as_object().expect("an object");
        assert_eq!(reasons.values().filter_map(serde_json::Value::as_u64).sum::<u64>(), by.total_ns());
        let section = section("Why time is unattributed");
        reasons.keys().for_each(|key| assert!(section.contains(&format!("\n| `{key}` |")), "{key}"));
        // Where the sum is not known, the reasons are not.
        let mut line = Vec::new();
        append_unattributed_by(&mut line, &Interval::default());
        assert_eq!(line, b"\"unattributed_by\":null,");
    }

    #[test]
    fn every_key_is_in_the_document() {
        let printed = printed();
        for (heading, object) in [
            ("The interval", &printed),
            ("Rows of `processes` and `tasks`", &printed["processes"][0]),
            ("Rows of `processes` and `tasks`", &printed["tasks"][0]),
            ("Rows of `exited`", &printed["exited"][0]),
            ("Rows of `blocked`", &printed["blocked"][0]),
        ] {
            let section = section(heading);
            for key in keys(object) {
                assert!(section.contains(&format!("\n| `{key}` |")), "{key} is missing in {heading}");
            }
        }
        let mut header = Vec::new();
        crate::csv::append_header(&mut header).expect("memory");
        let (csv, rows) = (section("CSV"), section("Rows of"));
        for column in String::from_utf8(header).expect("UTF-8").trim().split(',') {
            let name = format!("`{column}`");
            assert!(csv.contains(&name) || rows.contains(&format!("\n| {name} |")), "{column}");
        }
    }
}
