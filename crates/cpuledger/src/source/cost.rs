//! What the ledger and the walk cost, as measured, and which of the two `auto` takes for that.
//!
//! The ledger is paid for by what runs: a hook at each switch, fork and last switch. The walk is paid for by what lives: a
//! visit to each task at each cut. Both are loaded once, in 25 to 45 ms, which does not matter here. Nor does the reader of the
//! ledger, which takes 0.1 ms an interval, whatever lives.
//!
//! The figures are of 2 CPUs and Linux 6.18, Release 0.1: `cpuledger-bench rates` and `hooks` measure them anew.

use std::fs;
use std::time::Duration;

use cpuledger_model::source_kind::SourceKind;
use cpuledger_proc::machine::stat;
use serde::Serialize;

use crate::machine;

/// What the ledger adds to a switch: half of what it adds to a round trip through two pipes on one CPU.
pub const LEDGER_SWITCH_NS: u64 = 190;
/// What it adds to the life of a task from fork to exit: 2.5 µs to a process, 1.8 µs to a thread. The switches of that life are in it, so
/// that they are counted twice.
pub const LEDGER_FORK_AND_EXIT_NS: u64 = 2_500;
/// What `top` takes for each task of the machine at each cut where it walks: the visit in the kernel, the row, the books. 150 ns
/// of it are the visit.
pub const WALK_TASK_NS: u64 = 400;
/// Percent of each CPU that the ledger may cost beyond what the walk would: it is the only one that sees everything, and
/// that is worth something. 5 % are 260,000 switches a second on every CPU.
pub const LEDGER_MAY_EXCEED_PERCENT: u64 = 5;

/// How long `top` observes the machine before it chooses a source.
pub const GLANCE: Duration = Duration::from_millis(20);

const SECOND_NS: u128 = 1_000_000_000;

/// Facts: what the cost of both depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Activity {
    /// Switches of all CPUs.
    pub switches_per_s: u64,
    /// Processes and threads that were made; as many exit, in the long run.
    pub forks_per_s: u64,
    /// Tasks that exist, threads included.
    pub tasks: u32,
    /// CPUs that are online.
    pub online_cpus: u32,
}

impl Activity {
    /// Looks at /proc/stat twice, so far apart; `None` where it does not tell.
    pub fn observe(apart: Duration) -> Option<Activity> {
        Observation::begin()?.end(apart)
    }
}

/// An observation of the machine's activity that has begun, so that something else can be done until it ends.
#[derive(Debug, Clone, Copy)]
pub struct Observation {
    begin_ns: u64,
    counters: Counters,
}

impl Observation {
    /// Looks at /proc/stat for the first time; `None` where it does not tell.
    pub fn begin() -> Option<Observation> {
        Some(Observation { begin_ns: machine::monotonic_ns(), counters: Counters::now()? })
    }

    /// Looks for the second time, `apart` after the first or later.
    pub fn end(self, apart: Duration) -> Option<Activity> {
        let so_far = Duration::from_nanos(machine::monotonic_ns().saturating_sub(self.begin_ns));
        std::thread::sleep(apart.saturating_sub(so_far));
        let (end, end_ns) = (Counters::now()?, machine::monotonic_ns());
        let per_s = |begin: u64, end: u64| rate(end.saturating_sub(begin), end_ns - self.begin_ns);
        Some(Activity {
            switches_per_s: per_s(self.counters.switches, end.switches),
            forks_per_s: per_s(self.counters.forks, end.forks),
            tasks: machine::tasks()?,
            online_cpus: machine::online_cpus(),
        })
    }
}

/// Since the boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counters {
    switches: u64,
    forks: u64,
}

impl Counters {
    fn now() -> Option<Counters> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        Some(Counters { switches: stat::switches(&text)?, forks: stat::forks(&text)? })
    }
}

fn rate(count: u64, elapsed_ns: u64) -> u64 {
    narrow(u128::from(count) * SECOND_NS / u128::from(elapsed_ns.max(1)))
}

fn narrow(number: u128) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

/// What both would cost here, in nanoseconds of CPU time a second: 10,000,000 are 1 % of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Costs {
    /// What they follow from.
    #[serde(flatten)]
    pub activity: Activity,
    /// Between two cuts.
    pub interval_ns: u64,
    /// The hooks; and a walk at each cut, where the detail of what ran costs one.
    pub ledger_ns_per_s: u64,
    /// A walk at each cut.
    pub walk_ns_per_s: u64,
    /// The ledger is taken unless it costs more than the walk by more than this.
    pub ledger_may_exceed_ns_per_s: u64,
}

impl Costs {
    /// Estimates both, for intervals of that length.
    pub fn estimate(activity: Activity, interval: Duration, ledger_walks_for_detail: bool) -> Costs {
        let interval_ns = narrow(interval.as_nanos()).max(1);
        let tasks_ns = u128::from(activity.tasks) * u128::from(WALK_TASK_NS);
        let walk_ns_per_s = narrow(tasks_ns * SECOND_NS / u128::from(interval_ns));
        let hooks_ns_per_s = (activity.switches_per_s.saturating_mul(LEDGER_SWITCH_NS))
            .saturating_add(activity.forks_per_s.saturating_mul(LEDGER_FORK_AND_EXIT_NS));
        let detail_ns_per_s = if ledger_walks_for_detail { walk_ns_per_s } else { 0 };
        Costs {
            activity,
            interval_ns,
            ledger_ns_per_s: hooks_ns_per_s.saturating_add(detail_ns_per_s),
            walk_ns_per_s,
            ledger_may_exceed_ns_per_s: u64::from(activity.online_cpus)
                * LEDGER_MAY_EXCEED_PERCENT
                * (SECOND_NS as u64 / 100),
        }
    }

    /// The rule, where both can be used: the ledger, unless it costs the machine more than the walk by more than
    /// [`LEDGER_MAY_EXCEED_PERCENT`] of each CPU.
    pub fn choice(&self) -> SourceKind {
        let may_cost = self.walk_ns_per_s.saturating_add(self.ledger_may_exceed_ns_per_s);
        if self.ledger_ns_per_s > may_cost { SourceKind::Walk } else { SourceKind::Ledger }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Activity = Activity { switches_per_s: 300, forks_per_s: 2, tasks: 120, online_cpus: 2 };
    const INTERVAL: Duration = Duration::from_secs(2);

    fn choice(activity: Activity) -> SourceKind {
        Costs::estimate(activity, INTERVAL, false).choice()
    }

    #[test]
    fn costs_follow_from_rates_and_tasks() {
        let costs = Costs::estimate(IDLE, INTERVAL, false);
        assert_eq!((costs.ledger_ns_per_s, costs.walk_ns_per_s), (300 * 190 + 2 * 2_500, 120 * 400 / 2));
        let often = Costs::estimate(IDLE, INTERVAL / 100, false);
        assert_eq!((often.ledger_ns_per_s, often.walk_ns_per_s), (62_000, 2_400_000));
        let old = Costs::estimate(IDLE, INTERVAL, true);
        assert_eq!(old.ledger_ns_per_s, 62_000 + 24_000);
        assert_eq!(old.ledger_may_exceed_ns_per_s, 100_000_000);
    }

    #[test]
    fn the_ledger_is_taken_unless_it_costs_much_more() {
        // Cheaper or not: up to 5 % of each CPU it is taken.
        assert_eq!(choice(IDLE), SourceKind::Ledger);
        assert_eq!(choice(Activity { tasks: 100_000, ..IDLE }), SourceKind::Ledger);
        assert_eq!(
            choice(Activity { switches_per_s: 500_000, forks_per_s: 1_000, ..IDLE }),
            SourceKind::Ledger
        );
        let busy = Activity { switches_per_s: 600_000, ..IDLE };
        assert_eq!(choice(busy), SourceKind::Walk);
        // More CPUs have more to give; more tasks make the walk more expensive, and so do frequent cuts.
        assert_eq!(choice(Activity { online_cpus: 4, ..busy }), SourceKind::Ledger);
        assert_eq!(choice(Activity { tasks: 100_000, ..busy }), SourceKind::Ledger);
        assert_eq!(Costs::estimate(busy, INTERVAL / 100, false).choice(), SourceKind::Walk);
        assert_eq!(Costs::estimate(busy, INTERVAL / 1_000, false).choice(), SourceKind::Ledger);
        // Forks alone can do it too.
        assert_eq!(choice(Activity { forks_per_s: 50_000, ..IDLE }), SourceKind::Walk);
    }

    #[test]
    fn the_limit_is_exact() {
        let costs = Costs::estimate(Activity { forks_per_s: 0, ..IDLE }, INTERVAL, false);
        let most = costs.walk_ns_per_s + costs.ledger_may_exceed_ns_per_s;
        assert_eq!(Costs { ledger_ns_per_s: most, ..costs }.choice(), SourceKind::Ledger);
        assert_eq!(Costs { ledger_ns_per_s: most + 1, ..costs }.choice(), SourceKind::Walk);
    }

    #[test]
    fn no_figure_is_too_large() {
        let most = Activity {
            switches_per_s: u64::MAX,
            forks_per_s: u64::MAX,
            tasks: u32::MAX,
            online_cpus: u32::MAX,
        };
        let costs = Costs::estimate(most, Duration::ZERO, true);
        assert_eq!((costs.interval_ns, costs.ledger_ns_per_s), (1, u64::MAX));
        assert_eq!((rate(30, 20_000_000), rate(u64::MAX, 0)), (1_500, u64::MAX));
    }

    #[test]
    fn this_machine_is_observed() {
        let before = Counters::now().expect("/proc/stat");
        let activity = Activity::observe(GLANCE).expect("/proc/stat");
        // To sleep is to switch.
        let after = Counters::now().expect("/proc/stat");
        assert!(after.switches > before.switches, "{before:?} {after:?}");
        assert!(
            activity.switches_per_s > 0 && activity.tasks > 0 && activity.online_cpus > 0,
            "{activity:?}"
        );
    }
}
