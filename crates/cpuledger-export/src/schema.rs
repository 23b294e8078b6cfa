//! The one list of columns: in which tables each is, what it is, and which figures of a frame it has.

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use cpuledger_model::field::{FIELDS, FieldInfo, Group, OF_ACCOUNTS};
use cpuledger_model::frame::{Column, Section, Wanted};

/// The time zone of all times.
pub(crate) const ZONE: &str = "UTC";

/// A table of the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// A row an interval.
    Intervals,
    /// A row for each process with time in an interval.
    Usage,
    /// A row for each task that died in an interval.
    Exited,
}

impl Table {
    /// Every table.
    pub const ALL: [Table; 3] = [Table::Intervals, Table::Usage, Table::Exited];

    /// Its name, which is that of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Table::Intervals => "intervals",
            Table::Usage => "usage",
            Table::Exited => "exited",
        }
    }

    /// What a frame has a row for.
    pub(crate) fn section(self) -> Section {
        match self {
            Table::Intervals => Section::Interval,
            Table::Usage => Section::Processes,
            Table::Exited => Section::Exited,
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number of 64 bits with a sign.
    Number,
    /// CLOCK_REALTIME in microseconds, UTC.
    Time,
    /// A text, with a dictionary where the format has such.
    Text,
    /// True or false.
    Flag,
}

impl Kind {
    /// As Arrow calls it.
    pub(crate) fn data_type(self) -> DataType {
        match self {
            Kind::Number => DataType::Int64,
            Kind::Time => DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into())),
            Kind::Text => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Kind::Flag => DataType::Boolean,
        }
    }

    /// As Parquet calls it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Number => "INT64",
            Kind::Time => "TIMESTAMP(MICROS, UTC)",
            Kind::Text => "STRING",
            Kind::Flag => "BOOLEAN",
        }
    }
}

/// Where the values come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The begin of the interval, CLOCK_REALTIME.
    Begin,
    /// Its end.
    End,
    /// What identifies the recording.
    Recording,
    /// The number of the record.
    Sequence,
    /// A figure of the interval, the same in each of its rows.
    Interval(Column),
    /// A figure of the row.
    Row(Column),
    /// What a counter of the row grew by.
    Growth(Column),
    /// A figure of the row that is not known where the kernel keeps the row from the source.
    Seen(Column),
    /// What a row waited for a CPU: by its states, else by the counter of the kernel, as in JSON.
    Waited,
    /// The start of the row, unless it is not to be shown.
    Start,
    /// The letter of a state.
    Letter(Column),
    /// The time of the dead that no row of `exited` has.
    Unidentified,
    /// How many rows the frame has of this section.
    Count(Section),
    /// What the cgroup of the row is called.
    Named(Column),
}

/// A column of one table or several.
#[derive(Debug, Clone, Copy)]
pub struct ColumnInfo {
    /// Its name: snake_case, unit last.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    tables: u8,
    pub(crate) origin: Origin,
    /// One sentence.
    pub help: &'static str,
}

/// Whether the table has this column.
pub fn is_in(column: &ColumnInfo, table: Table) -> bool {
    column.tables & table.bit() != 0
}

const I: u8 = 1;
const U: u8 = 2;
const X: u8 = 4;

const fn column(
    tables: u8,
    name: &'static str,
    kind: Kind,
    origin: Origin,
    help: &'static str,
) -> ColumnInfo {
    ColumnInfo { name, kind, tables, origin, help }
}

use Kind::{Flag, Number, Text, Time};
use Origin::{
    Begin, Count, End, Growth, Interval, Letter, Named, Recording, Row, Seen, Sequence, Start, Unidentified,
    Waited,
};

/// Every column, in the order of the tables. Counters that are not named here come last.
pub static COLUMNS: LazyLock<Vec<ColumnInfo>> = LazyLock::new(|| {
    let is_named = |column: Column| {
        let is_own = |named: &ColumnInfo| match named.origin {
            Growth(own) => own == column,
            Waited => column == Column::RUNQUEUE_WAIT_NS,
            _ => false,
        };
        NAMED.iter().any(is_own)
    };
    let is_counter = |info: &&FieldInfo| {
        matches!(info.group, Group::Activity | Group::Delays) || OF_ACCOUNTS.contains(info.field)
    };
    let more = FIELDS.iter().filter(is_counter).filter_map(|info| {
        let counter = Column::known().find(|column| column.name() == info.key)?;
        (!is_named(counter)).then(|| column(U, info.key, Number, Growth(counter), info.help))
    });
    NAMED.iter().copied().chain(more).collect()
});

const NAMED: &[ColumnInfo] = &[
    column(I | U | X, "time", Time, Begin, "Begin of the interval."),
    column(I, "end_time", Time, End, "End of the interval."),
    column(I | U | X, "boot_id", Text, Interval(Column::BOOT_ID), "Identifier of the boot."),
    column(I | U | X, "recording", Text, Recording, "Identifier of the recording."),
    column(
        I | U | X,
        "sequence",
        Number,
        Sequence,
        "Number of the interval in its recording: with `recording` it says which one this is.",
    ),
    column(I, "start_ns", Number, Row(Column::START_NS), "Begin of the interval, CLOCK_MONOTONIC."),
    column(I, "end_ns", Number, Row(Column::END_NS), "End of the interval, CLOCK_MONOTONIC."),
    column(I, "source", Text, Row(Column::SOURCE), "Where the figures come from."),
    column(I, "online_cpus", Number, Row(Column::ONLINE_CPUS), "CPUs online at the end."),
    column(I, "capacity_ns", Number, Row(Column::CAPACITY_NS), "Online CPUs × length."),
    column(
        I,
        "attributed_ns",
        Number,
        Row(Column::ATTRIBUTED_NS),
        "The sum of `cpu_ns` over the rows of `usage` of this interval.",
    ),
    column(I, "idle_ns", Number, Row(Column::IDLE_NS), "Time of the idle tasks."),
    column(I, "unattributed_ns", Number, Row(Column::UNATTRIBUTED_NS), "What could not be attributed."),
    column(I, "no_slot_ns", Number, Row(Column::NO_SLOT_NS), "Of that: of processes that found no slot."),
    column(
        I,
        "forgotten_task_ns",
        Number,
        Row(Column::FORGOTTEN_TASK_NS),
        "Of that: of the dead whose heir was forgotten.",
    ),
    column(
        I,
        "uncovered_cpu_ns",
        Number,
        Row(Column::UNCOVERED_CPU_NS),
        "Of that: of CPUs that the hooks did not cover.",
    ),
    column(
        I,
        "not_attached_ns",
        Number,
        Row(Column::NOT_ATTACHED_NS),
        "Of that: while no ledger was attached.",
    ),
    column(
        I,
        "unidentified_ns",
        Number,
        Unidentified,
        "Of the attributed time: of the dead that have no row in `exited`, and of threads that found no slot.",
    ),
    column(
        I,
        "suspended_ns",
        Number,
        Row(Column::SUSPENDED_NS),
        "For how long the machine was suspended in it.",
    ),
    column(I, "processes", Number, Count(Section::Processes), "Rows of `usage` of this interval."),
    column(I, "exits", Number, Count(Section::Exited), "Rows of `exited` of this interval."),
    column(
        I,
        "unidentified_exits",
        Number,
        Row(Column::UNIDENTIFIED_EXITS),
        "Tasks that died and whose identity was lost.",
    ),
    column(I, "missed_exits", Number, Row(Column::MISSED_EXITS), "Tasks that died and were not reported."),
    column(X, "tid", Number, Row(Column::TID), "Id of the task."),
    column(U | X, "pid", Number, Row(Column::PID), "Id of its process."),
    column(
        U | X,
        "ppid",
        Number,
        Row(Column::PPID),
        "Pid of the parent; in `exited`, 0 where that is unknown.",
    ),
    column(
        U | X,
        "accounting_ppid",
        Number,
        Row(Column::ACCOUNTING_PPID),
        "Pid of the heir, which inherits its time.",
    ),
    column(
        X,
        "accounting_start_ns",
        Number,
        Row(Column::ACCOUNTING_START_NS),
        "CLOCK_BOOTTIME at the start of the heir.",
    ),
    column(
        U | X,
        "start_time_ns",
        Number,
        Start,
        "CLOCK_BOOTTIME at the start. With the id it says which task this is.",
    ),
    column(
        X,
        "process_start_ns",
        Number,
        Row(Column::PROCESS_START_NS),
        "CLOCK_BOOTTIME at the start of its process.",
    ),
    column(
        U | X,
        "comm",
        Text,
        Row(Column::COMM),
        "Name of the task; `(others)`: the time of all that the recording may not show.",
    ),
    column(U | X, "uid", Number, Row(Column::UID), "Real user."),
    column(U | X, "euid", Number, Row(Column::EUID), "Effective user."),
    column(
        U,
        "cgroup_id",
        Number,
        Row(Column::CGROUP_ID),
        "Cgroup in the unified hierarchy: inode number of its directory.",
    ),
    column(
        U | X,
        "cgroup",
        Text,
        Named(Column::PATH),
        "Path of the cgroup in the hierarchy by which CPU time is divided; absent: not known.",
    ),
    column(
        U | X,
        "unit",
        Text,
        Named(Column::UNIT),
        "Unit of systemd or, outside of units, the slice; absent: not known.",
    ),
    column(
        U | X,
        "container",
        Text,
        Named(Column::CONTAINER),
        "Container, by the name that its runtime has for it.",
    ),
    column(U | X, "container_id", Text, Named(Column::CONTAINER_ID), "Id of the container."),
    column(
        U | X,
        "nameless",
        Text,
        Named(Column::NAMELESS),
        "Why the container has no name; its image and pod are not known then.",
    ),
    column(U | X, "image", Text, Named(Column::IMAGE), "Image of the container."),
    column(U | X, "pod", Text, Named(Column::POD), "Pod of the container."),
    column(U | X, "namespace", Text, Named(Column::NAMESPACE), "Kubernetes namespace of the pod."),
    column(U, "state", Text, Letter(Column::STATE), "State letter at the end, as in /proc/PID/stat."),
    column(U, "threads", Number, Row(Column::THREADS), "Threads of the process at the end."),
    column(U, "nice", Number, Row(Column::NICE), "Nice value at the end."),
    column(
        U | X,
        "cpu_ns",
        Number,
        Seen(Column::CPU_NS),
        "CPU time in the interval. In `usage`: the sum of the three parts. That of `exited` is in `usage`, too: with the process or its heir.",
    ),
    column(U, "self_ns", Number, Seen(Column::SELF_NS), "Of that: of its living tasks."),
    column(
        U,
        "exited_threads_ns",
        Number,
        Row(Column::EXITED_THREADS_NS),
        "Of that: of its threads that died.",
    ),
    column(
        U,
        "exited_children_ns",
        Number,
        Row(Column::EXITED_CHILDREN_NS),
        "Of that: of the dead processes it inherits from.",
    ),
    column(U, "stolen_ns", Number, Row(Column::STOLEN_NS), "Time on a CPU in which it did not execute."),
    column(
        U,
        "exited_children_stolen_ns",
        Number,
        Row(Column::EXITED_CHILDREN_STOLEN_NS),
        "Likewise, of the dead processes it inherits from.",
    ),
    column(
        U,
        "self_user_ns",
        Number,
        Row(Column::SELF_USER_NS),
        "User time of `self_ns`. What is neither that nor stolen is system time, in all parts.",
    ),
    column(
        U,
        "exited_threads_user_ns",
        Number,
        Row(Column::EXITED_THREADS_USER_NS),
        "User time of `exited_threads_ns`.",
    ),
    column(
        U,
        "exited_threads_stolen_ns",
        Number,
        Row(Column::EXITED_THREADS_STOLEN_NS),
        "Stolen time of `exited_threads_ns`: a part of `stolen_ns`.",
    ),
    column(
        U,
        "exited_children_user_ns",
        Number,
        Row(Column::EXITED_CHILDREN_USER_NS),
        "User time of `exited_children_ns`.",
    ),
    column(
        U,
        "user_ns",
        Number,
        Growth(Column::USER_NS),
        "CPU time in user mode, by the kernel's scaling rule.",
    ),
    column(U, "system_ns", Number, Growth(Column::SYSTEM_NS), "CPU time in the kernel, by the same rule."),
    column(
        U | X,
        "elapsed_ns",
        Number,
        Row(Column::ELAPSED_NS),
        "The time it was alive in the interval; of a process, the sum over its threads.",
    ),
    column(U | X, "runqueue_wait_ns", Number, Waited, "It was runnable, and waited for a CPU."),
    column(U | X, "blocked_ns", Number, Row(Column::BLOCKED_NS), "It waited without being interruptible."),
    column(
        U | X,
        "io_wait_ns",
        Number,
        Row(Column::IO_WAIT_NS),
        "The part of that in which it waited for I/O.",
    ),
    column(U | X, "sleep_ns", Number, Row(Column::SLEEP_NS), "It slept until a signal or an event."),
    column(
        U | X,
        "stopped_ns",
        Number,
        Row(Column::STOPPED_NS),
        "A signal, a tracer or a freezer had stopped it.",
    ),
    column(U | X, "unseen_ns", Number, Row(Column::UNSEEN_NS), "What it did is not known."),
    column(U, "minor_faults", Number, Growth(Column::MINOR_FAULTS), "Page faults without I/O."),
    column(U, "major_faults", Number, Growth(Column::MAJOR_FAULTS), "Page faults with I/O."),
    column(
        U,
        "voluntary_switches",
        Number,
        Growth(Column::VOLUNTARY_SWITCHES),
        "Context switches because it waited.",
    ),
    column(
        U,
        "involuntary_switches",
        Number,
        Growth(Column::INVOLUNTARY_SWITCHES),
        "Context switches because it was preempted.",
    ),
    column(U, "read_bytes", Number, Growth(Column::READ_BYTES), "Bytes read from block devices."),
    column(U, "write_bytes", Number, Growth(Column::WRITE_BYTES), "Bytes written to block devices."),
    column(U, "rss_bytes", Number, Row(Column::RSS_BYTES), "Resident memory at the end."),
    column(
        X,
        "lifetime_ns",
        Number,
        Row(Column::LIFETIME_NS),
        "From the start to the last switch, suspension not counted.",
    ),
    column(X, "exit_code", Number, Row(Column::EXIT_CODE), "As wait(2) returns it."),
    column(
        X,
        "network_sent_bytes",
        Number,
        Row(Column::NETWORK_SENT_BYTES),
        "Bytes that it sent in the interval, but for Unix sockets.",
    ),
    column(
        X,
        "network_received_bytes",
        Number,
        Row(Column::NETWORK_RECEIVED_BYTES),
        "Bytes received, likewise.",
    ),
    column(X, "unix_sent_bytes", Number, Row(Column::UNIX_SENT_BYTES), "Bytes that it sent by Unix sockets."),
    column(X, "unix_received_bytes", Number, Row(Column::UNIX_RECEIVED_BYTES), "Bytes received, likewise."),
    column(
        X,
        "disk_read_bytes",
        Number,
        Row(Column::DISK_READ_BYTES),
        "Bytes that disks read for it in the interval.",
    ),
    column(X, "disk_written_bytes", Number, Row(Column::DISK_WRITTEN_BYTES), "Bytes written, likewise."),
    column(
        X,
        "wait_suffered_ns",
        Number,
        Row(Column::WAIT_SUFFERED_NS),
        "Time in the interval in which it waited for a CPU, by the account of blame.",
    ),
    column(
        X,
        "wait_caused_ns",
        Number,
        Row(Column::WAIT_CAUSED_NS),
        "Time that others waited for its CPU, summed.",
    ),
    column(X, "ends_process", Flag, Row(Column::ENDS_PROCESS), "Whether no thread of its process is left."),
    column(
        X,
        "life_cpu_ns",
        Number,
        Row(Column::LIFE_CPU_NS),
        "CPU time of its life, as far as the source saw it.",
    ),
    column(
        X,
        "life_runqueue_wait_ns",
        Number,
        Row(Column::LIFE_WAITING_NS),
        "As `runqueue_wait_ns`, of that life.",
    ),
    column(X, "life_blocked_ns", Number, Row(Column::LIFE_BLOCKED_NS), "As `blocked_ns`, of that life."),
    column(X, "life_sleep_ns", Number, Row(Column::LIFE_SLEEP_NS), "As `sleep_ns`, of that life."),
];

/// The columns of a table.
pub(crate) fn columns(table: Table) -> impl Iterator<Item = &'static ColumnInfo> {
    COLUMNS.iter().filter(move |column| is_in(column, table))
}

/// What the tables are made of: of a frame no more has to be read. The flags say what is not to be shown, or how much is lost.
pub(crate) fn wanted() -> Wanted {
    let figures = COLUMNS.iter().filter_map(|column| match column.origin {
        Origin::Interval(figure)
        | Origin::Row(figure)
        | Origin::Seen(figure)
        | Origin::Letter(figure)
        | Origin::Named(figure) => Some(figure),
        Origin::Growth(figure) => figure.growth(),
        Origin::Start => Some(Column::START_TIME_NS),
        Origin::Begin
        | Origin::End
        | Origin::Recording
        | Origin::Sequence
        | Origin::Unidentified
        | Origin::Waited
        | Origin::Count(_) => None,
    });
    let waited = [Some(Column::WAITING_NS), Column::RUNQUEUE_WAIT_NS.growth()].into_iter().flatten();
    let flags = [Column::IS_UNSEEN, Column::HIDES_START, Column::KNOWS_EXITS];
    // What says which cgroup a row is in, and what the path tells of one without names.
    let cgroups = [Column::CGROUP_ID, Column::CGROUP_V1_CPU_ID, Column::PATH_REST];
    let columns: Vec<Column> = figures.chain(waited).chain(flags).chain(cgroups).collect();
    let sections: Vec<Section> =
        Table::ALL.map(Table::section).into_iter().chain([Section::Cgroups]).collect();
    Wanted::of(&sections, &columns)
}

/// The schema of a table. Any value may be absent: what a source cannot tell is not 0.
pub(crate) fn schema(table: Table) -> Arc<Schema> {
    let fields = columns(table).map(|column| Field::new(column.name, column.kind.data_type(), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
