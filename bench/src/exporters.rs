//! What a scrape costs each exporter, and how much of a storm of processes it gives a name.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use cpuledger_load::{RaisedLimits, Sleepers, Storm, StormPlan};
use serde::Serialize;

use crate::measure::{cpu_ns, median};
use crate::results::Results;
use crate::service::daemon::{Daemon, PATIENCE};
use crate::table::{Table, digits, thousands};

/// Options of `exporters`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Scrapes of each exporter in each state, one a second
    #[arg(long, default_value_t = 11)]
    scrapes: usize,
    /// Sleeping threads of one process
    #[arg(long, default_value_t = 100_000)]
    threads: usize,
    /// Seconds of the storm
    #[arg(long, default_value_t = 15)]
    storm: u32,
}

/// What the processes of the storm run: a program with a name of its own.
const NAME: &str = "stormchild";
/// A scrape beside many threads takes some exporters long.
const SLOW: Duration = Duration::from_secs(300);
/// Between two scrapes.
const EVERY: Duration = Duration::from_secs(1);
/// The kernel is busy with threads that were just made for a while.
const SETTLING: Duration = Duration::from_secs(5);

/// A program that is scraped. It ends when this is dropped.
struct Exporter {
    name: &'static str,
    child: Child,
    address: SocketAddr,
    /// The family and a label of the samples that have the storm's time; `None`: it has no names.
    named: Option<(&'static str, &'static str)>,
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that is free now.
fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

fn spawn(command: &mut Command) -> anyhow::Result<Child> {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.spawn().with_context(|| format!("cannot run {command:?}"))
}

/// The exporters of this Debian, unpacked.
fn unpacked() -> anyhow::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join("target/tmp/exporters");
    let status = Command::new(root.join("scripts/unpack-debian"))
        .arg(&folder)
        .args([
            "usr/bin/prometheus-process-exporter",
            "prometheus-process-exporter",
            "prometheus-node-exporter",
        ])
        .status()?;
    ensure!(status.success(), "the exporters of Debian cannot be had");
    Ok(folder.join("usr/bin"))
}

fn start_all(service: &Daemon, programs: &Path) -> anyhow::Result<Vec<Exporter>> {
    let net = std::env::current_exe()?.with_file_name("cpuledger-net");
    let address = free_address()?;
    let mut own = Command::new(net);
    own.args(["metrics", "--listen", &address.to_string(), "--socket"]).arg(service.socket());
    let own = Exporter {
        name: "`cpuledger metrics`",
        child: spawn(&mut own)?,
        address,
        named: Some(("cpuledger_cpu_seconds_total", "by=\"command\",name=\"stormchild\"")),
    };
    // The folder of this run, which is removed in the end.
    let config = std::env::temp_dir().join("names.yml");
    fs::write(&config, "process_names:\n  - name: '{{.Comm}}'\n    cmdline: ['.+']\n")?;
    let address = free_address()?;
    let mut process = Command::new(programs.join("prometheus-process-exporter"));
    process.arg("-config.path").arg(&config).args(["-web.listen-address", &address.to_string()]);
    let process = Exporter {
        name: "`process-exporter`",
        child: spawn(&mut process)?,
        address,
        named: Some(("namedprocess_namegroup_cpu_seconds_total", "groupname=\"stormchild\"")),
    };
    let address = free_address()?;
    let mut node = Command::new(programs.join("prometheus-node-exporter"));
    node.arg(format!("--web.listen-address={address}"));
    let node = Exporter { name: "`node_exporter`", child: spawn(&mut node)?, address, named: None };
    Ok(vec![own, process, node])
}

impl Exporter {
    fn scrape(&self) -> anyhow::Result<String> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(SLOW))?;
        write!(stream, "GET /metrics HTTP/1.0\r\nHost: localhost\r\nUser-Agent: bench\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        ensure!(answer.split(' ').nth(1) == Some("200"), "{}: {answer:.80}", self.name);
        Ok(answer)
    }

    fn wait(&self) -> anyhow::Result<()> {
        let begin = Instant::now();
        while self.scrape().is_err() {
            ensure!(begin.elapsed() < PATIENCE, "{} does not answer", self.name);
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// CPU seconds of the storm's processes so far, by what it says; `None`: it has no names.
    fn named_seconds(&self) -> anyhow::Result<Option<f64>> {
        let Some((family, label)) = self.named else { return Ok(None) };
        let text = self.scrape()?;
        let of = |line: &&str| line.starts_with(family) && line.contains(label);
        let values = text.lines().filter(of).filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        Ok(Some(values.sum()))
    }
}

/// CPU time of each exporter for a scrape, and for what it does between two of them. One after another, as some take long.
fn costs(exporters: &[Exporter], scrapes: usize) -> anyhow::Result<Vec<Vec<Duration>>> {
    exporters.iter().map(|exporter| costs_of(exporter, scrapes)).collect()
}

fn costs_of(exporter: &Exporter, scrapes: usize) -> anyhow::Result<Vec<Duration>> {
    let mut costs = Vec::new();
    exporter.scrape()?;
    let mut before = cpu_ns(exporter.child.id())?;
    for _ in 0..scrapes {
        std::thread::sleep(EVERY);
        exporter.scrape()?;
        let now = cpu_ns(exporter.child.id())?;
        costs.push(Duration::from_nanos(now - before));
        before = now;
    }
    Ok(costs)
}

/// The same of all at once, within one storm.
fn costs_in_storm(exporters: &[Exporter], seconds: u32) -> anyhow::Result<Vec<Vec<Duration>>> {
    std::thread::scope(|scope| {
        let all: Vec<_> = exporters
            .iter()
            .map(|exporter| scope.spawn(move || costs_of(exporter, seconds as usize)))
            .collect();
        all.into_iter().map(|one| one.join().map_err(|_| anyhow!("a scraper has failed"))?).collect()
    })
}

#[derive(Serialize)]
struct Raw<'a> {
    exporter: &'a str,
    state: &'a str,
    sleeping_threads: usize,
    cpu_ns_a_scrape: Vec<u64>,
}

/// Measures and prints.
///
/// # Errors
/// Without root, or when an exporter cannot be had.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let _limits =
        RaisedLimits::for_threads(arguments.threads).context("cannot raise the limits; run as root")?;
    let programs = unpacked()?;
    let mut results = Results::create("exporters", &[])?;
    let service = Daemon::start(1.0)?;
    let exporters = start_all(&service, &programs)?;
    exporters.iter().try_for_each(Exporter::wait)?;
    let mut columns: Vec<Vec<Vec<Duration>>> = Vec::new();
    let mut keep = |state: &str, threads: usize, of: Vec<Vec<Duration>>| -> anyhow::Result<()> {
        for (exporter, costs) in exporters.iter().zip(&of) {
            let cpu_ns_a_scrape = costs.iter().map(|cost| cost.as_nanos() as u64).collect();
            results.add_any(&Raw {
                exporter: exporter.name,
                state,
                sleeping_threads: threads,
                cpu_ns_a_scrape,
            })?;
        }
        columns.push(of);
        Ok(())
    };
    keep("quiet", 0, costs(&exporters, arguments.scrapes)?)?;
    let sleepers = Sleepers::start(arguments.threads, 1)?;
    std::thread::sleep(SETTLING);
    keep("threads", arguments.threads, costs(&exporters, arguments.scrapes)?)?;
    drop(sleepers);
    std::thread::sleep(SETTLING);
    let program = std::env::temp_dir().join(NAME);
    fs::copy("/bin/true", &program)?;
    // A first storm, so that its name is known to all.
    let plan =
        |seconds| StormPlan { exec: Some(program.clone()), seconds: Some(seconds), ..StormPlan::default() };
    Storm::start(&plan(3))?.stop()?;
    costs(&exporters, 3)?;
    let first = exporters.iter().map(Exporter::named_seconds).collect::<Result<Vec<_>, _>>()?;
    let storm = Storm::start(&plan(arguments.storm))?;
    keep("storm", 0, costs_in_storm(&exporters, arguments.storm)?)?;
    let stormed = storm.stop()?;
    costs(&exporters, 3)?;
    let last = exporters.iter().map(Exporter::named_seconds).collect::<Result<Vec<_>, _>>()?;
    let Some(made_ns) = stormed.made_cpu_ns else { bail!("the storm does not say what it used") };
    let caption = format!(
        "CPU time for a scrape a second, in ms: medians of {} scrapes on a quiet machine, beside {} sleeping threads, and in a storm of {} processes \
         in {} s; and how much of the CPU time of these processes each reports under their name, of {:.1} s",
        arguments.scrapes,
        thousands(arguments.threads),
        thousands(stormed.made as usize),
        arguments.storm,
        made_ns as f64 / 1e9
    );
    let threads = format!("{} threads", thousands(arguments.threads));
    let header = ["exporter", "quiet", &threads, "storm", "named"];
    let mut table = Table::new("exporters", &caption, header);
    for (place, exporter) in exporters.iter().enumerate() {
        let cost = |column: usize| digits(median(&columns[column][place]).as_secs_f64() * 1e3);
        let named = match first[place].zip(last[place]) {
            Some((first, last)) => format!("{:.1} %", (last - first) * 1e11 / made_ns as f64),
            None => "no names".into(),
        };
        table.row([exporter.name.to_owned(), cost(0), cost(1), cost(2), named]);
    }
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}
