//! What the kernel can only be asked by handing it a program.

use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr;

use libbpf_rs::btf::{Btf, types};
use libbpf_rs::libbpf_sys;
use rustix::io::Errno;

use crate::log;

/// Whether the kernel has BPF atomics beyond plain addition (Linux 5.12, 5ca419f2864a), which the ledger is kept with.
/// `None` where it does not let us ask.
pub fn has_atomics() -> Option<bool> {
    let instruction = |code: u32, dst_reg: u8, src_reg: u8, off: i16, imm: u32| {
        let mut instruction =
            libbpf_sys::bpf_insn { code: code as u8, off, imm: imm as i32, ..Default::default() };
        instruction.set_dst_reg(dst_reg);
        instruction.set_src_reg(src_reg);
        instruction
    };
    const RESULT: u8 = libbpf_sys::BPF_REG_0 as u8;
    const STACK: u8 = libbpf_sys::BPF_REG_10 as u8;
    const CLEAR: u32 = libbpf_sys::BPF_ALU64 | libbpf_sys::BPF_MOV | libbpf_sys::BPF_K;
    const STORE: u32 = libbpf_sys::BPF_STX | libbpf_sys::BPF_MEM | libbpf_sys::BPF_DW;
    const ATOMIC: u32 = libbpf_sys::BPF_STX | libbpf_sys::BPF_ATOMIC | libbpf_sys::BPF_DW;
    const EXIT: u32 = libbpf_sys::BPF_JMP | libbpf_sys::BPF_EXIT;
    load(&[
        instruction(CLEAR, RESULT, 0, 0, 0),
        instruction(STORE, STACK, RESULT, -8, 0),
        instruction(ATOMIC, STACK, RESULT, -8, libbpf_sys::BPF_ADD | libbpf_sys::BPF_FETCH),
        instruction(EXIT, 0, 0, 0, 0),
    ])
}

/// The first of these tracepoints that BPF programs cannot be attached to; `None`: there is none, or the types of the kernel cannot be read.
pub(crate) fn missing_tracepoint(names: &[&'static str]) -> Option<&'static str> {
    // Without types, libbpf complains.
    log::start();
    let kernel = Btf::from_vmlinux().ok()?;
    let is_there =
        |name: &str| kernel.type_by_name::<types::Typedef<'_>>(&format!("btf_trace_{name}")).is_some();
    names.iter().copied().find(|name| !is_there(name))
}

/// Whether the kernel takes this program, of the kind that asks for least.
fn load(instructions: &[libbpf_sys::bpf_insn]) -> Option<bool> {
    // SAFETY: the name may be missing, the licence is a C string, the instructions outlive the call, and without options
    // none are read.
    let fd = unsafe {
        libbpf_sys::bpf_prog_load(
            libbpf_sys::BPF_PROG_TYPE_SOCKET_FILTER,
            ptr::null(),
            c"GPL".as_ptr(),
            instructions.as_ptr(),
            instructions.len() as libbpf_sys::size_t,
            ptr::null_mut(),
        )
    };
    if fd >= 0 {
        // SAFETY: the kernel has just given us this descriptor, and nothing else owns it.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
        return Some(true);
    }
    (Errno::from_raw_os_error(-fd) == Errno::INVAL).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_no_kernel_takes_is_told_from_one_root() {
        let nonsense = libbpf_sys::bpf_insn { code: u8::MAX, ..Default::default() };
        assert_eq!(load(&[nonsense]), Some(false));
        assert_eq!(has_atomics(), Some(true), "this test needs root, and Linux 5.12");
        assert_eq!(missing_tracepoint(&["sched_switch"]), None);
        assert_eq!(
            missing_tracepoint(&["sched_switch", "no_such"]),
            Some("no_such"),
            "the types can be read"
        );
    }
}
