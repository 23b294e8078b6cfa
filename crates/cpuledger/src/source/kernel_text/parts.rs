//! What one text is made of: the records of a task and of what it shares with others.

use cpuledger_bpf::abi;
use cpuledger_model::task::{Comm, flags};

use crate::source::records::kernel_thread_name;

/// All that one text is made of.
pub(super) struct Parts<'a> {
    pub(super) task: &'a abi::cpuledger_status_task,
    pub(super) process: &'a abi::cpuledger_status_process,
    pub(super) memory: Option<&'a abi::cpuledger_status_memory>,
    /// Of status only.
    pub(super) credentials: Option<&'a abi::cpuledger_status_credentials>,
    pub(super) placement: Option<&'a abi::cpuledger_status_placement>,
}

/// The name that /proc shows: that of a kernel thread may be longer than that of a task.
pub(super) fn name(of: &Parts<'_>) -> Comm {
    if of.process.process.flags & flags::KTHREAD != 0 {
        return kernel_thread_name(&of.process.process, &of.task.comm);
    }
    Comm::from_c_bytes(&of.task.comm)
}
