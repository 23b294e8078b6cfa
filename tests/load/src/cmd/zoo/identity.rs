//! Members with a session, a terminal or users of their own.

use anyhow::{Context, Result, ensure};
use rustix::fs::{Gid, Mode, OFlags, Uid, fstat, major, minor, open};
use rustix::process::{getpid, ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::tcgetpgrp;
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::life::{Ending, Kind, Life};
use crate::cmd::sys;

pub(super) const KINDS: &[Kind] = &[
    Kind::new("session", |life| {
        own_session(life)?;
        Ok(Ending::Sleep)
    }),
    Kind::new("terminal", terminal),
    Kind::needing_root("users", users),
];

/// Ids that no user has: real, effective, saved and filesystem. The last can only be one of the others.
const UIDS: [u32; 4] = [12_345, 12_346, 12_347, 12_345];
const GIDS: [u32; 4] = [54_321, 54_322, 54_323, 54_321];
const GROUPS: [u32; 2] = [54_330, 54_331];

fn own_session(life: &mut Life) -> Result<()> {
    let pid = setsid().context("make a session")?.as_raw_pid();
    let truth = &mut life.member.truth;
    (truth.session, truth.process_group) = (Some(pid), Some(pid));
    (truth.terminal, truth.terminal_number, truth.foreground_group) =
        (Some(String::new()), Some(0), Some(-1));
    Ok(())
}

/// In the foreground of a new terminal, whose other end is its own too.
fn terminal(life: &mut Life) -> Result<Ending> {
    own_session(life)?;
    let main_end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).context("make a terminal")?;
    grantpt(&main_end).context("own the terminal")?;
    unlockpt(&main_end).context("unlock the terminal")?;
    let path = ptsname(&main_end, Vec::new()).context("name the terminal")?;
    let terminal = open(&path, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).context("open the terminal")?;
    ioctl_tiocsctty(&terminal).context("take the terminal")?;
    let group = tcgetpgrp(&terminal).context("ask who is in the foreground")?;
    ensure!(group == getpid(), "another group is in the foreground");
    let device = fstat(&terminal).context("look at the terminal")?.st_rdev;
    let truth = &mut life.member.truth;
    truth.terminal = Some(path.to_string_lossy().into_owned());
    truth.terminal_number = Some(stat_encoding(major(device), minor(device)));
    truth.foreground_group = Some(group.as_raw_pid());
    // Both ends stay open until the process ends.
    std::mem::forget((main_end, terminal));
    Ok(Ending::Sleep)
}

/// A device number as the kernel writes it in /proc/PID/stat: the minor number around the major one.
fn stat_encoding(major: u32, minor: u32) -> u64 {
    u64::from((minor & 0xff) | (major << 8) | ((minor & !0xff) << 12))
}

fn users(life: &mut Life) -> Result<Ending> {
    let [real, effective, saved, filesystem] = GIDS.map(Gid::from_raw);
    set_thread_groups(&GROUPS.map(Gid::from_raw)).context("set the supplementary groups")?;
    set_thread_res_gid(real, effective, saved).context("set the groups")?;
    sys::set_filesystem_gid(filesystem);
    let [real, effective, saved, filesystem] = UIDS.map(Uid::from_raw);
    set_thread_res_uid(real, effective, saved).context("set the users")?;
    sys::set_filesystem_uid(filesystem);
    let truth = &mut life.member.truth;
    (truth.uids, truth.gids, truth.groups) = (Some(UIDS), Some(GIDS), Some(GROUPS.to_vec()));
    Ok(Ending::Sleep)
}
