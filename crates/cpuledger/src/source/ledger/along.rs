//! Looks into sorted lists that are asked for one thing after the other in about their order: in a storm they are long, and a search through
//! all of such a list waits for memory again and again.

/// The first place whose key is not less than this one. The search begins at `from`, where the last one ended.
pub(super) fn place_along<T, K: Ord>(
    list: &[T],
    from: &mut usize,
    key: &K,
    key_of: impl Fn(&T) -> K,
) -> usize {
    let is_before = |item: &T| key_of(item) < *key;
    let is_behind = *from > list.len() || (*from > 0 && !is_before(&list[*from - 1]));
    let mut begin = if is_behind { 0 } else { *from };
    let (mut end, mut step) = (begin, 1);
    while end < list.len() && is_before(&list[end]) {
        begin = end + 1;
        end += step;
        step *= 2;
    }
    let end = end.min(list.len());
    *from = begin + list[begin..end].partition_point(is_before);
    *from
}

#[cfg(test)]
mod tests {
    use super::place_along;

    #[test]
    fn it_finds_what_a_search_through_all_finds_wherever_it_begins() {
        for length in 0..20_u32 {
            let list: Vec<u32> = (0..length).map(|place| place / 2 * 3).collect();
            for from in 0..=list.len() + 1 {
                for key in 0..33 {
                    let mut at = from;
                    let place = place_along(&list, &mut at, &key, |item| *item);
                    assert_eq!(
                        place,
                        list.partition_point(|item| *item < key),
                        "{key} from {from} in {list:?}"
                    );
                    assert_eq!(at, place);
                }
            }
        }
    }

    #[test]
    fn a_list_that_is_asked_in_its_order_is_read_once() {
        let list: Vec<u32> = (0..100_000).collect();
        let looks = std::cell::Cell::new(0);
        let mut from = 0;
        for key in &list {
            place_along(&list, &mut from, key, |item| {
                looks.set(looks.get() + 1);
                *item
            });
        }
        assert!(looks.get() < 5 * list.len(), "{} looks", looks.get());
    }
}
