//! A *frame* is one closed interval of the books of a machine's CPU time, as bytes, for shared memory and clients. Recordings
//! keep frames in a shorter form (`chain`). This module encodes, decodes and merges frames.
//!
//! A [`Frame`] has a [`Table`] for each [`Section`]: processes, tasks, the dead, and one record of the interval itself. A table has a
//! value or nothing for each [`Column`] and row. `docs/format/frames.md` has the layout of the bytes.
//!
//! ```
//! use cpuledger_model::frame::{Column, Frame, Section};
//!
//! let mut frame = Frame::new();
//! let comm = frame.intern(b"make");
//! let processes = frame.table_mut(Section::Processes);
//! processes.reset(2);
//! processes.fill(Column::CPU_NS, [Some(7), Some(8)]);
//! processes.set(Column::COMM, 1, Some(comm));
//!
//! let mut bytes = Vec::new();
//! frame.encode(&mut bytes)?;
//! let decoded = Frame::decode(&bytes)?;
//! let processes = decoded.table(Section::Processes);
//! assert_eq!(processes.get(Column::CPU_NS, 1), Some(8));
//! assert_eq!(decoded.text_of(Section::Processes, Column::COMM, 1), Some(&b"make"[..]));
//! assert_eq!(decoded.text_of(Section::Processes, Column::COMM, 0), None);
//! # Ok::<(), cpuledger_model::frame::Error>(())
//! ```
//!
//! What a source cannot tell is absent, never 0. A reader skips sections and columns that it does not know, so frames of a newer writer
//! can be read unless that says otherwise.
mod bounds;
mod chain;
mod column;
mod decode;
mod disks;
mod encode;
mod error;
mod layout;
mod merge;
mod names;
mod owners;
mod pairs;
mod sections;
mod table;
mod trim;
mod wire;

pub use chain::{ChainReader, ChainWriter, Link};
pub use column::{Column, Kind, Rule};
pub use decode::Wanted;
pub use error::{Error, ErrorKind};
pub use layout::{MOST_BYTES, MOST_RECORDS, MOST_TEXT_BYTES, VERSION};
pub(crate) use names::path_of_two_texts;
pub use sections::{Frame, Section};
pub use table::{Cells, EachNumber, NewColumn, Numbers, SignedCells, Table};
