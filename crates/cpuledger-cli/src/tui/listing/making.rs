//! What a listing is made of, and by what its rows are chosen and sorted, however they stand below each other.

use std::cmp::Ordering;

use cpuledger::interval::Row;
use cpuledger_view::key::Key;
use cpuledger_view::query::{Query, Subject};
use cpuledger_view::sort;
use rustc_hash::FxHashSet;

use super::arguments::Arguments;
use super::entry::{Entry, Id, Item};
use crate::cmd::top::options::Options;
use crate::cmd::top::order::Order;
use crate::cmd::top::select::is_wanted;
use crate::tui::config::{Settings, Tree};
use crate::tui::frame::{Frame, Kind, List, RowRef};
use crate::tui::views::View;

/// What a listing is made of.
pub struct Making<'a> {
    /// The frame.
    pub frame: &'a Frame,
    /// What the user has chosen.
    pub settings: &'a Settings,
    /// The command line, which may limit the rows.
    pub options: &'a Options,
    /// The filter.
    pub query: &'a Query,
    /// Arguments that are known.
    pub arguments: &'a Arguments,
    /// The account that is shown.
    pub account: Option<View>,
    /// Whose fold is not as usual.
    pub folded: &'a FxHashSet<Id>,
    /// Arguments that are not known can be read.
    pub can_read_arguments: bool,
    /// What the cursor stays with.
    pub followed: Option<&'a Id>,
}

/// An item and what it is sorted by.
pub(super) struct Ranked<'a> {
    pub weight: sort::Key<'a>,
    /// In a view of an account many rows have the same, which may be nothing: those with more CPU time come first. 0: groups and the dead.
    pub cpu_ns: u64,
    pub number: (i32, i32),
    pub entry: Entry,
}

impl<'a> Making<'a> {
    /// The kind of rows that are shown.
    pub fn kind(&self) -> Kind {
        if self.settings.has_threads { Kind::Task } else { Kind::Process }
    }

    /// Whether a row is asked for by command line and filter. What the filter has to know of it and is still being read is waited for.
    pub(super) fn matches(&self, at: RowRef) -> bool {
        let whole = self.frame.whole(at);
        if !is_wanted(self.options, whole) {
            return false;
        }
        if self.query.is_empty() {
            return true;
        }
        if self.query.needs_arguments() && self.can_read_arguments && self.arguments.is_wanted(whole) {
            return false;
        }
        self.satisfies(&self.frame.row(at))
    }

    /// Whether the filter holds.
    pub(super) fn satisfies(&self, row: &Row) -> bool {
        self.ask(row, |subject| self.query.matches(subject))
    }

    /// Whether the filter holds if the row is part of a sum.
    pub(super) fn may_satisfy(&self, row: &Row) -> bool {
        self.ask(row, |subject| self.query.may_match(subject))
    }

    fn ask(&self, row: &Row, question: impl FnOnce(&Subject<'_>) -> bool) -> bool {
        let arguments = if self.query.needs_arguments() { self.arguments.text_of(&row.task) } else { None };
        question(&Subject {
            row,
            length_ns: self.frame.cpu_length_ns(),
            users: &self.frame.users,
            memory_total_bytes: self.frame.around.statistics.memory.map(|memory| memory.total),
            arguments: arguments.as_deref(),
            named: Some(&self.frame.around.named),
        })
    }

    /// Whether a filter or a search may find the row.
    pub fn is_candidate(&self, at: RowRef) -> bool {
        self.is_shown(at) && is_wanted(self.options, self.frame.whole(at))
    }

    /// Whether its time makes it worth a line and, where there is a view of that, what happened to it.
    pub(super) fn is_shown(&self, at: RowRef) -> bool {
        self.settings.has_all
            || self.frame.ran_or_waited(at) && (self.is_grouped() || !self.is_quiet(&self.frame.row(at)))
    }

    /// Groups have the figures of all of their rows.
    fn is_grouped(&self) -> bool {
        self.settings.group.is_some() && self.settings.tree == Tree::No
    }

    /// Whether a line would have nothing of what the view is about. Where there is a filter, that says what has a line.
    pub(super) fn is_quiet(&self, row: &Row) -> bool {
        let view = self.account.filter(|_| !self.settings.has_all && self.query.is_empty());
        view.is_some_and(|view| view.is_quiet(row))
    }

    /// How many rows have no line for that reason alone.
    pub(super) fn count_quiet(&self) -> usize {
        if self.account.is_none() || self.is_grouped() {
            return 0;
        }
        let kind = self.kind();
        let rows = (0..self.frame.count(kind, List::Awake) as u32)
            .map(|index| RowRef { kind, list: List::Awake, index })
            .filter(|&at| self.frame.ran_or_waited(at) && self.matches(at));
        rows.filter(|&at| self.is_quiet(&self.frame.row(at))).count()
    }

    /// Whether the cursor is on that row.
    pub(super) fn has_cursor(&self, at: RowRef) -> bool {
        matches!(self.followed, Some(Id::Row(kind, id)) if self.frame.find(*kind, *id) == Some(at))
    }

    pub(super) fn is_folded(&self, id: &Id) -> bool {
        let usually = !matches!(id, Id::Row(..));
        usually != self.folded.contains(id)
    }

    pub(super) fn ranked(&self, at: RowRef) -> Ranked<'a> {
        let whole = self.frame.whole(at);
        Ranked {
            weight: self.weigh(at),
            cpu_ns: self.frame.cpu_ns(at),
            number: (whole.pid.0, whole.tid.0),
            entry: Entry::flat(Item::Row(at)),
        }
    }

    pub(super) fn weigh(&self, at: RowRef) -> sort::Key<'a> {
        let frame = self.frame;
        let whole = frame.whole(at);
        match self.order() {
            // Without a usage made for it.
            Order::Key(Key::Field(field)) if !field.info().cumulative => sort::Key::from(field.value(whole)),
            Order::Key(Key::Part(part)) if part.key == "cpu_ns" => sort::Key::from(frame.cpu_ns(at)),
            order => order.weigh_number(&frame.row(at)),
        }
    }

    /// By what is no text: the only weight of a sum.
    pub(super) fn weigh_number(&self, row: &Row) -> sort::Key<'static> {
        self.order().weigh_number(row)
    }

    fn order(&self) -> Order {
        Order::of_view(self.settings.order().0, self.settings.has_states).unwrap_or(Order::Time)
    }

    pub(super) fn compare(&self, one: &Ranked<'_>, other: &Ranked<'_>) -> Ordering {
        let order = one.weight.cmp(&other.weight);
        let order = if self.settings.order().1 { order } else { order.reverse() };
        let by_cpu = other.cpu_ns.cmp(&one.cpu_ns);
        let order = if self.account.is_some() { order.then(by_cpu) } else { order };
        order.then_with(|| one.number.cmp(&other.number))
    }
}
