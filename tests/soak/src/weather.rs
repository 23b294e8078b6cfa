//! The load: one storm after another.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;
use cpuledger_load::{ForkingShells, Mixture, Sleepers, Storm, StormPlan};

/// So long each lasts, at least and at most, in seconds.
const LASTS_S: std::ops::Range<u64> = 8..25;
const SLEEPERS: usize = 3000;

/// So long each lasts in the warm-up, in which each kind comes once.
const FIRST_LASTS: Duration = Duration::from_secs(6);
const KINDS: u64 = 6;

/// What blows. Dropping it ends it.
#[derive(Debug)]
#[allow(dead_code)] // held for its end
enum Storming {
    Calm,
    Processes(Storm),
    Threads(Storm),
    Shells(ForkingShells),
    Mixture(Mixture),
    Sleepers(Sleepers),
}

/// The load now, and how many there were.
#[derive(Debug, Default)]
pub struct Weather {
    now: Option<Storming>,
    until: Option<Instant>,
    changes: u64,
}

impl Weather {
    /// Begins another storm when the one before has lasted.
    ///
    /// # Errors
    /// When a load cannot be started.
    pub fn change(&mut self) -> Result<()> {
        if self.until.is_some_and(|until| Instant::now() < until) {
            return Ok(());
        }
        self.now = None; // the old one ends before the new one begins
        // What a reader needs, it needs for the worst of them: memory is compared with that.
        let is_first = self.changes < KINDS;
        let kind = if is_first { self.changes } else { fastrand::u64(..KINDS) };
        self.now = Some(match kind {
            0 => Storming::Processes(Storm::start(&StormPlan { workers: 3, ..StormPlan::default() })?),
            1 => {
                let plan = StormPlan { workers: 2, threads: true, ..StormPlan::default() };
                Storming::Threads(Storm::start(&plan)?)
            }
            2 => Storming::Shells(ForkingShells::start(2)?),
            3 => Storming::Mixture(Mixture::start()?),
            4 => Storming::Sleepers(Sleepers::start(SLEEPERS, 3)?),
            _ => Storming::Calm,
        });
        let random = Duration::from_secs(fastrand::u64(LASTS_S));
        self.until = Some(Instant::now() + if is_first { FIRST_LASTS } else { random });
        self.changes += 1;
        Ok(())
    }

    /// Whether each kind has come and gone.
    pub fn has_seen_all(&self) -> bool {
        self.changes > KINDS
    }

    /// Ends the load.
    pub fn clear(&mut self) {
        self.now = None;
    }
}

impl fmt::Display for Weather {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} storms", self.changes)
    }
}
