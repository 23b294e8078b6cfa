//! The families of metrics: one row each, from which the text and docs/metrics.md are made.

use crate::books::{Books, Machine};
use crate::own::Own;
use crate::totals::Figure;

/// Where the samples of a family come from.
#[derive(Clone, Copy)]
pub enum Kind {
    /// CPU time by dimension, name and part.
    Cpu,
    /// CPU time by dimension of series that are not shown any more.
    Departed,
    /// A figure by dimension and name.
    Series(Figure),
    /// A figure of the machine.
    Machine(fn(&Machine) -> u128),
    /// Unattributed time by reason.
    Unattributed,
    /// What the program says of itself and of the service at each scrape; `None`: it is not known.
    Own(fn(&Books, &Own) -> Option<u128>),
    /// What the server says of itself; a push has other figures.
    Server(fn(&Books, &Own) -> Option<u128>),
}

/// A family.
pub struct Family {
    /// Its name, without `_total`.
    pub name: &'static str,
    /// `seconds`: values are nanoseconds, printed as seconds. `bytes`, or nothing.
    pub unit: &'static str,
    /// Whether it is a counter; else a gauge.
    pub is_counter: bool,
    /// What it is, in one line.
    pub help: &'static str,
    /// Where its samples come from.
    pub kind: Kind,
}

/// The parts of CPU time, as values of a label.
pub const PARTS: [(&str, Figure); 3] = [
    ("self", Figure::SelfNs),
    ("exited_threads", Figure::ExitedThreadsNs),
    ("exited_children", Figure::ExitedChildrenNs),
];

const fn counter(name: &'static str, unit: &'static str, help: &'static str, kind: Kind) -> Family {
    Family { name, unit, is_counter: true, help, kind }
}

const fn gauge(name: &'static str, unit: &'static str, help: &'static str, kind: Kind) -> Family {
    Family { name, unit, is_counter: false, help, kind }
}

/// All families, in the order of the text.
pub const FAMILIES: [Family; 22] = [
    counter(
        "cpuledger_cpu_seconds",
        "seconds",
        "CPU time by name. All samples of a dimension grow by as much as the attributed time.",
        Kind::Cpu,
    ),
    gauge(
        "cpuledger_departed_cpu_seconds",
        "seconds",
        "CPU time of series that have left: with it, the samples above add up to the attributed time.",
        Kind::Departed,
    ),
    counter(
        "cpuledger_wait_seconds",
        "seconds",
        "Time that runnable tasks waited for a CPU.",
        Kind::Series(Figure::WaitingNs),
    ),
    counter(
        "cpuledger_stolen_seconds",
        "seconds",
        "Time on a CPU in which living tasks did not execute: interrupts and the hypervisor.",
        Kind::Series(Figure::StolenNs),
    ),
    counter("cpuledger_births", "", "Processes that began.", Kind::Series(Figure::Births)),
    counter("cpuledger_exits", "", "Processes that ended.", Kind::Series(Figure::Exits)),
    counter(
        "cpuledger_capacity_seconds",
        "seconds",
        "Time of all online CPUs: attributed, idle and unattributed time add up to it.",
        Kind::Machine(|machine| machine.capacity_ns),
    ),
    counter(
        "cpuledger_attributed_seconds",
        "seconds",
        "CPU time of all tasks.",
        Kind::Machine(|machine| machine.attributed_ns),
    ),
    counter(
        "cpuledger_idle_seconds",
        "seconds",
        "Time in which CPUs were idle.",
        Kind::Machine(|machine| machine.idle_ns),
    ),
    counter(
        "cpuledger_unattributed_seconds",
        "seconds",
        "Time that could not be attributed, by reason.",
        Kind::Unattributed,
    ),
    counter(
        "cpuledger_intervals",
        "",
        "Intervals of the service that were read.",
        Kind::Machine(|machine| u128::from(machine.intervals)),
    ),
    counter(
        "cpuledger_unbalanced_intervals",
        "",
        "Intervals after which the sums above did not hold: a fault, always 0.",
        Kind::Machine(|machine| u128::from(machine.unbalanced)),
    ),
    counter(
        "cpuledger_gaps",
        "",
        "Spans without an interval: the service was down, or this reader was too slow.",
        Kind::Machine(|machine| u128::from(machine.gaps)),
    ),
    counter(
        "cpuledger_unidentified_exits",
        "",
        "Exited tasks whose identity was lost. Their time is counted for the process that inherited it.",
        Kind::Machine(|machine| u128::from(machine.unidentified_exits)),
    ),
    counter(
        "cpuledger_missed_switches",
        "",
        "Context switches that this kernel hides from BPF.",
        Kind::Machine(|machine| u128::from(machine.missed_switches)),
    ),
    counter(
        "cpuledger_service_cpu_seconds",
        "seconds",
        "CPU time of the service itself.",
        Kind::Own(|books, _| books.service_ns()),
    ),
    gauge(
        "cpuledger_up",
        "",
        "1 if the service is connected, else 0.",
        Kind::Own(|_, own| Some(u128::from(own.is_connected()))),
    ),
    gauge(
        "cpuledger_interval_age_seconds",
        "seconds",
        "Age of the last interval.",
        Kind::Own(|books, _| books.age().map(|age| age.as_nanos())),
    ),
    counter(
        "cpuledger_scrapes",
        "",
        "Answered scrapes.",
        Kind::Server(|_, own| Some(u128::from(own.scrapes()))),
    ),
    counter(
        "process_cpu_seconds",
        "seconds",
        "CPU time of this exporter.",
        Kind::Server(|_, own| own.cpu_ns()),
    ),
    gauge(
        "process_resident_memory_bytes",
        "bytes",
        "Resident memory of this exporter.",
        Kind::Server(|_, own| own.resident_bytes()),
    ),
    gauge(
        "process_start_time_seconds",
        "seconds",
        "When this exporter was started, in seconds since 1970.",
        Kind::Server(|_, own| own.started_ns()),
    ),
];
