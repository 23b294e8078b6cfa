//! What the service costs: itself, its readers, listings through it, and the time until a screen shows something.

pub mod daemon;
mod hooks;
mod idle;
mod listings;
mod readers;
mod screen;

pub use daemon::{Daemon, as_stranger};

use std::path::PathBuf;

use anyhow::Context;
use cpuledger_load::RaisedLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::results::Results;
use crate::table::Table;

/// Options of `service`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted rounds with one reader and with many
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Readers, where they are many
    #[arg(long, default_value_t = 1000)]
    readers: usize,
    /// Counted runs of each listing
    #[arg(long, default_value_t = 21)]
    listings: usize,
    /// Populations: threads that sleep in one process; the last counts where there is one
    #[arg(long, value_delimiter = ',', default_value = "100,100000")]
    threads: Vec<usize>,
    /// Counted pairs of runs of each work, with the service and with a ledger alone
    #[arg(long, default_value_t = 21)]
    pairs: usize,
    /// Seconds without readers
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Parts: readers, listings, first, screen, idle, hooks
    #[arg(long, value_delimiter = ',', default_value = "readers,listings,first,screen,idle,hooks")]
    parts: Vec<String>,
    /// Read the ring of the service at this socket, for strace
    #[arg(long, hide = true)]
    follow: Option<PathBuf>,
    /// That number of frames
    #[arg(long, hide = true, default_value_t = 20)]
    frames: u32,
}

/// Frames through a ring of the bench.
const FRAMES_OF_RING: u32 = 300;
/// Intervals of a phase that count.
const INTERVALS: u32 = 8;

/// Measures and prints.
///
/// # Errors
/// Without root, or when something cannot be measured.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(socket) = &arguments.follow {
        return readers::follow(socket, arguments.frames);
    }
    let most = arguments.threads.iter().copied().max().unwrap_or(0);
    let _limits = RaisedLimits::for_threads(most + arguments.readers)
        .context("cannot raise the limits; run as root")?;
    raise_open_files()?;
    let has = |part: &str| arguments.parts.iter().any(|wanted| wanted == part);
    let mut results = Results::create("service", &["ps"])?;
    let mut table = Table::new("service", "What the service costs", ["what", "measured"]);
    // First: behind the part with a thousand readers, each process that this program starts takes 2 ms longer.
    if has("listings") {
        listings::measure_concurrent(most, arguments.rounds, &mut results, &mut table)?;
        listings::measure(&arguments.threads, arguments.listings, &mut results)?;
    }
    if has("first") {
        listings::measure_first(&arguments.threads, arguments.listings, &mut results)?;
    }
    if has("readers") {
        readers::measure(arguments.readers, arguments.rounds, INTERVALS, &mut results, &mut table)?;
        readers::measure_ring(FRAMES_OF_RING, &mut results, &mut table)?;
        readers::count_calls(arguments.frames, &mut results, &mut table)?;
    }
    if has("idle") {
        idle::measure(most, arguments.seconds, &mut results, &mut table)?;
    }
    if has("screen") {
        screen::measure(arguments.listings, &mut results, &mut table)?;
    }
    if has("hooks") {
        hooks::measure(arguments.pairs, &mut results, &mut table)?;
    }
    if table.has_rows() {
        table.keep(&results)?;
    }
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// Each reader has a connection.
fn raise_open_files() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?)
}
