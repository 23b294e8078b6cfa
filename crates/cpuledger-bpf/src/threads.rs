//! Threads beside the own one, where they can be had without danger.

use std::io;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use rustix::process::{Resource, getrlimit};

/// With fewer addresses than these a new thread may find no room for what it starts with, and then the C library (glibc up to
/// 2.41 at least) ends the whole process by SIGABRT.
const LEAST_ADDRESS_BYTES: u64 = 256 << 20;

/// [`Builder::spawn_scoped`], for work that the own thread can do as well.
///
/// # Errors
/// When no thread can be had, or RLIMIT_AS is too small for it to be safe.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    if getrlimit(Resource::As).current.is_some_and(|limit| limit < LEAST_ADDRESS_BYTES) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    Builder::new().spawn_scoped(scope, work)
}
