//! The engine as it is written for another process, and read by that: by identity, as numbers are its own.

use cpuledger_model::task::{Comm, TaskId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::engine::Attribution;
use super::members::{Link, Members, NOBODY};

#[derive(Serialize, Deserialize)]
struct WrittenMember {
    parent: Option<TaskId>,
    is_from_fork: bool,
    children: u32,
    is_dead: bool,
    died_ns: u64,
    is_grace_over: bool,
}

#[derive(Serialize, Deserialize)]
struct Written {
    members: Vec<(TaskId, WrittenMember)>,
    names: FxHashMap<TaskId, Comm>,
    in_grace: Vec<(u64, TaskId)>,
}

fn written_member(members: &Members, number: u32) -> (TaskId, WrittenMember) {
    let link = members.link(number);
    let member = WrittenMember {
        parent: (link.parent != NOBODY).then(|| members.id(link.parent)),
        is_from_fork: link.is_from_fork,
        children: link.children,
        is_dead: link.is_dead,
        died_ns: members.died_ns(number),
        is_grace_over: link.is_grace_over,
    };
    (members.id(number), member)
}

impl Serialize for Attribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Attribution { members, names, in_grace, .. } = self;
        // One that was revived and is forgotten is no more in it.
        let in_grace = in_grace.iter().filter(|(died_ns, number)| members.died_ns(*number) == *died_ns);
        let written = Written {
            members: members.numbers().map(|number| written_member(members, number)).collect(),
            names: names.clone(),
            in_grace: in_grace.map(|(died_ns, number)| (*died_ns, members.id(*number))).collect(),
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Attribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Attribution, D::Error> {
        let Written { members: written, names, in_grace } = Written::deserialize(deserializer)?;
        let mut members = Members::default();
        // In the same order, so that they stand as they did.
        let numbers: Vec<u32> = written.iter().map(|(id, _)| members.find_or_add(*id)).collect();
        for ((id, member), number) in written.into_iter().zip(numbers) {
            let parent = member.parent.map_or(NOBODY, |parent| members.find_or_add(parent));
            members.set_died_ns(number, member.died_ns);
            *members.link_mut(number) = Link {
                parent,
                children: member.children,
                is_from_fork: member.is_from_fork,
                is_dead: member.is_dead,
                is_grace_over: member.is_grace_over,
                has_name: names.contains_key(&id),
            };
        }
        let in_grace = in_grace.into_iter();
        let in_grace = in_grace.filter_map(|(died_ns, id)| Some((died_ns, members.find(id)?))).collect();
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
