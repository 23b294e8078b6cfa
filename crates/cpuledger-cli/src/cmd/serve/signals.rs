//! Signals of the service: the end and a reload. They make a descriptor readable that the control loop watches.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// What signals have asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The end.
    End,
    /// A new look at the configuration.
    Reload,
    /// Neither: another thread has something to tell.
    Nothing,
}

/// What has come.
#[derive(Debug)]
pub struct Signals {
    end: Arc<AtomicBool>,
    reload: Arc<AtomicBool>,
    reader: PipeReader,
    writer: PipeWriter,
}

/// Makes the control loop look up.
#[derive(Debug)]
pub struct Waker(PipeWriter);

impl Waker {
    /// One more.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn try_clone(&self) -> io::Result<Waker> {
        Ok(Waker(self.0.try_clone()?))
    }

    /// The control loop looks up.
    pub fn wake(&mut self) {
        // A pipe that is full wakes it, too.
        let _ = self.0.write(&[0]);
    }
}

impl Signals {
    /// From now on signals are told here.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn watch() -> io::Result<Signals> {
        let (reader, writer) = io::pipe()?;
        for end in [reader.as_fd(), writer.as_fd()] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        let (end, reload) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for (signal, flag) in [(SIGTERM, &end), (SIGINT, &end), (SIGHUP, &reload)] {
            // First the flag, then the byte: after the byte the flag is there.
            signal_hook::flag::register(signal, Arc::clone(flag))?;
            signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
        }
        Ok(Signals { end, reload, reader, writer })
    }

    /// What wakes the loop without a signal.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn waker(&self) -> io::Result<Waker> {
        Ok(Waker(self.writer.try_clone()?))
    }

    /// What was asked for since the last time.
    pub fn take(&self) -> Asked {
        let mut bytes = [0; 64];
        while (&self.reader).read(&mut bytes).is_ok_and(|count| count == bytes.len()) {}
        if self.end.load(Ordering::SeqCst) {
            Asked::End
        } else if self.reload.swap(false, Ordering::SeqCst) {
            Asked::Reload
        } else {
            Asked::Nothing
        }
    }
}

/// Readable when there is something to take.
impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}
