//! A *recording* is a directory of *segments*: files of frames, each with its clocks, a sequence number and a checksum. This crate writes
//! recordings, with retention and tiers, and reads them, whatever a crash or a damaged disk has left of them.
//!
//! A [`Writer`] takes frames, and a [`Recording`] gives them back by time or one after the other. `docs/recording.md` has the layout.
//!
//! ```
//! use cpuledger_frame::{Column, Frame};
//! use cpuledger_recording::{Options, Recording, Step, Writer};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("recording");
//! let mut frame = Frame::new();
//! frame.set_figure(Column::START_NS, Some(1_000_000_000));
//! frame.set_figure(Column::END_NS, Some(2_000_000_000));
//! let mut writer = Writer::open(&folder, Options::default())?;
//! writer.append(&frame)?;
//! writer.close()?;
//!
//! let mut recording = Recording::open(&folder)?;
//! let first = recording.first().expect("there is one");
//! assert!(matches!(recording.step(first)?, Step::Record(record, _) if record.frame == frame));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod boots;
mod compress;
mod error;
mod extent;
mod files;
mod folder;
mod index;
mod layout;
mod length;
mod loss;
mod order;
mod part;
mod recording;
mod scan;
mod segment;
mod source;
mod span;
mod writer;

pub use error::{Error, Kind};
pub use layout::VERSION;
pub use loss::{Cause, Gap, Loss};
pub use recording::{Place, Record, Recording, Step};
pub use segment::{Entry, Header, Segment};
pub use source::ReadAt;
pub use span::{Span, When};
pub use writer::{Deleted, Options, Tier, Writer};
