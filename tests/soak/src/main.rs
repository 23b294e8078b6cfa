//! `cpuledger-soak`: a long run. Storms of all kinds come and go; one reader lives through all of it, another is stopped and
//! killed at random; ledgers and walks are attached and detached without end. Meanwhile every interval has to balance to
//! 0 ns, memory and descriptors have to stay what they were after the warm-up, and nothing may stay attached. With `--service` it is the
//! service that is put under load, by hostile users.

mod attaching;
mod churn;
mod process;
mod reader;
mod service;
mod weather;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;

use churn::Churn;
use reader::{Steady, Victim};
use weather::Weather;

/// A long run of cpuledger under storms. Needs root and bpftool
///
/// Ends with 0 if everything held, 1 if anything did not, and 130 if it was interrupted before its time.
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
    /// The service in 256 MiB of memory, under three hostile users and a storm of forks, instead of readers under storms
    #[arg(long)]
    service: bool,
    /// Attach and detach, a round for each byte of standard input
    #[arg(long, hide = true)]
    attach: bool,
}

fn minutes(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if (0.1..=100_000.0).contains(&number) { Ok(number) } else { Err("between 0.1 and 100000".to_owned()) }
}

/// How often all is looked at.
const BEAT: Duration = Duration::from_millis(250);
/// How often the state is told, on a terminal in one line that is written over, and elsewhere.
const TOLD_EVERY: Duration = Duration::from_secs(1);
const WRITTEN_EVERY: Duration = Duration::from_secs(30);
/// What is not in order, of which no more are kept.
const KEPT_FINDINGS: usize = 50;

/// What is not in order. Any makes the run a failure.
#[derive(Default)]
pub struct Findings(Mutex<Vec<String>>);

impl Findings {
    /// Keeps one, and says it at once, below the line of progress.
    pub fn add(&self, finding: String) {
        eprintln!("\ncpuledger-soak: FINDING: {finding}");
        let mut findings = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if findings.len() < KEPT_FINDINGS {
            findings.push(finding);
        }
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).len()
    }
}

/// How it ended.
enum End {
    Held,
    Found,
    Interrupted,
}

fn main() -> ExitCode {
    match run(&CommandLine::parse()) {
        Ok(End::Held) => ExitCode::SUCCESS,
        Ok(End::Found) => ExitCode::FAILURE,
        Ok(End::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("cpuledger-soak: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// All that is looked at.
struct Run {
    begin: Instant,
    length: Duration,
    weather: Weather,
    steady: Steady,
    victim: Victim,
    churn: Churn,
    findings: Findings,
}

fn run(line: &CommandLine) -> Result<End> {
    ensure!(rustix::process::geteuid().is_root(), "it needs root, to attach the ledger");
    let seed = line.seed.unwrap_or_else(|| fastrand::u64(..));
    fastrand::seed(seed);
    if line.attach {
        attaching::run()?;
        return Ok(End::Held);
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted)).context("listen to signals")?;
    }
    let cpuledger = match &line.cpuledger {
        Some(path) => path.clone(),
        None => std::env::current_exe().context("where this program is")?.with_file_name("cpuledger"),
    };
    ensure!(cpuledger.is_file(), "there is no binary {}: build it first", cpuledger.display());
    let length = Duration::from_secs_f64(line.minutes * 60.0);
    if line.service {
        // The recording is exported at the end.
        let export = cpuledger.with_file_name("cpuledger-export");
        ensure!(export.is_file(), "there is no {}: build it first, `make all` does", export.display());
        let findings = Findings::default();
        service::run(&cpuledger, length, &interrupted, &findings)?;
        return Ok(verdict(&findings, interrupted.load(Ordering::Relaxed)));
    }
    println!(
        "soak: {:.1} minutes, seed {seed}; in the warm-up of {} s each kind of storm comes once",
        line.minutes,
        Weather::warm_up().as_secs()
    );
    let mut run = Run {
        begin: Instant::now(),
        length,
        weather: Weather::new()?,
        steady: Steady::start(&cpuledger)?,
        victim: Victim::start(&cpuledger)?,
        churn: Churn::start(seed)?,
        findings: Findings::default(),
    };
    run.go_on(&interrupted)?;
    run.end(interrupted.load(Ordering::Relaxed))
}

impl Run {
    fn go_on(&mut self, interrupted: &AtomicBool) -> Result<()> {
        let is_terminal = std::io::stdout().is_terminal();
        let mut told = Instant::now();
        while self.begin.elapsed() < self.length && !interrupted.load(Ordering::Relaxed) {
            self.weather.change()?;
            let is_warm = self.weather.has_seen_all();
            self.steady.look(is_warm, &self.findings)?;
            self.victim.torment(&self.findings)?;
            self.churn.once(is_warm, &self.findings)?;
            if told.elapsed() > if is_terminal { TOLD_EVERY } else { WRITTEN_EVERY } {
                told = Instant::now();
                self.tell(is_terminal)?;
            }
            std::thread::sleep(BEAT);
        }
        if is_terminal {
            println!();
        }
        Ok(())
    }

    /// The line of progress.
    fn tell(&self, is_terminal: bool) -> Result<()> {
        let mut line = format!(
            "{:>5} of {} s, {}{}: {}, {}; {}; {}; {} findings",
            self.begin.elapsed().as_secs(),
            self.length.as_secs(),
            self.weather.name(),
            if self.weather.has_seen_all() { "" } else { " (warm-up)" },
            self.steady.brief(),
            self.steady.limits().brief(),
            self.victim.brief(),
            self.churn,
            self.findings.count()
        );
        if is_terminal {
            line = format!("\r\x1b[2K{}", line.chars().take(terminal_width()).collect::<String>());
        } else {
            line.push('\n');
        }
        let mut stdout = std::io::stdout();
        stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).context("write")
    }

    fn end(&mut self, is_interrupted: bool) -> Result<End> {
        self.weather.clear();
        self.steady.end(&self.findings)?;
        self.victim.end(&self.findings)?;
        self.churn.end(&self.findings)?;
        let has_looked = self.steady.has_told() && self.churn.has_attached() && self.weather.has_seen_all();
        if !has_looked && !is_interrupted {
            let reason = "too little was looked at: the run is too short, or the machine too busy";
            self.findings.add(reason.to_owned());
        }
        let seconds = self.begin.elapsed().as_secs();
        println!(
            "soak: {seconds} s, the first {} s for the warm-up",
            Weather::warm_up().as_secs().min(seconds)
        );
        println!("  weather         {}", self.weather);
        println!("  steady reader   {}", self.steady);
        println!("                  {}", self.steady.limits());
        println!("  victim          {}", self.victim);
        println!("  churn           {}", self.churn);
        println!("                  {}", self.churn.limits());
        Ok(verdict(&self.findings, is_interrupted))
    }
}

/// Says how it ended.
fn verdict(findings: &Findings, is_interrupted: bool) -> End {
    let (verdict, end) = match (findings.count(), is_interrupted) {
        (0, false) => ("everything held, and nothing is left attached".to_owned(), End::Held),
        (0, true) => {
            let verdict = "interrupted; until then everything held, and nothing is left attached";
            (verdict.to_owned(), End::Interrupted)
        }
        (count, _) => (format!("{count} FINDINGS, see above"), End::Found),
    };
    println!("soak: {verdict}");
    end
}

/// Columns of the terminal, as many as usual where it does not say.
fn terminal_width() -> usize {
    let width = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| usize::from(size.ws_col));
    if width == 0 { 80 } else { width }
}
