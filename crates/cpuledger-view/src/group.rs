//! Rows put together, by what [`Dimension`] has, and the dead by name.

mod ancestry;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use cpuledger_model::counters::Counters;
use cpuledger_model::field::{Field, FieldSet, Value};
use cpuledger_model::interval::{Blocked, Division, Exited, Row, Usage};
use cpuledger_model::task::{Comm, Pid, Task};
use cpuledger_model::{Dimension, States, make};
use cpuledger_names::cgroups;
use cpuledger_names::named::{Grouped, NameKey, Named};
use cpuledger_names::names::Names;
use cpuledger_proc::escape::escaped;

use crate::figure::OF_NAME;
use crate::key::{Key, PROCESS_KEYS};

pub use ancestry::Ancestry;

/// Names of the dead that have lines of their own; the rest share one.
pub(crate) const MOST_NAMES: usize = 40;

/// What the screen puts rows together by, in the order of its key. The rest of [`Dimension::ALL`] are its other views.
pub const OF_SCREEN: [Dimension; 7] = [
    Dimension::Cgroup,
    Dimension::Unit,
    Dimension::Container,
    Dimension::Pod,
    Dimension::Image,
    Dimension::User,
    Dimension::Command,
];

/// The one behind this one on the screen, and none behind the last.
pub fn next(group: Option<Dimension>) -> Option<Dimension> {
    let place = OF_SCREEN.iter().position(|own| Some(*own) == group).map_or(0, |place| place + 1);
    OF_SCREEN.get(place).copied()
}

/// Whether names of cgroups have to be looked up for it.
pub fn needs_names(dimension: Dimension) -> bool {
    dimension.place_of_cgroup().is_some()
}

/// The name of a cgroup that rows are put together by; `None`: something else.
pub(crate) fn name_key(dimension: Dimension) -> Option<NameKey> {
    match dimension {
        Dimension::Unit => Some(NameKey::Unit),
        Dimension::Container => Some(NameKey::Container),
        Dimension::Pod => Some(NameKey::Pod),
        Dimension::Image => Some(NameKey::Image),
        _ => None,
    }
}

/// What is read of a row to put it together with others.
pub fn fields(dimension: Dimension) -> FieldSet {
    match dimension {
        Dimension::Cgroup => FieldSet::of(&[Field::CgroupId, Field::CgroupV1CpuId]),
        Dimension::Unit | Dimension::Container | Dimension::Pod | Dimension::Image => OF_NAME,
        Dimension::User => FieldSet::of(&[Field::Euid]),
        Dimension::Command => FieldSet::of(&[Field::Comm]),
        Dimension::Process => FieldSet::of(&[Field::Pid, Field::StartTime, Field::Comm]),
        Dimension::Ancestor => FieldSet::of(&[Field::Pid, Field::Ppid, Field::Comm]),
    }
}

/// What names are looked up in.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Of users.
    pub users: &'a Names,
    /// Of cgroups.
    pub named: &'a Named,
    /// Of processes, and who is whose parent; needed by [`Dimension::Process`] and [`Dimension::Ancestor`] alone.
    pub ancestry: &'a Ancestry,
}

/// The name that a row has in common with others.
pub fn name_of(dimension: Dimension, row: &Task, known: &Known<'_>) -> Name {
    if row.is_remainder() {
        return Name::Remainder;
    }
    match dimension {
        Dimension::Cgroup => cgroups::key(row).map_or(Name::Unknown, |key| match known.named.cgroup(&key) {
            Some(names) => Name::of(&names.path),
            None => Name::Text(format!("cgroup {}", key.1.or(key.0).unwrap_or_default())),
        }),
        Dimension::User if !row.known.contains(Field::Euid) => Name::Unknown,
        Dimension::User => match known.users.name(row.euid) {
            b"" => Name::Text(row.euid.to_string()),
            name => Name::of(name),
        },
        Dimension::Command if !row.known.contains(Field::Comm) => Name::Unknown,
        Dimension::Command => Name::of(row.comm.as_bytes()),
        Dimension::Process => known.ancestry.process(row.pid),
        Dimension::Ancestor => known.ancestry.path(row.pid),
        Dimension::Unit | Dimension::Container | Dimension::Pod | Dimension::Image => {
            name_key(dimension).map_or(Name::Unknown, |key| Name::found(known.named.group(row, key), key))
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
    /// A process.
    Process {
        /// With its pid behind it, as it is shown.
        label: String,
        /// Which.
        pid: i32,
        /// Since when, CLOCK_BOOTTIME.
        start_time_ns: u64,
        /// Its name, escaped.
        comm: String,
    },
    /// Names of a process and of those above it.
    Path {
        /// As they are shown, in one line.
        label: String,
        /// From the topmost one down, each escaped.
        path: Vec<String>,
    },
}

impl Name {
    pub(crate) fn of(name: &[u8]) -> Name {
        Name::Text(escaped(name))
    }

    /// What a cgroup is called by this key.
    pub(crate) fn found(found: Grouped<'_>, key: NameKey) -> Name {
        match found {
            Grouped::Name(name) => Name::of(&name),
            Grouped::None => Name::Without(key.name()),
            Grouped::Unknown => Name::Unknown,
        }
    }

    /// The words for it. Users choose names of at most 15 bytes, so longer words are no name.
    pub fn label(&self) -> &str {
        match self {
            Name::Text(label) | Name::Process { label, .. } | Name::Path { label, .. } => label,
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
        let task = make!(Task { known, comm: Comm::new(name.label().as_bytes()) });
        let usage = make!(Usage {
            exited_threads_ns: Some(0),
            exited_children_ns: Some(0),
            stolen_ns: Some(0),
            exited_children_stolen_ns: Some(0),
            division: Division::NOTHING,
            states: Some(States::default()),
            growth: make!(Counters { known: Counters::FIELDS }),
        });
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

/// The keys that a sum has: those that make sense for several rows.
pub static GROUP_KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let nothing = Sum::new(Name::All).total;
    let is_of_sums = |key: &&Key| !matches!(key.value(&nothing), Value::Absent | Value::Bytes(_));
    PROCESS_KEYS.iter().filter(is_of_sums).copied().collect()
});

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
    let task = make!(Task {
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
    });
    let waited_ns = exited.states.map(|states| states.runqueue_wait_ns);
    let mut growth = make!(Counters {
        known: if waited_ns.is_some() { FieldSet::of(&[Field::RunqueueWait]) } else { FieldSet::EMPTY },
        runqueue_wait_ns: waited_ns.unwrap_or_default(),
    });
    exited.booked.store_into(&mut growth);
    let usage = make!(Usage {
        cpu_ns: exited.cpu_ns,
        self_ns: exited.cpu_ns,
        states: exited.states,
        accounting_parent: exited.accounting_parent,
        growth,
    });
    Row::new(task, usage)
}

/// A row of a sum, with all that the sum used instead of what it used itself: what a filter asks of a line that is shown for all of its rows.
pub fn in_sum(row: &Row, sum: &Sum) -> Row {
    let task = make!(Task { runtime_ns: sum.total.task.runtime_ns, ..row.task });
    let usage = make!(Usage { accounting_parent: row.usage.accounting_parent, ..sum.total.usage });
    Row::new(task, usage)
}

/// The row of one that was blocked all the time: what is known of it.
pub fn blocked_row(blocked: &Blocked) -> Row {
    const KNOWN: FieldSet = FieldSet::of(&[Field::Tid, Field::Pid, Field::Comm, Field::StartTime]);
    let euid = blocked.euid.map_or(FieldSet::EMPTY, |_| FieldSet::of(&[Field::Euid]));
    let task = make!(Task {
        known: KNOWN.union(euid),
        tid: blocked.task.tid,
        pid: Pid(blocked.process.tid.0),
        comm: blocked.comm,
        start_time_ns: blocked.task.start_time_ns,
        euid: blocked.euid.unwrap_or_default(),
    });
    Row::new(task, Usage::default())
}

/// The dead of one name.
#[derive(Debug, Clone)]
pub struct DeadName {
    /// All of them.
    pub sum: Sum,
    /// Their indexes, those with the most CPU time first.
    pub members: Vec<usize>,
}

/// The dead with these indexes by name: that with the most CPU time first, and in the last place all that are beyond a bound, or have less
/// CPU time than `least_ns` where those are more than one.
pub fn dead_names(exited: &[Exited], indexes: impl Iterator<Item = usize>, least_ns: u64) -> Vec<DeadName> {
    let mut names: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for index in indexes {
        names.entry(exited[index].exit.comm.as_bytes()).or_default().push(index);
    }
    let cpu_ns = |members: &[usize]| members.iter().map(|&index| exited[index].cpu_ns).sum::<u64>();
    let mut sorted: Vec<(&[u8], Vec<usize>)> = names.into_iter().collect();
    sorted.sort_by_cached_key(|(_, members)| std::cmp::Reverse(cpu_ns(members)));
    let large = sorted.partition_point(|(_, members)| cpu_ns(members) >= least_ns);
    let kept = if large + 1 == sorted.len() { sorted.len() } else { large };
    let rest: Vec<usize> = sorted.drain(kept.min(MOST_NAMES)..).flat_map(|(_, members)| members).collect();
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
        let states = make!(States { elapsed_ns: 10, sleep_ns: 7, runqueue_wait_ns: 3 });
        let known = make!(Usage { stolen_ns: Some(5), states: Some(states) });
        let unknown = make!(Usage { stolen_ns: None, states: None, ..known });
        let sum_of = |usages: &[Usage]| {
            let mut sum = Sum::new(Name::of(b"a"));
            usages.iter().for_each(|usage| sum.add(&Row::new(Task::default(), *usage)));
            (sum.total.usage.stolen_ns, sum.total.usage.states)
        };
        let twice = make!(States { elapsed_ns: 20, sleep_ns: 14, runqueue_wait_ns: 6 });
        assert_eq!(sum_of(&[known, known]), (Some(10), Some(twice)));
        for usages in [[unknown, known], [known, unknown]] {
            assert_eq!(sum_of(&usages), (None, None), "whichever comes first");
        }
    }
}
