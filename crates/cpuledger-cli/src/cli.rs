//! The command line, except for `ps`, whose option styles are older than any parser.

use clap::{Parser, Subcommand};

/// Show where a Linux machine's CPU time goes, to the nanosecond.
#[derive(Debug, Parser)]
#[command(name = "cpuledger", version, about, max_term_width = 100)]
pub struct Cli {
    /// Explain errors in more detail: print the last lines of the kernel's BPF verifier
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
    max_term_width = 100
)]
pub struct Ptop {
    /// Explain errors in more detail: print the last lines of the kernel's BPF verifier
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// The options of `cpuledger top`
    #[command(flatten)]
    pub top: crate::cmd::top::Arguments,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what ran in each interval
    Top(Box<crate::cmd::top::Arguments>),
    /// List tasks once, with the options of procps' ps
    #[command(disable_help_flag = true)]
    Ps {
        /// Options in UNIX, BSD and GNU style; `ps --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Print the text of /proc/PID/status, stat or statm for many tasks at once
    Status(crate::cmd::status::Arguments),
    /// Say which sources work on this machine, why, and what would make the others work
    Doctor(crate::cmd::doctor::Arguments),
}
