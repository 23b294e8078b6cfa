//! `--source netlink` alone, on a kernel with all patches of a series of `kernel/`: intervals balance, cost what ran, and the time of the dead is
//! where it belongs. Runs in the guest of `make kernel`; elsewhere it says that it has not run. Needs root.

mod cuts;
#[path = "../intervals/mod.rs"]
mod intervals;
mod lineage;
mod listing;
mod sums;
mod top;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::MutexGuard;

use cpuledger_load::not_run;
use cpuledger_load::scene::alone;

/// `struct taskstats` with what the series tells of the dead.
const RECORD_BYTES: usize = 832;
/// `struct taskstats_header`.
const HEADER_BYTES: usize = 40;

/// Has the machine for itself, if its kernel keeps account of the dead.
fn begin() -> Option<MutexGuard<'static, ()>> {
    let guard = alone();
    if records().is_none() {
        not_run("its kernel has no account of the dead: run make kernel");
        return None;
    }
    Some(guard)
}

/// Where cpuledger is: in the guest, elsewhere than it was built.
fn program() -> OsString {
    std::env::var_os("CARGO_BIN_EXE_cpuledger").unwrap_or_else(|| env!("CARGO_BIN_EXE_cpuledger").into())
}

/// The records of all processes, as the kernel gives them.
fn records() -> Option<Vec<Vec<u8>>> {
    let mut file = File::options().read(true).write(true).open("/proc/taskstats").ok()?;
    // Exact ones: flag 2.
    file.write_all(&[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).ok()?;
    let mut bytes = vec![0; 1 << 22];
    let mut length = 0;
    loop {
        match file.read(&mut bytes[length..]).ok()? {
            0 => break,
            count => length += count,
        }
    }
    let size = u32::from_ne_bytes(bytes[8..12].try_into().ok()?) as usize;
    (size == RECORD_BYTES)
        .then(|| bytes[HEADER_BYTES..length].chunks_exact(size).map(<[u8]>::to_vec).collect())
}

/// Where the exact figures of a process are: runtime, user and system time, and what interrupts and the hypervisor took.
const OWN_AT: usize = 704;
/// Likewise, what it has inherited.
const INHERITED_AT: usize = 792;

/// Runtime, and what was taken.
fn cpu_ns(record: &[u8], at: usize) -> u64 {
    let number = |at: usize| u64::from_ne_bytes(record[at..at + 8].try_into().expect("eight"));
    number(at) + number(at + 24) + number(at + 32)
}

fn pid_of(record: &[u8]) -> i32 {
    i32::from_ne_bytes(record[128..132].try_into().expect("four"))
}

/// What the kernel says that a process has inherited.
fn inherited_ns(pid: i32) -> u64 {
    let records = records().expect("the kernel has them");
    let record = records.iter().find(|record| pid_of(record) == pid).expect("it lives");
    cpu_ns(record, INHERITED_AT)
}

/// What the kernel says that each process has used and inherited.
fn accounts_ns() -> HashMap<i32, u64> {
    let records = records().expect("the kernel has them");
    let all_ns = |record: &Vec<u8>| cpu_ns(record, OWN_AT) + cpu_ns(record, INHERITED_AT);
    records.iter().map(|record| (pid_of(record), all_ns(record))).collect()
}
