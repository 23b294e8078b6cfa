//! S5: what forks, exits, threads and switches cost with the ledger attached, over growing populations.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use cpuledger_bpf::ledger::{Ledger, Options};
use cpuledger_load::{RaisedLimits, Sleepers};

use crate::measure::{median, middle};
use crate::results::{Results, Row};
use crate::table::{Table, thousands};

/// Options of `hooks`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted pairs of runs, attached and detached, of each subject
    #[arg(long, default_value_t = 21)]
    rounds: usize,
    /// Populations: sleeping threads
    #[arg(long, value_delimiter = ',', default_value = "200,1000,4000,16000,100000")]
    threads: Vec<usize>,
    /// Compare with a ledger that does not keep what tasks do off the CPU, instead of none
    #[arg(long)]
    states: bool,
}

/// What a ledger is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// No ledger.
    Nothing,
    /// A ledger that does not keep what tasks do off the CPU.
    WithoutStates,
}

/// What is timed, and how often in one run: about 0.1 s.
pub const SUBJECTS: [(&str, &str, u32); 3] = [
    ("fork + exit + wait of a minimal static process", "fork", 1_000),
    ("thread create + join", "thread", 4_000),
    ("pipe round trip on one CPU: two switches", "pipe", 40_000),
];

/// How often the reader takes a cut while the ledger is attached.
pub const INTERVAL: Duration = Duration::from_millis(500);

/// The work, compiled as the smallest process there is: static, without the pages of anything else.
pub struct Latency {
    path: PathBuf,
}

impl Latency {
    /// Compiles it.
    ///
    /// # Errors
    /// Without cc.
    pub fn compile() -> anyhow::Result<Latency> {
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
    ///
    /// # Errors
    /// When it fails.
    pub fn run(&self, mode: &str, times: u32) -> anyhow::Result<Duration> {
        self.run_on(mode, times, "")
    }

    /// The same, for work on this disk.
    ///
    /// # Errors
    /// When it fails.
    pub fn run_on(&self, mode: &str, times: u32, disk: &str) -> anyhow::Result<Duration> {
        let output = Command::new(&self.path).args([mode, &times.to_string(), disk]).output()?;
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

impl Beside {
    fn run<T>(self, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        match self {
            Beside::Nothing => work(),
            Beside::WithoutStates => attached(Options { off: false, ..Options::default() }, work),
        }
    }

    /// The name of the results.
    fn name(self) -> &'static str {
        match self {
            Beside::Nothing => "hooks",
            Beside::WithoutStates => "states",
        }
    }

    /// What the table is.
    fn caption(self) -> String {
        let what = match self {
            Beside::Nothing => "with the ledger running".to_owned(),
            Beside::WithoutStates => "of a ledger with states beside one without".to_owned(),
        };
        format!("Slowdown {what} (1.02 = 2 % slower), by the number of sleeping threads")
    }
}

/// Runs `work` while a ledger is attached and read.
///
/// # Errors
/// Without root, when `work` fails, or when an interval is out of balance.
pub fn attached<T>(options: Options, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let mut ledger = Ledger::attach(options).context("cannot attach the ledger; run as root")?;
    let refused = options.accounts.whole().without(ledger.kept());
    ensure!(refused.is_empty(), "this kernel does not let a ledger keep {refused}");
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
    let beside = if arguments.states { Beside::WithoutStates } else { Beside::Nothing };
    let (name, caption) = (beside.name(), beside.caption());
    let mut results = Results::create(name, &[])?;
    let populations = arguments.threads.iter().map(|&threads| thousands(threads));
    let mut table = Table::new(
        name,
        &caption,
        ["work".to_owned()].into_iter().chain(populations).chain(["median".to_owned()]),
    );
    let mut ratios = vec![Vec::new(); SUBJECTS.len()];
    for &threads in &arguments.threads {
        let _sleepers = Sleepers::start(threads, 1)?;
        for ((name, mode, times), ratios) in SUBJECTS.iter().zip(&mut ratios) {
            let work = || latency.run(mode, *times);
            ratios.push(compare(arguments.rounds, beside, threads, name, work, &mut results)?);
        }
    }
    for ((name, ..), mut ratios) in SUBJECTS.iter().zip(ratios) {
        let mut cells: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.3}")).collect();
        ratios.sort_by(f64::total_cmp);
        cells.push(format!("{:.3}", ratios.get(ratios.len() / 2).context("a population")?));
        table.row([(*name).to_owned()].into_iter().chain(cells));
    }
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// Durations with the ledger and with what it is compared with, in pairs, after one that does not count. Alternates which of both is first, so that a
/// machine that drifts favours neither.
///
/// # Errors
/// When `work` fails, or the ledger.
pub fn in_pairs(
    rounds: usize,
    beside: Beside,
    mut work: impl FnMut() -> anyhow::Result<Duration>,
) -> anyhow::Result<(Vec<Duration>, Vec<Duration>)> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let is_first = round % 2 == 0;
        let before = (!is_first).then(|| beside.run(&mut work)).transpose()?;
        let attached = attached(Options::default(), &mut work)?;
        let detached = before.map_or_else(|| beside.run(&mut work), Ok)?;
        if round > 0 {
            with.push(attached);
            without.push(detached);
        }
    }
    Ok((with, without))
}

/// The median over pairs of what `of` makes of both durations, in seconds.
pub fn median_of_pairs(with: &[Duration], without: &[Duration], of: impl Fn(f64, f64) -> f64) -> f64 {
    let pairs = with.iter().zip(without);
    middle(pairs.map(|(with, without)| of(with.as_secs_f64(), without.as_secs_f64())).collect())
}

fn compare(
    rounds: usize,
    beside: Beside,
    threads: usize,
    name: &str,
    mut work: impl FnMut() -> anyhow::Result<Duration>,
    results: &mut Results,
) -> anyhow::Result<f64> {
    let (with, without) = in_pairs(rounds, beside, &mut work)?;
    let ratio = median_of_pairs(&with, &without, |attached, detached| attached / detached);
    let (attached, detached) = (median(&with), median(&without));
    eprintln!(
        "{threads:>8}  {name:<28} {:>9} ns {:>9} ns {ratio:>7.3}",
        attached.as_nanos(),
        detached.as_nanos()
    );
    results.add(&Row::new(&format!("{name}, attached"), threads, &with))?;
    results.add(&Row::new(&format!("{name}, detached"), threads, &without))?;
    Ok(ratio)
}
