//! `cpuledger record`: intervals in a directory.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueHint};
use cpuledger::SourceKind;
use cpuledger::intervals::Wanted;
use cpuledger::source::service::name_socket;
use cpuledger_model::make;
use cpuledger_program::exit::Failure;
use cpuledger_program::output::{count_of, warn};
use cpuledger_program::place;
use cpuledger_program::recording;

use super::top::collect::{Collector, Outcome, Taker};
use super::top::options::{parse_ledger, parse_length};
use crate::privileges;
use crate::record::limits::{self, Retain, USUAL_MIN_FREE, USUAL_RETAIN};
use crate::record::recorder::{self, Place, Recorder};
use crate::stop::{Waker, wake_on_first_signal};
use crate::values::{accounts, named, sources};

/// What follows the options in the help.
pub const AFTER_HELP: &str = "\
Recording goes on until SIGINT (Ctrl-C) or SIGTERM. A killed recording can be read. Only the running \
interval is missing, and those that waited for the disk. If there is no room or writing fails, recording pauses and says so, and goes on \
when it can. If another program deletes or moves the recording, it says what is lost, and begins a new segment.

Examples:
  sudo cpuledger record                              to /var/log/cpuledger, for 7 days and up to 2 GiB
  sudo cpuledger record /srv/books --retain 30d      for 30 days, whatever the size
  sudo cpuledger record --tier 1s:24h,1m:30d         seconds for a day, minutes for a month
  cpuledger record books --duration 10m              10 minutes, through the service where it runs

Exit codes: 0 all was recorded, 1 intervals are missing, were deleted, or the directory cannot be written, 2 wrong option, 3 no usable source. \
docs/recording.md says more.";

const NS: f64 = 1e9;

/// The options of `record`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The directory; it is made if it is missing [default: /var/log/cpuledger for root, else
    /// $XDG_STATE_HOME/cpuledger or ~/.local/state/cpuledger]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
    /// Length of an interval in seconds, at least 0.01 [default: 1]
    #[arg(short = 'd', long, visible_alias = "delay", value_name = "S", allow_hyphen_values = true)]
    interval: Option<String>,
    /// End after this time: seconds, or with a unit (90s, 10m, 24h); the last interval may be shorter
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    duration: Option<String>,
    /// Delete the oldest files: by age (7d), by the size of all (2GiB), by both (7d,2GiB), or never (forever)
    #[arg(long, value_name = "LIMITS", default_value = USUAL_RETAIN, allow_hyphen_values = true)]
    retain: String,
    /// Leave this much free in the file system: delete the oldest files, and pause if that is not enough
    #[arg(long, value_name = "SIZE", default_value = USUAL_MIN_FREE, allow_hyphen_values = true)]
    min_free: String,
    /// Keep tiers of merged intervals, as LENGTH:RETENTION: 1s:24h,1m:30d [default: one tier, not merged]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    tier: Vec<String>,
    /// Record threads too (ledger and service always do)
    #[arg(short = 'H', long)]
    threads: bool,
    /// Where the numbers come from (auto, service, ledger, walk, netlink or procfs; `cpuledger top --help` has more)
    /// [default: auto]
    #[arg(long, value_name = "SOURCE", value_parser = named(sources()), hide_possible_values = true)]
    source: Option<String>,
    /// The socket of the service; otherwise $CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Also keep account of these, as for `cpuledger top`
    #[arg(long, value_name = "LIST", value_parser = named(accounts()), hide_possible_values = true)]
    with: Option<String>,
    /// The size of the ledger, as for `cpuledger top`
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    slots: Option<String>,
}

/// Records until a signal comes or the time is over.
///
/// # Errors
/// A wrong option, a directory that cannot be written, no source, or intervals that are missing.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let place = place(&arguments)?;
    let duration = match arguments.duration.as_deref() {
        Some(text) => Some(limits::time(text).ok_or_else(|| {
            Failure::Usage(format!("--duration needs seconds, or a time as in `10m`, not `{text}`"))
        })?),
        None => None,
    };
    arguments.socket.as_deref().into_iter().for_each(name_socket);
    let wanted = wanted(&arguments)?;
    let length_ns = wanted.length_ns;
    let writer = place.open()?;
    let give_up = |kind| {
        // Another thread writes.
        if kind == SourceKind::Ledger {
            privileges::keep_time();
        }
        privileges::give_up_as_recorder(kind, &place.path)
    };
    let mut collector = Collector::open_as(wanted, Taker::Text, give_up)?;
    let waker = collector.intervals.waker();
    let count = duration.map(|duration| intervals_in(duration, length_ns, &waker)).transpose()?;
    wake_on_first_signal(waker).context("cannot handle signals")?;
    let path = place.path.clone();
    let mut recorder = Recorder::start(place, Some(writer), warn)?;
    warn(&format!(
        "recording to {}: intervals of {} s from {}; Ctrl-C ends it",
        path.display(),
        length_ns as f64 / NS,
        collector.intervals.kind().origin()
    ));
    let mut intervals = 0;
    let ended = loop {
        match collector.close() {
            Ok(outcome) => {
                recorder.add(&collector.intervals.interval, collector.intervals.circumstances());
                intervals += 1;
                if outcome == Outcome::Stopped || count.is_some_and(|count| intervals >= count) {
                    break Ok(());
                }
            }
            Err(error) => break Err(error),
        }
    };
    let recorded = tell(&path, recorder.finish());
    ended.and(recorded)
}

/// How many intervals end in that time. One that would end later is ended at its end.
fn intervals_in(duration: Duration, delay_ns: u64, waker: &Waker) -> anyhow::Result<u128> {
    let wanted = duration.as_nanos().div_ceil(delay_ns.into());
    if !duration.as_nanos().is_multiple_of(delay_ns.into()) {
        let waker = waker.clone();
        let end = move || {
            thread::sleep(duration);
            waker.wake();
        };
        thread::Builder::new().name("duration".into()).spawn(end).context("cannot begin a thread")?;
    }
    Ok(wanted)
}

/// Says what was recorded.
fn tell(path: &Path, outcome: recorder::Outcome) -> anyhow::Result<()> {
    let recorder::Outcome { intervals, missed, bytes, length_ns, deleted_ns, lost_ns, failure } = outcome;
    let length = length_ns as f64 / NS;
    let missing = if missed > 0 { format!("; {}", recorder::missing(missed)) } else { String::new() };
    let deleted = if deleted_ns > 0 { format!("; {}", recorder::deleted(deleted_ns)) } else { String::new() };
    let lost = if lost_ns > 0 { format!("; {}", recorder::lost(lost_ns)) } else { String::new() };
    warn(&format!(
        "recorded {}, {length:.3} s, to {}: {bytes} bytes{missing}{lost}{deleted}",
        count_of(intervals, "interval"),
        path.display()
    ));
    if let Some(failure) = failure {
        warn(&format!("the recording could not be closed: {failure}"));
        if recording::open(path).is_ok() {
            warn("what it has can be read");
        }
        return Err(Failure::Quiet.into());
    }
    if missed > 0 || lost_ns > 0 || deleted_ns > 0 { Err(Failure::Quiet.into()) } else { Ok(()) }
}

/// Where it is recorded, with the directories above it where that is the usual place.
fn place(arguments: &Arguments) -> anyhow::Result<Place> {
    let wrong = |option: &str, reason: String| Failure::Usage(format!("{option} {reason}"));
    let retain = Retain::parse(&arguments.retain).map_err(|reason| wrong("--retain", reason))?;
    let tiers = arguments.tier.iter().map(String::as_str);
    let tiers = limits::tiers(tiers).map_err(|reason| wrong("--tier", reason))?;
    let min_free = &arguments.min_free;
    let least_free_bytes = limits::size(min_free).ok_or_else(|| {
        wrong("--min-free", format!("needs a size, as in `{USUAL_MIN_FREE}`, not `{min_free}`"))
    })?;
    let path = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => {
            let usual =
                place::usual().context("there is no home directory to record in; name a directory")?;
            if let Some(above) = usual.parent() {
                std::fs::create_dir_all(above).with_context(|| format!("cannot make {}", above.display()))?;
            }
            usual
        }
    };
    let options = limits::options(&tiers, retain, least_free_bytes);
    Ok(Place { path, options })
}

/// What these options need of intervals.
fn wanted(arguments: &Arguments) -> Result<Wanted, Failure> {
    let usual = Wanted::default();
    let length_ns = match arguments.interval.as_deref() {
        Some(text) => parse_length("--interval", text)?,
        None => usual.length_ns,
    };
    let (source, ledger) =
        parse_ledger(arguments.source.as_deref(), arguments.slots.as_deref(), arguments.with.as_deref())?;
    Ok(make!(Wanted { source, length_ns, by_task: arguments.threads, finds_blocked: true, ledger, ..usual }))
}
