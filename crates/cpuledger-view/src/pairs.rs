//! Which cgroups, units, containers, pods or images made which wait for a CPU.

use std::collections::BTreeMap;

use cpuledger_model::Dimension;
use cpuledger_model::pairs::{Party, WaitPairs};
use cpuledger_names::named::Named;

use crate::group::{Name, name_key};

/// One of both, by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Tasks.
    Tasks(Name),
    /// Tasks of all cgroups that are not told apart.
    Other,
    /// What is no task, as in JSON.
    Cause(&'static str),
}

impl Side {
    /// As it is shown. Parentheses say what is no name.
    pub fn label(&self) -> &str {
        match self {
            Side::Tasks(Name::Unknown) => "(unknown)",
            Side::Tasks(name) => name.label(),
            Side::Other => "(other cgroups)",
            Side::Cause("idle") => "(idle CPU)",
            Side::Cause("quota") => "(quota)",
            Side::Cause("interrupts") => "(interrupts)",
            Side::Cause(_) => "(hypervisor)",
        }
    }
}

/// How long one made another wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPair {
    /// Who had the CPU, or why nobody had it.
    pub by: Side,
    /// Who waited.
    pub of: Side,
    /// How long, in nanoseconds.
    pub ns: u64,
}

impl NamedPair {
    /// `backup.service made web.service wait 312.0 ms`.
    pub fn words(&self) -> String {
        let tenths = self.ns / 100_000;
        format!("{} made {} wait {}.{} ms", self.by.label(), self.of.label(), tenths / 10, tenths % 10)
    }
}

/// Pairs by the names that cgroups have, the longest first. `dimension`: one that the cgroup tells.
pub fn by_name(pairs: &WaitPairs, dimension: Dimension, named: &Named) -> Vec<NamedPair> {
    let mut sums: BTreeMap<(Side, Side), u64> = BTreeMap::new();
    for pair in pairs.iter() {
        let sides = (side(pair.by, dimension, named), side(pair.of, dimension, named));
        let sum_ns = sums.entry(sides).or_default();
        *sum_ns = sum_ns.saturating_add(pair.ns);
    }
    let mut all: Vec<NamedPair> = sums.into_iter().map(|((by, of), ns)| NamedPair { by, of, ns }).collect();
    all.sort_by_key(|pair| std::cmp::Reverse(pair.ns));
    all
}

/// One of both, by the name that its cgroup has. `dimension`: one that the cgroup tells.
pub fn side(party: Party, dimension: Dimension, named: &Named) -> Side {
    let Party::Cgroup(ids) = party else { return party.cause().map_or(Side::Other, Side::Cause) };
    Side::Tasks(match name_key(dimension) {
        Some(key) => Name::found(named.group_of_cgroup(&ids, key), key),
        None => named.cgroup(&ids).map_or(Name::Unknown, |names| Name::of(&names.path)),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use cpuledger_model::framing::CgroupNames;
    use cpuledger_model::pairs::WaitPair;

    use super::*;

    /// Two units, one of which has two cgroups, and a cgroup without a name.
    pub(crate) fn example() -> (WaitPairs, Named) {
        let paths = [
            (1, "/system.slice/web.service/a"),
            (2, "/system.slice/web.service/b"),
            (3, "/system.slice/backup.service"),
        ];
        let names = paths.map(|(id, path)| ((Some(id), Some(0)), CgroupNames::of_path(path.as_bytes())));
        let cgroup = |id| Party::Cgroup((Some(id), Some(0)));
        let pairs = [
            (cgroup(3), cgroup(1), 300_000_000),
            (cgroup(3), cgroup(2), 12_000_000),
            (cgroup(1), cgroup(3), 5_000_000),
            (cgroup(9), cgroup(1), 2_000_000),
            (Party::Other, cgroup(1), 1_000_000),
            (Party::Idle, cgroup(1), 40_000),
            (Party::Interrupts, cgroup(3), 700_000),
        ];
        let pairs = pairs.map(|(by, of, ns)| WaitPair::new(by, of, ns));
        (WaitPairs::of(pairs), Named::of(names.into_iter().collect()))
    }

    #[test]
    fn cgroups_of_a_unit_are_one() {
        let (pairs, named) = example();
        let told = by_name(&pairs, Dimension::Unit, &named);
        let told: Vec<_> = told.iter().map(|pair| (pair.by.label(), pair.of.label(), pair.ns)).collect();
        assert_eq!(
            told,
            [
                ("backup.service", "web.service", 312_000_000),
                ("web.service", "backup.service", 5_000_000),
                ("(unknown)", "web.service", 2_000_000),
                ("(other cgroups)", "web.service", 1_000_000),
                ("(interrupts)", "backup.service", 700_000),
                ("(idle CPU)", "web.service", 40_000),
            ]
        );
        assert_eq!(by_name(&pairs, Dimension::Cgroup, &named)[0].of.label(), "/system.slice/web.service/a");
        let all: u64 = by_name(&pairs, Dimension::Pod, &named).iter().map(|pair| pair.ns).sum();
        assert_eq!(all, pairs.sum_ns());
    }
}
