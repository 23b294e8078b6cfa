//! `cargo run --release -p cpuledger-bench -- walk`: measures cpuledger beside its peers, alternately and in one run, and
//! prints medians and ratios. Raw results are kept in `bench/results/DATE-MACHINE/`.

mod measure;
mod procfs;
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
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Walk(arguments) => walk::run(&arguments),
        Command::Procfs(arguments) => procfs::run(&arguments),
    }
}
