//! What a task knows of its own time: from its beginning to its end, and what the kernel counts for it meanwhile.

use std::fs;

use anyhow::{Context, Result};
use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};

use super::kin::member::say;
use super::sys::thread_cpu_ns;

/// Now, by CLOCK_MONOTONIC.
pub(super) fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// For how long a task did what its kind says. The rest of what it was on no CPU, it waited for one.
pub(super) enum Did {
    /// All the time that it was on no CPU.
    Off,
    /// At least this.
    AtLeast(u64),
    /// At least and at most this.
    Between(u64, u64),
}

/// What the kernel counts for a task. It adds a wait when it is over, so that a task that reads its own misses none.
struct Counts {
    run_delay_ns: u64,
    block_ticks: u64,
    switches: u64,
}

impl Counts {
    fn now() -> Result<Counts> {
        let read = |name: &str| {
            fs::read_to_string(format!("/proc/thread-self/{name}")).with_context(|| format!("read {name}"))
        };
        let schedstat = read("schedstat")?;
        let stat = read("stat")?;
        let (_, after_comm) = stat.rsplit_once(')').context("a stat has a comm")?;
        let number = |word: Option<&str>| -> Result<u64> { Ok(word.context("a number")?.parse()?) };
        let status = read("status")?;
        let switches = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        Ok(Counts {
            run_delay_ns: number(schedstat.split_whitespace().nth(1))?,
            // The third field of all is the first after the name.
            block_ticks: number(after_comm.split_whitespace().nth(42 - 3))?,
            switches: switches.map(|(_, count)| number(Some(count.trim()))).sum::<Result<u64>>()?,
        })
    }
}

/// The time of the calling task.
pub(super) struct Watch {
    before: Counts,
    begin_ns: u64,
    begin_cpu_ns: u64,
}

impl Watch {
    /// Of a task that is about to wait for its start.
    pub(super) fn new() -> Result<Watch> {
        Ok(Watch { before: Counts::now()?, begin_ns: 0, begin_cpu_ns: 0 })
    }

    /// It begins.
    pub(super) fn begin(&mut self) {
        self.begin_cpu_ns = thread_cpu_ns();
        self.begin_ns = monotonic_ns();
    }

    /// Since it has begun.
    pub(super) fn elapsed_ns(&self) -> u64 {
        monotonic_ns() - self.begin_ns
    }

    /// It is at its end, and says so.
    pub(super) fn end(&self, did: Did) -> Result<()> {
        let Watch { before, begin_ns, begin_cpu_ns } = self;
        let end_ns = monotonic_ns();
        let off_ns = (end_ns - begin_ns).saturating_sub(thread_cpu_ns() - begin_cpu_ns);
        let now = Counts::now()?;
        let (least_ns, most_ns) = match did {
            Did::Off => (off_ns, off_ns),
            Did::AtLeast(least_ns) => (least_ns, off_ns),
            Did::Between(least_ns, most_ns) => (least_ns, most_ns),
        };
        say(&format!(
            "did tid={} begin_ns={begin_ns} end_ns={end_ns} off_ns={off_ns} least_ns={least_ns} \
             most_ns={most_ns} run_delay_ns={} block_ticks={} switches={}\n",
            gettid().as_raw_pid(),
            now.run_delay_ns - before.run_delay_ns,
            now.block_ticks - before.block_ticks,
            now.switches - before.switches
        ))
    }
}
