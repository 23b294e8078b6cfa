//! What the program does. `sys` and `bare_thread` hold the unsafe half of it.

mod bare_thread;
mod release;
pub(crate) mod sleepers;
mod sys;
