//! The structs of rows, made of the table of fields: what `build.rs` writes.

use std::fmt::Write;

/// A row of the table.
struct Field {
    column: u32,
    is_cumulative: bool,
    name: &'static str,
    kind: &'static str,
    /// What it is read with.
    group: &'static str,
    help: &'static str,
}

macro_rules! fields {
    (
        $(
            $(#[$cumulative:ident])?
            $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $guard:ident $help:literal;
        )*
    ) => {
        &[$(Field {
            column: $id,
            is_cumulative: fields!(@cumulative $($cumulative)?),
            name: stringify!($member),
            kind: stringify!($type),
            group: stringify!($group),
            help: $help,
        }),*]
    };
    (@cumulative cumulative) => { true };
    (@cumulative) => { false };
}

const FIELDS: &[Field] = cpuledger_model::field_table!(fields!);

/// The fields that rows have. Those of accounts have no room: a client of this library asks for no account.
fn fields() -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(|field| !matches!(field.group, "Blame" | "Disk" | "Network"))
}

/// Columns of version 0.1 have smaller numbers. Members of later fields come after them, in the order of their numbers.
const LATER: u32 = 256;
/// Words of the reserve of a row in version 0.1, and of its counters.
const ROW_RESERVE: usize = 16;
const COUNTERS_RESERVE: usize = 12;

const HEAD: &str = "\
use std::ffi::c_char;

use crate::sized::Sized_;

";

const STATES: &str = "\
/// What a process or task did while it was on no CPU, in nanoseconds. With the time on a CPU the parts add up to `elapsed_ns`. All are
/// CPULEDGER_UNKNOWN where the source does not know it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct cpuledger_states {
    /// The time it was alive in the interval.
    pub elapsed_ns: u64,
    /// It was runnable, and waited for a CPU.
    pub runqueue_wait_ns: u64,
    /// It waited without being interruptible, for I/O or anything else.
    pub blocked_ns: u64,
    /// The part of `blocked_ns` in which it waited for I/O.
    pub io_wait_ns: u64,
    /// It slept until a signal or an event.
    pub sleep_ns: u64,
    /// A signal, a tracer or a freezer had stopped it.
    pub stopped_ns: u64,
    /// What it did is not known.
    pub unseen_ns: u64,
    /// Zero.
    pub reserved: u64,
}

";

const USAGE: &str = "    \
    /// CPU time in the interval: the sum of the next three. Unknown in a listing.
    pub cpu_ns: u64,
    /// Of its living tasks.
    pub self_ns: u64,
    /// Of its threads that died in the interval.
    pub exited_threads_ns: u64,
    /// Of the dead processes that it inherits from.
    pub exited_children_ns: u64,
    /// The part in which it had a CPU and did not execute: the hypervisor or an interrupt did.
    pub stolen_ns: u64,
    /// The same of the dead processes that it inherits from, a part of `exited_children_ns`.
    pub exited_children_stolen_ns: u64,
    /// User time in `self_ns`.
    pub self_user_ns: u64,
    /// User time in `exited_threads_ns`.
    pub exited_threads_user_ns: u64,
    /// Stolen time in `exited_threads_ns`, a part of `stolen_ns`.
    pub exited_threads_stolen_ns: u64,
    /// User time in `exited_children_ns`.
    pub exited_children_user_ns: u64,
    /// What it did off the CPU.
    pub states: cpuledger_states,
    /// What its cumulative figures grew by in the interval.
    pub growth: cpuledger_counters,
    /// CPULEDGER_ROW_…
    pub row_flags: u32,
    /// The pid of its heir, which would get its time if it died now; 0: not known.
    pub heir_pid: i32,
";

/// Its type in Rust with the C layout, and its size.
fn layout(kind: &str) -> (&'static str, usize) {
    match kind {
        "u64" | "Boottime" => ("u64", 8),
        "u32" => ("u32", 4),
        "i32" | "Tid" | "Pid" => ("i32", 4),
        "State" => ("c_char", 1),
        "Comm" => ("[c_char; 64]", 64),
        other => panic!("{other} has no type in C: give it one here, and in fill.rs"),
    }
}

/// In the order of a struct: none has a gap before it. Later ones stay where they came.
fn ordered(fields: impl Iterator<Item = &'static Field>) -> Vec<&'static Field> {
    let mut fields: Vec<&Field> = fields.collect();
    fields.sort_by_key(|field| match layout(field.kind).1 {
        _ if field.column >= LATER => (1, field.column, 0),
        64 => (0, 2, 0),
        size => (0, u32::from(size < 8) + 2 * u32::from(size < 4), field.column),
    });
    fields
}

fn members(text: &mut String, fields: &[&Field]) -> usize {
    let mut bytes = 0;
    for field in fields {
        let (kind, size) = layout(field.kind);
        let _ = writeln!(text, "    /// {}\n    pub {}: {kind},", field.help, field.name);
        bytes += size;
    }
    bytes
}

/// The source text.
pub fn rows() -> String {
    let mut text = String::from(HEAD);
    let mut by_column: Vec<&Field> = fields().collect();
    by_column.sort_by_key(|field| field.column);
    for field in by_column {
        let _ = writeln!(
            text,
            "/// The bit of `{}` in `known`.\npub const CPULEDGER_FIELD_{}: u32 = {};",
            field.name,
            field.name.to_uppercase(),
            super::bit_of(field.column)
        );
    }
    text += "\n/// `row_flags`: the kernel keeps the process from the source, so its CPU time is not known.\n\
        pub const CPULEDGER_ROW_UNSEEN: u32 = 1;\n\
        /// `row_flags`: this is no process. It has the time of all that the service does not show this user.\n\
        pub const CPULEDGER_ROW_REMAINDER: u32 = 2;\n\n";
    text += STATES;
    text += "/// What the cumulative figures of a process or task grew by in an interval. A member is meaningful where `known` has its bit.\n\
        #[derive(Debug, Clone, Copy)]\n#[repr(C)]\npub struct cpuledger_counters {\n    \
        /// Bits of the fields that are known: CPULEDGER_KNOWS.\n    pub known: [u64; 2],\n";
    let counters = ordered(fields().filter(|field| field.is_cumulative));
    members(&mut text, &counters);
    let later = |fields: &[&Field]| -> usize {
        let later = fields.iter().filter(|field| field.column >= LATER);
        later.map(|field| layout(field.kind).1.div_ceil(8)).sum()
    };
    let reserve = COUNTERS_RESERVE - later(&counters);
    let _ = write!(text, "    /// Zero.\n    pub reserved: [u64; {reserve}],\n}}\n\n");
    text += "/// A process or a task: which it is, and what it used in an interval. Of the fields at its end, as of those in `growth`, a member is\n\
        /// meaningful where `known` has its bit; other members that are not known are CPULEDGER_UNKNOWN.\n\
        #[derive(Debug, Clone, Copy)]\n#[repr(C)]\npub struct cpuledger_row {\n    /// CPULEDGER_INIT sets it.\n    pub size: usize,\n    \
        /// Bits of the fields below that are known: CPULEDGER_KNOWS.\n    pub known: [u64; 2],\n";
    text += USAGE;
    let all = ordered(fields());
    let (first, later_fields) = all.split_at(all.iter().filter(|field| field.column < LATER).count());
    // The two numbers of 32 bits that end the usage leave no gap.
    let bytes = members(&mut text, first);
    let gap = bytes.next_multiple_of(8) - bytes;
    if gap > 0 {
        let _ = writeln!(text, "    /// Zero.\n    pub reserved_bytes: [c_char; {gap}],");
    }
    members(&mut text, later_fields);
    let reserve = ROW_RESERVE - later(&all);
    let _ = write!(text, "    /// Zero.\n    pub reserved: [u64; {reserve}],\n}}\n\n");
    text += "// SAFETY: it begins with its size, and of numbers zeros are values.\nunsafe impl Sized_ for cpuledger_row {\n    \
        const LEAST_BYTES: usize = 920;\n    const NAME: &'static str = \"cpuledger_row\";\n}\n\n\
        const _: () = assert!(size_of::<cpuledger_row>() == cpuledger_row::LEAST_BYTES);\n";
    text
}
