//! Amounts by key, with a bound.

use std::cmp::Reverse;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::amounts::{Amounts, Booked, SumOfDead, Tally};

/// Keys that are told apart. Where there are more, those with the least time are put together.
const MOST_KEYS: usize = 65_536;

/// A part of the time line of a key: the number of the bucket, and CPU time in it.
pub(crate) type Point = (u32, u64);

/// What was added up for one key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    pub(crate) tally: Tally,
    /// In order of the buckets.
    pub(crate) points: Vec<Point>,
}

impl Line {
    pub(crate) fn add(&mut self, amounts: &Amounts, bucket: Option<u32>) {
        self.tally.add(amounts);
        self.add_time(amounts.self_ns, bucket);
    }

    fn add_time(&mut self, ns: u64, bucket: Option<u32>) {
        if let Some(bucket) = bucket.filter(|_| ns > 0) {
            self.add_point((bucket, ns));
        }
    }

    fn add_point(&mut self, (bucket, ns): Point) {
        match self.points.binary_search_by_key(&bucket, |(own, _)| *own) {
            Ok(place) => self.points[place].1 = self.points[place].1.saturating_add(ns),
            Err(place) => self.points.insert(place, (bucket, ns)),
        }
    }

    pub(crate) fn merge(&mut self, more: &Line) {
        self.tally.merge(&more.tally);
        more.points.iter().for_each(|point| self.add_point(*point));
    }
}

/// Amounts by key.
#[derive(Debug, Clone)]
pub(crate) struct Table<K> {
    pub(crate) lines: Vec<(K, Line)>,
    /// Where each key is in `lines`.
    places: FxHashMap<K, usize>,
    /// The place that was found last: what follows each other often has the same key.
    last: usize,
    /// Of keys that are not told apart any more.
    pub(crate) rest: Line,
    pub(crate) rest_keys: u64,
}

impl<K> Default for Table<K> {
    fn default() -> Table<K> {
        Table {
            lines: Vec::new(),
            places: FxHashMap::default(),
            last: 0,
            rest: Line::default(),
            rest_keys: 0,
        }
    }
}

impl<K: Copy + Ord + Hash> Table<K> {
    pub(crate) fn add(&mut self, key: K, amounts: &Amounts, bucket: Option<u32>) {
        self.line(key).add(amounts, bucket);
        self.bound();
    }

    /// Adds what some of the dead have, with what accounts have booked to them.
    pub(crate) fn add_dead(
        &mut self,
        key: K,
        (sum, booked): (SumOfDead, Option<&Booked>),
        bucket: Option<u32>,
    ) {
        let line = self.line(key);
        line.tally.add_dead(&sum, booked);
        line.add_time(sum.cpu_ns(), bucket);
        self.bound();
    }

    fn line(&mut self, key: K) -> &mut Line {
        if self.lines.get(self.last).is_none_or(|(last, _)| *last != key) {
            self.last = *self.places.entry(key).or_insert_with(|| {
                self.lines.push((key, Line::default()));
                self.lines.len() - 1
            });
        }
        &mut self.lines[self.last].1
    }

    /// Adds what another has, whose keys are these here.
    pub(crate) fn merge(&mut self, other: &Table<K>, key: impl Fn(K) -> K) {
        for (own, line) in &other.lines {
            self.line(key(*own)).merge(line);
        }
        self.rest.merge(&other.rest);
        self.rest_keys += other.rest_keys;
        self.bound();
    }

    fn bound(&mut self) {
        if self.lines.len() <= MOST_KEYS {
            return;
        }
        let rank = |(key, line): &(K, Line)| (Reverse(line.tally.self_ns()), *key);
        let mut ranks: Vec<(Reverse<u64>, K)> = self.lines.iter().map(rank).collect();
        let first_to_go = *ranks.select_nth_unstable(MOST_KEYS / 2).1;
        let before = self.lines.len();
        self.lines.retain(|line| {
            let stays = rank(line) < first_to_go;
            if !stays {
                self.rest.merge(&line.1);
            }
            stays
        });
        self.rest_keys += (before - self.lines.len()) as u64;
        self.last = 0;
        self.find_places();
    }

    /// Gives each key another, as different as these.
    pub(crate) fn rename(&mut self, key: impl Fn(K) -> K) {
        self.lines.iter_mut().for_each(|(own, _)| *own = key(*own));
        self.find_places();
    }

    fn find_places(&mut self) {
        self.places.clear();
        self.places.extend(self.lines.iter().enumerate().map(|(place, (key, _))| (*key, place)));
    }
}
