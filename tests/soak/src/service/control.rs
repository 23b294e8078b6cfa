//! What the machine itself makes late under the same load: a thread that only sleeps, and a publisher that does nothing but wake its reader.

use std::fs::File;
use std::num::NonZeroU32;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cpuledger::machine;
use cpuledger_load::become_user;
use rustix::process::setpriority_process;
use rustix::thread::futex::{self, Flags, Timespec};

use super::spread::jitters;

/// How often the sleeper wakes, and the publisher publishes.
const EVERY: Duration = Duration::from_millis(100);
/// That of the service's thread.
const MOST_URGENT: i32 = -20;
/// A reader looks again after that time, so that it ends.
const LOOK_AGAIN_NS: u64 = 200_000_000;

/// For how long this thread has waited for a CPU since it began.
#[derive(Debug)]
pub struct Waits(File);

impl Waits {
    /// Of the thread that calls it.
    ///
    /// # Errors
    /// When /proc does not have it.
    pub fn of_this_thread() -> Result<Waits> {
        Ok(Waits(File::open("/proc/thread-self/schedstat").context("open the times of this thread")?))
    }

    /// By now, in nanoseconds.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn ns(&self) -> Result<u64> {
        let mut text = [0; 64];
        let length = self.0.read_at(&mut text, 0).context("read the times of this thread")?;
        let text = std::str::from_utf8(&text[..length]).context("they are digits")?;
        let ns = text.split(' ').nth(1).and_then(|ns| ns.parse().ok());
        ns.with_context(|| format!("the times of this thread are {text:?}"))
    }
}

/// How late a thread wakes that does nothing but sleep, each time beside its median.
pub fn sleep_until(is_over: &AtomicBool) -> Vec<u64> {
    let (begin, mut late_ns) = (Instant::now(), Vec::new());
    for round in 1.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let due = EVERY * round;
        sleep(due.saturating_sub(begin.elapsed()));
        late_ns.push(begin.elapsed().saturating_sub(due).as_nanos() as u64);
    }
    jitters(&late_ns)
}

/// Publishes by futex, as the service does and with its priority, and does nothing else. Returns how late its reader, of that user, was each
/// time beside its median.
///
/// # Errors
/// When the threads cannot become what they are.
pub fn publish_until(user: u32, is_over: &AtomicBool) -> Result<Vec<u64>> {
    let (word, due_ns) = (AtomicU32::new(0), AtomicU64::new(0));
    scope(|scope| {
        let reader = scope.spawn(|| {
            become_user(user)?;
            let (mut seen, mut late_ns) = (0, Vec::new());
            while !is_over.load(Ordering::SeqCst) {
                let _ = futex::wait_bitset(&word, Flags::PRIVATE, seen, Some(&until()), NonZeroU32::MAX);
                let now_ns = machine::monotonic_ns();
                let published = word.load(Ordering::Acquire);
                if published != seen {
                    seen = published;
                    late_ns.push(now_ns.saturating_sub(due_ns.load(Ordering::Acquire)));
                }
            }
            anyhow::Ok(jitters(&late_ns))
        });
        setpriority_process(None, MOST_URGENT).context("be as urgent as the service")?;
        machine::come_in_real_time(false).context("be as urgent as the service")?;
        let begin_ns = machine::monotonic_ns();
        // Not at the instants of the service.
        for round in 1.. {
            if is_over.load(Ordering::SeqCst) {
                break;
            }
            let next_ns = begin_ns + round * EVERY.as_nanos() as u64;
            sleep(Duration::from_nanos(next_ns.saturating_sub(machine::monotonic_ns())));
            due_ns.store(next_ns, Ordering::Release);
            word.fetch_add(1, Ordering::Release);
            let _ = futex::wake(&word, Flags::PRIVATE, 1);
        }
        reader.join().expect("it does not panic")
    })
}

/// When a reader looks again.
fn until() -> Timespec {
    let ns = machine::monotonic_ns() + LOOK_AGAIN_NS;
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}
