//! Who is in which group. A process is looked at once, and again when it has another name: after an exec it is another program.

use std::collections::HashMap;
use std::sync::Arc;

use cpuledger_report::Name;

use super::procfs::Id;

/// Processes that are remembered. Those beyond it are in no group.
const MOST: usize = 1 << 17;
/// Ancestors that are passed at most.
const DEEPEST: usize = 4096;

/// Where a process belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// No rule matches it: it is where its parent is, if children are.
    Unmatched,
    /// What its rule needs is not known yet.
    Waits,
    /// In this group, or in none.
    Group(Option<Arc<Name>>),
}

#[derive(Debug)]
struct Member {
    start_ns: u64,
    comm: Box<[u8]>,
    ppid: i64,
    place: Place,
    has_ended: bool,
    /// The last listing or interval in which it was.
    seen: u64,
}

/// All that are known, by their pids.
#[derive(Debug, Default)]
pub struct Members {
    by_pid: HashMap<i64, Member>,
    /// Counts listings and intervals.
    now: u64,
}

impl Members {
    /// A further interval or listing begins. Returns its number.
    pub fn begin(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// Whether it is known where a process with this name belongs.
    pub fn knows(&self, (pid, start_ns): Id, comm: &[u8]) -> bool {
        let member = self.by_pid.get(&pid);
        member.is_some_and(|own| own.start_ns == start_ns && *own.comm == *comm && own.place != Place::Waits)
    }

    /// Whether the process with this pid has this name.
    pub fn is_called(&self, pid: i64, comm: &[u8]) -> bool {
        self.by_pid.get(&pid).is_some_and(|own| *own.comm == *comm)
    }

    /// It is still there.
    pub fn see(&mut self, pid: i64) {
        if let Some(member) = self.by_pid.get_mut(&pid) {
            member.seen = self.now;
        }
    }

    /// It has ended. It stays as long as listings have it.
    pub fn end(&mut self, (pid, start_ns): Id) {
        if let Some(member) = self.by_pid.get_mut(&pid).filter(|own| own.start_ns == start_ns) {
            member.has_ended = true;
        }
    }

    /// Puts it there.
    pub fn put(&mut self, (pid, start_ns): Id, comm: &[u8], ppid: i64, place: Place) {
        if self.by_pid.len() >= MOST && !self.by_pid.contains_key(&pid) {
            self.by_pid.retain(|_, member| !member.has_ended);
            if self.by_pid.len() >= MOST {
                return;
            }
        }
        let member = Member { start_ns, comm: comm.into(), ppid, place, has_ended: false, seen: self.now };
        self.by_pid.insert(pid, member);
    }

    /// Forgets those that were not there since.
    pub fn forget(&mut self, before: u64) {
        self.by_pid.retain(|_, member| member.seen >= before);
    }

    /// The place of a process: of one that no rule matches, that of its parent; [`Place::Unmatched`]: it is not known.
    pub fn place(&mut self, (pid, start_ns): Id) -> Place {
        match self.by_pid.get(&pid).filter(|own| own.start_ns == start_ns) {
            Some(own) if own.place == Place::Unmatched => self.inherited(pid),
            Some(own) => own.place.clone(),
            None => Place::Unmatched,
        }
    }

    /// Where a process with this parent is that no rule matches: in the group of the first above it that is in one. What is found stays. Where
    /// one above it is not known, it is in none until that is: an interval has only processes that ran.
    pub fn inherited(&mut self, ppid: i64) -> Place {
        let (mut pid, mut way) = (ppid, Vec::new());
        let place = loop {
            match self.by_pid.get(&pid) {
                None => {
                    if pid > 0 {
                        way.clear();
                    }
                    break Place::Group(None);
                }
                Some(member) if member.place != Place::Unmatched => break member.place.clone(),
                // As many steps would be a circle: pids are used again.
                Some(_) if way.len() >= DEEPEST => break Place::Group(None),
                Some(member) => {
                    way.push(pid);
                    pid = member.ppid;
                }
            }
        };
        if place != Place::Waits {
            for pid in way {
                if let Some(member) = self.by_pid.get_mut(&pid) {
                    member.place = place.clone();
                }
            }
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str) -> Place {
        Place::Group(Some(Arc::new(Name::Text(name.into()))))
    }

    #[test]
    fn children_are_where_the_first_above_is_that_is_in_a_group() {
        let mut members = Members::default();
        members.put((1, 1), b"init", 0, Place::Unmatched);
        members.put((30, 3), b"c", 20, Place::Unmatched);
        members.put((20, 2), b"b", 10, Place::Unmatched);
        members.put((10, 1), b"a", 1, group("a"));
        members.put((40, 4), b"d", 1, Place::Unmatched);
        assert_eq!(members.inherited(30), group("a"));
        assert_eq!((members.place((20, 2)), members.place((30, 3))), (group("a"), group("a")));
        assert_eq!(members.inherited(40), Place::Group(None));
        // What it has, it keeps when its parent has another name.
        members.put((10, 1), b"other", 1, Place::Unmatched);
        assert_eq!(members.inherited(30), group("a"));
        assert!(!members.knows((10, 1), b"a") && !members.knows((10, 2), b"other"));
        assert!(members.knows((10, 1), b"other"));
    }

    #[test]
    fn children_that_were_seen_before_their_parent_are_where_it_is() {
        let mut members = Members::default();
        members.put((20, 2), b"b", 10, Place::Unmatched);
        assert_eq!(members.place((20, 2)), Place::Group(None));
        members.put((10, 1), b"a", 0, group("a"));
        assert_eq!(members.place((20, 2)), group("a"));
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let mut members = Members::default();
        members.put((5, 1), b"a", 6, Place::Unmatched);
        members.put((6, 1), b"b", 5, Place::Unmatched);
        assert_eq!(members.inherited(5), Place::Group(None));
    }

    #[test]
    fn who_has_ended_is_forgotten_with_the_next_listing() {
        let mut members = Members::default();
        members.put((5, 1), b"a", 1, group("a"));
        let begin = members.begin();
        members.put((6, 1), b"b", 1, group("b"));
        members.forget(begin);
        assert_eq!((members.place((5, 1)), members.place((6, 1))), (Place::Unmatched, group("b")));
    }
}
