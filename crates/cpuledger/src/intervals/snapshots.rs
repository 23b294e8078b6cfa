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
use crate::source::Source;

/// How often exits are read within an interval where a ring keeps them: it takes 4 MiB, at 88 bytes a record 200,000 exits
/// a second.
const LONGEST_WITHOUT_EXITS_NS: u64 = 200_000_000;

/// A source of snapshots, and the books kept from it.
pub(super) struct Snapshots {
    source: Box<dyn Source>,
    scope: Scope,
    books: Books,
    exits: Exits,
    /// The last one.
    snapshot: Snapshot,
}

impl Snapshots {
    /// The second is why it cannot see tasks that exit: it is used all the same.
    pub(super) fn open(mut source: Box<dyn Source>, by_task: bool) -> (Snapshots, Option<String>) {
        let blindness = source.watch_exits().err().map(Error::into_reason);
        let scope = Scope::Processes;
        let mut snapshots = Snapshots {
            source,
            scope,
            books: Books::default(),
            exits: Exits::default(),
            snapshot: Snapshot::default(),
        };
        snapshots.begin_anew(by_task);
        (snapshots, blindness)
    }

    /// What the source is.
    pub(super) fn kind(&self) -> SourceKind {
        self.source.kind()
    }

    pub(super) fn begin_anew(&mut self, by_task: bool) {
        let is_by_task = by_task || self.source.kind().is_booked_by_task();
        self.scope = if is_by_task { Scope::Tasks } else { Scope::Processes };
        self.books = Books::new(by_task);
    }

    pub(super) fn wait(&mut self, deadline_ns: u64, stop: &Stop) -> Result<(), Error> {
        while self.source.sees_exits() && !stop.is_requested() {
            let wake_ns = machine::monotonic_ns() + LONGEST_WITHOUT_EXITS_NS;
            if wake_ns >= deadline_ns {
                break;
            }
            stop.sleep_until(wake_ns);
            self.source.exits(&mut self.exits)?;
            bound_exits(&mut self.exits, EXITS_LIMIT);
        }
        stop.sleep_until(deadline_ns);
        Ok(())
    }

    /// A snapshot, then the exits, so that none before the cut is missed.
    pub(super) fn cut(&mut self, fields: FieldSet, interval: &mut Interval) -> Result<(), Error> {
        self.source.snapshot(&Request::new(self.scope, fields), &mut self.snapshot)?;
        self.source.exits(&mut self.exits)?;
        let cut = CutFacts { online_cpus: machine::online_cpus(), sees_exits: self.source.sees_exits() };
        self.books.close(&cut, &self.snapshot, &mut self.exits, interval);
        Ok(())
    }
}
