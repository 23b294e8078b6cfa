//! Text of the machine's users made ready for a screen: escaped, and no wider than it may be.

pub mod escape;
mod invisible;
pub mod manner;
pub mod width;
