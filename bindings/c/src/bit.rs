//! Bits of fields. `build.rs` uses this file, too.

/// The bit in `known` of a field whose column has this number. Numbers never change; those of later fields are even, from 256 on.
pub const fn bit_of(column: u32) -> u32 {
    let bit = if column < 128 { column - 1 } else { 64 + (column - 256) / 2 };
    assert!(bit < 128);
    bit
}
