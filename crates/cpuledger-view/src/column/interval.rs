//! What only an interval tells of a task, and columns of `top` that `ps` has none of.

use cpuledger_model::field::{Field, FieldSet, Value};
use cpuledger_names::lookups::Lookups;

use super::entry::{
    Align, By, Column, Dash, InTable, Lines, Listed, Overflow, TableCell, Text, TopField, total,
};
use crate::figure::{Key as Figure, Part};
use crate::sort;

/// A column of `ps` for what only an interval tells.
pub(super) const fn watched(
    names: &'static [(&'static str, &'static str)],
    width: usize,
    help: &'static str,
) -> Option<Listed> {
    Some(Listed {
        names,
        width,
        align: Align::Right,
        overflow: Overflow::Push,
        lines: Lines::Both,
        text: Text::Usual,
        dash: Some(Dash::NotInOneLook),
        needs: FieldSet::EMPTY,
        optional: FieldSet::EMPTY,
        lookups: Lookups::NONE,
        shown: (|_, cell| cell.push(b'-'), |_| sort::Key::Absent),
        help,
    })
}

pub(super) fn known(number: Option<u64>) -> Value<'static> {
    number.map_or(Value::Absent, Value::Unsigned)
}

/// A column of what divides a part of CPU time, as `KEY HEADER_OF_PS INDEX MEMBER PART; PLACE HEADER; HELP`: the index is that of
/// [`cpuledger_model::interval::Usage::divided`].
macro_rules! divided {
    ($key:literal $in_ps:literal $index:literal $member:ident $part:literal; $place:literal $header:literal; $help:literal) => {
        Column {
            figure: Some(Figure::Part(&Part {
                key: $key,
                help: concat!("The part of ", $part, " time. The three add up to it; not every source knows them."),
                value: |usage| known(usage.divided()[$index].map(|part| part.$member)),
            })),
            listed: watched(
                &[($key, $in_ps)],
                $key.len(),
                concat!($help, ": always shown as `-` here; see `cpuledger top`."),
            ),
            in_table: in_table!($place $header right 5 rank 8 Share sums; concat!($help, ".")),
            ..Column::NOWHERE
        }
    };
}

/// In the order in which `ps` lists them.
pub(super) static COLUMNS: &[Column] = &[
    Column {
        figure: Some(Figure::Part(&Part {
            key: "cpu_ns",
            help: "CPU time in the interval.",
            value: |usage| known(usage.known_cpu_ns()),
        })),
        in_table: in_table!(8 "%CPU" right 5 rank 1 Share sums; "CPU time: SELF, X and C together."),
        orders: &["CPU"],
        procps: &[TopField { place: 17, name: "%CPU", by: By::Share }],
        aliases: &[("cpu", "CPU time in percent of one CPU")],
        ..Column::NOWHERE
    },
    Column {
        figure: Some(Figure::Part(&Part {
            key: "self_ns",
            help: "CPU time of its live tasks; from procfs, of all its threads.",
            value: |usage| known(usage.known_self_ns()),
        })),
        in_table: in_table!(17 "SELF" right 5 rank 2 Share sums; "CPU time of its live tasks."),
        aliases: &[("self", "CPU time of live tasks, in percent")],
        ..Column::NOWHERE
    },
    part! { "exited_threads_ns" "EXITED_THREADS_NS" 17; |usage| known(usage.exited_threads_ns);
        "CPU time of its threads that exited in the interval; with `ledger`, also of threads without a slot.";
        "CPU time of its threads that died: always shown as `-` here; `cpuledger top` shows it." => {
            in_table: in_table!(18 "X" right 5 rank 2 Share sums; "CPU time of its threads that exited in the interval."),
            aliases: &[("x", "CPU time of threads that exited, in percent")],
        }
    },
    part! { "exited_children_ns" "EXITED_CHILDREN_NS" 18; |usage| known(usage.exited_children_ns);
        "CPU time of descendants that exited in the interval and whose nearest live ancestor it is.";
        "CPU time it inherits from dead processes: always shown as `-` here; see `cpuledger top`." => {
            in_table: in_table!(19 "C" right 5 rank 2 Share sums; "CPU time inherited from processes that exited."),
            aliases: &[("c", "CPU time inherited from processes that exited, in percent")],
        }
    },
    part! { "exited_children_stolen_ns" "EXITED_CHILDREN_STOLEN_NS" 25; |usage| known(usage.exited_children_stolen_ns);
        "The part of exited_children_ns in which they did not execute; not every source knows it.";
        "Stolen time of dead processes it inherits from: always shown as `-` here; see `cpuledger top`." => {
            in_table: in_table!(35 "C.STL" right 5 rank 8 Share sums; "Stolen time of dead processes it inherits from."),
        }
    },
    divided! { "self_user_ns" "SELF_USER_NS" 0 user_ns "self_ns that is user"; 30 "S.USR"; "User time of live tasks" },
    divided! { "self_system_ns" "SELF_SYSTEM_NS" 0 system_ns "self_ns that is system"; 31 "S.SYS"; "System time of live tasks" },
    divided! { "self_stolen_ns" "SELF_STOLEN_NS" 0 stolen_ns "self_ns that is stolen"; 32 "S.STL"; "Stolen time of live tasks" },
    divided! { "exited_children_user_ns" "EXITED_CHILDREN_USER_NS" 2 user_ns "exited_children_ns that is user"; 33 "C.USR"; "User time of dead processes it inherits from" },
    divided! { "exited_children_system_ns" "EXITED_CHILDREN_SYSTEM_NS" 2 system_ns "exited_children_ns that is system"; 34 "C.SYS"; "System time of dead processes it inherits from" },
    divided! { "exited_threads_user_ns" "EXITED_THREADS_USER_NS" 1 user_ns "exited_threads_ns that is user"; 36 "X.USR"; "User time of its threads that died" },
    divided! { "exited_threads_system_ns" "EXITED_THREADS_SYSTEM_NS" 1 system_ns "exited_threads_ns that is system"; 37 "X.SYS"; "System time of its threads that died" },
    divided! { "exited_threads_stolen_ns" "EXITED_THREADS_STOLEN_NS" 1 stolen_ns "exited_threads_ns that is stolen"; 38 "X.STL"; "Stolen time of its threads that died" },
    part! { "accounting_ppid" "ACCOUNTING_PPID" 15; |usage| usage.accounting_parent.map_or(Value::Absent, |pid| Value::Signed(pid.0.into()));
        "Process that inherits its time. Known if a hook saw the fork: with ledger, and with walk for processes that started after it attached.";
        "The process that inherits its time: always shown as `-` here; see `cpuledger top`." => {
            in_table: in_table!(14 "ACCT" right 7 rank 6 Value; "Accounting parent: the process that inherits its time."),
        }
    },
    field! { ; 20 "PARTS" left 10 rank 12 Parts sums; "Self, exited threads and exited children as one bar." },
    field! { ; 53 "HISTORY" right 10 rank 7 History; "Share of a CPU in each of the last intervals, the newest at the right." },
    field! { ; 21 "SUM" right 6 rank 2 Subtree sums; "CPU time of its subtree, where rows are shown as a tree." },
    field! { User; 22 "USR" right 5 rank 6 Share sums; "CPU time in user mode." => {
        aliases: &[("usr", "CPU time in user mode, in percent")],
    } },
    field! { System; 23 "SYS" right 5 rank 6 Share sums; "CPU time in the kernel." => {
        aliases: &[("sys", "CPU time in the kernel, in percent")],
        order_letter: Some('K'),
    } },
    field! { ChildrenSystem; => { order_letter: Some('J') } },
    field! { Pid; 12 "TGID" right 7 rank 3 Pid; "Id of the process." => {
        procps: &[total(30, "TGID", Field::Pid)],
    } },
    field! { Shared; 6 "SHR" right 6 rank 8 Size; "Resident file and shared memory." => {
        procps: &[total(24, "SHR", Field::Shared)],
    } },
    field! { Swap; => {
        orders: &["SWAP"],
        procps: &[total(22, "SWAP", Field::Swap)],
    } },
    field! { Locked; => {
        procps: &[total(33, "RSlk", Field::Locked)],
    } },
];
