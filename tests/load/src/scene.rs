//! Tests that have the machine to themselves, and are played again where the kernel has hidden a switch from them.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Switches that the kernel has not shown since the scene began.
static MISSED: AtomicU64 = AtomicU64::new(0);

/// So often a scene is played.
const PERFORMANCES: u32 = 6;

/// One test of a program at a time: each keeps all CPUs busy, and what it says of time would have to allow for the others.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Plays a scene by itself. Where the kernel has not shown a switch, and some kernels do not show those of tasks they protect,
/// the time or the death of one task is another's: a scene that fails then is played again. It has to hold once.
///
/// # Panics
/// As the scene does, if no switch [was missed](were_missed) in it, or at the last try.
pub fn scene(play: impl Fn()) {
    let _alone = alone();
    for _ in 1..PERFORMANCES {
        MISSED.store(0, Ordering::Relaxed);
        match catch_unwind(AssertUnwindSafe(&play)) {
            Ok(()) => return,
            Err(reason) if MISSED.load(Ordering::Relaxed) == 0 => resume_unwind(reason),
            Err(_) => println!("again, as {} switches were not shown", MISSED.load(Ordering::Relaxed)),
        }
    }
    play();
}

/// An interval of the scene was closed: so many switches were not shown in it.
pub fn were_missed(switches: u64) {
    MISSED.fetch_add(switches, Ordering::Relaxed);
}
