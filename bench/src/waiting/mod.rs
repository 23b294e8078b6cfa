//! What each tool says of tasks that wait for a CPU, for the disk and for a lock; beside what the kernel counts in the same time.

mod job;
mod load;
mod setting;
mod told;
mod tools;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use nix::sched::{CloneFlags, unshare};
use serde::Serialize;

use crate::results::Results;
use crate::table::{Table, digits};
use load::{KINDS, Load};
use told::{Shares, Told};
use tools::{TOOLS, Tool};

pub use job::{command, programs};
pub use setting::Setting;

/// Options of `waiting`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Seconds of the interval that each tool shows
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// How often each tool is asked, in turns; the table has the round with the least other work on the machine
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

const DELAY_ACCOUNTING: &str = "/proc/sys/kernel/task_delayacct";
/// Whether the kernel counts what programs take.
pub const BPF_STATS: &str = "/proc/sys/kernel/bpf_stats_enabled";
const TRACEFS: &str = "/sys/kernel/tracing";

/// One tool in one round.
#[derive(Debug, Serialize)]
struct Run<'a> {
    tool: &'a str,
    delay_accounting: bool,
    /// Why there are no figures.
    error: Option<String>,
    kinds: Vec<Kind>,
    elapsed_ns: Option<u64>,
    user_ns: Option<u64>,
    system_ns: Option<u64>,
    /// Run time of its BPF programs.
    bpf_ns: Option<u64>,
}

/// What was told of the tasks of a kind, in percent of their time.
#[derive(Debug, Serialize)]
struct Kind {
    kind: &'static str,
    told: Shares,
    kernel: Shares,
    /// What the kernel's delay accounting counts as waiting for the disk.
    delay_accounting: Option<f64>,
    /// How many were in each state, where the tool tells that.
    letters: Vec<char>,
}

/// Measures and prints.
///
/// # Errors
/// Without root, or when the load cannot be made. A tool that does not run has a row that says so.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    mount_tracefs()?;
    let peers = ["top", "atop", "pidstat", "perf", "bpftrace", "offcputime"];
    let mut results = Results::create("waiting", &peers)?;
    let _stats = Setting::set(BPF_STATS, "1")?;
    let all: Vec<&Tool> = TOOLS.iter().collect();
    let some = TOOLS.iter().filter(|tool| tool.needs_delay_accounting).collect();
    let mut rows: Vec<(String, Vec<Run<'_>>)> = Vec::new();
    for (delay_accounting, tools) in [(true, all), (false, some)] {
        let _accounting = Setting::set(DELAY_ACCOUNTING, if delay_accounting { "1" } else { "0" })?;
        // It is of this setting if its tasks were made with it.
        let load = Load::start()?;
        let first = rows.len();
        for tool in &tools {
            let mark = if delay_accounting { "" } else { ", `task_delayacct` = 0" };
            rows.push((format!("`{}`{mark}", tool.name), Vec::new()));
        }
        for _ in 0..arguments.rounds {
            for (tool, (name, runs)) in tools.iter().zip(&mut rows[first..]) {
                let run = one(tool, arguments.seconds, delay_accounting, &load);
                eprintln!("{name:<50} {}", said(&run));
                results.add_any(&run)?;
                runs.push(run);
            }
        }
    }
    table(arguments, &rows).keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// In a mount namespace of our own, which our children share: perf and bpftrace need it.
pub fn mount_tracefs() -> anyhow::Result<()> {
    if Path::new(TRACEFS).join("events").exists() {
        return Ok(());
    }
    unshare(CloneFlags::CLONE_NEWNS).context("cannot have mounts of our own; run as root")?;
    for words in [&["--make-rprivate", "/"][..], &["-t", "tracefs", "tracefs", TRACEFS]] {
        let status = Command::new("mount").args(words).status().context("cannot run mount")?;
        ensure!(status.success(), "mount {}: {status}", words.join(" "));
    }
    Ok(())
}

/// One tool, once.
fn one<'a>(tool: &'a Tool, seconds: u32, delay_accounting: bool, load: &Load) -> Run<'a> {
    let failed = |error: anyhow::Error| Run {
        tool: tool.name,
        delay_accounting,
        error: Some(format!("{error:#}")),
        kinds: Vec::new(),
        elapsed_ns: None,
        user_ns: None,
        system_ns: None,
        bpf_ns: None,
    };
    let done = match job::run(&tool.commands(seconds), tool.mark, load) {
        Ok(done) => done,
        Err(error) => return failed(error),
    };
    let told = match (tool.read)(&done.output, f64::from(seconds)) {
        Ok(told) => told,
        Err(error) => return failed(error.context("its output is not understood")),
    };
    let [begin, end] = &done.counts;
    let kinds = end.since(begin).into_iter().enumerate();
    let kinds = kinds.map(|(kind, (kernel, blkio))| Kind {
        kernel,
        delay_accounting: delay_accounting.then_some(blkio),
        ..of_kind(kind, &told, load)
    });
    let [user_ns, system_ns] = done.cpu_ns;
    Run {
        tool: tool.name,
        delay_accounting,
        error: None,
        kinds: kinds.collect(),
        elapsed_ns: Some(done.elapsed.as_nanos() as u64),
        user_ns: Some(user_ns),
        system_ns: Some(system_ns),
        bpf_ns: done.bpf_ns,
    }
}

/// The mean of its tasks. A task of which nothing is told has nothing, where the tool tells that figure of any task.
fn of_kind(kind: usize, told: &Told, load: &Load) -> Kind {
    let tells = |figure: fn(&Shares) -> Option<f64>| told.values().any(|shares| figure(shares).is_some());
    let tasks = &load.tasks[kind];
    let mean = |figure: fn(&Shares) -> Option<f64>| -> Option<f64> {
        let sum: Option<f64> = tasks
            .iter()
            .map(|task| told.get(&task.tid).map_or_else(|| tells(figure).then_some(0.0), figure))
            .sum();
        sum.map(|sum| sum / tasks.len() as f64)
    };
    let shares = Shares {
        wait: mean(|shares| shares.wait),
        blocked: mean(|shares| shares.blocked),
        sleep: mean(|shares| shares.sleep),
        off: mean(|shares| shares.off),
        letter: None,
    };
    let letters = tasks.iter().filter_map(|task| told.get(&task.tid)?.letter).collect();
    Kind { kind: KINDS[kind], told: shares, kernel: Shares::default(), delay_accounting: None, letters }
}

/// In one line.
fn said(run: &Run<'_>) -> String {
    match &run.error {
        Some(error) => format!("DOES NOT RUN: {error}"),
        None => {
            let cells = COLUMNS.iter().map(|column| column.cell(std::slice::from_ref(run)));
            cells
                .chain([own_ms(std::slice::from_ref(run)), bpf_ms(std::slice::from_ref(run))])
                .collect::<Vec<_>>()
                .join("  ")
        }
    }
}

/// A figure of a kind of tasks.
struct Column {
    header: &'static str,
    kind: usize,
    letter: char,
    figure: fn(&Shares) -> Option<f64>,
}

const COLUMNS: [Column; 5] = [
    Column { header: "busy loops: wait", kind: 0, letter: 'R', figure: |shares| shares.wait },
    Column { header: "readers: wait", kind: 1, letter: 'R', figure: |shares| shares.wait },
    Column { header: "readers: blocked", kind: 1, letter: 'D', figure: |shares| shares.blocked },
    Column { header: "fighters: wait", kind: 2, letter: 'R', figure: |shares| shares.wait },
    Column { header: "fighters: sleep", kind: 2, letter: 'S', figure: |shares| shares.sleep },
];

impl Column {
    /// Told, and counted by the kernel.
    fn cell(&self, runs: &[Run<'_>]) -> String {
        let kinds = || runs.iter().filter_map(|run| run.kinds.get(self.kind));
        let letters: Vec<char> = kinds().flat_map(|kind| kind.letters.iter().copied()).collect();
        if !letters.is_empty() {
            let number = letters.iter().filter(|&&letter| letter == self.letter).count();
            return format!("{}: {number} of {}", self.letter, letters.len());
        }
        let told = mean(kinds().map(|kind| (self.figure)(&kind.told)));
        let off = mean(kinds().map(|kind| kind.told.off));
        let text = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{share:.1}"));
        match (told, off) {
            (Some(_), _) => {
                format!("{} / {}", text(told), text(mean(kinds().map(|kind| (self.figure)(&kind.kernel)))))
            }
            (None, Some(_)) if self.letter == 'R' => {
                format!("off CPU: {} / {}", text(off), text(mean(kinds().map(|kind| kind.kernel.off))))
            }
            _ => "-".to_owned(),
        }
    }
}

/// `None` if there is nothing, or one is not known.
fn mean(shares: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let shares: Vec<f64> = shares.collect::<Option<_>>()?;
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// From its start to its end.
fn took(runs: &[Run<'_>]) -> String {
    let elapsed = mean(runs.iter().map(|run| Some(run.elapsed_ns? as f64)));
    elapsed.map_or_else(|| "-".to_owned(), |ns| format!("{:.1} s", ns / 1e9))
}

/// CPU time of the tool itself.
fn own_ms(runs: &[Run<'_>]) -> String {
    let own = mean(runs.iter().map(|run| Some((run.user_ns? + run.system_ns?) as f64)));
    own.map_or_else(|| "-".to_owned(), |ns| format!("{} ms", digits(ns / 1e6)))
}

/// CPU time of its programs, in the tasks that run them.
fn bpf_ms(runs: &[Run<'_>]) -> String {
    let programs = mean(runs.iter().map(|run| Some(run.bpf_ns? as f64)));
    programs.map_or_else(|| "-".to_owned(), |ns| format!("{} ms", digits(ns / 1e6)))
}

fn table(arguments: &Arguments, rows: &[(String, Vec<Run<'_>>)]) -> Table {
    let mut caption = format!(
        "What each tool says of 6 busy loops, 2 readers of files that the cache has dropped, and 2 threads that fight for a mutex. Percent of \
         their time, and after the stroke what the kernel counts in the same time. `-`: no such figure. Wait is for a CPU, blocked is for the \
         disk, sleep is for the lock. {} Intervals of {} s. Of {} rounds it is the one in which \
         the busy loops waited the least, as other work makes them wait. CPU time is that of the whole run, start included. That of BPF \
         programs is what they take in the tasks that switch",
        strangers(rows),
        arguments.seconds,
        arguments.rounds
    );
    for (name, runs) in rows {
        if let Some(error) = runs.iter().find_map(|run| run.error.as_ref()) {
            caption.push_str(&format!(". {name} does not run here, and ends with `{error}`"));
        }
    }
    let headers = COLUMNS.iter().map(|column| column.header);
    let headers = ["tool"].into_iter().chain(headers).chain(["took", "CPU time", "BPF programs"]);
    let mut table = Table::new("waiting", &caption, headers);
    for (name, runs) in rows {
        let mut cells = vec![name.clone()];
        if runs.iter().any(|run| run.error.is_some()) {
            cells.push("DOES NOT RUN".to_owned());
        } else {
            let runs = quietest(runs);
            cells.extend(COLUMNS.iter().map(|column| column.cell(runs)));
            cells.extend([took(runs), own_ms(runs), bpf_ms(runs)]);
        }
        table.row(cells);
    }
    table
}

/// The run beside which the machine had the least other work: the busy loops waited the least, as the kernel says. Where a tool tells
/// letters of one instant, all count.
fn quietest<'a, 'b>(runs: &'a [Run<'b>]) -> &'a [Run<'b>] {
    if runs.iter().flat_map(|run| &run.kinds).any(|kind| !kind.letters.is_empty()) {
        return runs;
    }
    let wait = |run: &Run<'_>| run.kinds.first().and_then(|kind| kind.kernel.wait).unwrap_or(f64::INFINITY);
    let quietest = runs.iter().min_by(|a, b| wait(a).total_cmp(&wait(b)));
    quietest.map_or(&[], std::slice::from_ref)
}

/// A sentence on the columns that the table leaves out.
fn strangers(rows: &[(String, Vec<Run<'_>>)]) -> String {
    // Of the time of a task, in percent: below that a figure is rounded to 0.
    const NOTHING: f64 = 0.05;
    let says = |runs: &[Run<'_>]| {
        let kinds = runs.iter().flat_map(|run| &run.kinds).filter(|kind| kind.kind != KINDS[1]);
        kinds.filter_map(|kind| kind.told.blocked).any(|share| share >= NOTHING)
    };
    let names: Vec<&str> =
        rows.iter().filter(|(_, runs)| says(runs)).map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        return "None says that busy loops or lock fighters were blocked.".to_owned();
    }
    format!("That busy loops or lock fighters were blocked, too, is said by {}.", names.join(", "))
}
