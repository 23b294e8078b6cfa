//! Cgroup identifiers: the inode number of the directory that `/proc/PID/cgroup` names.

use std::ffi::{CStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;

use cpuledger_proc::task::cgroup::{Hierarchy, path_inside};
use cpuledger_proc::task::mountinfo;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat};

/// Identifies the cgroups of one hierarchy. Neighbours tend to share one, so the last answer is kept.
pub struct Cgroups {
    hierarchy: Hierarchy,
    root: OwnedFd,
    /// Relative to `root`, with a NUL.
    last_path: Vec<u8>,
    last_id: Option<u64>,
}

impl Cgroups {
    /// Finds where the hierarchy is mounted; `None` where it is not, or only a part of it.
    pub fn find(hierarchy: Hierarchy, mountinfo: &[u8]) -> Option<Cgroups> {
        let path = mountinfo::cgroup_root(mountinfo, hierarchy)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, OsString::from_vec(path), flags, Mode::empty()).ok()?;
        Some(Cgroups { hierarchy, root, last_path: Vec::new(), last_id: None })
    }

    /// Forgets the last answer: its directory may have been removed and made anew.
    pub fn begin(&mut self) {
        self.last_path.clear();
    }

    /// The identifier of the cgroup of a task whose `/proc/PID/cgroup` this is. `None` where it is in none, in one that has
    /// been removed, or in one outside our cgroup namespace.
    pub fn id(&mut self, file: &[u8]) -> Option<u64> {
        let path = path_inside(file, self.hierarchy)?;
        let is_last =
            self.last_path.strip_prefix(b".").and_then(|last| last.strip_suffix(b"\0")) == Some(path);
        if !is_last {
            self.last_path.clear();
            self.last_path.push(b'.');
            self.last_path.extend_from_slice(path);
            self.last_path.push(0);
            let name = CStr::from_bytes_with_nul(&self.last_path).ok()?;
            let stat = statat(&self.root, name, AtFlags::SYMLINK_NOFOLLOW);
            self.last_id = stat.ok().map(|stat| stat.st_ino);
        }
        self.last_id
    }
}
