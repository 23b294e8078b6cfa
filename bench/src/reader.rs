//! What an interval costs its reader, with and without 100,000 sleeping threads, and how long attaching takes.

use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Compare with a ledger that does not keep what tasks do off the CPU, over 1 and 100 tasks that run and sleep
    #[arg(long)]
    states: bool,
}

/// Length of an interval.
const INTERVAL_NS: u64 = 50_000_000;

/// Measures and prints.
///
/// # Errors
/// Without root, or when an interval is out of balance.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.states {
        return with_and_without_states(arguments);
    }
    let _limits =
        RaisedLimits::for_threads(arguments.threads).context("cannot raise the limits; run as root")?;
    let mut results = Results::create("reader", &[])?;
    let populations = [0, arguments.threads];
    let mut rounds = [Rounds::default(), Rounds::default()];
    for _ in 0..arguments.rounds {
        for (threads, rounds) in populations.into_iter().zip(&mut rounds) {
            // One process more or less is no difference; its threads are.
            let _sleepers = Sleepers::start(threads.max(1), 1)?;
            rounds.measure(Options::default(), arguments.intervals)?;
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

/// Tasks that run and sleep while an interval with states and one without are compared.
const ACTIVE: [usize; 2] = [1, 100];
/// How long each of them sleeps at a time.
const NAP: Duration = Duration::from_millis(5);

/// The reader with states beside the reader without. Alternates which of both is first.
fn with_and_without_states(arguments: &Arguments) -> anyhow::Result<()> {
    let mut results = Results::create("reader-states", &[])?;
    for active in ACTIVE {
        let (mut with, mut without, mut ratios) = (Rounds::default(), Rounds::default(), Vec::new());
        napping(active, || {
            for round in 0..arguments.rounds {
                let (mut kept, mut left) = (Rounds::default(), Rounds::default());
                for states in [round % 2 == 0, round % 2 != 0] {
                    let rounds = if states { &mut kept } else { &mut left };
                    rounds.measure(Options { states, ..Options::default() }, arguments.intervals)?;
                }
                ratios.push(median(&kept.reading).as_secs_f64() / median(&left.reading).as_secs_f64());
                with.reading.append(&mut kept.reading);
                without.reading.append(&mut left.reading);
            }
            Ok(())
        })?;
        ratios.sort_by(f64::total_cmp);
        let (kept, left) = (median(&with.reading), median(&without.reading));
        let ratio = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
        println!(
            "{active:>8} tasks run: an interval takes its reader {:.1} us with states, {:.1} us without, ratio {ratio:.3}",
            kept.as_secs_f64() * 1e6,
            left.as_secs_f64() * 1e6,
        );
        results.add(&Row::new("CPU time of the reader, with states", active, &with.reading))?;
        results.add(&Row::new("CPU time of the reader, without states", active, &without.reading))?;
    }
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// Does `work` while this number of threads runs and sleeps in turn.
fn napping(threads: usize, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::thread::sleep(NAP);
                }
            });
        }
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        done
    })
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
    fn measure(&mut self, options: Options, intervals: usize) -> anyhow::Result<()> {
        let begin = Instant::now();
        let mut ledger = Ledger::open(options)?;
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
