//! The extension module of the Python package `cpuledger`: intervals of the service and of recordings, as objects and as Arrow streams.
//!
//! `python/cpuledger/` has what users import, and the types. Here is what needs Rust. The lock of the interpreter is released while a call
//! waits, reads or builds.
//!
//! - `columns.rs` makes the columns of each table from the keys of JSON (`cpuledger_view`): there is no second list.
//! - `books.rs` holds an interval or a listing, which tables and rows share.
//! - `table.rs`, `row.rs` and `arrow.rs` show it as a sequence, as objects, and as a stream of record batches. `found.rs` says where a column of
//!   these is found in a frame, and `run.rs` gathers its values.
//! - `follow.rs` waits for the service, `recording.rs` reads files, `measure.rs` adds up what descends from this process.
#![deny(unsafe_code)]

mod arrow;
mod books;
mod columns;
mod error;
mod follow;
mod found;
mod interval;
mod join;
mod listing;
mod measure;
mod recording;
mod row;
mod run;
mod table;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _cpuledger {
    #[pymodule_export]
    use super::columns::columns_of_rows;
    #[pymodule_export]
    use super::error::{Error, RecordingError, ServiceError};
    #[pymodule_export]
    use super::follow::Intervals;
    #[pymodule_export]
    use super::interval::Interval;
    #[pymodule_export]
    use super::join::join;
    #[pymodule_export]
    use super::listing::listing;
    #[pymodule_export]
    use super::measure::Measuring;
    #[pymodule_export]
    use super::recording::Recording;
    #[pymodule_export]
    use super::row::{BlockedRow, ExitedRow, ListedRow, ProcessRow, Row, TaskRow};
    #[pymodule_export]
    use super::table::Table;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
