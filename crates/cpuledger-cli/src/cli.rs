//! The command line, except for `ps`, whose option styles are older than any parser.

use clap::{Parser, Subcommand};

/// The books of a Linux machine's CPU time.
#[derive(Debug, Parser)]
#[command(name = "cpuledger", version, about, max_term_width = 100)]
pub struct Cli {
    /// Say more about what went wrong: the verifier's last lines
    #[arg(short = 'v', long, global = true)]
    pub verbose: bool,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// Show what ran, interval after interval: the same as `cpuledger top`.
#[derive(Debug, Parser)]
#[command(
    name = "ptop",
    version,
    about = "Show what ran, interval after interval, on the whole screen or as text; the same as cpuledger top",
    max_term_width = 100
)]
pub struct Ptop {
    /// Say more about what went wrong: the verifier's last lines
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// The options of `cpuledger top`
    #[command(flatten)]
    pub top: crate::cmd::top::Arguments,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what ran, interval after interval
    Top(Box<crate::cmd::top::Arguments>),
    /// List tasks once; takes the options of procps' ps
    #[command(disable_help_flag = true)]
    Ps {
        /// Options in UNIX, BSD and GNU style; `ps --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Write the text of /proc/PID/status, stat or statm of many tasks at once
    Status(crate::cmd::status::Arguments),
    /// Tell which sources are usable here, why, and what would mend the others
    Doctor(crate::cmd::doctor::Arguments),
}
