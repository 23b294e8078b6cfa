//! `cargo run --release -p cpuledger-bench -- walk`: measures cpuledger beside its peers, alternately and in one run, and
//! prints medians and ratios. Raw results are kept in `bench/results/DATE-MACHINE/`.

mod measure;
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
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Walk(arguments) => walk::run(&arguments),
    }
}
