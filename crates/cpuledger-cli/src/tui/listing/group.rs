//! Rows put together: by cgroup, user or name.

use std::collections::BTreeMap;

use cpuledger_model::Dimension;
use cpuledger_view::group::{Ancestry, Known, Name, Sum, name_of};

use super::alike::Shared;
use super::dead::Dead;
use super::entry::{Entry, Id, Item, Listing};
use super::making::{Making, Ranked};
use crate::tui::frame::RowRef;

/// Groups, and below those that are unfolded their rows, each with the dead that it inherits from.
pub(super) fn make(making: &Making<'_>, listing: &mut Listing, shared: &Shared, dead: &Dead) {
    let mut groups: BTreeMap<Name, Vec<RowRef>> = BTreeMap::new();
    let frame = making.frame;
    let ancestry = Ancestry::default();
    let known = Known { users: &frame.users, named: &frame.around.named, ancestry: &ancestry };
    let dimension = making.settings.group.unwrap_or(Dimension::Command);
    for at in frame.all(making.kind()) {
        if making.is_shown(at) && making.matches(at) {
            let name = name_of(dimension, frame.whole(at), &known);
            groups.entry(name).or_default().push(at);
        }
    }
    let mut ranked = Vec::new();
    for (name, rows) in &groups {
        let index = listing.sums.len() as u32;
        let mut sum = Sum::new(name.clone());
        for &at in rows {
            sum.add(&making.frame.row(at));
        }
        if making.is_quiet(&sum.total) {
            continue;
        }
        let entry = Entry {
            fold: Some(making.is_folded(&Id::Group(name.clone()))),
            subtree_ns: Some(sum.total.usage.cpu_ns),
            ..Entry::flat(Item::Group(index))
        };
        let weight = making.weigh_number(&sum.total);
        ranked.push(Ranked { weight, cpu_ns: 0, number: (0, index as i32), entry });
        listing.sums.push(sum);
    }
    ranked.sort_by(|one, other| making.compare(one, other));
    for group in ranked {
        listing.entries.push(group.entry);
        let Item::Group(index) = group.entry.item else { continue };
        if group.entry.fold != Some(false) {
            continue;
        }
        let rows = &groups[&listing.sums[index as usize].name];
        let alone = rows.iter().filter(|&&at| !shared.has(at));
        let mut members: Vec<Ranked<'_>> = alone.map(|&at| making.ranked(at)).collect();
        members.append(&mut shared.ranked(making, listing, rows.iter().copied()));
        members.sort_by(|one, other| making.compare(one, other));
        let count = members.len();
        for (place, member) in members.into_iter().enumerate() {
            let follows = u64::from(place + 1 < count);
            making.push_line(listing, Entry { depth: 1, follows, ..member.entry }, dead);
        }
    }
}
