//! The keys of an interval's rows: one table for JSON, CSV and the order of rows, derived from [`cpuledger_model::field`].

use std::sync::LazyLock;

use cpuledger_model::field::{FIELDS, Field, Value};
use cpuledger_model::interval::{Interval, Row};
use cpuledger_model::task::Task;
use cpuledger_names::named::{NameKey, Named};
use cpuledger_names::names::Names;

use crate::column::{Column, columns};
use crate::figure::Part;

pub use crate::figure::Key;

/// Every part that a column shows.
pub static PARTS: LazyLock<Vec<&'static Part>> = LazyLock::new(|| {
    let part = |column: &'static Column| match column.key() {
        Some(Key::Part(part)) => Some(part),
        _ => None,
    };
    columns().filter_map(part).collect()
});

impl Key {
    /// The key of that name.
    pub fn by_name(name: &str) -> Option<Key> {
        let part = PARTS.iter().find(|part| part.key == name).map(|part| Key::Part(part));
        part.or_else(|| Field::by_key(name).map(Key::Field))
    }
}

/// The keys of what a row did besides using the CPU, and of all its time.
const STATE_KEYS: [&str; 8] = [
    "stolen_ns",
    "runqueue_wait_ns",
    "blocked_ns",
    "io_wait_ns",
    "sleep_ns",
    "stopped_ns",
    "unseen_ns",
    "elapsed_ns",
];

/// The keys of a process, in the order of output: those of the contract, then every other field.
pub static PROCESS_KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    keys(
        [
            "pid",
            "ppid",
            "accounting_ppid",
            "start_time_ns",
            "comm",
            "uid",
            "state",
            "threads",
            "cpu_ns",
            "self_ns",
            "exited_threads_ns",
            "exited_children_ns",
            "exited_children_stolen_ns",
            "self_user_ns",
            "self_system_ns",
            "self_stolen_ns",
            "exited_threads_user_ns",
            "exited_threads_system_ns",
            "exited_threads_stolen_ns",
            "exited_children_user_ns",
            "exited_children_system_ns",
            "user_ns",
            "system_ns",
        ]
        .into_iter()
        .chain(STATE_KEYS),
        // `runtime_ns` would be the sum of two parts, the others are what the kernel calls children: the waited-for.
        &["tid", "runtime_ns", "children_user_ns", "children_system_ns"],
    )
});

/// The keys of a task.
pub static TASK_KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let first = ["tid", "pid", "comm", "cpu_ns", "user_ns", "system_ns"];
    keys(
        first.into_iter().chain(STATE_KEYS).chain(["start_time_ns", "uid", "state"]),
        // What the threads of a process share is told once, of the process.
        &[
            "accounting_ppid",
            "self_ns",
            "exited_threads_ns",
            "exited_children_ns",
            "exited_children_stolen_ns",
            "exited_threads_user_ns",
            "exited_threads_system_ns",
            "exited_threads_stolen_ns",
            "exited_children_user_ns",
            "exited_children_system_ns",
            "ppid",
            "pgid",
            "sid",
            "tty_device",
            "tty_pgid",
            "threads",
            "runtime_ns",
            "children_user_ns",
            "children_system_ns",
            "children_minor_faults",
            "children_major_faults",
            "vsize_bytes",
            "rss_bytes",
            "shared_bytes",
            "swap_bytes",
            "locked_bytes",
        ],
    )
});

/// The named keys, then the rest of the parts and of the field table but for these.
fn keys(first: impl Iterator<Item = &'static str>, without: &[&str]) -> Vec<Key> {
    let first: Vec<&str> = first.collect();
    let all = PARTS.iter().map(|part| part.key).chain(FIELDS.iter().map(|info| info.key));
    let rest = all.filter(|key| !first.contains(key) && !without.contains(key));
    first.iter().copied().chain(rest).filter_map(Key::by_name).collect()
}

/// An interval, and what of it is to be shown.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The interval.
    pub interval: &'a Interval,
    /// Its processes in the order of output.
    pub processes: &'a [usize],
    /// Its tasks likewise; `None`: not wanted.
    pub tasks: Option<&'a [usize]>,
    /// Of the exited, likewise; empty where the source sees none.
    pub exited: &'a [usize],
    /// Of the blocked, likewise.
    pub blocked: &'a [usize],
    /// Identifier of the boot.
    pub boot_id: Option<&'a str>,
    /// What the cgroups of the rows are called; `None`: it was not looked up.
    pub named: Option<&'a Named>,
    /// What JSON tells besides.
    pub beside: Beside<'a>,
}

impl<'a> Shown<'a> {
    /// The interval by itself.
    pub fn without_rows(interval: &'a Interval) -> Shown<'a> {
        Shown {
            interval,
            processes: &[],
            tasks: None,
            exited: &[],
            blocked: &[],
            boot_id: None,
            named: None,
            beside: Beside::default(),
        }
    }
}

/// Keys that JSON has where they are asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MoreKeys {
    /// The time of day of begin and end.
    pub realtime: bool,
    /// The machine.
    pub host: bool,
    /// Of rows: the effective user by name.
    pub user: bool,
    /// Of rows: the path of the cgroup.
    pub cgroup: bool,
}

/// The name of such keys in options, and what turns them on.
pub type NameOfKeys = (&'static str, fn(&mut MoreKeys));

impl MoreKeys {
    /// All of them.
    pub const NAMES: [NameOfKeys; 4] = [
        ("realtime", |keys| keys.realtime = true),
        ("host", |keys| keys.host = true),
        ("user", |keys| keys.user = true),
        ("cgroup", |keys| keys.cgroup = true),
    ];
}

/// What such keys are told of.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Which are asked for.
    pub keys: MoreKeys,
    /// Begin and end of the interval, CLOCK_REALTIME; `None`: not known.
    pub realtime_ns: Option<[u64; 2]>,
    /// The name of the machine; `None`: not known.
    pub host: Option<&'a [u8]>,
    /// Names of users; `None`: they were not looked up.
    pub users: Option<&'a Names>,
}

impl<'a> Shown<'a> {
    /// A name that the cgroup of a row leads to by itself.
    pub(crate) fn name(&self, row: &Task, name: NameKey) -> Value<'a> {
        self.named.and_then(|named| named.name_by_cgroup(row, name)).map_or(Value::Absent, Value::Bytes)
    }

    /// Those that have a line each: the tasks, if they are wanted, or the processes.
    pub fn rows(&self) -> impl Iterator<Item = &'a Row> + use<'a> {
        let (shown, rows) = match self.tasks {
            Some(tasks) => (tasks, &self.interval.tasks),
            None => (self.processes, &self.interval.processes),
        };
        shown.iter().map(|&index| &rows[index])
    }

    /// The processes.
    pub(crate) fn processes(&self) -> impl Iterator<Item = &'a Row> + use<'a> {
        let Interval { processes, .. } = self.interval;
        self.processes.iter().map(|&index| &processes[index])
    }

    /// The tasks; none where they are not wanted.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = &'a Row> + use<'a> {
        let Interval { tasks, .. } = self.interval;
        self.tasks.unwrap_or_default().iter().map(|&index| &tasks[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_key_exists_and_none_comes_twice() {
        for (keys, first, count) in [(&*PROCESS_KEYS, "pid", 31), (&*TASK_KEYS, "tid", 17)] {
            assert_eq!(keys[0].name(), first);
            assert!(keys.len() > count);
            let mut names: Vec<_> = keys.iter().map(|key| key.name()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), keys.len());
        }
        assert_eq!(PROCESS_KEYS[30].name(), "elapsed_ns", "all of the contract's keys are known");
        assert_eq!(TASK_KEYS[16].name(), "state");
        assert!(PARTS.iter().all(|part| PROCESS_KEYS.iter().any(|key| key.name() == part.key)));
    }
}
