//! sched_setscheduler(2), which no library at hand has.

use std::io;

/// The lowest priority that comes before all tasks that share the CPUs.
const LOWEST: libc::c_int = 1;

/// Lets this thread run before all tasks that share the CPUs, in whatever cgroup or session those are: a nice value counts within
/// one of them only. What it starts inherits that, or has the ordinary priority.
///
/// # Errors
/// Without CAP_SYS_NICE, where the limit of real-time priorities (`ulimit -r`) is 0.
pub fn come_in_real_time(is_inherited: bool) -> io::Result<()> {
    set_policy(libc::SCHED_RR | of_children(is_inherited), LOWEST)
}

/// Lets this thread share the CPUs again, by the nice value that it has. `is_inherited` as it was for [`come_in_real_time`]: without CAP_SYS_NICE
/// the kernel refuses to take back that nothing inherits the priority, and nothing else.
///
/// # Errors
/// Where `is_inherited` is another.
pub fn share_cpus(is_inherited: bool) -> io::Result<()> {
    set_policy(libc::SCHED_OTHER | of_children(is_inherited), 0)
}

/// Whether what this thread starts inherits its policy, if that is SCHED_OTHER, by which tasks share the CPUs; `None`: it has another policy.
/// [`come_in_real_time`] and [`share_cpus`] take it to leave that as it is.
pub fn inherits_sharing() -> Option<bool> {
    // SAFETY: the call takes a number, and says one.
    match unsafe { libc::sched_getscheduler(0) } {
        libc::SCHED_OTHER => Some(true),
        policy if policy == libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK => Some(false),
        _ => None,
    }
}

fn of_children(is_inherited: bool) -> libc::c_int {
    if is_inherited { 0 } else { libc::SCHED_RESET_ON_FORK }
}

fn set_policy(policy: libc::c_int, of: libc::c_int) -> io::Result<()> {
    // SAFETY: all bytes of it may be zero; some systems have more members.
    let mut priority: libc::sched_param = unsafe { std::mem::zeroed() };
    priority.sched_priority = of;
    // SAFETY: the call reads the value, and nothing else of this process.
    let result = unsafe { libc::sched_setscheduler(0, policy, &raw const priority) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
