use cpuledger_model::disk::{DiskUse, Disks};

use super::*;
use crate::key::MoreKeys;
use cpuledger_model::exit::Exit;
use cpuledger_model::interval::Unattributed;
use cpuledger_model::task::{Comm, Pid, TaskId, Tid};
use cpuledger_model::wire::{WireCgroup, WireUse};
use cpuledger_model::{Lived, SourceKind, States, make};

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
    let exit = make!(Exit {
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
    });
    make!(Exited { exit, cpu_ns, accounting_parent: Some(Pid(7)) })
}

fn printed_from(source: SourceKind) -> serde_json::Value {
    let id = TaskId { tid: Tid(9), start_time_ns: cpuledger_model::Boottime::from_ns(1) };
    let interval = make!(Interval {
        source,
        missed_exits: 3,
        missed_switches: Some(4),
        hidden_cpu_ns: Some(5),
        waits: WaitTotals::NOTHING,
        pairs: Some(crate::pairs::tests::example().0),
        wire: crate::wire::tests::example().wire,
        disks: Some(Disks::of([make!(Disk { times: Some(Box::default()) })], DiskUse::default())),
        processes: vec![Row::default()],
        tasks: vec![Row::default()],
        exited: Some(vec![exited(id, 1)]),
        blocked: Some(vec![make!(Blocked {
            task: id,
            process: id,
            comm: Comm::new(b"dd"),
            euid: None,
            since_ns: None,
            blocked_for_ns: 5,
            for_io: Some(true),
        })]),
        blocked_tasks: 1,
    });
    let shown = Shown {
        interval: &interval,
        processes: &[0],
        tasks: Some(&[0]),
        exited: &[0],
        blocked: &[0],
        boot_id: None,
        named: None,
        beside: Beside::default(),
    };
    let mut line = Vec::new();
    append_interval(&mut line, &shown);
    serde_json::from_slice(&line).expect("valid JSON")
}

/// Who made whom wait, by unit.
fn printed_pairs() -> serde_json::Value {
    let (pairs, named) = crate::pairs::tests::example();
    let interval = make!(Interval { pairs: Some(pairs) });
    let shown = Shown { named: Some(&named), ..Shown::without_rows(&interval) };
    let mut line = Vec::new();
    append_pairs(&mut line, &shown, Dimension::Unit);
    let printed: serde_json::Value = serde_json::from_slice(&line).expect("valid JSON");
    let pair = |place: usize| printed["pairs"][place].clone();
    assert_eq!(
        pair(0),
        serde_json::json!({
            "by_cause": null, "by_name": "backup.service", "by_others": false,
            "name": "web.service", "is_others": false, "wait_ns": 312_000_000
        })
    );
    assert_eq!((&pair(3)["by_name"], &pair(3)["by_others"]), (&serde_json::Value::Null, &true.into()));
    assert_eq!((&pair(4)["by_name"], &pair(4)["by_cause"]), (&serde_json::Value::Null, &"interrupts".into()));
    printed
}

/// What cgroups did on the wire, by unit.
fn printed_wire() -> serde_json::Value {
    let print = |interval: &Interval| -> serde_json::Value {
        let mut line = Vec::new();
        append_wire(&mut line, &Shown::without_rows(interval), Dimension::Unit);
        serde_json::from_slice(&line).expect("valid JSON")
    };
    let printed = print(&crate::wire::tests::example());
    assert_eq!(
        printed["on_wire"][0],
        serde_json::json!({
            "name": "web.service", "is_others": false, "wire_sent_bytes": 12_301_000, "wire_sent_packets": 8_510,
            "wire_received_bytes": 800_000, "wire_received_packets": 7_000, "network_sent_bytes": 12_000_000,
            "network_received_bytes": 0
        })
    );
    let others = &printed["on_wire"][2];
    assert_eq!((&others["name"], &others["is_others"]), (&serde_json::Value::Null, &true.into()));
    assert_eq!(others["network_sent_bytes"], serde_json::Value::Null, "unknown is not 0");
    assert_eq!(
        (&printed["wire_sent_bytes"], &printed["wire"][0]["cgroup_id"]),
        (&12_301_192.into(), &serde_json::Value::Null)
    );
    assert_eq!(print(&Interval::default())["on_wire"], serde_json::Value::Null);
    printed
}

#[test]
fn a_name_on_the_wire_is_escaped_once() {
    let path = br"/system.slice/dev-disk\x2d1.swap".to_vec();
    let cgroup = make!(WireCgroup { id: Some(7), path, used: WireUse::of([1, 1, 0, 0]) });
    let interval = make!(Interval { wire: Some(Wire::of([cgroup])) });
    let mut line = Vec::new();
    append_wire(&mut line, &Shown::without_rows(&interval), Dimension::Cgroup);
    let printed: serde_json::Value = serde_json::from_slice(&line).expect("valid JSON");
    assert_eq!(printed["on_wire"][0]["name"], r"/system.slice/dev-disk\\x2d1.swap");
}

/// What each disk did; then, of an interval that has the sum alone.
fn printed_devices() -> [serde_json::Value; 2] {
    let interval = crate::devices::tests::example();
    let print = |interval: &Interval| -> serde_json::Value {
        let mut line = Vec::new();
        append_devices(&mut line, &Shown::without_rows(interval));
        serde_json::from_slice(&line).expect("valid JSON")
    };
    let each = print(&interval);
    let sum = print(&make!(Interval { disks: None, ..interval }));
    assert_eq!(print(&Interval::default())["devices"], serde_json::Value::Null);
    [each, sum]
}

#[test]
fn disks_have_their_names_and_a_sum_says_that_it_is_one() {
    let [each, sum] = printed_devices();
    assert_eq!((&each["schema"], &each["by"]), (&DEVICES_SCHEMA.into(), &"device".into()));
    let (disk, other, rest) = (&each["devices"][0], &each["devices"][1], &each["devices"][2]);
    assert_eq!(
        (&disk["name"], &disk["major"], &disk["reads"]),
        (&"nvme0n1".into(), &259.into(), &1000.into())
    );
    assert_eq!((&other["name"], &other["is_sum"]), (&serde_json::Value::Null, &false.into()));
    assert_eq!((&other["is_others"], &other["major"]), (&false.into(), &8.into()));
    assert_eq!((&rest["is_others"], &rest["major"]), (&true.into(), &serde_json::Value::Null));
    let all = &sum["devices"][0];
    assert_eq!((&all["name"], &all["is_sum"]), (&serde_json::Value::Null, &true.into()));
    assert_eq!(
        (&all["major"], &all["queue_ns"], &all["reads"]),
        (&serde_json::Value::Null, &serde_json::Value::Null, &3003.into())
    );
}

/// Two groups, one with all that says which it is.
fn printed_groups() -> serde_json::Value {
    let named = |name: Name| Sum { rows: 1, ..Sum::new(name) };
    let path = Name::Path { label: "make > cc1".into(), path: vec!["make".into(), "cc1".into()] };
    let process = Name::Process { label: "a (7)".into(), pid: 7, start_time_ns: 1, comm: "a".into() };
    let groups = [named(process), named(path), named(Name::Remainder), named(Name::Without("pod"))];
    let interval = Interval::default();
    let shown = Shown::without_rows(&interval);
    let mut line = Vec::new();
    append_groups(&mut line, &shown, Dimension::Process, &groups);
    let printed: serde_json::Value = serde_json::from_slice(&line).expect("valid JSON");
    let [others, none] = [2, 3].map(|place| printed["groups"][place].clone());
    assert_eq!((&others["name"], &others["is_hidden"]), (&serde_json::Value::Null, &true.into()));
    assert_eq!(none["name"], "");
    printed
}

#[test]
fn more_keys_are_told_where_they_are_asked_for() {
    let interval = make!(Interval {
        processes: vec![Row::new(
            make!(Task { known: cpuledger_model::field::FieldSet::ALL, euid: 7 }),
            cpuledger_model::interval::Usage::default(),
        )],
    });
    let keys = MoreKeys { realtime: true, host: true, user: true, cgroup: true };
    let realtime_ns = Some([1_700_000_000_000_000_001, 1_700_000_001_500_000_000]);
    let beside = Beside { keys, realtime_ns, host: Some(b"vm\x01"), users: None };
    let shown = Shown {
        interval: &interval,
        processes: &[0],
        tasks: None,
        exited: &[],
        blocked: &[],
        boot_id: None,
        named: None,
        beside,
    };
    let mut line = Vec::new();
    append_interval(&mut line, &shown);
    let printed: serde_json::Value = serde_json::from_slice(&line).expect("valid JSON");
    assert_eq!(printed["host"], "vm\\x01");
    assert_eq!(printed["start_realtime"], "2023-11-14T22:13:20.000000001Z");
    assert_eq!(printed["end_realtime"], "2023-11-14T22:13:21.500000000Z");
    assert_eq!(printed["end_realtime_ns"], 1_700_000_001_500_000_000_u64);
    assert!(printed["processes"][0]["user"].is_null() && printed["processes"][0]["cgroup"].is_null());
    let section = section("More keys");
    for key in
        ["host", "start_realtime", "start_realtime_ns", "end_realtime", "end_realtime_ns", "user", "cgroup"]
    {
        assert!(section.contains(&format!("`{key}`")), "{key}");
        assert!(self::printed().get(key).is_none(), "{key} without being asked for");
    }
    for (name, _) in MoreKeys::NAMES {
        assert!(section.contains(&format!("| `{name}` |")), "{name}");
    }
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
    let states = make!(States {
        runqueue_wait_ns: 1,
        blocked_ns: 20,
        io_wait_ns: 7,
        sleep_ns: 300,
        stopped_ns: 4000,
        unseen_ns: 50_000,
        elapsed_ns: 654_321,
    });
    let id = TaskId { tid: Tid(9), start_time_ns: cpuledger_model::Boottime::from_ns(1) };
    let lived = make!(Lived { cpu_ns: 600_000, states });
    let exited = make!(Exited { states: Some(states), lived: Some(lived), ..exited(id, 600_000) });
    let mut line = Vec::new();
    let interval = Interval::default();
    let shown = Shown::without_rows(&interval);
    append_exited(&mut line, &exited, &shown);
    line.pop();
    let printed: serde_json::Value = serde_json::from_slice(&line).expect("valid JSON");
    let number = |key: &str| printed[key].as_u64().expect(key);
    let off = ["runqueue_wait_ns", "blocked_ns", "sleep_ns", "stopped_ns", "unseen_ns"].map(number);
    assert_eq!((number("cpu_ns") + off.iter().sum::<u64>(), number("io_wait_ns")), (number("elapsed_ns"), 7));
    assert_eq!(exited.state_imbalance_ns(), Some(0));
    for key in ["cpu", "runqueue_wait", "blocked", "io_wait", "sleep", "stopped", "unseen", "elapsed"] {
        assert_eq!(number(&format!("life_{key}_ns")), number(&format!("{key}_ns")), "{key}");
    }
}

#[test]
fn every_reason_is_in_the_document_and_adds_to_the_sum() {
    let by = make!(Unattributed {
        no_slot_ns: 1,
        forgotten_task_ns: 20,
        uncovered_cpu_ns: 300,
        not_attached_ns: 4000
    });
    let interval = make!(Interval { unattributed_by: by, unattributed_ns: Some(4321) });
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
    let (groups, pairs) = (printed_groups(), printed_pairs());
    assert_eq!(pairs["schema"], PAIRS_SCHEMA);
    // What is added up is explained with the rows.
    let rows = section("Rows of `processes` and `tasks`");
    assert_eq!(groups["schema"], GROUPS_SCHEMA);
    assert_eq!(groups["groups"][1]["path"], serde_json::json!(["make", "cc1"]));
    for (heading, object) in [
        ("The interval", &printed),
        ("Rows of `processes` and `tasks`", &printed["processes"][0]),
        ("Rows of `processes` and `tasks`", &printed["tasks"][0]),
        ("Rows of `exited`", &printed["exited"][0]),
        ("Rows of `blocked`", &printed["blocked"][0]),
        ("Rows of `disks`", &printed["disks"][0]),
        ("Because of what tasks waited", &printed["wait_caused_by"]),
        ("Rows of `wait_pairs`", &printed["wait_pairs"][0]),
        ("Rows of `pairs`", &pairs["pairs"][0]),
        ("Rows of `devices`", &printed_devices()[0]["devices"][0]),
        ("Rows of `wire`", &printed["wire"][0]),
        ("Rows of `on_wire`", &printed_wire()["on_wire"][0]),
        ("Rows of `groups`", &groups["groups"][0]),
        ("Rows of `groups`", &groups["groups"][1]),
    ] {
        let section = section(heading);
        for key in keys(object) {
            let is_in = |section: &str| section.contains(&format!("\n| `{key}` |"));
            let is_told = is_in(&section) || heading == "Rows of `groups`" && is_in(&rows);
            assert!(is_told, "{key} is missing in {heading}");
        }
    }
    let mut header = Vec::new();
    crate::csv::append_header(&mut header);
    let (csv, rows) = (section("CSV"), section("Rows of"));
    for column in String::from_utf8(header).expect("UTF-8").trim().split(',') {
        let name = format!("`{column}`");
        assert!(csv.contains(&name) || rows.contains(&format!("\n| {name} |")), "{column}");
    }
}
