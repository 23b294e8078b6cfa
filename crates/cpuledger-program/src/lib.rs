//! What the programs of cpuledger have in common: how they speak, fail and end, and how their options name times and recordings.
//!
//! Each command is written against this. `cpuledger` has most of them, and a program beside it has each command that few need and that takes
//! long to build. So nothing here knows BPF, sources or the screen.

mod closed;
pub mod colors;
pub mod draft;
pub mod end;
pub mod exit;
pub mod export;
pub mod mcp;
pub mod memory;
pub mod metrics;
pub mod name_service;
pub mod output;
pub mod place;
pub mod progress;
pub mod push;
pub mod recording;
pub mod setuid;
mod start;
pub mod web;
pub mod when;

pub use start::start;
