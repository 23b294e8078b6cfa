//! What is read once for all rows of a key, and again after a while.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Keys that are remembered; beyond that those that no row had last time are forgotten, and then all.
pub(super) const MOST: usize = 16_384;

/// Number of frames after which a value is read again.
pub(super) const GOOD_FOR_FRAMES: u64 = 64;

/// Number of frames after which a failed read is tried again.
pub(super) const RETRY_AFTER_FRAMES: u64 = 8;

/// When a key was read, and when a row had it.
#[derive(Debug, Clone, Copy)]
struct Known {
    read: u64,
    seen: u64,
    has_value: bool,
}

#[derive(Debug)]
pub(super) struct Learnt<Key, Value> {
    frame: u64,
    known: FxHashMap<Key, Known>,
    pub(super) values: Arc<FxHashMap<Key, Value>>,
}

impl<Key, Value> Default for Learnt<Key, Value> {
    fn default() -> Learnt<Key, Value> {
        Learnt { frame: 0, known: FxHashMap::default(), values: Arc::default() }
    }
}

impl<Key: Clone + Eq + Hash, Value: Clone + PartialEq> Learnt<Key, Value> {
    /// The next frame begins.
    pub(super) fn begin(&mut self) {
        self.frame += 1;
    }

    /// Takes these in the place of all that was read.
    pub(super) fn replace(&mut self, values: FxHashMap<Key, Value>) {
        self.known.clear();
        self.values = Arc::new(values);
    }

    /// Reads the value of a key, unless it is known.
    pub(super) fn learn(&mut self, key: &Key, read: impl FnOnce() -> Option<Value>) {
        self.learn_until(key, |_| true, |_| read());
    }

    /// Likewise, where some values are tried again like a failed read. `read` gets the value that is known.
    pub(super) fn learn_until(
        &mut self,
        key: &Key,
        is_whole: impl FnOnce(&Value) -> bool,
        read: impl FnOnce(Option<&Value>) -> Option<Value>,
    ) {
        let frame = self.frame;
        if let Some(known) = self.known.get_mut(key) {
            known.seen = frame;
            let good_for = if known.has_value { GOOD_FOR_FRAMES } else { RETRY_AFTER_FRAMES };
            if frame - known.read < good_for {
                return;
            }
        } else if self.known.len() >= MOST {
            self.make_room();
        }
        let old = self.values.get(key);
        let value = read(old);
        // What is known does not become unknown because one process is gone.
        let has_value = value.as_ref().or(old).is_some_and(is_whole);
        if let Some(value) = value
            && self.values.get(key) != Some(&value)
        {
            Arc::make_mut(&mut self.values).insert(key.clone(), value);
        }
        self.known.insert(key.clone(), Known { read: frame, seen: frame, has_value });
    }

    fn make_room(&mut self) {
        let frame = self.frame;
        self.known.retain(|_, known| known.seen + 1 >= frame);
        if self.known.len() >= MOST {
            self.known.clear();
        }
        let known = &self.known;
        Arc::make_mut(&mut self.values).retain(|key, _| known.contains_key(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_read_is_tried_again_and_a_value_that_is_old_read_anew() {
        let mut learnt = Learnt::default();
        let mut reads = 0;
        let mut learn = |learnt: &mut Learnt<u64, String>, value: Option<&str>| {
            learnt.begin();
            learnt.learn(&5, || {
                reads += 1;
                value.map(str::to_owned)
            });
            (reads, learnt.values.get(&5).cloned())
        };
        assert_eq!(learn(&mut learnt, None), (1, None));
        for _ in 1..RETRY_AFTER_FRAMES {
            assert_eq!(learn(&mut learnt, Some("/a")), (1, None));
        }
        for _ in 0..GOOD_FOR_FRAMES {
            assert_eq!(learn(&mut learnt, Some("/a")), (2, Some("/a".to_owned())));
        }
        assert_eq!(learn(&mut learnt, None), (3, Some("/a".to_owned())), "one process that is gone");
        for _ in 1..GOOD_FOR_FRAMES {
            learn(&mut learnt, Some("/b"));
        }
        assert_eq!(learn(&mut learnt, Some("/b")), (4, Some("/b".to_owned())), "it was renamed");
    }

    #[test]
    fn no_more_are_remembered_than_there_is_room_for() {
        let mut learnt = Learnt::default();
        for number in 0..3 * MOST as u64 {
            learnt.begin();
            learnt.learn(&number, || Some(number));
            assert!(learnt.known.len() <= MOST && learnt.values.len() <= MOST);
        }
        assert!(learnt.values.contains_key(&(3 * MOST as u64 - 1)));
        learnt.begin();
        for number in 0..2 * MOST as u64 {
            learnt.learn(&number, || Some(number));
        }
        assert!(learnt.known.len() <= MOST, "of one frame");
    }
}
