//! What the program does. `sys` and `bare_thread` hold the unsafe half of it.

pub(crate) mod actor;
mod bare_thread;
pub(crate) mod burn;
pub(crate) mod hostile;
pub(crate) mod kin;
pub(crate) mod read;
mod release;
pub(crate) mod ring;
pub(crate) mod sleepers;
pub(crate) mod slew;
pub(crate) mod states;
pub(crate) mod storm;
mod sys;
pub(crate) mod title;
mod watch;
pub(crate) mod without_bpf;
pub(crate) mod zoo;
