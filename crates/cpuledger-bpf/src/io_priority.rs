//! ioprio_set(2), which no library at hand has.

use std::io;

/// A class of I/O priorities, with a level from 0 (first) to 7 where it has levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoPriority {
    /// Best effort, with a level that follows from the nice value.
    ByNice,
    /// Before all others.
    RealTime(u8),
    /// As most tasks.
    BestEffort(u8),
    /// When no other task wants the device.
    Idle,
}

impl IoPriority {
    /// As the kernel packs it (`IOPRIO_PRIO_VALUE` of include/uapi/linux/ioprio.h): a class above 13 bits of a level. `None`: there is
    /// no such level. Kernels since 6.5 would take a higher one for a hint.
    fn packed(self) -> Option<libc::c_long> {
        let (class, level) = match self {
            IoPriority::ByNice => (0, 0),
            IoPriority::RealTime(level) => (1, level),
            IoPriority::BestEffort(level) => (2, level),
            IoPriority::Idle => (3, 0),
        };
        (level < 8).then_some(class << 13 | libc::c_long::from(level))
    }
}

/// Gives a task another I/O priority.
///
/// # Errors
/// When there is no such task, it is another user's, or the level is beyond 7.
pub fn set_io_priority(tid: i32, priority: IoPriority) -> io::Result<()> {
    const IOPRIO_WHO_PROCESS: libc::c_long = 1;
    let packed = priority.packed().ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: the call takes three integers and touches no memory of this process.
    let result =
        unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, libc::c_long::from(tid), packed) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ioprio_get(2) says of this thread.
    fn own() -> libc::c_long {
        // SAFETY: the call takes two integers and touches no memory of this process.
        unsafe { libc::syscall(libc::SYS_ioprio_get, 1, 0) }
    }

    #[test]
    fn the_kernel_shows_the_priority_that_was_set() {
        for priority in [IoPriority::BestEffort(5), IoPriority::Idle] {
            set_io_priority(0, priority).expect("every task may lower its own");
            assert_eq!(Some(own()), priority.packed(), "{priority:?}");
        }
        set_io_priority(0, IoPriority::BestEffort(8)).expect_err("there are 8 levels");
    }
}
