//! A bounded number of series, and the rest as one.
//!
//! Each amount goes to exactly one series: that of its name if it has one, else to the rest. So all series and the rest always add up, and none
//! ever falls.
//!
//! A scraper takes the first value that it sees of a series as the start. So a series begins with 0, or with the value that it had before, while
//! its amounts still go to the rest, until every scraper has seen it twice: an answer may be lost. A series that leaves keeps its value as long.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use cpuledger_report::Name;

use crate::labels::{self, Label, REST};
use crate::totals::{Sums, Totals};
use crate::users::Users;

/// What has not used anything for this long gives its series up.
pub const IDLE: Duration = Duration::from_secs(300);
/// After that time a second of CPU time counts half when names are ranked.
const HALF_LIFE: Duration = Duration::from_secs(60);
/// A name has to rank that much higher than a series to replace it.
pub const HYSTERESIS: f64 = 2.0;
/// A name that ranks lower than this has no series, in nanoseconds.
const LOWEST: f64 = 1e6;
/// At most a fourth of the series leaves at once.
pub const LEAVING_SHARE: usize = 4;
/// How many names are ranked at most, in multiples of the limit.
pub const CANDIDATES: usize = 16;
/// How many series are remembered that have left.
const RETIRED: usize = 1 << 14;
/// How many whole rounds of scrapers see the first value of a series, and the last one.
const LOOKS: u32 = 2;

/// Numbers of rounds of scrapers, in their order. Series that left after one of these are shown once more.
pub type Rounds<'a> = &'a [u64];

/// Where a series is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It is shown with its first value for so many rounds more; amounts go to the rest.
    Beginning(u32),
    /// Amounts go to it.
    Counting,
    /// It is shown with its last value for so many rounds more; amounts go to the rest.
    Leaving(u32),
    /// It is not shown, and goes on where it was if it comes back. `order` counts those that have left; `round` is the last one that it was shown in.
    Left { order: u64, round: u64 },
}

/// A series.
#[derive(Debug, Clone)]
pub struct Series<T = Totals> {
    /// What it is called: no other series of its table is.
    pub label: Label,
    /// What it has added up.
    pub totals: T,
    /// When it began, CLOCK_REALTIME.
    pub created_ns: u64,
    phase: Phase,
    /// CPU time, where older time counts less; for ranks only.
    score: f64,
    idle: Duration,
}

/// A name without a series.
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    score: f64,
    /// Whether it has used time since the last ranking.
    is_active: bool,
}

/// The series of one dimension.
#[derive(Debug)]
pub struct Table<T = Totals> {
    limit: usize,
    series: BTreeMap<Name, Series<T>>,
    /// All that has no series.
    rest: T,
    created_ns: u64,
    candidates: HashMap<Name, Candidate>,
    retired: HashMap<Name, Series<T>>,
    /// Those of all series and of all that are retired.
    labels: HashSet<Label>,
    /// CPU time of the series that have left, remembered or not, in nanoseconds.
    left_ns: u128,
    retirements: u64,
    users: Users,
}

impl<T: Sums> Table<T> {
    /// With at most `limit` series beside the rest, from `now_ns` on, CLOCK_REALTIME.
    pub fn new(limit: usize, now_ns: u64) -> Table<T> {
        Table::with_users(limit, now_ns, Users::shared())
    }

    /// The same, with names of users from there.
    fn with_users(limit: usize, now_ns: u64, users: Users) -> Table<T> {
        Table {
            limit,
            series: BTreeMap::new(),
            rest: T::default(),
            created_ns: now_ns,
            candidates: HashMap::new(),
            retired: HashMap::new(),
            labels: HashSet::new(),
            left_ns: 0,
            retirements: 0,
            users,
        }
    }

    /// The series that are shown, in the order of their names, and those that have left after one of the rounds `again` and are remembered.
    pub fn series(&self, again: Rounds<'_>) -> impl Iterator<Item = (&Name, &Series<T>)> {
        self.series.iter().chain(self.left_after(again))
    }

    fn left_after(&self, again: Rounds<'_>) -> impl Iterator<Item = (&Name, &Series<T>)> {
        let is_wanted = |(_, own): &(&Name, &Series<T>)| match own.phase {
            Phase::Left { round, .. } => again.binary_search(&round).is_ok(),
            _ => false,
        };
        (!again.is_empty()).then_some(&self.retired).into_iter().flatten().filter(is_wanted)
    }

    /// The labels, sums and beginnings of these, and of the rest last.
    pub fn lines(&self, again: Rounds<'_>) -> impl Iterator<Item = (String, &T, u64)> {
        let own = self.series(again).map(|(_, own)| (own.label.to_string(), &own.totals, own.created_ns));
        own.chain([(REST.to_owned(), &self.rest, self.created_ns)])
    }

    /// Whether a name has a series, or may get one without being added again.
    pub fn ranks(&self, name: &Name) -> bool {
        self.series.contains_key(name) || self.candidates.contains_key(name)
    }

    /// What no series has.
    pub fn rest(&self) -> &T {
        &self.rest
    }

    /// When the rest began.
    pub fn created_ns(&self) -> u64 {
        self.created_ns
    }

    /// CPU time of all series that there are or were, and of the rest, in nanoseconds.
    pub fn cpu_ns(&self) -> u128 {
        let shown: u128 = self.series.values().map(|series| series.totals.cpu_ns()).sum();
        shown + self.left_ns + self.rest.cpu_ns()
    }

    /// CPU time of the series that have left and are not among [`Table::series`], in nanoseconds.
    pub fn left_ns(&self, again: Rounds<'_>) -> u128 {
        self.left_ns - self.left_after(again).map(|(_, own)| own.totals.cpu_ns()).sum::<u128>()
    }

    /// Adds what a name used.
    pub fn add(&mut self, name: &Name, amounts: &T::Amounts) {
        let used = T::used_ns(amounts) as f64;
        if let Some(series) = self.series.get_mut(name) {
            series.score += used;
            if *amounts != T::Amounts::default() {
                series.idle = Duration::ZERO;
            }
            match series.phase {
                Phase::Counting => series.totals.add(amounts),
                _ => self.rest.add(amounts),
            }
            return;
        }
        self.rest.add(amounts);
        match self.candidates.get_mut(name) {
            Some(own) => *own = Candidate { score: own.score + used, is_active: true },
            None if used > 0.0 => {
                // The name of a user is there by the time that it gets a series.
                labels::ask_ahead(name, &self.users);
                self.candidates.insert(name.clone(), Candidate { score: used, is_active: true });
            }
            None => {}
        }
    }

    /// Adds what has no name.
    pub fn add_rest(&mut self, amounts: &T::Amounts) {
        self.rest.add(amounts);
    }

    /// A name that is there has a series as long as there is room, whether it uses time or not.
    pub fn keep(&mut self, name: &Name) {
        match self.series.get_mut(name) {
            Some(series) => series.idle = Duration::ZERO,
            None => {
                let own = self.candidates.entry(name.clone()).or_default();
                *own = Candidate { score: own.score.max(LOWEST), is_active: true };
            }
        }
    }

    /// As long as there is room, no series leaves.
    pub fn keep_if_there_is_room(&mut self) {
        if self.series.len() < self.limit {
            self.series.values_mut().for_each(|series| series.idle = Duration::ZERO);
        }
    }

    /// Keeps the memory for names without a series bounded.
    pub fn trim(&mut self) {
        let most = self.limit.saturating_mul(CANDIDATES);
        if self.candidates.len() > most {
            let ranked = self.ranked();
            self.candidates = ranked.into_iter().take(most / 2).collect();
        }
    }

    /// The names without a series, the highest first.
    fn ranked(&mut self) -> Vec<(Name, Candidate)> {
        let mut all: Vec<(Name, Candidate)> = self.candidates.drain().collect();
        all.sort_unstable_by(|(one, own), (other, another)| {
            another.score.total_cmp(&own.score).then_with(|| one.cmp(other))
        });
        all
    }

    fn begin(&mut self, name: Name, label: Label, score: f64, (now_ns, is_amid_round): (u64, bool)) {
        let phase = Phase::Beginning(LOOKS + u32::from(is_amid_round));
        let idle = Duration::ZERO;
        let series = match self.retired.remove(&name) {
            Some(retired) => {
                self.left_ns -= retired.totals.cpu_ns();
                Series { phase, score, idle, ..retired }
            }
            None => {
                let (label, totals) = (self.new_label(label), T::default());
                Series { label, totals, created_ns: now_ns, phase, score, idle }
            }
        };
        self.series.insert(name, series);
    }

    /// A label that no other name of this table has: two users may have one name.
    fn new_label(&mut self, own: Label) -> Label {
        let mut label = own.clone();
        for number in 2.. {
            if !self.labels.contains(&label) {
                break;
            }
            label = own.numbered(number);
        }
        self.labels.insert(label.clone());
        label
    }

    /// Series leave that are idle, or rank far below candidates with these scores, the highest first.
    fn give_way(&mut self, candidates: &[f64]) {
        let is_leaving = |series: &&Series<T>| matches!(series.phase, Phase::Leaving(_));
        let mut leaving = self.series.values().filter(is_leaving).count();
        let is_counting = |series: &&mut Series<T>| series.phase == Phase::Counting;
        let mut counting: Vec<&mut Series<T>> = self.series.values_mut().filter(is_counting).collect();
        counting.sort_unstable_by(|one, other| one.score.total_cmp(&other.score));
        let most = (self.limit / LEAVING_SHARE).max(1);
        // Those that leave already make room for the first.
        let mut candidates = candidates.iter().skip(leaving);
        for series in counting {
            let is_beaten = candidates.next().is_some_and(|best| *best > series.score * HYSTERESIS);
            if (is_beaten && leaving < most) || series.idle >= IDLE {
                series.phase = Phase::Leaving(LOOKS);
                leaving += 1;
            }
        }
    }

    fn retire(&mut self, name: Name, round: u64) {
        let Some(series) = self.series.remove(&name) else { return };
        self.retirements += 1;
        self.left_ns += series.totals.cpu_ns();
        let phase = Phase::Left { order: self.retirements, round };
        self.retired.insert(name, Series { phase, ..series });
        if self.retired.len() > RETIRED {
            // Half at once, so that each costs the same on average. What is forgotten stays in the sum.
            let oldest = self.retirements.saturating_sub(RETIRED as u64 / 2);
            let labels = &mut self.labels;
            self.retired.retain(|_, retired| {
                let stays = !matches!(retired.phase, Phase::Left { order, .. } if order <= oldest);
                if !stays {
                    labels.remove(&retired.label);
                }
                stays
            });
        }
    }
}

/// What happens to a table whatever its series add up.
pub trait Settle {
    /// The rest began earlier than it was thought to.
    fn begin_at(&mut self, when_ns: u64);

    /// Time has passed: older use counts less.
    fn age(&mut self, by: Duration);

    /// Chooses who has a series from now on. `is_amid_round` says whether a scraper has been here since the last [`Settle::seen_by_all`].
    fn rank(&mut self, now_ns: u64, is_amid_round: bool);

    /// The round of this number is over: all scrapers have been here. Returns whether a series has left, so that other ones are shown.
    fn seen_by_all(&mut self, round: u64) -> bool;
}

impl<T: Sums> Settle for Table<T> {
    fn begin_at(&mut self, when_ns: u64) {
        self.created_ns = when_ns;
    }

    fn age(&mut self, by: Duration) {
        let factor = fading(by);
        for series in self.series.values_mut() {
            series.score *= factor;
            series.idle += by;
        }
        self.candidates.retain(|_, candidate| {
            candidate.score *= factor;
            candidate.score >= LOWEST
        });
    }

    fn rank(&mut self, now_ns: u64, is_amid_round: bool) {
        let (mut waiting, mut unnamed) = (Vec::new(), Vec::new());
        for (name, candidate) in self.ranked() {
            let has_room = self.series.len() < self.limit;
            if !has_room || !candidate.is_active || candidate.score < LOWEST {
                waiting.push((name, candidate));
                continue;
            }
            // Until its name is known, its time goes to the rest.
            match labels::of(&name, &self.users) {
                Some(label) => self.begin(name, label, candidate.score, (now_ns, is_amid_round)),
                None => unnamed.push((name, candidate)),
            }
        }
        let active = waiting.iter().filter(|(_, candidate)| candidate.is_active);
        let scores: Vec<f64> = active.map(|(_, candidate)| candidate.score).take(self.limit).collect();
        self.give_way(&scores);
        let asleep = |(name, own): (Name, Candidate)| (name, Candidate { is_active: false, ..own });
        self.candidates = waiting.into_iter().map(asleep).chain(unnamed).collect();
        self.trim();
    }

    fn seen_by_all(&mut self, round: u64) -> bool {
        let mut gone = Vec::new();
        for (name, series) in &mut self.series {
            series.phase = match series.phase {
                Phase::Beginning(0 | 1) | Phase::Counting => Phase::Counting,
                Phase::Beginning(looks) => Phase::Beginning(looks - 1),
                Phase::Leaving(0 | 1) => {
                    gone.push(name.clone());
                    continue;
                }
                Phase::Leaving(looks) => Phase::Leaving(looks - 1),
                left @ Phase::Left { .. } => left,
            };
        }
        let has_left = !gone.is_empty();
        gone.into_iter().for_each(|name| self.retire(name, round));
        has_left
    }
}

/// What older use counts after that time, of 1.
pub fn fading(passed: Duration) -> f64 {
    0.5_f64.powf(passed.as_secs_f64() / HALF_LIFE.as_secs_f64())
}

#[cfg(test)]
mod tests;
