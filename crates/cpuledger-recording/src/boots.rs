//! Which segments are of one boot, and in which order boots were recorded. Clocks do not tell that: CLOCK_MONOTONIC begins anew with
//! each boot, and CLOCK_REALTIME may be wrong.

use std::collections::HashMap;

use crate::extent::Extent;

/// A boot: its identifier, or nothing and a number, counted from the last on.
pub(crate) type Boot = (Vec<u8>, usize);

/// The boot of each segment of a tier, in the order in which they were written. Segments whose header is damaged, or names no boot, are
/// told apart by CLOCK_MONOTONIC.
pub(crate) fn boots_of(segments: &[(Option<&[u8]>, Option<Extent>)]) -> Vec<Boot> {
    let mut boots: Vec<Boot> = Vec::with_capacity(segments.len());
    let (mut unnamed, mut end_ns) = (0, 0);
    for (id, extent) in segments {
        let goes_on = extent.is_none_or(|extent| extent.start_ns >= end_ns);
        let boot = match (id, boots.last()) {
            (Some(id), _) if !id.is_empty() => (id.to_vec(), 0),
            (id, Some(last)) if goes_on && (id.is_none() || last.0.is_empty()) => last.clone(),
            _ => {
                unnamed += 1;
                (Vec::new(), unnamed)
            }
        };
        let is_same = boots.last() == Some(&boot);
        if let Some(extent) = extent {
            end_ns = if is_same { extent.end_ns.max(end_ns) } else { extent.end_ns };
        }
        boots.push(boot);
    }
    // Where the first header is damaged, the segment behind it may tell.
    for place in (1..boots.len()).rev() {
        let [before, behind] = [&segments[place - 1], &segments[place]];
        let goes_on = before.1.zip(behind.1).is_some_and(|(before, behind)| behind.start_ns >= before.end_ns);
        if before.0.is_none() && boots[place - 1].0.is_empty() && goes_on {
            boots[place - 1] = boots[place].clone();
        }
    }
    for boot in boots.iter_mut().filter(|boot| boot.0.is_empty()) {
        boot.1 = unnamed - boot.1;
    }
    boots
}

/// The boots of all tiers in one order, which is that of each tier. Where no tier tells which of two boots came first, the calendar does.
/// Each tier has its boots and when they began, CLOCK_REALTIME.
pub(crate) fn in_order(tiers: &[Vec<(Boot, u64)>]) -> Vec<Boot> {
    let mut places: Vec<HashMap<&Boot, usize>> = Vec::with_capacity(tiers.len());
    for tier in tiers {
        let mut own = HashMap::with_capacity(tier.len());
        for (place, (boot, _)) in tier.iter().enumerate() {
            own.entry(boot).or_insert(place);
        }
        places.push(own);
    }
    let mut next = vec![0; tiers.len()];
    let mut ordered: Vec<Boot> = Vec::new();
    let mut is_placed = std::collections::HashSet::new();
    loop {
        for (tier, next) in tiers.iter().zip(&mut next) {
            while tier.get(*next).is_some_and(|(boot, _)| is_placed.contains(boot)) {
                *next += 1;
            }
        }
        let heads = tiers.iter().zip(&next).filter_map(|(tier, next)| tier.get(*next));
        // In another tier, others come before it.
        let waits = |boot: &Boot| places.iter().zip(&next).any(|(own, next)| own.get(boot) > Some(next));
        let Some((first, _)) = heads.min_by_key(|(boot, begin_ns)| (waits(boot), *begin_ns)) else {
            return ordered;
        };
        is_placed.insert(first);
        ordered.push(first.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(start_ns: u64, end_ns: u64) -> Option<Extent> {
        Some(Extent { start_ns, end_ns, start_realtime_ns: start_ns, end_realtime_ns: end_ns })
    }

    fn boot(id: &str, number: usize) -> Boot {
        (id.as_bytes().to_vec(), number)
    }

    #[test]
    fn segments_without_a_name_are_told_apart_by_the_clock() {
        let a: Option<&[u8]> = Some(b"a");
        let none: Option<&[u8]> = Some(b"");
        let of = |segments: &[(Option<&[u8]>, Option<Extent>)]| boots_of(segments);
        // A damaged header between two of one boot, before the first, and with a clock that began anew.
        assert_eq!(
            of(&[(a, extent(0, 5)), (None, extent(5, 9)), (None, extent(1, 2))]),
            [boot("a", 0), boot("a", 0), boot("", 0)]
        );
        assert_eq!(of(&[(None, extent(0, 5)), (a, extent(5, 9))]), [boot("a", 0), boot("a", 0)]);
        assert_eq!(of(&[(None, extent(6, 7)), (a, extent(5, 9))]), [boot("", 0), boot("a", 0)]);
        // Numbers count from the last on: a tier that goes back less far has the same.
        let three = [(none, extent(0, 5)), (none, extent(0, 3)), (none, extent(3, 8)), (none, extent(1, 2))];
        assert_eq!(of(&three), [boot("", 2), boot("", 1), boot("", 1), boot("", 0)]);
        assert_eq!(of(&three[1..]), of(&three)[1..]);
    }

    #[test]
    fn boots_are_in_the_order_of_each_tier_whatever_the_calendar_says() {
        let tier = |boots: &[(&str, u64)]| -> Vec<(Boot, u64)> {
            boots.iter().map(|(id, begin)| (boot(id, 0), *begin)).collect()
        };
        let order = |tiers: &[Vec<(Boot, u64)>]| -> String {
            in_order(tiers).into_iter().map(|(id, _)| String::from_utf8(id).expect("a letter")).collect()
        };
        // The first boot was dated far ahead.
        assert_eq!(order(&[tier(&[("a", 99), ("b", 1), ("c", 2)])]), "abc");
        assert_eq!(order(&[tier(&[("b", 1), ("c", 2)]), tier(&[("a", 99), ("b", 1)])]), "abc");
        // No tier has both: the calendar tells.
        assert_eq!(order(&[tier(&[("b", 2)]), tier(&[("a", 1)])]), "ab");
        // Tiers that contradict each other still have each boot once.
        assert_eq!(order(&[tier(&[("a", 2), ("b", 3)]), tier(&[("b", 1), ("a", 2)])]).len(), 2);
        assert_eq!(order(&[tier(&[("a", 1), ("b", 2), ("a", 3)])]), "ab");
    }
}
