//! What rows of an interval are sorted by: keys of the output, by the names that top has for them.

use cpuledger::field::FIELDS;
use cpuledger::render::key::{Key, PARTS};

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
