//! The books of a Linux machine's CPU time.
//!
//! A [`source`] fills a [`Snapshot`] of tasks and processes; their members are described by the one table in [`field`].
//!
//! ```
//! use cpuledger::{FieldSet, Request, Scope, Snapshot, Source, source::procfs::Procfs};
//!
//! let mut source = Procfs::open()?;
//! let mut snapshot = Snapshot::default();
//! source.snapshot(&Request { scope: Scope::Processes, fields: FieldSet::ALL }, &mut snapshot)?;
//! let myself = snapshot.processes.iter().find(|row| row.pid.0 == std::process::id() as i32);
//! assert!(myself.is_some_and(|row| row.runtime_ns > 0 || row.user_ns + row.system_ns < 1_000_000_000));
//! # Ok::<(), cpuledger::Error>(())
//! ```

pub mod attribution;
pub mod audience;
pub mod balance;
mod buffer;
pub mod caller;
pub mod clock;
pub mod counters;
pub mod enrich;
pub mod error;
mod exit;
pub mod facts;
pub mod field;
mod field_set;
pub mod frames;
#[doc(hidden)]
pub mod fuzzing;
pub mod host_statistics;
pub mod interval;
pub mod machine;
pub mod snapshot;
pub mod source;
mod source_kind;
mod states;
pub mod support;
pub mod task;
pub mod text;

pub use attribution::difference::Books;
pub use clock::Boottime;
pub use enrich::{detail, logins, names, terminal};
pub use error::Error;
pub use field::{Field, FieldSet, Value};
pub use interval::Interval;
pub use snapshot::{Request, Scope, Snapshot};
pub use source::{Source, SourceKind};
pub use states::{Lived, OffTasks, States};
pub use task::{Comm, Guard, Pid, Task, TaskId, Tid};
