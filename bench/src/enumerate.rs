//! S3: finding the processes of a machine: getdents(2) of /proc beside the walk of the processes, under many threads.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use anyhow::Context;
use cpuledger_bpf::{Request, Walker, abi};
use cpuledger_load::{RaisedLimits, Sleepers};
use rustix::fs::{Mode, OFlags, RawDir, open};

use crate::measure::{Subject, alternate, median};
use crate::results::{Results, Row};
use crate::table::{Table, digits, thousands};

/// Options of `enumerate`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted runs of each
    #[arg(long, default_value_t = 51)]
    rounds: usize,
    /// Populations: threads that sleep in one process
    #[arg(long, value_delimiter = ',', default_value = "1,100000")]
    threads: Vec<usize>,
}

/// Bytes for directory entries.
const ROOM_BYTES: usize = 64 * 1024;

/// Measures and prints.
///
/// # Errors
/// Without root, or when a subject fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let most = arguments.threads.iter().copied().max().unwrap_or(0);
    let _limits = RaisedLimits::for_threads(most).context("cannot raise the limits; run as root")?;
    let mut results = Results::create("enumerate", &[])?;
    let caption = "Finding all processes, in µs, by the number of threads that sleep in one of them";
    let mut table = Table::new(
        "enumerate",
        caption,
        ["how".to_owned()].into_iter().chain(arguments.threads.iter().map(|&threads| thousands(threads))),
    );
    let mut rows: Vec<Vec<String>> = Vec::new();
    for &threads in &arguments.threads {
        let _sleepers = Sleepers::start(threads, 1)?;
        let request = Request { scope: abi::CPULEDGER_WALK_LEADERS, groups: 0, only_pid: None };
        let mut walker = Walker::load_for(1024, 1024, 0)?;
        let (mut listed, mut walked) = (0, 0);
        let mut subjects = [
            Subject {
                name: "getdents(2) of /proc".to_owned(),
                run: Box::new(|| time(&mut listed, processes_of_proc)),
            },
            Subject {
                name: "one walk of the processes, bpf(2)".to_owned(),
                run: Box::new(|| time(&mut walked, || Ok(walker.walk(&request)?.processes.len()))),
            },
        ];
        let durations = alternate(&mut subjects, arguments.rounds)?;
        let names = subjects.map(|subject| subject.name);
        for (index, (name, durations)) in names.iter().zip(&durations).enumerate() {
            let median_us = median(durations).as_secs_f64() * 1e6;
            eprintln!("{threads:>8}  {name:<40} {median_us:>9.1} us, {} processes", [listed, walked][index]);
            results.add(&Row::new(name, threads, durations))?;
            if rows.len() <= index {
                rows.push(vec![name.clone()]);
            }
            rows[index].push(digits(median_us));
        }
    }
    rows.into_iter().for_each(|row| table.row(row));
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}

fn time(count: &mut usize, work: impl FnOnce() -> anyhow::Result<usize>) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    *count = work()?;
    Ok(begin.elapsed())
}

fn processes_of_proc() -> anyhow::Result<usize> {
    let folder = open("/proc", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut room = Vec::with_capacity(ROOM_BYTES);
    let mut entries = RawDir::new(folder.as_fd(), room.spare_capacity_mut());
    let mut count = 0;
    while let Some(entry) = entries.next() {
        count += usize::from(entry?.file_name().to_bytes()[0].is_ascii_digit());
    }
    Ok(count)
}
