//! What the service costs while nothing asks it for anything.

use std::thread::sleep;
use std::time::{Duration, Instant};

use cpuledger_load::Sleepers;
use serde::Serialize;

use super::daemon::{Daemon, Memory};
use crate::results::Results;
use crate::table::{Table, digits, thousands};

/// After the start: threads that were just made keep the machine busy for a while.
const SETTLING: Duration = Duration::from_secs(4);

#[derive(Debug, Serialize)]
struct Idle {
    sleeping_threads: usize,
    seconds: f64,
    cpu_ns: u64,
    memory: Memory,
}

/// Measures it beside this number of sleeping threads, at an interval of 1 s.
///
/// # Errors
/// When the service does not run.
pub fn measure(threads: usize, seconds: u64, results: &mut Results, table: &mut Table) -> anyhow::Result<()> {
    let _sleepers = Sleepers::start(threads.max(1), 1)?;
    let daemon = Daemon::start(1.0)?;
    sleep(SETTLING);
    let (before_ns, begin) = (daemon.cpu_ns()?, Instant::now());
    sleep(Duration::from_secs(seconds));
    let idle = Idle {
        sleeping_threads: threads,
        cpu_ns: daemon.cpu_ns()? - before_ns,
        seconds: begin.elapsed().as_secs_f64(),
        memory: daemon.memory()?,
    };
    let beside = format!("beside {} sleeping threads", thousands(threads));
    let share = idle.cpu_ns as f64 / 1e7 / idle.seconds;
    table.row([
        format!("its CPU time without readers at 1 s, {beside}"),
        format!("{} % of a CPU", digits(share)),
    ]);
    let mib = |bytes: u64| digits(bytes as f64 / f64::from(1 << 20));
    let Memory { own, files, rings, kernel } = idle.memory;
    table.row([
        format!("its memory, {beside}: own, of files, rings, maps and programs"),
        format!(
            "{} MiB: {} + {} + {} + {}",
            mib(idle.memory.sum()),
            mib(own),
            mib(files),
            mib(rings),
            mib(kernel)
        ),
    ]);
    results.add_any(&idle)
}
