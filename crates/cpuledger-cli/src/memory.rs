//! Memory that is given back when it is not needed any more.

/// How often a program that runs on gives back what it has freed.
const GIVE_BACK_NS: u64 = 30_000_000_000;

/// A larger block is mapped by itself, and unmapped as soon as it is free.
#[cfg(target_env = "gnu")]
const MAPPED_BYTES: libc::c_int = 128 << 10;

/// When that is due.
#[derive(Debug, Default)]
pub struct GiveBack {
    next_ns: u64,
}

impl GiveBack {
    /// To be called after each interval, at `now_ns` of CLOCK_MONOTONIC. After a storm of tasks most memory is free, but between blocks that are
    /// used: the allocator returns only what lies above all of these. Returning the rest costs some microseconds where there is little.
    pub fn tick(&mut self, now_ns: u64) {
        if now_ns >= self.next_ns {
            self.next_ns = now_ns + GIVE_BACK_NS;
            give_back();
        }
    }
}

/// From now on large blocks are mapped: else the allocator puts blocks of up to 32 MiB between small ones, once it has freed some. Not for a
/// program that fills large blocks anew in each interval, as a walk does: each of their pages would be a fault.
#[cfg(target_env = "gnu")]
pub fn map_large() {
    // SAFETY: it may be called at any time by any thread, and changes only what is allocated later.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES) };
}

#[cfg(target_env = "gnu")]
fn give_back() {
    // SAFETY: it may be called at any time by any thread, and moves nothing that is in use.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators do so by themselves.
#[cfg(not(target_env = "gnu"))]
pub fn map_large() {}

#[cfg(not(target_env = "gnu"))]
fn give_back() {}
