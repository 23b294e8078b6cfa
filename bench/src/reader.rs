//! What an interval costs its reader, with and without 100,000 sleeping threads, and how long attaching takes.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval, Snapshot, machine};
use cpuledger_load::{RaisedLimits, Sleepers};
use rustix::time::{ClockId, clock_gettime};

use crate::measure::median;
use crate::results::{Results, Row};

/// Options of `reader`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted rounds, each without and with the sleeping threads
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Intervals of a round
    #[arg(long, default_value_t = 40)]
    intervals: usize,
    /// Sleeping threads
    #[arg(long, default_value_t = 100_000)]
    threads: usize,
}

/// Length of an interval.
const INTERVAL_NS: u64 = 50_000_000;

/// Measures and prints.
///
/// # Errors
/// Without root, or when an interval is out of balance.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let _limits =
        RaisedLimits::for_threads(arguments.threads).context("cannot raise the limits; run as root")?;
    let mut results = Results::create("reader", &[])?;
    let populations = [0, arguments.threads];
    let mut rounds = [Rounds::default(), Rounds::default()];
    for _ in 0..arguments.rounds {
        for (threads, rounds) in populations.into_iter().zip(&mut rounds) {
            // One process more or less is no difference; its threads are.
            let _sleepers = Sleepers::start(threads.max(1), 1)?;
            rounds.measure(arguments.intervals)?;
        }
    }
    println!("{:>8}  {:<44} {:>12}", "threads", "subject", "median");
    for (threads, rounds) in populations.into_iter().zip(&rounds) {
        for (name, durations) in [
            ("CPU time of the reader, an interval", &rounds.reading),
            ("of it, a sleep of this length by itself", &rounds.sleeping),
            ("attach, with all that a first interval needs", &rounds.attaching),
            ("detach", &rounds.detaching),
        ] {
            println!("{threads:>8}  {name:<44} {:>9.1} us", median(durations).as_secs_f64() * 1e6);
            results.add(&Row::new(name, threads, durations))?;
        }
        println!("{threads:>8}  {:<44} {:>12}", "active tasks, at most", rounds.active);
    }
    let ratio = median(&rounds[1].reading).as_secs_f64() / median(&rounds[0].reading).as_secs_f64();
    println!("{:>8}  {:<44} {ratio:>12.3}", "", "ratio of the CPU time of the reader");
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// What was measured at one population.
#[derive(Debug, Default)]
struct Rounds {
    reading: Vec<Duration>,
    sleeping: Vec<Duration>,
    attaching: Vec<Duration>,
    detaching: Vec<Duration>,
    active: usize,
}

impl Rounds {
    fn measure(&mut self, intervals: usize) -> anyhow::Result<()> {
        let begin = Instant::now();
        let mut ledger = Ledger::open(Options::default())?;
        self.attaching.push(begin.elapsed());
        let (mut snapshot, mut interval) = (Snapshot::default(), Interval::default());
        let wanted = Wanted { fields: FieldSet::ALL, pids: &[], all: false };
        for index in 0..intervals {
            let cut_ns = machine::monotonic_ns() + INTERVAL_NS;
            let begin = thread_cpu();
            ledger.close(cut_ns, &wanted, &mut snapshot, &mut interval)?;
            let used = thread_cpu() - begin;
            ensure!(interval.imbalance_ns() == Some(0), "out of balance: {:?}", interval.imbalance_ns());
            let begin = thread_cpu();
            std::thread::sleep(Duration::from_nanos(INTERVAL_NS));
            let slept = thread_cpu() - begin;
            // In the first ones the machine is still busy with the threads that were made.
            if index >= intervals / 4 {
                self.reading.push(used);
                self.sleeping.push(slept);
                self.active = self.active.max(snapshot.tasks.len());
            }
        }
        let begin = Instant::now();
        drop(ledger);
        self.detaching.push(begin.elapsed());
        Ok(())
    }
}

/// CPU time of this thread.
fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
