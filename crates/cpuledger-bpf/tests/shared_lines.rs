//! By reading the programs: what all CPUs share is written only where a batch is taken or given back, and where something rare
//! happens. A switch, a fork and an exit write nothing else but lines of their CPU and of their task.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The functions that may write `control`, and how often they do.
const WRITERS: &[(&str, &str)] = &[
    ("list_slot_apart", "when a CPU goes offline"),
    ("list_waiter_apart", "when the kernel has hidden the end of a task"),
    ("next_place", "once in CPULEDGER_LIST_BATCH first runs, or first waits"),
    ("note_free_count", "when slots begin or cease to be low"),
    ("read_cut", "when a cut was published too late"),
    ("try_give_batch", "once in CPULEDGER_SLOT_BATCH slots"),
    ("try_take_batch", "once in CPULEDGER_SLOT_BATCH slots"),
];

/// What writes memory: an assignment to it, or an atomic operation with its address.
fn writes_control(line: &str) -> bool {
    let line = line.split("/*").next().unwrap_or(line);
    let is_assigned = line.trim_start().starts_with("control.") && line.contains('=') && !line.contains("==");
    is_assigned
        || line.contains("__sync_")
            && (line.contains("&control.") || line.contains("(place,") || line.contains("(reserved,"))
}

/// Where `control` is written, by function: a definition begins in the first column and has a parameter list.
fn writers(source: &str) -> BTreeMap<String, Vec<String>> {
    let (mut function, mut found) = (String::new(), BTreeMap::<String, Vec<String>>::new());
    for line in source.lines() {
        if line.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && line.contains('(') {
            let name = match line.strip_prefix("int BPF_PROG(") {
                Some(rest) => rest.split(',').next().unwrap_or_default(),
                None => line
                    .split('(')
                    .next()
                    .and_then(|head| head.split([' ', '*']).next_back())
                    .unwrap_or_default(),
            };
            name.clone_into(&mut function);
        }
        if writes_control(line) {
            found.entry(function.clone()).or_default().push(line.trim().to_owned());
        }
    }
    found
}

#[test]
fn only_batches_and_rare_events_write_what_all_cpus_share() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the sources are here") {
        let path = entry.expect("the sources are here").path();
        if path.ends_with("ledger.bpf.c") || path.to_string_lossy().ends_with(".bpf.h") {
            found.extend(writers(&fs::read_to_string(path).expect("the sources are here")));
        }
    }
    for (function, lines) in &found {
        assert!(
            WRITERS.iter().any(|(allowed, _)| allowed == function),
            "{function} writes what all CPUs share: {lines:?}. Count by CPU, in `struct cpuledger_cpu`, or in batches"
        );
    }
    for (allowed, _) in WRITERS {
        assert!(
            found.contains_key(*allowed),
            "{allowed} writes nothing that is shared: take it off the list"
        );
    }
}

#[test]
fn a_counter_that_all_cpus_share_is_found() {
    let source =
        "static __noinline int retire(u32 number)\n{\n\t__sync_fetch_and_add(&control.exits, 1);\n}\n";
    assert_eq!(writers(source).keys().collect::<Vec<_>>(), ["retire"]);
    let source = "SEC(\"tp_btf/x\")\nint BPF_PROG(on_x, int cpu)\n{\n\tcontrol.last = cpu;\n}\n";
    assert_eq!(writers(source).keys().collect::<Vec<_>>(), ["on_x"]);
}
