//! The data types that all of cpuledger shares: tasks, what they used, intervals and listings. It touches no file, clock or kernel.
//!
//! - A [`Task`] is what a source reports about a task or a process at an instant. [`field`] has the one table of its members.
//! - A [`Usage`] is what it used in an interval. A [`Row`] is both.
//! - An [`Interval`] is what lies between two cuts: rows, the dead, and where the rest of the CPU time went.
//! - A [`Snapshot`] is a listing.
//! - A [`frame::Frame`] is an interval as bytes. [`framing`] converts between the two.
//! - [`audience`] says which of the rows a user is shown.
//!
//! Structs and enums get more members from one version to the next. [`make!`] makes such a struct.
//!
//! ```
//! use cpuledger_model::{Interval, Row, Task, Usage, frame::Frame, framing, make};
//!
//! let row = Row::new(Task::default(), make!(Usage { cpu_ns: 7, self_ns: 7 }));
//! let interval = make!(Interval { end_ns: 10, capacity_ns: 10, attributed_ns: 7, processes: vec![row] });
//! let (mut frame, mut read) = (Frame::new(), Interval::default());
//! framing::write(&interval, &framing::Circumstances::default(), &mut frame);
//! framing::read(&frame, &mut read)?;
//! assert_eq!(read.processes[0].usage.cpu_ns, 7);
//! # Ok::<(), framing::FrameError>(())
//! ```
#![forbid(unsafe_code)]

pub mod account;
pub mod accounts;
pub mod audience;
pub mod boottime;
pub mod buffer;
pub mod counters;
pub mod dimension;
pub mod disk;
pub mod exit;
pub mod field;
mod field_set;
mod field_table;
pub mod frame;
pub mod framing;
pub mod interval;
mod kinds;
pub mod last_booked;
mod make;
pub mod pairs;
pub mod snapshot;
pub mod source_kind;
pub mod states;
pub mod task;
pub mod traffic;
pub mod waits;
pub mod wire;

pub use accounts::{Account, Accounts};
pub use boottime::{Boottime, TICK_NS};
pub use dimension::Dimension;
pub use field::{Field, FieldSet, Value};
pub use interval::{Interval, Row, Usage};
pub use snapshot::{Request, Scope, Snapshot};
pub use source_kind::SourceKind;
pub use states::{Lived, OffTasks, States};
pub use task::{Comm, Guard, Pid, Task, TaskId, Tid};
