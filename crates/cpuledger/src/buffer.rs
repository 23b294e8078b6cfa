//! Memory that is used again from interval to interval: as much as they need, not as much as the largest of them needed.

/// A buffer has room for at most this many times what it held.
const MOST_ROOM: usize = 4;
/// A smaller one is kept: that many entries.
const LEAST: usize = 256;

/// The room that a collection of this length shall have; `None`: that which it has. What is given back was filled before, so that a storm
/// pays for it.
fn room(length: usize, capacity: usize) -> Option<usize> {
    let least = length.max(LEAST);
    (capacity > MOST_ROOM * least).then_some(2 * least)
}

/// Empties a list, to be filled again. It keeps room for what it held.
pub(crate) fn emptied<T>(mut list: Vec<T>) -> Vec<T> {
    empty(&mut list);
    list
}

/// As [`emptied`], in its place.
pub(crate) fn empty<T>(list: &mut Vec<T>) {
    let room = room(list.len(), list.capacity());
    list.clear();
    if let Some(room) = room {
        list.shrink_to(room);
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
        list.resize(1_000, 0);
        let list = emptied(list);
        assert!((1_000..=4_000).contains(&list.capacity()), "{}", list.capacity());
        assert!(emptied(list).capacity() >= 2 * LEAST, "a small one is not worth it");
    }
}
