//! What the threads of the screen tell the one that shows.

use cpuledger::{Boottime, Comm, TaskId};
use cpuledger_program::end::Reason;

use super::file_detail::FileDetail;
use super::frame::Frame;
use crate::stop::Waker;

/// What the threads tell.
pub enum Event {
    /// An interval is over.
    Frame(Box<Frame>),
    /// The source is open; the running interval can be ended by that.
    Opened(Waker),
    /// A source has gone or come back.
    Notice(String),
    /// The feed has ended.
    Ended(anyhow::Result<()>),
    /// A key, the mouse, another size.
    Input(crossterm::event::Event),
    /// The keyboard is gone.
    Closed,
    /// Arguments were read.
    Arguments {
        /// Of which process.
        process: TaskId,
        /// Its name at that time.
        comm: Comm,
        /// When they were read.
        read: Boottime,
        /// Separated by NUL; `None` where they could not be read.
        arguments: Option<Box<[u8]>>,
    },
    /// The files of one task were read.
    Detail(Box<FileDetail>),
    /// We have to end.
    End(Reason),
    /// We have to stop.
    Stop,
    /// We go on after a stop.
    Continued,
    /// The terminal has another size.
    Resized,
}
