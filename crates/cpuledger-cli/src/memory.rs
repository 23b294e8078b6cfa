//! What happens when there is no memory: one sentence and an exit code, where the standard library would print a backtrace,
//! for which there may be no memory either.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;

use rustix::process::{Resource, getrlimit};
use signal_hook::low_level;

/// The allocator of the system, which ends the program where it has nothing left.
struct OrEnd;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

/// As for other errors that are not of a source.
const EXIT_CODE: i32 = 1;

fn or_end(address: *mut u8) -> *mut u8 {
    if address.is_null() {
        const SENTENCE: &[u8] = b"cpuledger: there is not enough memory; free some, or raise the limit\n";
        // Nobody is left to be told if standard error is closed.
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
