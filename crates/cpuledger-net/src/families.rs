//! The families of metrics: one row each, from which the text and docs/metrics.md are made.

use cpuledger_model::frame::Column;

use crate::books::{Books, Machine};
use crate::compat::groups::Gauge;
use crate::modes::Modes;
use crate::own::Own;
use crate::totals::Figure::{self, Of};

/// A label beside the dimension.
#[derive(Debug, Clone, Copy)]
pub struct Label<'a> {
    /// Its name, and its value.
    pub own: (&'static str, &'a str),
    /// The same as an attribute of OpenTelemetry. With an empty name it is called like the dimension.
    pub attribute: (&'static str, &'a str),
}

impl Label<'_> {
    /// With the same value as an attribute.
    pub fn of<'a>(name: &'static str, attribute: &'static str, value: &'a str) -> Label<'a> {
        Label { own: (name, value), attribute: (attribute, value) }
    }
}

/// Where the samples of a family come from.
#[derive(Clone, Copy)]
pub enum Kind {
    /// CPU time by dimension, name and part.
    Cpu,
    /// CPU time by dimension of series that are not shown any more.
    Departed,
    /// A figure by dimension and name.
    Series(Figure),
    /// Two figures by dimension, name and direction.
    Directions(&'static Directions, [Figure; 2]),
    /// Who made whom wait for a CPU.
    Pairs(OfPairs),
    /// A figure of the machine.
    Machine(fn(&Machine) -> u128),
    /// Unattributed time by reason.
    Unattributed,
    /// What the program says of itself and of the service at each scrape; `None`: it is not known.
    Own(fn(&Books, &Own) -> Option<u128>),
    /// What the server says of itself; a push has other figures.
    Server(fn(&Books, &Own) -> Option<u128>),
    /// Of groups of processes, as process-exporter has them.
    Group(OfGroup),
    /// CPU time of containers, as cAdvisor has it, with these labels beside those of the container.
    Container(&'static [(&'static str, &'static str)], fn(&Modes) -> u128),
}

impl Kind {
    /// What each name has of a family by dimension, with a further label where there are several; nothing: it is another family.
    pub fn of_name(&self) -> Vec<(Figure, Option<Label<'static>>)> {
        match *self {
            Kind::Series(figure) => vec![(figure, None)],
            Kind::Cpu => {
                PARTS.map(|(part, figure)| (figure, Some(Label::of("part", "cpuledger.part", part)))).into()
            }
            Kind::Directions(of, figures) => [0, 1]
                .map(|nth| {
                    let (own, attribute) = (("direction", of.words[nth]), (of.attribute, of.values[nth]));
                    (figures[nth], Some(Label { own, attribute }))
                })
                .into(),
            _ => Vec::new(),
        }
    }
}

/// Samples of who made whom wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OfPairs {
    /// Time by dimension and both names.
    Each,
    /// Time by dimension of series that are not shown any more.
    Departed,
    /// All of it.
    All,
}

/// What the two values of a label are called.
pub struct Directions {
    /// As values of `direction`.
    pub words: [&'static str; 2],
    /// The attribute of OpenTelemetry's semantic conventions, and its values.
    pub attribute: &'static str,
    /// Likewise.
    pub values: [&'static str; 2],
}

/// Of sockets.
static SOCKETS: Directions = Directions {
    words: ["sent", "received"],
    attribute: "network.io.direction",
    values: ["transmit", "receive"],
};
/// Of disks.
static DISKS: Directions =
    Directions { words: ["read", "written"], attribute: "disk.io.direction", values: ["read", "write"] };

/// Samples of a group.
#[derive(Clone, Copy)]
pub enum OfGroup {
    /// CPU time by mode.
    Cpu,
    /// Counters by the values of a label; without a name of that, there is one.
    Counts(&'static str, &'static [(&'static str, Column)]),
    /// What there is at the moment, likewise.
    Gauges(&'static str, &'static [(&'static str, Gauge)]),
    /// When the oldest process began.
    OldestStart,
    /// The greatest share of the files that a process may have open.
    WorstRatio,
}

/// A family.
pub struct Family {
    /// Its name, without `_total`. It ends in the unit, if there is one.
    pub name: &'static str,
    /// Whether it is a counter; else a gauge.
    pub is_counter: bool,
    /// What it is, in one line.
    pub help: &'static str,
    /// Where its samples come from.
    pub kind: Kind,
}

impl Family {
    /// `seconds` and `ratio`: values are billionths of it. `bytes`, or nothing.
    pub fn unit(&self) -> &'static str {
        let last = self.name.rsplit('_').next();
        ["seconds", "bytes", "ratio"].into_iter().find(|unit| last == Some(unit)).unwrap_or_default()
    }
}

/// The parts of CPU time, as values of a label.
pub const PARTS: [(&str, Figure); 3] = [
    ("self", Figure::SelfNs),
    ("exited_threads", Figure::ExitedThreadsNs),
    ("exited_children", Figure::ExitedChildrenNs),
];

const fn counter(name: &'static str, help: &'static str, kind: Kind) -> Family {
    Family { name, is_counter: true, help, kind }
}

const fn gauge(name: &'static str, help: &'static str, kind: Kind) -> Family {
    Family { name, is_counter: false, help, kind }
}

/// A counter of a figure by dimension and name.
const fn series(name: &'static str, figure: &'static str, help: &'static str) -> Family {
    counter(name, help, Kind::Series(Of(figure)))
}

/// A counter of the machine.
const fn machine(name: &'static str, help: &'static str, value: fn(&Machine) -> u128) -> Family {
    counter(name, help, Kind::Machine(value))
}

/// Counters of a group of processes.
const fn counts(
    name: &'static str,
    help: &'static str,
    label: &'static str,
    counts: &'static [(&'static str, Column)],
) -> Family {
    counter(name, help, Kind::Group(OfGroup::Counts(label, counts)))
}

/// What there is of a group of processes.
const fn gauges(
    name: &'static str,
    help: &'static str,
    label: &'static str,
    gauges: &'static [(&'static str, Gauge)],
) -> Family {
    gauge(name, help, Kind::Group(OfGroup::Gauges(label, gauges)))
}

/// All families, in the order of the text.
pub const FAMILIES: [Family; 30] = [
    counter(
        "cpuledger_cpu_seconds",
        "CPU time by name. All samples of a dimension grow by as much as the attributed time.",
        Kind::Cpu,
    ),
    gauge(
        "cpuledger_departed_cpu_seconds",
        "CPU time of series that have left: with it, the samples above add up to the attributed time.",
        Kind::Departed,
    ),
    series("cpuledger_wait_seconds", "runqueue_wait_ns", "Time that runnable tasks waited for a CPU."),
    series(
        "cpuledger_stolen_seconds",
        "stolen_ns",
        "Time on a CPU in which living tasks did not execute: interrupts and the hypervisor.",
    ),
    series(
        "cpuledger_wait_caused_seconds",
        "wait_caused_ns",
        "Time that others waited for a CPU that tasks had, while an account of blame is kept.",
    ),
    series(
        "cpuledger_wait_suffered_seconds",
        "wait_suffered_ns",
        "Time that tasks waited for a CPU, likewise.",
    ),
    counter(
        "cpuledger_wait_pair_seconds",
        "Time that tasks of a name waited because of another one, or of a cause, while an account of pairs is kept.",
        Kind::Pairs(OfPairs::Each),
    ),
    gauge(
        "cpuledger_departed_wait_pair_seconds",
        "The same of series that have left: with it, the samples above add up to the next.",
        Kind::Pairs(OfPairs::Departed),
    ),
    counter(
        "cpuledger_paired_wait_seconds",
        "Time that tasks waited for a CPU in intervals with an account of pairs.",
        Kind::Pairs(OfPairs::All),
    ),
    counter(
        "cpuledger_network_bytes",
        "Bytes that tasks sent and received by sockets, but for Unix sockets, while an account of the network is kept.",
        Kind::Directions(&SOCKETS, [Of("network_sent_bytes"), Of("network_received_bytes")]),
    ),
    counter(
        "cpuledger_unix_socket_bytes",
        "The same by Unix sockets.",
        Kind::Directions(&SOCKETS, [Of("unix_sent_bytes"), Of("unix_received_bytes")]),
    ),
    counter(
        "cpuledger_disk_bytes",
        "Bytes that disks read and wrote for tasks, while an account of disks is kept.",
        Kind::Directions(&DISKS, [Of("disk_read_bytes"), Of("disk_written_bytes")]),
    ),
    series("cpuledger_births", "births", "Processes that began."),
    series("cpuledger_exits", "deaths", "Processes that ended."),
    machine(
        "cpuledger_capacity_seconds",
        "Time of all online CPUs: attributed, idle and unattributed time add up to it.",
        |machine| machine.capacity_ns,
    ),
    machine("cpuledger_attributed_seconds", "CPU time of all tasks.", |machine| machine.attributed_ns),
    machine("cpuledger_idle_seconds", "Time in which CPUs were idle.", |machine| machine.idle_ns),
    counter(
        "cpuledger_unattributed_seconds",
        "Time that could not be attributed, by reason.",
        Kind::Unattributed,
    ),
    machine("cpuledger_intervals", "Intervals of the service that were read.", |machine| {
        machine.intervals.into()
    }),
    machine(
        "cpuledger_unbalanced_intervals",
        "Intervals after which the sums above did not hold: a fault, always 0.",
        |machine| machine.unbalanced.into(),
    ),
    machine(
        "cpuledger_gaps",
        "Spans without an interval: the service was down, or this reader was too slow.",
        |machine| machine.gaps.into(),
    ),
    machine(
        "cpuledger_unidentified_exits",
        "Exited tasks whose identity was lost. Their time is counted for the process that inherited it.",
        |machine| machine.unidentified_exits.into(),
    ),
    machine("cpuledger_missed_switches", "Context switches that this kernel hides from BPF.", |machine| {
        machine.missed_switches.into()
    }),
    counter(
        "cpuledger_service_cpu_seconds",
        "CPU time of the service itself.",
        Kind::Own(|books, _| books.service_ns()),
    ),
    gauge(
        "cpuledger_up",
        "1 if the service is connected, else 0.",
        Kind::Own(|_, own| Some(own.is_connected().into())),
    ),
    gauge(
        "cpuledger_interval_age_seconds",
        "Age of the last interval.",
        Kind::Own(|books, _| books.age().map(|age| age.as_nanos())),
    ),
    counter("cpuledger_scrapes", "Answered scrapes.", Kind::Server(|_, own| Some(own.scrapes().into()))),
    counter(
        "process_cpu_seconds",
        "CPU time of this exporter.",
        Kind::Server(|_, own| Some(own.cpu_ns().into())),
    ),
    gauge(
        "process_resident_memory_bytes",
        "Resident memory of this exporter.",
        Kind::Server(|_, own| own.resident_bytes()),
    ),
    gauge(
        "process_start_time_seconds",
        "When this exporter was started, in seconds since 1970.",
        Kind::Server(|_, own| Some(own.started_ns().into())),
    ),
];

/// Those of process-exporter that there are, under its names.
pub const OF_PROCESS_EXPORTER: [Family; 13] = [
    gauges("namedprocess_namegroup_num_procs", "Processes of the group.", "", &[("", Gauge::Processes)]),
    counter(
        "namedprocess_namegroup_cpu_seconds",
        "CPU time of the group, with that of all its processes that have ended.",
        Kind::Group(OfGroup::Cpu),
    ),
    counts(
        "namedprocess_namegroup_read_bytes",
        "Bytes read from block devices.",
        "",
        &[("", Column::READ_BYTES)],
    ),
    counts(
        "namedprocess_namegroup_write_bytes",
        "Bytes written to block devices.",
        "",
        &[("", Column::WRITE_BYTES)],
    ),
    counts(
        "namedprocess_namegroup_major_page_faults",
        "Page faults with I/O.",
        "",
        &[("", Column::MAJOR_FAULTS)],
    ),
    counts(
        "namedprocess_namegroup_minor_page_faults",
        "Page faults without I/O.",
        "",
        &[("", Column::MINOR_FAULTS)],
    ),
    counts(
        "namedprocess_namegroup_context_switches",
        "Context switches.",
        "ctxswitchtype",
        &[("voluntary", Column::VOLUNTARY_SWITCHES), ("nonvoluntary", Column::INVOLUNTARY_SWITCHES)],
    ),
    gauges(
        "namedprocess_namegroup_memory_bytes",
        "Memory of the group.",
        "memtype",
        &[
            ("resident", Gauge::ResidentBytes),
            ("virtual", Gauge::VirtualBytes),
            ("swapped", Gauge::SwappedBytes),
        ],
    ),
    gauges("namedprocess_namegroup_open_filedesc", "Open files of the group.", "", &[("", Gauge::OpenFiles)]),
    gauge(
        "namedprocess_namegroup_worst_fd_ratio",
        "Open files by the limit of them, of the process of the group where that is the most.",
        Kind::Group(OfGroup::WorstRatio),
    ),
    gauge(
        "namedprocess_namegroup_oldest_start_time_seconds",
        "When the oldest process of the group began, in seconds since 1970.",
        Kind::Group(OfGroup::OldestStart),
    ),
    gauges("namedprocess_namegroup_num_threads", "Threads of the group.", "", &[("", Gauge::Threads)]),
    gauges(
        "namedprocess_namegroup_states",
        "Processes of the group by the states of their leaders.",
        "state",
        &[
            ("Running", Gauge::Running),
            ("Sleeping", Gauge::Sleeping),
            ("Waiting", Gauge::Waiting),
            ("Zombie", Gauge::Zombie),
            ("Other", Gauge::OtherState),
        ],
    ),
];

/// Those of cAdvisor that there are, under its names.
pub const OF_CADVISOR: [Family; 3] = [
    counter(
        "container_cpu_usage_seconds",
        "CPU time of the container.",
        Kind::Container(&[("cpu", "total")], Modes::executed_ns),
    ),
    counter(
        "container_cpu_user_seconds",
        "CPU time of the container in user mode.",
        Kind::Container(&[], |modes| modes.user_ns),
    ),
    counter(
        "container_cpu_system_seconds",
        "CPU time of the container in the kernel.",
        Kind::Container(&[], |modes| modes.system_ns),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_one_of_reports() {
        let figures = FAMILIES.iter().flat_map(|family| family.kind.of_name());
        let named: Vec<Figure> =
            figures.map(|(figure, _)| figure).filter(|figure| matches!(figure, Of(_))).collect();
        assert!(named.len() > 10 && named.iter().all(|figure| figure.place().is_some()), "{named:?}");
    }
}
