//! The intervals of a span, from the ring of the service or from a recording.

use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use cpuledger_model::frame::{Column, Frame, Wanted};
use cpuledger_program::{recording, when};
use cpuledger_recording::{Span, When};
use cpuledger_report::{Accumulator, Condition, Dimension, Instants};
use cpuledger_service::client::socket_path;
use cpuledger_service::ring::{Reader, RingError};

use crate::follow::{self, Connection};

/// No span of a recording may have more: reading a day of seconds takes a while.
const MOST_INTERVALS: usize = 100_000;

/// The service is younger than its first interval: not a fault, and soon over.
#[derive(Debug, thiserror::Error)]
#[error("the service has no interval yet; ask again in a second")]
pub struct NoIntervalYet;

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

impl Source {
    /// With their names.
    pub const NAMED: [(&str, Source); 3] =
        [("auto", Source::Auto), ("service", Source::Service), ("recording", Source::Recording)];

    /// By its name.
    ///
    /// # Errors
    /// When none has it.
    pub fn named(name: &str) -> anyhow::Result<Source> {
        let found = Source::NAMED.into_iter().find(|(own, _)| *own == name);
        found.map(|(_, source)| source).context("`source` is auto, service or recording")
    }
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

/// What is asked of a span.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// What there will be reports by.
    pub dimensions: Vec<Dimension>,
    /// What the rows have to meet.
    pub conditions: Vec<Condition>,
    /// Parts of the time line at most; 0: there is none.
    pub buckets: u32,
    /// Whether it is asked what the living did off the CPU.
    pub tells_states: bool,
}

impl Question {
    /// Of these dimensions, and nothing else.
    pub fn by(dimensions: &[Dimension]) -> Question {
        Question { dimensions: dimensions.to_owned(), ..Question::default() }
    }

    /// What adds up the answer.
    pub fn accumulator(&self) -> Accumulator {
        let accumulator = Accumulator::new(&self.dimensions).within(self.conditions.clone());
        if self.tells_states { accumulator.with_states() } else { accumulator }
    }

    /// Likewise for so many intervals between two instants.
    fn accumulator_of(&self, extent_ns: Option<(u64, u64)>, intervals: usize) -> Accumulator {
        let accumulator = self.accumulator();
        let buckets = u32::try_from(intervals).unwrap_or(u32::MAX).min(self.buckets);
        match extent_ns.filter(|_| buckets > 0) {
            Some((since_ns, until_ns)) => accumulator.with_time_line(since_ns, until_ns, buckets),
            None => accumulator,
        }
    }
}

/// Whether the work goes on: an error says why it does not.
pub type GoesOn<'a> = &'a dyn Fn() -> anyhow::Result<()>;

/// Adds up the intervals of a span; `recording` is where one may be.
///
/// # Errors
/// When there are none, or they cannot be read, or the work does not go on.
pub fn read(
    recording: Option<&Path>,
    source: Source,
    span: &Span,
    question: &Question,
    goes_on: GoesOn<'_>,
) -> anyhow::Result<Read> {
    let of_recording = |span: &Span, ring| of_recording(recording, span, question, ring, goes_on);
    match source {
        Source::Service => Ring::open(span)?.read(question, goes_on),
        Source::Recording => of_recording(span, None)?.with_context(|| nothing(recording)),
        Source::Auto => match Ring::open(span) {
            Ok(mut ring) if !ring.has_all => {
                let since = When::Realtime(ring.since_ns);
                match of_recording(&Span { since, ..*span }, Some(&mut ring))? {
                    Some(read) => Ok(read),
                    // What nothing has recorded, the service may have a part of.
                    None => ring.read(question, goes_on).with_context(|| nothing(recording)),
                }
            }
            Ok(ring) => ring.read(question, goes_on),
            Err(error) => match of_recording(span, None)? {
                Some(read) => Ok(read),
                None if error.is::<NoIntervalYet>() => Err(error),
                None => Err(anyhow!(nothing(recording)).context(cpuledger_program::exit::sentence(&error))),
            },
        },
    }
}

/// Why a recording says nothing of a span.
fn nothing(path: Option<&Path>) -> String {
    let Some(path) = path else { return "no recording is named, and this user has no home".to_owned() };
    match recording::open(path) {
        Ok(mut recording) => {
            let extent = recording::extent(recording.span_realtime_ns());
            format!("{}: nothing is recorded in that span; the recording is {extent}", path.display())
        }
        Err(error) => cpuledger_program::exit::sentence(&error),
    }
}

/// The ring of the service, and which of its intervals are in a span.
struct Ring {
    connection: Connection,
    /// Their numbers and times.
    chosen: Vec<(u64, Instants)>,
    /// The number of the last that the ring has.
    last: u64,
    /// The begin of the span.
    since_ns: u64,
    /// Whether the ring still has all of it.
    has_all: bool,
    damaged: u64,
}

impl Ring {
    fn open(span: &Span) -> anyhow::Result<Ring> {
        let mut connection =
            follow::connect().with_context(|| format!("no service at {}", socket_path().display()))?;
        let reader = connection.reader();
        let (mut bytes, mut frame) = (Vec::new(), Frame::new());
        let wanted = Wanted::of(&[], &[Column::END_REALTIME_NS]);
        let latest = reader.latest(&mut bytes)?;
        let last = latest.ok_or(NoIntervalYet)?.sequence;
        frame.decode_wanted_from(&bytes, &wanted)?;
        let last_ns = instants_of(&frame).end_realtime_ns;
        let ns_of = |when: When| match when {
            When::Realtime(ns) => ns,
            When::BeforeEnd(ns) => last_ns.saturating_sub(ns),
        };
        let (since_ns, until_ns) = (ns_of(span.since), ns_of(span.until));
        let (mut chosen, mut first_ns, mut damaged) = (Vec::new(), None, 0);
        each_of_ring(reader, last, |of| {
            let Some((bytes, number)) = of else {
                damaged += 1;
                return Ok(());
            };
            frame.decode_wanted_from(bytes, &wanted)?;
            let own = instants_of(&frame);
            first_ns.get_or_insert(own.start_realtime_ns);
            if (since_ns..until_ns).contains(&u64::midpoint(own.start_realtime_ns, own.end_realtime_ns)) {
                chosen.push((number, own));
            }
            Ok(())
        })?;
        let has_all = span.since == Span::ALL.since || first_ns.is_some_and(|first_ns| first_ns <= since_ns);
        Ok(Ring { connection, chosen, last, since_ns, has_all, damaged })
    }

    fn extent_ns(&self) -> Option<(u64, u64)> {
        let begin = self.chosen.iter().map(|(_, own)| own.start_realtime_ns).min();
        begin.zip(self.chosen.iter().map(|(_, own)| own.end_realtime_ns).max())
    }

    fn add_to(&mut self, accumulator: &mut Accumulator, goes_on: GoesOn<'_>) -> anyhow::Result<()> {
        let wanted = accumulator.wanted();
        let mut frame = Frame::new();
        each_of_ring(self.connection.reader(), self.last, |of| {
            goes_on()?;
            let Some((bytes, number)) = of else { return Ok(()) };
            if let Ok(place) = self.chosen.binary_search_by_key(&number, |(own, _)| *own) {
                frame.decode_wanted_from(bytes, &wanted)?;
                accumulator.add(&frame, self.chosen[place].1);
            }
            Ok(())
        })
    }

    fn read(mut self, question: &Question, goes_on: GoesOn<'_>) -> anyhow::Result<Read> {
        let mut accumulator = question.accumulator_of(self.extent_ns(), self.chosen.len());
        self.add_to(&mut accumulator, goes_on)?;
        ensure!(
            accumulator.intervals() > 0,
            "the service has nothing of that span: it keeps the last minutes"
        );
        let mut notes = Vec::new();
        if self.damaged > 0 {
            notes.push(format!("{} intervals could not be read", self.damaged));
        }
        if !self.has_all {
            notes.push("the service keeps the last minutes, and the span begins earlier".to_owned());
        }
        if self.connection.audience != "all" {
            notes.push(format!(
                "the service shows this user the audience `{}`: other users are in other",
                self.connection.audience
            ));
        }
        Ok(Read { accumulator, source: "service".to_owned(), notes })
    }
}

/// Hands over the frames of a ring, from the first to this one; `None`: it cannot be read.
fn each_of_ring(
    reader: &mut Reader,
    last: u64,
    mut each: impl FnMut(Option<(&[u8], u64)>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    reader.resume_at(1);
    loop {
        match reader.copy(&mut bytes) {
            Ok(None) => return Ok(()),
            Ok(Some(of)) if of.sequence > last => return Ok(()),
            Ok(Some(of)) => each(Some((&bytes, of.sequence)))?,
            Err(RingError::Damaged { .. }) => each(None)?,
            Err(error) => return Err(error.into()),
        }
    }
}

/// The intervals of a recording, and those of the ring that are not in it yet; `None`: it has none of that span, or cannot be opened.
fn of_recording(
    path: Option<&Path>,
    span: &Span,
    question: &Question,
    mut ring: Option<&mut Ring>,
    goes_on: GoesOn<'_>,
) -> anyhow::Result<Option<Read>> {
    let Some((path, mut recording)) = path.and_then(|path| Some((path, recording::open(path).ok()?))) else {
        return Ok(None);
    };
    let chosen = recording.select(span);
    ensure!(
        chosen.len() <= MOST_INTERVALS,
        "the span has {} intervals, and at most {MOST_INTERVALS} are read: ask for less, or use `cpuledger report`",
        chosen.len()
    );
    let Some((begin_ns, recorded_ns)) = recording.realtime_of(&chosen) else { return Ok(None) };
    let (mut end_ns, mut intervals) = (recorded_ns, chosen.len());
    if let Some(ring) = &mut ring {
        ring.chosen
            .retain(|(_, own)| u64::midpoint(own.start_realtime_ns, own.end_realtime_ns) > recorded_ns);
        end_ns = ring.extent_ns().map_or(end_ns, |(_, last_ns)| last_ns.max(end_ns));
        intervals += ring.chosen.len();
    }
    let mut accumulator = question.accumulator_of(Some((begin_ns, end_ns)), intervals);
    let wanted = accumulator.wanted();
    let (mut frame, mut damaged) = (Frame::new(), 0_u64);
    for place in &chosen {
        goes_on()?;
        let Some(entry) = recording.entry(*place) else { break };
        match recording.read_into(*place, &wanted, &mut frame)? {
            true => accumulator.add(&frame, entry.instants()),
            false => damaged += 1,
        }
    }
    if let Some(ring) = ring {
        ring.add_to(&mut accumulator, goes_on)?;
    }
    if accumulator.intervals() == 0 {
        return Ok(None);
    }
    let mut notes = Vec::new();
    let (losses, gaps) = recording.missing(span)?;
    if damaged > 0 || losses.iter().any(recording::is_damage) {
        notes.push("some of the recording cannot be read".to_owned());
    }
    if !gaps.is_empty() {
        notes.push(format!("{} gaps: nothing was recorded then", gaps.len()));
    }
    Ok(Some(Read { accumulator, source: path.display().to_string(), notes }))
}

/// From when to when a frame is, CLOCK_REALTIME.
pub fn instants_of(frame: &Frame) -> Instants {
    let end_ns = frame.figure(Column::END_REALTIME_NS).unwrap_or_default();
    let length_ns = frame.length_ns().unwrap_or_default();
    Instants { start_realtime_ns: end_ns.saturating_sub(length_ns), end_realtime_ns: end_ns }
}
