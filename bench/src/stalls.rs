//! How long one walk keeps its CPU: the length of its RCU read-side section, and what a real-time task waits beside it.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cpuledger_bpf::{Mechanism, Request, Walker, abi};
use cpuledger_load::{RaisedLimits, Sleepers};

use crate::measure::{median, time_command};
use crate::results::{Results, Row};
use crate::table::{Table, digits, thousands};

/// Options of `stalls`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Populations of sleeping threads; each takes about 30 KB of kernel memory
    #[arg(long, value_delimiter = ',', default_value = "10000,100000,300000")]
    threads: Vec<usize>,
    /// Seconds that each subject runs
    #[arg(long, default_value_t = 10)]
    seconds: u32,
}

/// What runs while cyclictest measures.
const SUBJECTS: [(&str, Subject); 4] = [
    ("nothing", Subject::Nothing),
    ("walks of the fields of `ps -eLo pid,tid,comm,time`", Subject::Walks(abi::CPULEDGER_READ_BRIEFLY)),
    ("walks of all fields", Subject::Walks(u32::MAX)),
    ("procps `ps -e`: getdents(2) of /proc", Subject::Procps),
];

#[derive(Clone, Copy)]
enum Subject {
    Nothing,
    Walks(u32),
    Procps,
}

/// Measures and prints.
///
/// # Errors
/// Without root, memory for the threads, or the program cyclictest.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let most = arguments.threads.iter().copied().max().unwrap_or(0);
    let _limits = RaisedLimits::for_threads(most).context("cannot raise the limits; run as root")?;
    let mut results = Results::create("stalls", &[])?;
    let caption = "Beside walks of all tasks without a pause: the longest walk, which is one RCU read-side section, and what \
                   cyclictest waited at most, at a real-time priority on each CPU";
    let header = ["sleeping threads", "beside", "median walk ms", "longest walk ms", "longest wait ms"];
    let mut table = Table::new("stalls", caption, header);
    for &threads in &arguments.threads {
        let _sleepers = Sleepers::start(threads, 1)?;
        for (name, subject) in SUBJECTS {
            let (walks, waited) = beside(subject, threads, arguments.seconds)?;
            let ms = |duration: Duration| digits(duration.as_secs_f64() * 1e3);
            let walked = |of: fn(&[Duration]) -> Duration| match walks.as_slice() {
                [] => "-".to_owned(),
                walks => ms(of(walks)),
            };
            let longest = walked(|walks| walks.iter().max().copied().unwrap_or_default());
            table.row([thousands(threads), name.to_owned(), walked(median), longest, ms(waited)]);
            results.add(&Row::new(&format!("{name}: walks"), threads, &walks))?;
            results.add(&Row::new(&format!("{name}: longest wait of cyclictest"), threads, &[waited]))?;
        }
    }
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// Runs the subject over and over while cyclictest does: how long each walk took, and the longest wait.
fn beside(subject: Subject, threads: usize, seconds: u32) -> anyhow::Result<(Vec<Duration>, Duration)> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let waited = longest_wait(seconds);
            is_over.store(true, Ordering::Relaxed);
            waited
        });
        let walks = repeat(subject, threads, &is_over);
        Ok((walks?, waits.join().expect("it does not panic")?))
    })
}

fn repeat(subject: Subject, threads: usize, is_over: &AtomicBool) -> anyhow::Result<Vec<Duration>> {
    let mut walks = Vec::new();
    let mut walker = match subject {
        Subject::Walks(groups) => Some(Walker::load_for(threads as u32, 0, groups)?),
        Subject::Nothing | Subject::Procps => None,
    };
    while !is_over.load(Ordering::Relaxed) {
        match subject {
            Subject::Nothing => thread::sleep(Duration::from_millis(10)),
            Subject::Procps => drop(time_command("ps", &["-e"])?),
            Subject::Walks(groups) => {
                let walker = walker.as_mut().context("it is loaded")?;
                let request = Request { scope: abi::CPULEDGER_WALK_TASKS, groups, only_pid: None };
                let begin = Instant::now();
                let walked = walker.walk(&request)?;
                walks.push(begin.elapsed());
                ensure!(walked.mechanism == Mechanism::OneCall, "this kernel has no walk in one call");
                ensure!(walked.tasks.len() >= threads, "a walk lacks tasks: {}", walked.tasks.len());
            }
        }
    }
    Ok(walks)
}

/// What the thread of cyclictest that waited longest has waited.
fn longest_wait(seconds: u32) -> anyhow::Result<Duration> {
    let output = Command::new("cyclictest")
        .args(["--quiet", "--mlockall", "--smp", "--priority=90", "--interval=200", "--duration"])
        .arg(seconds.to_string())
        .stdin(Stdio::null())
        .output()
        .context("cannot run cyclictest; install the package rt-tests")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let waits = text.lines().filter_map(|line| line.rsplit_once("Max:")?.1.trim().parse().ok());
    let longest_us = waits.max().with_context(|| format!("cyclictest, {}: {text}", output.status))?;
    Ok(Duration::from_micros(longest_us))
}
