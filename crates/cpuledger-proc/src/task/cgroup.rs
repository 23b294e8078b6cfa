//! `/proc/PID/cgroup`: of each hierarchy a line of its number, its controllers and the path in it.

/// One of the hierarchies of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hierarchy {
    /// The one of version 2: `0::/path`.
    Unified,
    /// That of the cpu controller, where it has one of its own: `1:cpu,cpuacct:/path`.
    Cpu,
    /// That of CPU accounting, likewise.
    CpuAccounting,
    /// That of systemd, where it has one of its own: `9:name=systemd:/path`.
    Systemd,
}

impl Hierarchy {
    /// Whether a line with this number and these controllers is of it.
    fn is(self, number: &[u8], controllers: &[u8]) -> bool {
        match self.name() {
            None => number == b"0" && controllers.is_empty(),
            Some(name) => has_word(controllers, name),
        }
    }

    /// How it is named among controllers and mount options; `None`: by having no name.
    pub(crate) fn name(self) -> Option<&'static [u8]> {
        match self {
            Hierarchy::Unified => None,
            Hierarchy::Cpu => Some(b"cpu"),
            Hierarchy::CpuAccounting => Some(b"cpuacct"),
            Hierarchy::Systemd => Some(b"name=systemd"),
        }
    }
}

/// The path of the task in a hierarchy, as the file has it; `None`: it is in none of its cgroups.
pub fn path(file: &[u8], hierarchy: Hierarchy) -> Option<&[u8]> {
    lines(file).find_map(|line| {
        let mut parts = line.splitn(3, |&byte| byte == b':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        hierarchy.is(number, controllers).then_some(path)
    })
}

/// The same; `None` also where it is outside our cgroup namespace.
pub fn path_inside(file: &[u8], hierarchy: Hierarchy) -> Option<&[u8]> {
    let path = path(file, hierarchy)?;
    let is_outside = path.starts_with(b"/..") && matches!(path.get(3), None | Some(b'/'));
    (path.starts_with(b"/") && !is_outside).then_some(path)
}

/// The path of the cgroup that CPU time is divided by: in the hierarchy of the cpu controller, or of its accounting, where that has one
/// of its own, else in the unified one.
pub fn path_of_cpu_time(file: &[u8]) -> Option<&[u8]> {
    path(file, hierarchy_of_cpu_time(file)?)
}

/// Which hierarchy that is.
pub fn hierarchy_of_cpu_time(file: &[u8]) -> Option<Hierarchy> {
    let hierarchies = [Hierarchy::Cpu, Hierarchy::CpuAccounting, Hierarchy::Unified];
    hierarchies.into_iter().find(|one| path(file, *one).is_some())
}

/// The lines with a comma between them; those of a root say nothing.
pub fn one_line(file: &[u8]) -> Vec<u8> {
    let lines = lines(file).filter(|line| !line.ends_with(b":/"));
    lines.collect::<Vec<_>>().join(&b',')
}

/// Of [`one_line`], what follows the first name of a hierarchy, or all.
pub fn names(one_line: &[u8]) -> &[u8] {
    const MARK: &[u8] = b":name=";
    match find(one_line, MARK) {
        Some(at) if at + MARK.len() < one_line.len() => &one_line[at + MARK.len()..],
        _ => one_line,
    }
}

fn lines(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    file.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// Whether a list with commas holds this word.
pub(crate) fn has_word(list: &[u8], word: &[u8]) -> bool {
    list.split(|&byte| byte == b',').any(|one| one == word)
}

/// Where a text begins in another.
pub(crate) fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: &[u8] = b"9:name=systemd:/\n4:memory:/process\n1:cpu,cpuacct:/a b\n0::/c:d\n";

    #[test]
    fn each_hierarchy_has_its_line() {
        assert_eq!(path_inside(MIXED, Hierarchy::Unified), Some(&b"/c:d"[..]));
        assert_eq!(path_inside(MIXED, Hierarchy::Cpu), Some(&b"/a b"[..]));
        assert_eq!(path_inside(b"0::/\n", Hierarchy::Cpu), None);
        assert_eq!(path_inside(b"2:cpuset:/\n", Hierarchy::Cpu), None);
        assert_eq!(path_inside(b"", Hierarchy::Unified), None);
        let both = b"1:name=systemd:/named\n0::/unified:odd\n";
        assert_eq!(path(both, Hierarchy::Unified), Some(&b"/unified:odd"[..]));
        assert_eq!(path(both, Hierarchy::Systemd), Some(&b"/named"[..]));
        assert_eq!(path(b"3:cpu:/\n", Hierarchy::Unified), None);
    }

    #[test]
    fn a_cgroup_outside_the_namespace_is_unknown() {
        assert_eq!(path_inside(b"0::/../other\n", Hierarchy::Unified), None);
        assert_eq!(path_inside(b"0::/..\n", Hierarchy::Unified), None);
        assert_eq!(path_inside(b"0::/..hidden\n", Hierarchy::Unified), Some(&b"/..hidden"[..]));
    }

    #[test]
    fn cpu_time_is_divided_by_the_hierarchy_of_the_cpu_controller() {
        for (text, path) in [
            ("0::/a.slice\n", "/a.slice"),
            ("9:memory:/m\n4:cpu,cpuacct:/docker/1\n1:name=systemd:/s\n0::/\n", "/docker/1"),
            ("9:cpuset:/m\n4:cpuacct:/acct\n3:cpu:/time:odd\n0::/\n", "/time:odd"),
            ("9:cpuset:/m\n4:cpuacct:/acct\n0::/\n", "/acct"),
            ("9:cpuset:/m\n0::/\n", "/"),
        ] {
            assert_eq!(path_of_cpu_time(text.as_bytes()), Some(path.as_bytes()), "{text:?}");
        }
        assert_eq!((path_of_cpu_time(b""), path_of_cpu_time(b"9:cpuset:/m\n")), (None, None));
    }

    #[test]
    fn lines_become_one_and_names_begin_after_their_mark() {
        assert_eq!(one_line(b"2:cpu:/a\n1:pids:/\n0::/b\n"), b"2:cpu:/a,0::/b");
        assert_eq!(names(b"2:cpu:/a,0::/b"), b"2:cpu:/a,0::/b");
        assert_eq!(names(b"2:name=systemd:/a,0::/b"), b"systemd:/a,0::/b");
        assert_eq!(names(b"2:name="), b"2:name=");
    }
}
