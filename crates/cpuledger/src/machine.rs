//! The machine around the tasks: CPUs, load, numbers of tasks.

use std::fs;
use std::ops::RangeInclusive;

pub use crate::clock::{monotonic_ns, suspended_ns};
pub use cpuledger_bpf::stdout_was_closed;
pub use cpuledger_bpf::threads::spawn_scoped;

/// CPUs that are online now.
pub fn online_cpus() -> u32 {
    fs::read_to_string("/sys/devices/system/cpu/online")
        .ok()
        .and_then(|list| count_list(list.trim()))
        .or_else(|| std::thread::available_parallelism().ok()?.get().try_into().ok())
        .unwrap_or(1)
}

/// The numbers of all CPUs that this machine can ever have, online or not.
pub(crate) fn possible_cpus() -> Vec<u32> {
    let list = fs::read_to_string("/sys/devices/system/cpu/possible").ok();
    let cpus = list.and_then(|list| expand_list(list.trim())).filter(|cpus| !cpus.is_empty());
    cpus.unwrap_or_else(|| (0..online_cpus()).collect())
}

/// More CPUs than any kernel can be built for: a list that names more is not taken for one.
const MOST_CPUS: u32 = 65_536;

/// The ranges of a list such as `0-3,5`.
fn ranges(list: &str) -> Option<Vec<RangeInclusive<u32>>> {
    let (mut ranges, mut count) = (Vec::new(), 0);
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count += (last < MOST_CPUS).then(|| last.checked_sub(first))?? + 1;
        if count > MOST_CPUS {
            return None;
        }
        ranges.push(first..=last);
    }
    Some(ranges)
}

/// The numbers of a list such as `0-3,5`.
pub(crate) fn expand_list(list: &str) -> Option<Vec<u32>> {
    Some(ranges(list)?.into_iter().flatten().collect())
}

/// How many numbers a list such as `0-3,5` holds.
pub(crate) fn count_list(list: &str) -> Option<u32> {
    Some(ranges(list)?.iter().map(|range| range.end() - range.start() + 1).sum())
}

/// Identifier of this boot; `None` without procfs.
pub fn boot_id() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// What /proc/loadavg tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Over 1, 5 and 15 minutes, as the kernel writes them.
    pub averages: [String; 3],
    /// Tasks of the machine about now.
    pub tasks: Option<u32>,
}

/// The load of the machine; `None` without procfs.
pub fn load() -> Option<Load> {
    parse_load(&fs::read_to_string("/proc/loadavg").ok()?)
}

pub(crate) fn parse_load(loadavg: &str) -> Option<Load> {
    let mut words = loadavg.split(' ').map(str::to_owned);
    Some(Load { averages: [words.next()?, words.next()?, words.next()?], tasks: parse_tasks(loadavg) })
}

/// The largest that `pid_max` can be: `PID_MAX_LIMIT` of the kernel.
const MOST_PIDS: u32 = 4_194_304;

/// Tasks of the machine about now, by /proc/loadavg; `None` without procfs.
pub fn tasks() -> Option<u32> {
    parse_tasks(&fs::read_to_string("/proc/loadavg").ok()?)
}

/// "0.54 80.53 265.92 1/89 2188521": runnable and all.
fn parse_tasks(loadavg: &str) -> Option<u32> {
    loadavg.split(['/', ' ']).nth(4)?.parse().ok()
}

/// Processes of the machine about now, by the links of /proc, each of which has a directory there and a few things besides;
/// `None` without procfs.
pub fn processes() -> Option<u32> {
    u32::try_from(links("/proc")).ok().filter(|&processes| processes > 0)
}

/// Links of a directory: those below it, two and some; 0 where there is none.
pub(crate) fn links(directory: &str) -> u64 {
    // 32 bits on some architectures, 64 on others.
    fn widen(links: impl Into<u64>) -> u64 {
        links.into()
    }
    rustix::fs::stat(directory).map_or(0, |status| widen(status.st_nlink))
}

/// Digits of the largest tid, by /proc/sys/kernel/pid_max; without procfs those of the largest there can be.
pub fn tid_digits() -> usize {
    let limit = fs::read_to_string("/proc/sys/kernel/pid_max").ok().and_then(|text| text.trim().parse().ok());
    digits_below(limit.unwrap_or(MOST_PIDS))
}

fn digits_below(limit: u32) -> usize {
    limit.saturating_sub(1).checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// The number at the beginning of a line that starts with `name`.
pub(crate) fn number_after(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_count_processes_and_threads() {
        assert!(links("/proc") > 1);
        assert_eq!(links("/proc/no such directory"), 0);
        assert!(links("/proc/self/task") >= 3);
    }

    #[test]
    fn numbers_are_found_by_their_line() {
        let text = "cpu  1 2\nbtime 1700000000\nMemTotal:       16384 kB\n";
        assert_eq!(number_after(text, "btime "), Some(1_700_000_000));
        assert_eq!(number_after(text, "MemTotal:"), Some(16384));
        assert_eq!(number_after(text, "absent"), None);
    }

    #[test]
    fn tids_are_below_pid_max() {
        assert_eq!(digits_below(32_768), 5);
        assert_eq!(digits_below(4_194_304), 7);
        assert_eq!(digits_below(1_000_000), 6);
    }

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(count_list("0"), Some(1));
        assert_eq!(count_list("0-1"), Some(2));
        assert_eq!(count_list("0-3,5,8-9"), Some(7));
        assert_eq!(count_list(""), None);
        assert_eq!(count_list("3-1"), None);
        assert_eq!(expand_list("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(expand_list("7"), Some(vec![7]));
        assert_eq!((expand_list(""), expand_list("3-1")), (None, None));
    }

    #[test]
    fn tasks_are_read_from_loadavg() {
        assert_eq!(parse_tasks("0.00 0.01 0.05 1/4321 99\n"), Some(4321));
        assert_eq!(parse_tasks(""), None);
    }
}
