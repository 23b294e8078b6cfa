//! The options of `cpuledger export`. They are here, and not in the program that has the command: so pages and completions of `cpuledger` have
//! them, and nothing of it is built with Arrow.

use std::path::PathBuf;

use clap::{ArgGroup, Parser};

/// What follows the options in the help.
const AFTER_HELP: &str = "\
There are three tables: intervals (what a machine had and used), usage (what each process used) and exited (what died). Each has a \
file a segment of the recording and day, as in DIR/usage/date=2026-03-01/host=web1/….parquet. What is there already is not \
written again. The segment that a recorder is writing is left out. The same time from another recording is refused. docs/export.md has the columns, what adds up to what, and queries \
for DuckDB, polars, pandas, ClickHouse and Spark.

A store of objects gets whole files only. After a failure or a kill the same command goes on from what is there. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL say which store of S3 it is, and who asks; CPULEDGER_HTTP_AUTHORIZATION is the header Authorization for WebDAV. AWS_ALLOW_HTTP=true allows what is not encrypted.

Examples:
  cpuledger export -o tables                                   Parquet of what `cpuledger record` has written
  cpuledger export /srv/books -o tables --since yesterday --until today
  cpuledger export /var/log/cpuledger --to s3://fleet/books      from a timer; docs/fleet.md has what to ask then
  cpuledger export segment.seg -o tables --format csv

Exit codes: 0 done, 1 nothing is recorded of that time, something could not be read or written, the tables have the same time from another recording, a store cannot be reached or refuses access, or Ctrl-C, 2 wrong \
option, 3 the program `cpuledger-export` is not installed.";

/// The options of `export`.
#[derive(Debug, Parser)]
#[command(name = "export", about = "Write a recording as tables for others: Parquet, Arrow, CSV or JSON lines", after_help = AFTER_HELP, group = ArgGroup::new("where").args(["output", "to"]).required(true))]
pub struct Arguments {
    /// The recording: its directory, or one segment [default: where `cpuledger record` writes]
    #[arg(value_name = "DIR|FILE")]
    pub recording: Option<PathBuf>,
    /// The directory of the tables; it is made if it is missing
    #[arg(short = 'o', long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub output: Option<PathBuf>,
    /// Where the tables go: a directory, `s3://BUCKET/PREFIX`, or the `https://` address of a folder of a WebDAV server
    #[arg(long, value_name = "WHERE")]
    pub to: Option<String>,
    /// Format of the files
    #[arg(long, value_enum, default_value_t = Format::Parquet)]
    pub format: Format,
    /// Only intervals from this time on: `2026-03-01 03:12`, `yesterday 03:12`, `03:12`, `@1700000000`, or `10m ago` before the end
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// Only intervals until this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
}

/// A format of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Apache Parquet, compressed by zstd
    Parquet,
    /// Arrow IPC files (Feather 2), compressed by zstd
    Arrow,
    /// CSV with a header
    Csv,
    /// CSV with an apostrophe before text that a spreadsheet would run as a formula
    CsvSafe,
    /// A JSON object a line
    #[value(name = "jsonl")]
    JsonLines,
}

impl Format {
    /// How the names of its files end.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Csv | Format::CsvSafe => "csv",
            Format::JsonLines => "jsonl",
        }
    }

    /// Whether all batches of a file have one dictionary, which its writer has to know beforehand.
    pub fn has_one_dictionary(self) -> bool {
        self == Format::Arrow
    }
}
