//! A *recording* is a directory of *segments*: files of frames, each with its clocks, a sequence number and a checksum. This crate writes
//! recordings, with retention and tiers, and reads them, whatever a crash or a damaged disk has left of them.
//!
//! A [`Writer`] takes frames, and a [`Recording`] gives them back by time or one after the other. `docs/format/recording.md` has the layout.
//!
//! ```
//! use cpuledger_model::frame::{Column, Frame};
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
//!
//! # How it works
//!
//! docs/recording.md has what is promised.
//!
//! - **Groups.** Each 16 records begin with one that stands alone. The others say what has changed since (`chain` of the frame crate), in less than
//!   half the bytes of frames with a dictionary. A jump reads 16 records at most, and a damaged one costs those behind it in its group.
//! - **One write(2) a record.** A writer that is killed leaves whole records and perhaps a torn one at the
//!   end, which readers report. The index comes at the close, and the new name after it.
//! - **Sums** (`sums.rs`, and `accumulator/sums.rs` of the crate for reports). A writer adds up what it writes, and puts the sums between the last record and the index. A
//!   report of a whole segment reads nothing else of it. Sums of another version are skipped, as are damaged ones: the records have it all.
//! - **No repair.** A writer does not touch what another one has left. It gives the file the ending `.cut`, and starts a new segment.
//! - **A thread writes** (`record/recorder.rs` of the binary). `record`, `top --record` and the service make a frame of each interval and hand it over;
//!   they never wait for the disk. 16 frames may wait, and of what is beyond them the numbers are left out. Where the directory cannot be opened or written,
//!   the thread tries again with the next interval.
//! - **The clocks of a frame** are read when its interval is closed (`clock::circumstances`). Intervals of the service have the clocks of its frames.
//! - **A tier after a crash** (`writer/catch_up.rs`). What a killed writer had merged was in memory only. The next one merges it again, of the shortest
//!   intervals that were recorded behind the end of the tier.
//! - **One order** (`order.rs`, `boots.rs`). A recording is one row of intervals, whatever its tiers and clocks: boots as they were recorded,
//!   CLOCK_MONOTONIC in each, and of each time the finest tier that has all of it. Replay, reports and exports read that row. The calendar
//!   selects from it (`recording/time.rs`), and may select an instant more than once.
//! - **Age** (`writer/boots.rs`) is by the same order. Between two boots the calendar counts only as far as was recorded since.
//! - **Replay** (`source/replay.rs` of the library) gives intervals back in both directions, merged to a length. What is missing is an interval without
//!   books. An interval keeps the source that its numbers came from, since that says what is known; output names it `replay`. `cmd/top/replay.rs`
//!   makes one row of intervals of the tiers, for batches and for the screen.
//! - **Numbers** of records show what is missing. An interval that could not be written leaves its number out.
//! - **Resynchronisation** (`scan.rs`). Headers have a checksum of their own. Behind a damaged record the reader goes on at the length that a whole
//!   header says, or at the next header whose checksum is right. It reads each byte once, or twice.
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
mod sums;
mod writer;

pub use error::{Error, Kind};
pub use layout::VERSION;
pub use loss::{Cause, Gap, Loss};
pub use recording::{Place, Record, Recording, Step};
pub use segment::{Entry, Header, Segment};
pub use source::ReadAt;
pub use span::{Span, When};
pub use writer::{Deleted, Lost, Options, Tier, Writer};
