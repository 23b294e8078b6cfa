//! The setuid and setgid bits of a program's file: with one of them, everyone would have the rights of the file's owner.

use rustix::process::{getegid, geteuid, getgid, getuid};

/// Whether this process has other rights than its caller by such a bit.
pub fn is_set() -> bool {
    getuid() != geteuid() || getgid() != getegid()
}
