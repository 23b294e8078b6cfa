//! What a line of the table is, and what it shows.

use cpuledger::counters::Counters;
use cpuledger::field::{Field, FieldSet};
use cpuledger::interval::{Exited, Usage};
use cpuledger::text::escape::append_escaped;
use cpuledger::{Comm, Pid, States, Task, TaskId};

use crate::tui::frame::{Kind, RowRef};

/// What a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A process or task.
    Row(RowRef),
    /// The sum of a group: an index of [`Listing::sums`].
    Group(u32),
    /// The dead of one name: likewise.
    ExitedName(u32),
    /// One that died: an index of [`Frame::exited`].
    Exited(u32),
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// What it shows.
    pub item: Item,
    /// How many are above it.
    pub depth: u16,
    /// One bit for each generation: whether others of it follow.
    pub follows: u64,
    /// CPU time of its subtree, where there is one.
    pub subtree_ns: Option<u64>,
    /// Whether something is below it, and whether that is hidden.
    pub fold: Option<bool>,
}

impl Entry {
    /// One that is below nothing.
    pub(super) fn flat(item: Item) -> Entry {
        Entry { item, depth: 0, follows: 0, subtree_ns: None, fold: None }
    }
}

/// Rows put together.
#[derive(Debug, Clone)]
pub struct Sum {
    /// Of what.
    pub name: String,
    /// How many.
    pub rows: usize,
    /// What of a task makes sense for all of them.
    pub task: Task,
    /// The sum of what they used.
    pub usage: Usage,
}

/// The lines.
#[derive(Debug, Default)]
pub struct Listing {
    /// From the first to the last.
    pub entries: Vec<Entry>,
    /// Groups and names of the dead.
    pub sums: Vec<Sum>,
    /// CPU time of all processes that match, whether their line is folded or not.
    pub matched_ns: u64,
    /// What died and matches: indexes of [`Frame::exited`].
    pub exited: Vec<u32>,
}

/// What stays recognisable from one frame to the next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A process or task.
    Row(Kind, TaskId),
    /// A group by its name.
    Group(String),
    /// The dead of one name.
    ExitedName(String),
    /// One that died.
    Exited(TaskId),
}

impl Sum {
    /// Of nothing yet.
    pub(super) fn new(name: String) -> Sum {
        let known = FieldSet::of(&[Field::Comm, Field::Rss, Field::Runtime, Field::Threads]);
        let task = Task { known, comm: Comm::new(name.as_bytes()), ..Task::default() };
        let usage = Usage {
            exited_threads_ns: Some(0),
            exited_children_ns: Some(0),
            stolen_ns: Some(0),
            states: Some(States::default()),
            growth: Counters { known: Counters::FIELDS, ..Counters::default() },
            ..Usage::default()
        };
        Sum { name, rows: 0, task, usage }
    }

    /// Adds a row. What is not known of it is not known of the sum.
    pub(super) fn add(&mut self, row: &Task, usage: &Usage) {
        self.rows += 1;
        let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
        self.usage.cpu_ns += usage.cpu_ns;
        self.usage.self_ns += usage.self_ns;
        self.usage.exited_threads_ns = sum(self.usage.exited_threads_ns, usage.exited_threads_ns);
        self.usage.exited_children_ns = sum(self.usage.exited_children_ns, usage.exited_children_ns);
        self.usage.stolen_ns = sum(self.usage.stolen_ns, usage.stolen_ns);
        self.usage.states = self.usage.states.zip(usage.states).map(|(mut sum, more)| {
            sum.add(&more);
            sum
        });
        self.usage.growth.add(&usage.growth);
        self.task.known = self.task.known.intersection(row.known.union(FieldSet::of(&[Field::Threads])));
        self.task.rss_bytes += row.rss_bytes;
        self.task.runtime_ns += row.runtime_ns;
        self.task.threads += row.threads.max(1);
    }
}

/// As it may be shown.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    append_escaped(&mut text, bytes);
    String::from_utf8_lossy(&text).into_owned()
}

/// The row of one that died: what its record tells.
pub fn exited_row(exited: &Exited) -> (Task, Usage) {
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
    let task = Task {
        known: if exit.euid.is_some() { KNOWN.union(EFFECTIVE) } else { KNOWN },
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
    (task, usage)
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
            let mut sum = Sum::new("a".to_owned());
            usages.iter().for_each(|usage| sum.add(&Task::default(), usage));
            (sum.usage.stolen_ns, sum.usage.states)
        };
        let twice = States { elapsed_ns: 20, sleep_ns: 14, runqueue_wait_ns: 6, ..States::default() };
        assert_eq!(sum_of(&[known, known]), (Some(10), Some(twice)));
        for usages in [[unknown, known], [known, unknown]] {
            assert_eq!(sum_of(&usages), (None, None), "whichever comes first");
        }
    }
}
