//! System calls that rustix does not offer, each behind a safe function.

use std::ffi::{CStr, c_char, c_int, c_long};
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use rustix::process::{
    Gid, Pid, PrctlMmMap, Signal, Uid, WaitOptions, configure_virtual_memory_map, getppid, kill_process,
    set_parent_process_death_signal, waitpid,
};
use rustix::time::{ClockId, clock_gettime};

/// Runs `life` in a child process, which exits with what it returns and is killed when this thread ends.
pub(crate) fn fork(life: impl FnOnce() -> i32) -> io::Result<Pid> {
    let parent = rustix::process::getpid();
    // SAFETY: each caller is the only thread of its process, or the only one that does not wait for another to end, so that no lock is held by a
    // thread that the child lacks.
    let pid = unsafe { libc::fork() };
    in_child(pid, parent, life)
}

/// As [`fork`], but the child is the first process of a new PID namespace.
pub(crate) fn fork_in_pid_namespace(life: impl FnOnce() -> i32) -> io::Result<Pid> {
    let flags = c_long::from(libc::CLONE_NEWPID | libc::SIGCHLD);
    let null: *const u8 = ptr::null();
    // SAFETY: without CLONE_VM and with a null stack, clone(2) is a fork: the child has a copy of everything.
    // The C library does not know of it, so the child must not use what depends on its tid there (such as
    // raise).
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, null, null, null, null) };
    // The parent is not visible from the new namespace: its pid there is 0.
    in_child(pid as c_int, None, life)
}

fn in_child(pid: c_int, parent: impl Into<Option<Pid>>, life: impl FnOnce() -> i32) -> io::Result<Pid> {
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            die_with_parent(parent.into());
            // Unwinding out of here would carry on with the parent's work.
            exit_now(catch_unwind(AssertUnwindSafe(life)).unwrap_or(101))
        }
        pid => Ok(Pid::from_raw(pid).expect("a child's pid is not 0")),
    }
}

/// Has the kernel kill this process when the thread that made it ends; which may have happened already.
pub(crate) fn die_with_parent(parent: Option<Pid>) {
    if set_parent_process_death_signal(Some(Signal::KILL)).is_err() || getppid() != parent {
        exit_now(102);
    }
}

/// Ends the process without any of the clean-up that belongs to its parent.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: _exit never returns and runs no handler.
    unsafe { libc::_exit(status) }
}

/// Ends this thread only, even if it is the leader, and unwinds nothing.
pub(crate) fn exit_thread() -> ! {
    // SAFETY: exit(2) ends the calling task. Its stack stays mapped, so what others borrowed from it stays
    // valid.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    unreachable!("exit(2) does not return")
}

/// Sleeps until a signal kills the process.
pub(crate) fn sleep_for_ever() -> ! {
    loop {
        // SAFETY: pause(2) has no arguments and touches no memory.
        unsafe { libc::pause() };
    }
}

/// Kills a child that has not been waited for, and waits for it: so its pid cannot be another process's.
pub(crate) fn kill_and_reap(child: Pid) {
    // Both fail only if it is no child of ours any more; then there is nothing to do.
    let _ = kill_process(child, Signal::KILL);
    let _ = waitpid(Some(child), WaitOptions::empty());
}

fn signal_set(signals: &[c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset fills in the set that it is given; sigaddset fails for a bad number and does no
    // harm.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

/// Blocks all signals of this thread and of those it will make.
pub(crate) fn block_signals() -> io::Result<()> {
    let mut all = MaybeUninit::uninit();
    // SAFETY: sigfillset fills in the set that it is given.
    let all = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        all.assume_init()
    };
    set_signal_mask(&all)
}

/// Blocks no signal.
pub(crate) fn unblock_signals() -> io::Result<()> {
    set_signal_mask(&signal_set(&[]))
}

fn set_signal_mask(mask: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the mask is a valid set, and the old one is not asked for.
    match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, ptr::null_mut()) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// A descriptor that is readable when one of the signals, which must be blocked, is pending.
pub(crate) fn signal_fd(signals: &[c_int]) -> io::Result<OwnedFd> {
    // SAFETY: the set is valid; -1 asks for a new descriptor.
    let fd = unsafe { libc::signalfd(-1, &signal_set(signals), libc::SFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Ignores SIGCHLD: the kernel reaps the children itself.
pub(crate) fn ignore_sigchld() {
    // SAFETY: SIG_IGN is no handler, so no code runs in signal context.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// The CPU time of this thread by its own clock.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// What waited-for children have used.
pub(crate) struct ChildrenUsage {
    /// CPU time.
    pub(crate) cpu_us: u64,
    /// Page faults without I/O.
    pub(crate) minor_faults: u64,
}

/// The children's use of the machine so far.
pub(crate) fn children_usage() -> ChildrenUsage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a whole rusage, which all zeros are too; the call fails for a bad pointer or
    // `who` only.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let us = |time: libc::timeval| time.tv_sec.cast_unsigned() * 1_000_000 + time.tv_usec.cast_unsigned();
    let minor_faults = usage.ru_minflt.cast_unsigned();
    ChildrenUsage { cpu_us: us(usage.ru_utime) + us(usage.ru_stime), minor_faults }
}

/// Sets the scheduling policy of this thread.
pub(crate) fn set_policy(policy: c_int, rt_priority: c_int) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: rt_priority };
    // SAFETY: the pointer is to a valid parameter, which the call only reads.
    match unsafe { libc::sched_setscheduler(0, policy, &parameter) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the filesystem group of this thread to one of its own groups; which cannot fail.
pub(crate) fn set_filesystem_gid(gid: Gid) {
    // SAFETY: the call takes a number.
    unsafe { libc::setfsgid(gid.as_raw()) };
}

/// Sets the filesystem user of this thread to one of its own users; which cannot fail.
pub(crate) fn set_filesystem_uid(uid: Uid) {
    // SAFETY: the call takes a number.
    unsafe { libc::setfsuid(uid.as_raw()) };
}

/// Strings as execve(2) wants them: pointers, the last one null. Made before a fork, for use after it.
pub(crate) struct Strings<'a>(Vec<*const c_char>, std::marker::PhantomData<&'a CStr>);

impl<'a> Strings<'a> {
    /// Points to each of the strings.
    pub(crate) fn new(strings: impl IntoIterator<Item = &'a CStr>) -> Strings<'a> {
        let end = std::iter::once(ptr::null());
        Strings(strings.into_iter().map(CStr::as_ptr).chain(end).collect(), std::marker::PhantomData)
    }
}

/// Becomes another program. Returns only if that failed.
pub(crate) fn execute(program: &CStr, arguments: &Strings, environment: &Strings) -> io::Error {
    // SAFETY: the strings end in NUL, and both arrays in a null pointer.
    unsafe { libc::execve(program.as_ptr(), arguments.0.as_ptr(), environment.0.as_ptr()) };
    io::Error::last_os_error()
}

/// Where the kernel thinks that things are in this process: what `/proc/PID/stat` shows of it.
pub(crate) struct MemoryMap {
    pub(crate) code: Range<u64>,
    pub(crate) data: Range<u64>,
    pub(crate) heap_start: u64,
    pub(crate) stack_start: u64,
    pub(crate) arguments: Range<u64>,
    pub(crate) environment: Range<u64>,
}

/// Gives the kernel another idea of all that at once, for which no privilege is needed, but
/// checkpoint/restore in the kernel; or else of where the arguments end, for which CAP_SYS_RESOURCE is.
pub(crate) fn set_memory_map(map: &MemoryMap) -> io::Result<()> {
    // SAFETY: asks where the heap ends and moves nothing.
    let heap_end = unsafe { libc::sbrk(0) } as u64;
    let whole = PrctlMmMap {
        start_code: map.code.start,
        end_code: map.code.end,
        start_data: map.data.start,
        end_data: map.data.end,
        start_brk: map.heap_start,
        brk: heap_end,
        start_stack: map.stack_start,
        arg_start: map.arguments.start,
        arg_end: map.arguments.end,
        env_start: map.environment.start,
        env_end: map.environment.end,
        // Neither of them is to change.
        auxv: ptr::null_mut(),
        auxv_size: 0,
        exe_fd: -1,
    };
    // SAFETY: where the heap is stays as it is, and the rest is only what /proc shows: nothing here depends
    // on it.
    let Err(error) = (unsafe { configure_virtual_memory_map(&whole) }) else {
        return Ok(());
    };
    // SAFETY: as above.
    match unsafe { libc::prctl(libc::PR_SET_MM, libc::PR_SET_MM_ARG_END, map.arguments.end, 0, 0) } {
        0 => Ok(()),
        _ => Err(error.into()),
    }
}

/// Sets by how many microseconds the clocks advance in a hundredth of a second.
pub(crate) fn set_tick(us: u32) -> io::Result<()> {
    // SAFETY: it is plain data, for which zeros are a value.
    let mut request: libc::timex = unsafe { MaybeUninit::zeroed().assume_init() };
    request.modes = libc::ADJ_TICK;
    request.tick = us.into();
    // SAFETY: the kernel reads and writes this record only.
    if unsafe { libc::adjtimex(&raw mut request) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
