//! Rows put together: by cgroup, unit, container, user or name, and the dead by name.

use std::collections::BTreeMap;

use cpuledger_model::States;
use cpuledger_model::counters::Counters;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::interval::{Division, Exited, Row, Usage};
use cpuledger_model::task::{Comm, Pid, Task};
use cpuledger_names::cgroups;
use cpuledger_names::named::{Grouped, NameKey, Named};
use cpuledger_names::names::Names;
use cpuledger_proc::escape::escaped;

/// Names of the dead that have lines of their own; the rest share one.
pub(crate) const MOST_NAMES: usize = 40;

/// What rows are put together by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Group {
    /// Nothing.
    #[default]
    No,
    /// The cgroup.
    Cgroup,
    /// The effective user.
    User,
    /// The name.
    Command,
    /// What the cgroup is called.
    Named(NameKey),
}

impl Group {
    /// Every group, by its name in options, settings and help.
    pub const ALL: [(&'static str, Group); 7] = [
        ("cgroup", Group::Cgroup),
        ("unit", Group::Named(NameKey::Unit)),
        ("container", Group::Named(NameKey::Container)),
        ("pod", Group::Named(NameKey::Pod)),
        ("image", Group::Named(NameKey::Image)),
        ("user", Group::User),
        ("command", Group::Command),
    ];

    /// The group behind this one, and none behind the last.
    #[must_use]
    pub fn next(self) -> Group {
        let place = Group::ALL.iter().position(|(_, group)| *group == self).map_or(0, |place| place + 1);
        Group::ALL.get(place).map_or(Group::No, |(_, group)| *group)
    }

    /// Whether names of cgroups have to be looked up for it.
    pub fn needs_names(self) -> bool {
        matches!(self, Group::Cgroup | Group::Named(_))
    }

    /// What is read of a row for its group.
    pub fn fields(self) -> FieldSet {
        match self {
            Group::No => FieldSet::EMPTY,
            Group::Cgroup => FieldSet::of(&[Field::CgroupId, Field::CgroupV1CpuId]),
            Group::Named(_) => FieldSet::of(&[Field::CgroupId, Field::CgroupV1CpuId, Field::Comm]),
            Group::User => FieldSet::of(&[Field::Euid]),
            Group::Command => FieldSet::of(&[Field::Comm]),
        }
    }

    /// The name of the group of a row.
    pub fn name_of(self, row: &Task, users: &Names, named: &Named) -> Name {
        if row.is_remainder() {
            return Name::Remainder;
        }
        match self {
            Group::Cgroup => cgroups::key(row).map_or(Name::Unknown, |key| match named.cgroup(&key) {
                Some(names) => Name::of(&names.path),
                None => Name::Text(format!("cgroup {}", key.1.or(key.0).unwrap_or_default())),
            }),
            Group::Named(key) => match named.group(row, key) {
                Grouped::Name(name) => Name::of(&name),
                Grouped::None => Name::Without(key.name()),
                Grouped::Unknown => Name::Unknown,
            },
            Group::User if !row.known.contains(Field::Euid) => Name::Unknown,
            Group::User => match users.name(row.euid) {
                b"" => Name::Text(row.euid.to_string()),
                name => Name::of(name),
            },
            Group::Command if !row.known.contains(Field::Comm) => Name::Unknown,
            Group::Command | Group::No => Name::of(row.comm.as_bytes()),
        }
    }
}

/// The words for all names without a line of their own. Users choose names of at most 15 bytes, so longer words are none.
pub const OTHER_NAMES: &str = "(all other names)";

/// What the rows of a sum have in common. What is no name is told by its kind: a process may be called like any of these words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// It is not known.
    Unknown,
    /// It has none of this kind.
    Without(&'static str),
    /// All that the reader is not shown.
    Remainder,
    /// The dead of all names that have no line of their own.
    OtherNames,
    /// Every process, shown or not.
    All,
    /// A name, escaped.
    Text(String),
}

impl Name {
    fn of(name: &[u8]) -> Name {
        Name::Text(escaped(name))
    }

    /// The words for it. Users choose names of at most 15 bytes, so longer words are no name.
    pub fn label(&self) -> &str {
        match self {
            Name::Text(text) => text,
            Name::Without("container") => "(no container)",
            Name::Without("pod") => "(no pod)",
            Name::Without("namespace") => "(no namespace)",
            Name::Without("image") => "(no image)",
            Name::Without(_) => "(none)",
            Name::Unknown => "-",
            Name::Remainder => "(others, not shown)",
            Name::OtherNames => OTHER_NAMES,
            Name::All => "(all processes)",
        }
    }
}

/// Rows put together.
#[derive(Debug, Clone)]
pub struct Sum {
    /// Of what.
    pub name: Name,
    /// How many.
    pub rows: usize,
    /// What of a task makes sense for all of them, and the sum of what they used.
    pub total: Row,
}

impl Sum {
    /// Of nothing yet.
    pub fn new(name: Name) -> Sum {
        let known = FieldSet::of(&[Field::Comm, Field::Rss, Field::Runtime, Field::Threads]);
        let task = Task { known, comm: Comm::new(name.label().as_bytes()), ..Task::default() };
        let usage = Usage {
            exited_threads_ns: Some(0),
            exited_children_ns: Some(0),
            stolen_ns: Some(0),
            exited_children_stolen_ns: Some(0),
            division: Division::NOTHING,
            states: Some(States::default()),
            growth: Counters { known: Counters::FIELDS, ..Counters::default() },
            ..Usage::default()
        };
        Sum { name, rows: 0, total: Row::new(task, usage) }
    }

    /// Adds a row. What is not known of it is not known of the sum.
    pub fn add(&mut self, Row { task, usage, .. }: &Row) {
        self.rows += 1;
        let total = &mut self.total;
        let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
        total.usage.cpu_ns += usage.cpu_ns;
        total.usage.self_ns += usage.self_ns;
        total.usage.exited_threads_ns = sum(total.usage.exited_threads_ns, usage.exited_threads_ns);
        total.usage.exited_children_ns = sum(total.usage.exited_children_ns, usage.exited_children_ns);
        total.usage.stolen_ns = sum(total.usage.stolen_ns, usage.stolen_ns);
        total.usage.exited_children_stolen_ns =
            sum(total.usage.exited_children_stolen_ns, usage.exited_children_stolen_ns);
        total.usage.division.add(&usage.division);
        total.usage.states = total.usage.states.zip(usage.states).map(|(mut sum, more)| {
            sum.add(&more);
            sum
        });
        total.usage.growth.add(&usage.growth);
        total.task.known = total.task.known.intersection(task.known.union(FieldSet::of(&[Field::Threads])));
        total.task.rss_bytes += task.rss_bytes;
        total.task.runtime_ns += task.runtime_ns;
        total.task.threads += task.threads.max(1);
    }
}

/// The row of one that died: what its record tells.
pub fn exited_row(exited: &Exited) -> Row {
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
    let known = if exit.euid.is_some() { KNOWN.union(EFFECTIVE) } else { KNOWN };
    let of_cgroup = |id: Option<u64>, field| id.map_or(FieldSet::EMPTY, |_| FieldSet::of(&[field]));
    let task = Task {
        known: known
            .union(of_cgroup(exit.cgroup_id, Field::CgroupId))
            .union(of_cgroup(exit.cgroup_v1_cpu_id, Field::CgroupV1CpuId)),
        cgroup_id: exit.cgroup_id.unwrap_or_default(),
        cgroup_v1_cpu_id: exit.cgroup_v1_cpu_id.unwrap_or_default(),
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
    let waited_ns = exited.states.map(|states| states.runqueue_wait_ns);
    let growth = Counters {
        known: if waited_ns.is_some() { FieldSet::of(&[Field::RunqueueWait]) } else { FieldSet::EMPTY },
        runqueue_wait_ns: waited_ns.unwrap_or_default(),
        ..Counters::default()
    };
    let usage = Usage {
        cpu_ns: exited.cpu_ns,
        self_ns: exited.cpu_ns,
        states: exited.states,
        accounting_parent: exited.accounting_parent,
        growth,
        ..Usage::default()
    };
    Row::new(task, usage)
}

/// The dead of one name.
#[derive(Debug, Clone)]
pub struct DeadName {
    /// All of them.
    pub sum: Sum,
    /// Their indexes, those with the most CPU time first.
    pub members: Vec<usize>,
}

/// The dead with these indexes by name: that with the most CPU time first, and in the last place all that are beyond a bound.
pub fn dead_names(exited: &[Exited], indexes: impl Iterator<Item = usize>) -> Vec<DeadName> {
    let mut names: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for index in indexes {
        names.entry(exited[index].exit.comm.as_bytes()).or_default().push(index);
    }
    let cpu_ns = |members: &[usize]| members.iter().map(|&index| exited[index].cpu_ns).sum::<u64>();
    let mut sorted: Vec<(&[u8], Vec<usize>)> = names.into_iter().collect();
    sorted.sort_by_cached_key(|(_, members)| std::cmp::Reverse(cpu_ns(members)));
    let rest: Vec<usize> =
        sorted.drain(sorted.len().min(MOST_NAMES)..).flat_map(|(_, members)| members).collect();
    let mut named: Vec<(Name, Vec<usize>)> =
        sorted.into_iter().map(|(name, members)| (Name::of(name), members)).collect();
    if !rest.is_empty() {
        named.push((Name::OtherNames, rest));
    }
    let make = |(name, mut members): (Name, Vec<usize>)| {
        let mut sum = Sum::new(name);
        for &member in &members {
            sum.add(&exited_row(&exited[member]));
        }
        // The memory of a dead task is not told; nor are its counters, but what it waited.
        sum.total.task.known =
            sum.total.task.known.intersection(FieldSet::of(&[Field::Comm, Field::Runtime]));
        members.sort_by_key(|&index| std::cmp::Reverse(exited[index].cpu_ns));
        DeadName { sum, members }
    };
    named.into_iter().map(make).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_knows_what_is_known_of_all_its_rows() {
        let states = States { elapsed_ns: 10, sleep_ns: 7, runqueue_wait_ns: 3, ..States::default() };
        let known = Usage { stolen_ns: Some(5), states: Some(states), ..Usage::default() };
        let unknown = Usage { stolen_ns: None, states: None, ..known };
        let sum_of = |usages: &[Usage]| {
            let mut sum = Sum::new(Name::of(b"a"));
            usages.iter().for_each(|usage| sum.add(&Row::new(Task::default(), *usage)));
            (sum.total.usage.stolen_ns, sum.total.usage.states)
        };
        let twice = States { elapsed_ns: 20, sleep_ns: 14, runqueue_wait_ns: 6, ..States::default() };
        assert_eq!(sum_of(&[known, known]), (Some(10), Some(twice)));
        for usages in [[unknown, known], [known, unknown]] {
            assert_eq!(sum_of(&usages), (None, None), "whichever comes first");
        }
    }
}
