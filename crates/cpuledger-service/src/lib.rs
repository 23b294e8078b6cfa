//! What the service and its clients share. One ledger, any number of readers:
//!
//! - [`ring`]: frames in sealed memory. The service writes, readers map the memory for reading only and wait by futex.
//! - [`sealed`]: bytes in a memfd that nothing can change any more, for what is kept over a restart.
//! - [`varlink`]: the control protocol, by which a reader asks for a ring or a listing. [`client`] calls it, and [`server`] serves it.
//!
//! A frame is bytes here. What it holds, and what a caller may see, is decided elsewhere.
//!
//! ```
//! use std::time::Duration;
//!
//! use cpuledger_service::ring::{Next, Reader, Ring, Size};
//!
//! let mut ring = Ring::create("example", Size { bytes: 4096, frames: 8 })?;
//! // A service sends this descriptor to a reader, which can map it for reading only.
//! let mut reader = Reader::open(ring.fd())?;
//! ring.publish(b"the first frame")?;
//! assert_eq!(reader.wait(Duration::from_secs(1))?, Next::Frame);
//! let mut frame = Vec::new();
//! let copied = reader.copy(&mut frame)?.expect("a frame was published");
//! assert_eq!((copied.sequence, copied.missed, &frame[..]), (1, 0, &b"the first frame"[..]));
//! # Ok::<(), cpuledger_service::ring::RingError>(())
//! ```

pub mod client;
mod descriptors;
mod inherited;
mod mapping;
pub mod ring;
pub mod sealed;
pub mod server;
pub mod varlink;

pub use descriptors::MAX_DESCRIPTORS;
pub use inherited::{Inherited, inherited};
