//! What columns show of the files of a task, as numbers; `None`: not known.

use cpuledger::enrich::detail::files::{Addresses, Io, Namespace, Shares, Status};
use cpuledger::enrich::row::Row;

fn status<'a>(row: &Row<'a>) -> Option<&'a Status> {
    row.files()?.status.as_deref()
}

fn addresses<'a>(row: &Row<'a>) -> Option<&'a Addresses> {
    row.files()?.addresses.as_deref()
}

fn io<'a>(row: &Row<'a>) -> Option<&'a Io> {
    row.files()?.io.as_deref()
}

/// Of a task without memory, such as a kernel thread, there is no such file, and nothing to share.
fn shares(row: &Row<'_>) -> Option<Shares> {
    match row.files()?.shares.as_deref() {
        None if row.task.vsize_bytes == 0 => Some(Shares::default()),
        shares => shares.copied(),
    }
}

/// Signals that wait for the process; in the row of a task, the leader's too, for that alone.
pub fn pending(row: &Row<'_>) -> Option<u64> {
    let status = status(row)?;
    if row.is_task() { status.pending } else { status.shared_pending }
}

/// Signals that wait for the task alone.
pub fn task_pending(row: &Row<'_>) -> Option<u64> {
    status(row)?.pending
}

pub fn blocked(row: &Row<'_>) -> Option<u64> {
    status(row)?.blocked
}

pub fn ignored(row: &Row<'_>) -> Option<u64> {
    status(row)?.ignored
}

pub fn caught(row: &Row<'_>) -> Option<u64> {
    status(row)?.caught
}

pub fn permitted(row: &Row<'_>) -> Option<u64> {
    status(row)?.permitted
}

/// Supplementary groups.
pub fn groups<'a>(row: &Row<'a>) -> &'a [u32] {
    status(row).map_or(&[], |status| &status.groups)
}

/// What would go to swap if everything private was written to. A task without memory has no such lines.
pub fn swappable_kib(row: &Row<'_>) -> Option<u64> {
    Some(private_kib(row)? + stack_kib(row)?)
}

pub fn private_kib(row: &Row<'_>) -> Option<u64> {
    Some(status(row)?.data_kib.unwrap_or(0))
}

pub fn stack_kib(row: &Row<'_>) -> Option<u64> {
    Some(status(row)?.stack_kib.unwrap_or(0))
}

/// Begin and end of the code as the kernel gives them to users without the right to know.
const HIDDEN_CODE: (u64, u64) = (1, 1);

fn code_bytes(row: &Row<'_>) -> Option<u64> {
    if row.task.vsize_bytes == 0 {
        return Some(0);
    }
    let Addresses { code_begin, code_end, .. } = *addresses(row)?;
    if (code_begin, code_end) == HIDDEN_CODE { None } else { code_end.checked_sub(code_begin) }
}

pub fn code_kib(row: &Row<'_>) -> Option<u64> {
    Some(code_bytes(row)? / 1024)
}

/// Virtual memory without the code.
pub fn data_kib(row: &Row<'_>) -> Option<u64> {
    Some(row.task.vsize_bytes.checked_sub(code_bytes(row)?)? / 1024)
}

/// `u64::MAX`: no limit.
pub fn resident_limit_bytes(row: &Row<'_>) -> Option<u64> {
    Some(addresses(row)?.resident_limit_bytes)
}

pub fn code_begin(row: &Row<'_>) -> Option<u64> {
    Some(addresses(row)?.code_begin)
}

pub fn code_end(row: &Row<'_>) -> Option<u64> {
    Some(addresses(row)?.code_end)
}

/// The kernel writes 0 for an address that it does not tell.
fn address(address: u64) -> Option<u64> {
    (address != 0).then_some(address)
}

pub fn stack_begin(row: &Row<'_>) -> Option<u64> {
    address(addresses(row)?.stack_begin)
}

pub fn stack_pointer(row: &Row<'_>) -> Option<u64> {
    address(addresses(row)?.stack_pointer)
}

pub fn instruction_pointer(row: &Row<'_>) -> Option<u64> {
    address(addresses(row)?.instruction_pointer)
}

pub fn read_chars(row: &Row<'_>) -> Option<u64> {
    Some(io(row)?.read_chars)
}

pub fn write_chars(row: &Row<'_>) -> Option<u64> {
    Some(io(row)?.write_chars)
}

pub fn read_calls(row: &Row<'_>) -> Option<u64> {
    Some(io(row)?.read_calls)
}

pub fn write_calls(row: &Row<'_>) -> Option<u64> {
    Some(io(row)?.write_calls)
}

pub fn proportional_kib(row: &Row<'_>) -> Option<u64> {
    Some(shares(row)?.proportional_kib)
}

pub fn unique_kib(row: &Row<'_>) -> Option<u64> {
    Some(shares(row)?.unique_kib)
}

pub fn huge_private_kib(row: &Row<'_>) -> Option<u64> {
    Some(shares(row)?.huge_private_kib)
}

pub fn huge_shared_kib(row: &Row<'_>) -> Option<u64> {
    Some(shares(row)?.huge_shared_kib)
}

pub fn namespace(row: &Row<'_>, namespace: Namespace) -> Option<u64> {
    row.files()?.namespace(namespace)
}

pub fn oom_score(row: &Row<'_>) -> Option<i32> {
    row.files()?.oom_score
}

pub fn oom_adjustment(row: &Row<'_>) -> Option<i32> {
    row.files()?.oom_adjustment
}

pub fn autogroup(row: &Row<'_>) -> Option<u32> {
    Some(row.files()?.autogroup?.0)
}

pub fn autogroup_nice(row: &Row<'_>) -> Option<i32> {
    Some(row.files()?.autogroup?.1)
}

pub fn login_uid(row: &Row<'_>) -> Option<u32> {
    row.files()?.login_uid
}

pub fn open_files(row: &Row<'_>) -> Option<u64> {
    row.files()?.open_files
}

pub fn node(row: &Row<'_>) -> Option<u32> {
    row.around.machine.node(row.task.processor)
}

/// The security label; empty: none.
pub fn label<'a>(row: &Row<'a>) -> &'a [u8] {
    row.files().map_or(&[], |files| &files.label)
}

/// The environment, separated by NUL; empty: none, or not to be read.
pub fn environment<'a>(row: &Row<'a>) -> &'a [u8] {
    row.files().and_then(|files| files.environment.as_deref()).unwrap_or_default()
}
