//! The books of a Linux machine's CPU time.
//!
//! A [`source`] fills a [`Snapshot`] of tasks and processes; their members are described by the one table in [`field`].
//!
//! ```
//! use cpuledger::{FieldSet, Request, Scope, Snapshot, Source, source::procfs::Procfs};
//!
//! let mut source = Procfs::open()?;
//! let mut snapshot = Snapshot::default();
//! source.snapshot(&Request::new(Scope::Processes, FieldSet::ALL), &mut snapshot)?;
//! let myself = snapshot.processes.iter().find(|row| row.pid.0 == std::process::id() as i32);
//! assert!(myself.is_some_and(|row| row.runtime_ns > 0 || row.user_ns + row.system_ns < 1_000_000_000));
//! # Ok::<(), cpuledger::Error>(())
//! ```

pub mod attribution;
pub mod caller;
pub mod error;
pub mod facts;
#[cfg(feature = "testing")]
pub mod fuzzing;
pub mod host_statistics;
pub mod intervals;
mod life;
pub mod machine;
pub mod source;
pub mod support;

pub use attribution::difference::Books;
pub use cpuledger_client::{balance, clock, stop};
pub use cpuledger_model::{
    Account, Accounts, Boottime, Comm, Field, FieldSet, Guard, Interval, Lived, OffTasks, Pid, Request, Row,
    Scope, Snapshot, SourceKind, States, TICK_NS, Task, TaskId, Tid, Usage, Value, accounts, counters, field,
    framing, interval, make, snapshot, task,
};
pub use error::Error;
pub use intervals::Intervals;
pub use source::Source;
