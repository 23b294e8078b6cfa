//! The rows of a saturated machine add up to its CPUs' time, whatever is born and dies.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cpuledger_load::online_cpus;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::Value;

use crate::cuts::Cuts;
use crate::intervals::{Killed, list, number};
use crate::{begin, program};

const INTERVALS: usize = 10;
const LENGTH: Duration = Duration::from_secs(1);
/// Of one CPU, as `top` shows it.
const SLACK_PERCENT: f64 = 0.1;

/// A loop that stays on its CPU, so that none idles, and a shell that forks, for each CPU.
fn load() -> Vec<Killed> {
    let mut loads = Vec::new();
    for cpu in online_cpus().expect("sysfs") {
        let staying = Killed::shell("while :; do :; done");
        let mut cpus = CpuSet::new();
        cpus.set(cpu as usize).expect("it has a place");
        sched_setaffinity(Pid::from_raw(staying.0.id().cast_signed()), &cpus).expect("it is ours");
        loads.extend([staying, Killed::shell("while :; do /bin/true; done")]);
    }
    // They have been loaded, and all CPUs are busy.
    sleep(LENGTH);
    loads
}

/// How far the sum of percentages is from 100 for each CPU.
fn missing_percent(sum_ns: u64, length_ns: u64, cpus: u32) -> f64 {
    let percent = sum_ns as f64 * 100.0 / length_ns as f64;
    println!("{percent:.4} % of {cpus} CPUs in {length_ns} ns");
    (f64::from(cpus) * 100.0 - percent).abs()
}

/// No exit is looked at, and none is reported.
#[test]
fn rows_add_up_without_a_look_at_exits_root() {
    let Some(_alone) = begin() else { return };
    let _load = load();
    let mut cuts = Cuts::begin();
    let (mut inherited_ns, mut worst) = (0, 0.0_f64);
    let mut deadline = Instant::now();
    for _ in 0..INTERVALS {
        deadline += LENGTH;
        sleep(deadline.saturating_duration_since(Instant::now()));
        cuts.cut();
        let interval = &cuts.interval;
        worst =
            worst.max(missing_percent(interval.attributed_ns, interval.length_ns(), interval.online_cpus));
        inherited_ns += interval.processes.iter().filter_map(|row| row.usage.exited_children_ns).sum::<u64>();
    }
    println!("{inherited_ns} ns of the dead");
    assert!(worst <= SLACK_PERCENT, "{worst} %");
    assert!(inherited_ns > LENGTH.as_nanos() as u64, "shells have forked");
}

/// The same of what `top` prints.
#[test]
fn rows_of_top_add_up_root() {
    let Some(_alone) = begin() else { return };
    let _load = load();
    let arguments = ["top", "--batch", "--format", "json", "--source", "netlink", "-d", "1", "-n", "10"];
    let output =
        Command::new(program()).args(arguments).stderr(Stdio::inherit()).output().expect("cpuledger runs");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let intervals: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("an interval")).collect();
    assert_eq!(intervals.len(), INTERVALS);
    let mut worst = 0.0_f64;
    for interval in &intervals {
        let rows = list(&interval["processes"]).iter();
        let sum_ns = rows.clone().map(|row| number(&row["cpu_ns"])).sum();
        assert_eq!(sum_ns, number(&interval["attributed_ns"]));
        for row in rows {
            let parts = ["self_ns", "exited_threads_ns", "exited_children_ns"].map(|key| number(&row[key]));
            assert_eq!(parts.iter().sum::<u64>(), number(&row["cpu_ns"]), "{row}");
        }
        let length_ns = number(&interval["end_ns"]) - number(&interval["start_ns"]);
        worst = worst.max(missing_percent(sum_ns, length_ns, number(&interval["online_cpus"]) as u32));
    }
    assert!(worst <= SLACK_PERCENT, "{worst} %");
}

/// What `doctor` says of such a kernel.
#[test]
fn doctor_tells_what_the_kernel_has_root() {
    let Some(_alone) = begin() else { return };
    let output = Command::new(program()).arg("doctor").output().expect("cpuledger runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    println!("{text}");
    for part in ["taskstats version 21", "account of the dead"] {
        assert!(text.contains(part), "{part}");
    }
}
