//! `cpuledger status`: the text of /proc/PID/{status,stat,statm} of many tasks at once, for programs that parse it.

use std::ops::ControlFlow;

use cpuledger::SourceKind;
use cpuledger::source::kernel_text::{Form, Whole};
use cpuledger::source::status::{StatusTexts, Wanted};
use cpuledger_model::make;
use cpuledger_program::exit::Failure;
use cpuledger_program::output;

use crate::values::named_for;

/// Bytes that are written at once: few calls, and a buffer that stays in the cache.
const CHUNK_BYTES: usize = 256 * 1024;

/// Options of `status`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Processes to print, in this order
    #[arg(value_name = "PID", value_parser = pid)]
    pids: Vec<i32>,
    /// Print every process, in order of pid
    #[arg(short = 'e', long, conflicts_with = "pids")]
    all: bool,
    /// Which file's text to print
    #[arg(
        long = "as",
        value_name = "status|stat|statm",
        default_value_t = Form::Status,
        value_parser = named_for(["status", "stat", "statm"], |text: &str| text.parse::<Form>()),
        hide_possible_values = true
    )]
    form: Form,
    /// Print one entry per thread, as in /proc/PID/task/TID
    #[arg(short = 'H', long)]
    threads: bool,
    /// Put the pid or tid before each entry (useful with statm, whose text lacks it)
    #[arg(short = 'n', long)]
    numbered: bool,
    /// Where the text comes from: walk, procfs (the files in /proc), or auto, which takes the walk for long listings if it
    /// works. The walk is a BPF program; it needs Linux 6.7, and root or CAP_BPF and CAP_PERFMON
    #[arg(
        long,
        value_name = "auto|walk|procfs",
        default_value = "auto",
        value_parser = named_for(["auto", "walk", "procfs"], source),
        hide_possible_values = true
    )]
    source: Source,
}

fn pid(text: &str) -> Result<i32, String> {
    let pid = text.parse().ok().filter(|&pid: &i32| pid > 0);
    pid.ok_or_else(|| format!("a pid is a whole number from 1 to {}, not `{text}`", i32::MAX))
}

/// A source, or none in particular.
type Source = Option<SourceKind>;

fn source(name: &str) -> Result<Source, String> {
    match name.parse::<SourceKind>() {
        _ if name == "auto" => Ok(None),
        Ok(kind @ (SourceKind::Walk | SourceKind::Procfs)) => Ok(Some(kind)),
        Ok(kind) => Err(format!("status cannot use `{kind}`; use `walk`, `procfs` or `auto`")),
        Err(_) => Err(format!("unknown source `{name}`; use `walk`, `procfs` or `auto`")),
    }
}

/// Writes the texts.
///
/// # Errors
/// No source, a process that is not there, an output that cannot be written.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.pids.is_empty() && !arguments.all {
        return Err(Failure::Usage("give one or more pids, or --all".to_owned()).into());
    }
    let wanted = make!(Wanted {
        form: arguments.form,
        whole: if arguments.threads { Whole::Task } else { Whole::Process },
        pids: (!arguments.all).then_some(&arguments.pids[..]),
        is_numbered: arguments.numbered,
    });
    let mut texts = StatusTexts::open(arguments.source, &wanted)?;
    let mut out = Vec::with_capacity(CHUNK_BYTES * 2);
    let mut outcome = Ok(());
    let missing = texts.write(&wanted, &mut out, &mut |out| {
        if out.len() < CHUNK_BYTES {
            return ControlFlow::Continue(());
        }
        outcome = output::write(out);
        out.clear();
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    outcome?;
    output::write(&out)?;
    for pid in &missing {
        output::warn(&format!("process {pid} does not exist, or you may not see it"));
    }
    if missing.is_empty() { Ok(()) } else { Err(Failure::Quiet.into()) }
}
