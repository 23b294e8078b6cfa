//! What each tool says of a load that is known to the byte: which process used the disk, the network, and whom a task waited for.

mod load;
mod read;
mod tools;

use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use serde::Serialize;

use crate::measure::{children_cpu_ns, middle};
use crate::results::Results;
use crate::table::{Table, digits};
use crate::waiting::{BPF_STATS, Setting, command, mount_tracefs};
use tools::{QUESTIONS, Question, Tool};

/// Options of `peers`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How often each tool is asked, in turns
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// One tool in one round.
#[derive(Debug, Serialize)]
struct Run<'a> {
    question: &'a str,
    tool: &'a str,
    /// Why there are no figures.
    error: Option<String>,
    /// What it is in truth, and what the tool says; by the names of the load.
    found: Vec<(String, f64, Option<f64>)>,
    cpu_ns: Option<u64>,
    /// Run time of its BPF programs.
    bpf_ns: Option<u64>,
}

/// Measures and prints.
///
/// # Errors
/// Without root, or when a load cannot be made. A tool that does not run has a row that says so.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    mount_tracefs()?;
    let peers: Vec<&str> = QUESTIONS
        .iter()
        .flat_map(|question| question.tools)
        .map(Tool::program)
        .filter(|name| *name != "cpuledger")
        .collect();
    let mut results = Results::create("peers", &peers)?;
    let _stats = Setting::set(BPF_STATS, "1")?;
    for question in &QUESTIONS {
        let mut rows: Vec<(&Tool, Vec<Run<'_>>)> =
            question.tools.iter().map(|tool| (tool, Vec::new())).collect();
        for _ in 0..arguments.rounds {
            for (tool, runs) in &mut rows {
                let run = one(question, tool);
                eprintln!("{:<50} {}", tool.name, run.error.as_deref().unwrap_or("done"));
                results.add_any(&run)?;
                runs.push(run);
            }
        }
        table(question, arguments.rounds, &rows).keep(&results)?;
    }
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// A tool has this time to begin before the load does.
const MARGIN: Duration = Duration::from_secs(2);

/// One tool, once: it is started, the load runs from its begin to its end, and the tool ends.
fn one<'a>(question: &'a Question, tool: &'a Tool) -> Run<'a> {
    let run = Run {
        question: question.table,
        tool: tool.name,
        error: None,
        found: Vec::new(),
        cpu_ns: None,
        bpf_ns: None,
    };
    match asked(question, tool) {
        Ok((found, cpu_ns, bpf_ns)) => Run { found, cpu_ns: Some(cpu_ns), bpf_ns, ..run },
        Err(error) => Run { error: Some(format!("{error:#}")), ..run },
    }
}

/// What is true and told, and what the tool took: itself, and its programs.
type Found = (Vec<(String, f64, Option<f64>)>, u64, Option<u64>);

fn asked(question: &Question, tool: &Tool) -> anyhow::Result<Found> {
    let commands = tool.commands();
    let (first, others) = commands.split_first().context("a tool has a command")?;
    let mut load = (question.load)()?;
    let before_ns = children_cpu_ns()?;
    let (mut output, truth, bpf_ns) = thread::scope(|scope| -> anyhow::Result<_> {
        let job = scope.spawn(|| command(first, |_| Ok(true)));
        thread::sleep(MARGIN);
        let truth = if job.is_finished() { Vec::new() } else { load.play()? };
        let (output, bpf_ns) = job.join().map_err(|_| anyhow!("the thread of a tool has failed"))??;
        Ok((output, truth, bpf_ns))
    })?;
    for other in others {
        output = command(other, |_| Ok(true))?.0;
    }
    let cpu_ns = children_cpu_ns()?.iter().sum::<u64>() - before_ns.iter().sum::<u64>();
    ensure!(!truth.is_empty(), "it ended before the load began");
    let told = (tool.read)(&output)?;
    let found = truth.into_iter().map(|(name, truth)| (told.get(&name).copied(), truth, name));
    Ok((found.map(|(told, truth, name)| (name, truth, told)).collect(), cpu_ns, bpf_ns))
}

fn table(question: &Question, rounds: usize, rows: &[(&Tool, Vec<Run<'_>>)]) -> Table {
    let mut caption = format!(
        "{} Percent of the truth, medians of {rounds} rounds; `-`: the tool has no such figure. CPU time is that of the whole run, start included; that of BPF programs is in the tasks that run them",
        question.caption
    );
    for (tool, runs) in rows {
        if let Some(error) = runs.iter().find_map(|run| run.error.as_ref()) {
            caption.push_str(&format!(
                ". `{}` does not run here: `{}`",
                tool.name,
                error.replace('\n', "; ")
            ));
        }
    }
    let names = question.names.iter().map(|(_, header)| *header);
    let mut table = Table::new(
        question.table,
        &caption,
        ["tool"].into_iter().chain(names).chain(["CPU time", "BPF programs"]),
    );
    for (tool, runs) in rows {
        let mut cells = vec![format!("`{}`", tool.name)];
        if runs.iter().any(|run| run.error.is_some()) {
            cells.push("DOES NOT RUN".to_owned());
        } else {
            cells.extend(question.names.iter().map(|(name, _)| share(runs, name)));
            let ms = |figure: fn(&Run<'_>) -> Option<u64>| {
                let all: Option<Vec<f64>> = runs.iter().map(|run| figure(run).map(|ns| ns as f64)).collect();
                all.map_or_else(|| "-".to_owned(), |all| format!("{} ms", digits(middle(all) / 1e6)))
            };
            cells.extend([ms(|run| run.cpu_ns), ms(|run| run.bpf_ns)]);
        }
        table.row(cells);
    }
    table
}

/// What was told of a name, in percent of what is true.
fn share(runs: &[Run<'_>], name: &str) -> String {
    let of = |run: &Run<'_>| -> Option<f64> {
        let (_, truth, told) = run.found.iter().find(|(own, ..)| *own == name)?;
        Some(told.as_ref()? * 100.0 / truth)
    };
    let all: Option<Vec<f64>> = runs.iter().map(of).collect();
    all.map_or_else(|| "-".to_owned(), |all| format!("{:.1} %", middle(all)))
}
