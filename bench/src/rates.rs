//! What the ledger costs by switches and exits, and the walk by tasks: from where on which is the cheaper.

use std::time::Instant;

use anyhow::Context;
use cpuledger::attribution::difference::{Books, CutFacts};
use cpuledger::interval::Interval;
use cpuledger::source::Exits;
use cpuledger::source::cost::{LEDGER_FORK_AND_EXIT_NS, LEDGER_SWITCH_NS, WALK_TASK_NS};
use cpuledger::source::walk::Walk;
use cpuledger::{Field, FieldSet, Request, Scope, Snapshot, Source, machine};
use cpuledger_load::{RaisedLimits, Sleepers};

use crate::hooks::{Beside, Latency, in_pairs, median_of_pairs};
use crate::measure::median;
use crate::results::{Results, Row};
use crate::table::Table;

const CAPTION: &str =
    "What ledger and walk cost, measured, and the constants by which `auto` chooses and `doctor` reckons";

/// Options of `rates`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted pairs of runs, with and without the ledger
    #[arg(long, default_value_t = 31)]
    rounds: usize,
    /// Threads over which the walk goes
    #[arg(long, default_value_t = 100_000)]
    threads: usize,
}

/// What is done, how often in a run, and how many events each time has: a round trip through two pipes is two switches.
const EVENTS: [(&str, &str, u32, u32); 2] =
    [("switch", "pipe", 40_000, 2), ("fork with its exit", "fork", 1_000, 1)];

/// What `top` shows.
const FIELDS: FieldSet = FieldSet::of(&[
    Field::Pid,
    Field::Comm,
    Field::User,
    Field::System,
    Field::Runtime,
    Field::State,
    Field::Rss,
]);

/// Measures and prints.
///
/// # Errors
/// Without root, or when a subject fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let _limits =
        RaisedLimits::for_threads(arguments.threads).context("cannot raise the limits; run as root")?;
    let mut results = Results::create("rates", &[])?;
    let latency = Latency::compile()?;
    let mut table = Table::new("rates", CAPTION, ["what", "measured", "reckoned with"]);
    let mut measured_ns = Vec::new();
    for (event, mode, times, events) in EVENTS {
        let (with, without) = in_pairs(arguments.rounds, Beside::Nothing, || latency.run(mode, times))?;
        let added_ns = |with: f64, without: f64| (with - without) * 1e9 / f64::from(events);
        let median_ns = median_of_pairs(&with, &without, added_ns).max(0.0);
        eprintln!("the ledger adds to a {event}: {median_ns:.0} ns");
        results.add(&Row::new(&format!("{event}, attached"), 0, &with))?;
        results.add(&Row::new(&format!("{event}, detached"), 0, &without))?;
        measured_ns.push(median_ns);
    }
    measured_ns.push(walk_ns_a_task(arguments, &mut results)?);
    let reckoned_ns = [LEDGER_SWITCH_NS, LEDGER_FORK_AND_EXIT_NS, WALK_TASK_NS];
    let [switch, fork] = EVENTS.map(|(event, ..)| format!("the ledger, for each {event}"));
    let names = [switch, fork, "the walk, for each task of the machine at each cut".to_owned()];
    for ((name, measured_ns), reckoned_ns) in names.into_iter().zip(&measured_ns).zip(reckoned_ns) {
        table.row([name, format!("{measured_ns:.0} ns"), format!("{reckoned_ns} ns")]);
    }
    table.keep(&results)?;
    println!(
        "every 2 s, the ledger is the cheaper below {:.1} switches a second for each task of the machine",
        measured_ns[2] / 2.0 / measured_ns[0].max(1.0)
    );
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// A cut as `top` makes it: a walk over all tasks, and the books kept by task.
fn walk_ns_a_task(arguments: &Arguments, results: &mut Results) -> anyhow::Result<f64> {
    let _sleepers = Sleepers::start(arguments.threads, 1)?;
    let mut walk = Walk::open()?;
    let mut snapshot = Snapshot::default();
    let mut durations = Vec::new();
    let (mut books, mut exits, mut interval) = (Books::new(false), Exits::default(), Interval::default());
    for round in 0..=arguments.rounds {
        let begin = Instant::now();
        walk.snapshot(&Request::new(Scope::Tasks, FIELDS), &mut snapshot)?;
        let cut = CutFacts::new(machine::online_cpus(), false);
        books.close(&cut, &snapshot, &mut exits, &mut interval);
        // The first has nothing to compare with.
        if round > 0 {
            durations.push(begin.elapsed());
        }
    }
    results.add(&Row::new("walk of all tasks, and the books", arguments.threads, &durations))?;
    Ok(median(&durations).as_secs_f64() * 1e9 / arguments.threads as f64)
}
