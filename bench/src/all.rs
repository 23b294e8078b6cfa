//! Every table, one after the other, each under the proposal whose experiment it repeats.

use std::time::Instant;

use clap::Parser;

use crate::Cli;
use crate::results::be_quick;

/// Options of `all`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Few rounds and small populations: under 3 minutes
    #[arg(long)]
    quick: bool,
}

/// A table: its title, the command line that makes it, and the short form of that.
type Table = (&'static str, &'static str, &'static str);

const TABLES: [Table; 13] = [
    (
        "S1 (2003, procfs/procps threading): listings over sleeping threads",
        "listings --rounds 5 --threads 100,1000,2000,4000,8000,16000,100000",
        "listings --rounds 2 --threads 100,4000",
    ),
    (
        "S1: what one refresh takes",
        "monitors --each --delay 1 --refreshes 2 --threads 1000,2000,4000,8000,16000,100000",
        "monitors --each --delay 1 --refreshes 1 --threads 4000",
    ),
    (
        "S2 (bulk status text): open, read and close of a file against our text, a task",
        "status --rounds 3",
        "status --rounds 2 --threads 10000 --processes 1000",
    ),
    (
        "S2 as its mail measures it: a million reads of /proc/self/status beside as many records",
        "reads --rounds-of-few 15",
        "reads --records 100000 --parts 2 --threads 10000 --processes 1000 --few 100,1000 --rounds-of-few 3",
    ),
    (
        "S3 (processes without their threads): getdents of /proc against the walk of the processes",
        "enumerate",
        "enumerate --rounds 11 --threads 1,10000",
    ),
    (
        "S4 (2010, taskstats v2), TEST 1: a monitor that refreshes every 2 s",
        "monitors --refreshes 5",
        "monitors --delay 1 --refreshes 1 --threads 1000",
    ),
    (
        "S4, TEST 1 as in the mail: 1,000 sleeping processes",
        "monitors --processes 1000 --refreshes 5",
        "monitors --processes 1000 --delay 1 --refreshes 1",
    ),
    (
        "S4, TEST 2: what the rows sum to, beside two busy loops and compilers",
        "coverage --rounds 3 --seconds 5",
        "coverage --rounds 1 --seconds 2",
    ),
    (
        "Ours: what tools say of tasks that wait, are blocked, and fight for a lock",
        "waiting",
        "waiting --rounds 1 --seconds 1",
    ),
    (
        "S5 (cost of collection): forks, threads and switches with the ledger attached and detached",
        "hooks --rounds 15",
        "hooks --rounds 3 --threads 1000",
    ),
    (
        "S5's two tables: a process and a thread from start to end, in microseconds, over sleeping processes and threads",
        "lifetimes",
        "lifetimes --rounds 3 --tasks 1000",
    ),
    (
        "Ours: the ledger by switches and exits, the walk by tasks",
        "rates",
        "rates --rounds 5 --threads 10000",
    ),
    (
        "Ours: what the service costs, and listings through it",
        "service",
        "service --rounds 1 --readers 100 --listings 3 --threads 100,4000 --seconds 5",
    ),
];

/// Makes all tables.
///
/// # Errors
/// When one cannot be made; those before it are there.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let begin = Instant::now();
    if arguments.quick {
        be_quick();
    }
    for (index, (title, full, quick)) in TABLES.into_iter().enumerate() {
        let line = if arguments.quick { quick } else { full };
        let seconds = begin.elapsed().as_secs();
        eprintln!("\n{} of {}, {seconds} s so far", index + 1, TABLES.len());
        println!("{title}\n$ cpuledger-bench {line}");
        crate::run(Cli::try_parse_from(std::iter::once("cpuledger-bench").chain(line.split(' ')))?.command)?;
    }
    println!("\nall tables in {:.0} s", begin.elapsed().as_secs_f64());
    Ok(())
}
