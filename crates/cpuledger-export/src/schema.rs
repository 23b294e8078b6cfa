//! The one list of columns: in which tables each is, what it is, and which figures of a frame it has.

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use cpuledger_model::field::{FIELDS, FieldInfo, Group, OF_ACCOUNTS};
use cpuledger_model::frame::{self, Column, Section, Wanted};
use cpuledger_model::kinds;

/// The time zone of all times.
pub(crate) const ZONE: &str = "UTC";

kinds! {
    /// A table of the export.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Table of 1 {
        /// A row an interval.
        Intervals ["intervals"],
        /// A row for each process with time in an interval.
        Usage ["usage"],
        /// A row for each task that died in an interval.
        Exited ["exited"],
    }
}

impl Table {
    /// Its name, which is that of its folder.
    pub fn name(self) -> &'static str {
        self.texts()[0]
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

impl Origin {
    /// The figure of a frame that the values are, or are made of.
    const fn figure(self) -> Option<Column> {
        match self {
            Interval(figure) | Row(figure) | Growth(figure) | Seen(figure) | Letter(figure)
            | Named(figure) => Some(figure),
            Begin | End | Recording | Sequence | Waited | Start | Unidentified | Count(_) => None,
        }
    }
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

/// A column of the name that frames have for the figure.
const fn told(tables: u8, origin: Origin, help: &'static str) -> ColumnInfo {
    let Some(figure) = origin.figure() else { panic!("it is no figure of a frame") };
    let kind = match (origin, figure.kind()) {
        (Letter(_) | Named(_), _) | (_, frame::Kind::Text) => Text,
        _ => Number,
    };
    column(tables, figure.name(), kind, origin, help)
}

/// Likewise, and of which the same is to be said.
const fn same(tables: u8, origin: Origin) -> ColumnInfo {
    let Some(figure) = origin.figure() else { panic!("it is no figure of a frame") };
    told(tables, origin, figure.help())
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
    same(I | U | X, Interval(Column::BOOT_ID)),
    column(I | U | X, "recording", Text, Recording, "Identifier of the recording."),
    column(
        I | U | X,
        "sequence",
        Number,
        Sequence,
        "Number of the interval in its recording: with `recording` it says which one this is.",
    ),
    told(I, Row(Column::START_NS), "Begin of the interval, CLOCK_MONOTONIC."),
    told(I, Row(Column::END_NS), "End of the interval, CLOCK_MONOTONIC."),
    same(I, Row(Column::SOURCE)),
    told(I, Row(Column::ONLINE_CPUS), "CPUs online at the end."),
    same(I, Row(Column::CAPACITY_NS)),
    told(I, Row(Column::ATTRIBUTED_NS), "The sum of `cpu_ns` over the rows of `usage` of this interval."),
    same(I, Row(Column::IDLE_NS)),
    same(I, Row(Column::UNATTRIBUTED_NS)),
    same(I, Row(Column::NO_SLOT_NS)),
    same(I, Row(Column::FORGOTTEN_TASK_NS)),
    same(I, Row(Column::UNCOVERED_CPU_NS)),
    same(I, Row(Column::NOT_ATTACHED_NS)),
    column(
        I,
        "unidentified_ns",
        Number,
        Unidentified,
        "Of the attributed time: of the dead that have no row in `exited`, and of threads that found no slot.",
    ),
    told(I, Row(Column::SUSPENDED_NS), "For how long the machine was suspended in it."),
    column(I, "processes", Number, Count(Section::Processes), "Rows of `usage` of this interval."),
    column(I, "exits", Number, Count(Section::Exited), "Rows of `exited` of this interval."),
    same(I, Row(Column::UNIDENTIFIED_EXITS)),
    same(I, Row(Column::MISSED_EXITS)),
    same(X, Row(Column::TID)),
    told(U | X, Row(Column::PID), "Id of its process."),
    told(U | X, Row(Column::PPID), "Pid of the parent; in `exited`, 0 where that is unknown."),
    same(U | X, Row(Column::ACCOUNTING_PPID)),
    same(X, Row(Column::ACCOUNTING_START_NS)),
    column(
        U | X,
        "start_time_ns",
        Number,
        Start,
        "CLOCK_BOOTTIME at the start. With the id it says which task this is.",
    ),
    same(X, Row(Column::PROCESS_START_NS)),
    told(
        U | X,
        Row(Column::COMM),
        "Name of the task; `(others)`: the time of all that the recording may not show.",
    ),
    same(U | X, Row(Column::UID)),
    same(U | X, Row(Column::EUID)),
    same(U, Row(Column::CGROUP_ID)),
    column(
        U | X,
        "cgroup",
        Text,
        Named(Column::PATH),
        "Path of the cgroup in the hierarchy by which CPU time is divided; absent: not known.",
    ),
    told(U | X, Named(Column::UNIT), "Unit of systemd or, outside of units, the slice; absent: not known."),
    told(U | X, Named(Column::CONTAINER), "Container, by the name that its runtime has for it."),
    told(U | X, Named(Column::CONTAINER_ID), "Id of the container."),
    told(
        U | X,
        Named(Column::NAMELESS),
        "Why the container has no name; its image and pod are not known then.",
    ),
    told(U | X, Named(Column::IMAGE), "Image of the container."),
    told(U | X, Named(Column::POD), "Pod of the container."),
    told(U | X, Named(Column::NAMESPACE), "Kubernetes namespace of the pod."),
    told(U, Letter(Column::STATE), "State letter at the end, as in /proc/PID/stat."),
    told(U, Row(Column::THREADS), "Threads of the process at the end."),
    told(U, Row(Column::NICE), "Nice value at the end."),
    told(
        U | X,
        Seen(Column::CPU_NS),
        "CPU time in the interval. In `usage`: the sum of the three parts. That of `exited` is in `usage`, too: with the process or its heir.",
    ),
    told(U, Seen(Column::SELF_NS), "Of that: of its living tasks."),
    told(U, Row(Column::EXITED_THREADS_NS), "Of that: of its threads that died."),
    told(U, Row(Column::EXITED_CHILDREN_NS), "Of that: of the dead processes it inherits from."),
    same(U, Row(Column::STOLEN_NS)),
    same(U, Row(Column::EXITED_CHILDREN_STOLEN_NS)),
    same(U, Row(Column::SELF_USER_NS)),
    same(U, Row(Column::EXITED_THREADS_USER_NS)),
    told(
        U,
        Row(Column::EXITED_THREADS_STOLEN_NS),
        "Stolen time of `exited_threads_ns`: a part of `stolen_ns`.",
    ),
    same(U, Row(Column::EXITED_CHILDREN_USER_NS)),
    same(U, Growth(Column::USER_NS)),
    same(U, Growth(Column::SYSTEM_NS)),
    same(U | X, Row(Column::ELAPSED_NS)),
    column(U | X, "runqueue_wait_ns", Number, Waited, "It was runnable, and waited for a CPU."),
    same(U | X, Row(Column::BLOCKED_NS)),
    same(U | X, Row(Column::IO_WAIT_NS)),
    same(U | X, Row(Column::SLEEP_NS)),
    same(U | X, Row(Column::STOPPED_NS)),
    same(U | X, Row(Column::UNSEEN_NS)),
    same(U, Growth(Column::MINOR_FAULTS)),
    same(U, Growth(Column::MAJOR_FAULTS)),
    same(U, Growth(Column::VOLUNTARY_SWITCHES)),
    same(U, Growth(Column::INVOLUNTARY_SWITCHES)),
    told(U, Growth(Column::READ_BYTES), "Bytes read from block devices."),
    told(U, Growth(Column::WRITE_BYTES), "Bytes written to block devices."),
    told(U, Row(Column::RSS_BYTES), "Resident memory at the end."),
    same(X, Row(Column::LIFETIME_NS)),
    same(X, Row(Column::EXIT_CODE)),
    told(X, Row(Column::NETWORK_SENT_BYTES), "Bytes that it sent in the interval, but for Unix sockets."),
    told(X, Row(Column::NETWORK_RECEIVED_BYTES), "Bytes received, likewise."),
    told(X, Row(Column::UNIX_SENT_BYTES), "Bytes that it sent by Unix sockets."),
    told(X, Row(Column::UNIX_RECEIVED_BYTES), "Bytes received, likewise."),
    told(X, Row(Column::DISK_READ_BYTES), "Bytes that disks read for it in the interval."),
    told(X, Row(Column::DISK_WRITTEN_BYTES), "Bytes written, likewise."),
    told(
        X,
        Row(Column::WAIT_SUFFERED_NS),
        "Time in the interval in which it waited for a CPU, by the account of blame.",
    ),
    told(X, Row(Column::WAIT_CAUSED_NS), "Time that others waited for its CPU, summed."),
    column(X, "ends_process", Flag, Row(Column::ENDS_PROCESS), "Whether no thread of its process is left."),
    same(X, Row(Column::LIFE_CPU_NS)),
    column(
        X,
        "life_runqueue_wait_ns",
        Number,
        Row(Column::LIFE_WAITING_NS),
        "As `runqueue_wait_ns`, of that life.",
    ),
    same(X, Row(Column::LIFE_BLOCKED_NS)),
    same(X, Row(Column::LIFE_SLEEP_NS)),
];

pub(crate) fn columns(table: Table) -> impl Iterator<Item = &'static ColumnInfo> {
    COLUMNS.iter().filter(move |column| is_in(column, table))
}

/// What the tables are made of: of a frame no more has to be read. The flags say what is not to be shown, or how much is lost.
pub(crate) fn wanted() -> Wanted {
    let figures = COLUMNS.iter().filter_map(|column| match column.origin {
        Growth(figure) => figure.growth(),
        Start => Some(Column::START_TIME_NS),
        origin => origin.figure(),
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
