//! `--source netlink` alone, on a kernel with all patches of a series of `kernel/`: intervals balance though no death is looked at, and the time
//! of the dead is where it belongs. Runs in the guest of `make kernel`; elsewhere it says that it has not run. Needs root.

mod cuts;
#[path = "../intervals/mod.rs"]
mod intervals;
mod lineage;
mod listing;
mod sums;
mod top;

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::MutexGuard;

use cpuledger_load::not_run;
use cpuledger_load::scene::alone;

/// `struct taskstats` with what the series tells of the dead: of Linux 6.12, and of 7.3.
const RECORD_BYTES: [usize; 2] = [552, 808];
/// `struct taskstats_header`.
const HEADER_BYTES: usize = 24;

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
    file.write_all(&[0; 16]).ok()?;
    let mut bytes = vec![0; 1 << 22];
    let mut length = 0;
    loop {
        match file.read(&mut bytes[length..]).ok()? {
            0 => break,
            count => length += count,
        }
    }
    let size = u32::from_ne_bytes(bytes[4..8].try_into().ok()?) as usize;
    RECORD_BYTES
        .contains(&size)
        .then(|| bytes[HEADER_BYTES..length].chunks_exact(size).map(<[u8]>::to_vec).collect())
}

/// What the kernel says that a process has inherited: runtime and stolen time.
fn inherited_ns(pid: i32) -> u64 {
    let records = records().expect("the kernel has them");
    let number = |record: &[u8], at: usize| u64::from_ne_bytes(record[at..at + 8].try_into().expect("eight"));
    let record = records.iter().find(|record| record[128..132] == pid.to_ne_bytes()).expect("it lives");
    // The last four members are runtime, user and system time, and stolen time.
    number(record, record.len() - 32) + number(record, record.len() - 8)
}
