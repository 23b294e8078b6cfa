//! How much memory a target takes at most.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the bytes of each thread.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// What this thread has allocated and not freed, and the most that was so far. What another thread frees makes them fall.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends frees more than it counts.
    let _ = LIVE.try_with(|live| {
        live.set(live.get().wrapping_add(bytes));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call is passed on to the system's allocator unchanged, and counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout.size().cast_signed().wrapping_neg());
        // SAFETY: the caller keeps the contract of `dealloc`, and `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// How much memory is allowed.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    pub at_all: usize,
    pub per_byte: usize,
}

/// Runs a target.
///
/// # Panics
/// If it had more memory at a time than its input allows.
pub fn within(most: Most, bytes: &[u8], target: impl FnOnce(&[u8])) {
    let before = LIVE.get();
    PEAK.set(before);
    target(bytes);
    let taken = PEAK.get().saturating_sub(before);
    let most = most.at_all + most.per_byte * bytes.len();
    assert!(taken <= most.cast_signed(), "{taken} bytes of memory for {} are more than {most}", bytes.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_at_a_time_counts() {
        let most = Most { at_all: 4096, per_byte: 2 };
        let take = |size: usize| move |_: &[u8]| drop(vec![0_u8; size]);
        within(most, &[0; 100], take(4200));
        within(most, &[], |bytes| (0..10).for_each(|_| take(4000)(bytes)));
        for (bytes, size) in [(&[0; 100][..], 4400), (&[], 4200)] {
            std::panic::catch_unwind(|| within(most, bytes, take(size))).expect_err("it is too much");
        }
    }
}
