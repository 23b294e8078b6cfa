//! The load: one storm after another, each with a few tasks a CPU at work.

use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cpuledger_load::{Kin, Mixture, MixturePlan, Sleepers, Storm, StormPlan};

/// Minimum and maximum duration of each, in seconds.
const LASTS_S: std::ops::Range<u64> = 6..20;
/// Duration of each in the warm-up, in which each kind comes once.
const FIRST_LASTS: Duration = Duration::from_secs(8);

const NOTHING: MixturePlan = MixturePlan { shells: 0, compilers: 0, thread_makers: 0, pairs: 0 };

/// What blows. Dropping it ends it.
#[derive(Debug)]
#[allow(dead_code)] // held for its end
enum Storming {
    Calm,
    Storm(Storm),
    Mixture(Mixture),
    Kin(Kin),
    Sleepers(Sleepers),
}

/// A kind of storm: its name, and how it begins on a number of CPUs.
type Kind = (&'static str, fn(usize) -> Result<Storming, cpuledger_load::Error>);

/// Those that make most processes come first, one after another: a reader remembers the dead for a while.
static KINDS: [Kind; 9] = [
    ("processes", |cpus| {
        Storm::start(&StormPlan { workers: 2 * cpus, ..StormPlan::default() }).map(Storming::Storm)
    }),
    ("shells", |cpus| mixture(&MixturePlan { shells: cpus, ..NOTHING })),
    ("execs by threads", |_| {
        let mut kin = Kin::start("churn", 0)?;
        kin.begin().map(|()| Storming::Kin(kin))
    }),
    ("everything", |cpus| {
        mixture(&MixturePlan { shells: cpus, compilers: cpus, thread_makers: cpus, pairs: cpus as u64 })
    }),
    ("threads", |cpus| {
        let plan = StormPlan { workers: 2 * cpus, threads: true, ..StormPlan::default() };
        Storm::start(&plan).map(Storming::Storm)
    }),
    ("compilers", |cpus| mixture(&MixturePlan { compilers: 2 * cpus, ..NOTHING })),
    ("pipes", |cpus| mixture(&MixturePlan { pairs: 2 * cpus as u64, ..NOTHING })),
    ("sleepers", |_| Sleepers::start(SLEEPERS, 3).map(Storming::Sleepers)),
    ("calm", |_| Ok(Storming::Calm)),
];
const SLEEPERS: usize = 3000;

fn mixture(plan: &MixturePlan) -> Result<Storming, cpuledger_load::Error> {
    Mixture::of(plan).map(Storming::Mixture)
}

/// How many tasks ran or wanted to, over all looks at a kind.
#[derive(Debug, Default, Clone, Copy)]
struct Runnable {
    looks: u64,
    sum: u64,
    most: u64,
}

/// The load now, and how many there were.
#[derive(Debug)]
pub struct Weather {
    now: Option<Storming>,
    kind: usize,
    until: Instant,
    changes: usize,
    cpus: usize,
    runnable: [Runnable; KINDS.len()],
}

impl Weather {
    /// Before the first storm.
    ///
    /// # Errors
    /// When the number of CPUs is not known.
    pub fn new() -> Result<Weather> {
        let cpus = std::thread::available_parallelism().context("count the CPUs")?.get();
        let runnable = [Runnable::default(); KINDS.len()];
        Ok(Weather { now: None, kind: 0, until: Instant::now(), changes: 0, cpus, runnable })
    }

    /// How long the warm-up takes.
    pub fn warm_up() -> Duration {
        FIRST_LASTS * KINDS.len() as u32
    }

    /// Begins another storm when the one before has lasted, and counts the tasks that are runnable.
    ///
    /// # Errors
    /// When a load cannot be started.
    pub fn change(&mut self) -> Result<()> {
        if self.now.is_some() {
            let runnable = &mut self.runnable[self.kind];
            let now = running_tasks()?;
            runnable.looks += 1;
            runnable.sum += now;
            runnable.most = runnable.most.max(now);
        }
        if Instant::now() < self.until {
            return Ok(());
        }
        self.now = None; // the old one ends before the new one begins
        // What a reader needs, it needs for the worst of them: memory is compared with that.
        let is_first = self.changes < KINDS.len();
        self.kind = if is_first { self.changes } else { fastrand::usize(..KINDS.len()) };
        let (name, begin) = KINDS[self.kind];
        self.now = Some(begin(self.cpus).with_context(|| format!("begin the storm `{name}`"))?);
        let random = Duration::from_secs(fastrand::u64(LASTS_S));
        self.until = Instant::now() + if is_first { FIRST_LASTS } else { random };
        self.changes += 1;
        Ok(())
    }

    /// Whether each kind has come and gone.
    pub fn has_seen_all(&self) -> bool {
        self.changes > KINDS.len()
    }

    /// The name of the load.
    pub fn name(&self) -> &'static str {
        KINDS[self.kind].0
    }

    /// Ends the load.
    pub fn clear(&mut self) {
        self.now = None;
    }
}

/// All of the machine that run or want to, but for this one.
fn running_tasks() -> Result<u64> {
    let text = fs::read_to_string("/proc/stat").context("read /proc/stat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("procs_running "));
    let number: u64 = line.and_then(|number| number.trim().parse().ok()).context("no procs_running")?;
    Ok(number.saturating_sub(1))
}

impl fmt::Display for Weather {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpus = self.cpus as f64;
        write!(formatter, "{} storms; runnable tasks a CPU, mean and most:", self.changes)?;
        for ((name, _), Runnable { looks, sum, most }) in KINDS.iter().zip(&self.runnable) {
            let mean = *sum as f64 / (*looks).max(1) as f64 / cpus;
            write!(formatter, " {name} {mean:.1} {:.1},", *most as f64 / cpus)?;
        }
        write!(formatter, " on {} CPUs", self.cpus)
    }
}
