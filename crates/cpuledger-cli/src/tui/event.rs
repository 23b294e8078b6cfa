//! What the threads of the screen tell the one that shows.

use cpuledger::{Boottime, Comm, TaskId};
use cpuledger_program::end::Notice;

use super::frame::Frame;
use crate::stop::Waker;

/// What the files of a task say: labels, and a text behind each.
pub type FileLines = Vec<(&'static str, String)>;

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
    Detail(TaskId, FileLines),
    /// What the thread that watches for signals tells.
    Signal(Notice),
}
