//! What a refresh costs a program in Go: by the client of the service, and by gopsutil.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use cpuledger_load::{RaisedLimits, Sleepers};
use serde::{Deserialize, Serialize};

use crate::measure::median;
use crate::results::Results;
use crate::service::daemon::Daemon;
use crate::table::{Table, digits, thousands};

/// Options of `go`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Refreshes of each program, one a second
    #[arg(long, default_value_t = 11)]
    refreshes: usize,
    /// Populations: threads that sleep in one process
    #[arg(long, value_delimiter = ',', default_value = "100,100000")]
    threads: Vec<usize>,
}

/// The kernel is busy with threads that were just made for a while.
const SETTLING: Duration = Duration::from_secs(5);
/// What the program can be asked for.
const CLIENTS: [&str; 2] = ["cpuledger", "gopsutil"];

/// A line of the program.
#[derive(Debug, Deserialize)]
struct Refresh {
    cpu_ns: u64,
    active: usize,
}

#[derive(Serialize)]
struct Raw<'a> {
    client: &'a str,
    sleeping_threads: usize,
    cpu_ns_a_refresh: Vec<u64>,
    active: Vec<usize>,
    /// What the service has used meanwhile.
    service_cpu_ns: u64,
}

/// Builds the program.
fn program() -> anyhow::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let program = std::env::temp_dir().join("go-refreshes");
    let status = Command::new("go")
        .args(["build", "-mod=readonly", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(root.join("bindings/go/bench"))
        .status()
        .context("go is missing, by which the program is built")?;
    ensure!(status.success(), "bindings/go/bench cannot be built: {status}");
    Ok(program)
}

fn refreshes(program: &Path, client: &str, count: usize, service: &Daemon) -> anyhow::Result<Vec<Refresh>> {
    let output = Command::new(program)
        .args([client, &count.to_string()])
        .env("CPULEDGER_SOCKET", service.socket())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "{client}: {}", output.status);
    let lines = String::from_utf8(output.stdout)?;
    let refreshes: Vec<Refresh> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(refreshes.len() == count, "{client} has told of {} refreshes", refreshes.len());
    Ok(refreshes)
}

/// Measures and prints.
///
/// # Errors
/// Without root or Go, or when a program fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let most = arguments.threads.iter().copied().max().unwrap_or(0);
    let _limits = RaisedLimits::for_threads(most).context("cannot raise the limits; run as root")?;
    let program = program()?;
    let mut results = Results::create("go", &[])?;
    let service = Daemon::start(1.0)?;
    let mut cells: Vec<Vec<String>> = CLIENTS.iter().map(|client| vec![format!("`{client}`")]).collect();
    cells.push(vec!["the service meanwhile, beside `cpuledger`".into()]);
    for &threads in &arguments.threads {
        let sleepers = Sleepers::start(threads, 1)?;
        std::thread::sleep(SETTLING);
        for (place, client) in CLIENTS.into_iter().enumerate() {
            let before = service.cpu_ns()?;
            let told = refreshes(&program, client, arguments.refreshes, &service)?;
            let service_cpu_ns = service.cpu_ns()? - before;
            let costs: Vec<Duration> = told.iter().map(|one| Duration::from_nanos(one.cpu_ns)).collect();
            cells[place].push(digits(median(&costs).as_secs_f64() * 1e3));
            if place == 0 {
                // One refresh before the first counts for nothing, and is served as well.
                let each = service_cpu_ns as f64 / (arguments.refreshes + 1) as f64;
                cells[CLIENTS.len()].push(digits(each / 1e6));
            }
            results.add_any(&Raw {
                client,
                sleeping_threads: threads,
                cpu_ns_a_refresh: told.iter().map(|one| one.cpu_ns).collect(),
                active: told.iter().map(|one| one.active).collect(),
                service_cpu_ns,
            })?;
        }
        drop(sleepers);
        std::thread::sleep(SETTLING);
    }
    let caption = format!(
        "CPU time of a program in Go for a refresh a second, in ms: which process used how much; medians of {} refreshes, beside threads that sleep in one process",
        arguments.refreshes
    );
    let header = ["client".to_owned()].into_iter();
    let header =
        header.chain(arguments.threads.iter().map(|threads| format!("{} threads", thousands(*threads))));
    let mut table = Table::new("go", &caption, header);
    cells.into_iter().for_each(|row| table.row(row));
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}
