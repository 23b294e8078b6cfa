//! S1: listing every task of a machine that holds many sleeping threads.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use cpuledger::source::walk::Walk;
use cpuledger::source::{self, SourceKind};
use cpuledger::{Field, FieldSet, Request, Scope, Snapshot, Source};
use cpuledger_bpf::{Walker, abi};
use cpuledger_load::{RaisedLimits, Sleepers};

use crate::measure::{Subject, alternate, median};
use crate::results::{Results, Row};

/// Options of `walk`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted runs of each subject
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Populations of sleeping threads
    #[arg(long, value_delimiter = ',', default_value = "0,1000,10000,100000")]
    threads: Vec<usize>,
    /// Number of threads beyond which peers that take seconds run only twice
    #[arg(long, default_value_t = 20_000)]
    patience: usize,
    /// Only compare the process-only walk with and without threads
    #[arg(long)]
    only_leaders: bool,
}

/// The fields that `ps -eLo pid,tid,comm,time` shows.
const LISTING: FieldSet =
    FieldSet::of(&[Field::Pid, Field::Tid, Field::Comm, Field::User, Field::System, Field::Runtime]);

/// Every group of fields that a walk reads on demand.
const ALL_GROUPS: u32 = abi::CPULEDGER_READ_DETAIL
    | abi::CPULEDGER_READ_MEMORY
    | abi::CPULEDGER_READ_RSS
    | abi::CPULEDGER_READ_CGROUP
    | abi::CPULEDGER_READ_KTHREAD_NAME;

/// The listing that both are asked for.
const PS: [&str; 2] = ["-eLo", "pid,tid,comm,time"];

/// Measures and prints.
///
/// # Errors
/// Without root, or when a subject fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let _limits = RaisedLimits::for_threads(arguments.threads.iter().copied().max().unwrap_or(0))
        .context("cannot raise the limits; run as root")?;
    let binary = std::env::current_exe()?.with_file_name("cpuledger");
    let mut results =
        Results::create(if arguments.only_leaders { "leaders" } else { "walk" }, &["ps", "top"])?;
    println!("{:>8}  {:<50} {:>12} {:>10}", "threads", "subject", "median", "vs ps");
    let populations = if arguments.only_leaders { &[][..] } else { &arguments.threads };
    for &threads in populations {
        let _sleepers = (threads > 0).then(|| Sleepers::start(threads, 1)).transpose()?;
        population(arguments, threads, &binary, &mut results)?;
    }
    population_does_not_matter(arguments, &mut results)?;
    cost_is_linear(arguments, &mut results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// The walk of all tasks with cold caches, as a monitor that looks every second meets them: a buffer larger than they are
/// is written before each walk. With warm ones the records of 10,000 tasks are in the cache and those of 100,000 are not.
fn cost_is_linear(arguments: &Arguments, results: &mut Results) -> anyhow::Result<()> {
    const NAME: &str = "one walk with cold caches: fields of the listing";
    const CACHE_BYTES: usize = 256 * 1024 * 1024;
    let mut caches = vec![0u8; CACHE_BYTES];
    let mut medians = Vec::new();
    for threads in [10_000, 100_000] {
        let _sleepers = Sleepers::start(threads, 1)?;
        let mut walker = Walker::load_for(threads as u32, 0, abi::CPULEDGER_READ_BRIEFLY)?;
        let request = cpuledger_bpf::Request {
            scope: abi::CPULEDGER_WALK_TASKS,
            groups: abi::CPULEDGER_READ_BRIEFLY,
            only_pid: None,
        };
        let mut durations = Vec::new();
        for round in 0..arguments.rounds * 3 {
            caches.fill(round as u8);
            std::hint::black_box(&caches);
            let begin = Instant::now();
            walker.walk(&request)?;
            durations.push(begin.elapsed());
        }
        println!("{threads:>8}  {NAME:<50} {:>10.3} ms", median(&durations).as_secs_f64() * 1e3);
        results.add(&Row::new(NAME, threads, &durations))?;
        medians.push(median(&durations));
    }
    let ratio = medians[1].as_secs_f64() / medians[0].as_secs_f64();
    println!("{:>8}  {:<50} {ratio:>10.3}", "", "ratio");
    Ok(())
}

/// The process-only walk alternately without sleeping threads and with as many as asked for, by itself, so that no other
/// subject empties the caches.
fn population_does_not_matter(arguments: &Arguments, results: &mut Results) -> anyhow::Result<()> {
    const WALKS: usize = 300;
    const NAME: &str = "walk and decode: leaders, by itself";
    let most = arguments.threads.iter().copied().max().unwrap_or(0);
    let mut walk = Walk::open()?;
    let mut snapshot = Snapshot::default();
    let mut medians = [Vec::new(), Vec::new()];
    for round in 0..2 * arguments.rounds {
        let threads = if round % 2 == 0 { 0 } else { most };
        // Both rounds have the process; only the number of its threads differs.
        let _sleepers = Sleepers::start(threads.max(1), 1)?;
        std::thread::sleep(Duration::from_millis(200));
        let durations = (0..WALKS)
            .map(|_| time_snapshot(&mut walk, Scope::Leaders, FieldSet::ALL, &mut snapshot))
            .collect::<anyhow::Result<Vec<_>>>()?;
        medians[round % 2].push(median(&durations));
    }
    for (threads, medians) in [1, most].into_iter().zip(&medians) {
        println!("{threads:>8}  {NAME:<50} {:>10.3} ms", median(medians).as_secs_f64() * 1e3);
        results.add(&Row::new(NAME, threads, medians))?;
    }
    let ratio = median(&medians[1]).as_secs_f64() / median(&medians[0]).as_secs_f64();
    println!("{:>8}  {:<50} {ratio:>10.3}", "", "ratio");
    Ok(())
}

fn population(
    arguments: &Arguments,
    threads: usize,
    binary: &Path,
    results: &mut Results,
) -> anyhow::Result<()> {
    let binary = binary.to_str().context("the path of the binary is not UTF-8")?;
    let rounds = if threads > arguments.patience { 2 } else { arguments.rounds };
    let mut slow = [
        Subject::command("ps -eLo pid,tid,comm,time", "ps", &PS),
        Subject::command("cpuledger ps -eLo pid,tid,comm,time", binary, &["ps", "-eLo", "pid,tid,comm,time"]),
        Subject::command("ps -e", "ps", &["-e"]),
        Subject::command("cpuledger ps -e", binary, &["ps", "-e"]),
        Subject::command("cpuledger ps -e --source procfs", binary, &["ps", "-e", "--source", "procfs"]),
        Subject::command("top -b -n1", "top", &["-b", "-n1"]),
        Subject::command("top -H -b -n1", "top", &["-H", "-b", "-n1"]),
    ];
    let durations = alternate(&mut slow, rounds)?;
    let reference = median(&durations[0]);
    report(&slow, &durations, threads, reference, results)?;
    let mut walk = Walk::open()?;
    let mut walk = walk_subjects(&mut walk)?;
    for (name, groups) in [
        ("one walk, the bpf(2) call: fields of the listing", abi::CPULEDGER_READ_BRIEFLY),
        ("one walk, the bpf(2) call: all fields", ALL_GROUPS),
    ] {
        let mut walker = Walker::load_for(threads as u32, 0, groups)?;
        let request = cpuledger_bpf::Request { scope: abi::CPULEDGER_WALK_TASKS, groups, only_pid: None };
        let mut durations = Vec::with_capacity(arguments.rounds * 3);
        for _ in 0..=arguments.rounds * 3 {
            let begin = Instant::now();
            walker.walk(&request)?;
            durations.push(begin.elapsed());
        }
        report_one(name, &durations[1..], threads, reference, results)?;
    }
    let mut procfs = source::open(SourceKind::Procfs)?;
    let mut snapshot = Snapshot::default();
    walk.push(Subject {
        name: "source procfs, processes".to_owned(),
        run: Box::new(move || time_snapshot(procfs.as_mut(), Scope::Processes, LISTING, &mut snapshot)),
    });
    let durations = alternate(&mut walk, arguments.rounds * 3)?;
    report(&walk, &durations, threads, reference, results)
}

/// The walk in each scope, decoded; they share the loaded programs and one snapshot.
fn walk_subjects(walk: &mut Walk) -> anyhow::Result<Vec<Subject<'_>>> {
    let shared = std::rc::Rc::new(std::cell::RefCell::new((walk, Snapshot::default())));
    let scopes = [
        ("walk and decode: leaders", Scope::Leaders, FieldSet::ALL),
        ("walk and decode: processes and totals", Scope::Processes, FieldSet::ALL),
        ("walk and decode: tasks, all fields", Scope::Tasks, FieldSet::ALL),
    ];
    Ok(scopes
        .into_iter()
        .map(|(name, scope, fields)| {
            let shared = std::rc::Rc::clone(&shared);
            Subject {
                name: name.to_owned(),
                run: Box::new(move || {
                    let (walk, snapshot) = &mut *shared.borrow_mut();
                    time_snapshot(*walk, scope, fields, snapshot)
                }),
            }
        })
        .collect())
}

fn time_snapshot(
    source: &mut dyn Source,
    scope: Scope,
    fields: FieldSet,
    snapshot: &mut Snapshot,
) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    source.snapshot(&Request { scope, fields }, snapshot)?;
    Ok(begin.elapsed())
}

fn report(
    subjects: &[Subject<'_>],
    durations: &[Vec<Duration>],
    threads: usize,
    reference: Duration,
    results: &mut Results,
) -> anyhow::Result<()> {
    for (subject, durations) in subjects.iter().zip(durations) {
        report_one(&subject.name, durations, threads, reference, results)?;
    }
    Ok(())
}

fn report_one(
    name: &str,
    durations: &[Duration],
    threads: usize,
    reference: Duration,
    results: &mut Results,
) -> anyhow::Result<()> {
    let median = median(durations);
    println!(
        "{threads:>8}  {name:<50} {:>10.3} ms {:>9.1}x",
        median.as_secs_f64() * 1e3,
        reference.as_secs_f64() / median.as_secs_f64()
    );
    results.add(&Row::new(name, threads, durations))
}
