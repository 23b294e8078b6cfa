//! A hash of identities for which neighbours are neighbours. Tasks that were born one after the other have tids next to each other, and a table by
//! this hash has them next to each other: who looks for all that died in a storm reads its memory from one end to the other, and does not wait for
//! each line of it.

use std::hash::{BuildHasher, RandomState};

use cpuledger_model::task::TaskId;

/// This many tids share a line of a cache.
const NEAR_TIDS: u32 = 8;

/// Only those are neighbours that began within 2^this ns. In 1 ms the same tid can be had some 20 times, as each time is a fork and an exit
/// after the last: so many, and no more, can be made to collide.
const NEAR_START_BITS: u32 = 20;

/// Of the uppermost bits, a table keeps seven to tell those apart that collide.
const TAG_BITS: u32 = 7;

/// Hashes identities.
#[derive(Debug)]
pub(super) struct Near {
    /// Not known to those who choose when to fork.
    seeds: [u64; 2],
}

impl Default for Near {
    fn default() -> Near {
        let random = RandomState::new();
        Near { seeds: [0, 1].map(|seed| random.hash_one(seed)) }
    }
}

impl Near {
    /// Where to begin to look for a task.
    pub(super) fn hash_of(&self, id: TaskId) -> u64 {
        let tid = id.tid.0.cast_unsigned();
        let group = u64::from(tid / NEAR_TIDS) ^ self.seeds[0];
        let begin = (id.start_time_ns.ns() >> NEAR_START_BITS) ^ self.seeds[1];
        let product = u128::from(group) * u128::from(begin);
        let mixed = (product >> 64) as u64 ^ product as u64;
        let near = u64::from(tid % NEAR_TIDS);
        // Neighbours have tags of their own.
        (mixed.wrapping_mul(NEAR_TIDS.into()) | near) ^ near << (u64::BITS - TAG_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::boottime::Boottime;
    use cpuledger_model::task::Tid;

    #[test]
    fn those_born_one_after_the_other_are_neighbours() {
        let near = Near::default();
        let hashes: Vec<u64> = (800..808)
            .map(|tid| near.hash_of(TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(7) }))
            .collect();
        let places: Vec<u32> = hashes.iter().map(|hash| *hash as u32).collect();
        assert!(places.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{hashes:?}");
        let tags: Vec<u64> = hashes.iter().map(|hash| hash >> (u64::BITS - TAG_BITS)).collect();
        assert!((1..tags.len()).all(|place| !tags[..place].contains(&tags[place])), "{hashes:?}");
    }
}
