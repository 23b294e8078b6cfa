//! The finished report.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::amounts::Amounts;
use crate::balance::Balance;
use crate::branch::Branch;
use crate::dimension::Name;
use crate::disks::DeviceSums;
use crate::instants::{Instants, TimeLine};
use crate::names::{Comm, Names};
use crate::table::Line;

/// A name and what it used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// Of what.
    pub name: Name,
    /// Number of ancestors above it that have a row; 0 unless the report is by ancestor.
    pub depth: usize,
    /// What it used; by ancestor, `inherited_ns` is the time of all that is below it.
    pub amounts: Amounts,
    /// CPU time by bucket of the time line, without those that have none.
    pub points: Vec<(u32, u64)>,
}

/// What a span says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Those with the most time first; by ancestor, each below what it descends from.
    pub rows: Vec<Row>,
    /// All other names as one, and what the recording does not show.
    pub other: Amounts,
    /// How many names these are.
    pub other_names: u64,
    /// CPU time of what does not meet the conditions: it is in no row, and not in the others.
    pub outside_ns: u64,
    /// The sum of `self_ns` over the rows and the others, and of `outside_ns`, is its `attributed_ns`.
    pub balance: Balance,
    /// From the begin of the first interval to the end of the last.
    pub extent: Option<Instants>,
    /// The time line, if there is one.
    pub time_line: Option<TimeLine>,
    /// The balance by bucket of the time line.
    pub buckets: Vec<Balance>,
    /// What each disk did, if that was added up: at most as many as there are rows, and the rest as one.
    pub devices: Option<DeviceSums>,
}

impl Report {
    /// Takes the lines with the most time, at most `top`; those of the same name are one.
    pub(crate) fn take<'a>(&mut self, lines: impl Iterator<Item = (Name, &'a Line)>, top: usize) {
        let mut by_name: BTreeMap<Name, Line> = BTreeMap::new();
        for (name, line) in lines {
            by_name.entry(name).or_default().merge(line);
        }
        let mut rows: Vec<Row> = by_name
            .into_iter()
            .map(|(name, line)| Row { name, depth: 0, amounts: line.tally.amounts(), points: line.points })
            .collect();
        // Those of the same time stay in the order of their names.
        rows.sort_by_key(|row| Reverse((row.amounts.self_ns, row.amounts.inherited_ns, row.amounts.deaths)));
        for row in rows.drain(top.min(rows.len())..) {
            self.add_rest(&row.amounts, 1);
        }
        self.rows = rows;
    }

    /// Puts the rows in another order, and keeps the first; branches stand alone. Of equals the order stays.
    pub(crate) fn rank(&mut self, top: usize, weigh: impl Fn(&Amounts) -> Option<u64>) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_by_key(|row| Reverse(weigh(&row.amounts)));
        for row in rows.drain(top.min(rows.len())..) {
            // What is below a branch has rows of its own, and is in no sum.
            let is_branch = matches!(row.name, Name::Path(_));
            let inherited_ns = if is_branch { 0 } else { row.amounts.inherited_ns };
            self.add_rest(&Amounts { inherited_ns, ..row.amounts }, 1);
        }
        rows.iter_mut().for_each(|row| row.depth = 0);
        self.rows = rows;
        self.devices.iter_mut().for_each(|devices| devices.disks.keep(top));
    }

    pub(crate) fn add_rest(&mut self, amounts: &Amounts, names: u64) {
        self.other.add(amounts);
        self.other_names += names;
    }

    /// The sum of all rows and the others.
    pub fn total(&self) -> Amounts {
        let mut total = Amounts::total(self.rows.iter().map(|row| &row.amounts));
        total.add(&self.other);
        total
    }
}

/// A branch that may get a row, the greatest first; of equals the first in the order of names.
struct Candidate<'a> {
    total_ns: u64,
    path: Vec<Comm>,
    branch: &'a Branch,
    total: Amounts,
}

impl Candidate<'_> {
    fn rank(&self) -> (u64, Reverse<&[Comm]>) {
        (self.total_ns, Reverse(&self.path))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}
impl Eq for Candidate<'_> {}
impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Candidate<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

fn candidates<'a>(branch: &'a Branch, path: &[Comm]) -> impl Iterator<Item = Candidate<'a>> {
    branch.below.iter().map(move |(comm, below)| {
        let total = below.total();
        let path = path.iter().copied().chain([*comm]).collect();
        Candidate { total_ns: total.self_ns, path, branch: below, total }
    })
}

fn count(branch: &Branch) -> u64 {
    branch.below.values().map(|below| 1 + count(below)).sum()
}

/// The greatest branches as rows, each below the one it grows from.
pub(crate) fn flatten(report: &mut Report, tree: &Branch, names: &Names, top: usize) {
    let mut chosen: BTreeMap<Vec<Comm>, (u64, Amounts, Amounts)> = BTreeMap::new();
    let mut heap: BinaryHeap<Candidate<'_>> = candidates(tree, &[]).collect();
    report.other.add(&tree.tally.amounts());
    while chosen.len() < top
        && let Some(candidate) = heap.pop()
    {
        heap.extend(candidates(candidate.branch, &candidate.path));
        let own = candidate.branch.tally.amounts();
        chosen.insert(candidate.path, (candidate.total_ns, own, candidate.total));
    }
    for candidate in &heap {
        report.add_rest(&candidate.total, 1 + count(candidate.branch));
    }
    let mut roots: Vec<&[Comm]> = Vec::new();
    let mut below: BTreeMap<&[Comm], Vec<&[Comm]>> = BTreeMap::new();
    for path in chosen.keys() {
        match path.split_last() {
            Some((_, [])) | None => roots.push(path),
            Some((_, parent)) => below.entry(parent).or_default().push(path),
        }
    }
    let by_time = |paths: &mut Vec<&[Comm]>| paths.sort_by_key(|path| chosen[*path].0);
    by_time(&mut roots);
    below.values_mut().for_each(by_time);
    // The greatest is at the end of each list, and is taken first.
    while let Some(path) = roots.pop() {
        let (_, own, total) = chosen[path];
        let inherited_ns = total.self_ns - own.self_ns;
        report.rows.push(Row {
            name: Name::Path(path.iter().map(|comm| names.text(*comm)).collect()),
            depth: path.len() - 1,
            amounts: Amounts { inherited_ns, ..own },
            points: Vec::new(),
        });
        roots.extend(below.remove(path).unwrap_or_default());
    }
}

/// What a name used in two spans.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Of what; `None`: all others.
    pub name: Option<Name>,
    /// In the one.
    pub before: Amounts,
    /// In the other.
    pub after: Amounts,
}

/// Two spans side by side: those that grew most first, and those that fell most last. As the spans may differ in length, it is the share of
/// the capacity that counts.
pub fn compare(before: &Report, after: &Report, top: usize) -> Vec<Difference> {
    let mut names: BTreeMap<&Name, (Amounts, Amounts)> = BTreeMap::new();
    for row in &before.rows {
        names.entry(&row.name).or_default().0.add(&row.amounts);
    }
    for row in &after.rows {
        names.entry(&row.name).or_default().1.add(&row.amounts);
    }
    let capacities = [before, after].map(|report| i128::from(report.balance.capacity_ns.max(1)));
    // The difference of two shares, times both capacities, as an integer.
    let growth = |(one, other): &(Amounts, Amounts)| {
        // Sums of many intervals stop at the greatest number.
        let share = |ns: u64, capacity| i128::from(ns).saturating_mul(capacity);
        share(other.self_ns, capacities[0]).saturating_sub(share(one.self_ns, capacities[1]))
    };
    let mut rows: Vec<(i128, &Name, (Amounts, Amounts))> =
        names.into_iter().map(|(name, both)| (growth(&both), name, both)).collect();
    // What has changed most is told.
    rows.sort_by_key(|(growth, name, _)| (Reverse(growth.unsigned_abs()), *name));
    let mut rest = (before.other, after.other);
    for (_, _, (one, other)) in rows.drain(top.min(rows.len())..) {
        rest.0.add(&one);
        rest.1.add(&other);
    }
    rows.sort_by_key(|(growth, name, _)| (Reverse(*growth), *name));
    let mut differences: Vec<Difference> = rows
        .into_iter()
        .map(|(_, name, (before, after))| Difference { name: Some(name.clone()), before, after })
        .collect();
    differences.push(Difference { name: None, before: rest.0, after: rest.1 });
    differences
}
