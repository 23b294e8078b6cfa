//! Which users have ledgers, by the kernel's own list of programs and their owners, which cannot be forged, blocked or evaded.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;

use bytemuck::pod_read_unaligned;
use libbpf_rs::{Iter, libbpf_sys};
use rustix::io::Errno;

use crate::abi;
use crate::error::Error;
use crate::object;

use super::Ledger;
use super::attach::{SWITCH_HOOK, is_switch_hook};
use super::parts;

/// The compiled `bpf/programs.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/programs.bpf.o.zst"));

/// Names of programs in the kernel, the NUL at the end included.
const NAME_BYTES: usize = abi::CPULEDGER_PROGRAM_NAME_BYTES as usize;

/// The ledgers of this user: numbers of their switch hooks, which count up. One that is being detached is there until the
/// kernel has let go of it.
///
/// # Errors
/// Without privilege, or when the kernel refuses the iterator over programs (Linux 5.9).
pub fn ledgers_of(uid: u32) -> Result<Vec<u32>, Error> {
    let refused = |error: libbpf_rs::Error| Error::from_libbpf("to list the programs", &error);
    let object = object::load("cpuledger_list", OBJECT, |_| Ok(()))?;
    let program = object.progs_mut().next().expect("the embedded object holds one program");
    let link = program.attach().map_err(refused)?;
    let mut bytes = Vec::new();
    let read = Iter::new(&link).map_err(refused)?.read_to_end(&mut bytes);
    read.map_err(|error| Error::from_io("to list the programs", error))?;
    let programs = bytes.chunks_exact(size_of::<abi::cpuledger_program>()).map(pod_read_unaligned);
    let is_ledger = |program: &abi::cpuledger_program| program.uid == uid && is_switch_hook(name_of(program));
    let mut ids: Vec<u32> = programs.filter(is_ledger).map(|program| program.id).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// The name without the NULs behind it.
fn name_of(program: &abi::cpuledger_program) -> &OsStr {
    let end = program.name.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
    OsStr::from_bytes(&program.name[..end])
}

impl Ledger {
    /// The number of its switch hook, as [`ledgers_of`] lists it.
    ///
    /// # Errors
    /// When the kernel refuses the call.
    pub fn id(&self) -> Result<u32, Error> {
        let hook = parts::find(&self.parts, SWITCH_HOOK)?.as_raw_fd();
        let mut info = libbpf_sys::bpf_link_info::default();
        let mut length = size_of::<libbpf_sys::bpf_link_info>() as u32;
        // SAFETY: the kernel writes at most `length` bytes, which is the size of `info`; zeroed, it asks for no name.
        match unsafe { libbpf_sys::bpf_link_get_info_by_fd(hook, &raw mut info, &raw mut length) } {
            0 => Ok(info.prog_id),
            code => Err(Error::from_errno("the number of a program", Errno::from_raw_os_error(-code))),
        }
    }
}
