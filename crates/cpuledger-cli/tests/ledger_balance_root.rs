//! `cpuledger top --batch` on the ledger, under a mixed load: it balances, with too few slots too. Needs root.

use std::process::{Command, Stdio};

use cpuledger_load::scene::alone;
use cpuledger_load::{ForkingShells, Mixture, is_emulated, online_cpus};
use serde_json::Value;

fn top(arguments: &[&str]) -> String {
    // The load keeps a hundred tasks ready to run: at the same priority, to load the programs alone would take long.
    let mut command = Command::new("nice");
    command.args(["-n", "-20", env!("CARGO_BIN_EXE_cpuledger")]);
    command.args(["top", "--batch", "--source", "ledger"]).args(arguments).stdin(Stdio::null());
    let output = command.output().expect("cpuledger runs");
    assert!(output.status.success(), "{}; it needs root", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a count"))
}

/// Checks the sums of each interval, and that they follow each other.
fn balanced(text: &str) -> Vec<Value> {
    let intervals: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
    for interval in &intervals {
        let of = |key: &str| number(&interval[key]);
        assert_eq!(interval["source"], "ledger");
        assert_eq!(
            of("attributed_ns") + of("idle_ns") + of("unattributed_ns"),
            of("capacity_ns"),
            "to the nanosecond"
        );
        assert_eq!(of("online_cpus"), online_cpus().expect("sysfs").len() as u64, "as /sys has it");
        assert_eq!(of("capacity_ns"), (of("end_ns") - of("start_ns")) * of("online_cpus"));
        let rows = interval["processes"].as_array().expect("a list");
        let sum: u64 = rows.iter().map(|row| number(&row["cpu_ns"])).sum();
        assert_eq!(sum, of("attributed_ns"));
        for row in rows {
            let parts = ["self_ns", "exited_threads_ns", "exited_children_ns"].map(|key| number(&row[key]));
            assert_eq!(number(&row["cpu_ns"]), parts.iter().sum::<u64>());
        }
    }
    assert!(intervals.windows(2).all(|pair| pair[0]["end_ns"] == pair[1]["start_ns"]));
    intervals
}

#[test]
fn a_mixed_storm_balances_root() {
    let _alone = alone();
    let mixture = Mixture::start().expect("a mixed load; it needs cc");
    let lengths = [("0.1", 8), ("0.7", 2), ("2", 1)];
    let top = |(delay, iterations): (&str, usize)| {
        top(&["--format", "json", "-d", delay, "-n", &iterations.to_string(), "-H"])
    };
    let texts = lengths.map(top);
    drop(mixture);
    for (text, (_, iterations)) in texts.iter().zip(lengths) {
        let intervals = balanced(text);
        assert_eq!(intervals.len(), iterations);
        for interval in &intervals {
            assert_eq!(
                (number(&interval["unattributed_ns"]), number(&interval["unidentified_exits"])),
                (0, 0)
            );
        }
    }
}

/// 64 slots are fewer than a shell's children in an interval: names are lost, time is not, and it is said.
#[test]
fn too_few_slots_lose_names_and_say_so_root() {
    let _alone = alone();
    let shells = ForkingShells::start(3).expect("shells");
    // On an emulated CPU it takes longer until more have died than there are slots.
    let [short, count, long] = if is_emulated() { ["6", "1", "6"] } else { ["0.4", "5", "1"] };
    let text = top(&["--format", "json", "-d", short, "-n", count, "--slots", "64"]);
    let page = top(&["-d", long, "-n", "1", "--slots", "64"]);
    drop(shells);
    let intervals = balanced(&text);
    let unidentified: u64 = intervals.iter().map(|interval| number(&interval["unidentified_exits"])).sum();
    let unattributed: u64 = intervals.iter().map(|interval| number(&interval["unattributed_ns"])).sum();
    let unnamed: u64 = intervals
        .iter()
        .flat_map(|interval| interval["processes"].as_array().expect("a list"))
        .filter(|row| row["comm"].is_null())
        .map(|row| number(&row["cpu_ns"]))
        .sum();
    println!(
        "{unidentified} exits without a name, {unattributed} ns unattributed, {unnamed} ns of nameless processes"
    );
    assert!(unidentified > 0);
    let head: Vec<&str> = page.lines().take_while(|line| !line.is_empty()).collect();
    let told = head.iter().find(|line| line.starts_with("Not exact: ")).unwrap_or_else(|| panic!("{head:?}"));
    // On an emulated CPU no more may come to live at a time than there are slots, though more die: then only names are lost.
    assert!(
        told.contains(" exited tasks have no name") && (told.contains("--slots") || is_emulated()),
        "{told}"
    );
    assert!(!page.contains("Balanced: every"), "{page}");
}
