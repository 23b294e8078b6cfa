//! OTLP: what is sent, where, and what is still to be sent.

pub mod delivery;
pub mod messages;
pub mod pushes;
pub mod queue;
pub mod snapshot;
pub mod target;
