//! The intervals that a command prints, shows or records.

use anyhow::Context;
pub use cpuledger::intervals::Outcome;
use cpuledger::intervals::{Intervals, Wanted};
use cpuledger::{Account, Field, FieldSet, Pid, SourceKind};
use cpuledger_model::make;
use cpuledger_program::output;
use cpuledger_view::group;
use cpuledger_view::key::Key;

use super::options::{OfLedger, Options};
use crate::cmd::top::order::Order;
use crate::memory::GiveBack;
use crate::privileges::{self, KeptTime, MayKeepTime};
use crate::values::Format;

/// Who takes the intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taker {
    /// What prints or records them: notices are written at once.
    Text,
    /// The screen: notices are left for it to take.
    Screen {
        /// What [`privileges::come_first`] has said at its start.
        comes_first: bool,
    },
}

/// Intervals, what is said of them, and no more privileges than they need.
pub struct Collector {
    /// They themselves.
    pub intervals: Intervals,
    taker: Taker,
    give_back: GiveBack,
    /// Whether the thread of the intervals may begin to keep time.
    may_keep_time: Option<MayKeepTime>,
    kept_time: Option<KeptTime>,
}

impl Collector {
    /// Opens the source, makes the first cut and gives up all privileges that are no longer needed.
    ///
    /// # Errors
    /// When the wanted source cannot be used here, or none can.
    pub fn open(wanted: Wanted, taker: Taker) -> anyhow::Result<Collector> {
        let may_be_of_ledger = wanted.source.is_none_or(|source| source == SourceKind::Ledger);
        let comes_first = match taker {
            Taker::Screen { comes_first } => comes_first,
            Taker::Text => may_be_of_ledger && privileges::come_first(),
        };
        let may_keep_time = (comes_first && may_be_of_ledger).then(MayKeepTime::allow);
        let open = || Collector::open_as(wanted, taker, privileges::give_up);
        let mut collector = if may_keep_time.is_some() { privileges::in_real_time(open) } else { open() }?;
        let is_of_ledger = collector.intervals.kind() == SourceKind::Ledger;
        collector.may_keep_time = may_keep_time.filter(|_| is_of_ledger);
        if comes_first && !is_of_ledger && taker == Taker::Text {
            privileges::stand_back();
        }
        Ok(collector)
    }

    /// That of these options, with what they need of intervals.
    ///
    /// # Errors
    /// As [`Collector::open`].
    pub fn of(options: &Options, wanted: Wanted, taker: Taker) -> anyhow::Result<Collector> {
        let opened = Collector::open(wanted, taker);
        match options.by.of_ledger().filter(|_| options.source.is_none()) {
            Some(OfLedger { option, known, .. }) => opened
                .with_context(|| format!("{option} needs the ledger, the only source that tells {known}")),
            None => opened,
        }
    }

    /// Lets this thread close intervals in time on a busy machine, if nobody has chosen its priority. Threads that it starts afterwards have
    /// an ordinary one.
    pub fn keep_time(&mut self) {
        self.kept_time = self.may_keep_time.take().and_then(MayKeepTime::begin);
    }

    /// The same for a program that gives up other privileges.
    ///
    /// # Errors
    /// As [`Collector::open`].
    pub fn open_as(
        wanted: Wanted,
        taker: Taker,
        give_up: impl FnOnce(SourceKind) -> anyhow::Result<()>,
    ) -> anyhow::Result<Collector> {
        let mut intervals = Intervals::open(wanted)?;
        if taker == Taker::Text {
            intervals.take_notices().iter().for_each(|notice| output::warn(notice));
        }
        give_up(intervals.needs())?;
        Ok(Collector {
            intervals,
            taker,
            give_back: GiveBack::default(),
            may_keep_time: None,
            kept_time: None,
        })
    }

    /// Waits for the end of the interval and closes it.
    ///
    /// # Errors
    /// When the source fails, and no other may take over.
    pub fn close(&mut self) -> anyhow::Result<Outcome> {
        let outcome = self.intervals.close();
        if self.taker == Taker::Text {
            self.intervals.take_notices().iter().for_each(|notice| output::warn(notice));
        }
        let interval = &self.intervals.interval;
        self.give_back.tick(interval.end_ns);
        let (length_ns, is_cut_short) = (interval.length_ns(), matches!(outcome, Ok(Outcome::Stopped)));
        self.kept_time = self.kept_time.take().and_then(|kept| kept.go_on(length_ns, is_cut_short));
        Ok(outcome?)
    }
}

/// What these options need of intervals.
pub fn wanted(options: &Options) -> Wanted {
    make!(Wanted {
        source: options.source,
        length_ns: options.delay_ns,
        fields: fields(options),
        pids: options.pids.iter().copied().map(Pid).collect(),
        has_all: options.shows_idle,
        by_task: options.has_threads,
        needs_states: options.by.has_states,
        needs_parts: options.by.has_parts,
        finds_blocked: wants_blocked(options),
        ledger: options.size,
    })
}

/// Whether tasks are told of that are blocked since before the ledger was attached, which costs a walk.
fn wants_blocked(options: &Options) -> bool {
    let is_json = options.format == Format::Json;
    options.by.has_states || options.is_screen || options.is_recorded || options.shows_idle && is_json
}

/// What the text shows, and what it is made of.
pub const TEXT: FieldSet = FieldSet::of(&[
    Field::Tid,
    Field::Pid,
    Field::StartTime,
    Field::Uid,
    Field::Euid,
    Field::Comm,
    Field::State,
    Field::Flags,
    Field::Nice,
    Field::Priority,
    Field::Runtime,
    Field::User,
    Field::System,
    Field::Vsize,
    Field::Rss,
    Field::Shared,
]);

/// What the output and its order need.
fn fields(options: &Options) -> FieldSet {
    let shown = match (options.format, options.order.by) {
        // The columns of the screen are chosen while it runs, those of a recording when it is read.
        _ if options.is_screen || options.is_recorded => FieldSet::ALL,
        (Format::Text, Order::Key(Key::Field(field))) => TEXT.union(FieldSet::of(&[field])),
        (Format::Text, _) => TEXT,
        (Format::Json | Format::Csv(_), _) => FieldSet::ALL,
    };
    let of_groups = match options.by.pairs().or(options.by.group) {
        None => FieldSet::EMPTY,
        Some(group) => group::fields(group).union(FieldSet::of(&[Field::RunqueueWait])),
    };
    let of_wire = if options.by.has_wire {
        FieldSet::of(&[Field::CgroupId]).union(Account::Network.fields())
    } else {
        FieldSet::EMPTY
    };
    shown.union(options.fields).union(of_groups).union(of_wire)
}
