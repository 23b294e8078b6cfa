//! What all tasks together run and wait, beside what the kernel adds up of all CPUs.

use std::fs;

use cpuledger::clock::monotonic_ns;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval};
use cpuledger_load::scene::{scene_of_times, were_missed};
use cpuledger_load::{StatesPlan, is_emulated, not_run, online_cpus};
use cpuledger_model::make;

use crate::books::is_full;

const INTERVAL_NS: u64 = 150_000_000;
/// By how much the two accounts may be apart, in thousandths.
const KERNEL_THOUSANDTHS: u64 = 5;
/// The same where the CPU is emulated: it loses its turn between the two clocks.
const EMULATED_KERNEL_THOUSANDTHS: u64 = 200;

/// What the kernel adds up over all tasks since the boot, in nanoseconds; `None`: it does not.
#[derive(Debug, Clone, Copy)]
struct Sums {
    /// Of /proc/schedstat: how long tasks were executed and, each time before that, had waited. It is counted at a switch.
    ran_and_waited_ns: Option<u64>,
    /// Of /proc/pressure/cpu: how long at least one task waited, as a mean over those CPUs that have something to do.
    pressure_ns: Option<u64>,
}

impl Sums {
    fn now() -> Sums {
        let by_cpu = fs::read_to_string("/proc/schedstat").ok();
        let ran_and_waited_ns = by_cpu.map(|text| {
            let cpus = text.lines().filter(|line| line.starts_with("cpu"));
            let words = cpus.flat_map(|line| line.split(' ').skip(7).take(2));
            words.map(|word| word.parse::<u64>().expect("a number")).sum()
        });
        let pressure = fs::read_to_string("/proc/pressure/cpu").ok();
        let total = pressure.as_ref().and_then(|text| text.lines().next()?.split_once("total="));
        let pressure_ns = total.map(|(_, us)| us.parse::<u64>().expect("a number") * 1_000);
        Sums { ran_and_waited_ns, pressure_ns }
    }
}

/// What the kernel has not yet counted of a wait, or of a turn, is at most this.
const TURN_NS: u64 = 20_000_000;

/// The kernel's sums, and for how long they were read after a cut. What tasks do in that time is in one of the two accounts.
fn sums_after(cut_ns: u64) -> (Sums, u64) {
    let sums = Sums::now();
    (sums, monotonic_ns() - cut_ns)
}

/// What the ledger tells of all tasks in some intervals, and what the kernel adds up meanwhile.
struct Together {
    ran_ns: u64,
    waited_ns: u64,
    /// The most tasks that have waited in one interval.
    waiting: u64,
    before: Sums,
    after: Sums,
    /// For how long after their cuts the sums were read, in all.
    late_ns: u64,
}

/// Three tasks for each CPU run and wait.
fn run_and_wait_together() -> Together {
    let plan = StatesPlan { kind: "spin", processes: spinners(), ms: 3_600_000, ..StatesPlan::default() };
    let mut states = cpuledger_load::States::start(&plan).expect("tasks that use the CPUs");
    states.be_seen().and_then(|()| states.begin()).expect("they begin");
    let mut ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
    let mut interval = Interval::default();
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
    let mut close = || {
        let cut_ns = ledger.start_ns() + INTERVAL_NS;
        ledger.close(cut_ns, &wanted, &mut interval).expect("an interval closes");
        were_missed(interval.missed_switches.expect("the ledger counts them"));
        let living = interval.tasks.iter().filter_map(|row| row.usage.states);
        let dead = interval.exited.iter().flatten().filter_map(|exited| exited.states);
        let waits = living.chain(dead).map(|states| states.runqueue_wait_ns).filter(|ns| *ns > 0);
        let (tasks, waited_ns) = waits.fold((0, 0), |(tasks, sum), ns| (tasks + 1, sum + ns));
        (interval.attributed_ns, waited_ns, tasks, interval.end_ns)
    };
    let first_ns = (0..3).map(|_| close().3).last().expect("several");
    let (before, late_ns) = sums_after(first_ns);
    let mut last_ns = first_ns;
    let (mut ran_ns, mut waited_ns, mut waiting) = (0, 0, 0);
    let intervals = match (is_full(), is_emulated()) {
        (true, _) => 33,
        (false, true) => 5,
        (false, false) => 13,
    };
    for _ in 0..intervals {
        let (ran, waited, tasks, end_ns) = close();
        ran_ns += ran;
        last_ns = end_ns;
        waited_ns += waited;
        waiting = tasks.max(waiting);
    }
    let (after, also_late_ns) = sums_after(last_ns);
    Together { ran_ns, waited_ns, waiting, before, after, late_ns: late_ns + also_late_ns }
}

/// More of them make a machine wait for what others do.
const MOST_SPINNERS: usize = 48;

fn spinners() -> usize {
    3 * online_cpus().expect("sysfs").len()
}

impl Together {
    fn slack_ns(&self) -> u64 {
        let thousandths = if is_emulated() { EMULATED_KERNEL_THOUSANDTHS } else { KERNEL_THOUSANDTHS };
        let running_or_waiting = self.waiting + online_cpus().expect("sysfs").len() as u64;
        (self.ran_ns + self.waited_ns) * thousandths / 1_000
            + spinners() as u64 * TURN_NS
            + running_or_waiting * self.late_ns
    }
}

/// The kernel's sum differs by what is under way at the two ends.
#[test]
fn all_tasks_together_run_and_wait_as_long_as_the_kernel_says_root() {
    if Sums::now().ran_and_waited_ns.is_none() || spinners() > MOST_SPINNERS {
        return not_run(
            "it compares with the sums of all CPUs: have a kernel with /proc/schedstat, and 16 CPUs at most",
        );
    }
    scene_of_times(|| {
        let together = run_and_wait_together();
        let [before, after] = [&together.before, &together.after].map(|sums| sums.ran_and_waited_ns);
        let by_kernel_ns = after.expect("it was there") - before.expect("it was there");
        let told_ns = together.ran_ns + together.waited_ns;
        println!("ran and waited {told_ns} ns, {by_kernel_ns} ns by the kernel");
        assert!(told_ns.abs_diff(by_kernel_ns) <= together.slack_ns());
    });
}

/// While the kernel sees pressure on a CPU, one task or more waits for it: the mean over CPUs is at most the sum over tasks. This is at most
/// as many times the mean as there are tasks that wait.
#[test]
fn all_tasks_together_wait_as_long_as_the_pressure_allows_root() {
    if Sums::now().pressure_ns.is_none() || spinners() > MOST_SPINNERS {
        return not_run(
            "it compares with the kernel's pressure: have a kernel with /proc/pressure, and 16 CPUs at most",
        );
    }
    scene_of_times(|| {
        let together = run_and_wait_together();
        let [before, after] = [&together.before, &together.after].map(|sums| sums.pressure_ns);
        let some_ns = after.expect("it was there") - before.expect("it was there");
        let (waited_ns, slack_ns) = (together.waited_ns, together.slack_ns());
        println!("waited {waited_ns} ns, {} tasks at most; pressure {some_ns} ns", together.waiting);
        assert!(some_ns <= waited_ns + slack_ns);
        assert!(some_ns * together.waiting + slack_ns >= waited_ns);
    });
}
