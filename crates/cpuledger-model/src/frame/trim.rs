//! Memory that is used again from frame to frame.

/// A list that is filled again and again keeps at most this many times what it holds, if that is more than [`LEAST_KEPT`].
const MOST_KEPT: usize = 4;
const LEAST_KEPT: usize = 64;

/// Gives back memory of a list that is much more than `length` needs.
pub(crate) fn trim<T>(list: &mut Vec<T>, length: usize) {
    let least = length.max(LEAST_KEPT);
    if list.capacity() > MOST_KEPT * least {
        list.shrink_to(length);
    }
}
