//! Events for a visitor, as they come (Server-Sent Events).

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use tokio::sync::mpsc::Receiver;

/// A body that ends when no more events will come.
#[derive(Debug)]
pub struct Events {
    receiver: Receiver<Bytes>,
    is_kept: Arc<AtomicBool>,
}

impl Events {
    /// The events of a receiver. Until the end, the connection is kept.
    pub fn new(receiver: Receiver<Bytes>, is_kept: Arc<AtomicBool>) -> Events {
        is_kept.store(true, Ordering::Relaxed);
        Events { receiver, is_kept }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.is_kept.store(false, Ordering::Relaxed);
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}
