//! What is counted only while an account of it is kept: what a task sends and receives by sockets, who made others wait for a CPU, and what disks did.

use cpuledger_model::field::Field;

use super::entry::{Column, InTable, TableCell};
use crate::figure::Key as Figure;

/// Sockets, what goes over the network first; waits, those that made others wait first; disks, reads first.
pub(super) static COLUMNS: &[Column] = &[
    field! { NetworkSent; 43 "SENT" right 6 rank 3 Rate sums; "KiB a second that it sent by all sockets but Unix sockets (--with network)." => {
        aliases: &[("sent", "bytes sent by TCP, UDP and other network sockets")],
    } },
    field! { NetworkReceived; 44 "RECV" right 6 rank 3 Rate sums; "KiB a second that it received, likewise." => {
        orders: &["RECEIVED"],
        aliases: &[("recv", "bytes received by TCP, UDP and other network sockets")],
    } },
    field! { UnixSent; 45 "U.SENT" right 6 rank 8 Rate sums; "KiB a second that it sent by Unix sockets (--with network)." },
    field! { UnixReceived; 46 "U.RECV" right 6 rank 8 Rate sums; "KiB a second that it received by Unix sockets." },
    field! { WaitCaused; 49 "CAUSED" right 7 rank 3 Share sums; "Time that others waited for the CPU that it had, in percent of the interval: 200 is two that waited all the time (--with blame)." => {
        orders: &["CAUSED"],
        aliases: &[("caused", "time that others waited for the CPU that it had")],
    } },
    field! { WaitSuffered; 50 "SUFFERED" right 8 rank 3 Share sums; "Time that it waited for a CPU, in percent of the interval: 200 is two that waited all the time (--with blame)." => {
        orders: &["SUFFERED"],
        aliases: &[("suffered", "time that it waited for a CPU, as blame has it")],
    } },
    field! { DiskReadBytes; 47 "D.READ" right 6 rank 7 Rate sums; "KiB a second that disks have read for it (--with disk)." },
    field! { DiskWrittenBytes; 48 "D.WRITE" right 7 rank 7 Rate sums; "KiB a second that disks have written for it (--with disk)." },
    field! { DiskBlocked; 54 "%DISK" right 5 rank 7 ElapsedShare sums; "Share of its time alive in which it waited for its own requests at disks: part of %IO (--with disk)." },
    field! { SwapBlocked; 55 "%SWAPIN" right 7 rank 7 ElapsedShare sums; "Share of its time alive in which it waited for swapped pages: part of %DISK (--with disk)." },
];
