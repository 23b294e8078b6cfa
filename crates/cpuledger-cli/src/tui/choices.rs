//! What can be chosen for a task: signals, priorities for I/O, CPUs. What is done with the choice is in `act`.

use cpuledger_proc::cpu_list;
use cpuledger_view::key::PROCESS_KEYS;
use cpuledger_view::query::aliases;
use rustix::thread::CpuSet;

/// Numbers of signals, in the order of the list: those that are sent most often come first.
pub const SIGNALS: [u32; 31] = [
    15, 9, 2, 1, 19, 18, 3, 10, 12, 6, 14, 20, 28, 13, 17, 23, 4, 5, 7, 8, 11, 16, 21, 22, 24, 25, 26, 27,
    29, 30, 31,
];

/// Classes and levels of I/O, as they are listed.
pub fn io_priorities() -> Vec<String> {
    let levels = |class: &'static str| (0..8).map(move |level| format!("{class} {level}"));
    ["by nice value".to_owned()]
        .into_iter()
        .chain(levels("best effort"))
        .chain(levels("real time"))
        .chain(["idle".to_owned()])
        .collect()
}

/// The CPUs of a list.
///
/// # Errors
/// A sentence about what is no number.
pub fn parse_cpus(list: &str) -> Result<Vec<usize>, String> {
    let wrong = |part: &str| format!("CPUs are a list such as 0-3,5, not `{part}`");
    let ranges = cpu_list::ranges(list).map_err(wrong)?;
    match ranges.iter().find(|range| *range.end() as usize >= CpuSet::MAX_CPU) {
        Some(range) => Err(wrong(&range.end().to_string())),
        None => Ok(ranges.into_iter().flatten().map(|cpu| cpu as usize).collect()),
    }
}

/// Names that are offered at once.
const MOST_NAMES: usize = 10;

/// What ends a name of a filter, or stands before it.
const NO_NAME: [char; 10] = [' ', '(', ')', '!', '|', '=', '<', '>', '~', '"'];

/// The name that is being typed at the end of a filter; `None`: a value is.
fn begun(filter: &str) -> Option<&str> {
    let start = filter.rfind(NO_NAME).map_or(0, |place| place + 1);
    let is_value = filter[..start].ends_with(['=', '<', '>', '~', '"']);
    (!is_value).then(|| &filter[start..])
}

/// All names of filters, the short ones first.
fn names() -> impl Iterator<Item = &'static str> {
    aliases().map(|(name, _)| name).chain(PROCESS_KEYS.iter().map(|key| key.name()))
}

/// The last word of a filter that is being typed, if that may be, or become, a name: only what follows says whether it is one.
pub fn undecided(filter: &str) -> Option<&str> {
    let filter = filter.strip_suffix('!').unwrap_or(filter);
    begun(filter).filter(|begun| !begun.is_empty() && names().any(|name| name.starts_with(begun)))
}

/// The filter that is being typed without that word.
pub fn decided(filter: &str) -> &str {
    let kept = filter.strip_suffix('!').unwrap_or(filter);
    undecided(filter).and_then(|word| kept.strip_suffix(word)).unwrap_or(kept)
}

/// Whether a filter that is being typed ends in an operator, so that a value is to follow.
pub fn lacks_value(filter: &str) -> bool {
    filter.ends_with(['=', '<', '>', '~', '!'])
}

/// Names that a filter may go on with, the short ones first.
pub fn completions(filter: &str) -> Vec<&'static str> {
    let Some(begun) = begun(filter) else { return Vec::new() };
    let mut found: Vec<&'static str> = Vec::new();
    for name in names().filter(|name| name.starts_with(begun) && *name != begun) {
        if found.len() < MOST_NAMES && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The filter with as much of the name as all that it may go on with have in common.
pub fn completed(filter: &str) -> Option<String> {
    let names = completions(filter);
    let first = names.first()?;
    let is_common = |end: &usize| names.iter().all(|name| name.get(..*end) == first.get(..*end));
    let end = (0..=first.len()).rev().find(is_common)?;
    let kept = filter.len() - begun(filter)?.len();
    Some(format!("{}{}", &filter[..kept], &first[..end])).filter(|text| text.len() > filter.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_filters_are_completed() {
        assert!(completions("").contains(&"cpu"));
        assert_eq!(completed("cpu>5 nam"), Some("cpu>5 name".to_owned()));
        assert!(completions("voluntary_sw").contains(&"voluntary_switches"));
        assert_eq!(completed("comm=x (voluntary_sw"), Some("comm=x (voluntary_switches".to_owned()));
        assert_eq!(completions("comm=vol"), Vec::<&str>::new(), "a value");
        assert_eq!(completed("nonsense"), None);
    }

    #[test]
    fn a_word_that_may_be_a_name_waits_for_what_follows() {
        for (filter, word, kept) in [
            ("u", Some("u"), ""),
            ("cpu>5 nam", Some("nam"), "cpu>5 "),
            ("cpu>5 (nam", Some("nam"), "cpu>5 ("),
            ("cpu!", Some("cpu"), ""),
            ("cpu>5", None, "cpu>5"),
            ("cpu>", None, "cpu>"),
            ("cpu>5 ", None, "cpu>5 "),
            ("cpu>5 nonsense", None, "cpu>5 nonsense"),
            // A blank behind it makes it a word.
            ("nam ", None, "nam "),
            ("", None, ""),
        ] {
            assert_eq!((undecided(filter), decided(filter)), (word, kept), "{filter}");
        }
        assert!(lacks_value("cpu>") && lacks_value("cpu!") && !lacks_value("cpu>5"));
    }

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(parse_cpus("0-2,5,7-8"), Ok(vec![0, 1, 2, 5, 7, 8]));
        for bad in ["", "x", "1-", "3-1", "99999"] {
            assert!(parse_cpus(bad).is_err(), "{bad}");
        }
        assert_eq!(io_priorities().len(), 18);
    }
}
