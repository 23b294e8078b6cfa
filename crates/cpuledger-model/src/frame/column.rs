//! The one table of columns: number, name, kind, and what a merge does with each.

use std::fmt;

use crate::field_table;
use crate::field_table::gauges_and_counters;

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// A number that is not negative.
    Unsigned = 0,
    /// Any number.
    Signed = 1,
    /// The number of a text.
    Text = 2,
}

/// Which of two values of neighbours, the earlier and the later, is that of both together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// That of the earlier.
    First,
    /// That of the later.
    Last,
    /// Their sum; absent where one of both is.
    Sum,
    /// The lesser: a flag that holds if it does for both.
    Both,
    /// A code of its own says it.
    Own,
}

/// A figure of a row of a frame. It holds the place in the table of columns, which differs between versions; [`Column::id`] never changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column(u8);

/// What is known of a column.
pub(crate) struct ColumnInfo {
    id: u16,
    kind: Kind,
    pub(crate) name: &'static str,
    pub(crate) rule: Rule,
    pub(crate) help: &'static str,
}

/// How many columns there are.
pub(crate) const COLUMNS: usize = INFOS.len();

/// The id of what a counter grew by: 192 more than that of the counter if that is less than 64, else the next one.
const fn growth_id(counter: u16) -> u16 {
    if counter < 64 { counter + 192 } else { counter + 1 }
}

/// What the values of a member of this type are.
macro_rules! kind_of {
    (Tid) => {
        Kind::Signed
    };
    (Pid) => {
        Kind::Signed
    };
    (i32) => {
        Kind::Signed
    };
    (Comm) => {
        Kind::Text
    };
    ($other:ident) => {
        Kind::Unsigned
    };
}

macro_rules! columns {
    (
        gauges { $($field_id:literal $field:ident $f:ident $field_member:ident: $field_type:ident, $field_help:literal;)* }
        counters { $($counter_id:literal $counter:ident $c:ident $counter_member:ident: $counter_type:ident, $counter_help:literal;)* }
        figures { $($id:literal $figure:ident $name:literal $kind:ident $rule:ident $help:literal;)* }
    ) => {
        /// The figures of what a task did. The first is the length of its life.
pub(crate) const STATES: [Column; 7] = [
    Column::ELAPSED_NS,
    Column::WAITING_NS,
    Column::BLOCKED_NS,
    Column::IO_WAIT_NS,
    Column::SLEEP_NS,
    Column::STOPPED_NS,
    Column::UNSEEN_NS,
];

impl Column {
            $(#[doc = $field_help] pub const $field: Column = Column(FieldPlace::$field as u8);)*
            $(#[doc = $counter_help] pub const $counter: Column = Column(FieldPlace::$counter as u8);)*
            $(#[doc = $help] pub const $figure: Column = Column(FIRST_FIGURE + FigurePlace::$figure as u8);)*
        }

        #[allow(non_camel_case_types, clippy::upper_case_acronyms)] // named as the columns
        enum FieldPlace {
            $($field,)*
            $($counter,)*
            FirstGrowth,
        }

        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum FigurePlace {
            $($figure,)*
        }

        const FIRST_COUNTER: u8 = [$($field_id),*].len() as u8;
        const FIRST_GROWTH: u8 = FieldPlace::FirstGrowth as u8;
        const FIRST_FIGURE: u8 = FIRST_GROWTH + (FIRST_GROWTH - FIRST_COUNTER);

        /// Every column, at its place: gauges, counters, what these grew by, and figures.
        const INFOS: &[ColumnInfo] = &[
            $(ColumnInfo {
                id: $field_id,
                kind: kind_of!($field_type),
                name: stringify!($field_member),
                rule: Rule::Last,
                help: $field_help,
            },)*
            $(ColumnInfo {
                id: $counter_id,
                kind: Kind::Unsigned,
                name: stringify!($counter_member),
                rule: Rule::Last,
                help: $counter_help,
            },)*
            $(ColumnInfo {
                id: growth_id($counter_id),
                kind: Kind::Unsigned,
                name: concat!("grown_", stringify!($counter_member)),
                rule: Rule::Sum,
                help: concat!("What `", stringify!($counter_member), "` grew by in the interval."),
            },)*
            $(ColumnInfo {
                id: $id,
                kind: Kind::$kind,
                name: $name,
                rule: Rule::$rule,
                help: $help,
            },)*
        ];
    };
}

/// The columns of fields, and these.
macro_rules! with_figures {
    ($($fields:tt)*) => {
        columns! {
            $($fields)*
    figures {
        64 CPU_NS "cpu_ns" Unsigned Sum "CPU time in the interval: the sum of the three parts.";
        65 SELF_NS "self_ns" Unsigned Sum "That of its living tasks.";
        66 EXITED_THREADS_NS "exited_threads_ns" Unsigned Sum "That of its threads that died.";
        67 EXITED_CHILDREN_NS "exited_children_ns" Unsigned Sum "That of the dead processes it inherits from.";
        68 STOLEN_NS "stolen_ns" Unsigned Sum "Time on a CPU in which it did not execute.";
        69 ELAPSED_NS "elapsed_ns" Unsigned Own "The time it was alive in the interval; of a process, the sum over its threads.";
        70 WAITING_NS "waiting_ns" Unsigned Own "It was runnable, and waited for a CPU.";
        71 BLOCKED_NS "blocked_ns" Unsigned Own "It waited without being interruptible.";
        72 IO_WAIT_NS "io_wait_ns" Unsigned Own "The part of that in which it waited for I/O.";
        73 SLEEP_NS "sleep_ns" Unsigned Own "It slept until a signal or an event.";
        74 STOPPED_NS "stopped_ns" Unsigned Own "A signal, a tracer or a freezer had stopped it.";
        75 UNSEEN_NS "unseen_ns" Unsigned Own "What it did is not known.";
        76 ACCOUNTING_PPID "accounting_ppid" Signed Last "Pid of the heir, which inherits its time.";
        77 ACCOUNTING_START_NS "accounting_start_ns" Unsigned Last "CLOCK_BOOTTIME at the start of the heir.";
        78 IS_UNSEEN "is_unseen" Unsigned Both "1: the kernel keeps it from the source, and what it used is not known.";
        79 PROCESS_START_NS "process_start_ns" Unsigned Last "CLOCK_BOOTTIME at the start of its process.";
        80 HIDES_START "hides_start" Unsigned Last "1: `start_time_ns` says which task this is, and is not to be shown.";
        81 IS_BARE "is_bare" Unsigned Own "1: made by a merge for a process of which neither side has a row; only its CPU time counts.";
        82 WAITED_AT_START "waited_at_start" Unsigned First "Tasks of the row that waited for a CPU when the interval began, and were not on one.";
        83 SLEPT_AT_START "slept_at_start" Unsigned First "Likewise, that slept.";
        84 BLOCKED_AT_START "blocked_at_start" Unsigned First "Likewise, that were blocked, but not for I/O.";
        85 IO_WAITED_AT_START "io_waited_at_start" Unsigned First "Likewise, that were blocked for I/O.";
        86 STOPPED_AT_START "stopped_at_start" Unsigned First "Likewise, that were stopped.";
        87 UNSEEN_AT_START "unseen_at_start" Unsigned First "Likewise, of which it is not known what they did.";
        88 WAITED_AT_END "waited_at_end" Unsigned Last "Tasks of the row that waited for a CPU when the interval ended, and were not on one.";
        89 SLEPT_AT_END "slept_at_end" Unsigned Last "Likewise, that slept.";
        90 BLOCKED_AT_END "blocked_at_end" Unsigned Last "Likewise, that were blocked, but not for I/O.";
        91 IO_WAITED_AT_END "io_waited_at_end" Unsigned Last "Likewise, that were blocked for I/O.";
        92 STOPPED_AT_END "stopped_at_end" Unsigned Last "Likewise, that were stopped.";
        93 UNSEEN_AT_END "unseen_at_end" Unsigned Last "Likewise, of which it is not known what they did.";
        94 EXITED_CHILDREN_STOLEN_NS "exited_children_stolen_ns" Unsigned Sum "Likewise, of the dead processes it inherits from.";
        147 SELF_USER_NS "self_user_ns" Unsigned Sum "User time of `self_ns`. What is neither that nor stolen is system time, in all parts.";
        148 EXITED_THREADS_USER_NS "exited_threads_user_ns" Unsigned Sum "User time of `exited_threads_ns`.";
        149 EXITED_THREADS_STOLEN_NS "exited_threads_stolen_ns" Unsigned Sum "Stolen time of `exited_threads_ns`, a part of `stolen_ns`.";
        150 EXITED_CHILDREN_USER_NS "exited_children_user_ns" Unsigned Sum "User time of `exited_children_ns`.";
        96 LIFETIME_NS "lifetime_ns" Unsigned Last "From the start to the last switch, suspension not counted.";
        97 EXIT_CODE "exit_code" Signed Last "As wait(2) returns it.";
        98 ENDS_PROCESS "ends_process" Unsigned Last "1: no thread of its process is left; 0: one is.";
        99 LIFE_CPU_NS "life_cpu_ns" Unsigned Last "CPU time of its life, as far as the source saw it.";
        100 LIFE_ELAPSED_NS "life_elapsed_ns" Unsigned Last "Length of that life.";
        101 LIFE_WAITING_NS "life_waiting_ns" Unsigned Last "As `waiting_ns`, of that life.";
        102 LIFE_BLOCKED_NS "life_blocked_ns" Unsigned Last "As `blocked_ns`, of that life.";
        103 LIFE_IO_WAIT_NS "life_io_wait_ns" Unsigned Last "As `io_wait_ns`, of that life.";
        104 LIFE_SLEEP_NS "life_sleep_ns" Unsigned Last "As `sleep_ns`, of that life.";
        105 LIFE_STOPPED_NS "life_stopped_ns" Unsigned Last "As `stopped_ns`, of that life.";
        106 LIFE_UNSEEN_NS "life_unseen_ns" Unsigned Last "As `unseen_ns`, of that life.";
        108 SINCE_NS "since_ns" Unsigned Last "Since when it is blocked, CLOCK_MONOTONIC.";
        109 BLOCKED_FOR_NS "blocked_for_ns" Unsigned Last "For how long, by the end of the interval; without `since_ns`, at least.";
        110 FOR_IO "for_io" Unsigned Last "1: it waits for I/O; 0: it does not.";
        112 SOURCE "source" Text Last "Where the figures come from.";
        113 BOOT_ID "boot_id" Text Last "Identifier of the boot.";
        114 SINCE_BOOT "since_boot" Unsigned First "1: the interval began with the machine and not with a cut.";
        115 START_NS "start_ns" Unsigned First "The earlier cut, CLOCK_MONOTONIC.";
        116 END_NS "end_ns" Unsigned Last "The later cut, CLOCK_MONOTONIC.";
        117 END_BOOTTIME_NS "end_boottime_ns" Unsigned Last "The later cut, CLOCK_BOOTTIME.";
        118 END_REALTIME_NS "end_realtime_ns" Unsigned Last "The later cut, CLOCK_REALTIME.";
        119 SUSPENDED_NS "suspended_ns" Unsigned Sum "For how long the machine was suspended in the interval.";
        120 SEQUENCE "sequence" Unsigned Last "Number of the interval; of several, of the last.";
        121 INTERVALS "intervals" Unsigned Sum "Number of intervals that this one was merged of.";
        122 ONLINE_CPUS "online_cpus" Unsigned Last "CPUs online at the later cut.";
        123 CAPACITY_NS "capacity_ns" Unsigned Sum "Online CPUs × length.";
        124 ATTRIBUTED_NS "attributed_ns" Unsigned Sum "The sum of `cpu_ns` over the processes.";
        125 IDLE_NS "idle_ns" Unsigned Sum "Time of the idle tasks.";
        126 UNATTRIBUTED_NS "unattributed_ns" Unsigned Sum "What could not be attributed.";
        127 NO_SLOT_NS "no_slot_ns" Unsigned Sum "Of that: of processes that found no slot.";
        128 FORGOTTEN_TASK_NS "forgotten_task_ns" Unsigned Sum "Of that: of the dead whose heir was forgotten.";
        129 UNCOVERED_CPU_NS "uncovered_cpu_ns" Unsigned Sum "Of that: of CPUs that the hooks did not cover.";
        130 NOT_ATTACHED_NS "not_attached_ns" Unsigned Sum "Of that: while no ledger was attached.";
        131 KNOWS_EXITS "knows_exits" Unsigned Both "1: the source sees exits, and `exited` has them.";
        132 KNOWS_BLOCKED "knows_blocked" Unsigned Both "1: the source knows what is blocked, and `blocked` has it.";
        133 BLOCKED_TASKS "blocked_tasks" Unsigned Own "How many tasks were blocked all the time: `blocked` may have fewer.";
        134 UNIDENTIFIED_EXITS "unidentified_exits" Unsigned Sum "Tasks that died and whose identity was lost.";
        135 MISSED_EXITS "missed_exits" Unsigned Sum "Tasks that died and were not reported.";
        136 MISSED_SWITCHES "missed_switches" Unsigned Sum "Switches that the kernel has not shown.";
        // 137 was off_fault_ns: recordings of test builds have it.
        138 READ_BEGIN_NS "read_begin_ns" Unsigned Last "When the reading of the rows began, CLOCK_MONOTONIC.";
        139 READ_BEGIN_BOOTTIME_NS "read_begin_boottime_ns" Unsigned Last "The same instant, CLOCK_BOOTTIME.";
        140 READ_END_NS "read_end_ns" Unsigned Last "When it was complete, CLOCK_MONOTONIC.";
        142 BLOCKED_WITHOUT_ROW "blocked_without_row" Unsigned Both "Blocked tasks of processes whose states are not known; of several intervals, the lesser.";
        141 CPU "cpu" Unsigned Last "Number of the CPU.";
        143 PATH "path" Text Last "Path of the cgroup, its first 255 bytes.";
        144 PATH_REST "path_rest" Text Last "What follows of a longer path, at most 255 bytes; of more there are the first components, then `/...`.";
        146 HIDDEN_CPU_NS "hidden_cpu_ns" Unsigned Sum "CPU time of processes that the kernel hides: it is in the rows of others, or idle.";
        160 SENT_BYTES "sent_bytes" Unsigned Sum "Bytes that all sockets have sent, Unix sockets too.";
        161 RECEIVED_BYTES "received_bytes" Unsigned Sum "Bytes that all sockets have received, likewise.";
        162 UNATTRIBUTED_SENT_BYTES "unattributed_sent_bytes" Unsigned Sum "Of the bytes sent: those in no row, as their task had no slot, or was folded.";
        163 UNATTRIBUTED_RECEIVED_BYTES "unattributed_received_bytes" Unsigned Sum "Of the bytes received: likewise.";
        164 ENDED_READS "ended_reads" Unsigned Sum "Read requests that disks have ended.";
        165 ENDED_READ_BYTES "ended_read_bytes" Unsigned Sum "Bytes of these.";
        166 ENDED_READ_NS "ended_read_ns" Unsigned Sum "Time of these from the call to the end, summed.";
        167 ENDED_WRITES "ended_writes" Unsigned Sum "Write requests that disks have ended.";
        168 ENDED_WRITTEN_BYTES "ended_written_bytes" Unsigned Sum "Bytes of these.";
        169 ENDED_WRITE_NS "ended_write_ns" Unsigned Sum "Time of these, likewise.";
        170 UNATTRIBUTED_READ_BYTES "unattributed_read_bytes" Unsigned Sum "Of the bytes that disks have read: those in no row.";
        171 UNATTRIBUTED_WRITTEN_BYTES "unattributed_written_bytes" Unsigned Sum "Of the bytes that disks have written: likewise.";
        172 WAITED_NS "waited_ns" Unsigned Sum "Time that tasks waited for a CPU, summed.";
        173 WAITED_FOR_TASKS_NS "waited_for_tasks_ns" Unsigned Sum "The part of it in which a task with a row had the CPU.";
        174 WAITED_FOR_NO_SLOT_NS "waited_for_no_slot_ns" Unsigned Sum "In which a task without a row had it.";
        175 WAITED_IDLE_NS "waited_idle_ns" Unsigned Sum "In which the CPU was idle.";
        176 WAITED_FOR_QUOTA_NS "waited_for_quota_ns" Unsigned Sum "In which the quota of the task's cgroup was used up when it left the CPU.";
        178 WAITED_FOR_INTERRUPTS_NS "waited_for_interrupts_ns" Unsigned Sum "In which the task that had the CPU was interrupted.";
        179 WAITED_STOLEN_NS "waited_stolen_ns" Unsigned Sum "In which the hypervisor had the CPU.";
        177 UNATTRIBUTED_WAITED_NS "unattributed_waited_ns" Unsigned Sum "Of the time that tasks waited: that in no row.";
        180 KNOWS_PAIRS "knows_pairs" Unsigned Both "1: it is known which cgroup made which wait for a CPU, and `pairs` has it.";
        181 CAUSE "cause" Unsigned Last "Why tasks of a cgroup waited, where no task had the CPU: 1 it was idle, 2 their quota, 3 interrupts, 4 the hypervisor.";
        182 BY_CGROUP_ID "by_cgroup_id" Unsigned Last "Cgroup of the task that had the CPU. Absent without `cause`: any other cgroup. So is `cgroup_id` of those that waited.";
        183 BY_CGROUP_V1_CPU_ID "by_cgroup_v1_cpu_id" Unsigned Last "Likewise, in the hierarchy of the cpu controller.";
        184 PAIR_WAITED_NS "pair_waited_ns" Unsigned Sum "For how long tasks of the one waited because of the other, summed.";
        185 KNOWS_DISKS "knows_disks" Unsigned Both "1: it is known what each disk did, and `disks` has it.";
        186 DISK_MAJOR "disk_major" Unsigned Last "Number of the disk, as /proc/diskstats begins with. Absent: all other disks.";
        187 DISK_MINOR "disk_minor" Unsigned Last "Likewise, the second.";
        188 DISK_NAME "disk_name" Text Last "Name of the disk, as /proc/diskstats has it.";
        189 DISK_PART "disk_part" Unsigned Last "Absent: the row is of all that the disk did. 1: of the part in no row of processes. 2: of tasks that have died or lost their slot, on any disk.";
        190 ENDED_DISCARDS "ended_discards" Unsigned Sum "Discards that the disk has ended.";
        191 ENDED_DISCARDED_BYTES "ended_discarded_bytes" Unsigned Sum "Bytes of these.";
        192 ENDED_DISCARD_NS "ended_discard_ns" Unsigned Sum "Time of these from the call to the end, summed.";
        193 QUEUE_NS "queue_ns" Unsigned Sum "Of the time of requests: before the disk had them.";
        194 DEVICE_NS "device_ns" Unsigned Sum "Of the time of requests: from then to the end.";
        195 ENDED_BLOCKED_NS "ended_blocked_ns" Unsigned Sum "For how long tasks were blocked for I/O until a request of theirs ended, summed.";
        196 KNOWS_WIRE "knows_wire" Unsigned Both "1: it is known what cgroups sent and received on the wire, and `wire` has it.";
        197 WIRE_SENT_BYTES "wire_sent_bytes" Unsigned Sum "Bytes of the packets that the sockets of the cgroup sent, from the IP header on.";
        198 WIRE_SENT_PACKETS "wire_sent_packets" Unsigned Sum "Number of these packets.";
        199 WIRE_RECEIVED_BYTES "wire_received_bytes" Unsigned Sum "Bytes of the packets that its sockets received, likewise.";
        200 WIRE_RECEIVED_PACKETS "wire_received_packets" Unsigned Sum "Number of these packets.";
        151 CONTAINER "container" Text Last "The container of the cgroup, by the name that its runtime has for it; its first 255 bytes, as of the other names.";
        152 CONTAINER_ID "container_id" Text Last "Id of that container.";
        153 IMAGE "image" Text Last "The image that the container was made of.";
        154 POD "pod" Text Last "The pod of the container.";
        155 NAMESPACE "namespace" Text Last "The namespace of that pod.";
        156 NAMELESS "nameless" Unsigned Last "Why the container has no name: 1 no state of a runtime is there, 2 it may not be read, 3 it is too long, 4 it is damaged, 5 a user's own runtime made the container, 6 the state is of another cgroup, 7 a recording without names was read.";
        145 UNIT "unit" Text Last "Unit of systemd, or slice; empty: not known. In recordings of machines where the path of the cgroup does not say it.";
    }
        }
    };
}
field_table!(gauges_and_counters! with_figures [] []);

const NO_PLACE: u8 = u8::MAX;
const _: () = assert!(COLUMNS < NO_PLACE as usize, "a place is a byte");

const IDS: usize = {
    let (mut ids, mut place) = (0, 0);
    while place < COLUMNS {
        if INFOS[place].id as usize >= ids {
            ids = INFOS[place].id as usize + 1;
        }
        place += 1;
    }
    ids
};

/// The places by id.
static PLACES: [u8; IDS] = {
    let (mut places, mut place) = ([NO_PLACE; IDS], 0);
    while place < COLUMNS {
        let id = INFOS[place].id as usize;
        assert!(places[id] == NO_PLACE, "an id stands for one column");
        places[id] = place as u8;
        place += 1;
    }
    places
};

/// The kinds by place, so that what is asked of a column by its name is known before it runs.
const KINDS: [Kind; COLUMNS] = {
    let (mut kinds, mut place) = ([Kind::Unsigned; COLUMNS], 0);
    while place < COLUMNS {
        kinds[place] = INFOS[place].kind;
        place += 1;
    }
    kinds
};

impl Column {
    /// What accounts have booked to a task that died in its last interval. In other sections these are totals of a life.
    pub const BOOKED_OF_DEAD: [Column; 8] = [
        Column::WAIT_SUFFERED_NS,
        Column::WAIT_CAUSED_NS,
        Column::NETWORK_SENT_BYTES,
        Column::NETWORK_RECEIVED_BYTES,
        Column::UNIX_SENT_BYTES,
        Column::UNIX_RECEIVED_BYTES,
        Column::DISK_READ_BYTES,
        Column::DISK_WRITTEN_BYTES,
    ];

    /// How many tasks of a row were off the CPU when the interval began, one column a state. The states are: waited for a CPU, slept,
    /// blocked but not for I/O, blocked for I/O, stopped, and not known.
    pub const OFF_AT_START: [Column; 6] = [
        Column::WAITED_AT_START,
        Column::SLEPT_AT_START,
        Column::BLOCKED_AT_START,
        Column::IO_WAITED_AT_START,
        Column::STOPPED_AT_START,
        Column::UNSEEN_AT_START,
    ];

    /// Likewise, when it ended.
    pub const OFF_AT_END: [Column; 6] = [
        Column::WAITED_AT_END,
        Column::SLEPT_AT_END,
        Column::BLOCKED_AT_END,
        Column::IO_WAITED_AT_END,
        Column::STOPPED_AT_END,
        Column::UNSEEN_AT_END,
    ];

    /// The column of that id, if this version knows it.
    pub fn by_id(id: u16) -> Option<Column> {
        let place = *PLACES.get(usize::from(id))?;
        (place != NO_PLACE).then_some(Column(place))
    }

    /// Every column.
    pub fn known() -> impl Iterator<Item = Column> {
        (0..COLUMNS as u8).map(Column)
    }

    /// That at this place of [`Column::known`].
    pub(crate) fn at(place: usize) -> Column {
        debug_assert!(place < COLUMNS, "there are {COLUMNS} columns");
        Column(place as u8)
    }

    /// What this counter grew by in the interval; `None`: it is no counter.
    pub fn growth(self) -> Option<Column> {
        let is_counter = (FIRST_COUNTER..FIRST_GROWTH).contains(&self.0);
        is_counter.then_some(Column(self.0.wrapping_add(FIRST_GROWTH - FIRST_COUNTER)))
    }

    /// Its number in the bytes.
    pub fn id(self) -> u16 {
        self.info().id
    }

    /// Its name: snake_case, unit last.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// What its values are.
    #[inline]
    pub const fn kind(self) -> Kind {
        KINDS[self.index()]
    }

    /// One sentence.
    pub const fn help(self) -> &'static str {
        self.info().help
    }

    /// What a merge of neighbours does with it.
    pub fn rule(self) -> Rule {
        self.info().rule
    }

    /// Its place in a table.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    const fn info(self) -> &'static ColumnInfo {
        &INFOS[self.index()]
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_are_unique() {
        let names: std::collections::HashSet<&str> = Column::known().map(Column::name).collect();
        assert_eq!(names.len(), COLUMNS);
        for column in Column::known() {
            assert_eq!(Column::by_id(column.id()), Some(column));
            assert!(column.help().ends_with('.'), "{column:?}");
        }
        assert_eq!(Column::by_id(0), None);
        assert_eq!(Column::by_id(5000), None);
    }

    #[test]
    fn a_counter_has_a_growth_and_a_gauge_has_none() {
        let growth = Column::USER_NS.growth().expect("a counter");
        assert_eq!((growth.name(), growth.id()), ("grown_user_ns", 192 + 42));
        assert_eq!(Column::RSS_BYTES.growth(), None);
        assert_eq!(growth.growth(), None);
        assert_eq!(Column::CPU_NS.growth(), None);
        assert_eq!((growth_id(63), growth_id(256)), (255, 257));
    }
}
