//! Paths of cgroups, by their numbers in the unified hierarchy: the inodes of their directories.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::read_dir;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};

use cpuledger_model::wire::{MOST_WIRE_CGROUPS, Wire};

/// Directories that are looked at in one walk, and those that walks take of an interval on average: where there are many cgroups, a new one gets its
/// path some intervals later. What lies behind so many directories, nearest to the root first, has no path.
const MOST_DIRECTORIES: u32 = 2_048;
const DIRECTORIES_PER_INTERVAL: u32 = 16;
/// Intervals between two walks at least: one cgroup whose directory is gone would else be looked for in each.
const LEAST_PAUSE: u32 = 4;

/// Paths that are remembered.
const MOST_KNOWN: usize = 4 * MOST_WIRE_CGROUPS;

/// What cgroups are called.
#[derive(Debug, Default)]
pub(super) struct WireNames {
    known: HashMap<u64, Vec<u8>>,
    /// Intervals until the next walk.
    pause: u32,
}

impl WireNames {
    /// Gives each cgroup its path. The kernel gives no number twice, so one that is gone keeps its path.
    pub(super) fn tell(&mut self, wire: &mut Wire, root: impl FnOnce() -> Option<PathBuf>) {
        self.pause = self.pause.saturating_sub(1);
        let is_unknown = |id: u64| !self.known.contains_key(&id);
        if self.pause == 0 && wire.iter().any(|cgroup| cgroup.id.is_some_and(is_unknown)) {
            self.walk(wire, root());
        }
        for cgroup in wire.iter_mut() {
            if let Some(path) = cgroup.id.and_then(|id| self.known.get(&id)) {
                cgroup.path.clone_from(path);
            }
        }
    }

    /// Learns what the cgroups of an interval are called.
    fn walk(&mut self, wire: &Wire, root: Option<PathBuf>) {
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        let Some(root) = root else { return };
        self.known.insert(1, b"/".to_vec());
        let unknown = |id: &u64| !self.known.contains_key(id);
        let mut wanted: HashSet<u64> = wire.iter().filter_map(|cgroup| cgroup.id).filter(unknown).collect();
        let (mut directories, mut seen) = (VecDeque::from([root.clone()]), 0);
        // Those next to the root first, so that what one user makes far below hides none of the others'.
        while let Some(directory) = directories.pop_front()
            && seen < MOST_DIRECTORIES
            && !wanted.is_empty()
        {
            seen += 1;
            for entry in read_dir(&directory).into_iter().flatten().flatten() {
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                if wanted.remove(&entry.ino()) {
                    self.known.insert(entry.ino(), below(&root, &entry.path()));
                }
                if directories.len() < MOST_DIRECTORIES as usize {
                    directories.push_back(entry.path());
                }
            }
        }
        self.pause = LEAST_PAUSE + seen / DIRECTORIES_PER_INTERVAL;
    }
}

/// The path of a cgroup whose directory is below the root.
fn below(root: &Path, directory: &Path) -> Vec<u8> {
    let rest = directory.strip_prefix(root).unwrap_or(directory);
    [b"/", rest.as_os_str().as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use cpuledger_model::wire::{WireCgroup, WireUse};

    use super::*;

    #[test]
    fn a_cgroup_has_the_path_of_its_directory_and_keeps_it() {
        let root = tempfile::tempdir().expect("a directory");
        let deep = root.path().join("a.slice/b.service");
        std::fs::create_dir_all(&deep).expect("a directory");
        let id = std::fs::metadata(&deep).expect("it is there").ino();
        let wire =
            |id| Wire::of([None, Some(1), Some(id)].map(|id| WireCgroup::new(id, WireUse::of([1; 4]))));
        let told = |names: &mut WireNames, id| {
            let mut wire = wire(id);
            names.tell(&mut wire, || Some(root.path().to_owned()));
            wire.iter().map(|cgroup| String::from_utf8_lossy(&cgroup.path).into_owned()).collect::<Vec<_>>()
        };
        let mut names = WireNames::default();
        assert_eq!(told(&mut names, id), ["", "/", "/a.slice/b.service"]);
        std::fs::remove_dir(&deep).expect("it is empty");
        assert_eq!(told(&mut names, id), ["", "/", "/a.slice/b.service"]);
        assert_eq!(told(&mut names, u64::MAX - 1), ["", "/", ""]);
    }
}
