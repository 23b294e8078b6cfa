//! Who waited, because of whom, and which cgroup made which wait: above the table of blame.

use std::collections::BTreeMap;

use cpuledger::interval::Row;
use cpuledger::{Account, FieldSet, Interval};
use cpuledger_model::Dimension;
use cpuledger_model::pairs::Party;
use cpuledger_names::cgroups;
use cpuledger_proc::escape::escaped;
use cpuledger_view::layout;
use cpuledger_view::pairs::{NamedPair, Side, by_name, side};

use crate::tui::listing::Item;
use crate::tui::state::State;
use crate::tui::views::View;

/// Pairs that are shown at most.
const MOST: usize = 4;

/// Shorter waits are not named: they are shown as 0.0 ms.
const LEAST_NS: u64 = 100_000;

/// Names that are shown at most of those that waited, and of those that made others wait.
const MOST_NAMES: usize = 4;

/// The lines of the view of blame, as far as it is known who waited. None: another view is shown.
pub(super) fn lines(state: &State, width: u16) -> Vec<String> {
    let frame = state.frame.as_ref().filter(|_| state.account == Some(View::Blame));
    let most = frame.and_then(|frame| most(&frame.interval, width.into()));
    most.into_iter().chain(longest(state, width)).collect()
}

/// Who waited most, and because of whom: names with their shares of all waits, as many as there is room for.
fn most(interval: &Interval, width: usize) -> Option<String> {
    let sums = |of: fn(&Row) -> u64| {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for row in interval.processes.iter().filter(|row| is_known(row)) {
            *sums.entry(escaped(row.task.comm.as_bytes())).or_default() += of(row);
        }
        sums
    };
    let waited = sums(|row| row.usage.growth.wait_suffered_ns);
    let mut caused = sums(|row| row.usage.growth.wait_caused_ns);
    let waits = &interval.waits;
    for (cause, ns) in [
        ("(idle CPU)", waits.idle_ns),
        ("(quota)", waits.quota_ns),
        ("(interrupts)", waits.interrupts_ns),
        ("(hypervisor)", waits.stolen_ns),
    ] {
        caused.insert(cause.to_owned(), ns.unwrap_or(0));
    }
    let all_ns = waits.suffered_ns.unwrap_or_else(|| waited.values().sum());
    let [waited, caused] = [waited, caused].map(|sums| largest(sums, all_ns));
    let words = |count: usize| {
        let [waited, caused] = [&waited, &caused].map(|names| names[..count.min(names.len())].join(", "));
        format!("Waited: {waited}  Because of: {caused}")
    };
    let fits = |words: &String| layout::width(words.as_bytes()) <= width;
    let has_both = !waited.is_empty() && !caused.is_empty();
    (1..=MOST_NAMES).rev().map(words).find(fits).filter(|_| has_both)
}

fn is_known(row: &Row) -> bool {
    Account::Blame.fields().without(row.usage.growth.known) == FieldSet::EMPTY
}

/// `gzip 42 %`, those with the most first, from 1 % on.
fn largest(sums: BTreeMap<String, u64>, all_ns: u64) -> Vec<String> {
    let percent = |ns: u64| (u128::from(ns) * 100 / u128::from(all_ns.max(1))) as u64;
    let mut sums: Vec<(String, u64)> = sums.into_iter().filter(|(_, ns)| percent(*ns) > 0).collect();
    sums.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    sums.truncate(MOST_NAMES);
    sums.into_iter().map(|(name, ns)| format!("{name} {} %", percent(ns))).collect()
}

/// The longest waits because of another cgroup, in words, as many as there is room for. `None`: they are not kept, nobody waited, or another view is
/// shown.
fn longest(state: &State, width: u16) -> Option<String> {
    let frame = state.frame.as_ref().filter(|_| state.account == Some(View::Blame))?;
    let by = dimension(state);
    let mut pairs = by_name(frame.interval.pairs.as_ref()?, by, &frame.around.named);
    pairs.retain(|pair| pair.by != pair.of && pair.ns >= LEAST_NS);
    // What is no cgroup is in the line above.
    let is_of_tasks = |pair: &NamedPair| matches!(pair.by, Side::Tasks(_) | Side::Other);
    let words = pairs.iter().take(MOST).map(NamedPair::words);
    pairs.iter().any(is_of_tasks).then(|| layout::fitting(words, "; ", width.into()))
}

/// By what pairs have their names.
fn dimension(state: &State) -> Dimension {
    let group = state.settings.group.filter(|group| Dimension::OF_CGROUP.contains(group));
    group.unwrap_or(Dimension::Cgroup)
}

/// Because of whom the cgroup of the selected row waited, or the selected group: names with their shares of these waits, as many as there is room for. Pairs are
/// kept by cgroup alone. `None`: they are not kept, it waited for itself or not at all, or another view is shown.
pub(super) fn waited_for(state: &State, width: usize) -> Option<String> {
    let frame = state.frame.as_ref().filter(|_| state.account == Some(View::Blame))?;
    let pairs = frame.interval.pairs.as_ref()?;
    let by = dimension(state);
    let named = &frame.around.named;
    let (who, own) = match state.entry()?.item {
        Item::Row(at) => {
            let ids = cgroups::key(frame.whole(at))?;
            // Of one that is not told apart from others it is not known.
            pairs.iter().find(|pair| pair.of == Party::Cgroup(ids))?;
            ("its cgroup waited for", side(Party::Cgroup(ids), by, named))
        }
        Item::Group(sum) if state.settings.group == Some(by) => {
            ("waited for", Side::Tasks(state.listing.sums[sum as usize].name.clone()))
        }
        _ => return None,
    };
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    let (mut all_ns, mut of_itself_ns) = (0, 0);
    for pair in by_name(pairs, by, named).into_iter().filter(|pair| pair.of == own) {
        let is_own = pair.by == own;
        of_itself_ns += if is_own { pair.ns } else { 0 };
        let name = if is_own { "itself" } else { pair.by.label() };
        sums.insert(name.to_owned(), pair.ns);
        all_ns += pair.ns;
    }
    // The tasks of a cgroup are most often in each other's way: that explains nothing.
    if all_ns - of_itself_ns < all_ns / 20 {
        return None;
    }
    let mut names = largest(sums, all_ns);
    let first = names.first_mut()?;
    *first = format!("{who}: {first}");
    Some(layout::fitting(names, ", ", width)).filter(|words| layout::width(words.as_bytes()) <= width)
}
