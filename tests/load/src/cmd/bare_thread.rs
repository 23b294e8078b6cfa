//! Threads that are nothing but a task: no stack, no thread-local storage, no mapping.
//!
//! A hundred thousand threads of the C library need two mappings each, more than vm.max_map_count allows.
//! These need none: the new task never touches memory, it waits in one system call and comes back to it for
//! ever.

use std::arch::asm;
use std::ffi::c_long;
use std::io;

const FLAGS: c_long = (libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM) as c_long;

/// Makes a thread that sleeps until its process ends, and returns its tid.
///
/// All signals must be blocked: the thread inherits the mask, and a handler would run on the caller's stack.
pub(crate) fn start() -> io::Result<i32> {
    match i32::try_from(clone_paused()) {
        Ok(tid) if tid > 0 => Ok(tid),
        Ok(negative) => Err(io::Error::from_raw_os_error(-negative)),
        Err(_) => unreachable!("the kernel returns a tid or a negated errno"),
    }
}

#[cfg(target_arch = "x86_64")]
fn clone_paused() -> c_long {
    let result;
    // SAFETY: with a null stack the new task gets the caller's stack pointer. But between the clone and the
    // end of its process it only loads a register and calls pause(2). It reads and writes no memory, and
    // never leaves the loop. For the caller this is an ordinary system call, which clobbers rcx and r11.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 3f",
            "2:",
            "mov eax, {pause}",
            "syscall",
            "jmp 2b",
            "3:",
            pause = const libc::SYS_pause,
            inlateout("rax") libc::SYS_clone => result,
            in("rdi") FLAGS,
            in("rsi") 0,
            in("rdx") 0,
            in("r10") 0,
            in("r8") 0,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

#[cfg(target_arch = "aarch64")]
fn clone_paused() -> c_long {
    let result;
    // SAFETY: with a null stack the new task gets the caller's stack pointer. But between the clone and the
    // end of its process it only loads registers and calls ppoll(2) on nothing, without a timeout. It reads
    // and writes no memory, and never leaves the loop. For the caller this is an ordinary system call.
    unsafe {
        asm!(
            "svc #0",
            "cbnz x0, 3f",
            "2:",
            "mov x0, xzr",
            "mov x1, xzr",
            "mov x2, xzr",
            "mov x3, xzr",
            "mov x8, {ppoll}",
            "svc #0",
            "b 2b",
            "3:",
            ppoll = const libc::SYS_ppoll,
            in("x8") libc::SYS_clone,
            inlateout("x0") FLAGS => result,
            in("x1") 0,
            in("x2") 0,
            in("x3") 0,
            in("x4") 0,
            options(nostack),
        );
    }
    result
}
