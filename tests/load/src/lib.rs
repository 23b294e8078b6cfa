//! Workloads whose truth is known, for cpuledger's tests and benchmarks.
//!
//! The work is done by the program `cpuledger-load`, so that the tasks under test are never those of the test
//! itself. This library starts the program, waits until it says that everything exists, hands its statements
//! over as types, and takes everything away again on drop:
//!
//! - [`Sleepers`]: many threads that never run,
//! - [`Storm`]: processes or threads that are made and end without pause,
//! - [`Burn`]: threads and children that use a stated amount of CPU time, then say exactly how much,
//! - [`Kin`]: families in which it is not obvious which process accounts for which,
//! - [`States`]: tasks that do one thing while they are on no CPU, and say for how long,
//! - [`Mixture`]: forks, threads, compilers and tasks that wake each other, all at once,
//! - [`LongArguments`]: a process with more arguments than a screen, or any exec, can take,
//! - [`Hostile`]: users that try to harm the service,
//! - [`Zoo`]: one process of each odd kind, each with the [`Truth`] about it,
//! - [`Shared`]: what is dear to make, lent to one test after another,
//! - [`scene`]: tests that have the machine to themselves, and are played again where the kernel hid a switch,
//! - [`Transcript`]: outputs that are compared with recorded ones,
//! - [`names`]: names that are hard to show,
//! - [`with_export`], [`with_net`]: the programs beside `cpuledger` that some of its commands need,
//! - [`not_run`](fn@not_run): how a test says that it cannot run here,
//! - [`online_cpus`], [`possible_cpus`] and [`removable_cpu`]: CPUs by their ids,
//! - [`Ticks`]: CPU time of the machine that no task had,
//! - [`become_user`]: a thread that belongs to another user,
//! - [`LoopDevice`]: a disk whose requests nobody else makes,
//! - [`RaisedLimits`]: room for more tasks than the machine's limits allow, for as long as the guard lives.
//!
//! `program` says how the program is found; a crate needs nothing but a dev-dependency on this one.
//!
//! ```no_run
//! # fn main() -> Result<(), cpuledger_load::Error> {
//! // Made before the sleepers, and so dropped after them.
//! let _limits = cpuledger_load::RaisedLimits::for_threads(100_000)?;
//! let sleepers = cpuledger_load::Sleepers::start(100_000, 1)?;
//! assert_eq!(sleepers.processes()[0].threads, 100_000);
//! # Ok(())
//! # }
//! ```

mod beside;
mod burn;
mod cgroup;
mod cpus;
mod error;
mod held;
mod hostile;
mod kin;
mod limits;
mod loop_device;
mod mixture;
pub mod names;
pub mod not_run;
mod pace;
mod program;
mod recorded;
mod running;
mod runtime;
pub mod scene;
mod shared;
mod sleepers;
mod states;
mod storm;
mod ticks;
mod title;
mod user;
mod zoo;

pub use beside::{with_export, with_net};
pub use burn::{Burn, BurnPlan, Burned};
pub use cgroup::Cgroup;
pub use cpus::{online_cpus, possible_cpus, removable_cpu};
pub use error::Error;
pub use held::BpfHeld;
pub use hostile::{Harm, Harmed, Hostile};
pub use kin::{Brood, Kin, Kinsman};
pub use limits::{RaisedLimits, room_for};
pub use loop_device::LoopDevice;
pub use mixture::{ForkingShells, Mixture, MixturePlan};
pub use not_run::not_run;
pub use pace::is_emulated;
pub use program::program;
pub use recorded::Transcript;
pub use runtime::runtime_ns;
pub use shared::{Lent, Shared};
pub use sleepers::{Sleepers, SleepingProcess};
pub use states::{Did, FileOnDisk, States, StatesPlan};
pub use storm::{Storm, StormPlan, Stormed};
pub use ticks::Ticks;
pub use title::LongArguments;
pub use user::become_user;
pub use zoo::{Bytes, Member, ThreadTruth, Truth, Zoo};
