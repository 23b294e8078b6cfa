//! Recordings as tables that others read: Parquet, Arrow IPC, CSV and JSON lines. There are three: `intervals`, `usage` and `exited`.
//! `docs/export.md` has their columns, and what adds up to what.
//!
//! `export` reads the segments of a recording, and writes three files of each. It leaves out the one that is being written, and what is
//! already there. Files go to a directory or to a store of objects (`store.rs`).
//!
//! # How it works
//!
//! - **One list of columns** (`schema.rs`) says in which tables each is, and which figure of a frame it has. The document is made of it.
//! - **Column by column**: a decoded frame has its figures in columns, and so has Arrow. No row is ever made but for CSV and JSON.
//! - **Segments at a time** are one a CPU, at most four. A file gets its name when it is on the disk.
//! - **A store gets whole objects**: a file has no name on this machine, is sent in parts, and is an object when the last part is there.
//! - **Names say what is there** (`file_name.rs`): recording, segment and time. Before anything is written, all names are read, and what would count the
//!   same time twice is refused.
//! - **One dictionary** is needed for all batches of an Arrow file. So a first pass over the segment reads the names.
//! - **A program of its own**, `cpuledger-export`: nothing else links Arrow and Parquet.

#![forbid(unsafe_code)]

mod builder;
mod cgroups;
pub mod command;
mod destination;
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
mod store;
mod summary;
mod table;
mod text;

pub use cpuledger_program::export::Format;
pub use destination::Destination;
pub use error::Error;
pub use export::{export, export_to};
pub use options::Options;
pub use progress::Progress;
pub use schema::{COLUMNS, ColumnInfo, Kind, Table, is_in};
pub use summary::Summary;
