//! Intervals of a Linux machine's CPU time, from a running service or from a recording. No privilege is needed, and nothing is loaded into the kernel.
//!
//! - [`Client`]: intervals, one after another, and listings. It starts no thread.
//! - [`measure`]: what processes used that some code has started, the dead included.
//! - [`service`], [`replay`]: what both are made of.
//!
//! ```no_run
//! use std::time::Duration;
//! use cpuledger_client::Client;
//!
//! for interval in Client::service(Duration::from_secs(1))?.take(3) {
//!     let interval = interval?;
//!     let idle_and_unattributed_ns = interval.idle_ns.zip(interval.unattributed_ns).map(|(idle, rest)| idle + rest);
//!     assert_eq!(Some(interval.capacity_ns - interval.attributed_ns), idle_and_unattributed_ns);
//! }
//! # Ok::<(), cpuledger_client::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod balance;
pub mod client;
pub mod clock;
pub mod cpus;
pub mod descent;
pub mod error;
pub mod families;
pub mod gap;
pub mod measure;
pub mod namespace;
pub mod replay;
pub mod service;
pub mod stop;

pub use client::{Client, Next};
pub use error::{Error, REMEDY_OF_SERVICE};
pub use measure::{Measured, Measurement};
