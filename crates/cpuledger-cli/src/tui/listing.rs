//! The lines of the table, made of a frame and of what the user has chosen: which rows, in which order, below which.

mod alike;
mod arguments;
mod dead;
mod entry;
mod group;
mod making;
mod tree;

use super::config::Tree;
use super::frame::{Kind, List, RowRef};
use alike::Shared;
use dead::Dead;
use making::Ranked;

pub use arguments::Arguments;
pub use entry::{Entry, Followed, Id, Item, Listing};
pub use making::Making;

/// What an order of those that sleep is made of.
#[derive(Debug, PartialEq, Eq)]
struct SortedBy {
    walk: u64,
    kind: Kind,
    has_states: bool,
    order: (&'static str, bool),
    query: String,
}

/// The order of those that sleep: it is the same until they are walked again.
#[derive(Debug, Default)]
pub struct SleepOrder {
    of: Option<SortedBy>,
    order: Vec<u32>,
}

impl Making<'_> {
    /// Makes the listing anew, in the memory of the last one.
    pub fn make(&self, sleep: &mut SleepOrder, listing: &mut Listing) {
        self.make_lines(sleep, listing);
        let cpu_ns = |entry: &Entry| match entry.item {
            Item::Row(at) => self.frame.cpu_ns(at),
            Item::Group(sum) | Item::ExitedName(sum) | Item::Alike(sum) => {
                listing.sums[sum as usize].total.usage.cpu_ns
            }
            Item::Exited(index) => self.frame.exited()[index as usize].cpu_ns,
        };
        listing.most_ns = listing.entries.iter().map(cpu_ns).max().unwrap_or(0);
    }

    fn make_lines(&self, sleep: &mut SleepOrder, listing: &mut Listing) {
        listing.entries.clear();
        listing.sums.clear();
        listing.exited.clear();
        listing.heirs.clear();
        listing.others.clear();
        listing.alike_before = listing.alike.drain(..).map(|alike| alike.of).collect();
        listing.unread.clear();
        listing.quiet = self.count_quiet();
        let shared = Shared::of(self, listing);
        let dead = Dead::of(self, listing, &shared);
        if self.settings.tree != Tree::No {
            tree::make(self, listing, &dead);
        } else if self.settings.group.is_some() {
            group::make(self, listing, &shared, &dead);
        } else {
            return self.make_flat(listing, sleep, &shared, &dead);
        }
        let mut ranked = dead.ranked(self, listing);
        ranked.sort_by(|one, other| self.compare(one, other));
        ranked.into_iter().for_each(|ranked| dead.push_alone(listing, ranked.entry));
    }

    fn make_flat(&self, listing: &mut Listing, sleep: &mut SleepOrder, shared: &Shared, dead: &Dead) {
        let kind = self.kind();
        let frame = self.frame;
        let walk_order = self.sleep_order(sleep);
        let mut ranked = Vec::new();
        for list in [List::Awake, List::Late] {
            for index in 0..frame.count(kind, list) as u32 {
                let at = RowRef { kind, list, index };
                if self.is_shown(at) && self.matches(at) && !shared.has(at) {
                    ranked.push(self.ranked(at));
                }
            }
        }
        ranked.append(&mut shared.ranked(self, listing, listing.alike.iter().map(|alike| alike.rows[0])));
        ranked.append(&mut dead.ranked(self, listing));
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
            self.push_line(listing, entry, dead);
        }
        append(&mut listing.entries, rest);
    }

    /// Those that sleep in their order, without those that are not to be shown.
    fn sleep_order<'b>(&self, sleep: &'b mut SleepOrder) -> &'b [u32] {
        let kind = self.kind();
        let rows = self.frame.count(kind, List::Walked);
        if rows == 0 || !self.settings.has_all {
            *sleep = SleepOrder::default();
            return &[];
        }
        let settings = self.settings;
        let of = SortedBy {
            walk: self.frame.asleep.walk,
            kind,
            has_states: settings.has_states,
            order: settings.order(),
            query: self.query.text().to_owned(),
        };
        if sleep.of.as_ref() != Some(&of) {
            let refs = (0..rows as u32).map(|index| RowRef { kind, list: List::Walked, index });
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

    /// A line, and what is below it.
    fn push_line(&self, listing: &mut Listing, entry: Entry, dead: &Dead) {
        match entry.item {
            Item::Row(_) => self.push_with_dead(listing, entry, dead),
            Item::Alike(sum) => self.push_alike(listing, entry, sum, dead),
            Item::Group(_) | Item::ExitedName(_) | Item::Exited(_) => dead.push_alone(listing, entry),
        }
    }

    /// The line of several processes, and below it all of their dead in one line or, where it is unfolded, each with its own.
    fn push_alike(&self, listing: &mut Listing, entry: Entry, sum: u32, dead: &Dead) {
        listing.entries.push(entry);
        let Some(alike) = listing.alike(sum) else { return };
        if alike.is_folded {
            let (first, place) = (alike.first, (entry.depth + 1, entry.follows, false));
            return dead.push_below(self, listing, first, place, false);
        }
        let mut rows: Vec<Ranked<'_>> = alike.rows.iter().map(|&at| self.ranked(at)).collect();
        rows.sort_by(|one, other| self.compare(one, other));
        let count = rows.len();
        for (place, row) in rows.into_iter().enumerate() {
            let follows = entry.follows | u64::from(place + 1 < count) << entry.depth;
            self.push_with_dead(listing, Entry { depth: entry.depth + 1, follows, ..row.entry }, dead);
        }
    }

    /// A process, and below it the dead that it inherits from: the names with the most time, or all where the user has unfolded it.
    fn push_with_dead(&self, listing: &mut Listing, entry: Entry, dead: &Dead) {
        let Item::Row(at) = entry.item else { return };
        let task = self.frame.whole(at);
        if at.kind == Kind::Task || !dead.has_below(task.pid) {
            return listing.entries.push(entry);
        }
        let is_whole = self.folded.contains(&Id::Row(at.kind, task.id()));
        let fold = dead.has_many_below(task.pid).then_some(!is_whole);
        listing.entries.push(Entry { fold, ..entry });
        dead.push_below(self, listing, task.pid, (entry.depth + 1, entry.follows, false), is_whole);
    }
}
