//! What columns show of the files of a task, as numbers; `None`: not known.

use cpuledger_names::detail::files::{Addresses, Io, Shares, Status};
use cpuledger_names::row::Row;

pub fn status<'a>(row: &Row<'a>) -> Option<&'a Status> {
    row.files()?.status.as_deref()
}

pub fn addresses<'a>(row: &Row<'a>) -> Option<&'a Addresses> {
    row.files()?.addresses.as_deref()
}

pub fn io<'a>(row: &Row<'a>) -> Option<&'a Io> {
    row.files()?.io.as_deref()
}

/// Of a task without memory, such as a kernel thread, there is no such file, and nothing to share.
pub fn shares(row: &Row<'_>) -> Option<Shares> {
    match row.files()?.shares.as_deref() {
        None if row.task.vsize_bytes == 0 => Some(Shares::default()),
        shares => shares.copied(),
    }
}

/// Figures of a row, each with its expression.
macro_rules! figures {
    ($($(#[$doc:meta])* $name:ident: $type:ty = |$row:ident| $value:expr;)*) => {
        $($(#[$doc])*
        pub fn $name($row: &Row<'_>) -> Option<$type> {
            $value
        })*
    };
}

figures! {
    /// What would go to swap if everything private was written to. A task without memory has no such lines.
    swappable_kib: u64 = |row| Some(private_kib(row)? + stack_kib(row)?);
    private_kib: u64 = |row| Some(status(row)?.data_kib.unwrap_or(0));
    stack_kib: u64 = |row| Some(status(row)?.stack_kib.unwrap_or(0));
    code_kib: u64 = |row| Some(code_bytes(row)? / 1024);
    /// Virtual memory without the code.
    data_kib: u64 = |row| Some(row.task.vsize_bytes.checked_sub(code_bytes(row)?)? / 1024);
    /// `u64::MAX`: no limit.
    resident_limit_bytes: u64 = |row| Some(addresses(row)?.resident_limit_bytes);
}

/// Signals that wait for the process; in the row of a task, the leader's too, for that alone.
pub fn pending(row: &Row<'_>) -> Option<u64> {
    let status = status(row)?;
    if row.is_task() { status.pending } else { status.shared_pending }
}

/// Supplementary groups.
pub fn groups<'a>(row: &Row<'a>) -> &'a [u32] {
    status(row).map_or(&[], |status| &status.groups)
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

/// The kernel writes 0 for an address that it does not tell.
pub fn address(address: u64) -> Option<u64> {
    (address != 0).then_some(address)
}

/// The security label; empty: none.
pub fn label<'a>(row: &Row<'a>) -> &'a [u8] {
    row.files().map_or(&[], |files| &files.label)
}

/// The environment, separated by NUL; empty: none, or not to be read.
pub fn environment<'a>(row: &Row<'a>) -> &'a [u8] {
    row.files().and_then(|files| files.environment.as_deref()).unwrap_or_default()
}
