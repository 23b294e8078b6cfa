//! The CPUs of this machine.

use std::fs;

use cpuledger_proc::cpu_list;

/// CPUs that are online now.
pub fn online_cpus() -> u32 {
    fs::read_to_string("/sys/devices/system/cpu/online")
        .ok()
        .and_then(|list| cpu_list::count(&list))
        .or_else(|| std::thread::available_parallelism().ok()?.get().try_into().ok())
        .unwrap_or(1)
}
