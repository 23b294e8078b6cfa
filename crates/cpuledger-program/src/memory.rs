//! What happens when there is no memory: one sentence and an exit code, where the standard library would print a backtrace,
//! for which there may be no memory either, and may wait for itself forever. And the stack that commands need.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::low_level;

/// The allocator of the system, which ends the program where it has nothing left. The `main.rs` of a program makes it its own: fuzz
/// targets, which use the libraries, count by one of theirs.
#[derive(Debug)]
pub struct OrEnd;

/// As for other errors that are not of a source.
const EXIT_CODE: i32 = 1;

fn or_end(address: *mut u8) -> *mut u8 {
    if address.is_null() {
        const SENTENCE: &[u8] = b"cpuledger: not enough memory; free some, or raise the limit\n";
        // If standard error is closed, there is no place for a sentence.
        let _ = rustix::io::write(rustix::stdio::stderr(), SENTENCE);
        // Not exit(3): its handlers may want memory. The kernel detaches what is attached.
        low_level::exit(EXIT_CODE);
    }
    address
}

// SAFETY: every call is passed on to the allocator of the system with its arguments, and what that returns is returned.
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        or_end(unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(address, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        or_end(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as in `alloc`.
        or_end(unsafe { System.realloc(address, layout, size) })
    }
}

/// More stack than any command has been seen to use: 300 KiB, in a build without optimisation.
const STACK_BYTES: usize = 512 << 10;

/// What the stack may grow to where its limit was too low.
const USUAL_STACK_BYTES: u64 = 8 << 20;

/// Raises the limit of the stack where it is below what commands need, as a stack that may not grow ends the program by a signal.
/// The stack of the first thread grows by the limit that is in force when it does.
///
/// # Errors
/// Where it may not be raised so far.
pub fn ensure_stack() -> anyhow::Result<()> {
    const NEEDED: u64 = STACK_BYTES as u64;
    let is_enough = |limit: Option<u64>| limit.is_none_or(|bytes| bytes >= NEEDED);
    let Rlimit { current, maximum } = getrlimit(Resource::Stack);
    if is_enough(current) {
        return Ok(());
    }
    let allowed = maximum.map_or(USUAL_STACK_BYTES, |bytes| bytes.min(USUAL_STACK_BYTES));
    let within = Rlimit { current: Some(allowed), maximum };
    // Beyond the hard limit takes CAP_SYS_RESOURCE.
    let beyond = Rlimit { current: Some(USUAL_STACK_BYTES), maximum: Some(USUAL_STACK_BYTES) };
    let _ = setrlimit(Resource::Stack, if is_enough(Some(allowed)) { within } else { beyond });
    match getrlimit(Resource::Stack).current {
        Some(bytes) if !is_enough(Some(bytes)) => anyhow::bail!(
            "the stack limit is {} KiB, but {} KiB are needed; raise it: ulimit -s 8192",
            bytes >> 10,
            NEEDED >> 10
        ),
        _ => Ok(()),
    }
}

/// Where addresses are limited, takes those of the stack before anything else does: a stack that finds none when it has to grow
/// ends the program by a signal.
pub fn reserve_stack() {
    let limits = [Resource::As, Resource::Stack].map(|resource| getrlimit(resource).current);
    let [Some(_), stack_limit] = limits else { return };
    if stack_limit.is_none_or(|limit| limit > 2 * STACK_BYTES as u64) {
        // The allocator says so where there is no room. What it gives back is there for the stack.
        drop(black_box(Vec::<u8>::with_capacity(STACK_BYTES)));
        grow_stack();
    }
}

#[inline(never)]
fn grow_stack() {
    let mut stack = [0u8; STACK_BYTES];
    black_box(&mut stack);
}
