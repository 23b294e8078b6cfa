//! What one text is made of: what the kernel prints, the records of a task, and those of what it shares with others.

use cpuledger_bpf::{StatusRecords, abi};
use cpuledger_model::task::{Comm, flags};

use super::bytes::Head;
use crate::source::records::kernel_thread_name;

/// Lines that change together: their text is kept from one task to the next, but for those of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// The task's own numbers.
    Own,
    /// Of a task that has one.
    Umask,
    State,
    Identity,
    Process,
    /// Of a task that has some.
    Memory,
    Signals,
    Capabilities,
    Security,
    Placement,
}

/// What this kernel prints, and what of it is the same for all tasks.
#[derive(Debug, Clone, Default)]
pub struct Dialect {
    /// Its lines in their order.
    pub(super) lines: Vec<(Head, Section, Write)>,
    pub(super) left_out: Vec<String>,
    /// CPUs that this kernel has numbers for.
    pub(super) cpus: u32,
    /// Memory nodes, likewise.
    pub(super) nodes: u32,
    /// What this process has there: the same for all, or for each its own choice.
    pub(super) store_bypass: Vec<u8>,
    pub(super) indirect_branch: Vec<u8>,
    pub(super) untag_mask: Vec<u8>,
    /// Whether the kernel has transparent huge pages at all.
    pub(super) has_huge_pages: bool,
    /// Whether addresses of other processes are this one's to know.
    pub(super) sees_addresses: bool,
    pub(super) page_bytes: u64,
    pub(super) ns_per_tick: u64,
}

/// Appends the value of a line.
pub(super) type Write = fn(&Parts<'_>, &mut Vec<u8>);

/// All that one text is made of.
pub(super) struct Parts<'a> {
    pub(super) dialect: &'a Dialect,
    pub(super) task: &'a abi::cpuledger_status_task,
    pub(super) process: &'a abi::cpuledger_status_process,
    /// All zero where the task has none.
    pub(super) memory: &'a abi::cpuledger_status_memory,
    pub(super) has_memory: bool,
    /// These two are of status only; else they are all zero.
    pub(super) credentials: &'a abi::cpuledger_status_credentials,
    pub(super) placement: &'a abi::cpuledger_status_placement,
}

/// Stands for what a task does not have, or a text does not show.
#[derive(Default)]
pub(super) struct Nothing {
    memory: abi::cpuledger_status_memory,
    credentials: abi::cpuledger_status_credentials,
    placement: abi::cpuledger_status_placement,
}

impl<'a> Parts<'a> {
    /// What the records hold of a task, if that is all.
    pub(super) fn of(
        dialect: &'a Dialect,
        records: &StatusRecords<'a>,
        index: usize,
        is_of_status: bool,
        nothing: &'a Nothing,
    ) -> Option<Parts<'a>> {
        let task = records.tasks.get(index)?;
        let process = records.processes.get(task.process_index as usize)?;
        let (mut credentials, mut placement) = (&nothing.credentials, &nothing.placement);
        if is_of_status {
            credentials = records.credentials.get(task.credentials_index as usize)?;
            placement = records.placements.get(task.placement_index as usize)?;
        }
        let has_memory = task.memory_index != abi::CPULEDGER_STATUS_NONE;
        let memory =
            if has_memory { records.memories.get(task.memory_index as usize)? } else { &nothing.memory };
        let marks = task.marks | process.marks | credentials.marks | memory.marks;
        let is_whole = marks & abi::CPULEDGER_STATUS_BEYOND == 0 && process.process.pid == task.pid;
        is_whole.then_some(Parts { dialect, task, process, memory, has_memory, credentials, placement })
    }
}

/// The name that /proc shows: that of a kernel thread may be longer than that of a task.
pub(super) fn name(of: &Parts<'_>) -> Comm {
    if of.process.process.flags & flags::KTHREAD != 0 {
        return kernel_thread_name(&of.process.process, &of.task.comm);
    }
    Comm::from_c_bytes(&of.task.comm)
}
