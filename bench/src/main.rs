//! `cargo run --release -p cpuledger-bench -- rates`: measures cpuledger beside its peers, alternately and in one run, and
//! prints medians and ratios. Raw results are kept in `bench/results/DATE-MACHINE/`.

mod accounts;
mod against;
mod all;
mod coverage;
mod enumerate;
mod exporters;
mod first;
mod go;
mod hooks;
mod lifetimes;
mod listings;
mod measure;
mod monitors;
mod peers;
mod rates;
mod reader;
mod readme;
mod reads;
mod real;
mod recording;
mod recording_day;
mod replay;
mod report;
mod results;
mod screen;
mod service;
mod stalls;
mod status;
mod supervise;
mod table;
mod truth;
mod waiting;

use std::process::ExitCode;

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
    /// Another build and this one, alternately: hooks, an interval, listings, the service
    Against(against::Arguments),
    /// Every table; `make bench` and `make bench-quick`
    All(all::Arguments),
    /// What the ledger costs by switches and exits and the walk by tasks
    Rates(rates::Arguments),
    /// Listings of threads and processes beside those of procps, over 100 to 100,000 sleeping threads
    Listings(listings::Arguments),
    /// Finding the processes: getdents of /proc beside the walk, with and without 100,000 threads (S3)
    Enumerate(enumerate::Arguments),
    /// What the rows of each tool sum to beside busy loops and compilers (S4, TEST 2)
    Coverage(coverage::Arguments),
    /// What forks, exits, threads and switches cost with the ledger attached and detached, over growing populations
    Hooks(hooks::Arguments),
    /// What each account adds to a ledger, and how much of that calls of programs take that do nothing
    Accounts(accounts::Arguments),
    /// A process and a thread from start to end in microseconds, over sleeping processes and threads, with the ledger and without (S5)
    Lifetimes(lifetimes::Arguments),
    /// What an interval of the ledger costs its reader, with and without 100,000 sleeping threads, and attaching
    Reader(reader::Arguments),
    /// Text of /proc/PID/{status,stat,statm} of 1,000 to 100,000 tasks: one walk rendered, and the kernel's files
    Status(status::Arguments),
    /// One million reads of /proc/self/status beside as many records of the same text; few files beside `status --all` (S2)
    Reads(reads::Arguments),
    /// CPU share of monitors that refresh every 2 s over 1,000 and 100,000 sleeping threads: ours with each source, top,
    /// htop, atop, pidstat (S4, TEST 1); or what one refresh takes (S1)
    Monitors(monitors::Arguments),
    /// The screen over 1,000 and 100,000 sleeping threads: CPU time, and from a key to its frame; beside htop
    Screen(screen::Arguments),
    /// How soon a screen shows processes, and an interval; alone and beside 100 busy tasks, beside top, htop and btop
    First(first::Arguments),
    /// What each tool says of a load that is known to the byte: disk, network, waits for a CPU
    Peers(peers::Arguments),
    /// The service: what it and its readers cost, listings through it, and the time to a first screen
    Service(service::Arguments),
    /// Bytes of a recording beside `atop -w` under a mixed load, and what recording costs an idle machine
    Recording(recording::Arguments),
    /// What a scrape costs `cpuledger metrics`, process-exporter and node_exporter, and how much of a storm each names
    Exporters(exporters::Arguments),
    /// What a refresh costs a program in Go: by our client of the service, and by gopsutil, with and without 100,000 sleeping threads
    Go(go::Arguments),
    /// How long a walk keeps its CPU, beside cyclictest
    Stalls(stalls::Arguments),
    /// What each tool says of tasks that wait for a CPU, for the disk and for a lock; top, atop, pidstat, perf sched, bpftrace, offcputime
    Waiting(waiting::Arguments),
    /// Programs of others, each in a cgroup: what the ledger says of them beside the kernel's own counts
    Truth(truth::Arguments),
    /// What an observer costs programs of others: pgbench, redis, nginx, hackbench, forks; ledger, service, atop, htop, perf sched record
    Real(real::Arguments),
    /// A day of seconds in `ptop --replay`, made of the intervals of a recording: the start, and jumps
    Replay(replay::Arguments),
    /// Reports over a day of seconds, made of the intervals of a recording
    Report(report::Arguments),
    /// Put the tables of the newest results into docs/costs.md
    Readme(readme::Arguments),
}

fn main() -> anyhow::Result<ExitCode> {
    let command = Cli::parse().command;
    if !supervise::is_worker()? {
        return supervise::run();
    }
    run(command)?;
    Ok(ExitCode::SUCCESS)
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Against(arguments) => against::run(&arguments),
        Command::All(arguments) => all::run(&arguments),
        Command::Rates(arguments) => rates::run(&arguments),
        Command::Listings(arguments) => listings::run(&arguments),
        Command::Enumerate(arguments) => enumerate::run(&arguments),
        Command::Coverage(arguments) => coverage::run(&arguments),
        Command::Hooks(arguments) => hooks::run(&arguments),
        Command::Accounts(arguments) => accounts::run(&arguments),
        Command::Lifetimes(arguments) => lifetimes::run(&arguments),
        Command::Reader(arguments) => reader::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Reads(arguments) => reads::run(&arguments),
        Command::Monitors(arguments) => monitors::run(&arguments),
        Command::Screen(arguments) => screen::run(&arguments),
        Command::First(arguments) => first::run(&arguments),
        Command::Peers(arguments) => peers::run(&arguments),
        Command::Service(arguments) => service::run(&arguments),
        Command::Recording(arguments) => recording::run(&arguments),
        Command::Exporters(arguments) => exporters::run(&arguments),
        Command::Go(arguments) => go::run(&arguments),
        Command::Stalls(arguments) => stalls::run(&arguments),
        Command::Waiting(arguments) => waiting::run(&arguments),
        Command::Truth(arguments) => truth::run(&arguments),
        Command::Real(arguments) => real::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Readme(arguments) => readme::run(&arguments),
    }
}
