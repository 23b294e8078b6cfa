//! The command line, except for `ps`, whose option styles are older than any parser.

use clap::{Parser, Subcommand};

const AFTER_HELP: &str = "\
Examples:
  sudo cpuledger top             what runs, on the whole screen; ? shows the keys, q ends it
  sudo cpuledger top -b -n 1     one interval as text
  cpuledger ps aux               same output as procps' `ps aux`
  cpuledger doctor               what works here, and what root would add

`ptop` is `cpuledger top`. Links named `top` and `ps` take the options of procps and print what it prints.

Exit codes: 0 done; 1 something asked for was not found, or output failed; 2 wrong option (ps: 1); 3 no usable source, or `cpuledger-export` is not installed.

The manual pages say more: man/ptop.1, man/cpuledger-ps.1 and others.";

/// Show where a Linux machine's CPU time goes, to the nanosecond
#[derive(Debug, Parser)]
#[command(name = "cpuledger", version, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Cli {
    /// If the kernel rejects a BPF program, also print the last lines of its verifier's log
    #[arg(short = 'v', long, global = true)]
    pub verbose: bool,
    /// The command
    #[command(subcommand)]
    pub command: Command,
}

/// Show what ran in each interval: the same as `cpuledger top`.
#[derive(Debug, Parser)]
#[command(
    name = "ptop",
    version,
    about = "Show what ran in each interval, on the whole screen or as text; the same as cpuledger top",
    max_term_width = 100,
    after_help = crate::cmd::top::AFTER_HELP,
    // Only `cpuledger top` takes it.
    mut_arg("procps", |argument| argument.hide(true))
)]
pub struct Ptop {
    /// If the kernel rejects a BPF program, also print the last lines of its verifier's log
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// The options of `cpuledger top`
    #[command(flatten)]
    pub top: crate::cmd::top::Arguments,
}

/// The words of a command that another program has.
#[derive(Debug, clap::Args)]
pub struct OfOther {
    /// Options of that program; `cpuledger COMMAND --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<std::ffi::OsString>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what ran in each interval, on the whole screen or as text
    #[command(after_help = crate::cmd::top::AFTER_HELP)]
    Top(Box<crate::cmd::top::Arguments>),
    /// Record what ran, interval after interval, in a directory
    #[command(after_help = crate::cmd::record::AFTER_HELP)]
    Record(crate::cmd::record::Arguments),
    /// Summarise a time span of a recording, by command, user, cgroup, process, ancestor or unit
    #[command(after_help = crate::cmd::report::AFTER_HELP)]
    Report(crate::cmd::report::Arguments),
    /// Keep one ledger for all readers of this machine
    #[command(after_help = crate::cmd::serve::AFTER_HELP)]
    Serve(crate::cmd::serve::Arguments),
    /// Run a command, and report what it and everything that descends from it used
    #[command(after_help = crate::cmd::run::AFTER_HELP)]
    Run(crate::cmd::run::Arguments),
    /// Write a recording as tables for others: Parquet, Arrow, CSV or JSON lines
    #[command(disable_help_flag = true)]
    Export(OfOther),
    /// Export CPU time to Prometheus by command, user, unit and container
    #[command(disable_help_flag = true)]
    Metrics(OfOther),
    /// Send the books to OpenTelemetry (OTLP/HTTP), as cumulative sums
    #[command(disable_help_flag = true)]
    Push(OfOther),
    /// Answer questions of programs that speak the Model Context Protocol
    #[command(disable_help_flag = true)]
    Mcp(OfOther),
    /// Show the books in a browser: what runs now, and what ran before
    #[command(disable_help_flag = true)]
    Web(OfOther),
    /// List tasks once, with the options of procps' ps
    #[command(disable_help_flag = true)]
    Ps {
        /// Options in UNIX, BSD and GNU style; `cpuledger ps --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Print the text of /proc/PID/status, stat or statm for many tasks at once
    Status(crate::cmd::status::Arguments),
    /// Show which ways of measuring CPU time (sources) work here, why, and what the others need
    Doctor(crate::cmd::doctor::Arguments),
}
