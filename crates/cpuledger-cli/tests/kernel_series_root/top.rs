//! What `top` uses itself beside sleeping tasks, and what that of procps uses.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cpuledger_load::Sleepers;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use crate::intervals::Killed;
use crate::{begin, program};

const SLEEPERS: usize = 1_000;
const MANY: usize = 100_000;
/// Until it has started and shown its first rows. It begins with all tasks, which takes 24 s of a guest beside 100,000, without optimization.
const START: Duration = Duration::from_secs(60);
const LENGTH: Duration = Duration::from_secs(10);

/// CPU time of a process so far, with all its threads: the kernel's own clock of it.
fn used_ns(pid: u32) -> u64 {
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(pid.cast_signed())).expect("it lives");
    let time = clock_gettime(clock).expect("it lives");
    time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned()
}

/// The share of a CPU that a command uses in intervals of a second, in percent.
fn share_percent(name: &str, sleepers: usize, command: &mut Command) -> f64 {
    let mut running =
        Killed(command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().expect("it runs"));
    sleep(START);
    let (begin, begin_ns) = (Instant::now(), used_ns(running.0.id()));
    sleep(LENGTH);
    let (length, end_ns) = (begin.elapsed(), used_ns(running.0.id()));
    if let Some(status) = running.0.try_wait().expect("it is ours") {
        panic!("{name} has ended: {status}");
    }
    let percent = (end_ns - begin_ns) as f64 * 100.0 / length.as_nanos() as f64;
    // The harness has not ended its line.
    println!("\ntable top {name} {sleepers} {percent:.3}");
    percent
}

#[test]
fn top_uses_less_than_that_of_procps_root() {
    let Some(_alone) = begin() else { return };
    let sleepers = Sleepers::start(SLEEPERS, SLEEPERS).expect("sleepers");
    sleepers.settle().expect("they sleep");
    let theirs = share_percent("procps", SLEEPERS, Command::new("top").args(["-b", "-d", "1"]));
    let ours = share_percent(
        "cpuledger",
        SLEEPERS,
        Command::new(program()).args(["top", "--batch", "-d", "1", "--source", "netlink"]),
    );
    assert!(ours > 0.0 && ours < theirs, "{ours} % and {theirs} % of a CPU");
}

/// A limit of the kernel that is raised as long as this lives. A guest has no locks, by which tests of other machines take turns with it.
struct Raised {
    path: String,
    before: String,
}

impl Raised {
    fn to(name: &str, number: usize) -> Raised {
        let path = format!("/proc/sys/kernel/{name}");
        let before = fs::read_to_string(&path).expect("a limit");
        fs::write(&path, number.to_string()).expect("it needs root");
        Raised { path, before }
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        let _ = fs::write(&self.path, &self.before);
    }
}

/// How many times as much an interval may cost beside many.
const MOST_TIMES: f64 = 1.2;

#[test]
fn an_interval_costs_what_ran_root() {
    let Some(_alone) = begin() else { return };
    let _limits = ["pid_max", "threads-max"].map(|name| Raised::to(name, 4 * MANY));
    let percent = |sleepers: usize, processes: usize| {
        let sleepers_run = Sleepers::start(sleepers, processes).expect("sleepers");
        sleepers_run.settle().expect("they sleep");
        let mut command = Command::new(program());
        share_percent("ran", sleepers, command.args(["top", "--batch", "-d", "1", "--source", "netlink"]))
    };
    let (few, many) = (percent(100, 100), percent(MANY, 1_000));
    println!("{:.3} times", many / few);
    assert!(few > 0.0 && many <= few * MOST_TIMES, "{few} % and {many} % of a CPU");
}
