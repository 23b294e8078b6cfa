//! What is known of a task: [`FIELDS`], made of the one table in `field_table.rs`.

use crate::boottime::Boottime;
use crate::field_table;
use crate::task::{Comm, Pid, State, Task, Tid};

pub use crate::field_set::FieldSet;

/// A value on its way into an output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Not known to this source or kernel: `-` in text, `null` in JSON.
    Absent,
    /// A count, identifier, time in nanoseconds or size in bytes.
    Unsigned(u64),
    /// A number that may be negative.
    Signed(i64),
    /// One letter.
    Letter(u8),
    /// Text of the machine's users: any bytes, to be escaped.
    Bytes(&'a [u8]),
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// An identifier, a code or text.
    None,
    /// Events.
    Count,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
}

/// Which part of a record of the kernel half has the field: what a walk has to read for it. All but `Basic`, `Delays` and those of
/// accounts are bits of `enum cpuledger_read_group` in abi.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Group {
    /// Numbers, name, CPU time, and what is of the process: read with every task.
    Basic,
    /// Start, state, scheduling and user of a task.
    Detail,
    /// Its groups, and users that are neither real nor effective.
    Credentials,
    /// Its faults, switches, waiting and I/O: the counters of `CPULEDGER_ACTIVITY` in abi.h.
    Activity,
    /// What it waited for, which no record has: only taskstats report it.
    Delays,
    /// Process group, session and terminal.
    Session,
    /// The number in the PID namespace of the task.
    Namespace,
    /// Virtual and locked memory.
    Memory,
    /// RSS and its per-CPU parts.
    Resident,
    /// Cgroup identifiers.
    Cgroup,
    /// Names of kernel threads beyond comm.
    Name,
    /// What no record has, as the ledger counts it itself while the account [`crate::accounts::Account::Blame`] is kept.
    Blame,
    /// Likewise, of [`crate::accounts::Account::Disk`].
    Disk,
    /// Likewise, of [`crate::accounts::Account::Network`].
    Network,
}

/// One row of the table.
#[derive(Debug)]
pub struct FieldInfo {
    /// Which field.
    pub field: Field,
    /// Its name in JSON, CSV and `-o`: snake_case, unit last.
    pub key: &'static str,
    /// What its number counts.
    pub unit: Unit,
    /// What a walk has to read for it.
    pub group: Group,
    /// Whether it only grows for one [`crate::task::TaskId`].
    pub cumulative: bool,
    /// One sentence for help and documentation.
    pub help: &'static str,
    value: fn(&Task) -> Value<'_>,
}

macro_rules! fields {
    (
        $(
            $(#[$cumulative:ident])?
            $name:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $guard:ident $help:literal;
        )*
    ) => {
        /// Every field a source may give.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Field {
            $(#[doc = $help] $name,)*
        }

        impl Field {
            /// Every field, in the order of output.
            pub const ALL: &[Field] = &[$(Field::$name),*];
        }

        /// What /proc shows only to those who may trace the task.
        pub const GUARDED: FieldSet =
            FieldSet::from_bits(0 $(| fields!(@guarded $guard) << Field::$name as u8)*);

        /// What only a ledger counts, while the account is kept that it belongs to ([`crate::accounts::Account`]).
        pub const OF_ACCOUNTS: FieldSet =
            FieldSet::from_bits(0 $(| fields!(@of_account $group) << Field::$name as u8)*);

        /// `FIELDS.len()` where a constant is needed.
        const FIELDS_COUNT: u32 = Field::ALL.len() as u32;

        /// Every field, in the order of output.
        pub static FIELDS: &[FieldInfo] = &[
            $(FieldInfo {
                field: Field::$name,
                key: stringify!($member),
                unit: Unit::$unit,
                group: Group::$group,
                cumulative: fields!(@cumulative $($cumulative)?),
                help: $help,
                value: |task| task.$member.value(),
            },)*
        ];
    };
    (@cumulative cumulative) => { true };
    (@cumulative) => { false };
    (@guarded Open) => { 0 };
    (@guarded Guarded) => { 1 };
    (@of_account Blame) => { 1 };
    (@of_account Disk) => { 1 };
    (@of_account Network) => { 1 };
    (@of_account $other:ident) => { 0 };
}

field_table!(fields!);

/// The type of a member of [`Task`].
trait Member {
    fn value(&self) -> Value<'_>;
}

macro_rules! members {
    ($($type:ty: |$member:ident| $value:expr;)*) => {
        $(impl Member for $type {
            fn value(&self) -> Value<'_> {
                let $member = self;
                $value
            }
        })*
    };
}

members! {
    i32: |number| Value::Signed((*number).into());
    Tid: |tid| Value::Signed(tid.0.into());
    Pid: |pid| Value::Signed(pid.0.into());
    u32: |number| Value::Unsigned((*number).into());
    u64: |number| Value::Unsigned(*number);
    Boottime: |instant| Value::Unsigned(instant.ns());
    State: |state| Value::Letter(state.0);
    Comm: |comm| Value::Bytes(comm.as_bytes());
}

impl Field {
    /// Its row of the table.
    pub fn info(self) -> &'static FieldInfo {
        &FIELDS[self as usize]
    }

    /// The field of that key.
    pub fn by_key(key: &str) -> Option<Field> {
        FIELDS.iter().find(|info| info.key == key).map(|info| info.field)
    }

    /// Its value, [`Value::Absent`] where the source did not know it.
    pub fn value(self, task: &Task) -> Value<'_> {
        if task.known.contains(self) { (self.info().value)(task) } else { Value::Absent }
    }
}

impl Task {
    /// Whether this is no process, but the row of all that its reader is not shown. Its pid says so, as a process may have any name.
    pub fn is_remainder(&self) -> bool {
        self.known.contains(Field::Pid) && self.pid == Pid::REMAINDER
    }

    /// CPU time of its life, as exact as the source knows it. `None`: not known.
    pub fn lifetime_cpu_ns(&self) -> Option<u64> {
        let knows = |field| self.known.contains(field);
        if knows(Field::Runtime) {
            return Some(self.runtime_ns);
        }
        (knows(Field::User) && knows(Field::System)).then(|| self.user_ns + self.system_ns)
    }
}

impl FieldSet {
    /// Every field of the table.
    pub const ALL: FieldSet = FieldSet::from_bits((1 << FIELDS_COUNT) - 1);

    /// The set of these fields.
    pub const fn of(fields: &[Field]) -> FieldSet {
        let mut bits = 0;
        let mut index = 0;
        while index < fields.len() {
            bits |= 1 << fields[index] as u8;
            index += 1;
        }
        FieldSet::from_bits(bits)
    }

    /// The fields of a group.
    pub fn of_group(group: Group) -> FieldSet {
        let fields = FIELDS.iter().filter(|info| info.group == group);
        fields.fold(FieldSet::EMPTY, |all, info| all.union(FieldSet::of(&[info.field])))
    }

    /// Whether the field is in it.
    pub const fn contains(self, field: Field) -> bool {
        self.bits() & (1 << field as u8) != 0
    }

    /// Whether one of the fields belongs to the group.
    pub fn needs(self, group: Group) -> bool {
        FIELDS.iter().any(|info| info.group == group && self.contains(info.field))
    }

    /// Its fields in the order of the table.
    pub fn iter(self) -> impl Iterator<Item = Field> {
        FIELDS.iter().map(|info| info.field).filter(move |&field| self.contains(field))
    }
}

/// What /proc/PID/io has and sources read: it is only known where the kernel counts I/O by task.
pub const IO: FieldSet = FieldSet::of(&[Field::ReadBytes, Field::WriteBytes, Field::CancelledWriteBytes]);

/// What a task waited for, where the kernel counts delays.
pub const DELAYS: FieldSet = FieldSet::of(&[Field::BlockIoDelay, Field::SwapInDelay]);

/// What the kernel counts of every task, and both the walk and each message of taskstats tell. A counter that only the walk tells, or
/// netlink where the kernel is so configured, does not belong here.
pub const USAGE: FieldSet = FieldSet::of(&[
    Field::User,
    Field::System,
    Field::MinorFaults,
    Field::MajorFaults,
    Field::VoluntarySwitches,
    Field::InvoluntarySwitches,
]);

const _: () = assert!(FIELDS_COUNT < 128, "FieldSet holds 128 fields");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_their_index_and_keys_are_unique() {
        assert_eq!(FIELDS.len(), FIELDS_COUNT as usize);
        for (index, info) in FIELDS.iter().enumerate() {
            assert_eq!(info.field as usize, index, "{}", info.key);
            assert_eq!(Field::by_key(info.key), Some(info.field));
        }
        assert_eq!(FieldSet::ALL.iter().count(), FIELDS.len());
    }

    #[test]
    fn the_unit_is_last_in_the_key() {
        for info in FIELDS {
            assert_eq!(info.unit == Unit::Nanoseconds, info.key.ends_with("_ns"), "{}", info.key);
            assert_eq!(info.unit == Unit::Bytes, info.key.ends_with("_bytes"), "{}", info.key);
        }
    }

    #[test]
    fn an_unknown_field_is_absent_not_zero() {
        let task = Task { known: FieldSet::of(&[Field::Tid]), ..Task::default() };
        assert_eq!(Field::Tid.value(&task), Value::Signed(0));
        assert_eq!(Field::Runtime.value(&task), Value::Absent);
    }
}
