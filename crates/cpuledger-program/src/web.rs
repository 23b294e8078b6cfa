//! The options of `cpuledger web`. They are here, and not in the program that has the command, as those of `metrics`.

use std::path::PathBuf;

use clap::Parser;

/// What follows the options in the help.
const AFTER_HELP: &str = "\
The page shows what runs now, what the service has of the last minutes, and what is recorded. It only reads, as the user who starts it: visitors see what \
the service shows to that user. It listens on this machine only, unless --web-config sets a certificate and a password. docs/web.md explains the page.

Examples:
  cpuledger web                                       http://127.0.0.1:10912/
  cpuledger web --listen unix:/run/user/1000/web.sock
  cpuledger web --listen :10912 --web-config web.yml  for other machines
  ssh -L 10912:localhost:10912 SERVER                 the page of a server that listens on itself only

Exit codes: 0 ended by a signal, or idle; 1 cannot listen or read its configuration; 2 wrong option; 3 no service, or the program `cpuledger-net` is not installed.";

/// The options of `web`.
#[derive(Debug, Parser)]
#[command(name = "web", about = "Show the books in a browser: what runs now, and what ran before", after_help = AFTER_HELP)]
pub struct Arguments {
    /// The recording for times before the last minutes [default: /var/log/cpuledger if this user may read it, else where
    /// `cpuledger record` writes]
    #[arg(value_name = "DIR|FILE")]
    pub recording: Option<PathBuf>,
    /// Where to listen: ADDRESS:PORT, :PORT or unix:PATH; may be repeated [default: 127.0.0.1:10912, or the sockets of the service manager]
    #[arg(long, value_name = "WHERE")]
    pub listen: Vec<String>,
    /// TLS and passwords, in the format of Prometheus' exporters; read again when it changes
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub web_config: Option<PathBuf>,
    /// End after so many seconds without a visitor; 0: never [default: 60 if the service manager starts it for a visitor, else 0]
    #[arg(long, value_name = "SECONDS")]
    pub idle: Option<u32>,
    /// The socket of the service [default: $CPULEDGER_SOCKET, or that of the machine]
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}
