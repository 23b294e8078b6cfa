//! A thread that belongs to another user.

use std::io;

use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::Error;

/// Makes this thread one of that user, and of the group with its number alone. Threads that it starts are, too.
///
/// # Errors
/// [`Error::System`] without root.
pub fn become_user(uid: u32) -> Result<(), Error> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(uid));
    let become_it = || -> io::Result<()> {
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        Ok(set_thread_res_uid(uid, uid, uid)?)
    };
    become_it().map_err(Error::system("become another user"))
}
