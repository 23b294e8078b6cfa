//! Entry points for the fuzz targets: records made of any bytes. No part of the interface.

use bytemuck::{Pod, pod_read_unaligned};

use crate::abi;

/// A process takes its bytes first, then four tasks, each with its rest, and so on to the end.
const TASKS_A_PROCESS: usize = 4;

/// What a walk writes.
#[derive(Debug, Default)]
pub struct Records {
    /// Of processes.
    pub processes: Vec<abi::cpuledger_process>,
    /// Of tasks.
    pub tasks: Vec<abi::cpuledger_task>,
    /// The rest of each of them, but perhaps for the last.
    pub rests: Vec<abi::cpuledger_task_rest>,
}

/// Records of processes and tasks, from these bytes as far as they go.
pub fn records(mut bytes: &[u8]) -> Records {
    let mut records = Records::default();
    while let Some(process) = take(&mut bytes) {
        records.processes.push(process);
        for _ in 0..TASKS_A_PROCESS {
            records.tasks.extend(take::<abi::cpuledger_task>(&mut bytes));
            records.rests.extend(take::<abi::cpuledger_task_rest>(&mut bytes));
        }
    }
    records
}

/// Records of exits, from the same bytes.
pub fn exits(mut bytes: &[u8]) -> Vec<abi::cpuledger_exit> {
    std::iter::from_fn(|| take(&mut bytes)).collect()
}

fn take<R: Pod>(bytes: &mut &[u8]) -> Option<R> {
    let (head, tail) = bytes.split_at_checked(size_of::<R>())?;
    *bytes = tail;
    Some(pod_read_unaligned(head))
}
