//! What a span of intervals says: CPU time by command, user, cgroup, process or ancestry, and the balance of it all. It reads no file
//! and no clock: frames come in, and a [`Report`] comes out.
//!
//! Each nanosecond that was attributed is in exactly one row, under the name of the task that used it. So the rows, idle and
//! unattributed time add up to the capacity, and the reports of two spans that meet add up to that of both.
//!
//! ```
//! use cpuledger_model::frame::{Column, Frame, Section};
//! use cpuledger_report::{Accumulator, Dimension, Instants, Name};
//!
//! let mut frame = Frame::new();
//! let comm = frame.intern(b"make");
//! let processes = frame.table_mut(Section::Processes);
//! processes.reset(1);
//! processes.set(Column::CPU_NS, 0, Some(7));
//! processes.set(Column::COMM, 0, Some(comm));
//! frame.set_figure(Column::CAPACITY_NS, Some(10));
//! frame.set_figure(Column::ATTRIBUTED_NS, Some(7));
//! frame.set_figure(Column::IDLE_NS, Some(3));
//! frame.set_figure(Column::UNATTRIBUTED_NS, Some(0));
//!
//! let mut accumulator = Accumulator::new(&[Dimension::Command]);
//! accumulator.add(&frame, Instants { start_realtime_ns: 0, end_realtime_ns: 5 });
//! let report = accumulator.report(Dimension::Command, 10);
//! assert_eq!(report.rows[0].name, Name::Text(b"make".to_vec()));
//! assert_eq!(report.rows[0].amounts.self_ns, 7);
//! assert_eq!(report.balance.idle_ns, 3);
//! ```
//!
//! # How it works
//!
//! `crates/cpuledger-report` adds frames up; docs/report.md says what the figures mean. `cmd/report` reads, and `report` of
//! `cpuledger-view` writes text, JSON, CSV and HTML.
//!
//! - **Under its own name** (`deaths.rs`). A frame has the time of a dead process with its heir. The records of the dead say whose it was: that much moves
//!   from the heir's row to the name of the dead. What no record explains stays with the heir.
//! - **Added up by group** (`groups.rs`). The dead of a frame of one command, user or cgroup are put into a table as one sum. Only reports by process
//!   and by ancestor look at each.
//! - **No state from frame to frame**, except for ancestry. So spans that meet add up, and each thread reads a part of the records. By ancestor and
//!   by process, one thread adds up and another reads ahead. A report does not depend on the number of CPUs.
//! - **Ancestry** (`lineage.rs`). A process that dies becomes a branch of its heir, by name. So what is remembered is what lives, and names.
//! - **Sums** (`accumulator/sums.rs`). What some intervals add up to becomes bytes, which are added as if they were these intervals. Recordings keep them.
//! - **Only what is needed** is decoded (`Frame::decode_wanted_from`), into the memory of the frame before. What a group has said is kept.
//! - **Limits**: 65,536 names of each kind. Beyond that those with the least time are put together, and their texts are forgotten
//!   (`accumulator/forget.rs`).
#![forbid(unsafe_code)]

mod accumulator;
mod amounts;
mod balance;
mod branch;
mod deaths;
mod dimension;
mod disks;
mod groups;
mod instants;
mod key;
mod labels;
mod lineage;
mod names;
mod report;
mod table;
mod within;

pub use accumulator::{Accumulator, Sums};
pub use amounts::{Amounts, Counted, Off};
pub use balance::Balance;
pub use dimension::{Dimension, Name};
pub use disks::{DeviceSums, DiskSums};
pub use instants::{Instants, TimeLine};
pub use labels::Labels;
pub use report::{Difference, Report, Row, compare};
pub use within::Condition;
