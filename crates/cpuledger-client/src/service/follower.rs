//! A thread that waits for the frames of a ring: a futex cannot be waited for beside descriptors, so it writes to one.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use cpuledger_service::ring::{Next, Reader, RingError};
use rustix::event::{EventfdFlags, eventfd};

/// Frames that wait until the intervals are read. The ring keeps those that come after them, as long as it has room.
const WAITING_FRAMES: usize = 16;
/// After that time without a frame the thread looks whether it is still needed.
const PATIENCE: Duration = Duration::from_secs(2);

/// What comes from the ring.
pub(super) enum Arrival {
    /// The bytes of a frame.
    Frame(Vec<u8>),
    /// There is another ring, in which the frame of this number comes next. Nothing more comes from this one.
    Moved(u64),
    /// The ring cannot be read. Nothing more comes.
    Failed(String),
}

/// The thread, for the one that it works for.
#[derive(Debug)]
pub(super) struct Follower {
    arrivals: Receiver<Arrival>,
    /// It is readable when there is an arrival.
    arrived: Arc<OwnedFd>,
    is_over: Arc<AtomicBool>,
}

impl Follower {
    /// Begins to wait for the frames of that ring.
    pub(super) fn start(reader: Reader) -> io::Result<Follower> {
        let arrived = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let is_over = Arc::new(AtomicBool::new(false));
        let (sender, arrivals) = sync_channel(WAITING_FRAMES);
        let (to_tell, ends) = (Arc::clone(&arrived), Arc::clone(&is_over));
        thread::Builder::new().name("ring".into()).spawn(move || follow(reader, &sender, &to_tell, &ends))?;
        Ok(Follower { arrivals, arrived, is_over })
    }

    /// What is readable when something has arrived.
    pub(super) fn arrived(&self) -> &OwnedFd {
        &self.arrived
    }

    /// The next arrival, if there is one.
    pub(super) fn take(&self) -> Option<Arrival> {
        if let Ok(arrival) = self.arrivals.try_recv() {
            return Some(arrival);
        }
        // It is read before the second look, so that no arrival is left without a mark.
        let _ = rustix::io::read(&self.arrived, &mut [0; 8]);
        self.arrivals.try_recv().ok()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // The thread ends when it looks next. It has nothing but the mapping, so nothing waits for it.
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn follow(mut reader: Reader, arrivals: &SyncSender<Arrival>, arrived: &OwnedFd, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let Some(arrival) = next(&mut reader, PATIENCE) else { continue };
        let is_last = !matches!(arrival, Arrival::Frame(_));
        if arrivals.send(arrival).is_err() {
            return;
        }
        // It fails where 2^64 - 2 marks wait already.
        let _ = rustix::io::write(arrived, &1u64.to_ne_bytes());
        if is_last {
            return;
        }
    }
}

/// What comes next from a ring within that time.
pub(super) fn next(reader: &mut Reader, timeout: Duration) -> Option<Arrival> {
    match reader.wait(timeout) {
        Ok(Next::TimedOut) => None,
        Ok(Next::Moved) => Some(Arrival::Moved(reader.next_number())),
        Ok(Next::Frame) => {
            let mut bytes = Vec::new();
            match reader.copy(&mut bytes) {
                Ok(copied) => copied.map(|_| Arrival::Frame(bytes)),
                // The frame is missing then, which its neighbours tell.
                Err(RingError::Damaged { .. }) => None,
                Err(error) => Some(Arrival::Failed(error.to_string())),
            }
        }
        Err(error) => Some(Arrival::Failed(error.to_string())),
    }
}
