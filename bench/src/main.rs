//! `cargo run --release -p cpuledger-bench -- walk`: measures cpuledger beside its peers, alternately and in one run, and
//! prints medians and ratios. Raw results are kept in `bench/results/DATE-MACHINE/`.

mod hooks;
mod measure;
mod monitors;
mod procfs;
mod reader;
mod results;
mod walk;

use clap::{Parser, Subcommand};

/// Measurements of cpuledger beside its peers.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What to measure.
#[derive(Debug, Subcommand)]
enum Command {
    /// Listing every task over 0 to 100,000 sleeping threads: the walk, ps, top
    Walk(walk::Arguments),
    /// Listing processes from /proc, over 0 to 5,000 sleeping ones: the source procfs, ps, top
    Procfs(procfs::Arguments),
    /// What forks, exits, threads and switches cost with the ledger attached and detached, over growing populations
    Hooks(hooks::Arguments),
    /// What an interval of the ledger costs its reader, with and without 100,000 sleeping threads, and attaching
    Reader(reader::Arguments),
    /// CPU time of monitors that refresh every 2 s over 100,000 sleeping threads: cpuledger, top, htop, atop, pidstat
    Monitors(monitors::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Walk(arguments) => walk::run(&arguments),
        Command::Procfs(arguments) => procfs::run(&arguments),
        Command::Hooks(arguments) => hooks::run(&arguments),
        Command::Reader(arguments) => reader::run(&arguments),
        Command::Monitors(arguments) => monitors::run(&arguments),
    }
}
