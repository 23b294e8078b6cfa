//! The intervals of a span, from the ring of the service or from a recording.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use cpuledger_model::frame::{Column, Frame, Wanted};
use cpuledger_program::{recording, when};
use cpuledger_recording::{Span, When};
use cpuledger_report::{Accumulator, Dimension, Instants};
use cpuledger_service::client::socket_path;
use cpuledger_service::ring::RingError;

use crate::follow;

/// No span of a recording may have more: reading a day of seconds takes a while.
const MOST_INTERVALS: usize = 100_000;

/// Which of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The service if it has all of the span, else the recording.
    Auto,
    /// The service.
    Service,
    /// The recording.
    Recording,
}

/// What was read.
pub struct Read {
    /// Its sums.
    pub accumulator: Accumulator,
    /// Where it was.
    pub source: String,
    /// What is not whole.
    pub notes: Vec<String>,
}

/// A span as texts name it; absent: as far as there is.
///
/// # Errors
/// When a text is no time, or the span ends before it begins.
pub fn span_of(since: Option<&str>, until: Option<&str>) -> anyhow::Result<Span> {
    let of = |text: Option<&str>, all: When| {
        text.map_or(Ok(all), |text| when::parse(text).map(|named| named.when))
    };
    let span = Span { since: of(since, Span::ALL.since)?, until: of(until, Span::ALL.until)? };
    ensure!(!span.is_empty(), "the span ends before it begins");
    Ok(span)
}

/// Adds up the intervals of a span; `recording` is where one may be.
///
/// # Errors
/// When there are none, or they cannot be read.
pub fn read(
    recording: Option<&Path>,
    source: Source,
    span: &Span,
    dimensions: &[Dimension],
) -> anyhow::Result<Read> {
    match source {
        Source::Service => of_service(span, dimensions).map(|(read, _)| read),
        Source::Recording => of_recording(recording, span, dimensions),
        Source::Auto => match of_service(span, dimensions) {
            Ok((read, true)) => Ok(read),
            // What the recording does not have, the service may have a part of.
            Ok((read, false)) => of_recording(recording, span, dimensions).or(Ok(read)),
            Err(error) => of_recording(recording, span, dimensions)
                .map_err(|other| other.context(cpuledger_program::exit::sentence(&error))),
        },
    }
}

/// Also whether the service still has all of the span.
fn of_service(span: &Span, dimensions: &[Dimension]) -> anyhow::Result<(Read, bool)> {
    let mut connection =
        follow::connect().with_context(|| format!("no service at {}", socket_path().display()))?;
    let mut accumulator = Accumulator::new(dimensions);
    let wanted = accumulator.wanted().and(&Wanted::of(&[], &[Column::END_REALTIME_NS]));
    let (mut bytes, mut frame) = (Vec::new(), Frame::new());
    let reader = connection.reader();
    ensure!(reader.latest(&mut bytes)?.is_some(), "the service has no interval yet; ask again in a second");
    frame.decode_wanted_from(&bytes, &wanted)?;
    let last_ns = instants_of(&frame).end_realtime_ns;
    let ns_of = |when: When| match when {
        When::Realtime(ns) => ns,
        When::BeforeEnd(ns) => last_ns.saturating_sub(ns),
    };
    let (since_ns, until_ns) = (ns_of(span.since), ns_of(span.until));
    reader.resume_at(1);
    let (mut first_ns, mut damaged) = (None, 0_u64);
    loop {
        match reader.copy(&mut bytes) {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(RingError::Damaged { .. }) => {
                damaged += 1;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        frame.decode_wanted_from(&bytes, &wanted)?;
        let own = instants_of(&frame);
        first_ns.get_or_insert(own.start_realtime_ns);
        let middle_ns = u64::midpoint(own.start_realtime_ns, own.end_realtime_ns);
        if (since_ns..until_ns).contains(&middle_ns) {
            accumulator.add(&frame, own);
        }
        if own.end_realtime_ns >= last_ns {
            break;
        }
    }
    ensure!(accumulator.intervals() > 0, "the service has nothing of that span: it keeps the last minutes");
    let has_all = span.since == Span::ALL.since || first_ns.is_some_and(|first_ns| first_ns <= since_ns);
    let mut notes = Vec::new();
    if damaged > 0 {
        notes.push(format!("{damaged} intervals could not be read"));
    }
    if !has_all {
        notes.push("the service keeps the last minutes, and the span begins earlier".to_owned());
    }
    if connection.audience != "all" {
        notes.push(format!(
            "the service shows this user the audience `{}`: other users are in other",
            connection.audience
        ));
    }
    Ok((Read { accumulator, source: "service".to_owned(), notes }, has_all))
}

fn of_recording(path: Option<&Path>, span: &Span, dimensions: &[Dimension]) -> anyhow::Result<Read> {
    let path = path.context("no recording is named, and this user has no home")?;
    let mut recording = recording::open(path)?;
    let chosen = recording.select(span);
    ensure!(
        chosen.len() <= MOST_INTERVALS,
        "the span has {} intervals, and at most {MOST_INTERVALS} are read: ask for less, or use `cpuledger report`",
        chosen.len()
    );
    let mut accumulator = Accumulator::new(dimensions);
    let wanted = accumulator.wanted().and(&Wanted::of(&[], &[Column::END_REALTIME_NS]));
    let (mut frame, mut damaged) = (Frame::new(), 0_u64);
    for place in &chosen {
        match recording.read_into(*place, &wanted, &mut frame)? {
            true => accumulator.add(&frame, instants_of(&frame)),
            false => damaged += 1,
        }
    }
    if accumulator.intervals() == 0 {
        let extent = recording::extent(recording.span_realtime_ns());
        bail!("{}: nothing is recorded in that span; the recording is {extent}", path.display());
    }
    let mut notes = Vec::new();
    let (losses, gaps) = recording.missing(span)?;
    if damaged > 0 || losses.iter().any(recording::is_damage) {
        notes.push("some of the recording cannot be read".to_owned());
    }
    if !gaps.is_empty() {
        notes.push(format!("{} gaps: nothing was recorded then", gaps.len()));
    }
    Ok(Read { accumulator, source: path.display().to_string(), notes })
}

fn instants_of(frame: &Frame) -> Instants {
    let end_ns = frame.figure(Column::END_REALTIME_NS).unwrap_or_default();
    let length_ns = frame.length_ns().unwrap_or_default();
    Instants { start_realtime_ns: end_ns.saturating_sub(length_ns), end_realtime_ns: end_ns }
}
