//! What each task used while a command ran: two snapshots, the difference by task, and the sum, over one of four transports.
//!
//! ```text
//! cargo run --release --example two_snapshots -- file|netlink|walk|ledger COMMAND [ARGUMENT…]
//! ```
//!
//! "taskstats: Enhancements for precise process accounting" (Michael Holzheu, 2010) has such a program for its library. There a kernel
//! with patches keeps account of the dead. Here `ledger`, `walk` and `netlink` see them die. `file` sees them only where the kernel has
//! /proc/taskstats (see `kernel/series`): without it, time of tasks that died between the snapshots is missing from the sum.

mod transports;

use std::error::Error;
use std::io::{self, Write};
use std::process::Command;

use cpuledger::Interval;

use transports::{Snapshots, Transport, difference};

const USAGE: &str = "two_snapshots file|netlink|walk|ledger COMMAND [ARGUMENT…]";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let transport: Transport = arguments.next().ok_or(USAGE)?.parse()?;
    let mut command = Command::new(arguments.next().ok_or(USAGE)?);
    command.args(arguments);
    let mut snapshots = Snapshots::open(transport)?;
    // What the opening used is of no interest.
    snapshots.take()?;
    command.status()?;
    Ok(write(transport, snapshots.take()?)?)
}

/// Seconds with all digits: they add up.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn write(transport: Transport, interval: &Interval) -> io::Result<()> {
    let mut used = difference(interval);
    used.sort_by_key(|used| std::cmp::Reverse(used.cpu_ns));
    let mut out = io::BufWriter::new(io::stdout().lock());
    writeln!(out, "{:>7} {:>7} {:>16} {:>16}  NAME", "PID", "TID", "CPU SECONDS", "STOLEN")?;
    for task in &used {
        let end = if task.is_dead { " (dead)" } else { "" };
        let name = String::from_utf8_lossy(task.comm.as_bytes());
        writeln!(
            out,
            "{:>7} {:>7} {:>16} {:>16}  {name}{end}",
            task.pid.0,
            task.task.tid.0,
            seconds(task.cpu_ns),
            task.stolen_ns.map_or_else(|| "-".to_owned(), seconds)
        )?;
    }
    let sum_ns = used.iter().map(|used| used.cpu_ns).sum();
    writeln!(out, "{:>32}  sum of {} tasks by {transport}", seconds(sum_ns), used.len())?;
    if let Some(idle_ns) = interval.idle_ns {
        writeln!(out, "{:>32}  idle", seconds(idle_ns))?;
    }
    let length_ns = interval.end_ns - interval.start_ns;
    writeln!(
        out,
        "{:>32}  capacity: {} CPUs, {} s",
        seconds(interval.capacity_ns),
        interval.online_cpus,
        seconds(length_ns)
    )?;
    if interval.exited.is_none() {
        writeln!(out, "tasks that died meanwhile are not in the sum: {transport} does not see them")?;
    }
    out.flush()
}
