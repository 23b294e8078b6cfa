//! Runtime of a task, by the kernel.

/// Runtime of the leader of a process, in nanoseconds: the first number of /proc/PID/schedstat, which the tick keeps up to date. `None`:
/// it is gone.
pub fn runtime_ns(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}
