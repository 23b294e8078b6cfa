//! The dead by name, below the process that inherits their time: its column `C` has it already, or `X` that of its threads. Those whose heir has no line are among
//! the rows, or behind the groups: no other line has their time.

use std::collections::BTreeMap;

use cpuledger::{Pid, interval::Exited};
use cpuledger_proc::escape::escaped;
use cpuledger_view::group::{self, DeadName, Name, Sum, exited_row, in_sum};

use super::alike::Shared;
use super::entry::{Entry, Heir, Id, Item, Listing, Others};
use super::making::{Making, Ranked};
use crate::tui::frame::Kind;

/// What part of a CPU a name has to have for a line of its own, where nothing is filtered: more than one that have less are one line with all of their names.
const LEAST_SHARE: u64 = 100;

/// Names that are listed below an heir while it is folded: those with the most time.
const FEW_NAMES: usize = 3;

/// Names that such a line has at most.
const MOST_LISTED: usize = 12;

/// The dead of one name: where their sum is, and which they are.
type Named = (u32, Vec<usize>);

/// All of the dead that are listed.
#[derive(Debug, Default)]
pub(super) struct Dead {
    /// By heir.
    below: BTreeMap<Pid, Vec<Named>>,
    /// Whose heir has no line, or is not known.
    alone: Vec<Named>,
}

impl Dead {
    /// The dead that match.
    pub(super) fn of(making: &Making<'_>, listing: &mut Listing, shared: &Shared) -> Dead {
        let mut dead = Dead::default();
        if !making.settings.has_exited {
            return dead;
        }
        let exited = making.frame.exited();
        let is_asked_for =
            |index: &usize| crate::cmd::top::select::is_wanted_exit(making.options, &exited[*index].exit);
        let mut by_heir: BTreeMap<Option<Pid>, Vec<usize>> = BTreeMap::new();
        for index in (0..exited.len()).filter(is_asked_for) {
            let heir = heir_of(making, &exited[index]).map(|heir| shared.heir(heir));
            by_heir.entry(heir).or_default().push(index);
        }
        let mut alone = Vec::new();
        for (heir, indexes) in by_heir {
            let Some(heir) = heir.filter(|heir| has_line(making, *heir)) else {
                alone.extend(indexes);
                continue;
            };
            // Those of several have one line, as these have.
            let least_ns = if shared.is_folded(heir) { u64::MAX } else { least_ns(making) };
            let names = dead_names(making, listing, matching(making, indexes), least_ns);
            listing.heirs.extend(names.iter().map(|named| heir_of_sum(making, heir, named)));
            if !names.is_empty() {
                dead.below.insert(heir, names);
            }
        }
        alone.sort_unstable();
        dead.alone = dead_names(making, listing, matching(making, alone), least_ns(making));
        listing.exited.sort_unstable();
        dead
    }

    /// Whether any are below that process.
    pub(super) fn has_below(&self, heir: Pid) -> bool {
        self.below.contains_key(&heir)
    }

    /// Whether there are more below that process than a few.
    pub(super) fn has_many_below(&self, heir: Pid) -> bool {
        self.below.get(&heir).is_some_and(|names| names.len() > FEW_NAMES)
    }

    /// Those whose heir has no line.
    pub(super) fn ranked(&self, making: &Making<'_>, listing: &Listing) -> Vec<Ranked<'static>> {
        let rank = |named: &Named| {
            let weight = making.weigh_number(&listing.sums[named.0 as usize].total);
            // Behind the living that have the same.
            let number = (i32::MAX, named.0 as i32);
            Ranked { weight, cpu_ns: 0, number, entry: entry_of(making, listing, named) }
        };
        self.alone.iter().map(rank).collect()
    }

    /// Lists those below a process; `follows` says of which generations others follow, and whether of this.
    pub(super) fn push_below(
        &self,
        making: &Making<'_>,
        listing: &mut Listing,
        heir: Pid,
        (depth, follows, is_followed): (u16, u64, bool),
        is_whole: bool,
    ) {
        let Some(names) = self.below.get(&heir) else { return };
        let count = if is_whole { names.len() } else { names.len().min(FEW_NAMES) };
        for (place, named) in names[..count].iter().enumerate() {
            let others_follow = u64::from(is_followed || place + 1 < count) << (depth - 1);
            let follows = follows | others_follow;
            let entry = Entry { depth, follows, is_part: true, ..entry_of(making, listing, named) };
            push(listing, entry, named);
        }
    }

    /// Lists an entry and, where it is a name of the dead that stands alone and is unfolded, those of that name.
    pub(super) fn push_alone(&self, listing: &mut Listing, entry: Entry) {
        let Item::ExitedName(sum) = entry.item else { return listing.entries.push(entry) };
        match self.alone.binary_search_by_key(&sum, |(known, _)| *known) {
            Ok(place) => push(listing, entry, &self.alone[place]),
            Err(_) => listing.entries.push(entry),
        }
    }
}

/// The process whose line has its time already: in `X` its own, as long as that lives, and otherwise in `C` that which inherits it.
fn heir_of(making: &Making<'_>, exited: &Exited) -> Option<Pid> {
    making.frame.process_of_dead_thread(exited).or(exited.accounting_parent)
}

/// Whose line has the time of the dead of one name, and how much of it in which column.
fn heir_of_sum(making: &Making<'_>, pid: Pid, (sum, members): &Named) -> Heir {
    let exited = making.frame.exited();
    let is_thread = |index: &&usize| making.frame.process_of_dead_thread(&exited[**index]).is_some();
    let threads_ns = members.iter().filter(is_thread).map(|&index| exited[index].cpu_ns).sum();
    Heir { sum: *sum, pid, threads_ns }
}

/// Whether a process is among the lines.
fn has_line(making: &Making<'_>, heir: Pid) -> bool {
    let place = making.frame.process(heir).filter(|_| making.kind() == Kind::Process);
    place.is_some_and(|at| making.is_shown(at) && making.matches(at))
}

/// Those that match, where what each used is what its line shows: the sum of all of its name that the filter lets through whatever they used.
fn matching(making: &Making<'_>, mut indexes: Vec<usize>) -> Vec<usize> {
    if making.query.is_empty() {
        return indexes;
    }
    let exited = making.frame.exited();
    let name = |index: usize| exited[index].exit.comm.as_bytes();
    indexes.retain(|&index| making.may_satisfy(&exited_row(&exited[index])));
    let mut sums: BTreeMap<&[u8], Sum> = BTreeMap::new();
    for &index in &indexes {
        let sum = sums.entry(name(index)).or_insert_with(|| Sum::new(Name::All));
        sum.add(&exited_row(&exited[index]));
    }
    indexes.retain(|&index| {
        let row = exited_row(&exited[index]);
        sums.get(name(index)).is_some_and(|sum| making.satisfies(&in_sum(&row, sum)))
    });
    indexes
}

/// The CPU time with which a name has a line of its own.
fn least_ns(making: &Making<'_>) -> u64 {
    if making.query.is_empty() { making.frame.cpu_length_ns() / LEAST_SHARE } else { 0 }
}

fn dead_names(making: &Making<'_>, listing: &mut Listing, indexes: Vec<usize>, least_ns: u64) -> Vec<Named> {
    let exited = making.frame.exited();
    let push = |DeadName { sum, members }| {
        listing.exited.extend(members.iter().map(|&index| index as u32));
        let number = listing.sums.len() as u32;
        if sum.name == Name::OtherNames {
            listing.others.push(others(exited, number, &members));
        }
        listing.sums.push(sum);
        (number, members)
    };
    let mut names = group::dead_names(exited, indexes.into_iter(), least_ns);
    names.retain(|name| !making.is_quiet(&name.sum.total));
    names.into_iter().map(push).collect()
}

/// What is told of those that share a line: their names.
fn others(exited: &[Exited], sum: u32, members: &[usize]) -> Others {
    let mut names: BTreeMap<&[u8], (u64, usize)> = BTreeMap::new();
    for &member in members {
        let (cpu_ns, count) = names.entry(exited[member].exit.comm.as_bytes()).or_default();
        *cpu_ns += exited[member].cpu_ns;
        *count += 1;
    }
    let mut names: Vec<(&[u8], (u64, usize))> = names.into_iter().collect();
    names.sort_by_key(|(_, (cpu_ns, _))| std::cmp::Reverse(*cpu_ns));
    let more = names.len().saturating_sub(MOST_LISTED);
    names.truncate(MOST_LISTED);
    let names = names.into_iter().map(|(name, (_, count))| (escaped(name), count)).collect();
    Others { sum, members: members.to_vec(), names, more }
}

fn entry_of(making: &Making<'_>, listing: &Listing, (sum, members): &Named) -> Entry {
    let heir = listing.heir(*sum).map(|heir| heir.pid);
    let id = Id::ExitedName(heir, listing.sums[*sum as usize].name.clone());
    let fold = (!members.is_empty()).then(|| making.is_folded(&id));
    Entry { fold, ..Entry::flat(Item::ExitedName(*sum)) }
}

/// The line of a name and, unless it is folded, those of that name below it.
fn push(listing: &mut Listing, entry: Entry, (_, members): &Named) {
    listing.entries.push(entry);
    if entry.fold != Some(false) {
        return;
    }
    for (index, &member) in members.iter().enumerate() {
        let others_follow = u64::from(index + 1 < members.len()) << entry.depth;
        let follows = entry.follows | others_follow;
        let (depth, is_part) = (entry.depth + 1, entry.is_part);
        let of_one = Entry { depth, follows, is_part, ..Entry::flat(Item::Exited(member as u32)) };
        listing.entries.push(of_one);
    }
}
