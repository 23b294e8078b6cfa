//! Which member is which column: the one table for both ways. Those of [`Task`] and [`Counters`] come from the tables of these.

use std::sync::LazyLock;

use crate::frame::{Column, Frame, NewColumn, Section};

use crate::counters::Counters;
use crate::disk::DiskTotals;
use crate::field::{FIELDS, Field, FieldSet};
use crate::field_table;
use crate::field_table::gauges_and_counters;
use crate::interval::{Blocked, Exited, Interval, Renumbered, Usage};
use crate::states::{Lived, States};
use crate::task::Task;

use super::error::FrameError;
use super::figure::{Append, Figure};

macro_rules! columns {
    (
        $(
            $(#[$cumulative:ident])?
            $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $guard:ident $help:literal;
        )*
    ) => {
        /// The columns of fields, by the order of these.
        static COLUMNS: &[Column] = &[$(Column::$column),*];
    };
}
field_table!(columns!);

/// A row of which nothing is known.
static ABSENT: LazyLock<Task> = LazyLock::new(Task::default);

/// The column of a field.
pub(super) fn column_of(field: Field) -> Column {
    COLUMNS[field as usize]
}

/// That of what a counter grew by.
pub(super) fn growth_of(field: Field) -> Column {
    column_of(field).growth().unwrap_or_else(|| panic!("{field:?} is no counter of a frame"))
}

/// The column with what an interval shows of a field: of a counter its growth, of a gauge its value at the end.
pub fn column_shown(field: Field) -> Column {
    if field.info().cumulative { growth_of(field) } else { column_of(field) }
}

/// A type whose members are columns.
pub(super) trait Members: Sized {
    /// Puts the columns of all rows; `None`: nothing is known of this one.
    fn write<'a>(frame: &mut Frame, section: Section, rows: impl Iterator<Item = Option<&'a Self>> + Clone)
    where
        Self: 'a;

    /// Takes the members of a row; those whose columns are absent stay as they are. Returns whether none was.
    fn read(&mut self, frame: &Frame, section: Section, row: usize) -> Result<bool, FrameError>;
}

macro_rules! members {
    ($type:ty { $($column:ident $($member:ident).+;)* }) => {
        impl $type {
            /// The columns of its members.
            #[allow(dead_code)] // only some are read one by one
            pub(super) const COLUMNS: &'static [Column] = &[$(Column::$column),*];

            /// Checks that the values of all rows are those of its members.
            #[allow(dead_code)] // what has no numbers that may be too large is not checked
            pub(super) fn check(frame: &Frame, section: Section) -> Result<(), FrameError> {
                $(check_column(|of: &Self| of.$($member).+, frame, section, Column::$column)?;)*
                Ok(())
            }
        }

        impl Members for $type {
            fn write<'a>(
                frame: &mut Frame,
                section: Section,
                rows: impl Iterator<Item = Option<&'a Self>> + Clone,
            ) {
                $(Figure::fill(
                    frame,
                    section,
                    Column::$column,
                    rows.clone().map(|row| row.map(|row| row.$($member).+)),
                );)*
            }

            fn read(&mut self, frame: &Frame, section: Section, row: usize) -> Result<bool, FrameError> {
                let mut is_whole = true;
                $(match Figure::get(frame, section, Column::$column, row)? {
                    Some(value) => self.$($member).+ = value,
                    None => is_whole = false,
                })*
                Ok(is_whole)
            }
        }
    };
}

members! {
    Usage {
        CPU_NS cpu_ns;
        SELF_NS self_ns;
        EXITED_THREADS_NS exited_threads_ns;
        EXITED_CHILDREN_NS exited_children_ns;
        STOLEN_NS stolen_ns;
        EXITED_CHILDREN_STOLEN_NS exited_children_stolen_ns;
        SELF_USER_NS division.self_user_ns;
        EXITED_THREADS_USER_NS division.exited_threads_user_ns;
        EXITED_THREADS_STOLEN_NS division.exited_threads_stolen_ns;
        EXITED_CHILDREN_USER_NS division.exited_children_user_ns;
        ACCOUNTING_PPID accounting_parent;
        IS_UNSEEN is_unseen;
    }
}

members! {
    States {
        ELAPSED_NS elapsed_ns;
        WAITING_NS runqueue_wait_ns;
        BLOCKED_NS blocked_ns;
        IO_WAIT_NS io_wait_ns;
        SLEEP_NS sleep_ns;
        STOPPED_NS stopped_ns;
        UNSEEN_NS unseen_ns;
    }
}

members! {
    Lived {
        LIFE_CPU_NS cpu_ns;
        LIFE_ELAPSED_NS states.elapsed_ns;
        LIFE_WAITING_NS states.runqueue_wait_ns;
        LIFE_BLOCKED_NS states.blocked_ns;
        LIFE_IO_WAIT_NS states.io_wait_ns;
        LIFE_SLEEP_NS states.sleep_ns;
        LIFE_STOPPED_NS states.stopped_ns;
        LIFE_UNSEEN_NS states.unseen_ns;
    }
}

members! {
    Exited {
        TID exit.task.tid;
        START_TIME_NS exit.task.start_time_ns;
        PID exit.process.tid;
        PROCESS_START_NS exit.process.start_time_ns;
        PPID exit.ppid;
        COMM exit.comm;
        UID exit.uid;
        EUID exit.euid;
        EXIT_CODE exit.exit_code;
        RUNTIME_NS exit.runtime_ns;
        LIFETIME_NS exit.lifetime_ns;
        CGROUP_ID exit.cgroup_id;
        CGROUP_V1_CPU_ID exit.cgroup_v1_cpu_id;
        CPU_NS cpu_ns;
        ACCOUNTING_PPID accounting_parent;
        ACCOUNTING_START_NS accounting_start;
        ENDS_PROCESS ends_process;
        WAIT_SUFFERED_NS booked.wait_suffered_ns;
        WAIT_CAUSED_NS booked.wait_caused_ns;
        NETWORK_SENT_BYTES booked.network_sent_bytes;
        NETWORK_RECEIVED_BYTES booked.network_received_bytes;
        UNIX_SENT_BYTES booked.unix_sent_bytes;
        UNIX_RECEIVED_BYTES booked.unix_received_bytes;
        DISK_READ_BYTES booked.disk_read_bytes;
        DISK_WRITTEN_BYTES booked.disk_written_bytes;
    }
}

members! {
    Renumbered {
        TID task.tid;
        START_TIME_NS task.start_time_ns;
    }
}

members! {
    Blocked {
        TID task.tid;
        START_TIME_NS task.start_time_ns;
        PID process.tid;
        PROCESS_START_NS process.start_time_ns;
        COMM comm;
        EUID euid;
        SINCE_NS since_ns;
        BLOCKED_FOR_NS blocked_for_ns;
        FOR_IO for_io;
    }
}

members! {
    Interval {
        SOURCE source;
        SINCE_BOOT begin;
        START_NS start_ns;
        END_NS end_ns;
        ONLINE_CPUS online_cpus;
        CAPACITY_NS capacity_ns;
        ATTRIBUTED_NS attributed_ns;
        IDLE_NS idle_ns;
        UNATTRIBUTED_NS unattributed_ns;
        NO_SLOT_NS unattributed_by.no_slot_ns;
        FORGOTTEN_TASK_NS unattributed_by.forgotten_task_ns;
        UNCOVERED_CPU_NS unattributed_by.uncovered_cpu_ns;
        NOT_ATTACHED_NS unattributed_by.not_attached_ns;
        BLOCKED_TASKS blocked_tasks;
        BLOCKED_WITHOUT_ROW blocked_without_row;
        UNIDENTIFIED_EXITS unidentified_exits;
        MISSED_EXITS missed_exits;
        MISSED_SWITCHES missed_switches;
        HIDDEN_CPU_NS hidden_cpu_ns;
        WAITED_NS waits.suffered_ns;
        WAITED_FOR_TASKS_NS waits.tasks_ns;
        WAITED_FOR_NO_SLOT_NS waits.no_slot_ns;
        WAITED_IDLE_NS waits.idle_ns;
        WAITED_FOR_QUOTA_NS waits.quota_ns;
        WAITED_FOR_INTERRUPTS_NS waits.interrupts_ns;
        WAITED_STOLEN_NS waits.stolen_ns;
        UNATTRIBUTED_WAITED_NS waits.unattributed_suffered_ns;
        SENT_BYTES network.sent_bytes;
        RECEIVED_BYTES network.received_bytes;
        UNATTRIBUTED_SENT_BYTES network.unattributed_sent_bytes;
        UNATTRIBUTED_RECEIVED_BYTES network.unattributed_received_bytes;
        READ_BEGIN_NS read_begin_ns;
        READ_BEGIN_BOOTTIME_NS read_begin;
        READ_END_NS read_end_ns;
    }
}

members! {
    DiskTotals {
        ENDED_READS reads;
        ENDED_READ_BYTES read_bytes;
        ENDED_READ_NS read_ns;
        ENDED_WRITES writes;
        ENDED_WRITTEN_BYTES written_bytes;
        ENDED_WRITE_NS write_ns;
        UNATTRIBUTED_READ_BYTES unattributed_read_bytes;
        UNATTRIBUTED_WRITTEN_BYTES unattributed_written_bytes;
    }
}

macro_rules! task_members {
    (
        $(
            $(#[$cumulative:ident])?
            $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $guard:ident $help:literal;
        )*
    ) => {
        impl Members for Task {
            fn write<'a>(
                frame: &mut Frame,
                section: Section,
                rows: impl Iterator<Item = Option<&'a Self>> + Clone,
            ) {
                let any = rows.clone().flatten().fold(FieldSet::EMPTY, |any, row| any.union(row.known));
                $(if any.contains(Field::$field) {
                    let known = |row: &&Task| row.known.contains(Field::$field);
                    let values = rows.clone().map(|row| row.filter(known).map(|row| row.$member));
                    Figure::fill(frame, section, column_of(Field::$field), values);
                })*
            }

            fn read(&mut self, frame: &Frame, section: Section, row: usize) -> Result<bool, FrameError> {
                self.known = read_fields(self, frame, section, row, KnownFields::of(frame, section).all())?;
                Ok(self.known == FieldSet::ALL)
            }
        }

        /// Takes these fields of a row, in the place of what another row of the section has told. Returns those that the row has.
        pub(super) fn read_fields(
            task: &mut Task,
            frame: &Frame,
            section: Section,
            row: usize,
            fields: FieldSet,
        ) -> Result<FieldSet, FrameError> {
            let absent = &*ABSENT;
            let mut known = FieldSet::EMPTY;
            $(if fields.contains(Field::$field) {
                let value = Figure::get(frame, section, COLUMNS[Field::$field as usize], row)?;
                if value.is_some() {
                    known = known.union(FieldSet::of(&[Field::$field]));
                }
                task.$member = value.unwrap_or(absent.$member);
            })*
            Ok(known)
        }

        /// Checks that the values of all rows are those of a task.
        pub(super) fn check_fields(frame: &Frame, section: Section, told: &KnownFields) -> Result<(), FrameError> {
            $(if told.all().contains(Field::$field) {
                check_column(|task: &Task| task.$member, frame, section, COLUMNS[Field::$field as usize])?;
            })*
            Ok(())
        }

        /// Appends these fields of a row, each to its column.
        pub(super) fn append_fields(
            columns: &mut [NewColumn],
            frame: &mut Frame,
            row: &Task,
            fields: FieldSet,
        ) {
            $(if fields.contains(Field::$field) {
                let known = row.known.contains(Field::$field).then_some(row.$member);
                Append::append(known, &mut columns[Field::$field as usize], frame);
            })*
        }
    };
}
field_table!(task_members!);

/// Checks the values of a column of which this is the member.
fn check_column<Of, T: Figure>(
    _: impl Fn(&Of) -> T,
    frame: &Frame,
    section: Section,
    column: Column,
) -> Result<(), FrameError> {
    T::check(frame, section, column)
}

/// The fields that rows of a section may tell.
pub(super) struct KnownFields {
    /// Those that are the same in all rows.
    pub(super) uniform: FieldSet,
    /// The others.
    pub(super) varying: FieldSet,
}

impl KnownFields {
    /// Those with a value in any row.
    pub(super) fn of(frame: &Frame, section: Section) -> KnownFields {
        let table = frame.table(section);
        let mut told = KnownFields { uniform: FieldSet::EMPTY, varying: FieldSet::EMPTY };
        for field in FIELDS.iter().map(|info| info.field).filter(|field| table.has(column_of(*field))) {
            let set = if table.is_uniform(column_of(field)) { &mut told.uniform } else { &mut told.varying };
            *set = set.union(FieldSet::of(&[field]));
        }
        told
    }

    fn all(&self) -> FieldSet {
        self.uniform.union(self.varying)
    }
}

macro_rules! counter_members {
    (
        gauges { $($gauge:tt)* }
        counters { $($id:literal $column:ident $field:ident $member:ident: $type:ident, $help:literal;)* }
    ) => {
        impl Members for Counters {
            fn write<'a>(
                frame: &mut Frame,
                section: Section,
                rows: impl Iterator<Item = Option<&'a Self>> + Clone,
            ) {
                let any = rows.clone().flatten().fold(FieldSet::EMPTY, |any, row| any.union(row.known));
                $(if any.contains(Field::$field) {
                    let known = |row: &&Counters| row.known.contains(Field::$field);
                    let values = rows.clone().map(|row| row.filter(known).map(|row| row.$member));
                    Figure::fill(frame, section, growth_of(Field::$field), values);
                })*
            }

            fn read(&mut self, frame: &Frame, section: Section, row: usize) -> Result<bool, FrameError> {
                self.known = FieldSet::EMPTY;
                $(if let Some(value) = Figure::get(frame, section, growth_of(Field::$field), row)? {
                    self.$member = value;
                    self.known = self.known.union(FieldSet::of(&[Field::$field]));
                })*
                Ok(self.known == Counters::FIELDS)
            }
        }
    };
}
field_table!(gauges_and_counters! counter_members [] []);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_a_column_and_every_counter_grows() {
        for info in FIELDS {
            assert_eq!(column_of(info.field).name(), info.key);
            assert_eq!(column_of(info.field).growth().is_some(), info.cumulative, "{}", info.key);
        }
    }
}
