//! Recordings as tables that others read: Parquet, Arrow IPC, CSV and JSON lines. There are three: `intervals`, `usage` and `exited`.
//! `docs/export.md` has their columns, and what adds up to what.
//!
//! [`export`] reads the segments of a recording, and writes three files of each. It leaves out the one that is being written, and what is
//! already there.
#![forbid(unsafe_code)]

mod builder;
#[doc(hidden)]
pub mod command;
mod error;
mod export;
mod file_name;
mod format;
mod names;
mod options;
mod output;
mod progress;
mod rights;
mod schema;
mod segment;
mod summary;
mod table;
mod text;

pub use error::Error;
pub use export::export;
pub use format::Format;
pub use options::Options;
pub use progress::Progress;
pub use schema::{COLUMNS, ColumnInfo, Kind, Table, is_in};
pub use summary::Summary;
