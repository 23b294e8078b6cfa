//! S4, TEST 1: the share of a CPU that a monitor takes which refreshes every 2 s over many sleeping threads. S1: what one refresh
//! takes.

mod watch;

use std::time::Duration;

use anyhow::Context;
use cpuledger_load::{RaisedLimits, Sleepers};
use serde::Serialize;

use crate::results::Results;
use crate::table::{Table, digits, thousands};
use watch::{Mark, Monitor, Plan, Watched, watch};

/// Options of `monitors`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Refreshes that count, from the second on; fewer of those that take long
    #[arg(long, default_value_t = 5)]
    refreshes: usize,
    /// Seconds between two refreshes
    #[arg(long, default_value_t = 2)]
    delay: u32,
    /// Populations: threads that sleep in one process
    #[arg(long, value_delimiter = ',', default_value = "1000,100000")]
    threads: Vec<usize>,
    /// Seconds after which fewer refreshes will do
    #[arg(long, default_value_t = 16)]
    patience: u64,
    /// Make the table of what one refresh takes over each population, not that of shares
    #[arg(long)]
    each: bool,
    /// Let that many processes sleep instead, of one thread each, and make the table of TEST 1
    #[arg(long, value_name = "N", conflicts_with_all = ["each", "threads"])]
    processes: Option<usize>,
}

/// What one monitor took.
#[derive(Debug, Serialize)]
struct Used<'a> {
    monitor: &'a str,
    sleeping_threads: usize,
    sleeping_processes: usize,
    start_ns: Option<u64>,
    refreshing_ns: &'a [u64],
    elapsed_ns: &'a [u64],
    user_ns: u64,
    system_ns: u64,
}

/// A monitor, and what its rows are.
struct Subject {
    monitor: Monitor,
    shows: &'static str,
    is_peer: bool,
}

/// The kernel is busy with threads that were just made for a while.
const SETTLING: Duration = Duration::from_secs(2);

/// The first subject, to which the others are compared.
const LEDGER: usize = 0;

/// Measures and prints.
///
/// # Errors
/// Without root, or when a monitor cannot be run.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let populations: Vec<(usize, usize)> = match arguments.processes {
        Some(processes) => vec![(processes, processes)],
        None => arguments.threads.iter().map(|&threads| (threads.max(1), 1)).collect(),
    };
    let most = populations.iter().map(|(threads, _)| *threads).max().unwrap_or(0);
    let _limits = RaisedLimits::for_threads(most).context("cannot raise the limits; run as root")?;
    let name = match arguments.processes {
        Some(_) => "test1",
        None if arguments.each => "refreshes",
        None => "monitors",
    };
    let mut results = Results::create(name, &["top", "htop", "atop", "pidstat"])?;
    let subjects = subjects(arguments.delay)?;
    let plan = Plan {
        delay: Duration::from_secs(arguments.delay.into()),
        refreshes: arguments.refreshes,
        patience: Duration::from_secs(arguments.patience),
    };
    let mut columns: Vec<Vec<Watched>> = Vec::new();
    for &(threads, processes) in &populations {
        let _sleepers = Sleepers::start(threads, processes)?;
        std::thread::sleep(SETTLING);
        let mut column = Vec::new();
        for subject in &subjects {
            let monitor = subject.monitor.name.as_str();
            let used = watch(&subject.monitor, &plan)?;
            eprintln!(
                "{threads:>8}  {monitor:<34} {:>10.3} ms a refresh, {:>8.4} % of a CPU, {} refreshes after {:.1} ms",
                used.refresh_ms(),
                used.share(),
                used.refreshing_ns.len(),
                used.start_ms()
            );
            let Watched { start_ns, user_ns, system_ns, .. } = used;
            results.add_any(&Used {
                monitor,
                sleeping_threads: threads,
                sleeping_processes: processes,
                start_ns,
                refreshing_ns: &used.refreshing_ns,
                elapsed_ns: &used.elapsed_ns,
                user_ns,
                system_ns,
            })?;
            column.push(used);
        }
        columns.push(column);
    }
    let table = match arguments.processes {
        Some(processes) => of_test1(arguments, processes, &subjects, columns.last().context("a population")?),
        None if arguments.each => of_refreshes(arguments, &subjects, &columns),
        None => of_shares(arguments, &subjects, &columns),
    };
    table.keep(&results)?;
    acceptance(&subjects, columns.last().context("a population")?);
    println!("raw results: {}", results.path().display());
    Ok(())
}

fn of_refreshes(arguments: &Arguments, subjects: &[Subject], columns: &[Vec<Watched>]) -> Table {
    let caption = "CPU time of one refresh in ms, by the number of threads that sleep in one process";
    let populations = arguments.threads.iter().map(|&threads| thousands(threads));
    let mut table = Table::new(
        "refreshes",
        caption,
        ["monitor".to_owned()].into_iter().chain(populations).chain(["rows".to_owned()]),
    );
    for (index, subject) in subjects.iter().enumerate() {
        let cells = columns.iter().map(|column| digits(column[index].refresh_ms()));
        let name = format!("`{}`", subject.monitor.name);
        table.row([name].into_iter().chain(cells).chain([subject.shows.to_owned()]));
    }
    table
}

/// As in the mail of 2010: user, system and total.
fn of_test1(arguments: &Arguments, processes: usize, subjects: &[Subject], used: &[Watched]) -> Table {
    let caption = format!(
        "CPU use of each monitor in percent of one CPU, with a delay setting of {} s, while {} processes sleep: the median of {} refreshes. Total is exact; \
         user and system divide it as they divide the whole run",
        arguments.delay,
        thousands(processes),
        arguments.refreshes
    );
    let header = ["monitor", "rows", "user", "system", "total", "× ledger"];
    let mut table = Table::new("test1", &caption, header);
    let ledger = used.get(LEDGER).map_or(f64::NAN, Watched::share);
    for (subject, used) in subjects.iter().zip(used) {
        let user = used.user_ns as f64 / (used.user_ns + used.system_ns).max(1) as f64;
        let share = used.share();
        let percent = |share: f64| format!("{} %", digits(share));
        let name = format!("`{}`", subject.monitor.name);
        let cells =
            [percent(share * user), percent(share * (1.0 - user)), percent(share), digits(share / ledger)];
        table.row([name, subject.shows.to_owned()].into_iter().chain(cells));
    }
    table
}

fn of_shares(arguments: &Arguments, subjects: &[Subject], columns: &[Vec<Watched>]) -> Table {
    let delay = arguments.delay;
    let most = thousands(arguments.threads.last().copied().unwrap_or_default());
    let caption = format!(
        "CPU use of each monitor as a share of one CPU, with a delay setting of {delay} s, while threads of one process sleep (median of the \
         refreshes after the start). A refresh: CPU time of one refresh with {most} threads. Start: CPU time of loading and of the \
         first one or two refreshes. User and system: their parts of the whole run, the start included"
    );
    let mut header = vec!["monitor".to_owned(), "rows".to_owned()];
    for &threads in &arguments.threads {
        header.push(format!("{} threads", thousands(threads)));
    }
    header.extend(["a refresh", "× ledger", "start", "user", "system"].map(str::to_owned));
    let mut table = Table::new("monitors", &caption, header);
    let last = columns.last().map_or(&[][..], Vec::as_slice);
    for (index, subject) in subjects.iter().enumerate() {
        let used = &last[index];
        let mut cells = vec![format!("`{}`", subject.monitor.name), subject.shows.to_owned()];
        cells.extend(columns.iter().map(|column| format!("{} %", digits(column[index].share()))));
        let whole = (used.user_ns + used.system_ns).max(1) as f64;
        cells.extend([
            format!("{} ms", digits(used.refresh_ms())),
            digits(used.refresh_ms() / last[LEDGER].refresh_ms()),
            format!("{} ms", digits(used.start_ms())),
            format!("{:.0} %", used.user_ns as f64 * 100.0 / whole),
            format!("{:.0} %", used.system_ns as f64 * 100.0 / whole),
        ]);
        table.row(cells);
    }
    table
}

/// Prints how far the ledger is below the peers that matter.
fn acceptance(subjects: &[Subject], used: &[Watched]) {
    let ledger = used[LEDGER].refresh_ms();
    let with_threads = subjects.iter().position(|subject| subject.monitor.name.starts_with("top -H"));
    let processes =
        subjects.iter().zip(used).filter(|(subject, _)| subject.is_peer && subject.shows == "processes");
    let best = processes
        .map(|(subject, used)| (used.refresh_ms(), &subject.monitor.name))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    if let (Some(top), Some((refresh, name))) = (with_threads, best) {
        println!(
            "for a refresh the ledger takes {:.0} times less than {}, and {:.0} times less than {name}, the best peer that shows processes only",
            used[top].refresh_ms() / ledger,
            subjects[top].monitor.name,
            refresh / ledger
        );
    }
}

/// Ours with each source, and the peers.
fn subjects(delay: u32) -> anyhow::Result<Vec<Subject>> {
    let binary = std::env::current_exe()?.with_file_name("cpuledger");
    let binary = binary.to_str().context("the path of the binary is not UTF-8")?;
    let ours = |source: &str, threads: bool| {
        let dash_h = if threads { "-H " } else { "" };
        let options = format!("top -b {dash_h}-d {delay} --source {source}");
        let words = [binary].into_iter().chain(options.split(' ')).map(str::to_owned).collect();
        let name = format!("cpuledger top {dash_h}--source {source}");
        let mark = Mark::Line("CPUs, interval");
        let shows = if threads { "threads" } else { "processes" };
        Subject { monitor: Monitor { name, words, has_terminal: false, mark }, shows, is_peer: false }
    };
    let peer = |line: &str, shows, has_terminal, mark| {
        let words = line.split(' ').map(str::to_owned).collect();
        let name = line.split(" -d").next().unwrap_or(line).to_owned();
        let name = name.strip_suffix(&format!(" {delay}")).unwrap_or(&name).to_owned();
        Subject { monitor: Monitor { name, words, has_terminal, mark }, shows, is_peer: true }
    };
    let top = Mark::Line("top - ");
    Ok(vec![
        ours("ledger", false),
        ours("ledger", true),
        ours("walk", false),
        ours("netlink", false),
        ours("procfs", false),
        // It buffers what does not go to a terminal.
        peer(&format!("pidstat {delay}"), "processes", true, Mark::Line("%usr")),
        peer(&format!("top -b -d {delay}"), "processes", false, top),
        peer(&format!("top -H -b -d {delay}"), "threads", false, top),
        peer(&format!("htop -d {}", delay * 10), "threads", true, Mark::Burst),
        peer(&format!("atop {delay}"), "threads", false, Mark::Line("ATOP - ")),
    ])
}
