//! Doors for the fuzz targets: records made of any bytes. No part of the interface.

use crate::abi;
use crate::map::{Record, decode};

/// A process takes its bytes first, then four tasks, and so on to the end.
const TASKS_A_PROCESS: usize = 4;

/// Records of processes and tasks, from these bytes as far as they go.
pub fn records(mut bytes: &[u8]) -> (Vec<abi::cpuledger_process>, Vec<abi::cpuledger_task>) {
    let (mut processes, mut tasks) = (Vec::new(), Vec::new());
    while let Some(process) = take(&mut bytes) {
        processes.push(process);
        tasks.extend((0..TASKS_A_PROCESS).map_while(|_| take::<abi::cpuledger_task>(&mut bytes)));
    }
    (processes, tasks)
}

/// Records of exits, from the same bytes.
pub fn exits(mut bytes: &[u8]) -> Vec<abi::cpuledger_exit> {
    std::iter::from_fn(|| take(&mut bytes)).collect()
}

fn take<R: Record>(bytes: &mut &[u8]) -> Option<R> {
    let (head, tail) = bytes.split_at_checked(size_of::<R>())?;
    *bytes = tail;
    decode(head)
}
