//! `/proc/self/mountinfo`: a mount a line. The last one on a place covers those before it.

use super::cgroup::{Hierarchy, has_word};

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mount<'a> {
    /// The folder of the file system that is mounted.
    pub root: &'a [u8],
    /// Where, with blanks escaped.
    point: &'a [u8],
    /// The type of the file system.
    pub kind: &'a [u8],
    /// Options of the file system.
    pub options: &'a [u8],
}

impl<'a> Mount<'a> {
    fn parse(line: &'a [u8]) -> Option<Mount<'a>> {
        let mut words = line.split(|&byte| byte == b' ');
        let (root, point) = (words.nth(3)?, words.next()?);
        let mut after = words.skip_while(|word| *word != b"-").skip(1);
        Some(Mount { root, point, kind: after.next()?, options: after.nth(1)? })
    }

    /// Where it is mounted.
    pub fn point(&self) -> Vec<u8> {
        unescaped(self.point)
    }
}

/// Every mount, in the order in which they were made.
pub fn mounts(mountinfo: &[u8]) -> impl DoubleEndedIterator<Item = Mount<'_>> {
    mountinfo.split(|&byte| byte == b'\n').filter_map(Mount::parse)
}

/// Where the root of a hierarchy of cgroups is mounted; `None` where it is not, or only a part of it.
pub fn cgroup_root(mountinfo: &[u8], hierarchy: Hierarchy) -> Option<Vec<u8>> {
    let is_it = |mount: &Mount<'_>| match hierarchy.name() {
        None => mount.kind == b"cgroup2",
        Some(name) => mount.kind == b"cgroup" && has_word(mount.options, name),
    };
    mounts(mountinfo).find(|mount| is_it(mount) && mount.root == b"/").map(|mount| mount.point())
}

/// The hierarchy in which systemd has its units: in the order in which systemd looks, so of a machine that has both versions the unified one.
pub fn systemd_hierarchy(mountinfo: &[u8]) -> Option<Hierarchy> {
    const PLACES: [&[u8]; 3] = [b"/sys/fs/cgroup", b"/sys/fs/cgroup/unified", b"/sys/fs/cgroup/systemd"];
    let kind =
        |place: &[u8]| mounts(mountinfo).rev().find(|mount| mount.point == place).map(|mount| mount.kind);
    if PLACES.into_iter().any(|place| kind(place) == Some(b"cgroup2")) {
        return Some(Hierarchy::Unified);
    }
    (kind(PLACES[2]) == Some(b"cgroup")).then_some(Hierarchy::Systemd)
}

/// How the mount of /proc hides processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hiding {
    /// Whether it does.
    pub is_on: bool,
    /// Members of this group see all; `hidepid=ptraceable` makes no exception for a group.
    pub group: Option<u32>,
}

impl Hiding {
    /// Whether a user sees every process, by whether it may trace all and by its groups; `None`: it is not known.
    pub fn shows_all(self, may_trace_all: Option<bool>, is_member: impl Fn(u32) -> bool) -> Option<bool> {
        if !self.is_on || self.group.is_some_and(is_member) { Some(true) } else { may_trace_all }
    }
}

/// How what is mounted on /proc hides processes; `None` where no procfs is.
pub fn hiding(mountinfo: &[u8]) -> Option<Hiding> {
    let mount = mounts(mountinfo).rev().find(|mount| mount.point == b"/proc" && mount.kind == b"proc")?;
    let options = str::from_utf8(mount.options).ok()?;
    let option = |name: &str| options.split(',').find_map(|option| option.strip_prefix(name));
    let mode = option("hidepid=").unwrap_or("off");
    // Without the option it is the group of root, which the kernel does not print.
    let group = option("gid=").map_or(Some(0), |gid| gid.parse().ok());
    Some(Hiding {
        is_on: !matches!(mode, "0" | "off"),
        group: group.filter(|_| !matches!(mode, "4" | "ptraceable")),
    })
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

    fn mounts_with(options: &str) -> String {
        format!(
            "24 1 0:22 / /proc rw,relatime - proc old rw\n25 1 0:23 / /sys rw - sysfs sysfs rw\n\
             26 1 0:24 / /proc rw,relatime shared:9 - proc proc {options}\n"
        )
    }

    #[test]
    fn mount_options_of_proc_are_read() {
        for (options, is_on, group) in [
            ("rw", false, Some(0)),
            ("rw,hidepid=0", false, Some(0)),
            ("rw,hidepid=off", false, Some(0)),
            ("rw,gid=5,hidepid=invisible", true, Some(5)),
            ("rw,hidepid=2", true, Some(0)),
            ("rw,gid=5,hidepid=ptraceable", true, None),
        ] {
            assert_eq!(hiding(mounts_with(options).as_bytes()), Some(Hiding { is_on, group }), "{options}");
        }
        assert_eq!(hiding(b"25 1 0:23 / /sys rw - sysfs sysfs rw\n"), None);
        assert_eq!(hiding(b"nonsense\n"), None);
    }

    #[test]
    fn which_users_see_hidden_processes() {
        let hiding = Hiding { is_on: true, group: Some(5) };
        assert_eq!(hiding.shows_all(Some(false), |gid| gid == 5), Some(true));
        assert_eq!(hiding.shows_all(Some(false), |_| false), Some(false));
        assert_eq!(hiding.shows_all(Some(true), |_| false), Some(true));
        assert_eq!(hiding.shows_all(None, |_| false), None);
        let open = Hiding { is_on: false, group: None };
        assert_eq!(open.shows_all(Some(false), |_| false), Some(true));
    }

    #[test]
    fn hierarchies_are_found_where_they_are_mounted_whole() {
        let unified =
            b"35 24 0:30 / /sys/fs/cgroup\\040new rw,relatime shared:9 master:2 - cgroup2 cgroup2 rw";
        assert_eq!(cgroup_root(unified, Hierarchy::Unified), Some(b"/sys/fs/cgroup new".to_vec()));
        assert_eq!(cgroup_root(unified, Hierarchy::Cpu), None);
        let part = b"35 24 0:30 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        assert_eq!(cgroup_root(part, Hierarchy::Unified), None);
        let v1 = b"35 24 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct";
        assert_eq!(cgroup_root(v1, Hierarchy::Cpu), Some(b"/sys/fs/cgroup/cpu".to_vec()));
        let cpuset = b"35 24 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset";
        assert_eq!(cgroup_root(cpuset, Hierarchy::Cpu), None);
        assert_eq!(cgroup_root(b"", Hierarchy::Unified), None);
    }

    #[test]
    fn only_octal_escapes_are_escapes() {
        assert_eq!(unescaped(br"a\040b\134c\9\77"), br"a b\c\9\77");
        assert_eq!(unescaped(br"\777"), br"\777");
    }

    #[test]
    fn systemd_has_its_units_where_it_looks_first() {
        const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        const TMPFS: &str = "30 23 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n";
        const HYBRID: &str = "31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        const CPU: &str = "32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
        const NAMED: &str = "33 30 0:29 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n";
        const OF_232: &str = "33 30 0:29 / /sys/fs/cgroup/systemd rw - cgroup2 cgroup2 rw\n";
        for (mounts, hierarchy) in [
            (&[UNIFIED][..], Some(Hierarchy::Unified)),
            (&[TMPFS, HYBRID, CPU, NAMED], Some(Hierarchy::Unified)),
            (&[TMPFS, CPU, OF_232], Some(Hierarchy::Unified)),
            (&[TMPFS, CPU, NAMED], Some(Hierarchy::Systemd)),
            (&[TMPFS, CPU], None),
            (&[UNIFIED, TMPFS, CPU, NAMED], Some(Hierarchy::Systemd)),
            (&[], None),
        ] {
            assert_eq!(systemd_hierarchy(mounts.concat().as_bytes()), hierarchy, "{mounts:?}");
        }
    }
}
