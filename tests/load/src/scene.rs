//! Tests that have the machine to themselves, and are played again where the kernel has hidden a switch from them.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{is_emulated, online_cpus};

/// Switches that the kernel has not shown since the scene began.
static MISSED: AtomicU64 = AtomicU64::new(0);

/// The most times that a scene is played.
const PERFORMANCES: u32 = 4;

/// One test of a program at a time: each keeps all CPUs busy, and what it says of time would have to allow for the others.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Plays a scene by itself. Some kernels do not show the switches of process 1, which they protect. If a switch was hidden, the time or the
/// death of one task goes to another. So a scene that fails then is played again: it has to hold once.
///
/// What was missed has to be explained by the kernel's own count of the switches that process 1 has made meanwhile. In the guests of the
/// kernel matrix, whose kernels hide nothing, nothing may be missed.
///
/// # Panics
/// As the scene does, if no switch [was missed](were_missed) in it, or at the last try; and if more were missed than can be explained.
pub fn scene(play: impl Fn()) {
    let _alone = alone();
    if is_emulated() {
        return perform(play, || 0, 0);
    }
    // A switch that was counted just before the scene is found missing at the next one of its CPU.
    let late = online_cpus().expect("sysfs").len() as u64;
    perform(play, switches_of_process_1, late);
}

/// Plays a scene that compares times by two clocks. An emulated CPU may lose its turn between their readings, for long where the host is
/// busy: there it is played again, and has to hold once.
///
/// # Panics
/// As [`scene`], at the last try.
pub fn scene_of_times(play: impl Fn()) {
    for _ in 1..if is_emulated() { PERFORMANCES } else { 1 } {
        match catch_unwind(AssertUnwindSafe(|| scene(&play))) {
            Ok(()) => return,
            Err(_) => println!("again, as an emulated CPU may have lost its turn between two clocks"),
        }
    }
    scene(play);
}

/// Plays it until it holds. `hidden`: how many switches the kernel may have hidden since the boot. `late`: how many of them may be
/// noticed in a scene that begins after them.
fn perform(play: impl Fn(), hidden: impl Fn() -> u64, late: u64) {
    for performance in 1..=PERFORMANCES {
        MISSED.store(0, Ordering::Relaxed);
        let before = hidden();
        let played = catch_unwind(AssertUnwindSafe(&play));
        let missed = MISSED.load(Ordering::Relaxed);
        let explained = hidden().saturating_sub(before) + late;
        assert!(missed <= explained, "{missed} switches were not shown, and process 1 explains {explained}");
        match played {
            Ok(()) => return,
            Err(reason) if missed == 0 || performance == PERFORMANCES => resume_unwind(reason),
            Err(_) => println!("again, as {missed} switches were not shown; process 1 explains {explained}"),
        }
    }
}

/// An interval of the scene was closed, in which this number of switches was not shown.
pub fn were_missed(switches: u64) {
    MISSED.fetch_add(switches, Ordering::Relaxed);
}

/// How many switches were not shown in this scene so far.
pub fn missed() -> u64 {
    MISSED.load(Ordering::Relaxed)
}

/// Switches away from the threads of process 1, by the kernel's count; those that end take theirs along, so that it errs on the side of
/// fewer.
fn switches_of_process_1() -> u64 {
    let threads = fs::read_dir("/proc/1/task").expect("process 1 is there").flatten();
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
    texts.map(|text| switches(&text)).sum()
}

/// Both counts of switches in a `status`.
fn switches(status: &str) -> u64 {
    let count = |line: &str| line.split_once("ctxt_switches:")?.1.trim().parse::<u64>().ok();
    status.lines().filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How often a scene is played if this number of plays fails, each with `missed` switches missed of `hidden` hidden ones.
    fn plays(failing: u32, missed: u64, hidden: u64) -> Result<u32, u32> {
        let (played, count) = (Cell::new(0), Cell::new(0));
        let play = || {
            played.set(played.get() + 1);
            were_missed(missed);
            count.set(count.get() + hidden);
            assert!(played.get() > failing, "as scenes do");
        };
        match catch_unwind(AssertUnwindSafe(|| perform(play, || count.get(), 0))) {
            Ok(()) => Ok(played.get()),
            Err(_) => Err(played.get()),
        }
    }

    #[test]
    fn a_scene_is_played_again_only_for_what_the_kernel_explains() {
        let _alone = alone();
        assert_eq!(plays(0, 0, 0), Ok(1));
        assert_eq!(plays(1, 0, 5), Err(1), "nothing was missed");
        assert_eq!(plays(2, 3, 3), Ok(3));
        assert_eq!(plays(100, 1, 1), Err(PERFORMANCES), "there is an end to it");
        assert_eq!((plays(1, 4, 3), plays(0, 1, 0)), (Err(1), Err(1)), "more than the kernel explains");
    }

    #[test]
    fn both_counts_are_read() {
        let status = "Name:\tinit\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(switches(status), 157);
        assert!(switches_of_process_1() > 0);
    }
}
