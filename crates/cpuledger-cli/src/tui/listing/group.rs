//! Rows put together: by cgroup, user or name, and the dead by name.

use std::collections::BTreeMap;

use cpuledger_view::group::{self, DeadName, Name, Sum, exited_row};

use super::entry::{Entry, Id, Item, Listing};
use super::making::{Making, Ranked};
use crate::tui::frame::RowRef;

/// Groups, and below those that are unfolded their rows.
pub(super) fn make(making: &Making<'_>, listing: &mut Listing) {
    let mut groups: BTreeMap<Name, Vec<RowRef>> = BTreeMap::new();
    for at in making.frame.all(making.kind()) {
        if making.is_shown(at) && making.matches(at) {
            let frame = making.frame;
            let name = making.settings.group.name_of(frame.whole(at), &frame.users, &frame.around.named);
            groups.entry(name).or_default().push(at);
        }
    }
    let mut ranked = Vec::new();
    for (index, (name, rows)) in groups.iter().enumerate() {
        let mut sum = Sum::new(name.clone());
        for &at in rows {
            sum.add(&making.frame.row(at));
        }
        let entry = Entry {
            fold: Some(making.is_folded(&Id::Group(name.clone()))),
            subtree_ns: Some(sum.total.usage.cpu_ns),
            ..Entry::flat(Item::Group(index as u32))
        };
        let weight = making.weigh_number(&sum.total);
        ranked.push(Ranked { weight, number: (0, index as i32), entry });
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
        let mut members: Vec<Ranked<'_>> = rows.iter().map(|&at| making.ranked(at)).collect();
        members.sort_by(|one, other| making.compare(one, other));
        let count = members.len();
        listing.entries.extend(members.into_iter().enumerate().map(|(place, member)| {
            let follows = u64::from(place + 1 < count);
            Entry { depth: 1, follows, ..member.entry }
        }));
    }
}

/// The dead that match, by name: where each name's sum is, and which they are.
pub(super) fn exited_names(making: &Making<'_>, listing: &mut Listing) -> Vec<(u32, Vec<usize>)> {
    if !making.settings.has_exited {
        return Vec::new();
    }
    let exited = making.frame.exited();
    let is_wanted = |index: &usize| {
        crate::cmd::top::select::is_wanted_exit(making.options, &exited[*index].exit)
            && (making.query.is_empty() || making.satisfies(&exited_row(&exited[*index])))
    };
    let wanted: Vec<usize> = (0..exited.len()).filter(is_wanted).collect();
    listing.exited.extend(wanted.iter().map(|&index| index as u32));
    let push = |DeadName { sum, members }| {
        listing.sums.push(sum);
        (listing.sums.len() as u32 - 1, members)
    };
    group::dead_names(exited, wanted.into_iter()).into_iter().map(push).collect()
}
