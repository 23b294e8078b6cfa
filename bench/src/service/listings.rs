//! Listings through the service beside those of procps, as a user without privileges.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::ensure;
use cpuledger_load::Sleepers;

use super::daemon::{Daemon, as_stranger};
use crate::measure::{Subject, alternate, median, time_unread};
use crate::results::{Results, Row};
use crate::table::{Table, digits, thousands};

/// What is listed, by the options of `ps`.
const LISTINGS: [&[&str]; 3] = [&["-e"], &["aux"], &["-eLf"]];
/// Number of threads beyond which listings of threads by procps take seconds.
const PATIENCE: usize = 20_000;
/// Listings that ask at the same time.
const AT_ONCE: usize = 64;
/// Longer than a measurement: the service closes no interval meanwhile.
const INTERVAL_S: f64 = 60.0;

/// Measures each listing beside each of these populations.
///
/// # Errors
/// When a listing fails.
pub fn measure(populations: &[usize], rounds: usize, results: &mut Results) -> anyhow::Result<()> {
    let header = ["listing".to_owned()];
    let mut table = Table::new(
        "service-listings",
        "Listings by procps and through the service in ms, by the number of threads that sleep in one process. Each is a whole command of \
         a user without privileges, and writes to /dev/null",
        header.into_iter().chain(populations.iter().map(|&threads| thousands(threads))),
    );
    let mut rows = LISTINGS.map(|listing| vec![format!("`ps {}`", listing.join(" "))]);
    for &threads in populations {
        let _sleepers = Sleepers::start(threads, 1)?;
        let daemon = Daemon::start(INTERVAL_S)?;
        let (binary, socket) = (daemon.binary(), daemon.socket());
        for (listing, row) in LISTINGS.into_iter().zip(&mut rows) {
            let is_long = threads > PATIENCE && listing == ["-eLf"];
            let words = listing.join(" ");
            let mut subjects = [
                Subject {
                    name: format!("ps {words}"),
                    run: Box::new(|| time_unread(as_stranger(Path::new("ps"), &socket).args(listing))),
                },
                Subject {
                    name: format!("cpuledger ps {words}"),
                    run: Box::new(|| time_unread(as_stranger(&binary, &socket).arg("ps").args(listing))),
                },
            ];
            let durations = alternate(&mut subjects, if is_long { rounds.min(5) } else { rounds })?;
            let [procps, ours] =
                [median(&durations[0]), median(&durations[1])].map(|time| time.as_secs_f64() * 1e3);
            let ratio = digits(procps / ours);
            eprintln!(
                "{threads:>8}  ps {words:<6} procps {procps:>8.2} ms, cpuledger {ours:>8.2} ms, {ratio} times"
            );
            row.push(format!("{} / {} = {ratio}", digits(procps), digits(ours)));
            for (subject, durations) in subjects.iter().zip(&durations) {
                results.add(&Row::new(&subject.name, threads, durations))?;
            }
        }
    }
    rows.into_iter().for_each(|row| table.row(row));
    table.keep(results)
}

/// The first listing after the start of a service, and the next one: for each run a service of its own, which is left alone for a moment.
///
/// # Errors
/// When a service does not start, or a listing fails.
pub fn measure_first(populations: &[usize], rounds: usize, results: &mut Results) -> anyhow::Result<()> {
    const SETTLES: Duration = Duration::from_millis(300);
    const LISTING: &[&str] = &["-e"];
    let caption = "`ps -e` through the service in ms, by the number of threads that sleep in one process: the first listing after its start, \
                   and the next one, as medians";
    let mut table = Table::new("service-first", caption, ["threads", "the first", "at most", "the next"]);
    for &threads in populations {
        let _sleepers = Sleepers::start(threads, 1)?;
        let [mut first, mut next] = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            let daemon = Daemon::start(INTERVAL_S)?;
            std::thread::sleep(SETTLES);
            for durations in [&mut first, &mut next] {
                let mut command = as_stranger(&daemon.binary(), &daemon.socket());
                durations.push(time_unread(command.arg("ps").args(LISTING))?);
            }
        }
        let ms = |time: Duration| digits(time.as_secs_f64() * 1e3);
        let most = first.iter().max().copied().unwrap_or_default();
        table.row([thousands(threads), ms(median(&first)), ms(most), ms(median(&next))]);
        for (name, durations) in [("the first `ps -e`", &first), ("the next one", &next)] {
            eprintln!("{threads:>8}  {name}: {} ms", ms(median(durations)));
            results.add(&Row::new(name, threads, durations))?;
        }
    }
    table.keep(results)
}

/// What many listings of threads at once cost the service.
///
/// # Errors
/// When a listing fails.
pub fn measure_concurrent(
    threads: usize,
    rounds: usize,
    results: &mut Results,
    table: &mut Table,
) -> anyhow::Result<()> {
    let _sleepers = Sleepers::start(threads, 1)?;
    let daemon = Daemon::start(INTERVAL_S)?;
    let mut costs_ms = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for (count, costs_ms) in [1, AT_ONCE].into_iter().zip(&mut costs_ms) {
            let cost_ns = concurrent(&daemon, count)?;
            if round > 0 {
                costs_ms.push(cost_ns as f64 / 1e6);
            }
        }
    }
    results.add_any(&serde_json::json!({
        "subject": "CPU time of the service for 1 and for 64 concurrent listings, in ms",
        "sleeping_threads": threads,
        "costs_ms": costs_ms,
    }))?;
    let [one, many] = costs_ms.map(|mut costs| {
        costs.sort_by(f64::total_cmp);
        costs.get(costs.len() / 2).copied().unwrap_or(f64::NAN)
    });
    table.row([
        format!("its CPU time for one `ps -eLf` of {} threads", thousands(threads)),
        format!("{} ms", digits(one)),
    ]);
    table.row([
        format!("the same for {AT_ONCE} of them at once"),
        format!("{} ms = {} times", digits(many), digits(many / one)),
    ]);
    Ok(())
}

/// CPU time of the service for this number of listings.
fn concurrent(daemon: &Daemon, count: usize) -> anyhow::Result<u64> {
    let before_ns = daemon.cpu_ns()?;
    let mut children = Vec::new();
    for _ in 0..count {
        let mut command = as_stranger(&daemon.binary(), &daemon.socket());
        children.push(command.args(["ps", "-eLf"]).stdout(Stdio::null()).spawn()?);
    }
    for mut child in children {
        let status = child.wait()?;
        ensure!(status.success(), "a listing: {status}");
    }
    Ok(daemon.cpu_ns()? - before_ns)
}
