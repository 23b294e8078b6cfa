//! `cpuledger export`: a recording as tables for others.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches};
use cpuledger_program::end;
use cpuledger_program::exit::Failure;
use cpuledger_program::export::Arguments;
use cpuledger_program::output::{count_of, warn};
use cpuledger_program::{place, progress, recording, setuid, when};
use cpuledger_recording::{Gap, Span};
use jiff::Timestamp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::destination::Destination;
use crate::error::Error;
use crate::export::export_to;
use crate::options::Options;
use crate::progress::Progress;
use crate::summary::Summary;

/// Runs the command line of this process.
///
/// # Errors
/// A wrong option, a recording that cannot be read, an output that cannot be written, a signal.
pub fn main() -> anyhow::Result<()> {
    if setuid::is_set() {
        return Err(Failure::Usage("the program must not be setuid or setgid; remove the bit".into()).into());
    }
    // `cpuledger` has it for all commands. There are no BPF programs here whose rejection it would explain.
    let verbose = Arg::new("verbose").short('v').long("verbose").action(ArgAction::SetTrue).hide(true);
    let command = Arguments::command()
        .name("cpuledger-export")
        .bin_name("cpuledger export")
        .version(env!("CARGO_PKG_VERSION"))
        .max_term_width(100)
        .arg(verbose);
    run(&Arguments::from_arg_matches(&command.try_get_matches()?)?)
}

/// Writes the tables.
fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let span = span(arguments)?;
    let to = destination(arguments)?;
    let usual = || place::usual().ok_or_else(|| Failure::Usage("name a recording: there is no home".into()));
    let path = match &arguments.recording {
        Some(path) => path.clone(),
        None => usual()?,
    };
    // For its sentences.
    recording::note_foreign(&recording::open(&path)?);
    let options = Options { format: arguments.format, span };
    let progress = Arc::new(Progress::default());
    let [stopped, unfinished] = [&progress; 2].map(Arc::clone);
    let last_words = move || {
        unfinished.remove_unfinished();
        warn("the export was ended: what is complete stays, and the same command goes on from there");
        None
    };
    let ending = (move || stopped.stop(), last_words);
    end::watch(&end::by([SIGINT, SIGTERM, SIGHUP]), false, ending).context("cannot handle signals")?;
    let begin = Instant::now();
    let result = thread::scope(|scope| {
        let shown = progress::show(scope, || {
            let (done, of) = progress.intervals();
            let percent = (done * 100).checked_div(of).unwrap_or(0);
            format!("{percent} %: {done} of {of} intervals, {} rows", progress.rows())
        });
        let result = export_to(&path, &to, &options, &progress);
        drop(shown);
        result
    });
    let summary = result.map_err(|error| match error {
        // What was read of it says where it is.
        Error::Recording(error) => anyhow::Error::from(error),
        error => anyhow::Error::from(error).context("cannot export"),
    })?;
    tell(&summary, begin.elapsed());
    let has_nothing = summary.intervals == 0 && summary.segments_there == 0;
    if has_nothing && !summary.losses.is_empty() {
        anyhow::bail!("nothing was exported: what the recording has of that time cannot be read");
    }
    if has_nothing && summary.segments_open == 0 {
        anyhow::bail!("nothing was exported: nothing is recorded of that time");
    }
    if summary.losses.iter().any(recording::is_damage) {
        anyhow::bail!("the export is not whole: some of the recording cannot be read");
    }
    Ok(())
}

fn destination(arguments: &Arguments) -> Result<Destination, Failure> {
    match (&arguments.output, &arguments.to) {
        (Some(folder), _) => Ok(Destination::Folder(folder.clone())),
        (None, Some(text)) => {
            Destination::parse(text).map_err(|sentence| Failure::Usage(format!("--to: {sentence}")))
        }
        (None, None) => Err(Failure::Usage("where to? Write --to DIR or --to s3://BUCKET/PREFIX".into())),
    }
}

fn span(arguments: &Arguments) -> anyhow::Result<Span> {
    let time = |option: &str, text: &Option<String>, without| match text {
        Some(text) => {
            let named = when::parse(text).map_err(|error| Failure::Usage(format!("{option}: {error}")))?;
            Ok(named.when)
        }
        None => Ok::<_, Failure>(without),
    };
    let span = Span {
        since: time("--since", &arguments.since, Span::ALL.since)?,
        until: time("--until", &arguments.until, Span::ALL.until)?,
    };
    if span.is_empty() {
        return Err(Failure::Usage("--until is not later than --since".into()).into());
    }
    Ok(span)
}

/// Says what was done, and what is missing.
fn tell(summary: &Summary, elapsed: Duration) {
    for loss in &summary.losses {
        warn(&format!("{loss}{}", between(loss.from_realtime_ns, loss.to_realtime_ns)));
    }
    for Gap { from_realtime_ns, to_realtime_ns, is_boot, .. } in &summary.gaps {
        let why = if *is_boot { "the machine was booted" } else { "nothing is recorded" };
        warn(&format!("{why}{}", between(Some(*from_realtime_ns), Some(*to_realtime_ns))));
    }
    recording::repeated(summary.repeated).into_iter().for_each(|sentence| warn(&sentence));
    if summary.unbalanced > 0 {
        let intervals = count_of(summary.unbalanced, "interval");
        warn(&format!("{intervals} out of balance: the rows are not what was attributed"));
    }
    if summary.segments_open > 0 {
        let segments = count_of(summary.segments_open, "segment");
        warn(&format!("{segments} left out: still being written"));
    }
    if summary.segments_there > 0 {
        let segments = count_of(summary.segments_there, "segment");
        warn(&format!("{segments} not written again: the tables have them"));
    }
    warn(&format!(
        "{} and {} in {} ({:.1} s)",
        count_of(summary.intervals, "interval"),
        count_of(summary.rows, "row"),
        count_of(summary.files, "file"),
        elapsed.as_secs_f64()
    ));
}

/// When something was, as far as that is known.
fn between(from_ns: Option<u64>, to_ns: Option<u64>) -> String {
    let text = |ns: u64| {
        let time = Timestamp::from_nanosecond(ns.into()).unwrap_or_default();
        format!("{time:.0}")
    };
    match (from_ns, to_ns) {
        (Some(from), Some(to)) => format!(", between {} and {}", text(from), text(to)),
        (Some(from), None) => format!(", after {}", text(from)),
        (None, Some(to)) => format!(", before {}", text(to)),
        (None, None) => String::new(),
    }
}
