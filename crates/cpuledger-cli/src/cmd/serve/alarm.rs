//! A sleep that another thread can end. It is a futex, which costs half of what poll and an eventfd do, once an interval.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cpuledger::machine;

/// Wakes the thread that sleeps by it, or keeps it from its next sleep.
#[derive(Debug, Default)]
pub struct Alarm {
    has_rung: Mutex<bool>,
    rings: Condvar,
}

impl Alarm {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.has_rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the sleep.
    pub fn ring(&self) {
        *self.lock() = true;
        self.rings.notify_all();
    }

    /// Whether it has rung since it was turned off.
    pub fn has_rung(&self) -> bool {
        *self.lock()
    }

    /// Turns it off; whether it had rung. What it was about has to be looked for after that.
    pub fn turn_off(&self) -> bool {
        std::mem::take(&mut *self.lock())
    }

    /// Sleeps until that time, CLOCK_MONOTONIC, or until it rings.
    pub fn sleep_until(&self, deadline_ns: u64) {
        let mut has_rung = self.lock();
        while !*has_rung {
            let rest_ns = deadline_ns.saturating_sub(machine::monotonic_ns());
            if rest_ns == 0 {
                return;
            }
            has_rung = self
                .rings
                .wait_timeout(has_rung, Duration::from_nanos(rest_ns))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_NS: u64 = 3_600_000_000_000;

    #[test]
    fn a_ring_before_the_sleep_is_not_lost() {
        let alarm = Alarm::default();
        alarm.ring();
        alarm.sleep_until(machine::monotonic_ns() + LONG_NS);
        assert!(alarm.has_rung() && alarm.turn_off() && !alarm.turn_off() && !alarm.has_rung());
    }

    #[test]
    fn a_ring_ends_the_sleep() {
        let alarm = Alarm::default();
        std::thread::scope(|scope| {
            scope.spawn(|| alarm.sleep_until(machine::monotonic_ns() + LONG_NS));
            std::thread::sleep(Duration::from_millis(20));
            alarm.ring();
        });
    }

    #[test]
    fn without_a_ring_it_sleeps_until_the_time() {
        let alarm = Alarm::default();
        let deadline_ns = machine::monotonic_ns() + 20_000_000;
        alarm.sleep_until(deadline_ns);
        assert!(machine::monotonic_ns() >= deadline_ns && !alarm.has_rung());
    }
}
