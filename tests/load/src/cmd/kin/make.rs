//! The ways to make a process that the C library does not offer, each behind a safe function.

use std::ffi::{c_int, c_long, c_void};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::AtomicU64;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::process::Pid;

use crate::cmd::sys::exit_now;

const STACK_BYTES: usize = 256 * 1024;
const STACK_ALIGNMENT: usize = 16;

/// As `sys::fork`, but the child survives its parent. It has to end by itself.
pub(super) fn fork_free(life: impl FnOnce() -> i32) -> io::Result<Pid> {
    // SAFETY: each caller is the only thread of its process, so that no lock is held by a thread that the child lacks.
    match unsafe { libc::fork() } {
        0 => live(life),
        pid => made(pid.into()),
    }
}

/// A child of the caller's parent.
pub(super) fn fork_sibling(life: impl FnOnce() -> i32) -> io::Result<Pid> {
    let flags = c_long::from(libc::CLONE_PARENT | libc::SIGCHLD);
    let null: *const u8 = ptr::null();
    // SAFETY: without CLONE_VM and with a null stack, clone(2) is a fork: the child has a copy of everything. It uses
    // nothing that depends on its tid in the C library.
    match unsafe { libc::syscall(libc::SYS_clone, flags, null, null, null, null) } {
        0 => live(life),
        pid => made(pid),
    }
}

/// A child with this pid; fails with EEXIST while another process has it.
pub(super) fn fork_with_pid(pid: Pid, life: impl FnOnce() -> i32) -> io::Result<Pid> {
    let wanted: [c_int; 1] = [pid.as_raw_pid()];
    // struct clone_args of <linux/sched.h>: flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls,
    // set_tid, set_tid_size, cgroup.
    let mut arguments = [0_u64; 11];
    arguments[4] = libc::SIGCHLD as u64;
    arguments[8] = wanted.as_ptr() as u64;
    arguments[9] = wanted.len() as u64;
    // SAFETY: as in `fork_sibling`; the arguments have the size that is told, and the list of tids lives until the call is
    // over.
    match unsafe { libc::syscall(libc::SYS_clone3, arguments.as_ptr(), size_of_val(&arguments)) } {
        0 => live(life),
        pid => made(pid),
    }
}

/// A child that has the caller's memory while the caller waits for its end, as vfork(2) makes it.
pub(in crate::cmd) fn vfork<L: FnOnce() -> i32>(life: L) -> io::Result<Pid> {
    extern "C" fn begin<L: FnOnce() -> i32>(life: *mut c_void) -> c_int {
        // SAFETY: it points to the option in the frame of `vfork`, which waits, and only the child takes the closure out.
        let life = unsafe { &mut *life.cast::<Option<L>>() }.take();
        live(|| life.map_or(1, |life| life()))
    }
    let mut stack = vec![0_u8; STACK_BYTES];
    let mut life = Some(life);
    let end = stack.as_mut_ptr_range().end;
    let end = end.wrapping_sub(end as usize % STACK_ALIGNMENT);
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack outlives the child's use of the memory, as this thread, the only one, waits until it has ended; the
    // child never returns from `begin`.
    let pid = unsafe { libc::clone(begin::<L>, end.cast(), flags, (&raw mut life).cast()) };
    made(pid.into())
}

fn live(life: impl FnOnce() -> i32) -> ! {
    // Unwinding out of here would carry on with the parent's work.
    exit_now(catch_unwind(AssertUnwindSafe(life)).unwrap_or(101))
}

fn made(pid: c_long) -> io::Result<Pid> {
    match pid {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid as i32).expect("a child's pid is not 0")),
    }
}

/// Has the kernel keep no zombies, while SIGCHLD has its default action.
pub(super) fn keep_no_zombies() -> io::Result<()> {
    // SAFETY: all zeros are the default action with an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = libc::SIG_DFL;
    action.sa_flags = libc::SA_NOCLDWAIT;
    // SAFETY: the action is valid, and the old one is not asked for.
    match unsafe { libc::sigaction(libc::SIGCHLD, &action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The CPU time of a child by wait4(2), which it waits for.
pub(super) fn wait_for_usage(child: Pid) -> io::Result<u64> {
    // SAFETY: all zeros are an rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the usage is a whole one, and the status is not asked for.
    if unsafe { libc::wait4(child.as_raw_pid(), ptr::null_mut(), 0, &mut usage) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let us = |time: libc::timeval| time.tv_sec.cast_unsigned() * 1_000_000 + time.tv_usec.cast_unsigned();
    Ok((us(usage.ru_utime) + us(usage.ru_stime)) * 1000)
}

/// A number that all processes forked from now on share. All zeros is its start.
pub(super) fn shared_number() -> io::Result<&'static AtomicU64> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping of a page, large and aligned enough for the number; it is never unmapped.
    unsafe {
        let page = mmap_anonymous(ptr::null_mut(), size_of::<AtomicU64>(), access, MapFlags::SHARED)?;
        Ok(&*page.cast::<AtomicU64>())
    }
}
