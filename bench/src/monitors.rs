//! S4, TEST 1: the CPU time that a monitor takes which refreshes every 2 s over many sleeping threads.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use cpuledger_load::{RaisedLimits, Sleepers};
use nix::sys::resource::{Usage, UsageWho, getrusage};

use crate::results::{Results, Row};

/// Options of `monitors`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Seconds that each monitor runs
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Sleeping threads
    #[arg(long, default_value_t = 100_000)]
    threads: usize,
}

/// Measures and prints.
///
/// # Errors
/// Without root, or when a monitor cannot be run.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let _limits =
        RaisedLimits::for_threads(arguments.threads).context("cannot raise the limits; run as root")?;
    let mut results = Results::create("monitors", &["top", "htop", "atop", "pidstat"])?;
    let _sleepers = Sleepers::start(arguments.threads.max(1), 1)?;
    let binary = std::env::current_exe()?.with_file_name("cpuledger");
    let binary = binary.to_str().context("the path of the binary is not UTF-8")?;
    let times = arguments.seconds / 2;
    println!("{:>8}  {:<44} {:>12} {:>10}", "threads", "monitor", "CPU time", "% of a CPU");
    for (name, line) in [
        ("cpuledger top -b -d 2", format!("{binary} top -b -d 2 -n {times}")),
        ("cpuledger top -H -b -d 2", format!("{binary} top -H -b -d 2 -n {times}")),
        ("cpuledger top -b -d 2 --source walk", format!("{binary} top -b -d 2 -n {times} --source walk")),
        ("top -b -d 2", format!("top -b -d 2 -n {times}")),
        ("top -H -b -d 2", format!("top -H -b -d 2 -n {times}")),
        ("htop -d 20", in_terminal(&format!("timeout --foreground {} htop -d 20", arguments.seconds))),
        ("atop 2", format!("atop 2 {times}")),
        ("pidstat 2", format!("pidstat 2 {times}")),
    ] {
        let used = cpu_time(&line)?;
        let percent = used.as_secs_f64() * 100.0 / f64::from(arguments.seconds);
        println!("{:>8}  {name:<44} {:>9.3} s {percent:>10.3}", arguments.threads, used.as_secs_f64());
        results.add(&Row::new(name, arguments.threads, &[used]))?;
    }
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// A full-screen program needs a terminal: script(1) gives it one.
fn in_terminal(line: &str) -> String {
    format!("TERM=xterm script -qc '{line}' /dev/null")
}

/// User and system time of a shell line and of all that it has waited for.
fn cpu_time(line: &str) -> anyhow::Result<Duration> {
    let before = children()?;
    let status = Command::new("sh")
        .args(["-c", line])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let code = status.code();
    // 124 is timeout(1) that has done its work; script(1) tells its own.
    ensure!(matches!(code, Some(0 | 124)), "{line}: {status}; install htop, atop, sysstat and util-linux");
    Ok(children()? - before)
}

fn children() -> anyhow::Result<Duration> {
    let usage: Usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let time = |time: nix::sys::time::TimeVal| {
        Duration::from_micros((time.tv_sec() * 1_000_000 + time.tv_usec()) as u64)
    };
    Ok(time(usage.user_time()) + time(usage.system_time()))
}
