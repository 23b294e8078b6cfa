//! A bounded number of series, and the rest as one.
//!
//! Each amount goes to exactly one series: that of its name if it has one, else to the rest. So all series and the rest always add up, and none
//! ever falls.
//!
//! A scraper takes the first value that it sees of a series as the start. So a series begins with 0, while its amounts still go to the rest,
//! until every scraper has seen it. A series that leaves keeps its value until each has seen that twice.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use cpuledger_report::Amounts;

use crate::totals::Totals;

/// What has not used anything for this long gives its series up.
pub const IDLE: Duration = Duration::from_secs(300);
/// After that time a second of CPU time counts half when names are ranked.
pub const HALF_LIFE: Duration = Duration::from_secs(60);
/// A name has to rank that much higher than a series to replace it.
pub const HYSTERESIS: f64 = 2.0;
/// At most a fourth of the series leaves at once.
pub const LEAVING_SHARE: usize = 4;
/// How many names are ranked, and how many series are remembered that have left, in multiples of the limit.
pub const REMEMBERED: usize = 16;
/// How often scrapers see the last value of a series.
const LAST_LOOKS: u32 = 2;

/// Where a series is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It is shown with its first value; amounts go to the rest. It counts after a whole round of scrapers: one that has begun before it, as the
    /// flag says, is none.
    Beginning(bool),
    /// Amounts go to it.
    Counting,
    /// It is shown with its last value so many times more; amounts go to the rest.
    Leaving(u32),
}

/// A series.
#[derive(Debug, Clone)]
pub struct Series {
    /// What it has added up.
    pub totals: Totals,
    /// When it began.
    pub created: SystemTime,
    phase: Phase,
    /// CPU time, where older time counts less; for ranks only.
    score: f64,
    idle: Duration,
}

/// A series that has left, so that it goes on where it was if it comes back.
#[derive(Debug, Clone, Copy)]
struct Retired {
    totals: Totals,
    created: SystemTime,
    order: u64,
}

/// The series of one dimension, by their labels.
#[derive(Debug)]
pub struct Table {
    limit: usize,
    series: BTreeMap<String, Series>,
    /// All that has no series.
    rest: Totals,
    created: SystemTime,
    /// Scores of names without a series.
    candidates: HashMap<String, f64>,
    retired: HashMap<String, Retired>,
    retirements: u64,
}

impl Table {
    /// With at most `limit` series beside the rest, from `now` on.
    pub fn new(limit: usize, now: SystemTime) -> Table {
        Table {
            limit,
            series: BTreeMap::new(),
            rest: Totals::default(),
            created: now,
            candidates: HashMap::default(),
            retired: HashMap::default(),
            retirements: 0,
        }
    }

    /// The series in the order of their labels.
    pub fn series(&self) -> impl Iterator<Item = (&str, &Series)> {
        self.series.iter().map(|(label, series)| (label.as_str(), series))
    }

    /// Series that have left, and are remembered.
    pub fn retired(&self) -> impl Iterator<Item = (&str, &Totals, SystemTime)> {
        self.retired.iter().map(|(label, retired)| (label.as_str(), &retired.totals, retired.created))
    }

    /// The rest began earlier than it was thought to.
    pub fn begin_at(&mut self, when: SystemTime) {
        self.created = when;
    }

    /// What no series has.
    pub fn rest(&self) -> &Totals {
        &self.rest
    }

    /// When the rest began.
    pub fn created(&self) -> SystemTime {
        self.created
    }

    /// Time has passed: older use counts less.
    pub fn age(&mut self, by: Duration) {
        let factor = 0.5_f64.powf(by.as_secs_f64() / HALF_LIFE.as_secs_f64());
        for series in self.series.values_mut() {
            series.score *= factor;
            series.idle += by;
        }
        self.candidates.values_mut().for_each(|score| *score *= factor);
    }

    /// Adds what a name used.
    pub fn add(&mut self, label: &str, amounts: &Amounts) {
        let used = amounts.self_ns as f64;
        match self.series.get_mut(label) {
            Some(series) => {
                series.score += used;
                if *amounts != Amounts::default() {
                    series.idle = Duration::ZERO;
                }
                match series.phase {
                    Phase::Counting => series.totals.add(amounts),
                    Phase::Beginning(_) | Phase::Leaving(_) => self.rest.add(amounts),
                }
            }
            None => {
                self.rest.add(amounts);
                match self.candidates.get_mut(label) {
                    Some(score) => *score += used,
                    None => _ = self.candidates.insert(label.to_owned(), used),
                }
            }
        }
    }

    /// Adds what has no name.
    pub fn add_rest(&mut self, amounts: &Amounts) {
        self.rest.add(amounts);
    }

    /// Chooses who has a series from now on. `is_amid_round` says whether a scraper has been here since the last [`Table::seen_by_all`].
    pub fn rank(&mut self, now: SystemTime, is_amid_round: bool) {
        let mut candidates: Vec<(f64, String)> =
            self.candidates.drain().map(|(label, score)| (score, label)).collect();
        candidates.sort_unstable_by(|(one, own), (other, another)| {
            other.total_cmp(one).then_with(|| own.cmp(another))
        });
        let room = self.limit.saturating_sub(self.series.len());
        let rest = candidates.split_off(room.min(candidates.len()));
        for (score, label) in candidates {
            self.begin(label, score, now, is_amid_round);
        }
        self.give_way(&rest);
        let ranked = rest.into_iter().take(self.limit.saturating_mul(REMEMBERED));
        self.candidates.extend(ranked.map(|(score, label)| (label, score)));
    }

    fn begin(&mut self, label: String, score: f64, now: SystemTime, is_amid_round: bool) {
        let (totals, created) = match self.retired.remove(&label) {
            Some(retired) => (retired.totals, retired.created),
            None => (Totals::default(), now),
        };
        let phase = Phase::Beginning(is_amid_round);
        let series = Series { totals, created, phase, score, idle: Duration::ZERO };
        self.series.insert(label, series);
    }

    /// Series leave that are idle, or rank far below candidates.
    fn give_way(&mut self, candidates: &[(f64, String)]) {
        let mut counting: Vec<(f64, &mut Series)> = Vec::new();
        let mut leaving = 0;
        for series in self.series.values_mut() {
            match series.phase {
                Phase::Leaving(_) => leaving += 1,
                Phase::Beginning(_) => {}
                Phase::Counting => counting.push((series.score, series)),
            }
        }
        counting.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
        let most = (self.limit / LEAVING_SHARE).max(1);
        let mut candidates = candidates.iter().skip(leaving);
        for (score, series) in counting {
            let is_beaten = candidates
                .next()
                .is_some_and(|(best, _)| best.partial_cmp(&(score * HYSTERESIS)) == Some(Ordering::Greater));
            if (is_beaten && leaving < most) || series.idle >= IDLE {
                series.phase = Phase::Leaving(LAST_LOOKS);
                leaving += 1;
            }
        }
    }

    /// A round is over: all scrapers have been here.
    pub fn seen_by_all(&mut self) {
        let mut gone = Vec::new();
        for (label, series) in &mut self.series {
            series.phase = match series.phase {
                Phase::Beginning(true) => Phase::Beginning(false),
                Phase::Beginning(false) | Phase::Counting => Phase::Counting,
                Phase::Leaving(0 | 1) => {
                    gone.push(label.clone());
                    continue;
                }
                Phase::Leaving(looks) => Phase::Leaving(looks - 1),
            };
        }
        for label in gone {
            self.retire(label);
        }
    }

    fn retire(&mut self, label: String) {
        let Some(series) = self.series.remove(&label) else { return };
        self.retirements += 1;
        let retired = Retired { totals: series.totals, created: series.created, order: self.retirements };
        self.retired.insert(label, retired);
        let most = self.limit.saturating_mul(REMEMBERED);
        if self.retired.len() > most {
            // Half at once, so that each costs the same on average.
            let oldest = self.retirements.saturating_sub(most as u64 / 2);
            self.retired.retain(|_, retired| retired.order > oldest);
        }
    }
}

#[cfg(test)]
mod tests;
