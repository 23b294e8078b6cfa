//! Text of the machine's users made ready for a screen: escaped.

pub mod manner;

pub use cpuledger_proc::{count, escape};
