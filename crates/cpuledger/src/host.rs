//! Facts of the machine that are not those of a task.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_BOOTTIME now, in nanoseconds.
pub fn boottime_ns() -> u64 {
    clock_ns(ClockId::Boottime)
}

/// CLOCK_MONOTONIC now, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// How far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC: the time this machine has been suspended.
pub fn suspended_ns() -> u64 {
    let before = monotonic_ns();
    let boottime = boottime_ns();
    let after = monotonic_ns();
    // Two readings cannot be simultaneous: below a microsecond's scale there was no suspension, only their distance.
    let ahead = boottime.saturating_sub(before + (after - before) / 2);
    if ahead < NEVER_SUSPENDED_NS { 0 } else { ahead }
}

/// No suspension is so short; the distance of two clock readings rarely is so long.
const NEVER_SUSPENDED_NS: u64 = 1_000_000;

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// CPUs that are online now.
pub fn online_cpus() -> u32 {
    fs::read_to_string("/sys/devices/system/cpu/online")
        .ok()
        .and_then(|list| count_list(list.trim()))
        .or_else(|| std::thread::available_parallelism().ok()?.get().try_into().ok())
        .unwrap_or(1)
}

/// How many numbers a list such as `0-3,5` holds.
fn count_list(list: &str) -> Option<u32> {
    let mut count = 0;
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        count += last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)? + 1;
    }
    Some(count)
}

/// Identifier of this boot; `None` without procfs.
pub fn boot_id() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// The three load averages as the kernel writes them; `None` without procfs.
pub fn load_averages() -> Option<[String; 3]> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let mut words = text.split(' ').map(str::to_owned);
    Some([words.next()?, words.next()?, words.next()?])
}

/// Memory of the machine; `None` without procfs.
pub fn memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::count_list;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(count_list("0"), Some(1));
        assert_eq!(count_list("0-1"), Some(2));
        assert_eq!(count_list("0-3,5,8-9"), Some(7));
        assert_eq!(count_list(""), None);
        assert_eq!(count_list("3-1"), None);
    }
}
