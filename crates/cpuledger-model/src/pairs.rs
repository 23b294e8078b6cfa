//! Which cgroup has made which cgroup wait for a CPU: what the account [`crate::accounts::Account::Pairs`] adds to the sums of blame.

use std::collections::BTreeMap;

/// The numbers of a cgroup: in the unified hierarchy and in that of the cpu controller.
pub type CgroupIds = (Option<u64>, Option<u64>);

/// Cgroups that are told apart in an interval; all others are [`Party::Other`].
pub const MOST_CGROUPS: usize = 63;

/// The most pairs of an interval: each cgroup, the others and four causes, and each of the first and the others.
pub const MOST_PAIRS: usize = (MOST_CGROUPS + 1 + CAUSES) * (MOST_CGROUPS + 1);

/// Parties that make others wait, and never wait themselves.
const CAUSES: usize = 4;

/// Who made others wait, or waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Party {
    /// The tasks of a cgroup.
    Cgroup(CgroupIds),
    /// Tasks of all other cgroups, and what belongs to no task any more.
    Other,
    /// Nobody: the CPU was idle.
    Idle,
    /// The quota of the cgroup that waited.
    Quota,
    /// Interrupts.
    Interrupts,
    /// The hypervisor.
    Stolen,
}

impl Party {
    /// Why nobody had the CPU, in one word; `None` for tasks, which alone can wait.
    pub const fn cause(self) -> Option<&'static str> {
        match self {
            Party::Cgroup(_) | Party::Other => None,
            Party::Idle => Some("idle"),
            Party::Quota => Some("quota"),
            Party::Interrupts => Some("interrupts"),
            Party::Stolen => Some("stolen"),
        }
    }
}

/// How long one party made another one wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct WaitPair {
    /// Who had the CPU, or why nobody had it.
    pub by: Party,
    /// Who waited.
    pub of: Party,
    /// How long, in nanoseconds: two tasks that waited for one second count as two.
    pub ns: u64,
}

impl WaitPair {
    /// That the first made the second wait for so long.
    pub fn new(by: Party, of: Party, ns: u64) -> WaitPair {
        WaitPair { by, of, ns }
    }
}

/// All pairs of an interval: each once, none of them zero, in the order of the parties, at most [`MOST_PAIRS`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitPairs(Vec<WaitPair>);

impl WaitPairs {
    /// The sum of these, where the same pair may come more than once. If they are of more cgroups than [`MOST_CGROUPS`], those with the least sums are
    /// among the others.
    pub fn of(pairs: impl IntoIterator<Item = WaitPair>) -> WaitPairs {
        let all = added(pairs);
        let mut sums: BTreeMap<CgroupIds, u64> = BTreeMap::new();
        for pair in &all {
            for party in [pair.by, pair.of] {
                if let Party::Cgroup(ids) = party {
                    let sum_ns = sums.entry(ids).or_default();
                    *sum_ns = sum_ns.saturating_add(pair.ns);
                }
            }
        }
        if sums.len() <= MOST_CGROUPS {
            return WaitPairs(all);
        }
        let mut kept: Vec<(u64, CgroupIds)> = sums.into_iter().map(|(ids, sum_ns)| (sum_ns, ids)).collect();
        kept.sort_unstable_by(|one, other| other.cmp(one));
        kept.truncate(MOST_CGROUPS);
        let known = |party| match party {
            Party::Cgroup(ids) if !kept.iter().any(|(_, own)| *own == ids) => Party::Other,
            _ => party,
        };
        WaitPairs(added(all.into_iter().map(|pair| WaitPair {
            by: known(pair.by),
            of: known(pair.of),
            ..pair
        })))
    }

    /// Each of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &WaitPair> {
        self.0.iter()
    }

    /// Whether nobody waited.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// With those of another interval.
    #[must_use]
    pub fn and(&self, other: &WaitPairs) -> WaitPairs {
        WaitPairs::of(self.0.iter().chain(&other.0).copied())
    }

    /// What all of them add up to, in nanoseconds: what was suffered.
    pub fn sum_ns(&self) -> u64 {
        self.sum_of(|_| true)
    }

    /// What these of them add up to.
    pub fn sum_of(&self, is_meant: impl Fn(&WaitPair) -> bool) -> u64 {
        self.0.iter().filter(|pair| is_meant(pair)).fold(0, |sum, pair| sum.saturating_add(pair.ns))
    }
}

/// Each pair once, in order, with its sum.
fn added(pairs: impl IntoIterator<Item = WaitPair>) -> Vec<WaitPair> {
    let mut all: Vec<WaitPair> = pairs.into_iter().filter(|pair| pair.ns > 0).collect();
    all.sort_unstable();
    all.dedup_by(|later, first| {
        let is_same = (later.by, later.of) == (first.by, first.of);
        if is_same {
            first.ns = first.ns.saturating_add(later.ns);
        }
        is_same
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn cgroup(id: u64) -> Party {
        Party::Cgroup((Some(id), Some(0)))
    }

    #[test]
    fn the_same_pair_comes_once_and_nothing_is_lost() {
        let pair = |by, of, ns| WaitPair { by, of, ns };
        let one = WaitPairs::of([
            pair(cgroup(2), cgroup(1), 5),
            pair(Party::Idle, cgroup(1), 3),
            pair(cgroup(2), cgroup(1), 4),
            pair(cgroup(1), Party::Other, 0),
        ]);
        assert_eq!(one.0, [pair(cgroup(2), cgroup(1), 9), pair(Party::Idle, cgroup(1), 3)]);
        let both = one.and(&WaitPairs::of([pair(cgroup(1), cgroup(2), 1), pair(Party::Idle, cgroup(1), 2)]));
        assert_eq!(both.sum_ns(), 15);
        assert_eq!(both.sum_of(|pair| pair.by == Party::Idle), 5);
        assert_eq!(both.sum_of(|pair| pair.of == cgroup(2)), 1);
        assert_eq!(both, both.and(&WaitPairs::default()));
    }

    #[test]
    fn the_least_of_too_many_cgroups_are_among_the_others() {
        let most = MOST_CGROUPS as u64;
        let all = (1..=most + 7).flat_map(|by| {
            (1..=most + 7).map(move |of| WaitPair { by: cgroup(by), of: cgroup(of), ns: by * of })
        });
        let sum_ns: u64 = all.clone().map(|pair| pair.ns).sum();
        let pairs = WaitPairs::of(all);
        assert_eq!(pairs.sum_ns(), sum_ns);
        assert_eq!(pairs.iter().len(), (MOST_CGROUPS + 1) * (MOST_CGROUPS + 1));
        assert!(pairs.iter().len() <= MOST_PAIRS);
        assert!(!pairs.iter().any(|pair| pair.by == cgroup(7) || pair.of == cgroup(7)));
        assert!(pairs.iter().any(|pair| pair.by == cgroup(8)));
    }
}
