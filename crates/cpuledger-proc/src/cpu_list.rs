//! Lists of CPUs such as `0-3,5`, as /sys/devices/system/cpu has them and people write them. The numbers are indices, with gaps.

use std::ops::RangeInclusive;

/// More CPUs than any kernel can be built for: a list that names more is not taken for one.
pub const MAX_CPU_IDS: u32 = 65_536;

/// The ranges of a list, in its order; none is empty.
///
/// # Errors
/// The part that is no range of CPUs.
pub fn ranges(list: &str) -> Result<Vec<RangeInclusive<u32>>, &str> {
    let (mut ranges, mut count) = (Vec::new(), 0);
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse().ok().filter(|&cpu: &u32| cpu < MAX_CPU_IDS);
        let range = number(first).zip(number(last)).filter(|(first, last)| first <= last);
        let (first, last) = range.ok_or(part)?;
        count += last - first + 1;
        if count > MAX_CPU_IDS {
            return Err(part);
        }
        ranges.push(first..=last);
    }
    Ok(ranges)
}

/// The numbers of a list.
pub fn expand(list: &str) -> Option<Vec<u32>> {
    Some(ranges(list).ok()?.into_iter().flatten().collect())
}

/// How many numbers a list holds.
pub fn count(list: &str) -> Option<u32> {
    Some(ranges(list).ok()?.iter().map(|range| range.end() - range.start() + 1).sum())
}

/// The highest number of a list.
pub fn highest(list: &str) -> Option<u32> {
    ranges(list).ok()?.iter().map(|range| *range.end()).max()
}

/// The list of these CPUs, which are in ascending order.
pub fn written(cpus: impl IntoIterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range = |&(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_counted() {
        assert_eq!(ranges("0-3,8,10-11\n"), Ok(vec![0..=3, 8..=8, 10..=11]));
        assert_eq!((count("0"), count("0-1"), count("0-3,5,8-9")), (Some(1), Some(2), Some(7)));
        assert_eq!((expand("0-2,5"), expand("7\n")), (Some(vec![0, 1, 2, 5]), Some(vec![7])));
        assert_eq!((highest("0-1\n"), highest("0"), highest("0-3,8-11")), (Some(1), Some(0), Some(11)));
        assert_eq!(expand(" 0 - 1, 4 "), Some(vec![0, 1, 4]), "as people write it");
    }

    #[test]
    fn what_is_no_list_is_named() {
        for (list, part) in
            [("", ""), ("0,x", "x"), ("1-", "1-"), ("0,3-1", "3-1"), ("0-99999999", "0-99999999")]
        {
            assert_eq!(ranges(list), Err(part), "{list:?}");
        }
        let all = format!("0-{}", MAX_CPU_IDS - 1);
        assert_eq!(count(&all), Some(MAX_CPU_IDS));
        assert_eq!(count(&format!("{all},0")), None, "more than there can be");
    }

    #[test]
    fn a_list_is_written_as_it_is_read() {
        for list in ["", "0", "0-1", "0-2,5,7-8"] {
            assert_eq!(written(expand(list).unwrap_or_default()), list);
        }
    }
}
