//! What all commands that record have in common: the limits of a recording, its usual place, and the thread that writes it.

mod beside;
pub mod limits;
pub mod place;
pub mod recorder;
