//! Rows put together: by cgroup, user or name, and the dead by name.

use std::collections::BTreeMap;

use cpuledger::field::{Field, FieldSet};

use super::entry::{Entry, Id, Item, Listing, Sum, escaped, exited_row};
use super::making::{Making, Ranked};
use crate::tui::config::Group;
use crate::tui::frame::RowRef;
use cpuledger::enrich::cgroups;

/// Names of the dead that have lines of their own; the rest share one.
const MOST_NAMES: usize = 40;

/// Groups, and below those that are unfolded their rows.
pub(super) fn make(making: &Making<'_>, listing: &mut Listing) {
    let mut groups: BTreeMap<String, Vec<RowRef>> = BTreeMap::new();
    for at in making.frame.all(making.kind()) {
        if making.is_shown(at) && making.matches(at) {
            groups.entry(name_of(making, at)).or_default().push(at);
        }
    }
    let mut ranked = Vec::new();
    for (index, (name, rows)) in groups.iter().enumerate() {
        let mut sum = Sum::new(name.clone());
        for &at in rows {
            sum.add(making.frame.whole(at), &making.frame.usage(at));
        }
        let entry = Entry {
            fold: Some(making.is_folded(&Id::Group(name.clone()))),
            subtree_ns: Some(sum.usage.cpu_ns),
            ..Entry::flat(Item::Group(index as u32))
        };
        let weight = making.weigh_number(&sum.task, &sum.usage);
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

fn name_of(making: &Making<'_>, at: RowRef) -> String {
    let row = making.frame.whole(at);
    match making.settings.group {
        Group::Cgroup => match cgroups::key(row) {
            None => "-".to_owned(),
            Some(key) => match making.frame.cgroups.get(&key) {
                Some(path) => escaped(path.as_bytes()),
                None => format!("cgroup {}", key.1.or(key.0).unwrap_or_default()),
            },
        },
        Group::User if !row.known.contains(Field::Euid) => "-".to_owned(),
        Group::User => match making.frame.users.name(row.euid) {
            b"" => row.euid.to_string(),
            name => escaped(name),
        },
        Group::Command | Group::No => escaped(row.comm.as_bytes()),
    }
}

/// The dead that match, by name: each name's sum, and which they are.
pub(super) fn exited_names(making: &Making<'_>, listing: &mut Listing) -> Vec<(u32, Vec<u32>)> {
    if !making.settings.has_exited {
        return Vec::new();
    }
    let mut names: BTreeMap<&[u8], Vec<u32>> = BTreeMap::new();
    for (index, exited) in making.frame.exited().iter().enumerate() {
        let (row, usage) = exited_row(exited);
        let is_wanted = crate::cmd::top::select::is_wanted_exit(making.options, &exited.exit);
        if is_wanted && (making.query.is_empty() || making.query.matches(&making.subject(&row, &usage))) {
            names.entry(exited.exit.comm.as_bytes()).or_default().push(index as u32);
            listing.exited.push(index as u32);
        }
    }
    let exited = making.frame.exited();
    let cpu_ns = |members: &[u32]| members.iter().map(|&index| exited[index as usize].cpu_ns).sum::<u64>();
    let mut sorted: Vec<(&[u8], Vec<u32>)> = names.into_iter().collect();
    sorted.sort_by_cached_key(|(_, members)| std::cmp::Reverse(cpu_ns(members)));
    let rest: Vec<u32> =
        sorted.drain(sorted.len().min(MOST_NAMES)..).flat_map(|(_, members)| members).collect();
    let mut named: Vec<(String, Vec<u32>)> =
        sorted.into_iter().map(|(name, members)| (escaped(name), members)).collect();
    if !rest.is_empty() {
        named.push(("(other names)".to_owned(), rest));
    }
    let make = |(name, mut members): (String, Vec<u32>)| {
        let mut sum = Sum::new(name);
        for &member in &members {
            let (row, usage) = exited_row(&exited[member as usize]);
            sum.add(&row, &usage);
        }
        // The memory of a dead task is not told; nor are its counters, but what it waited.
        sum.task.known = sum.task.known.intersection(FieldSet::of(&[Field::Comm, Field::Runtime]));
        members.sort_by_key(|&index| std::cmp::Reverse(exited[index as usize].cpu_ns));
        listing.sums.push(sum);
        (listing.sums.len() as u32 - 1, members)
    };
    named.into_iter().map(make).collect()
}
