//! The lines of the table, made of a frame and of what the user has chosen: which rows, in which order, below whom.

pub mod group;
mod tree;

use std::cmp::Ordering;

use cpuledger::Boottime;
use cpuledger::field::{Field, FieldSet};
use cpuledger::interval::{Exited, Usage};
use cpuledger::render::key::Key;
use cpuledger::view::query::{Query, Subject};
use cpuledger::view::sort;
use cpuledger::{Comm, Pid, Task, TaskId};
use rustc_hash::{FxHashMap, FxHashSet};

pub use group::escaped;

use super::config::{Group, Settings, Tree};
use super::frame::{Frame, Kind, List, RowRef};
use crate::cmd::top::options::Options;
use crate::cmd::top::order::Order;
use crate::cmd::top::select::is_wanted;

/// What a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A process or task.
    Row(RowRef),
    /// The sum of a group: an index of [`Listing::sums`].
    Group(u32),
    /// The dead of one name: likewise.
    ExitedName(u32),
    /// One that died: an index of [`Frame::exited`].
    Exited(u32),
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// What it shows.
    pub item: Item,
    /// How many are above it.
    pub depth: u16,
    /// One bit for each generation: whether others of it follow.
    pub follows: u64,
    /// CPU time of its subtree, where there is one.
    pub subtree_ns: Option<u64>,
    /// Whether something is below it, and whether that is hidden.
    pub fold: Option<bool>,
}

impl Entry {
    fn flat(item: Item) -> Entry {
        Entry { item, depth: 0, follows: 0, subtree_ns: None, fold: None }
    }
}

/// Rows put together.
#[derive(Debug, Clone)]
pub struct Sum {
    /// Of what.
    pub name: String,
    /// How many.
    pub rows: usize,
    /// What of a task makes sense for all of them.
    pub task: Task,
    /// The sum of what they used.
    pub usage: Usage,
}

/// The lines.
#[derive(Debug, Default)]
pub struct Listing {
    /// From the first to the last.
    pub entries: Vec<Entry>,
    /// Groups and names of the dead.
    pub sums: Vec<Sum>,
    /// CPU time of all processes that match, whether their line is folded or not.
    pub matched_ns: u64,
    /// Who died and matches: indexes of [`Frame::exited`].
    pub exited: Vec<u32>,
}

/// What stays recognisable from one frame to the next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A process or task.
    Row(Kind, TaskId),
    /// A group by its name.
    Group(String),
    /// The dead of one name.
    ExitedName(String),
    /// One that died.
    Exited(TaskId),
}

/// Arguments that have been read, by process.
#[derive(Debug, Default)]
pub struct Arguments {
    known: FxHashMap<Pid, (Boottime, Comm, Box<[u8]>)>,
}

/// So many are remembered; then the memory starts anew.
const REMEMBERED_ARGUMENTS: usize = 65_536;

impl Arguments {
    /// Remembers those of a process that has this name, separated by NUL: with another program it has another.
    pub fn learn(&mut self, process: TaskId, comm: Comm, cmdline: Box<[u8]>) {
        if self.known.len() >= REMEMBERED_ARGUMENTS {
            self.known.clear();
        }
        self.known.insert(Pid(process.tid.0), (process.start_time_ns, comm, cmdline));
    }

    /// Those of the process of a row, separated by NUL; `None`: not known.
    pub fn of(&self, row: &Task) -> Option<&[u8]> {
        let (start_time_ns, comm, cmdline) = self.known.get(&row.pid)?;
        let is_same = row.start_time_ns == *start_time_ns && row.comm == *comm;
        (!row.is_leader() || is_same).then_some(cmdline)
    }
}

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
    /// Whose fold is not as usual.
    pub folded: &'a FxHashSet<Id>,
}

/// The order of those that sleep: it is the same until they are walked again.
#[derive(Debug, Default)]
pub struct SleepOrder {
    of: Option<(u64, Kind, &'static str, bool, String)>,
    order: Vec<u32>,
}

/// An item and what it is sorted by.
struct Ranked<'a> {
    weight: sort::Key<'a>,
    number: (i32, i32),
    entry: Entry,
}

impl<'a> Making<'a> {
    /// The kind of rows that are shown.
    pub fn kind(&self) -> Kind {
        if self.settings.has_threads { Kind::Task } else { Kind::Process }
    }

    /// Makes the listing anew, in the memory of the last one.
    pub fn make(&self, sleep: &mut SleepOrder, listing: &mut Listing) {
        listing.entries.clear();
        listing.sums.clear();
        listing.exited.clear();
        listing.matched_ns = 0;
        for (index, usage) in self.frame.interval.processes.iter().enumerate() {
            let at = RowRef { kind: Kind::Process, list: List::Awake, index: index as u32 };
            if usage.cpu_ns > 0 && self.matches(at) {
                listing.matched_ns += usage.cpu_ns;
            }
        }
        if self.settings.tree != Tree::No {
            tree::make(self, listing);
        } else if self.settings.group != Group::No {
            group::make(self, listing);
        } else {
            return self.make_flat(listing, sleep);
        }
        let exited = group::exited_names(self, listing);
        let ranked = self.ranked_sums(listing, &exited);
        let mut order: Vec<usize> = (0..ranked.len()).collect();
        order.sort_by(|&one, &other| self.compare(&ranked[one], &ranked[other]));
        let order: Vec<Entry> = order.into_iter().map(|index| ranked[index].entry).collect();
        for entry in order {
            self.push_exited(listing, entry, &exited);
        }
    }

    /// Whether a row is asked for by command line and filter.
    fn matches(&self, at: RowRef) -> bool {
        let whole = self.frame.whole(at);
        if !is_wanted(self.options, whole) {
            return false;
        }
        if self.query.is_empty() {
            return true;
        }
        let usage = self.frame.usage(at);
        self.query.matches(&self.subject(&self.frame.interval.row(&usage, whole), &usage))
    }

    fn subject<'b>(&'b self, row: &'b Task, usage: &'b Usage) -> Subject<'b> {
        Subject {
            row,
            usage,
            length_ns: self.frame.cpu_length_ns(),
            users: &self.frame.users,
            memory_total_bytes: self.frame.vitals.memory.map(|memory| memory.total),
            arguments: self.arguments.of(row),
        }
    }

    /// Whether its time makes it worth a line.
    fn is_shown(&self, at: RowRef) -> bool {
        self.settings.has_all || self.frame.cpu_ns(at) > 0
    }

    fn is_folded(&self, id: &Id) -> bool {
        let usually = !matches!(id, Id::Row(..));
        usually != self.folded.contains(id)
    }

    fn make_flat(&self, listing: &mut Listing, sleep: &mut SleepOrder) {
        let kind = self.kind();
        let frame = self.frame;
        let walk_order = self.sleep_order(sleep);
        let exited = group::exited_names(self, listing);
        let mut ranked = Vec::new();
        for list in [List::Awake, List::Late] {
            for index in 0..frame.rows(kind, list).len() as u32 {
                let at = RowRef { kind, list, index };
                if self.is_shown(at) && self.matches(at) {
                    ranked.push(self.ranked(at));
                }
            }
        }
        ranked.append(&mut self.ranked_sums(listing, &exited));
        ranked.sort_unstable_by(|one, other| self.compare(one, other));
        // Few are awake, many asleep: each of those finds its place among these.
        let gone = &frame.asleep.gone[kind as usize];
        let walked = |index: u32| RowRef { kind, list: List::Walked, index };
        let mut rest = walk_order;
        let append = |entries: &mut Vec<Entry>, indexes: &[u32]| {
            let is_there = |index: &u32| !gone.get(*index as usize).is_some_and(|gone| *gone);
            let there = indexes.iter().copied().filter(is_there);
            entries.extend(there.map(|index| Entry::flat(Item::Row(walked(index)))));
        };
        let ranked: Vec<(usize, Entry)> = ranked
            .iter()
            .map(|next| {
                let is_before = |&index: &u32| self.compare(&self.ranked(walked(index)), next).is_lt();
                let length = rest.partition_point(is_before);
                rest = &rest[length..];
                (length, next.entry)
            })
            .collect();
        let mut rest = walk_order;
        listing.entries.reserve(walk_order.len() + ranked.len());
        for (length, entry) in ranked {
            append(&mut listing.entries, &rest[..length]);
            rest = &rest[length..];
            self.push_exited(listing, entry, &exited);
        }
        append(&mut listing.entries, rest);
    }

    /// Those that sleep in their order, without those that are not to be shown.
    fn sleep_order<'b>(&self, sleep: &'b mut SleepOrder) -> &'b [u32] {
        let kind = self.kind();
        let rows = self.frame.rows(kind, List::Walked);
        if rows.is_empty() || !self.settings.has_all {
            *sleep = SleepOrder::default();
            return &[];
        }
        let settings = self.settings;
        let of = (
            self.frame.asleep.walk,
            kind,
            settings.sort,
            settings.is_ascending,
            self.query.text().to_owned(),
        );
        if sleep.of.as_ref() != Some(&of) {
            let refs = (0..rows.len() as u32).map(|index| RowRef { kind, list: List::Walked, index });
            let mut ranked: Vec<Ranked<'_>> =
                refs.filter(|&at| self.matches(at)).map(|at| self.ranked(at)).collect();
            ranked.sort_by(|one, other| self.compare(one, other));
            sleep.order.clear();
            sleep.order.extend(ranked.iter().filter_map(|ranked| match ranked.entry.item {
                Item::Row(at) => Some(at.index),
                _ => None,
            }));
            sleep.of = Some(of);
        }
        &sleep.order
    }

    fn ranked(&self, at: RowRef) -> Ranked<'a> {
        let whole = self.frame.whole(at);
        Ranked {
            weight: self.weigh(at),
            number: (whole.pid.0, whole.tid.0),
            entry: Entry::flat(Item::Row(at)),
        }
    }

    fn weigh(&self, at: RowRef) -> sort::Key<'a> {
        let frame = self.frame;
        let whole = frame.whole(at);
        match self.order() {
            Order::Key(Key::Field(field)) if !field.info().cumulative => sort::Key::from(field.value(whole)),
            Order::Key(Key::Part(part)) if part.key == "cpu_ns" => sort::Key::from(frame.cpu_ns(at)),
            _ => {
                let usage = frame.usage(at);
                self.weigh_number(whole, &usage)
            }
        }
    }

    /// What is no text.
    fn weigh_number(&self, whole: &Task, usage: &Usage) -> sort::Key<'a> {
        let key = match self.order() {
            Order::Time => {
                let knows = |field| whole.known.contains(field);
                return match () {
                    () if knows(Field::Runtime) => sort::Key::from(whole.runtime_ns),
                    () if knows(Field::User) && knows(Field::System) => {
                        sort::Key::from(whole.user_ns + whole.system_ns)
                    }
                    () => sort::Key::Absent,
                };
            }
            Order::Key(key) => key,
        };
        let row = self.frame.interval.row(usage, whole);
        match sort::Key::from(key.value(&row, usage)) {
            sort::Key::Number(number) => sort::Key::Number(number),
            _ => sort::Key::Absent,
        }
    }

    fn order(&self) -> Order {
        Order::by_name(self.settings.sort).unwrap_or(Order::Time)
    }

    fn compare(&self, one: &Ranked<'_>, other: &Ranked<'_>) -> Ordering {
        let order = one.weight.cmp(&other.weight);
        let order = if self.settings.is_ascending { order } else { order.reverse() };
        order.then_with(|| one.number.cmp(&other.number))
    }

    /// Names of the dead among the rows.
    fn ranked_sums(&self, listing: &Listing, exited: &[(u32, Vec<u32>)]) -> Vec<Ranked<'static>> {
        let rank = |(sum, members): &(u32, Vec<u32>)| {
            let Sum { task, usage, name, .. } = &listing.sums[*sum as usize];
            let weight = match self.weigh_sum(task, usage) {
                sort::Key::Number(number) => sort::Key::Number(number),
                _ => sort::Key::Absent,
            };
            let id = Id::ExitedName(name.clone());
            let fold = (!members.is_empty()).then(|| self.is_folded(&id));
            let entry = Entry { fold, ..Entry::flat(Item::ExitedName(*sum)) };
            Ranked { weight, number: (i32::MAX, *sum as i32), entry }
        };
        exited.iter().map(rank).collect()
    }

    fn weigh_sum(&self, task: &Task, usage: &Usage) -> sort::Key<'a> {
        self.weigh_number(task, usage)
    }

    /// Those of a name, unless they are folded.
    fn push_exited(&self, listing: &mut Listing, entry: Entry, exited: &[(u32, Vec<u32>)]) {
        listing.entries.push(entry);
        let Item::ExitedName(sum) = entry.item else { return };
        if entry.fold != Some(false) {
            return;
        }
        let members = exited.iter().find(|(known, _)| *known == sum).map_or(&[][..], |(_, members)| members);
        for (index, &member) in members.iter().enumerate() {
            let follows = u64::from(index + 1 < members.len());
            let entry = Entry { depth: 1, follows, ..Entry::flat(Item::Exited(member)) };
            listing.entries.push(entry);
        }
    }
}

/// The row of one that died: what its record tells.
pub fn exited_row(exited: &Exited) -> (Task, Usage) {
    const KNOWN: FieldSet = FieldSet::of(&[
        Field::Tid,
        Field::Pid,
        Field::Ppid,
        Field::Comm,
        Field::Uid,
        Field::StartTime,
        Field::Runtime,
    ]);
    const EFFECTIVE: FieldSet = FieldSet::of(&[Field::Euid]);
    let exit = &exited.exit;
    let task = Task {
        known: if exit.euid.is_some() { KNOWN.union(EFFECTIVE) } else { KNOWN },
        tid: exit.task.tid,
        pid: Pid(exit.process.tid.0),
        ppid: exit.ppid,
        comm: exit.comm,
        uid: exit.uid,
        euid: exit.euid.unwrap_or_default(),
        start_time_ns: exit.task.start_time_ns,
        runtime_ns: exit.runtime_ns,
        ..Task::default()
    };
    let usage = Usage {
        cpu_ns: exited.cpu_ns,
        self_ns: exited.cpu_ns,
        accounting_parent: exited.accounting_parent,
        ..Usage::default()
    };
    (task, usage)
}
