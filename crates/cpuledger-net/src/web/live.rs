//! The intervals of the service for visitors, as they come. Each view is added up and written once, however many look at it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cpuledger_model::accounts::Accounts;
use cpuledger_model::frame::{Column, Frame, Wanted};
use cpuledger_page::{Sheet, append_sheet};
use cpuledger_program::output::warn;
use cpuledger_recording::{Span, When};
use cpuledger_report::{Accumulator, Dimension, Labels, Name, Report};
use hyper::body::Bytes;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::follow::Sink;
use crate::read::{Question, Source, instants_of, read};
use crate::users::{Asked, Users};
use crate::web::ask::{BRANCHES, View};

/// Visitors at most, and different views at most: each costs what it takes to add up an interval.
pub const MOST_VISITORS: usize = 256;
pub const MOST_VIEWS: usize = 16;
/// Intervals that wait for a visitor. A slow one misses those beyond that, and its page asks for them again.
const QUEUE: usize = 4;
/// Ancestors are known from intervals that are not older than this, in nanoseconds.
const TOLD_NS: u64 = 300_000_000_000;
/// Who takes nothing for that time is gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why there are no intervals for a visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// There are too many visitors.
    Visitors,
    /// They look at too many different things.
    Views,
}

/// A visitor.
struct Visitor {
    sender: Sender<Bytes>,
    /// Since when its queue is full.
    full_since: Option<Instant>,
    is_kept: Arc<AtomicBool>,
}

impl Visitor {
    /// Whether it is still there.
    fn send(&mut self, event: &Bytes) -> bool {
        match self.sender.try_send(event.clone()) {
            Ok(()) => {
                self.full_since = None;
                true
            }
            Err(TrySendError::Closed(_)) => false,
            Err(TrySendError::Full(_)) => {
                let is_gone = self.full_since.get_or_insert_with(Instant::now).elapsed() > PATIENCE;
                if is_gone {
                    self.is_kept.store(false, Ordering::Relaxed);
                }
                !is_gone
            }
        }
    }
}

/// A view with those who look at it.
struct Watched {
    view: View,
    empty: Accumulator,
    visitors: Vec<Visitor>,
    /// Whether what it needs is decoded. Of an interval that was decoded before the view came, it would have no names.
    is_decoded: bool,
    /// The last interval, for who comes next.
    last: Option<Bytes>,
}

/// All views. Clones have the same.
#[derive(Clone)]
pub struct Live {
    watched: Arc<(Mutex<Vec<Watched>>, Condvar)>,
    /// It keeps who descends from whom, which one interval does not tell of what sleeps.
    ancestry: Accumulator,
    /// The end of the last interval, CLOCK_MONOTONIC in nanoseconds.
    end_ns: Option<u64>,
    recording: Option<PathBuf>,
}

impl Live {
    /// Of no visitor yet; `recording` is where one may be.
    pub fn new(recording: Option<PathBuf>) -> Live {
        let ancestry = Accumulator::new(&[Dimension::Ancestor]);
        Live { watched: Arc::default(), ancestry, end_ns: None, recording }
    }

    /// Who descends from whom, as the last minutes tell it.
    fn known_ancestry(&self) -> Accumulator {
        let question = Question::by(&[Dimension::Ancestor]);
        let span = Span { since: When::BeforeEnd(TOLD_NS), until: Span::ALL.until };
        let read = read(self.recording.as_deref(), Source::Auto, &span, &question, &|| Ok(()));
        // Without them, what the next intervals tell is enough.
        let mut known = read.map_or_else(|_| question.accumulator(), |read| read.accumulator);
        known.begin_again();
        known
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Watched>> {
        self.watched.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The intervals of a view, from the last one on.
    ///
    /// # Errors
    /// When there are too many visitors or views.
    pub fn visit(&self, view: &View, is_kept: &Arc<AtomicBool>) -> Result<Receiver<Bytes>, Full> {
        let mut watched = self.lock();
        watched.iter_mut().for_each(|own| own.visitors.retain(|visitor| !visitor.sender.is_closed()));
        watched.retain(|own| !own.visitors.is_empty());
        if watched.iter().map(|own| own.visitors.len()).sum::<usize>() >= MOST_VISITORS {
            return Err(Full::Visitors);
        }
        let place = match watched.iter().position(|own| own.view == *view) {
            Some(place) => place,
            None if watched.len() >= MOST_VIEWS => return Err(Full::Views),
            None => {
                // Ancestors are added up once for all views.
                let question = Question { dimensions: vec![view.by], ..view.question(0) };
                let empty = question.accumulator();
                let (view, visitors) = (view.clone(), Vec::new());
                watched.push(Watched { view, empty, visitors, is_decoded: false, last: None });
                watched.len() - 1
            }
        };
        let own = &mut watched[place];
        let (sender, receiver) = channel(QUEUE);
        let mut visitor = Visitor { sender, full_since: None, is_kept: Arc::clone(is_kept) };
        if let Some(last) = &own.last {
            visitor.send(last);
        }
        own.visitors.push(visitor);
        self.watched.1.notify_one();
        Ok(receiver)
    }
}

impl Watched {
    fn publish(&mut self, event: Bytes) {
        self.visitors.retain_mut(|visitor| visitor.send(&event));
        self.last = Some(event);
    }

    /// The interval as an event.
    fn event(&self, frame: &Frame, ancestry: &Report, labels: &impl Fn(&[&Report]) -> Labels) -> Bytes {
        let mut accumulator = self.empty.clone();
        accumulator.add(frame, instants_of(frame));
        let (by, conditions) = (self.view.by, self.view.within());
        let report = report(&accumulator, by, self.view.rows);
        let sheet = Sheet {
            by: by.name(),
            within: &conditions,
            source: "service",
            report: &report,
            ancestry: Some(ancestry),
            labels: &labels(&[&report]),
            notes: &[],
        };
        let mut event = String::from("data: ");
        append_sheet(&mut event, &sheet);
        event.push_str("\n\n");
        event.into()
    }
}

impl Sink for Live {
    fn begin(&self, _: Option<i32>) {}

    fn end(&self, reason: &str) {
        warn(&format!("the service has ended ({reason}); the page stands still until it is back"));
        for own in self.lock().iter_mut() {
            own.publish(Bytes::from_static(b"event: gone\ndata: the service has ended\n\n"));
            own.last = None;
        }
    }

    fn wait(&mut self) -> bool {
        let mut has_waited = false;
        let mut watched = self.lock();
        while watched.is_empty() {
            has_waited = true;
            watched = self.watched.1.wait(watched).unwrap_or_else(PoisonError::into_inner);
        }
        drop(watched);
        if has_waited {
            // What was born and died meanwhile was not seen.
            self.ancestry = self.known_ancestry();
        }
        has_waited
    }

    fn wanted(&self) -> Wanted {
        let beside = self.ancestry.wanted().and(&Wanted::of(&[], &[Column::END_NS, Column::END_REALTIME_NS]));
        self.lock().iter_mut().fold(beside, |wanted, own| {
            own.is_decoded = true;
            wanted.and(&own.empty.wanted())
        })
    }

    fn accounts(&self) -> Accounts {
        self.lock().iter().fold(Accounts::NONE, |all, own| all.union(own.view.accounts))
    }

    fn add(&mut self, frame: &Frame) {
        // Another ring begins with old intervals.
        let end_ns = frame.figure(Column::END_NS);
        if end_ns.zip(self.end_ns).is_some_and(|(end_ns, last_ns)| end_ns <= last_ns) {
            return;
        }
        self.end_ns = end_ns.or(self.end_ns);
        let users = Users::shared();
        let labels = |reports: &[&Report]| labels(reports, &users);
        self.ancestry.begin_again();
        self.ancestry.add(frame, instants_of(frame));
        let ancestry = self.ancestry.report(Dimension::Ancestor, BRANCHES);
        let mut watched = self.lock();
        for own in watched.iter_mut().filter(|own| own.is_decoded) {
            let event = own.event(frame, &ancestry, &labels);
            own.publish(event);
        }
        watched.retain(|own| !own.visitors.is_empty());
    }
}

/// A report with units by their names.
pub fn report(accumulator: &Accumulator, by: Dimension, rows: usize) -> Report {
    let is_unit = by == Dimension::Unit;
    accumulator.report_named(by, rows, |name| if is_unit { name.unit() } else { name })
}

/// Names of users, as far as they are known by now.
pub fn labels(reports: &[&Report], users: &Users) -> Labels {
    let mut labels = Labels::default();
    for row in reports.iter().flat_map(|report| &report.rows) {
        if let Name::User(uid) = row.name
            && let Ok(number) = u32::try_from(uid)
            && let Asked::Name(name) = users.name(number)
        {
            labels.users.insert(uid, name.into_bytes());
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(rows: usize) -> View {
        View { by: Dimension::Command, conditions: Vec::new(), rows, accounts: Accounts::NONE }
    }

    fn frame(end_ns: u64) -> Frame {
        let mut frame = Frame::new();
        frame.set_figure(Column::END_REALTIME_NS, Some(end_ns));
        frame
    }

    #[test]
    fn visitors_and_views_are_bounded_and_make_room_when_they_go() {
        let (live, is_kept) = (Live::new(None), Arc::default());
        let mut stay: Vec<_> =
            (1..=MOST_VIEWS).map(|rows| live.visit(&view(rows), &is_kept).expect("room")).collect();
        assert_eq!(live.visit(&view(MOST_VIEWS + 1), &is_kept).err(), Some(Full::Views));
        stay.extend((MOST_VIEWS..MOST_VISITORS).map(|_| live.visit(&view(1), &is_kept).expect("room")));
        assert_eq!(live.visit(&view(1), &is_kept).err(), Some(Full::Visitors));
        stay.truncate(1);
        assert!(live.visit(&view(MOST_VIEWS + 1), &is_kept).is_ok());
    }

    #[test]
    fn intervals_of_before_are_not_sent_again_when_another_ring_begins() {
        let mut live = Live::new(None);
        let mut visitor = live.visit(&view(1), &Arc::default()).expect("room");
        live.wanted();
        for second in [1, 2, 1, 2, 3] {
            let mut frame = frame(second);
            frame.set_figure(Column::END_NS, Some(second));
            live.add(&frame);
        }
        let events: Vec<Bytes> = std::iter::from_fn(|| visitor.try_recv().ok()).collect();
        assert_eq!(events.len(), 3, "{events:?}");
    }

    #[test]
    fn a_view_has_no_interval_that_was_decoded_before_it_came() {
        let (mut live, is_kept) = (Live::new(None), Arc::default());
        let mut early = live.visit(&view(1), &is_kept).expect("room");
        live.wanted();
        let mut late = live.visit(&view(2), &is_kept).expect("room");
        live.add(&frame(1));
        assert!(early.try_recv().is_ok() && late.try_recv().is_err());
        live.wanted();
        live.add(&frame(2));
        assert!(early.try_recv().is_ok() && late.try_recv().is_ok());
    }

    #[test]
    fn a_slow_visitor_misses_intervals_and_holds_nobody_up() {
        let (mut live, is_kept) = (Live::new(None), Arc::default());
        let mut slow = live.visit(&view(1), &is_kept).expect("room");
        let mut quick = live.visit(&view(1), &is_kept).expect("room");
        for number in 1..=100 {
            live.wanted();
            live.add(&frame(number));
            let event = quick.try_recv().expect("an event");
            assert!(
                str::from_utf8(&event).is_ok_and(|text| text.contains(&format!("\"end_ns\":\"{number}\"")))
            );
        }
        let waiting: Vec<Bytes> = std::iter::from_fn(|| slow.try_recv().ok()).collect();
        assert_eq!(waiting.len(), QUEUE);
        let mut late = live.visit(&view(1), &is_kept).expect("room");
        assert!(late.try_recv().is_ok(), "the last interval is there at once");
    }
}
