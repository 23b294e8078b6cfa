//! The options of `cpuledger metrics`. They are here, and not in the program that has the command: so pages and completions of `cpuledger` have
//! them, and nothing of it is built with HTTP.

use std::path::PathBuf;

use clap::Parser;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use cpuledger_model::Dimension;

/// What follows the options in the help.
const AFTER_HELP: &str = "\
In each dimension, every nanosecond is in exactly one series: the busiest names have their own, the rest share `other`. \
Series + idle + unattributed = capacity. docs/metrics.md lists all metrics.

It is an unprivileged client of the service. It exports the rows that the service shows to its user.

Examples:
  cpuledger metrics                                            http://127.0.0.1:10911/metrics
  cpuledger metrics --by command,unit,pod --series 200         other dimensions, more series
  cpuledger metrics --compat process-exporter --process-names names.yml
  cpuledger metrics --listen :10911 --web-config web.yml       for other machines, with TLS and passwords
  cpuledger metrics --listen unix:/run/user/1000/metrics.sock

Exit codes: 0 ended by a signal, 1 cannot listen or read its configuration, 2 wrong option, 3 no service, or the program `cpuledger-net` is not installed.";

/// The options of `metrics`.
#[derive(Debug, Parser)]
#[command(name = "metrics", about = "Export CPU time to Prometheus by command, user, unit and container", after_help = AFTER_HELP)]
pub struct Arguments {
    /// Where to listen: ADDRESS:PORT, :PORT or unix:PATH; may be repeated [default: 127.0.0.1:10911, or the sockets of the service manager]
    #[arg(long, value_name = "WHERE")]
    pub listen: Vec<String>,
    /// Dimensions, separated by commas
    #[arg(long, value_parser = dimension(), value_delimiter = ',', default_value = "command,user,unit,container")]
    pub by: Vec<Dimension>,
    /// Maximum number of named series in a dimension, not counting `other`
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub series: u32,
    /// Also export CPU time under the names that another exporter has for it; separated by commas
    #[arg(long, value_name = "SET", value_enum, value_delimiter = ',')]
    pub compat: Vec<Compat>,
    /// Rules of process-exporter that say which process is in which group [default: a group for each name of a program]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub process_names: Option<PathBuf>,
    /// Whether a process that no rule matches is in the group of its parent [default: true]
    #[arg(long, value_name = "BOOL", hide_possible_values = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub children: Option<bool>,
    /// TLS and passwords, in the format of Prometheus' exporters; read again when it changes
    #[arg(long, alias = "web.config.file", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub web_config: Option<PathBuf>,
    /// The socket of the service [default: $CPULEDGER_SOCKET, or that of the machine]
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}

/// Whose names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Compat {
    /// `namedprocess_namegroup_*` of process-exporter
    ProcessExporter,
    /// `container_cpu_*` of cAdvisor
    #[value(name = "cadvisor")]
    CAdvisor,
}

/// The dimensions by their names.
pub(crate) fn dimension() -> impl TypedValueParser<Value = Dimension> {
    let names = Dimension::OF_SERIES.map(|own| PossibleValue::new(own.name()).help(own.help()));
    PossibleValuesParser::new(names)
        .try_map(|name| Dimension::by_name(&name).ok_or_else(|| format!("there is no dimension `{name}`")))
}
