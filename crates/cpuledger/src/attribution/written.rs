//! The engine as it is written for another process, and read by that.

use std::collections::VecDeque;

use cpuledger_model::task::{Comm, TaskId};
use rustc_hash::FxHashMap;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::engine::Attribution;
use super::members::Members;

impl Serialize for Attribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.members, &self.names, &self.in_grace).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Attribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Attribution, D::Error> {
        let (mut members, names, mut in_grace): (Members, FxHashMap<TaskId, Comm>, VecDeque<(u64, u32)>) =
            Deserialize::deserialize(deserializer)?;
        if !members.complete() {
            return Err(D::Error::custom("a process has a number that there is not"));
        }
        // One that was revived and is forgotten has left its number here.
        in_grace
            .retain(|(died_ns, number)| members.has_number(*number) && members.died_ns(*number) == *died_ns);
        Ok(Attribution::of(members, names, in_grace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::boottime::Boottime;
    use cpuledger_model::task::Tid;

    fn id(tid: i32) -> TaskId {
        TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(1) }
    }

    /// It finds the same heirs, and forgets what the first one would have forgotten.
    #[test]
    fn one_that_was_revived_and_forgotten_is_no_hindrance() {
        let mut attribution = Attribution::default();
        attribution.add(id(2), id(1));
        attribution.end(id(2), 5);
        attribution.end(id(1), 7);
        attribution.revive(id(1));
        attribution.forget(30_000_000_006);
        assert!(attribution.is_empty());
        let bytes = postcard::to_stdvec(&attribution).expect("it is written");
        let read: Attribution = postcard::from_bytes(&bytes).expect("it is read");
        assert!(read.is_empty());
    }

    #[test]
    fn one_that_is_read_goes_on() {
        let mut attribution = Attribution::default();
        (2..100).for_each(|tid| attribution.add(id(tid), id(tid - 1)));
        attribution.name(id(50), Comm::new(b"fifty"), false);
        (3..100).for_each(|tid| attribution.end(id(tid), 7));
        let bytes = postcard::to_stdvec(&attribution).expect("it is written");
        let mut read: Attribution = postcard::from_bytes(&bytes).expect("it is read");
        assert_eq!(read.name_of(id(50)), Some(Comm::new(b"fifty")));
        for attribution in [&mut attribution, &mut read] {
            assert_eq!(attribution.known_heir(id(99)), Some(id(2)));
            assert_eq!((attribution.len(), attribution.lasting()), (99, 2));
            attribution.forget(40_000_000_000);
            assert_eq!(
                (attribution.len(), attribution.name_of(id(50))),
                (2, None),
                "one lives, with its parent"
            );
        }
    }
}
