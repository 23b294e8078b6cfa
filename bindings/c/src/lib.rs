//! The C interface to cpuledger. docs/c.md shows how to use it, and `man/` has a page for each group of functions.
//!
//! - `functions.rs`, `measure.rs`: the functions. Each catches panics, and checks what can be checked of its arguments.
//! - `handle.rs`: what a handle is: a [`Feed`] of intervals, and the sentence of the last error. Another library adds feeds with
//!   [`open_feed`].
//! - `row`: the structs of rows, which `build.rs` makes of the table of fields of the model. `fill.rs` fills them.
//! - `interval.rs`, `sized.rs`: the other structs, and how sizes are checked.
//!
//! `tests/header.rs` compares `include/cpuledger.h` with what cbindgen makes of these files.
#![allow(non_camel_case_types)] // These are the names in C.

mod bit;
mod failure;
mod field;
mod fill;
mod functions;
mod handle;
mod interval;
mod measure;
mod options;
mod row {
    //! The structs of rows, as `build.rs` makes them.
    include!(concat!(env!("OUT_DIR"), "/row.rs"));
}
mod sized;

pub use bit::bit_of;
pub use failure::{CPULEDGER_EINTERNAL, CPULEDGER_EINVAL, CPULEDGER_EREAD, CPULEDGER_EUNUSABLE, Failure};
pub use field::*;
pub use functions::*;
pub use handle::{Feed, cpuledger, open_feed};
pub use interval::{cpuledger_exited, cpuledger_interval};
pub use measure::*;
pub use options::{cpuledger_list_options, cpuledger_options, interval_ns, text};
pub use row::*;
