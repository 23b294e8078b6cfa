//! The rows of a saturated machine add up to its CPUs' time, whatever is born and dies.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cpuledger_load::online_cpus;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::Value;

use crate::cuts::{Asks, Cuts};
use crate::intervals::{Killed, list, number};
use crate::{begin, program};

const INTERVALS: usize = 10;
const LENGTH: Duration = Duration::from_secs(1);
/// Of one CPU, as `ptop` shows it.
const SLACK_PERCENT: f64 = 0.01;

/// A build without end: each part is a make of its own, with shells that start programs.
const BUILD: &str = "\
PARTS := $(shell i=0; while [ $$i -lt 50 ]; do echo part$$i; i=$$((i + 1)); done)
all: $(PARTS)
part%:
\t@$(MAKE) -s -f $(firstword $(MAKEFILE_LIST)) one two three
one two three:
\t@for step in 1 2 3; do /bin/true; (/bin/true | /bin/true); done
.PHONY: all one two three
";

/// A loop that stays on its CPU, so that none idles, and a build (TEST2 of Michael Holzheu, 2010).
fn load() -> Vec<Killed> {
    let mut loads = Vec::new();
    for cpu in online_cpus().expect("sysfs") {
        let staying = Killed::shell("while :; do :; done");
        let mut cpus = CpuSet::new();
        cpus.set(cpu as usize).expect("it has a place");
        sched_setaffinity(Pid::from_raw(staying.0.id().cast_signed()), &cpus).expect("it is ours");
        loads.push(staying);
    }
    fs::write("/tmp/endless.mk", BUILD).expect("a file");
    loads.push(Killed::shell("while make -s -j 5 -f /tmp/endless.mk; do :; done"));
    // They have been loaded, and all CPUs are busy.
    sleep(LENGTH);
    assert!(loads.last_mut().expect("the build").0.try_wait().expect("it is ours").is_none(), "make runs");
    loads
}

/// How far the sum of percentages is from 100 for each CPU.
fn missing_percent(sum_ns: u64, length_ns: u64, cpus: u32) -> f64 {
    let percent = sum_ns as f64 * 100.0 / length_ns as f64;
    println!("{percent:.4} % of {cpus} CPUs in {length_ns} ns");
    (f64::from(cpus) * 100.0 - percent).abs()
}

fn rows_add_up(asks: Asks) {
    let Some(_alone) = begin() else { return };
    let _load = load();
    let mut cuts = Cuts::begin(asks);
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

#[test]
fn rows_add_up_by_what_ran_root() {
    rows_add_up(Asks::Ran);
}

/// No report of an exit is needed.
#[test]
fn rows_add_up_by_all_tasks_root() {
    rows_add_up(Asks::All);
}

/// The nine parts of each row of what `ptop` prints add up to it, and all rows to the time there was.
#[test]
fn nine_columns_of_ptop_add_up_root() {
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
    let mut sums = [0; 9];
    for interval in &intervals {
        let mut sum_ns = 0;
        for row in list(&interval["processes"]) {
            let keys = ["self", "exited_threads", "exited_children"]
                .into_iter()
                .flat_map(|part| ["user", "system", "stolen"].map(|what| format!("{part}_{what}_ns")));
            let nine: Vec<u64> = keys.map(|key| number(&row[key.as_str()])).collect();
            assert_eq!(nine.iter().sum::<u64>(), number(&row["cpu_ns"]), "{row}");
            sum_ns += nine.iter().sum::<u64>();
            sums.iter_mut().zip(nine).for_each(|(sum, ns)| *sum += ns);
        }
        assert_eq!(sum_ns, number(&interval["attributed_ns"]));
        let length_ns = number(&interval["end_ns"]) - number(&interval["start_ns"]);
        worst = worst.max(missing_percent(sum_ns, length_ns, number(&interval["online_cpus"]) as u32));
    }
    println!("user, system and stolen time of self, exited threads, exited children: {sums:?} ns");
    assert!(worst <= SLACK_PERCENT, "{worst} %");
    assert!(sums[6] + sums[7] > LENGTH.as_nanos() as u64, "shells have forked");
}

/// The table of `--by parts` has them, too.
#[test]
fn by_parts_has_the_nine_columns_root() {
    let Some(_alone) = begin() else { return };
    let _load = load();
    let arguments = ["top", "--batch", "--by", "parts", "--source", "netlink", "-d", "1", "-n", "1"];
    let output = Command::new(program()).args(arguments).output().expect("cpuledger runs");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{output:?}");
    let sum = text.lines().find(|line| line.ends_with("(all processes)")).expect("the sum");
    let numbers: Vec<f64> = sum.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let whole = numbers.last().copied().expect("the sum of all");
    assert!((whole - 200.0).abs() < 0.05, "{sum}");
}

/// What `doctor` says of such a kernel.
#[test]
fn doctor_tells_what_the_kernel_has_root() {
    let Some(_alone) = begin() else { return };
    let output = Command::new(program()).arg("doctor").output().expect("cpuledger runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    println!("{text}");
    for part in ["taskstats version 21", "account of the dead", "the kernel says which tasks ran"] {
        assert!(text.contains(part), "{part}");
    }
}
