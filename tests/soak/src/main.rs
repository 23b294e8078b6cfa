//! `cpuledger-soak`: a long run. Storms of all kinds come and go; one reader lives through all of it, another is stopped and
//! killed at random; ledgers and walks are attached and detached without end. Meanwhile every interval has to balance to
//! 0 ns, memory and descriptors have to stay what they were after the warm-up, and nothing may stay attached.

mod churn;
mod process;
mod reader;
mod weather;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;

use churn::Churn;
use reader::{Steady, Victim};
use weather::Weather;

/// A long run of cpuledger under storms. Needs root and bpftool
#[derive(Parser)]
struct CommandLine {
    /// How long, in minutes
    #[arg(long, value_name = "N", default_value_t = 10.0, value_parser = minutes)]
    minutes: f64,
    /// The binary; without it, the one beside this program
    #[arg(long, value_name = "FILE")]
    cpuledger: Option<PathBuf>,
    /// Begins the random numbers: the same for the same storms and signals
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

fn minutes(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if (0.1..=100_000.0).contains(&number) { Ok(number) } else { Err("between 0.1 and 100000".to_owned()) }
}

/// How often all is looked at.
const BEAT: Duration = Duration::from_millis(250);
/// How often the state is told.
const TOLD_EVERY: Duration = Duration::from_secs(60);
/// What is not in order, of which no more are kept.
const KEPT_FINDINGS: usize = 50;

/// What is not in order. Any makes the run a failure.
#[derive(Default)]
pub struct Findings(Mutex<Vec<String>>);

impl Findings {
    /// Keeps one, and says it at once.
    pub fn add(&self, finding: String) {
        eprintln!("cpuledger-soak: FINDING: {finding}");
        let mut findings = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if findings.len() < KEPT_FINDINGS {
            findings.push(finding);
        }
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).len()
    }
}

fn main() -> ExitCode {
    match run(&CommandLine::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cpuledger-soak: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns how much was not in order.
fn run(line: &CommandLine) -> Result<usize> {
    ensure!(rustix::process::geteuid().is_root(), "it needs root, to attach the ledger");
    let seed = line.seed.unwrap_or_else(|| fastrand::u64(..));
    fastrand::seed(seed);
    let cpuledger = match &line.cpuledger {
        Some(path) => path.clone(),
        None => std::env::current_exe().context("where this program is")?.with_file_name("cpuledger"),
    };
    ensure!(cpuledger.is_file(), "there is no binary {}: build it first", cpuledger.display());
    let length = Duration::from_secs_f64(line.minutes * 60.0);
    println!("soak: {:.1} minutes, seed {seed}; in the warm-up each kind of storm comes once", line.minutes);

    let findings = Findings::default();
    let begin = Instant::now();
    let mut weather = Weather::default();
    let mut steady = Steady::start(&cpuledger)?;
    let mut victim = Victim::start(&cpuledger)?;
    let mut churn = Churn::default();
    let mut told = begin;
    while begin.elapsed() < length {
        weather.change()?;
        let is_warm = weather.has_seen_all();
        steady.look(is_warm, &findings)?;
        victim.torment(&findings)?;
        churn.once(is_warm, &findings)?;
        if told.elapsed() > TOLD_EVERY {
            told = Instant::now();
            println!("{:>5} s: {steady}; {victim}; {churn}; {weather}", begin.elapsed().as_secs());
        }
        std::thread::sleep(BEAT);
    }
    weather.clear();
    steady.end(&findings)?;
    victim.end(&findings)?;
    if !steady.has_told() || !churn.has_attached() || !weather.has_seen_all() {
        findings.add("too little was looked at: the run is too short, or the machine too busy".to_owned());
    }
    let count = findings.count();
    println!("soak: {} s over; {steady}; {victim}; {churn}; {weather}", begin.elapsed().as_secs());
    println!(
        "soak: {}",
        if count == 0 { "everything held".to_owned() } else { format!("{count} FINDINGS, see above") }
    );
    Ok(count)
}
