//! S5's two tables: what a process and a thread take from start to end, in microseconds, by how many tasks the system has.

use std::time::Duration;

use anyhow::Context;
use cpuledger_load::{RaisedLimits, Sleepers};

use crate::hooks::{Beside, Latency, in_pairs, median_of_pairs};
use crate::measure::median;
use crate::results::{Results, Row};
use crate::table::{Table, thousands};

/// Options of `lifetimes`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted pairs of runs, with the ledger and without, of each subject
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// Populations: tasks that sleep, once as processes and once as threads of one process
    #[arg(long, value_delimiter = ',', default_value = "200,1000,2000,4000,16000,100000")]
    tasks: Vec<usize>,
}

/// What is timed, as the argument of latency.c, and how often in one run: about 0.1 s.
const SUBJECTS: [(&str, &str, u32); 3] =
    [("fork + exit", "fork", 1_000), ("fork + exec + exit", "exec", 400), ("thread", "thread", 4_000)];

/// For each task that was just made the kernel is busy for that long: it moves pages, and frees what starts have left.
const SETTLING: Duration = Duration::from_micros(100);

/// Measures and prints.
///
/// # Errors
/// Without root, or when a subject fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let most = arguments.tasks.iter().copied().max().unwrap_or(0);
    let _limits = RaisedLimits::for_threads(most).context("cannot raise the limits; run as root")?;
    let latency = Latency::compile()?;
    let mut results = Results::create("lifetimes", &[])?;
    let caption = format!(
        "Microseconds from start to end of a process and of a thread, by the tasks that sleep meanwhile: without the ledger, with it, and the median ratio of \
         {} pairs",
        arguments.rounds
    );
    let header = ["sleeping", "work", "without", "with", "ratio"];
    let mut table = Table::new("lifetimes", &caption, header);
    for &tasks in &arguments.tasks {
        for (kind, processes) in [("processes", tasks), ("threads", 1)] {
            let _sleepers = Sleepers::start(tasks, processes)?;
            std::thread::sleep(SETTLING * tasks as u32);
            for (name, mode, times) in SUBJECTS {
                let (with, without) =
                    in_pairs(arguments.rounds, Beside::Nothing, || latency.run(mode, times))?;
                let ratio = median_of_pairs(&with, &without, |with, without| with / without);
                let micros = |times: &[Duration]| format!("{:.1}", median(times).as_nanos() as f64 / 1e3);
                let sleeping = format!("{} {kind}", thousands(tasks));
                eprintln!("{sleeping:>20}  {name:<20} {} {} {ratio:.3}", micros(&without), micros(&with));
                results.add(&Row::new(&format!("{name} over {kind}, attached"), tasks, &with))?;
                results.add(&Row::new(&format!("{name} over {kind}, detached"), tasks, &without))?;
                table.row([
                    sleeping,
                    name.to_owned(),
                    micros(&without),
                    micros(&with),
                    format!("{ratio:.3}"),
                ]);
            }
        }
    }
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}
