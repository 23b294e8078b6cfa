//! Text of the machine's users made ready for a screen: escaped.

pub mod escape;
mod invisible;
pub mod manner;
