//! S1: listings of threads and of processes beside those of procps, over growing populations.

use anyhow::Context;
use cpuledger_load::{RaisedLimits, Sleepers};

use crate::measure::{Subject, alternate, median};
use crate::results::{Results, Row};
use crate::table::{Table, digits, thousands};

/// Options of `listings`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted runs of each listing
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Populations: threads that sleep in one process
    #[arg(long, value_delimiter = ',', default_value = "100,1000,2000,4000,8000,16000,100000")]
    threads: Vec<usize>,
    /// Number of threads beyond which each listing runs only five times: those of procps take seconds
    #[arg(long, default_value_t = 20_000)]
    patience: usize,
    /// Measure CPU time instead of wall time, as is fair on a busy machine
    #[arg(long)]
    cpu_time: bool,
}

/// What both are asked for, by the words of the command line.
pub const LISTINGS: [&[&str]; 5] =
    [&["-eLf"], &["-eLo", "pid,tid,comm,time"], &["axm"], OF_PROCESSES[0], OF_PROCESSES[1]];
const OF_PROCESSES: [&[&str]; 2] = [&["-e"], &["aux"]];

/// Measures and prints.
///
/// # Errors
/// Without root, or when a listing fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let most = arguments.threads.iter().copied().max().unwrap_or(0);
    let _limits = RaisedLimits::for_threads(most).context("cannot raise the limits; run as root")?;
    let binary = std::env::current_exe()?.with_file_name("cpuledger");
    let binary = binary.to_str().context("the path of the binary is not UTF-8")?;
    let mut results = Results::create("listings", &["ps"])?;
    let unit = if arguments.cpu_time { "ms of CPU time" } else { "ms" };
    let caption = format!(
        "Listings by procps and by cpuledger in {unit}, the whole processes with BPF loaded and unloaded, by the number of threads that sleep \
         in one process"
    );
    let mut table = Table::new(
        "listings",
        &caption,
        ["listing".to_owned()].into_iter().chain(arguments.threads.iter().map(|&threads| thousands(threads))),
    );
    let mut rows = LISTINGS.map(|listing| vec![format!("`ps {}`", listing.join(" "))]);
    for &threads in &arguments.threads {
        let _sleepers = Sleepers::start(threads, 1)?;
        for (listing, row) in LISTINGS.iter().zip(&mut rows) {
            let is_long = threads > arguments.patience && !OF_PROCESSES.contains(listing);
            let rounds = if is_long { arguments.rounds.min(5) } else { arguments.rounds };
            let words = listing.join(" ");
            let with_name: Vec<&str> = std::iter::once("ps").chain(listing.iter().copied()).collect();
            let command = if arguments.cpu_time { Subject::command_by_cpu_time } else { Subject::command };
            let mut subjects = [
                command(&format!("ps {words}"), "ps", listing),
                command(&format!("cpuledger ps {words}"), binary, &with_name),
            ];
            let durations = alternate(&mut subjects, rounds)?;
            let [procps, ours] =
                [median(&durations[0]), median(&durations[1])].map(|time| time.as_secs_f64() * 1e3);
            let ratio = procps / ours;
            eprintln!(
                "{threads:>8}  ps {words:<25} procps {procps:>8.1} ms, cpuledger {ours:>8.1} ms, {ratio:.1} times"
            );
            row.push(format!("{} / {} = {}", digits(procps), digits(ours), digits(ratio)));
            for (subject, durations) in subjects.iter().zip(&durations) {
                results.add(&Row::new(&subject.name, threads, durations))?;
            }
        }
    }
    rows.into_iter().for_each(|row| table.row(row));
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}
