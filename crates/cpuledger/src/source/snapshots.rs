//! Intervals of a source of snapshots.

use cpuledger_client::stop::Stop;
use cpuledger_model::exit::{EXITS_LIMIT, Exits};
use cpuledger_model::field::FieldSet;
use cpuledger_model::interval::Interval;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;

use crate::attribution::difference::{Books, CutFacts, bound_exits};
use crate::error::Error;
use crate::machine;
use crate::source::interface::{Source, blind, wait_reading};

/// A source of snapshots, and the books kept from it.
pub struct Snapshots {
    source: Box<dyn Source>,
    scope: Scope,
    books: Books,
    exits: Exits,
    /// The last one.
    snapshot: Snapshot,
    notices: Vec<String>,
}

impl Snapshots {
    /// Of processes, until [`Snapshots::begin_anew`]. A source that cannot see tasks that exit is used all the same.
    pub(super) fn open(mut source: Box<dyn Source>) -> Snapshots {
        let notices = Vec::from_iter(source.watch_exits().err().map(blind));
        Snapshots {
            source,
            scope: Scope::Processes,
            books: Books::default(),
            exits: Exits::default(),
            snapshot: Snapshot::default(),
            notices,
        }
    }

    /// What the source is.
    pub(crate) fn kind(&self) -> SourceKind {
        self.source.kind()
    }

    /// What is to be said to the user since the last time.
    pub(crate) fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Keeps other books from now on: of tasks, too, or not.
    pub(crate) fn begin_anew(&mut self, by_task: bool) {
        let is_by_task = by_task || self.source.kind().is_booked_by_task();
        self.scope = if is_by_task { Scope::Tasks } else { Scope::Processes };
        self.books = Books::new(by_task);
    }

    pub(crate) fn wait(&mut self, deadline_ns: u64, stop: &Stop) -> Result<(), Error> {
        wait_reading(self.source.sees_exits(), deadline_ns, stop, || {
            self.source.exits(&mut self.exits)?;
            bound_exits(&mut self.exits, EXITS_LIMIT);
            Ok(())
        })
    }

    /// A snapshot, then the exits, so that none before the cut is missed.
    pub(crate) fn cut(&mut self, fields: FieldSet, interval: &mut Interval) -> Result<(), Error> {
        self.source.snapshot(&Request::new(self.scope, fields), &mut self.snapshot)?;
        self.source.exits(&mut self.exits)?;
        let cut = CutFacts { online_cpus: machine::online_cpus(), sees_exits: self.source.sees_exits() };
        self.books.close(&cut, &self.snapshot, &mut self.exits, interval);
        Ok(())
    }
}
