//! What rows of an interval are sorted by: keys of the output, by the names that top has for them.

use cpuledger::field::FIELDS;
use cpuledger::interval::{Interval, Usage};
use cpuledger::{Field, Task};
use cpuledger_view::key::{Key, PARTS};
use cpuledger_view::sort;

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

impl Order {
    /// What a row is sorted by: text and states as they are, of what is cumulative the growth in the interval.
    pub fn weigh<'a>(self, interval: &Interval, row: &'a Task, usage: &Usage) -> sort::Key<'a> {
        match self {
            Order::Key(Key::Field(field)) if !field.info().cumulative => sort::Key::from(field.value(row)),
            _ => self.weigh_number(interval, row, usage),
        }
    }

    /// The same where it is a number; text is as what is not known.
    pub fn weigh_number(self, interval: &Interval, row: &Task, usage: &Usage) -> sort::Key<'static> {
        let key = match self {
            Order::Time => {
                let knows = |field| row.known.contains(field);
                return match () {
                    () if knows(Field::Runtime) => sort::Key::from(row.runtime_ns),
                    () if knows(Field::User) && knows(Field::System) => {
                        sort::Key::from(row.user_ns + row.system_ns)
                    }
                    () => sort::Key::Absent,
                };
            }
            Order::Key(key) => key,
        };
        match sort::Key::from(key.value(&interval.row(usage, row), usage)) {
            sort::Key::Number(number) => sort::Key::Number(number),
            _ => sort::Key::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use cpuledger::counters::Counters;
    use cpuledger::{Comm, FieldSet};

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

    #[test]
    fn a_row_is_sorted_by_its_text_its_state_or_what_it_used() {
        let interval = Interval::default();
        let row = Task { known: FieldSet::ALL, comm: Comm::new(b"sh"), runtime_ns: 9, ..Task::default() };
        let growth = Counters { known: Counters::FIELDS, user_ns: 3, ..Counters::default() };
        let usage = Usage { cpu_ns: 5, growth, ..Usage::default() };
        let weigh = |name| Order::by_name(name).expect("it is a key").weigh(&interval, &row, &usage);
        assert_eq!(weigh("COMMAND"), sort::Key::Bytes(b"sh"));
        assert_eq!((weigh("%CPU"), weigh("user_ns")), (sort::Key::from(5u64), sort::Key::from(3u64)));
        assert_eq!(weigh("TIME+"), sort::Key::from(9u64), "of the whole life");
        let nothing = Task::default();
        assert_eq!(Order::Time.weigh(&interval, &nothing, &usage), sort::Key::Absent);
        let by_name = Order::by_name("comm").expect("it is a key");
        assert_eq!(by_name.weigh_number(&interval, &row, &usage), sort::Key::Absent, "sums have no text");
    }
}
