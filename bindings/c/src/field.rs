//! The fields of rows: their bits in `known`, and what they are.

use std::ffi::{c_char, c_int, c_uint};

use cpuledger_model::field::{FIELDS, Field, FieldSet, OF_ACCOUNTS, Unit};

use crate::bit::bit_of;
use crate::sized::{self, Sized_};

/// The value of a `uint64_t` that is not known. It is never 0 then.
pub const CPULEDGER_UNKNOWN: u64 = u64::MAX;

/// A field that a row may have: which member it is, and what it means.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct cpuledger_field_info {
    /// CPULEDGER_INIT sets it.
    pub size: usize,
    /// The name of the member, and the key in JSON. It is never freed.
    pub name: *const c_char,
    /// One sentence. It is never freed.
    pub help: *const c_char,
    /// Its bit in `known`: CPULEDGER_FIELD_…
    pub bit: u32,
    /// What its number counts: CPULEDGER_UNIT_…
    pub unit: u32,
    /// Whether it never decreases during the life of a task: then `growth` has a member of this name, too.
    pub is_cumulative: u32,
    /// Zero.
    pub reserved: [u32; 5],
}

// SAFETY: it begins with its size, and of numbers and pointers zeros are values.
unsafe impl Sized_ for cpuledger_field_info {
    const LEAST_BYTES: usize = 56;
    const NAME: &'static str = "cpuledger_field_info";
}

const _: () = assert!(size_of::<cpuledger_field_info>() == cpuledger_field_info::LEAST_BYTES);

/// The field is an identifier, a code or text.
pub const CPULEDGER_UNIT_NONE: u32 = 0;
/// The field counts events.
pub const CPULEDGER_UNIT_COUNT: u32 = 1;
/// The field is in nanoseconds.
pub const CPULEDGER_UNIT_NANOSECONDS: u32 = 2;
/// The field is in bytes.
pub const CPULEDGER_UNIT_BYTES: u32 = 3;

macro_rules! bits {
    (
        $(
            $(#[$cumulative:ident])?
            $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $guard:ident $help:literal;
        )*
    ) => {
        const BITS: &[u32] = &[$(bit_of($id)),*];
        const NAMES: &[&str] = &[$(concat!(stringify!($member), "\0")),*];
        const HELPS: &[&str] = &[$(concat!($help, "\0")),*];
    };
}
cpuledger_model::field_table!(bits!);

/// The bit of a field in `known`.
pub(crate) fn abi_bit(field: Field) -> u32 {
    BITS[field as usize]
}

/// A set of fields as C has it.
pub(crate) fn abi_known(known: FieldSet) -> [u64; 2] {
    let mut words = [0; 2];
    for field in Field::ALL.iter().filter(|field| known.without(OF_ACCOUNTS).contains(**field)) {
        let bit = abi_bit(*field);
        words[bit as usize / 64] |= 1 << (bit % 64);
    }
    words
}

/// Describes the field of this place in the table, from 0 on. Returns 1, or 0 where there is none any more: a later version has more fields.
///
/// # Safety
/// `info` is NULL, or leads to as many bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_field(index: c_uint, info: *mut cpuledger_field_info) -> c_int {
    // Rows have no members for those of accounts.
    let mut fields = FIELDS.iter().filter(|info| !OF_ACCOUNTS.contains(info.field));
    let Some(field) = fields.nth(index as usize) else { return 0 };
    let index = field.field as usize;
    let value = cpuledger_field_info {
        size: 0,
        name: NAMES[index].as_ptr().cast(),
        help: HELPS[index].as_ptr().cast(),
        bit: BITS[index],
        unit: match field.unit {
            Unit::None => CPULEDGER_UNIT_NONE,
            Unit::Count => CPULEDGER_UNIT_COUNT,
            Unit::Nanoseconds => CPULEDGER_UNIT_NANOSECONDS,
            Unit::Bytes => CPULEDGER_UNIT_BYTES,
        },
        is_cumulative: field.cumulative.into(),
        reserved: [0; 5],
    };
    // SAFETY: the caller says so.
    unsafe { sized::write(info, &value, 1) }.unwrap_or_else(|failure| failure.code)
}
