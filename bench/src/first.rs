//! How soon a screen shows processes, and how soon what they did in an interval: on a machine as it is and beside many runnable tasks, beside
//! other screens.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;

use crate::measure::median;
use crate::results::Results;
use crate::screen::Program;
use crate::table::{Table, digits};

/// Options of `first`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Starts of each screen
    #[arg(long, default_value_t = 21)]
    rounds: usize,
    /// Tasks that always want a CPU
    #[arg(long, value_delimiter = ',', default_value = "0,100")]
    busy: Vec<usize>,
}

/// The program that is measured beside others.
const OWN: &str = "cpuledger";

/// What is waited for: a name, the program with its options, and the text that is on its screen by then.
const WANTED: [(&str, &str, &[&str]); 6] = [
    ("`ptop`: processes", "cpuledger top --source ledger", &["Totals since", "most: "]),
    ("`ptop`: an interval", "cpuledger top --source ledger", &["most: "]),
    ("`top`: processes", "top", &["PID USER"]),
    ("`htop`: processes", "htop", &["CPU%"]),
    ("`btop`: processes", "btop --utf-force", &["Pid:"]),
    ("`btm`: processes", "btm", &["CPU%"]),
];

/// The starts of one screen.
#[derive(Debug, Serialize)]
struct Started<'a> {
    screen: &'a str,
    busy_tasks: usize,
    starts_ns: Vec<u128>,
}

/// Tasks that always want a CPU, while it exists.
struct Busy(Vec<Child>);

impl Busy {
    fn start(count: usize) -> anyhow::Result<Busy> {
        let mut busy = Busy(Vec::with_capacity(count));
        for _ in 0..count {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
            busy.0.push(command.spawn().context("cannot run sh")?);
        }
        sleep(Duration::from_secs(2));
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Measures and prints. A peer that is not installed is left out.
///
/// # Errors
/// Without root, or when a program does not show what it should.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let wanted: Vec<_> = WANTED.into_iter().filter(|(_, line, _)| is_there(line)).collect();
    let mut peers: Vec<&str> = wanted.iter().map(|(_, line, _)| name_of(line)).collect();
    peers.retain(|name| *name != OWN);
    let mut results = Results::create("first", &peers)?;
    let mut rows: Vec<Vec<String>> = wanted.iter().map(|(screen, _, _)| vec![(*screen).to_owned()]).collect();
    let mut header = vec!["what is shown".to_owned()];
    for &busy_tasks in &arguments.busy {
        header.extend([format!("beside {busy_tasks}"), "at most".to_owned()]);
        let _busy = Busy::start(busy_tasks)?;
        for ((screen, line, texts), row) in wanted.iter().zip(&mut rows) {
            let starts = starts(line, texts, arguments.rounds)?;
            let most = starts.iter().max().copied().unwrap_or_default();
            row.extend([median(&starts), most].map(|time| digits(time.as_secs_f64() * 1e3)));
            println!("{}", row.join("  "));
            let starts_ns = starts.iter().map(Duration::as_nanos).collect();
            results.add_any(&Started { screen, busy_tasks, starts_ns })?;
        }
    }
    let caption = format!(
        "From the start of a screen to what it shows, in ms, beside tasks that always want a CPU: the median of {} starts, and the longest",
        arguments.rounds
    );
    let mut table = Table::new("first", &caption, header);
    rows.into_iter().for_each(|row| table.row(row));
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// The program of a line.
fn name_of(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// Whether there is such a program.
fn is_there(line: &str) -> bool {
    let name = name_of(line);
    let is_there = name == OWN || Command::new(name).arg("-V").output().is_ok();
    if !is_there {
        println!("there is no {name}: it is left out");
    }
    is_there
}

/// From its start to one of the texts on its screen.
fn starts(line: &str, texts: &[&str], rounds: usize) -> anyhow::Result<Vec<Duration>> {
    let own = std::env::current_exe()?.with_file_name(OWN);
    let program = if name_of(line) == OWN { own.as_os_str() } else { name_of(line).as_ref() };
    let mut starts = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let mut started = Program::spawn(Command::new(program).args(line.split(' ').skip(1)))?;
        starts.push(started.shows_any(texts)? - started.started);
        started.end()?;
    }
    Ok(starts)
}
