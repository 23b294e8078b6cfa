//! The kernel matrix: the tests of this repository on the kernels that distributions ship, under emulation.
//!
//! The program `cpuledger-vm` fetches the kernels, makes an initramfs of static test binaries and boots one kernel after
//! another; in each, `cpuledger-vm-guest` is the first process. Both have from here
//!
//! - [`Feature`]: what kernels have or lack, how that is found out, and since when each should have it,
//! - [`Architecture`]: what CPUs a machine has,
//! - [`machine`]: the machines on which kernels are booted,
//! - [`suite`]: which tests run, and what they need,
//! - [`extent`]: how many of them are run in which guest,
//! - [`protocol`]: what the guest says on its console,
//! - [`progress`]: what a test binary prints on its way through its tests.

mod architecture;
pub mod extent;
mod feature;
pub mod machine;
pub mod progress;
pub mod protocol;
pub mod suite;

pub use architecture::Architecture;
pub use extent::Extent;
pub use feature::{Feature, Series};
pub use machine::Machine;
