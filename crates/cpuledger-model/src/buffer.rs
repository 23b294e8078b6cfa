//! Memory that is used again from interval to interval: as much as they need, not as much as the largest of them needed.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};

/// A buffer has room for at most this many times what it held.
const MOST_ROOM: usize = 4;
/// That many bytes are always held.
const LEAST_BYTES: usize = 16 << 10;
/// What is held of a list between its uses: to map more anew costs less than the rows of tasks that it takes to fill it.
const MOST_IDLE_BYTES: usize = 4 << 20;

/// The room that a collection of this length shall have; `None`: that which it has. What is given back was filled before, so that a storm
/// pays for it.
pub fn room<T>(length: usize, capacity: usize) -> Option<usize> {
    let least = length.max(LEAST_BYTES / size_of::<T>().max(1));
    (capacity > MOST_ROOM * least).then_some(2 * least)
}

/// Empties a list, to be filled again. It keeps room for what it held.
pub fn emptied<T>(mut list: Vec<T>) -> Vec<T> {
    empty(&mut list);
    list
}

/// As [`emptied`], in its place.
pub fn empty<T>(list: &mut Vec<T>) {
    let room = room::<T>(list.len(), list.capacity());
    list.clear();
    // In this order, so that nothing is copied.
    if let Some(room) = room {
        list.shrink_to(room);
    }
}

/// Empties a list that is needed for a part of an interval only. A large one gives its room back at once, before others are filled.
pub fn release<T>(list: &mut Vec<T>) {
    if list.capacity() * size_of::<T>() > MOST_IDLE_BYTES {
        *list = Vec::new();
    }
    list.clear();
}

/// Gives back the room of a collection that is more than it needs for what it holds.
pub trait Trim {
    /// Keeps at most four times what it needs.
    fn trim(&mut self);
}

impl<K: Eq + Hash, V, S: BuildHasher> Trim for HashMap<K, V, S> {
    fn trim(&mut self) {
        if let Some(room) = room::<(K, V)>(self.len(), self.capacity()) {
            self.shrink_to(room);
        }
    }
}

impl<K: Eq + Hash, S: BuildHasher> Trim for HashSet<K, S> {
    fn trim(&mut self) {
        if let Some(room) = room::<K>(self.len(), self.capacity()) {
            self.shrink_to(room);
        }
    }
}

impl<T> Trim for Vec<T> {
    fn trim(&mut self) {
        if let Some(room) = room::<T>(self.len(), self.capacity()) {
            self.shrink_to(room);
        }
    }
}

impl<T> Trim for VecDeque<T> {
    fn trim(&mut self) {
        if let Some(room) = room::<T>(self.len(), self.capacity()) {
            self.shrink_to(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_room_for_what_it_held() {
        let mut list = vec![0_u64; 1_000_000];
        let full = list.capacity();
        empty(&mut list);
        assert_eq!((list.len(), list.capacity()), (0, full));
        list.resize(400_000, 0);
        empty(&mut list);
        assert_eq!(list.capacity(), full, "it is filled to a third again and again");
        list.resize(10_000, 0);
        let list = emptied(list);
        assert!((10_000..=40_000).contains(&list.capacity()), "{}", list.capacity());
        let list = emptied(list);
        assert!(list.capacity() * size_of::<u64>() >= LEAST_BYTES, "what is small is not worth it");
        assert!(list.capacity() <= 10_000);
    }
}
