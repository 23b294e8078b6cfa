//! The options of `cpuledger push`. They are here, and not in the program that has the command, as those of `metrics`.

use std::path::PathBuf;

use clap::Parser;
use cpuledger_model::Dimension;

use crate::metrics::dimension;

/// What follows the options in the help.
const AFTER_HELP: &str = "\
It sends cumulative sums by OTLP/HTTP, in protobuf and gzip. A receiver that is down, slow or busy (429, 503) gets the same requests later; a request that comes twice counts once. Where the queue is full, the oldest request is \
dropped: the next one has its amounts, too. docs/otlp.md lists all metrics.

Where to, and with what, can be stated by the variables of OpenTelemetry too: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, \
OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_EXPORTER_OTLP_TIMEOUT, those with METRICS_ before the last word, and OTEL_RESOURCE_ATTRIBUTES. Options come first. Other users see options in \
the list of processes: passwords belong into variables.

Examples:
  cpuledger push                                             to the collector of this machine, http://localhost:4318
  cpuledger push --otlp https://otlp.example.org --queue /var/lib/cpuledger-push
  cpuledger push --by command,unit,pod --processes 50 --every 30

Exit codes: 0 ended by a signal, 1 cannot use its queue or certificates, 2 wrong option, 3 no service, or the program `cpuledger-net` is not installed.";

/// The options of `push`.
#[derive(Debug, Parser)]
#[command(name = "push", about = "Send the books to OpenTelemetry (OTLP/HTTP), as cumulative sums", after_help = AFTER_HELP)]
pub struct Arguments {
    /// Where to; `/v1/metrics` is added unless it is there [default: $OTEL_EXPORTER_OTLP_ENDPOINT, or http://localhost:4318]
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url)]
    pub otlp: Option<String>,
    /// A header of each request, as in `X-Scope: one`; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// Certificates of the authorities that the receiver may have, in PEM [default: those of the machine]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub certificate: Option<PathBuf>,
    /// Seconds between two pushes
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub every: u32,
    /// Keep what is not sent yet in this directory, beyond the end of the program [default: in memory]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub queue: Option<PathBuf>,
    /// Size of that directory, in MiB; in memory it is 8 at most
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub queue_size: u32,
    /// Dimensions, separated by commas
    #[arg(long, value_parser = dimension(), value_delimiter = ',', default_value = "command,user,unit,container,pod")]
    pub by: Vec<Dimension>,
    /// Number of series in a dimension, beside `other`
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub series: u32,
    /// Number of processes that are sent one by one: those that use most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub processes: u32,
    /// The socket of the service [default: $CPULEDGER_SOCKET, or that of the machine]
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}
