//! What a recording takes: bytes beside `atop -w` under a mixed load, and CPU time and memory on a machine that is idle.

mod rows;
mod took;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cpuledger_load::{Mixture, MixturePlan, RaisedLimits, Sleepers};
use cpuledger_recording::Recording;
use took::Took;

use crate::measure::{cpu_ns, cpu_ns_of_thread};
use crate::results::Results;
use crate::table::Table;

/// Options of `recording`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Intervals of 1 s under the load
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Threads that sleep beside it
    #[arg(long, default_value_t = 100_000)]
    threads: usize,
    /// Seconds on the idle machine
    #[arg(long, default_value_t = 120)]
    idle: u64,
    /// Parts: idle, loaded
    #[arg(long, value_delimiter = ',', default_value = "idle,loaded")]
    parts: Vec<String>,
}

/// After the start, and after threads were made.
const SETTLING: Duration = Duration::from_secs(4);
/// Longer than a recorder takes to begin, or to close its files.
const PATIENCE: Duration = Duration::from_secs(60);

/// The name of our thread that writes.
const WRITER: &str = "recorder";

/// Measures and prints.
///
/// # Errors
/// Without root, without atop, or when something cannot be measured.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let _limits =
        RaisedLimits::for_threads(arguments.threads).context("cannot raise the limits; run as root")?;
    let mut results = Results::create("recording", &["atop"])?;
    let header = [
        "recorder",
        "bytes an interval",
        "rows an interval",
        "bytes a row",
        "% of a CPU",
        "of that, writing",
        "memory, MiB",
        "at the start, MiB",
    ];
    let folder = std::env::temp_dir().join("recording");
    let has = |part: &str| arguments.parts.iter().any(|wanted| wanted == part);
    if has("idle") {
        let mut table =
            Table::new("recording-idle", "Recording intervals of 1 s, on an idle machine", header);
        idle(&folder, arguments.idle)?.add(&mut results, &mut table)?;
        table.keep(&results)?;
    }
    if has("loaded") {
        let caption = format!(
            "Recording intervals of 1 s, beside a mixed load and {} threads that sleep",
            arguments.threads
        );
        let mut table = Table::new("recording", &caption, header);
        loaded(&folder, arguments, &mut results, &mut table)?;
        table.keep(&results)?;
    }
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// A recorder that writes, with its CPU time since it has settled.
struct Recorder {
    child: Child,
    before_ns: u64,
    writer_before_ns: u64,
    start_bytes: u64,
    begin: Instant,
}

impl Recorder {
    /// It ends with this process, whatever group it puts itself in.
    fn start(program: impl AsRef<OsStr>, arguments: &[&OsStr]) -> anyhow::Result<Recorder> {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM"]).arg(program).args(arguments);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.with_context(|| {
            format!("{command:?} cannot be run (scripts/install-packages bench installs peers)")
        })?;
        Ok(Recorder { child, before_ns: 0, writer_before_ns: 0, start_bytes: 0, begin: Instant::now() })
    }

    /// From now on its CPU time counts, and its most memory apart from what it had at the start.
    fn begin(&mut self) -> anyhow::Result<()> {
        self.start_bytes = self.most_bytes()?;
        // The kernel forgets the peak.
        fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5")?;
        (self.before_ns, self.begin) = (cpu_ns(self.child.id())?, Instant::now());
        self.writer_before_ns = cpu_ns_of_thread(self.child.id(), WRITER)?;
        Ok(())
    }

    /// The most memory that was resident: VmHWM.
    fn most_bytes(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|rest| rest.split_whitespace().next()).context("there is no VmHWM")?;
        Ok(kib.parse::<u64>()? * 1024)
    }

    /// The CPU time and the most memory since then.
    fn took(&self, subject: &str, sleeping_threads: usize) -> anyhow::Result<Took> {
        Ok(Took {
            subject: subject.to_owned(),
            sleeping_threads,
            intervals: 0,
            rows: 0,
            bytes: 0,
            seconds: self.begin.elapsed().as_secs_f64(),
            cpu_ns: cpu_ns(self.child.id())? - self.before_ns,
            writer_cpu_ns: cpu_ns_of_thread(self.child.id(), WRITER)? - self.writer_before_ns,
            memory_bytes: self.most_bytes()?,
            start_memory_bytes: self.start_bytes,
        })
    }

    /// Asks it to end, and waits for it.
    fn end(mut self) -> anyhow::Result<()> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let begin = Instant::now();
        while self.child.try_wait()?.is_none() {
            ensure!(begin.elapsed() < PATIENCE, "it does not end");
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ours, which has recorded an interval.
fn ours(folder: &Path) -> anyhow::Result<Recorder> {
    let words = ["record", "--source", "ledger", "--min-free", "0", "--retain", "forever"].map(OsStr::new);
    let program = std::env::current_exe()?.with_file_name("cpuledger");
    let recorder = Recorder::start(program, &[&words[..], &[folder.as_os_str()]].concat())?;
    let begin = Instant::now();
    // Beside a load and many threads it takes longer until it has begun, and more memory than later.
    while !Recording::open(folder).is_ok_and(|mut recording| !recording.is_empty()) {
        ensure!(begin.elapsed() < PATIENCE, "it does not record");
        sleep(Duration::from_millis(100));
    }
    Ok(recorder)
}

fn fresh(folder: &Path) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    Ok(folder.join("books"))
}

fn idle(folder: &Path, seconds: u64) -> anyhow::Result<Took> {
    let books = fresh(folder)?;
    let mut recorder = ours(&books)?;
    sleep(SETTLING);
    recorder.begin()?;
    sleep(Duration::from_secs(seconds));
    let took = recorder.took("cpuledger record", 0)?;
    recorder.end()?;
    rows::of_recording(&books, took)
}

/// Both record the same load at the same time.
fn loaded(
    folder: &Path,
    arguments: &Arguments,
    results: &mut Results,
    table: &mut Table,
) -> anyhow::Result<()> {
    let books = fresh(folder)?;
    let raw = folder.join("atop.raw");
    let _sleepers = Sleepers::start(arguments.threads.max(1), 1000.min(arguments.threads.max(1)))?;
    let plan = MixturePlan { shells: 1, compilers: 2, thread_makers: 0, pairs: 10 };
    let _load = Mixture::of(&plan)?;
    sleep(SETTLING);
    let mut recorder = ours(&books)?;
    let mut atop = Recorder::start("atop", &[OsStr::new("-w"), raw.as_os_str(), OsStr::new("1")])?;
    sleep(Duration::from_millis(500));
    recorder.begin()?;
    atop.begin()?;
    sleep(Duration::from_secs(arguments.seconds));
    let ours = recorder.took("cpuledger record", arguments.threads)?;
    let theirs = atop.took("atop -w", arguments.threads)?;
    recorder.end()?;
    atop.end()?;
    let (theirs, pids) = rows::of_atop(&raw, theirs)?;
    rows::of_recording(&books, ours)?.add(results, table)?;
    rows::of_processes(&books, &folder.join("common"), &pids)?.add(results, table)?;
    theirs.add(results, table)
}
