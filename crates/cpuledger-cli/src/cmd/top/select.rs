//! Which rows of an interval are shown, and in which order.

use std::cmp::Ordering;

use cpuledger::field::{FIELDS, Value};
use cpuledger::interval::{Interval, Usage};
use cpuledger::render::key::{Key, PARTS, Shown};
use cpuledger::source::Exit;
use cpuledger::{Field, Snapshot, Task};

use crate::cmd::top::options::Options;
use crate::near::did_you_mean;

/// What rows are sorted by.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    /// A key of the output.
    Key(Key),
    /// CPU time of the whole life, which a key does not tell.
    Time,
}

/// The order of rows; those that are equal follow by pid and tid.
#[derive(Debug, Clone, Copy)]
pub struct SortBy {
    /// By what.
    pub by: Order,
    /// From low to high.
    pub ascending: bool,
}

impl Default for SortBy {
    /// By CPU time, from high to low.
    fn default() -> SortBy {
        SortBy { by: Order::by_name("cpu_ns").unwrap_or(Order::Time), ascending: false }
    }
}

/// Names of columns in top, and the keys they show; an empty one is [`Order::Time`].
static TOP_NAMES: [(&str, &str); 35] = [
    ("%CPU", "cpu_ns"),
    ("CPU", "cpu_ns"),
    ("%MEM", "rss_bytes"),
    ("MEM", "rss_bytes"),
    ("TIME+", ""),
    ("TIME", ""),
    ("PID", "pid"),
    ("TID", "tid"),
    ("TGID", "pid"),
    ("PPID", "ppid"),
    ("PGRP", "pgid"),
    ("SID", "sid"),
    ("UID", "euid"),
    ("USER", "euid"),
    ("PR", "priority"),
    ("NI", "nice"),
    ("VIRT", "vsize_bytes"),
    ("RES", "rss_bytes"),
    ("SHR", "shared_bytes"),
    ("SWAP", "swap_bytes"),
    ("S", "state"),
    ("COMMAND", "comm"),
    ("nTH", "threads"),
    ("nMaj", "major_faults"),
    ("nMin", "minor_faults"),
    ("TH", "threads"),
    ("ACCT", "accounting_ppid"),
    ("P", "processor"),
    ("SELF", "self_ns"),
    ("X", "exited_threads_ns"),
    ("C", "exited_children_ns"),
    ("USR", "user_ns"),
    ("SYS", "system_ns"),
    ("STOLN", "stolen_ns"),
    ("WAIT", "runqueue_wait_ns"),
];

impl Order {
    /// By a key, or by a name that top has for it.
    pub fn by_name(name: &str) -> Option<Order> {
        if let Some((_, key)) = TOP_NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            return if key.is_empty() { Some(Order::Time) } else { Key::by_name(key).map(Order::Key) };
        }
        Key::by_name(name).map(Order::Key)
    }

    /// A name that top has for a key, as it is written there.
    pub fn name_of_top(name: &str) -> Option<&'static str> {
        TOP_NAMES.iter().map(|(known, _)| *known).find(|known| known.eq_ignore_ascii_case(name))
    }

    /// The end of a sentence about a name that there is not: what is near it, or what there is.
    pub fn instead_of(name: &str) -> String {
        let names = TOP_NAMES.iter().map(|(name, _)| *name);
        let keys = PARTS.iter().map(|part| part.key).chain(FIELDS.iter().map(|info| info.key));
        did_you_mean(
            "",
            name,
            names.chain(keys),
            "there are %CPU, %MEM, TIME+, PID, … and the keys of `--format json`",
        )
    }
}

/// A value that outlives its row; what is not known is lowest.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Absent,
    Number(i128),
    Text(Vec<u8>),
}

impl From<Value<'_>> for Weight {
    fn from(value: Value<'_>) -> Weight {
        match value {
            Value::Absent => Weight::Absent,
            Value::Unsigned(number) => Weight::Number(number.into()),
            Value::Signed(number) => Weight::Number(number.into()),
            Value::Letter(letter) => Weight::Number(letter.into()),
            Value::Bytes(bytes) => Weight::Text(bytes.to_vec()),
        }
    }
}

/// The rows to be shown; memory is reused.
#[derive(Debug, Default)]
pub struct Selection {
    processes: Vec<usize>,
    tasks: Vec<usize>,
    exited: Vec<usize>,
    /// Whether any row so far was one that the options ask for, idle or not.
    pub has_matched: bool,
}

impl Selection {
    /// Chooses and sorts.
    pub fn select(&mut self, options: &Options, interval: &Interval, snapshot: &Snapshot) {
        self.has_matched |= is_unlimited(options);
        self.has_matched |=
            choose(&mut self.processes, options, interval, &snapshot.processes, &interval.processes);
        self.tasks.clear();
        if options.has_threads {
            self.has_matched |= choose(&mut self.tasks, options, interval, &snapshot.tasks, &interval.tasks);
        }
        self.exited.clear();
        for (index, exited) in interval.exited.iter().flatten().enumerate() {
            if is_wanted_exit(options, &exited.exit) {
                self.exited.push(index);
            }
        }
        self.has_matched |= !self.exited.is_empty();
    }

    /// With the interval it was made of.
    pub fn shown<'a>(
        &'a self,
        options: &Options,
        interval: &'a Interval,
        snapshot: &'a Snapshot,
        boot_id: Option<&'a str>,
    ) -> Shown<'a> {
        Shown {
            interval,
            snapshot,
            processes: &self.processes,
            tasks: options.has_threads.then_some(&*self.tasks),
            exited: &self.exited,
            boot_id,
        }
    }
}

fn is_unlimited(options: &Options) -> bool {
    options.pids.is_empty() && options.euid.is_none()
}

/// Whether the options ask for it; what is not known matches none.
pub fn is_wanted(options: &Options, row: &Task) -> bool {
    let is_listed = |field, number| row.known.contains(field) && options.pids.contains(&number);
    (options.pids.is_empty() || is_listed(Field::Pid, row.pid.0) || is_listed(Field::Tid, row.tid.0))
        && options.euid.is_none_or(|uid| row.known.contains(Field::Euid) && uid == row.euid)
}

/// Whether the options ask for one that died: with -p, those too whose time may be with one of the wanted.
pub fn is_wanted_exit(options: &Options, exit: &Exit) -> bool {
    let numbers = [exit.task.tid.0, exit.process.tid.0, exit.ppid.0];
    let is_wanted = options.pids.is_empty() || numbers.iter().any(|number| options.pids.contains(number));
    is_wanted && options.euid.is_none_or(|uid| exit.euid == Some(uid))
}

/// Tells whether any row is wanted, shown or idle.
fn choose(
    chosen: &mut Vec<usize>,
    options: &Options,
    interval: &Interval,
    rows: &[Task],
    usages: &[Usage],
) -> bool {
    let mut has_matched = false;
    let mut weighed: Vec<(Weight, usize)> = Vec::new();
    for (index, (row, usage)) in rows.iter().zip(usages).enumerate() {
        if !is_wanted(options, row) {
            continue;
        }
        has_matched = true;
        if options.shows_idle || usage.cpu_ns > 0 {
            weighed.push((weigh(options.order.by, interval, row, usage), index));
        }
    }
    weighed.sort_by(|(one, one_index), (other, other_index)| {
        let order = if options.order.ascending { one.cmp(other) } else { other.cmp(one) };
        let number = |index: usize| (rows[index].pid, rows[index].tid);
        order.then_with(|| -> Ordering { number(*one_index).cmp(&number(*other_index)) })
    });
    chosen.clear();
    chosen.extend(weighed.iter().map(|(_, index)| index));
    has_matched
}

fn weigh(by: Order, interval: &Interval, row: &Task, usage: &Usage) -> Weight {
    match by {
        Order::Key(key) => Weight::from(key.value(&interval.row(usage, row), usage)),
        Order::Time => {
            let knows = |field| row.known.contains(field);
            if knows(Field::Runtime) {
                Weight::Number(row.runtime_ns.into())
            } else if knows(Field::User) && knows(Field::System) {
                Weight::Number((row.user_ns + row.system_ns).into())
            } else {
                Weight::Absent
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_top_has_a_key() {
        for (name, key) in TOP_NAMES {
            assert!(Order::by_name(name).is_some(), "{name}");
            assert!(key.is_empty() || Key::by_name(key).is_some(), "{key}");
        }
        assert!(Order::by_name("runqueue_wait_ns").is_some());
        assert!(Order::by_name("nonsense").is_none());
    }
}
