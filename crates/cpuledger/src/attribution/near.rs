//! Finds numbers by identity. Tasks that were born one after the other have tids next to each other, and stand next to each other here: who
//! looks for all that died in a storm reads this memory from one end to the other, and does not wait for each line of it.

use std::hash::{BuildHasher, RandomState};

use cpuledger_model::task::TaskId;

/// No member has this number.
pub(super) const NOBODY: u32 = u32::MAX;

/// This many tids share a line of a cache.
const NEAR_TIDS: u32 = 8;
/// Only those are neighbours that began within 2^this ns. In 1 ms the same tid can be had some 20 times, as each time is a fork and an exit
/// after the last: so many, and no more, can be made to collide.
const NEAR_START_BITS: u32 = 20;
/// The smallest table.
const LEAST_PLACES: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Place {
    /// `NOBODY`: it is empty.
    number: u32,
    hash: u32,
}

const EMPTY: Place = Place { number: NOBODY, hash: 0 };

const _: () = assert!(NEAR_TIDS as usize * size_of::<Place>() == 64);

/// A hash table of numbers with linear probing, at most half full.
#[derive(Debug)]
pub(super) struct Near {
    /// None, or a power of two.
    places: Vec<Place>,
    used: usize,
    /// Not known to those who choose when to fork.
    seeds: [u64; 2],
}

impl Default for Near {
    fn default() -> Near {
        let random = RandomState::new();
        Near { places: Vec::new(), used: 0, seeds: [0, 1].map(|seed| random.hash_one(seed)) }
    }
}

impl Near {
    /// Where to begin to look for a task.
    pub(super) fn hash_of(&self, id: TaskId) -> u32 {
        let tid = id.tid.0.cast_unsigned();
        let group = u64::from(tid / NEAR_TIDS) ^ self.seeds[0];
        let begin = (id.start_time_ns.ns() >> NEAR_START_BITS) ^ self.seeds[1];
        let product = u128::from(group) * u128::from(begin);
        let mixed = (product >> 64) as u64 ^ product as u64;
        (mixed as u32).wrapping_mul(NEAR_TIDS) | (tid % NEAR_TIDS)
    }

    /// The number with this hash that is the right one.
    pub(super) fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.mask()?;
        let mut at = hash as usize & mask;
        loop {
            let place = self.places[at];
            if place.number == NOBODY {
                return None;
            }
            if place.hash == hash && is_it(place.number) {
                return Some(place.number);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds one that is not in it.
    pub(super) fn insert(&mut self, hash: u32, number: u32) {
        if (self.used + 1) * 2 > self.places.len() {
            self.resize((self.places.len() * 2).max(LEAST_PLACES));
        }
        self.used += 1;
        self.put(Place { number, hash });
    }

    /// Removes one, and moves up those that had to make room for it.
    pub(super) fn remove(&mut self, hash: u32, number: u32) {
        let Some(mask) = self.mask() else { return };
        let mut gap = hash as usize & mask;
        while self.places[gap].number != number {
            if self.places[gap].number == NOBODY {
                return;
            }
            gap = (gap + 1) & mask;
        }
        self.used -= 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let place = self.places[at];
            if place.number == NOBODY {
                break;
            }
            let (from_home, from_gap) =
                (at.wrapping_sub(place.hash as usize) & mask, at.wrapping_sub(gap) & mask);
            if from_home >= from_gap {
                self.places[gap] = place;
                gap = at;
            }
        }
        self.places[gap] = EMPTY;
    }

    /// Empties it, with room for this many.
    pub(super) fn clear_for(&mut self, numbers: usize) {
        self.used = 0;
        self.places = vec![EMPTY; (2 * numbers + 2).next_power_of_two().max(LEAST_PLACES)];
    }

    fn mask(&self) -> Option<usize> {
        self.places.len().checked_sub(1)
    }

    fn resize(&mut self, places: usize) {
        let former = std::mem::replace(&mut self.places, vec![EMPTY; places]);
        former.into_iter().filter(|place| place.number != NOBODY).for_each(|place| self.put(place));
    }

    fn put(&mut self, place: Place) {
        let mask = self.places.len() - 1;
        let mut at = place.hash as usize & mask;
        while self.places[at].number != NOBODY {
            at = (at + 1) & mask;
        }
        self.places[at] = place;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use cpuledger_model::boottime::Boottime;
    use cpuledger_model::task::Tid;

    fn id(number: u64) -> TaskId {
        // 20 have the same tid, and few others.
        let tid = 1 + (number % 50) as i32 * 8;
        TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(number / 50 * 40_000) }
    }

    #[test]
    fn each_that_was_added_and_not_removed_is_found() {
        let (mut near, mut expected) = (Near::default(), HashMap::new());
        let mut random = 1_u64;
        for step in 0..20_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = (random >> 33) % 1_000;
            let hash = near.hash_of(id(number));
            if expected.remove(&number).is_some() {
                near.remove(hash, number as u32);
            } else {
                near.insert(hash, number as u32);
                expected.insert(number, ());
            }
            if step % 100 == 0 {
                for number in 0..1_000 {
                    let found = near.find(near.hash_of(id(number)), |found| found == number as u32);
                    assert_eq!(found.is_some(), expected.contains_key(&number), "{number} after {step}");
                }
            }
        }
        assert_eq!(near.used, expected.len());
        assert!(near.places.len() <= 2_048);
    }

    #[test]
    fn those_born_one_after_the_other_are_neighbours() {
        let near = Near::default();
        let hashes: Vec<u32> = (800..808)
            .map(|tid| near.hash_of(TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(7) }))
            .collect();
        assert!(hashes.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{hashes:?}");
    }
}
