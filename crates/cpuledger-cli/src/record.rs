//! What all commands that record have in common: the limits of a recording, and the thread that writes it.

pub mod beside;
pub mod limits;
pub mod recorder;
