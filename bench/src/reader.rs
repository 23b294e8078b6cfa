//! What an interval costs its reader, with and without 100,000 sleeping threads, and how long attaching takes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval, machine};
use cpuledger_load::{RaisedLimits, Sleepers};
use cpuledger_model::make;

use crate::hooks::median_of_pairs;
use crate::measure::{median, thread_cpu};
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

/// Tasks that run and sleep while an interval with states and one without are compared.
const ACTIVE: [usize; 2] = [1, 100];
/// How long each of them sleeps at a time.
const NAP: Duration = Duration::from_millis(5);

/// The reader with states beside the reader without: both ledgers are attached at once, and their cuts alternate.
fn with_and_without_states(arguments: &Arguments) -> anyhow::Result<()> {
    let mut results = Results::create("reader-states", &[])?;
    for active in ACTIVE {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        napping(active, || {
            for round in 0..arguments.rounds {
                let open = |states| Reader::open(make!(Options { states }));
                // The one that is attached first is called first at each switch.
                let is_first = round % 2 == 0;
                let (mut one, mut other) = (open(is_first)?, open(!is_first)?);
                for index in 0..arguments.intervals {
                    let (used, of_other) = (one.close()?, other.close()?);
                    if index >= arguments.intervals / 4 {
                        let (kept, left) = if is_first { (used, of_other) } else { (of_other, used) };
                        with.push(kept);
                        without.push(left);
                    }
                }
            }
            Ok(())
        })?;
        let ratio = median_of_pairs(&with, &without, |with, without| with / without);
        println!(
            "{active:>8} tasks run: an interval takes its reader {:.1} us with states, {:.1} us without, ratio {ratio:.3}",
            median(&with).as_secs_f64() * 1e6,
            median(&without).as_secs_f64() * 1e6,
        );
        results.add(&Row::new("CPU time of the reader, with states", active, &with))?;
        results.add(&Row::new("CPU time of the reader, without states", active, &without))?;
    }
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// A ledger and what its intervals are read into.
struct Reader {
    ledger: Ledger,
    interval: Interval,
}

impl Reader {
    fn open(options: Options) -> anyhow::Result<Reader> {
        let ledger = Ledger::open(options)?;
        Ok(Reader { ledger, interval: Interval::default() })
    }

    /// Closes an interval, and returns the CPU time that it took.
    fn close(&mut self) -> anyhow::Result<Duration> {
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
        let cut_ns = machine::monotonic_ns() + INTERVAL_NS;
        let begin = thread_cpu();
        self.ledger.close(cut_ns, &wanted, &mut self.interval)?;
        let used = thread_cpu() - begin;
        let imbalance_ns = self.interval.imbalance_ns();
        ensure!(imbalance_ns == Some(0), "out of balance: {imbalance_ns:?}");
        Ok(used)
    }
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
    fn measure(&mut self, intervals: usize) -> anyhow::Result<()> {
        let begin = Instant::now();
        let mut reader = Reader::open(Options::default())?;
        self.attaching.push(begin.elapsed());
        for index in 0..intervals {
            let used = reader.close()?;
            let begin = thread_cpu();
            std::thread::sleep(Duration::from_nanos(INTERVAL_NS));
            let slept = thread_cpu() - begin;
            // In the first ones the machine is still busy with the threads that were made.
            if index >= intervals / 4 {
                self.reading.push(used);
                self.sleeping.push(slept);
                self.active = self.active.max(reader.interval.tasks.len());
            }
        }
        let begin = Instant::now();
        drop(reader);
        self.detaching.push(begin.elapsed());
        Ok(())
    }
}
