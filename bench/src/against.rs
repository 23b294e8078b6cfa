//! Another build of cpuledger and this one, alternately and in one run: what a change costs, or saves.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use cpuledger_load::{RaisedLimits, Sleepers};

use crate::hooks::{Latency, SUBJECTS};
use crate::listings::LISTINGS;
use crate::measure::{Subject, alternate, cpu_ns, median, time_unread};
use crate::results::{Results, Row};
use crate::screen::Program;
use crate::service::{Daemon, as_stranger};
use crate::table::{Table, digits};

/// Options of `against`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The other binary: `cpuledger` of another commit, in its release build
    other: PathBuf,
    /// Counted pairs of each subject
    #[arg(long, default_value_t = 61)]
    rounds: usize,
    /// Sleeping threads beside the hooks
    #[arg(long, default_value_t = 200)]
    threads: usize,
    /// Sleeping threads beside the listings and the intervals
    #[arg(long, default_value_t = 100_000)]
    many_threads: usize,
    /// Only the subjects whose names contain this
    #[arg(long, default_value = "")]
    only: String,
}

/// The length of an interval while something is timed beside it.
const DELAY: &str = "0.05";
const SHORT_S: f64 = 0.05;
/// Longer than a measurement: a service closes no interval meanwhile.
const LONG_S: f64 = 60.0;

/// Intervals that go by before any is counted.
const BEFORE: u32 = 10;

/// Those that are counted.
const COUNTED: u32 = 40;

/// When the screen has rows, at a refresh a second.
const FIRST_ROWS: Duration = Duration::from_millis(1_500);

/// Keys that are pressed.
const KEYS: usize = 10;

/// Measures and prints.
///
/// # Errors
/// Without root, or when one of both fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let most = arguments.threads.max(arguments.many_threads);
    let _limits = RaisedLimits::for_threads(most).context("cannot raise the limits; run as root")?;
    let this = std::env::current_exe()?.with_file_name("cpuledger");
    let binaries: [&Path; 2] = [&arguments.other, &this];
    let mut report = Report::new(arguments)?;
    {
        let _sleepers = Sleepers::start(arguments.threads, 1)?;
        let latency = Latency::compile()?;
        for (name, mode, times) in SUBJECTS {
            report.compare(name, arguments.threads, binaries, |binary| {
                beside(binary, || latency.run(mode, times))
            })?;
        }
    }
    let _sleepers = Sleepers::start(arguments.many_threads, 1)?;
    for source in ["ledger", "walk"] {
        let name = format!("CPU time of `top --batch --source {source}`, an interval");
        report.compare(&name, arguments.many_threads, binaries, |binary| interval(binary, source))?;
    }
    report.compare("CPU time of `ptop`, a key", arguments.many_threads, binaries, key)?;
    for listing in LISTINGS {
        let name = format!("`ps {}`", listing.join(" "));
        let words: Vec<&str> = ["ps"].iter().chain(listing).copied().collect();
        report.compare(&name, arguments.many_threads, binaries, |binary| {
            crate::measure::time_command(
                binary.to_str().context("the path of a binary is not UTF-8")?,
                &words,
            )
        })?;
    }
    compare_services(&mut report, arguments.many_threads, binaries)?;
    report.table.keep(&report.results)?;
    println!("raw results: {}", report.results.path().display());
    Ok(())
}

/// Two services at once, each of its build, are asked alternately.
fn compare_services(report: &mut Report<'_>, threads: usize, binaries: [&Path; 2]) -> anyhow::Result<()> {
    let start = |interval_s| -> anyhow::Result<[Daemon; 2]> {
        Ok([Daemon::of(binaries[0], "other", interval_s)?, Daemon::of(binaries[1], "this", interval_s)?])
    };
    let which = |binary: &Path| usize::from(binary == binaries[1]);
    let services = start(SHORT_S)?;
    report.compare("CPU time of `serve`, an interval that is read", threads, binaries, |binary| {
        read_interval(&services[which(binary)])
    })?;
    drop(services);
    let services = start(LONG_S)?;
    for listing in LISTINGS {
        let name = format!("`ps {}` of a service", listing.join(" "));
        report.compare(&name, threads, binaries, |binary| {
            let service = &services[which(binary)];
            time_unread(as_stranger(&service.binary(), &service.socket()).arg("ps").args(listing))
        })?;
    }
    Ok(())
}

/// What has been measured.
struct Report<'a> {
    arguments: &'a Arguments,
    results: Results,
    table: Table,
}

impl<'a> Report<'a> {
    fn new(arguments: &'a Arguments) -> anyhow::Result<Report<'a>> {
        let caption =
            "Another build and this one, alternately: medians, and the median over pairs of this / other";
        let header = ["subject", "sleeping threads", "other ms", "this ms", "ratio"];
        Ok(Report {
            arguments,
            results: Results::create("against", &[])?,
            table: Table::new("against", caption, header),
        })
    }

    fn compare(
        &mut self,
        name: &str,
        threads: usize,
        binaries: [&Path; 2],
        run: impl Fn(&Path) -> anyhow::Result<Duration>,
    ) -> anyhow::Result<()> {
        if !name.contains(&self.arguments.only) {
            return Ok(());
        }
        let run = &run;
        let mut subjects = ["other", "this"].into_iter().zip(binaries).map(|(which, binary)| Subject {
            name: format!("{name}, {which}"),
            run: Box::new(move || run(binary)),
        });
        let mut subjects = [subjects.next(), subjects.next()].map(|subject| subject.expect("there are two"));
        let durations = alternate(&mut subjects, self.arguments.rounds)?;
        for (subject, durations) in subjects.iter().zip(&durations) {
            self.results.add(&Row::new(&subject.name, threads, durations))?;
        }
        let ratio = crate::hooks::median_of_pairs(&durations[1], &durations[0], |this, other| this / other);
        let [other, this] = [0, 1].map(|at| digits(median(&durations[at]).as_secs_f64() * 1e3));
        eprintln!("{threads:>8}  {name:<48} {other:>9} ms {this:>9} ms {ratio:>7.3}");
        self.table.row([name.to_owned(), threads.to_string(), other, this, format!("{ratio:.3}")]);
        Ok(())
    }
}

/// How it prints them.
fn words(source: &str) -> [&str; 8] {
    ["top", "--batch", "--format", "json", "--source", source, "--delay", DELAY]
}

/// A binary that prints intervals; it ends when dropped.
struct Top {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Top {
    fn start(binary: &Path, source: &str) -> anyhow::Result<Top> {
        Top::of(Command::new(binary).args(words(source)).stdin(Stdio::null()))
    }

    fn of(command: &mut Command) -> anyhow::Result<Top> {
        let mut child =
            command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot run {command:?}"))?;
        let lines = BufReader::new(child.stdout.take().context("its output is a pipe")?);
        let mut top = Top { child, lines };
        top.wait_for_interval()?;
        Ok(top)
    }

    fn wait_for_interval(&mut self) -> anyhow::Result<()> {
        let mut line = Vec::new();
        ensure!(self.lines.read_until(b'\n', &mut line)? > 0, "it has ended, {:?}", self.child.wait());
        Ok(())
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Does the work beside the ledger of that binary.
fn beside(binary: &Path, work: impl FnOnce() -> anyhow::Result<Duration>) -> anyhow::Result<Duration> {
    let top = Top::start(binary, "ledger")?;
    let duration = work()?;
    drop(top);
    Ok(duration)
}

/// The CPU time that an interval costs.
fn interval(binary: &Path, source: &str) -> anyhow::Result<Duration> {
    let top = Top::start(binary, source)?;
    let pid = top.child.id();
    cost_of_interval(top, || cpu_ns(pid))
}

/// The CPU time that an interval costs a service that has one reader.
fn read_interval(service: &Daemon) -> anyhow::Result<Duration> {
    let mut command = as_stranger(&service.binary(), &service.socket());
    cost_of_interval(Top::of(command.args(words("service")))?, || service.cpu_ns())
}

/// What of this an interval costs that `top` prints.
fn cost_of_interval(mut top: Top, used_ns: impl Fn() -> anyhow::Result<u64>) -> anyhow::Result<Duration> {
    for _ in 0..BEFORE {
        top.wait_for_interval()?;
    }
    let before_ns = used_ns()?;
    for _ in 0..COUNTED {
        top.wait_for_interval()?;
    }
    Ok(Duration::from_nanos(used_ns()? - before_ns) / COUNTED)
}

/// The CPU time that a key costs, and the frame that answers it, with its part of the intervals that end meanwhile.
fn key(binary: &Path) -> anyhow::Result<Duration> {
    let line = format!("{} top -H -d 1 --source ledger", binary.display());
    let mut program = Program::start(&line)?;
    // Before the first interval there may be no rows to move in.
    std::thread::sleep(FIRST_ROWS);
    let before = program.cpu_ns()?;
    program.keys(KEYS)?;
    let used_ns = program.cpu_ns()? - before;
    program.end()?;
    Ok(Duration::from_nanos(used_ns / KEYS as u64))
}
