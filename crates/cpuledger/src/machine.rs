//! The machine around the tasks: CPUs, load, numbers of tasks.

use std::fs;

use cpuledger_model::task::Pid;
use cpuledger_proc::cpu_list;
use cpuledger_proc::machine::loadavg::parse_loadavg;
use cpuledger_proc::number::alone;

pub use cpuledger_bpf::threads::spawn_scoped;
pub use cpuledger_bpf::{IoPriority, come_in_real_time, inherits_sharing, set_io_priority, share_cpus};
pub use cpuledger_client::clock::{monotonic_ns, suspended_ns};
pub use cpuledger_client::cpus::online_cpus;
pub use cpuledger_proc::machine::loadavg::Load;

/// The numbers of all CPUs that this machine can ever have, online or not.
pub(crate) fn possible_cpus() -> Vec<u32> {
    let list = fs::read_to_string("/sys/devices/system/cpu/possible").ok();
    let cpus = list.and_then(|list| cpu_list::expand(&list)).filter(|cpus| !cpus.is_empty());
    cpus.unwrap_or_else(|| (0..online_cpus()).collect())
}

/// Identifier of this boot; `None` without procfs.
pub fn boot_id() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// The load of the machine; `None` without procfs.
pub fn load() -> Option<Load> {
    Some(parse_loadavg(&fs::read_to_string("/proc/loadavg").ok()?)?.into())
}

/// The largest that `pid_max` can be: `PID_MAX_LIMIT` of the kernel.
const MOST_PIDS: u32 = 4_194_304;

/// Tasks of the machine about now, by /proc/loadavg; `None` without procfs.
pub fn tasks() -> Option<u32> {
    parse_loadavg(&fs::read_to_string("/proc/loadavg").ok()?)?.tasks
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

/// Threads of a process about now, by the links of its directory of them; 0 where it is not there.
pub(crate) fn threads(pid: Pid) -> u32 {
    u32::try_from(links(&format!("/proc/{pid}/task"))).unwrap_or(u32::MAX)
}

/// Digits of the largest tid, by /proc/sys/kernel/pid_max; without procfs those of the largest there can be.
pub fn tid_digits() -> usize {
    digits_below(pid_max().unwrap_or(MOST_PIDS))
}

/// What all tids are below; `None` without procfs.
pub(crate) fn pid_max() -> Option<u32> {
    alone(&fs::read("/proc/sys/kernel/pid_max").ok()?)
}

fn digits_below(limit: u32) -> usize {
    limit.saturating_sub(1).checked_ilog10().map_or(1, |log| log as usize + 1)
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
    fn tids_are_below_pid_max() {
        assert_eq!(digits_below(32_768), 5);
        assert_eq!(digits_below(4_194_304), 7);
        assert_eq!(digits_below(1_000_000), 6);
    }
}
