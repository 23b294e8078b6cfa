//! Whether the program was started without a standard output. It cannot find out later: the runtime of Rust opens /dev/null
//! for a standard descriptor that is closed, and writing to that succeeds.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::{Errno, fcntl_getfd};
use rustix::stdio::stdout;

static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Called by the C library before `main`, and so before the runtime of Rust.
// SAFETY: the C library calls each function of this section once, with arguments that this one does not look at. It asks
// the kernel for flags and stores a bool; neither needs a runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    STDOUT_WAS_CLOSED.store(fcntl_getfd(stdout()) == Err(Errno::BADF), Ordering::Relaxed);
}

/// Whether standard output was closed when the program was started.
pub fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}
