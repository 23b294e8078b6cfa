//! Cgroup identifiers: the inode number of the directory that `/proc/PID/cgroup` names.

use std::ffi::{CStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat};

/// A hierarchy that is mounted here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hierarchy {
    /// The one of version 2.
    Unified,
    /// That of the cpu controller, where it has one of its own.
    V1Cpu,
}

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
        let path = mountinfo.split(|&byte| byte == b'\n').find_map(|line| mount_point(line, hierarchy))?;
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
        let path = path_of(file, self.hierarchy)?;
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

/// What `/proc/PID/cgroup` says of the hierarchy: an absolute path.
pub(crate) fn path_of(file: &[u8], hierarchy: Hierarchy) -> Option<&[u8]> {
    let path = file.split(|&byte| byte == b'\n').find_map(|line| {
        let mut parts = line.splitn(3, |&byte| byte == b':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_it = match hierarchy {
            Hierarchy::Unified => number == b"0" && controllers.is_empty(),
            Hierarchy::V1Cpu => has_option(controllers, b"cpu"),
        };
        is_it.then_some(path)
    })?;
    let is_outside = path.starts_with(b"/..") && matches!(path.get(3), None | Some(b'/'));
    (path.starts_with(b"/") && !is_outside).then_some(path)
}

/// Where a line of `/proc/self/mountinfo` mounts the root of the hierarchy.
pub(crate) fn mount_point(line: &[u8], hierarchy: Hierarchy) -> Option<Vec<u8>> {
    let mut words = line.split(|&byte| byte == b' ');
    let (root, point) = (words.nth(3)?, words.next()?);
    let mut after = words.skip_while(|word| *word != b"-").skip(1);
    let (kind, options) = (after.next()?, after.nth(1)?);
    let is_it = match hierarchy {
        Hierarchy::Unified => kind == b"cgroup2",
        Hierarchy::V1Cpu => kind == b"cgroup" && has_option(options, b"cpu"),
    };
    (is_it && root == b"/").then(|| unescaped(point))
}

fn has_option(list: &[u8], option: &[u8]) -> bool {
    list.split(|&byte| byte == b',').any(|one| one == option)
}

/// Without the `\040` of a blank and its like.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        let octal = |digit: &u8| (b'0'..=b'7').contains(digit).then(|| u32::from(digit - b'0'));
        let code = match after {
            [a, b, c, ..] if byte == b'\\' => {
                octal(a).zip(octal(b)).zip(octal(c)).map(|((a, b), c)| a * 64 + b * 8 + c)
            }
            _ => None,
        };
        let code = code.and_then(|code| u8::try_from(code).ok());
        plain.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: &[u8] = b"9:name=systemd:/\n4:memory:/process\n1:cpu,cpuacct:/a b\n0::/c:d\n";

    #[test]
    fn each_hierarchy_has_its_line() {
        assert_eq!(path_of(MIXED, Hierarchy::Unified), Some(&b"/c:d"[..]));
        assert_eq!(path_of(MIXED, Hierarchy::V1Cpu), Some(&b"/a b"[..]));
        assert_eq!(path_of(b"0::/\n", Hierarchy::V1Cpu), None);
        assert_eq!(path_of(b"2:cpuset:/\n", Hierarchy::V1Cpu), None);
        assert_eq!(path_of(b"", Hierarchy::Unified), None);
    }

    #[test]
    fn a_cgroup_outside_the_namespace_is_unknown() {
        assert_eq!(path_of(b"0::/../other\n", Hierarchy::Unified), None);
        assert_eq!(path_of(b"0::/..\n", Hierarchy::Unified), None);
        assert_eq!(path_of(b"0::/..hidden\n", Hierarchy::Unified), Some(&b"/..hidden"[..]));
    }

    #[test]
    fn mounts_are_found_whole_only() {
        let unified =
            b"35 24 0:30 / /sys/fs/cgroup\\040new rw,relatime shared:9 master:2 - cgroup2 cgroup2 rw";
        assert_eq!(mount_point(unified, Hierarchy::Unified), Some(b"/sys/fs/cgroup new".to_vec()));
        assert_eq!(mount_point(unified, Hierarchy::V1Cpu), None);
        let part = b"35 24 0:30 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        assert_eq!(mount_point(part, Hierarchy::Unified), None);
        let v1 = b"35 24 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct";
        assert_eq!(mount_point(v1, Hierarchy::V1Cpu), Some(b"/sys/fs/cgroup/cpu".to_vec()));
        let cpuset = b"35 24 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset";
        assert_eq!(mount_point(cpuset, Hierarchy::V1Cpu), None);
        assert_eq!(mount_point(b"", Hierarchy::Unified), None);
    }

    #[test]
    fn only_octal_escapes_are_escapes() {
        assert_eq!(unescaped(br"a\040b\134c\9\77"), br"a b\c\9\77");
        assert_eq!(unescaped(br"\777"), br"\777");
    }
}
