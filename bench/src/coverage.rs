//! S4, TEST 2: two busy loops and compilers that run all the time: what the rows of each tool sum to, of the capacity.

use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde::Serialize;

use crate::results::Results;
use crate::table::Table;

/// Options of `coverage`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Seconds of the interval that each tool shows
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// How often each tool is asked, in turns
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// A tool, the command that shows one interval of the given seconds, and how percent of one CPU are read from its output.
type Tool = (&'static str, fn(u32) -> Vec<String>, fn(&str) -> anyhow::Result<f64>);

/// One sum of the rows of a tool.
#[derive(Debug, Serialize)]
struct Sum<'a> {
    tool: &'a str,
    /// Of one CPU.
    percent: f64,
    /// Of all.
    capacity_percent: f64,
}

/// Measures and prints.
///
/// # Errors
/// Without root, cc or one of the peers.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let cpus = std::thread::available_parallelism()?.get();
    let capacity_percent = cpus as f64 * 100.0;
    let mut results = Results::create("coverage", &["top", "atop", "pidstat"])?;
    let _load = Load::start()?;
    let caption =
        "What the rows of each tool sum to, beside two busy loops and two shells that compile without pause";
    let mut table = Table::new("coverage", caption, ["tool", "rows sum to", "of the capacity"]);
    for (tool, command, read) in TOOLS {
        let mut sums = Vec::new();
        for _ in 0..arguments.rounds {
            let percent = read(&output(&command(arguments.seconds))?)?;
            results.add_any(&Sum { tool, percent, capacity_percent })?;
            sums.push(percent);
        }
        sums.sort_by(f64::total_cmp);
        let median = sums[sums.len() / 2];
        eprintln!("{tool:<36} {sums:?} of {capacity_percent}");
        let share = median * 100.0 / capacity_percent;
        table.row([
            tool.to_owned(),
            format!("{median:.6} % of {capacity_percent} %"),
            format!("{share:.2} %"),
        ]);
    }
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}

const TOOLS: [Tool; 7] = [
    ("cpuledger top --source ledger", |seconds| ours("ledger", seconds), sum_of_json),
    ("cpuledger top --source walk", |seconds| ours("walk", seconds), sum_of_json),
    ("cpuledger top --source netlink", |seconds| ours("netlink", seconds), sum_of_json),
    ("cpuledger top --source procfs", |seconds| ours("procfs", seconds), sum_of_json),
    (
        "top -b",
        |seconds| words(&["top", "-b", "-n", "2", "-d", &seconds.to_string(), "-w", "512"]),
        sum_of_top,
    ),
    ("pidstat", |seconds| words(&["pidstat", "-u", &seconds.to_string(), "1"]), sum_of_pidstat),
    (
        "atop, with its exited rows",
        |seconds| words(&["atop", "-P", "PRC", &seconds.to_string(), "2"]),
        sum_of_atop,
    ),
];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn ours(source: &str, seconds: u32) -> Vec<String> {
    let binary = std::env::current_exe().map(|path| path.with_file_name("cpuledger")).unwrap_or_default();
    let seconds = seconds.to_string();
    let rest = ["top", "-b", "-n", "1", "-d", &seconds, "--format", "json", "--source", source];
    [vec![binary.to_string_lossy().into_owned()], words(&rest)].concat()
}

fn output(command: &[String]) -> anyhow::Result<String> {
    let (program, arguments) = command.split_first().context("a command has a name")?;
    let output = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    ensure!(output.status.success(), "{}: {}", command.join(" "), output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Rows of processes plus idle time, if the source knows it: what is missing to the capacity was not accounted for.
fn sum_of_json(text: &str) -> anyhow::Result<f64> {
    let interval: serde_json::Value = serde_json::from_str(text.lines().last().context("an interval")?)?;
    let number = |value: &serde_json::Value| value.as_u64().unwrap_or(0);
    let rows = interval["processes"].as_array().context("rows")?;
    let cpu_ns: u64 =
        rows.iter().map(|row| number(&row["cpu_ns"])).sum::<u64>() + number(&interval["idle_ns"]);
    let length_ns = number(&interval["end_ns"]) - number(&interval["start_ns"]);
    Ok(cpu_ns as f64 * 100.0 / length_ns as f64)
}

/// %CPU of the second interval.
fn sum_of_top(text: &str) -> anyhow::Result<f64> {
    let (_, table) = text.rsplit_once("%CPU").context("top prints a header")?;
    column_sum(table.lines().skip(1), 8)
}

/// `Average:` lines of a process: UID PID %usr %system %guest %wait %CPU CPU Command.
fn sum_of_pidstat(text: &str) -> anyhow::Result<f64> {
    column_sum(text.lines().filter(|line| line.starts_with("Average:") && !line.contains("UID")), 7)
}

fn column_sum<'a>(lines: impl Iterator<Item = &'a str>, index: usize) -> anyhow::Result<f64> {
    let mut sum = 0.0;
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let field = line.split_whitespace().nth(index).with_context(|| format!("a short line: {line}"))?;
        sum += field.parse::<f64>().with_context(|| format!("no number: {line}"))?;
    }
    Ok(sum)
}

/// `PRC`: after the name in brackets state, ticks a second, user ticks, system ticks, six more, the pid, and whether it is a process.
/// The second sample is of the interval.
fn sum_of_atop(text: &str) -> anyhow::Result<f64> {
    let (_, sample) = text.trim_end().rsplit_once("SEP\n").context("two samples")?;
    let mut percent = 0.0;
    for line in sample.lines().filter(|line| line.contains('(')) {
        // Host, seconds since 1970, date, time and length of the sample are before the pid.
        let seconds = line.split_whitespace().nth(5).context("a length")?.parse::<f64>()?;
        let (_, rest) = line.split_once(") ").context("a name")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let [_, ticks_a_second, user, system, ..] = fields[..] else { bail!("a short line: {line}") };
        // Each thread has a line beside that of its process.
        if fields.get(11) != Some(&"y") {
            continue;
        }
        let ticks = user.parse::<f64>()? + system.parse::<f64>()?;
        percent += ticks * 100.0 / ticks_a_second.parse::<f64>()? / seconds;
    }
    Ok(percent)
}

/// Two busy loops, and two shells that compile a small file again and again. All end with it, and with this thread.
struct Load {
    processes: Vec<Child>,
    folder: std::path::PathBuf,
}

impl Load {
    fn start() -> anyhow::Result<Load> {
        let folder = std::env::temp_dir().join(format!("cpuledger-coverage-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let source = folder.join("small.c");
        std::fs::write(&source, "#include <stdio.h>\nint main(void) { return printf(\"%d\", 1) < 0; }\n")?;
        let mut load = Load { processes: Vec::new(), folder };
        for index in 0..4 {
            let script = if index < 2 {
                "while kill -0 $PPID; do :; done".to_owned()
            } else {
                format!(
                    "while kill -0 $PPID; do cc -O1 -o {0}.{index} {0} 2>/dev/null || exit; done",
                    source.display()
                )
            };
            // Whatever becomes of us, it does not outlive us.
            let words = ["--pdeathsig", "KILL", "sh", "-c", &script];
            let child = Command::new("setpriv").args(words).stdin(Stdio::null()).spawn()?;
            load.processes.push(child);
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
