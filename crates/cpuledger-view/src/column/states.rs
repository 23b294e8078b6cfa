//! What a task does on a CPU and off it, in percent of the time that it was alive in the interval.

use cpuledger_model::States;
use cpuledger_model::field::{Field, Value};
use cpuledger_model::interval::Usage;

use super::entry::{Column, InTable, TableCell};
use super::interval::{known, watched};
use crate::figure::{Key as Figure, Part};

/// A part of what it did; absent where the source does not know it.
fn part(usage: &Usage, part: fn(&States) -> u64) -> Value<'static> {
    known(usage.states.as_ref().map(part))
}

/// In the order in which a row that balances is read.
pub(super) static COLUMNS: &[Column] = &[
    part! { "stolen_ns" "STOLEN_NS" 15; |usage| known(usage.stolen_ns);
        "Time on a CPU without executing; not every source knows it.";
        "Time on a CPU without executing: always shown as `-` here; `cpuledger top` shows it." => {
            in_table: in_table!(24 "%STL" right 5 rank 6 ElapsedShare sums; "Share of its time alive in which it had a CPU, while an interrupt or another guest ran."),
            orders: &["STL"],
            aliases: &[("stl", "percent of its time on a CPU without executing"), ("stolen", "the same")],
        }
    },
    field! { RunqueueWait; 25 "%WAIT" right 5 rank 5 ElapsedShare sums; "Share of its time alive in which it waited for a CPU." => {
        orders: &["WAIT"],
        aliases: &[("wait", "percent of its time waiting for a CPU")],
    } },
    part! { "blocked_ns" "BLOCKED_NS" 15; |usage| part(usage, |states| states.blocked_ns);
        "Time blocked, on I/O or anything else that no signal interrupts; only the ledger knows it.";
        "Time blocked, on I/O or anything else: always shown as `-` here; see `cpuledger top`." => {
            in_table: in_table!(26 "%BLK" right 5 rank 6 ElapsedShare sums; "Share of its time alive in which it was blocked."),
            orders: &["BLK"],
            aliases: &[("blk", "percent of its time blocked, on I/O or anything else")],
        }
    },
    part! { "io_wait_ns" "IO_WAIT_NS" 15; |usage| part(usage, |states| states.io_wait_ns);
        "The part of `blocked_ns` in which it waited for I/O; only the ledger knows it.";
        "Time blocked on I/O: always shown as `-` here; see `cpuledger top`." => {
            in_table: in_table!(27 "%IO" right 5 rank 6 ElapsedShare sums; "Share of its time alive in which it was blocked on I/O: part of %BLK."),
            orders: &["IO"],
            aliases: &[("io", "percent of its time blocked on I/O")],
        }
    },
    part! { "sleep_ns" "SLEEP_NS" 15; |usage| part(usage, |states| states.sleep_ns);
        "Time asleep, until an event or a signal; only the ledger knows it.";
        "Time asleep: always shown as `-` here; see `cpuledger top`." => {
            in_table: in_table!(28 "%SLP" right 5 rank 6 ElapsedShare sums; "Share of its time alive in which it slept."),
            orders: &["SLP"],
            aliases: &[("slp", "percent of its time asleep")],
        }
    },
    part! { "stopped_ns" "STOPPED_NS" 15; |usage| part(usage, |states| states.stopped_ns);
        "Time stopped by a signal, a tracer or a freezer; only the ledger knows it.";
        "Time stopped, by a signal or otherwise: always shown as `-` here; see `cpuledger top`." => {
            in_table: in_table!(29 "%STOP" right 5 rank 6 ElapsedShare sums; "Share of its time alive in which it was stopped."),
            orders: &["STOP"],
            aliases: &[("stop", "percent of its time stopped by a signal, tracer or freezer")],
        }
    },
    part! { "unseen_ns" "UNSEEN_NS" 15; |usage| part(usage, |states| states.unseen_ns);
        "Time off the CPU before the ledger first saw it run: what it did then is not known. Only the ledger reports this.";
        "Time off the CPU of which nothing is known: always shown as `-` here; see `cpuledger top`."
    },
    part! { "elapsed_ns" "ELAPSED_NS" 15; |usage| part(usage, |states| states.elapsed_ns);
        "Time it was alive; for a process, the sum over its threads, with those that exited; only the ledger knows it.";
        "Time it was alive in the interval: always shown as `-` here; see `cpuledger top`."
    },
];
