//! Playing a recording: which instant it is, at a speed.

use std::fmt;
use std::time::{Duration, Instant};

/// How much faster and slower it plays at most, as powers of two.
const SPEEDS: std::ops::RangeInclusive<i32> = -3..=12;

/// How much faster than time it plays, as a power of two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Speed(i32);

impl Speed {
    /// Faster or slower, as far as there is a speed.
    pub fn changed(self, step: i32) -> Speed {
        Speed((self.0 + step).clamp(*SPEEDS.start(), *SPEEDS.end()))
    }

    fn factor(self) -> f64 {
        2f64.powi(self.0)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slower = if self.0 < 0 { "1/" } else { "" };
        write!(formatter, "x{slower}{}", 1u32 << self.0.unsigned_abs())
    }
}

/// Playing since an instant.
#[derive(Debug)]
pub struct Play {
    since: Instant,
    /// What played then, CLOCK_REALTIME.
    from_ns: u64,
}

impl Play {
    /// Begins to play there.
    pub fn from(from_ns: u64) -> Play {
        Play { since: Instant::now(), from_ns }
    }

    /// What plays now, CLOCK_REALTIME.
    pub fn now(&self, speed: Speed) -> u64 {
        let elapsed = self.since.elapsed().mul_f64(speed.factor());
        self.from_ns.saturating_add(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
    }

    /// How long it takes until that instant plays.
    pub fn rest(&self, speed: Speed, at_ns: u64) -> Duration {
        Duration::from_nanos(at_ns.saturating_sub(self.now(speed))).div_f64(speed.factor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_powers_of_two_with_bounds() {
        let mut speed = Speed::default();
        assert_eq!(speed.to_string(), "x1");
        speed = speed.changed(1).changed(1);
        assert_eq!(speed.to_string(), "x4");
        speed = speed.changed(-3);
        assert_eq!(speed.to_string(), "x1/2");
        assert_eq!(speed.changed(-100).to_string(), "x1/8");
        assert_eq!(speed.changed(100).to_string(), "x4096");
    }

    #[test]
    fn what_plays_is_as_much_later_as_it_is_fast() {
        let play = Play::from(1_000);
        let fast = Speed::default().changed(10);
        let before = play.since.elapsed();
        let now_ns = play.now(fast);
        let behind = play.since.elapsed();
        let at = |elapsed: Duration| 1_000 + (elapsed * 1024).as_nanos() as u64;
        assert!((at(before)..=at(behind) + 1024).contains(&now_ns));
        assert_eq!(play.rest(fast, 0), Duration::ZERO);
        assert!(play.rest(fast, now_ns + 1_024_000_000) <= Duration::from_millis(1000));
    }
}
