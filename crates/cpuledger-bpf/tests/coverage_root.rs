//! Every CPU that the kernel has online is in the intervals, from the first instant. So is one that a real-time task never yields, one
//! that is offline at the start, and one that comes and goes. Needs root. What the kernel says is read from /sys and its trace.

mod trace;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger_bpf::ledger::{Interval, Ledger, Options};
use cpuledger_load::not_run::MAY_UNPLUG;
use cpuledger_load::{Storm, StormPlan, is_emulated, not_run};

use trace::{Trace, now_ns};

const RT_RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const INTERVAL_NS: u64 = 20_000_000;

/// One test at a time: each needs the second CPU for itself.
static ALONE: Mutex<()> = Mutex::new(());

/// 200 intervals with CPULEDGER_TEST_FULL=1, else a few.
fn intervals() -> usize {
    if std::env::var_os("CPULEDGER_TEST_FULL").is_some_and(|value| value == "1") { 200 } else { 20 }
}

fn attach() -> Ledger {
    Ledger::attach(Options::default()).expect("the ledger attaches; it needs root")
}

/// The second of the CPUs that are online, whatever its id.
fn second_cpu() -> Option<u32> {
    let second = cpuledger_load::online_cpus().expect("/sys is mounted").into_iter().nth(1);
    if second.is_none() {
        not_run("it needs a second CPU, and this machine has one");
    }
    second
}

/// How many the kernel has online, from its list.
fn online_cpus() -> u32 {
    cpuledger_load::online_cpus().expect("/sys is mounted").len() as u32
}

/// A loop on one CPU under a real-time policy, which ends by itself: it is killed after some seconds on the CPU.
struct Spinner(Child);

impl Spinner {
    fn start(cpu: u32, policy: &[&str]) -> Spinner {
        let seconds = if is_emulated() { 30 } else { 5 };
        let script = format!("ulimit -t {seconds}; while :; do :; done");
        let child = Command::new("taskset")
            .args(["-c", &cpu.to_string(), "chrt"])
            .args(policy)
            .args(["sh", "-c", &script])
            .stderr(Stdio::inherit())
            .spawn()
            .expect("taskset and chrt are installed: package util-linux");
        let spinner = Spinner(child);
        let begin = Instant::now();
        while spinner.runtime_ns() < 10_000_000 {
            assert!(begin.elapsed() < Duration::from_secs(60), "the spinner does not come to run");
            thread::sleep(Duration::from_millis(5));
        }
        spinner
    }

    fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }

    /// By /proc, which the tick keeps up to date.
    fn runtime_ns(&self) -> u64 {
        cpuledger_load::runtime_ns(self.pid()).unwrap_or(0)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Real-time tasks may take all of a CPU while this lives.
struct Unthrottled(String);

impl Unthrottled {
    fn begin() -> Unthrottled {
        let before = fs::read_to_string(RT_RUNTIME).expect("there is a limit");
        fs::write(RT_RUNTIME, "-1").expect("root may lift it");
        Unthrottled(before)
    }
}

impl Drop for Unthrottled {
    fn drop(&mut self) {
        let _ = fs::write(RT_RUNTIME, self.0.trim());
    }
}

fn assert_balance(interval: &Interval<'_>) {
    assert_eq!(interval.imbalance_ns(), 0, "{:?}", interval.cpus);
}

/// The ledger attaches beside a task that does not give its CPU away, and books all of its time.
fn assert_covers(spinner: &Spinner) {
    let begin = Instant::now();
    let mut ledger = attach();
    let took = begin.elapsed();
    assert!(spinner.runtime_ns() > 0, "the attachment has waited for the spinner, for {took:?}");
    let (before_ns, start_ns) = (spinner.runtime_ns(), ledger.start_ns());
    let mut booked_ns = 0;
    let mut count = 0;
    while count < if is_emulated() { 6 } else { 10.max(intervals() / 4) } {
        let interval = ledger.close_interval(ledger.start_ns() + INTERVAL_NS).expect("an interval closes");
        assert_balance(&interval);
        let length_ns = interval.end_ns - interval.start_ns;
        assert_eq!(interval.capacity_ns(), length_ns * u64::from(online_cpus()));
        assert_eq!(interval.online_cpus(), online_cpus());
        assert_eq!(interval.unattributed_ns(), 0);
        booked_ns += interval
            .tasks
            .iter()
            .filter(|task| task.slot.tid == spinner.pid())
            .map(|task| task.wall_ns)
            .sum::<u64>();
        count += 1;
    }
    let used_ns = spinner.runtime_ns() - before_ns;
    let passed_ns = ledger.start_ns() - start_ns;
    println!(
        "attached in {took:?}; {count} intervals: {booked_ns} ns booked, {used_ns} ns by /proc, of {passed_ns} ns"
    );
    // /proc is behind by a tick at each end, and was read before and after.
    assert!(booked_ns + 30_000_000 > used_ns && booked_ns <= passed_ns, "{booked_ns} ns of {used_ns} ns");
    // An emulated CPU loses its turn to others of a busy host, and has interrupts to catch up with: /proc says the same.
    let others_ns = if is_emulated() { passed_ns / 4 } else { passed_ns / 10 };
    assert!(booked_ns + others_ns + 30_000_000 > passed_ns, "{booked_ns} ns of {passed_ns} ns");
}

#[test]
fn a_cpu_that_a_fifo_task_keeps_is_covered_root() {
    let _alone = ALONE.lock();
    if let Some(cpu) = second_cpu() {
        assert_covers(&Spinner::start(cpu, &["-f", "50"]));
    }
}

/// The kernel takes back the share of a deadline task that has died when its period is over. If the limit of real-time tasks changes before
/// that, Linux 7.3 counts the shares of the living anew. Then it takes that one back from a sum that does not have it, and `total_bw` of
/// the kernel's debug file is negative. From then on no CPU can be taken offline, and the machine cannot be suspended (EBUSY).
const SHARE_IS_BACK: Duration = Duration::from_secs(1);

/// Its name is the last: from Linux 6.12 to 6.18 at least, a CPU on which such a task ran cannot be taken offline any more (EBUSY), be
/// the task gone. 6.1 and 7.3 let it go.
#[test]
fn the_cpu_that_a_deadline_task_keeps_is_covered_root() {
    let _alone = ALONE.lock();
    if let Some(cpu) = second_cpu() {
        let _unthrottled = Unthrottled::begin();
        const ALL_OF_100_MS: [&str; 8] = ["-d", "-T", "100000000", "-D", "100000000", "-P", "100000000", "0"];
        assert_covers(&Spinner::start(cpu, &ALL_OF_100_MS));
        thread::sleep(SHARE_IS_BACK);
    }
}

/// A CPU that a test may take offline; it is online when this ends, whatever has happened.
struct Removable {
    cpu: u32,
    control: PathBuf,
}

impl Removable {
    /// The second one, if a test may.
    fn take() -> Option<Removable> {
        if std::env::var_os(MAY_UNPLUG).is_none() {
            not_run(&format!("it takes a CPU offline: set {MAY_UNPLUG}=1 on a machine of your own"));
            return None;
        }
        let cpu = second_cpu()?;
        Some(Removable { cpu, control: format!("/sys/devices/system/cpu/cpu{cpu}/online").into() })
    }

    fn set_online(&self, online: bool) {
        fs::write(&self.control, if online { "1" } else { "0" }).expect("it can be taken offline and online");
    }
}

impl Drop for Removable {
    fn drop(&mut self) {
        let _ = fs::write(&self.control, "1");
    }
}

#[test]
fn a_cpu_that_is_offline_at_the_start_has_no_capacity_until_it_comes_root() {
    let _alone = ALONE.lock();
    let Some(removable) = Removable::take() else { return };
    removable.set_online(false);
    let mut ledger = attach();
    let mut close = || {
        let interval = ledger.close_interval(ledger.start_ns() + INTERVAL_NS).expect("an interval closes");
        assert_balance(&interval);
        (interval.capacity_ns(), interval.end_ns - interval.start_ns, interval.online_cpus())
    };
    let others = online_cpus();
    for _ in 0..3 {
        let (capacity_ns, length_ns, cpus) = close();
        assert_eq!((capacity_ns, cpus), (length_ns * u64::from(others), others));
    }
    removable.set_online(true);
    close();
    let (capacity_ns, length_ns, cpus) = close();
    assert_eq!((capacity_ns, cpus), (length_ns * u64::from(others + 1), others + 1));
}

/// Stops a thread whatever has happened, or a scope would wait for it for ever.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Most that the offline time of an interval differs, in the median, from that between the events of the kernel's trace. They have
/// microseconds, and their probe reads the clock some microseconds before or after the hook.
const AROUND_EVENT_NS: u64 = 20_000;

/// Offline time of the CPU in each interval lies between what the events before and after each change in the kernel's own trace say. It
/// is that from the event by which the CPU is down to its first switch.
#[test]
fn capacity_follows_a_cpu_that_comes_and_goes_in_a_storm_root() {
    let _alone = ALONE.lock();
    let Some(removable) = Removable::take() else { return };
    let Some(trace) = Trace::start(removable.cpu) else {
        return not_run("it needs the kernel's trace: mount tracefs on /sys/kernel/tracing");
    };
    let storm = Storm::start(&StormPlan { workers: 2, ..StormPlan::default() }).expect("processes are made");
    let mut ledger = attach();
    let all = online_cpus();
    let stop = AtomicBool::new(false);
    let mut told: Vec<(u64, u64, u64)> = Vec::new();
    thread::scope(|scope| {
        let _stopping = Stopping(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for online in [false, true] {
                    removable.set_online(online);
                    thread::sleep(Duration::from_millis(35));
                }
            }
        });
        let (enough, most) = if is_emulated() { (25, 400) } else { (2 * intervals(), 2 * intervals()) };
        // Where many CPUs are emulated, it takes long until one has gone.
        let has_gone = |told: &[(u64, u64, u64)]| told.iter().any(|(_, _, offline_ns)| *offline_ns > 0);
        while told.len() < enough || (told.len() < most && !has_gone(&told)) {
            let interval =
                ledger.close_interval(ledger.start_ns() + INTERVAL_NS).expect("an interval closes");
            assert_balance(&interval);
            assert_eq!(interval.no_slot_ns() + interval.stray_ns, 0);
            let length_ns = interval.end_ns - interval.start_ns;
            let offline_ns = length_ns * u64::from(all) - interval.capacity_ns();
            told.push((interval.start_ns, interval.end_ns, offline_ns));
        }
    });
    storm.stop().expect("the storm ends");
    let changes = trace.changes();
    let times = changes.len() / 2;
    let end_ns = now_ns();
    let (mut widest_ns, mut apart_ns) = (0, Vec::new());
    for &(start_ns, cut_ns, offline_ns) in &told {
        let (least_ns, most_ns) = trace::offline_ns(&changes, start_ns, cut_ns, end_ns);
        widest_ns = widest_ns.max(most_ns - least_ns);
        let between_ns = trace::offline_between_events_ns(&changes, start_ns, cut_ns);
        apart_ns.extend(between_ns.map(|between_ns| between_ns.abs_diff(offline_ns)));
        assert!(
            (least_ns..=most_ns).contains(&offline_ns),
            "{offline_ns} ns, by the trace {least_ns} to {most_ns}"
        );
    }
    apart_ns.sort_unstable();
    let median_ns = apart_ns.get(apart_ns.len() / 2).copied().unwrap_or(u64::MAX);
    println!(
        "{} intervals, CPU {} went and came {times} times; the trace knows its time to {widest_ns} ns, and from event to event it is \
         {median_ns} ns apart in the median of {}, at most {} ns",
        told.len(),
        removable.cpu,
        apart_ns.len(),
        apart_ns.last().copied().unwrap_or(u64::MAX)
    );
    // An emulated CPU that waits for its turn between the two stands still for tens of milliseconds.
    assert!(median_ns <= AROUND_EVENT_NS || is_emulated(), "{apart_ns:?}");
    assert!(times > 0 && told.iter().any(|(_, _, offline_ns)| *offline_ns > 0), "{times} changes");
}
