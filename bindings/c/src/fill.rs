//! Rows as C has them.

use std::ffi::c_char;

use cpuledger_model::boottime::Boottime;
use cpuledger_model::counters::Counters;
use cpuledger_model::field_table;
use cpuledger_model::interval::{Row, Usage};
use cpuledger_model::states::States;
use cpuledger_model::task::{Comm, Pid, State, Task, Tid};

use crate::field::{CPULEDGER_UNKNOWN, abi_known};
use crate::row::{
    CPULEDGER_ROW_REMAINDER, CPULEDGER_ROW_UNSEEN, cpuledger_counters, cpuledger_row, cpuledger_states,
};

/// A number that may not be known.
pub(crate) fn known(number: Option<u64>) -> u64 {
    number.unwrap_or(CPULEDGER_UNKNOWN)
}

/// A name that ends with NUL: it has at most 63 bytes.
pub(crate) fn name(comm: &Comm) -> [c_char; 64] {
    let mut name = [0; 64];
    for (to, from) in name.iter_mut().zip(comm.as_bytes()) {
        *to = from.cast_signed() as c_char;
    }
    name
}

/// What was done off the CPU.
pub(crate) fn states(states: Option<&States>) -> cpuledger_states {
    let of = |member: fn(&States) -> u64| known(states.map(member));
    cpuledger_states {
        elapsed_ns: of(|states| states.elapsed_ns),
        runqueue_wait_ns: of(|states| states.runqueue_wait_ns),
        blocked_ns: of(|states| states.blocked_ns),
        io_wait_ns: of(|states| states.io_wait_ns),
        sleep_ns: of(|states| states.sleep_ns),
        stopped_ns: of(|states| states.stopped_ns),
        unseen_ns: of(|states| states.unseen_ns),
        reserved: 0,
    }
}

/// A member of [`Task`] as C has it.
trait ToC<C> {
    fn to_c(&self) -> C;
}

macro_rules! to_c {
    ($($from:ty => $to:ty: |$member:ident| $value:expr;)*) => {
        $(impl ToC<$to> for $from {
            fn to_c(&self) -> $to {
                let $member = self;
                $value
            }
        })*
    };
}

to_c! {
    u64 => u64: |number| *number;
    u32 => u32: |number| *number;
    i32 => i32: |number| *number;
    Tid => i32: |tid| tid.0;
    Pid => i32: |pid| pid.0;
    Boottime => u64: |instant| instant.ns();
    State => c_char: |state| state.0.cast_signed() as c_char;
    Comm => [c_char; 64]: |comm| name(comm);
}

macro_rules! fill_fields {
    (
        $row:ident $task:ident
        $(
            $(#[$cumulative:ident])?
            $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $guard:ident $help:literal;
        )*
    ) => {
        $(fill_fields!(@one $row $task $member $group);)*
    };
    (@one $row:ident $task:ident $member:ident Blame) => {};
    (@one $row:ident $task:ident $member:ident Disk) => {};
    (@one $row:ident $task:ident $member:ident Network) => {};
    (@one $row:ident $task:ident $member:ident $group:ident) => { $row.$member = $task.$member.to_c() };
}

macro_rules! fill_counters {
    (
        $into:ident $counters:ident
        $(
            $(#[$cumulative:ident])?
            $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $guard:ident $help:literal;
        )*
    ) => {
        $(fill_counters!(@one $into $counters $member $group $($cumulative)?);)*
    };
    (@one $into:ident $counters:ident $member:ident Blame cumulative) => {};
    (@one $into:ident $counters:ident $member:ident Disk cumulative) => {};
    (@one $into:ident $counters:ident $member:ident Network cumulative) => {};
    (@one $into:ident $counters:ident $member:ident $group:ident cumulative) => { $into.$member = $counters.$member };
    (@one $into:ident $counters:ident $member:ident $group:ident) => {};
}

impl cpuledger_row {
    /// Of a row of an interval.
    pub(crate) fn of(of: &Row) -> cpuledger_row {
        let usage = &of.usage;
        let mut row = cpuledger_row {
            cpu_ns: known(usage.known_cpu_ns()),
            self_ns: known(usage.known_self_ns()),
            ..cpuledger_row::of_task(&of.task)
        };
        row.set_usage(usage);
        row
    }

    /// Of a row of a listing, which has no usage.
    pub(crate) fn of_task(task: &Task) -> cpuledger_row {
        // SAFETY: it has numbers only, and zeros are values of them.
        let mut row: cpuledger_row = unsafe { std::mem::zeroed() };
        field_table!(fill_fields! row task);
        row.known = abi_known(task.known);
        row.row_flags = if task.is_remainder() { CPULEDGER_ROW_REMAINDER } else { 0 };
        (row.cpu_ns, row.self_ns) = (CPULEDGER_UNKNOWN, CPULEDGER_UNKNOWN);
        row.set_usage(&Usage::default());
        row
    }

    /// All of the usage but the sums.
    fn set_usage(&mut self, usage: &Usage) {
        let division = &usage.division;
        self.exited_threads_ns = known(usage.exited_threads_ns);
        self.exited_children_ns = known(usage.exited_children_ns);
        self.stolen_ns = known(usage.stolen_ns);
        self.exited_children_stolen_ns = known(usage.exited_children_stolen_ns);
        self.self_user_ns = known(division.self_user_ns);
        self.exited_threads_user_ns = known(division.exited_threads_user_ns);
        self.exited_threads_stolen_ns = known(division.exited_threads_stolen_ns);
        self.exited_children_user_ns = known(division.exited_children_user_ns);
        self.states = states(usage.states.as_ref());
        self.growth.set(&usage.growth);
        self.row_flags |= if usage.is_unseen { CPULEDGER_ROW_UNSEEN } else { 0 };
        self.heir_pid = usage.accounting_parent.map_or(0, |pid| pid.0);
    }
}

impl cpuledger_counters {
    fn set(&mut self, counters: &Counters) {
        let into = self;
        field_table!(fill_counters! into counters);
        into.known = abi_known(counters.known);
    }
}
