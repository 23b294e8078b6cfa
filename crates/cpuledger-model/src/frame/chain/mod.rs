//! Frames one after the other, each told by what has changed since those before it.
//!
//! A chain begins with a link that stands alone. Each link is read behind the one before it. It has two parts: bytes that a general
//! compression makes much shorter, and bits that none makes shorter.

mod bits;
mod link;
mod memory;
mod needs;
mod predict;
mod read;
mod rules;

mod whole;
mod write;

pub use link::Link;
pub use read::ChainReader;
pub use write::ChainWriter;
