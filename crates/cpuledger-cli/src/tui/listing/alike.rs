//! Processes that are alike and do little: one line with their sum, below which they are listed when it is unfolded.

use std::collections::BTreeMap;

use cpuledger::field::{Unit, Value};
use cpuledger::{Comm, Field, FieldSet, Pid, Task};
use cpuledger_model::make;
use cpuledger_proc::escape::escaped;
use cpuledger_view::group::{Name, Sum};
use cpuledger_view::sort;
use rustc_hash::FxHashMap;

use super::entry::{Alike, Entry, Id, Item, Likeness, Listing};
use super::making::{Making, Ranked};
use crate::tui::config::Tree;
use crate::tui::frame::{Kind, List, RowRef};
use crate::tui::views::View;

/// What part of a CPU makes a process worth a line of its own, and of the interval in which it was held up or others were because of it.
const LEAST_SHARE: u64 = 100;

/// Fewer of them are listed one by one.
const LEAST_ROWS: usize = 3;

/// Generations that are looked at: the children of those that share a line, and theirs.
const MOST_GENERATIONS: usize = 3;

/// What has to be known of a process before it is like another.
const NEEDED: FieldSet = FieldSet::of(&[Field::Comm, Field::Euid, Field::Ppid]);

/// What all of them have in common, and the number of one of them, by which the line has its place where rows are sorted by numbers.
const COMMON: FieldSet = FieldSet::of(&[
    Field::Tid,
    Field::Pid,
    Field::Ppid,
    Field::Comm,
    Field::Euid,
    Field::StartTime,
    Field::CgroupId,
    Field::CgroupV1CpuId,
]);

/// Which processes share a line.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The place in [`Listing::alike`] of each.
    places: FxHashMap<RowRef, usize>,
    /// The process by which the dead of each find their line, where that is folded.
    folded: FxHashMap<Pid, Pid>,
}

impl Shared {
    /// Finds them. Those whose arguments have to be known first are noted in [`Listing::unread`].
    pub(super) fn of(making: &Making<'_>, listing: &mut Listing) -> Shared {
        let mut shared = Shared::default();
        let settings = making.settings;
        let is_table = making.kind() == Kind::Process && settings.tree == Tree::No;
        // Who filters wants to see what is left, and totals since the start are no measure of who does little.
        if !settings.folds_alike
            || !is_table
            || !making.query.is_empty()
            || making.frame.interval.is_since_boot()
        {
            return shared;
        }
        // Children of those that share a line may share one, too.
        let before = std::mem::take(&mut listing.alike_before);
        for _ in 0..MOST_GENERATIONS {
            let count = listing.alike.len();
            shared.add_generation(making, listing, &before);
            if listing.alike.len() == count {
                break;
            }
        }
        shared
    }

    fn add_generation(&mut self, making: &Making<'_>, listing: &mut Listing, before: &[Likeness]) {
        for (kin, rows) in candidates(making, self).into_iter().filter(|(_, rows)| rows.len() >= LEAST_ROWS) {
            for (arguments, rows) in by_arguments(making, &mut listing.unread, (&kin, before), rows) {
                self.add(making, listing, likeness(&kin, arguments), rows);
            }
        }
    }

    fn add(&mut self, making: &Making<'_>, listing: &mut Listing, of: Likeness, mut rows: Vec<RowRef>) {
        let is_folded = making.is_folded(&Id::Alike(of.clone()));
        if is_folded {
            // The one with the cursor stays in sight.
            rows.retain(|&at| !making.has_cursor(at));
        }
        let Some(first) = rows.first().map(|&at| making.frame.whole(at)) else { return };
        if rows.len() < LEAST_ROWS {
            return;
        }
        let mut sum = Sum::new(Name::Text(escaped(first.comm.as_bytes())));
        for &at in &rows {
            sum.add(&making.frame.row(at));
            self.places.insert(at, listing.alike.len());
            if is_folded {
                self.folded.insert(making.frame.whole(at).pid, first.pid);
            }
        }
        sum.total.task = in_common(first, &sum.total.task);
        let first = first.pid;
        listing.alike.push(Alike { sum: listing.sums.len() as u32, of, first, rows, is_folded });
        listing.sums.push(sum);
    }

    /// Whether a process shares a line.
    pub(super) fn has(&self, at: RowRef) -> bool {
        self.places.contains_key(&at)
    }

    /// The process by which the dead of this one find their line.
    pub(super) fn heir(&self, pid: Pid) -> Pid {
        self.folded.get(&pid).copied().unwrap_or(pid)
    }

    /// Whether the line of that process is one of several.
    pub(super) fn is_folded(&self, pid: Pid) -> bool {
        self.folded.contains_key(&pid)
    }

    /// The lines of those among these rows that share one.
    pub(super) fn ranked<'a>(
        &self,
        making: &Making<'a>,
        listing: &Listing,
        rows: impl IntoIterator<Item = RowRef>,
    ) -> Vec<Ranked<'a>> {
        let mut places: Vec<usize> =
            rows.into_iter().filter_map(|at| self.places.get(&at).copied()).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| ranked(making, listing, &listing.alike[place])).collect()
    }
}

/// What the processes of a set have in common, besides their arguments.
type Kin<'a> = (&'a [u8], u32, Pid, [Option<u64>; 2]);

/// Processes that ran and do little, by what they have in common, in the order of their numbers. Who shares a line already is none, and is one parent with the others there.
fn candidates<'a>(making: &Making<'a>, shared: &Shared) -> BTreeMap<Kin<'a>, Vec<RowRef>> {
    let frame = making.frame;
    let mut kin: BTreeMap<Kin<'a>, Vec<RowRef>> = BTreeMap::new();
    for index in 0..frame.count(Kind::Process, List::Awake) as u32 {
        let at = RowRef { kind: Kind::Process, list: List::Awake, index };
        let task = frame.whole(at);
        let is_known = NEEDED.without(task.known) == FieldSet::EMPTY && !task.is_remainder();
        let is_candidate = is_known && !shared.has(at) && making.is_shown(at);
        if is_candidate && does_little(making, at) && making.matches(at) {
            let parent = shared.heir(task.ppid);
            kin.entry((task.comm.as_bytes(), task.euid, parent, cgroup(task))).or_default().push(at);
        }
    }
    kin
}

/// Whether nothing that the view is about makes the process worth a line of its own.
fn does_little(making: &Making<'_>, at: RowRef) -> bool {
    let row = making.frame.row(at);
    let is_little = |ns: u64| ns < making.frame.cpu_length_ns() / LEAST_SHARE;
    let held_ns = row.usage.states.map_or(0, |states| states.runqueue_wait_ns + states.blocked_ns);
    let is_held = making.settings.has_states && making.account.is_none() && !is_little(held_ns);
    // Of what an account counts, times may be little; any byte is worth a look.
    let is_little_of = |field: Field| match (field.info().unit, row.value(field)) {
        (Unit::Nanoseconds, Value::Unsigned(ns)) => is_little(ns),
        (_, Value::Unsigned(number)) => number == 0,
        _ => true,
    };
    let fields =
        making.account.and_then(View::account).map_or(FieldSet::EMPTY, |(account, _)| account.fields());
    is_little(row.usage.cpu_ns) && !is_held && fields.iter().all(is_little_of)
}

/// The processes by their arguments. Where those are not known but can be, they are asked for. Until they have come, they are those that such processes had in
/// common before: so a line of processes that live for an instant, such as `sleep 0.1`, does not fall apart with each interval.
fn by_arguments<'a>(
    making: &Making<'a>,
    unread: &mut Vec<RowRef>,
    (kin, before): (&Kin<'_>, &'a [Likeness]),
    rows: Vec<RowRef>,
) -> BTreeMap<Option<&'a [u8]>, Vec<RowRef>> {
    let mut sets: BTreeMap<Option<&[u8]>, Vec<RowRef>> = BTreeMap::new();
    let mut known = before.iter().filter(|of| kin_of(of) == *kin);
    let guess = known.next().filter(|_| known.next().is_none());
    for at in rows {
        let task = making.frame.whole(at);
        if !making.can_read_arguments || !making.arguments.is_wanted(task) {
            sets.entry(making.arguments.of(task)).or_default().push(at);
            continue;
        }
        unread.push(at);
        if let Some(guess) = guess {
            sets.entry(guess.arguments.as_deref()).or_default().push(at);
        }
    }
    sets
}

fn kin_of(of: &Likeness) -> Kin<'_> {
    (of.comm.as_bytes(), of.euid, of.parent, of.cgroup)
}

fn cgroup(task: &Task) -> [Option<u64>; 2] {
    let known = |field, id| task.known.contains(field).then_some(id);
    [known(Field::CgroupId, task.cgroup_id), known(Field::CgroupV1CpuId, task.cgroup_v1_cpu_id)]
}

fn likeness(&(comm, euid, parent, cgroup): &Kin<'_>, arguments: Option<&[u8]>) -> Likeness {
    Likeness { comm: Comm::new(comm), euid, parent, cgroup, arguments: arguments.map(Into::into) }
}

/// The sums of several tasks, and what they have in common with the first of them.
fn in_common(first: &Task, sums: &Task) -> Task {
    make!(Task {
        known: sums.known.union(COMMON.intersection(first.known)),
        tid: first.tid,
        pid: first.pid,
        ppid: first.ppid,
        comm: first.comm,
        euid: first.euid,
        start_time_ns: first.start_time_ns,
        cgroup_id: first.cgroup_id,
        cgroup_v1_cpu_id: first.cgroup_v1_cpu_id,
        ..*sums
    })
}

/// A line has its place by the sum of its rows or, by what is no number, by what they have in common.
fn ranked<'a>(making: &Making<'a>, listing: &Listing, alike: &Alike) -> Ranked<'a> {
    let first = alike.rows[0];
    let whole = making.frame.whole(first);
    let total = &listing.sums[alike.sum as usize].total;
    let weight = match making.weigh(first) {
        text @ sort::Key::Bytes(_) => text,
        _ => making.weigh_number(total),
    };
    let entry = Entry { fold: Some(alike.is_folded), ..Entry::flat(Item::Alike(alike.sum)) };
    Ranked { weight, cpu_ns: total.usage.cpu_ns, number: (whole.pid.0, whole.tid.0), entry }
}
