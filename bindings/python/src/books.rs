//! What tables and rows show: an interval or a listing, which they share.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use cpuledger_client::balance;
use cpuledger_model::field::Value;
use cpuledger_model::frame::{self, Frame};
use cpuledger_model::framing::{self, CgroupIds, CgroupNames, RowUnit};
use cpuledger_model::interval::Interval;
use cpuledger_model::snapshot::Snapshot;
use cpuledger_model::task::Task;
use cpuledger_names::named::{NameKey, Named, Namer};
use cpuledger_proc::escape::escaped;
use cpuledger_view::group::exited_row;

use crate::columns::{Column, Origin, Section};

/// An interval or a listing.
#[derive(Debug)]
pub(crate) enum Rows {
    Interval {
        /// Without rows, if it has a frame: they are in that.
        totals: Box<Interval>,
        /// With rows, which are made when they are first wanted.
        whole: OnceLock<Box<Interval>>,
    },
    Listing(Snapshot),
}

/// The same, with what is known of it besides.
#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) rows: Rows,
    pub(crate) boot_id: Option<String>,
    /// The end, CLOCK_REALTIME.
    pub(crate) end_realtime_ns: Option<u64>,
    /// Of a listing, whether it has all that /proc shows this user.
    pub(crate) shows_all: Option<bool>,
    named: OnceLock<Named>,
}

/// A value on its way into Python or Arrow.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell<'a> {
    Value(Value<'a>),
    Flag(Option<bool>),
}

/// A name as all outputs have it: escaped. Nearly every name stays as it is.
pub(crate) fn printable(name: &[u8]) -> Cow<'_, str> {
    let is_plain = name.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'\\');
    match std::str::from_utf8(name) {
        Ok(name) if is_plain => Cow::Borrowed(name),
        _ => Cow::Owned(escaped(name)),
    }
}

/// Names of cgroups of this machine: each is looked up once for all intervals.
static NAMER: LazyLock<Mutex<Namer>> = LazyLock::new(Mutex::default);

impl Books {
    /// Of an interval of this machine.
    pub(crate) fn of_interval(
        interval: Interval,
        boot_id: Option<String>,
        end_realtime_ns: Option<u64>,
    ) -> Books {
        Books { rows: rows(interval), boot_id, end_realtime_ns, shows_all: None, named: OnceLock::new() }
    }

    /// Of a recorded interval, with the names that were recorded.
    pub(crate) fn of_recorded(
        interval: Interval,
        boot_id: Option<String>,
        end_realtime_ns: u64,
        cgroups: &[(CgroupIds, CgroupNames)],
        units: &[RowUnit],
    ) -> Books {
        let named = OnceLock::from(Named::recorded(cgroups, units));
        let end_realtime_ns = Some(end_realtime_ns);
        Books { rows: rows(interval), boot_id, end_realtime_ns, shows_all: None, named }
    }

    /// Of a listing.
    pub(crate) fn of_listing(snapshot: Snapshot, shows_all: bool) -> Books {
        let rows = Rows::Listing(snapshot);
        let (shows_all, named) = (Some(shows_all), OnceLock::new());
        Books { rows, boot_id: None, end_realtime_ns: None, shows_all, named }
    }

    /// The interval, perhaps without its rows; `None`: it is a listing.
    pub(crate) fn interval(&self) -> Option<&Interval> {
        match &self.rows {
            Rows::Interval { totals, .. } => Some(totals),
            Rows::Listing(_) => None,
        }
    }

    /// The interval with its rows; `None`: it is a listing.
    pub(crate) fn whole(&self) -> Option<&Interval> {
        match &self.rows {
            Rows::Interval { totals, whole } => Some(match &totals.frame {
                Some(frame) => whole.get_or_init(|| Box::new(with_rows(totals, frame))),
                None => totals,
            }),
            Rows::Listing(_) => None,
        }
    }

    /// What the rows of an interval are read from: the same column by column. `None`: there are rows only.
    pub(crate) fn frame(&self) -> Option<&Frame> {
        self.interval()?.frame.as_deref()
    }

    /// Begin and end, CLOCK_MONOTONIC.
    pub(crate) fn times_ns(&self) -> [u64; 2] {
        match &self.rows {
            Rows::Interval { totals, .. } => [totals.start_ns, totals.end_ns],
            Rows::Listing(snapshot) => [snapshot.begin_ns, snapshot.end_ns],
        }
    }

    /// Number of rows. `None`: the source does not know such rows.
    pub(crate) fn len(&self, section: Section) -> Option<usize> {
        let interval = match (&self.rows, section) {
            (Rows::Interval { totals, .. }, _) => totals,
            (Rows::Listing(snapshot), Section::ListedProcesses) => return Some(snapshot.processes.len()),
            (Rows::Listing(snapshot), Section::ListedTasks) => return Some(snapshot.tasks.len()),
            (Rows::Listing(_), _) => return None,
        };
        let (in_frame, len) = match section {
            Section::Processes => (frame::Section::Processes, Some(interval.processes.len())),
            Section::Tasks => (frame::Section::Tasks, Some(interval.tasks.len())),
            Section::Exited => (frame::Section::Exited, interval.exited.as_ref().map(Vec::len)),
            Section::Blocked => (frame::Section::Blocked, interval.blocked.as_ref().map(Vec::len)),
            Section::ListedProcesses | Section::ListedTasks => return None,
        };
        len.map(|len| interval.frame.as_ref().map_or(len, |frame| frame.table(in_frame).len()))
    }

    /// A value of a row.
    pub(crate) fn cell(&self, section: Section, row: usize, column: &Column) -> Cell<'_> {
        let value = match column.origin {
            Origin::Start => Value::Unsigned(self.times_ns()[0]),
            Origin::End => Value::Unsigned(self.times_ns()[1]),
            Origin::Name(name) => self.name(section, row, name),
            origin => match self.whole() {
                Some(interval) => return of_interval(interval, section, row, origin),
                None => match (self.task(section, row), origin) {
                    (Some(task), Origin::Field(field)) => field.value(task),
                    _ => Value::Absent,
                },
            },
        };
        Cell::Value(value)
    }

    fn task(&self, section: Section, row: usize) -> Option<&Task> {
        match (&self.rows, section) {
            (Rows::Interval { .. }, Section::Processes) => Some(&self.whole()?.processes.get(row)?.task),
            (Rows::Interval { .. }, Section::Tasks) => Some(&self.whole()?.tasks.get(row)?.task),
            (Rows::Listing(snapshot), Section::ListedProcesses) => snapshot.processes.get(row),
            (Rows::Listing(snapshot), Section::ListedTasks) => snapshot.tasks.get(row),
            _ => None,
        }
    }

    fn name(&self, section: Section, row: usize, name: NameKey) -> Value<'_> {
        let named = self.named();
        let found = match (section, self.whole()) {
            (Section::Exited, Some(Interval { exited: Some(exited), .. })) => {
                exited.get(row).and_then(|exited| named.name_by_cgroup(&exited_row(exited).task, name))
            }
            _ => self.task(section, row).and_then(|task| named.name_by_cgroup(task, name)),
        };
        found.map_or(Value::Absent, Value::Bytes)
    }

    /// What the cgroups of the rows are called. The first call may read files below /sys/fs/cgroup.
    pub(crate) fn named(&self) -> &Named {
        self.named.get_or_init(|| {
            let mut namer = NAMER.lock().unwrap_or_else(PoisonError::into_inner);
            namer.begin();
            match (&self.rows, self.whole()) {
                (_, Some(interval)) => namer.learn_interval(interval),
                (Rows::Interval { .. }, None) => {}
                (Rows::Listing(snapshot), None) => {
                    snapshot.processes.iter().chain(&snapshot.tasks).for_each(|task| namer.learn(task));
                }
            }
            namer.named()
        })
    }
}

fn rows(interval: Interval) -> Rows {
    Rows::Interval { totals: Box::new(interval), whole: OnceLock::new() }
}

/// The interval with the rows of its frame.
fn with_rows(totals: &Interval, frame: &Arc<Frame>) -> Interval {
    let mut whole = Interval::default();
    let read = framing::read(frame, &mut whole);
    debug_assert!(read.is_ok(), "{read:?}: it was checked when the interval was read");
    (whole.frame, whole.is_replayed) = (Some(Arc::clone(frame)), totals.is_replayed);
    balance::check(&whole);
    whole
}

fn of_interval(interval: &Interval, section: Section, row: usize, origin: Origin) -> Cell<'_> {
    let rows = match section {
        Section::Processes => Some(&interval.processes),
        Section::Tasks => Some(&interval.tasks),
        _ => None,
    };
    let value = match origin {
        Origin::Key(key) => rows.and_then(|rows| rows.get(row)).map(|row| key.value(row)),
        Origin::Exited(member) => {
            interval.exited.as_ref().and_then(|exited| exited.get(row)).map(|exited| (member.value)(exited))
        }
        Origin::Blocked(member) => interval
            .blocked
            .as_ref()
            .and_then(|blocked| blocked.get(row))
            .map(|blocked| (member.value)(blocked)),
        Origin::ForIo => {
            let blocked = interval.blocked.as_ref().and_then(|blocked| blocked.get(row));
            return Cell::Flag(blocked.and_then(|blocked| blocked.for_io));
        }
        Origin::Start | Origin::End | Origin::Field(_) | Origin::Name(_) => None,
    };
    Cell::Value(value.unwrap_or(Value::Absent))
}
