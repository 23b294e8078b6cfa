//! S5: what forks, exits, threads and switches cost with the ledger attached, over growing populations.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use cpuledger_bpf::ledger::{Ledger, Options};
use cpuledger_load::{RaisedLimits, Sleepers};

use crate::measure::median;
use crate::results::{Results, Row};

/// Options of `hooks`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted pairs of runs, attached and detached, of each subject
    #[arg(long, default_value_t = 21)]
    rounds: usize,
    /// Populations: sleeping threads
    #[arg(long, value_delimiter = ',', default_value = "200,1000,4000,16000,100000")]
    threads: Vec<usize>,
}

/// What is timed, and how often in one run: about 0.1 s.
const SUBJECTS: [(&str, &str, u32); 3] = [
    ("fork + exit + wait", "fork", 1_000),
    ("thread create + join", "thread", 4_000),
    ("pipe round trip on one CPU", "pipe", 40_000),
];

/// How often the reader takes a cut while the ledger is attached.
const INTERVAL: Duration = Duration::from_millis(500);

/// The work, compiled as the smallest process there is: static, without the pages of anything else.
struct Latency {
    path: PathBuf,
}

impl Latency {
    fn compile() -> anyhow::Result<Latency> {
        let path = std::env::temp_dir().join(format!("cpuledger-latency-{}", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/latency.c");
        let status = Command::new("cc")
            .args(["-O2", "-Wall", "-Werror", "-static", "-pthread", "-o"])
            .args([&path, &source])
            .status()
            .context("cannot run cc; install the package gcc")?;
        ensure!(status.success(), "cc: {status}");
        Ok(Latency { path })
    }

    /// The duration of each time.
    fn run(&self, mode: &str, times: u32) -> anyhow::Result<Duration> {
        let output = Command::new(&self.path).args([mode, &times.to_string()]).output()?;
        ensure!(output.status.success(), "latency {mode}: {}", output.status);
        let text = String::from_utf8(output.stdout)?;
        Ok(Duration::from_nanos(text.trim().parse().context("it prints nanoseconds")?))
    }
}

impl Drop for Latency {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Runs `work` while the ledger is attached and read.
fn attached<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let mut ledger = Ledger::attach(Options::default()).context("cannot attach the ledger; run as root")?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| -> anyhow::Result<()> {
            let mut cut_ns = ledger.start_ns();
            while !stop.load(Ordering::Relaxed) {
                cut_ns += INTERVAL.as_nanos() as u64;
                let imbalance_ns = ledger.close_interval(cut_ns)?.imbalance_ns();
                ensure!(imbalance_ns == 0, "an interval is out of balance by {imbalance_ns} ns");
            }
            Ok(())
        });
        let result = work();
        stop.store(true, Ordering::Relaxed);
        reader.join().expect("the reader does not panic")?;
        result
    })
}

/// Measures and prints.
///
/// # Errors
/// Without root, or when a subject fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let _limits = RaisedLimits::for_threads(arguments.threads.iter().copied().max().unwrap_or(0))
        .context("cannot raise the limits; run as root")?;
    let latency = Latency::compile()?;
    let mut results = Results::create("hooks", &[])?;
    println!("{:>8}  {:<28} {:>12} {:>12} {:>7}", "threads", "subject", "attached", "detached", "ratio");
    for &threads in &arguments.threads {
        let _sleepers = Sleepers::start(threads, 1)?;
        for (name, mode, times) in SUBJECTS {
            compare(arguments.rounds, threads, name, || latency.run(mode, times), &mut results)?;
        }
    }
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// Alternates which of both is first, so that a machine that drifts favours neither.
fn compare(
    rounds: usize,
    threads: usize,
    name: &str,
    mut work: impl FnMut() -> anyhow::Result<Duration>,
    results: &mut Results,
) -> anyhow::Result<()> {
    let (mut with, mut without, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let is_first = round % 2 == 0;
        let before = (!is_first).then(&mut work).transpose()?;
        let attached = attached(&mut work)?;
        let detached = before.map_or_else(&mut work, Ok)?;
        if round > 0 {
            with.push(attached);
            without.push(detached);
            ratios.push(attached.as_secs_f64() / detached.as_secs_f64());
        }
    }
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
    let (attached, detached) = (median(&with), median(&without));
    println!(
        "{threads:>8}  {name:<28} {:>9} ns {:>9} ns {ratio:>7.3}",
        attached.as_nanos(),
        detached.as_nanos()
    );
    results.add(&Row::new(&format!("{name}, attached"), threads, &with))?;
    results.add(&Row::new(&format!("{name}, detached"), threads, &without))
}
