//! The kernel half of cpuledger: BPF programs and the mapping of their records into Rust. No policy lives here.
//!
//! - [`abi`]: the records of `bpf/abi.h`, translated at build time
//! - [`Walker`]: every task of the machine in one system call
//! - [`Inspector`]: a list of tasks in one system call
//! - [`ExitHook`]: the final figures of every task that dies
//! - [`ledger::Ledger`]: every nanosecond of CPU time between two cuts, by task

pub mod abi;
mod btf;
mod cpus;
mod error;
mod exits;
mod facts;
#[cfg(feature = "testing")]
pub mod fuzzing;
mod inspect;
mod io_priority;
pub mod ledger;
mod log;
mod map;
mod object;
mod probe;
mod real_time;
mod records;
mod status;
pub mod threads;
mod walk;

pub use error::{Error, not_permitted};
pub use exits::{Drained, ExitHook};
pub use facts::{Fact, facts, own_file};
pub use inspect::{Inspector, Wanted};
pub use io_priority::{IoPriority, set_io_priority};
pub use probe::has_atomics;
pub use real_time::{come_in_real_time, inherits_sharing, share_cpus};
pub use records::{Mechanism, Walked};
pub use status::{Reads, StatusRecords, StatusWalker};
pub use walk::{Extent, Request, Walker};
