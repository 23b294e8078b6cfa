//! Parsers of the text of /proc and /sys, one for each file, and [what a name in it becomes](escape) where it is printed.
//!
//! Everything here is pure: no file is read, and no clock. Text comes from the kernel, but a task has a hand in some of it: its name, its
//! arguments, the names of cgroups. So any bytes are survived, and what is not the whole text of the file is refused where that can be told.

pub mod count;
pub mod cpu_list;
mod entries;
pub mod escape;
mod invisible;
pub mod machine;
pub mod number;
pub mod signal;
pub mod task;

pub use entries::entries;
