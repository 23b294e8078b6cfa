//! What the ledger says of the machine, and of cgroups, against what the kernel counts itself. Needs root.
//!
//! Each is bracketed: the kernel's count is read before and after both cuts of an interval. What the ledger says lies between the
//! growth from the inner readings and that from the outer ones, but for what the kernel's count may be off, which each test derives.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cpuledger::interval::Row;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval};
use cpuledger_load::scene::{scene, were_missed};
use cpuledger_load::{Cgroup, Ticks, is_emulated, online_cpus};
use cpuledger_model::make;

/// What is off does not grow with it; on an emulated CPU less of it shows as much, as there all that is off is more.
fn interval_ns() -> u64 {
    if is_emulated() { 500_000_000 } else { 1_000_000_000 }
}

/// Number of them that are compared.
fn count() -> usize {
    if is_emulated() { 2 } else { 3 }
}

/// What /proc/stat rounds to, and the longest tick of a kernel: 10 ms.
const TICK_NS: u64 = 10_000_000;

/// A shell at work, killed at the end.
struct Shell(Child);

impl Shell {
    fn start(script: &str, arguments: &[&std::ffi::OsStr]) -> Shell {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "sh"]).args(arguments).stdin(Stdio::null());
        Shell(command.spawn().expect("a shell"))
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Closes an interval, with what `read` says before and after its second cut.
fn close<T>(ledger: &mut Ledger, read: &impl Fn() -> T) -> (T, Interval, T) {
    let mut interval = Interval::default();
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
    let cut_ns = ledger.start_ns() + interval_ns();
    // The cut lies a little behind this: that is part of the bracket.
    std::thread::sleep(std::time::Duration::from_nanos(interval_ns() - 2 * TICK_NS));
    let before = read();
    ledger.close(cut_ns, &wanted, &mut interval).expect("an interval closes");
    (before, interval, read())
}

/// For each of some intervals: the readings around its first cut, and its second, and the interval itself.
fn intervals<T: Clone>(read: impl Fn() -> T, mut each: impl FnMut([&T; 4], &Interval)) {
    let mut ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
    let (mut outer, _, mut inner) = close(&mut ledger, &read);
    for _ in 0..count() {
        let (before, interval, after) = close(&mut ledger, &read);
        were_missed(interval.missed_switches.expect("the ledger counts them"));
        each([&outer, &inner, &before, &after], &interval);
        (outer, inner) = (before, after);
    }
}

/// Maximum difference between the time that the kernel calls idle and the idle time of the ledger. An interrupt of an idle CPU takes
/// some of it, and so does a switch to or from the idle task.
fn around_idle_ns() -> u64 {
    // An emulated CPU may wait in it for one of the host's: some milliseconds, where that is busy.
    if is_emulated() { 5_000_000 } else { 10_000 }
}

/// The time that was not idle is what was attributed. The kernel measures idle time, and rounds it, twice for the machine, to 10 ms; it
/// leaves out interrupts, and the way into and out of the idle loop.
fn busy_time_is_that_of_proc_stat() {
    let read = || Ticks::now().expect("procfs");
    intervals(read, |[outer, inner, before, after], interval| {
        let cpus = online_cpus().expect("sysfs").len() as u64;
        assert_eq!(u64::from(interval.online_cpus), cpus);
        let least = before.idle.saturating_sub(inner.idle).as_nanos() as u64;
        let most = after.idle.saturating_sub(outer.idle).as_nanos() as u64;
        let events = (after.switches - outer.switches) + (after.interrupted - outer.interrupted);
        let idle_ns = interval.idle_ns.expect("the ledger knows");
        println!(
            "idle {idle_ns} ns, by the kernel {least} to {most} ns, {events} switches and interrupts; attributed {} of {} ns",
            interval.attributed_ns, interval.capacity_ns
        );
        let off_ns = TICK_NS * cpus.max(2);
        assert!(idle_ns + off_ns >= least, "{idle_ns} ns idle, and the kernel has {least} ns");
        assert!(idle_ns <= most + off_ns + events * around_idle_ns(), "{idle_ns} ns idle of {most} ns");
        assert_eq!(interval.attributed_ns, interval.capacity_ns - idle_ns);
    });
}

#[test]
fn busy_time_is_that_of_proc_stat_root() {
    scene(|| {
        busy_time_is_that_of_proc_stat();
        let _spinner = Shell::start("while :; do :; done", &[]);
        busy_time_is_that_of_proc_stat();
        let _forker = Shell::start("while :; do /bin/true; done", &[]);
        busy_time_is_that_of_proc_stat();
    });
}

fn usage_ns(cgroup: &Cgroup) -> u64 {
    cgroup.usage_ns().expect("the kernel says what it has charged")
}

/// Members that spin, in cgroups of one, two and three. The kernel charges a CPU's member at the tick and at switches.
fn each_cgroup_has_what_the_kernel_charges_it() {
    let groups: Vec<Cgroup> =
        (0..3).map(|_| Cgroup::new("cpuacct").expect("a cgroup is made; it needs root")).collect();
    let script = "echo $$ > \"$1\"/cgroup.procs && while :; do :; done";
    let shells = groups
        .iter()
        .zip(1..)
        .flat_map(|(group, count)| (0..count).map(|_| Shell::start(script, &[group.path().as_os_str()])));
    let _shells: Vec<Shell> = shells.collect();
    let read = || groups.iter().map(usage_ns).collect::<Vec<u64>>();
    let off_ns = TICK_NS * online_cpus().expect("sysfs").len() as u64;
    let mut compared_ns = 0;
    intervals(read, |[outer, inner, before, after], interval| {
        for (place, group) in groups.iter().enumerate() {
            let id = group.id().expect("it is there");
            let mut told_ns = 0;
            for Row { task: row, usage, .. } in &interval.processes {
                if (if group.is_v1() { row.cgroup_v1_cpu_id } else { row.cgroup_id }) == id {
                    told_ns += usage.cpu_ns - usage.stolen_ns.unwrap_or(0).min(usage.cpu_ns);
                }
            }
            let (least, most) = (before[place] - inner[place], after[place] - outer[place]);
            println!("{} members: {told_ns} ns, charged {least} to {most} ns", place + 1);
            assert!(
                told_ns + off_ns >= least && told_ns <= most + off_ns,
                "{told_ns} of {least} to {most} ns"
            );
            compared_ns += told_ns;
        }
    });
    assert!(compared_ns > interval_ns() / 10, "they have run: {compared_ns} ns");
}

#[test]
fn each_cgroup_has_what_the_kernel_charges_it_root() {
    scene(each_cgroup_has_what_the_kernel_charges_it);
}

/// The processes that the kernel hides: a ledger that lists all has their rows from /proc.
fn hidden() -> Vec<nix::unistd::Pid> {
    let mut ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
    let mut interval = Interval::default();
    let wanted = make!(Wanted { fields: FieldSet::EMPTY, pids: &[], all: true });
    ledger.close(0, &wanted, &mut interval).expect("an interval closes");
    let pids = interval.processes.iter().map(|row| row.task.tid);
    let hidden = pids.filter(|pid| interval.from_procfs.contains(pid));
    hidden.map(|pid| nix::unistd::Pid::from_raw(pid.0)).collect()
}

/// What they have used, by their own clocks.
fn clocks_ns(pids: &[nix::unistd::Pid]) -> u64 {
    let clocks = pids.iter().map(|pid| nix::time::clock_getcpuclockid(*pid).expect("it lives"));
    clocks.map(|clock| Duration::from(clock.now().expect("its clock")).as_nanos() as u64).sum()
}

/// What hidden processes use is told, and nothing where none is hidden. No task is told to have lived for longer than it did: what came before its
/// birth is with the task that was seen to have the CPU then.
#[test]
fn what_hidden_processes_use_is_told_root() {
    scene(|| {
        let hidden = hidden();
        // Process 1 reaps what they leave behind.
        let orphans = "while :; do (setsid true &); (setsid true &); (setsid true &); done";
        let _shells = [Shell::start(orphans, &[]), Shell::start(orphans, &[])];
        let mut deaths = 0;
        intervals(
            || clocks_ns(&hidden),
            |[outer, inner, before, after], interval| {
                let told_ns = interval.hidden_cpu_ns.expect("the ledger knows it");
                println!(
                    "{} are hidden: {told_ns} ns, by their clocks {} to {}",
                    hidden.len(),
                    before - inner,
                    after - outer
                );
                assert!((before - inner..=after - outer).contains(&told_ns), "{told_ns} ns");
                assert_eq!(interval.imbalance_ns(), Some(0));
                for exited in interval.exited.iter().flatten() {
                    let elapsed_ns = exited.states.expect("slots suffice").elapsed_ns;
                    assert!(elapsed_ns <= exited.exit.lifetime_ns, "{exited:?}");
                    deaths += 1;
                }
            },
        );
        assert!(deaths > 100, "{deaths} deaths");
        assert!(hidden.is_empty() || clocks_ns(&hidden) > 0);
    });
}
