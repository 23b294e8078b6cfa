//! The pids controller's limit on this process, in either version of the hierarchy.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// A `pids.max` that applies to this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PidsLimit {
    /// The file that states it.
    pub(super) file: PathBuf,
    /// How many tasks the cgroup may hold.
    pub(super) most: u64,
    /// How many it holds.
    pub(super) now: u64,
}

/// The limit with the least room among those of this process's cgroups and their ancestors.
pub(super) fn tightest() -> Result<Option<PidsLimit>, Error> {
    let mounts = read("/proc/self/mountinfo")?;
    let membership = read("/proc/self/cgroup")?;
    let ours = folders(&mounts, &membership);
    let limits = ours.iter().flat_map(|(folder, top)| {
        folder.ancestors().take_while(move |folder| folder.starts_with(top)).filter_map(limit_of)
    });
    Ok(limits.min_by_key(|limit| limit.most.saturating_sub(limit.now)))
}

fn read(path: &str) -> Result<String, Error> {
    fs::read_to_string(path).map_err(Error::system(format!("read {path}")))
}

/// The limit set in one cgroup; none if it says `max` or the controller is off there.
fn limit_of(folder: &Path) -> Option<PidsLimit> {
    let number = |file: &Path| fs::read_to_string(file).ok()?.trim().parse().ok();
    let file = folder.join("pids.max");
    Some(PidsLimit { most: number(&file)?, now: number(&folder.join("pids.current"))?, file })
}

/// This process's cgroup folders that can have a pids limit, each with the mount point above it.
fn folders(mounts: &str, membership: &str) -> Vec<(PathBuf, PathBuf)> {
    let mounted = mounts.lines().filter_map(|line| {
        let (place, system) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, top) = (place.next()?, place.next()?);
        let mut system = system.split(' ');
        let has_pids = match system.next()? {
            "cgroup2" => false,
            "cgroup" if system.nth(1)?.split(',').any(|option| option == "pids") => true,
            _ => return None,
        };
        let path = membership.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let controllers = fields.next()?;
            let ours =
                if has_pids { controllers.split(',').any(|c| c == "pids") } else { controllers.is_empty() };
            fields.next().filter(|_| ours)
        })?;
        let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
        Some((Path::new(top).join(below), PathBuf::from(top)))
    });
    mounted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unified_hierarchy() {
        let mounts = "31 25 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let found = folders(mounts, "0::/user.slice/user-0.slice\n");
        let top = PathBuf::from("/sys/fs/cgroup");
        assert_eq!(found, [(top.join("user.slice/user-0.slice"), top)]);
    }

    #[test]
    fn the_old_hierarchy_mounted_from_a_container_root() {
        let mounts = "40 30 0:33 /docker/1 /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n\
                      41 30 0:34 /docker/1 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n";
        let found = folders(mounts, "9:cpu,cpuacct:/docker/1\n8:pids:/docker/1/inner\n");
        let top = PathBuf::from("/sys/fs/cgroup/pids");
        assert_eq!(found, [(top.join("inner"), top)]);
    }
}
