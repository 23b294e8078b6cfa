//! sched_setscheduler(2), which no library at hand has.

use std::io;

/// The lowest priority that comes before all tasks that share the CPUs.
const LOWEST: libc::c_int = 1;

/// Lets this thread run before all tasks that share the CPUs, in whatever cgroup or session those are: a nice value counts within
/// one of them only. Threads that it starts do not inherit it.
///
/// # Errors
/// Without CAP_SYS_NICE, where the limit of real-time priorities (`ulimit -r`) is 0.
pub fn come_in_real_time() -> io::Result<()> {
    // SAFETY: all bytes of it may be zero; some systems have more members.
    let mut priority: libc::sched_param = unsafe { std::mem::zeroed() };
    priority.sched_priority = LOWEST;
    let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the call reads the value, and nothing else of this process.
    let result = unsafe { libc::sched_setscheduler(0, policy, &raw const priority) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
