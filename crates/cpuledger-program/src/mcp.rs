//! The options of `cpuledger mcp`. They are here, and not in the program that has the command, as those of `metrics`.

use std::path::PathBuf;

use clap::Parser;

/// What follows the options in the help.
const AFTER_HELP: &str = "\
A client of the Model Context Protocol starts it, and speaks with it by standard input and output. It answers what used the CPU, who waited for one, and what a build cost: from what the service has of the \
last minutes, and from a recording. It only reads, as the user who starts it, and answers are bounded. docs/mcp.md shows how clients are set up.

Exit codes: 0 the client has closed standard input, 1 output failed, 2 wrong option, 3 the program `cpuledger-net` is not installed.";

/// The options of `mcp`.
#[derive(Debug, Parser)]
#[command(name = "mcp", about = "Answer questions of programs that speak the Model Context Protocol", after_help = AFTER_HELP)]
pub struct Arguments {
    /// The recording: its directory, or one segment [default: where `cpuledger record` writes]
    #[arg(value_name = "DIR|FILE")]
    pub recording: Option<PathBuf>,
    /// The socket of the service [default: $CPULEDGER_SOCKET, or that of the machine]
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}
