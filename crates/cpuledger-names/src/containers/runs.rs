//! Containers that crun and runc run themselves, by the paths of their cgroups: those may be called anything.

use std::fs;
use std::path::{Path, PathBuf};

use cpuledger_model::framing::Nameless;
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::stat;
use rustix::time::{ClockId, clock_gettime};

use cpuledger_proc::task::containers::path_of_bundle;
use serde::Deserialize;

use super::bundle::Bundle;
use super::state::{self, MOST_BYTES};

/// Containers of a runtime that are looked at.
const MOST_CONTAINERS: usize = 4_096;

/// What crun and runc note of a running container; each has one of the members.
#[derive(Debug, Deserialize)]
struct Status {
    #[serde(default, rename = "cgroup-path")]
    cgroup_path: Option<String>,
    #[serde(default)]
    cgroup_paths: Option<FxHashMap<String, String>>,
}

/// The folder of a runtime, with a folder for each of its containers.
#[derive(Debug)]
pub(super) struct Runs {
    folder: PathBuf,
    /// The time of the last change of the folder, when all of it had been read.
    read: Option<(i64, u64)>,
    /// Ids by the paths of cgroups.
    by_path: FxHashMap<Vec<u8>, String>,
    /// Those whose files were read.
    known: FxHashSet<String>,
}

impl Runs {
    /// Nothing of that folder is read yet.
    pub(super) fn of(folder: PathBuf) -> Runs {
        Runs { folder, read: None, by_path: FxHashMap::default(), known: FxHashSet::default() }
    }

    /// The id of the outermost container whose cgroup is at this path, or above it, and the length of that path.
    ///
    /// # Errors
    /// When the folder may not be read.
    pub(super) fn find(&mut self, path: &[u8]) -> Result<Option<(String, usize)>, Nameless> {
        self.read_changes()?;
        let ends = (0..=path.len()).filter(|&end| end > 1 && matches!(path.get(end), None | Some(b'/')));
        let mut found = ends.filter_map(|end| Some((self.by_path.get(&path[..end])?.clone(), end)));
        Ok(found.next())
    }

    fn read_changes(&mut self) -> Result<(), Nameless> {
        let now = stat(&self.folder).ok().map(|of| (of.st_mtime, of.st_mtime_nsec));
        if now.is_none() {
            self.by_path.clear();
            self.known.clear();
            self.read = None;
            return Ok(());
        }
        if self.read == now {
            return Ok(());
        }
        let entries = fs::read_dir(&self.folder).map_err(|_| Nameless::Denied)?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let names: Vec<String> = names.take(MOST_CONTAINERS).collect();
        self.known.retain(|id| names.contains(id));
        self.by_path.retain(|_, id| self.known.contains(id));
        let mut is_whole = true;
        for id in names {
            if self.known.contains(&id) {
                continue;
            }
            // The files come a moment after their folder.
            match path_of(&self.folder.join(&id)) {
                Some(path) => {
                    self.by_path.insert(path, id.clone());
                    self.known.insert(id);
                }
                None => is_whole = false,
            }
        }
        self.read = now.filter(|&(seconds, _)| is_whole && is_past(seconds));
        Ok(())
    }
}

/// Whether that second is over: a change in the one that runs may have the time of the last one.
fn is_past(second: i64) -> bool {
    clock_gettime(ClockId::Realtime).tv_sec > second
}

/// The path of the cgroup of a container.
fn path_of(folder: &Path) -> Option<Vec<u8>> {
    let status = |name: &str| state::read_json::<Status>(&folder.join(name), MOST_BYTES).ok().flatten();
    if let Some(status) = status("status").or_else(|| status("state.json")) {
        let of_cpu = |paths: FxHashMap<String, String>| {
            // Below the mount of a hierarchy.
            let path = paths.get("cpu").or_else(|| paths.get("")).or_else(|| paths.values().next())?;
            let rest = path.strip_prefix("/sys/fs/cgroup")?;
            let hierarchies = ["/cpu,cpuacct", "/cpuacct,cpu", "/cpu", "/unified"];
            let below = hierarchies
                .into_iter()
                .find_map(|one| rest.strip_prefix(one).filter(|rest| rest.starts_with('/')));
            Some(below.unwrap_or(rest).to_owned())
        };
        let path = status.cgroup_path.or_else(|| of_cpu(status.cgroup_paths?));
        if let Some(path) = path.filter(|path| path.len() > 1 && path.starts_with('/')) {
            return Some(path.into_bytes());
        }
    }
    // crun copies the bundle before it makes the cgroup.
    let bundle: Bundle = state::read_json(&folder.join("config.json"), MOST_BYTES).ok().flatten()?;
    path_of_bundle(bundle.cgroups_path().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn the_path_leads_to_the_container() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join("crun").join(name);
        let mut runs = Runs::of(folder.path().join("crun"));
        let mut find = |path: &str| runs.find(path.as_bytes()).expect("it may be read");
        assert_eq!(find("/a/b"), None);
        write(at("one/status"), r#"{"pid":1,"cgroup-path":"/a/b","scope":""}"#);
        assert_eq!(find("/a/b/c"), Some(("one".to_owned(), 4)));
        assert_eq!((find("/a"), find("/a/bc"), find("/")), (None, None, None));
        // The folder is there, and its files are not yet.
        fs::create_dir(at("two")).expect("a folder");
        assert_eq!(find("/system.slice/x-two.scope"), None);
        write(at("two/config.json"), r#"{"linux":{"cgroupsPath":":x:two"}}"#);
        assert_eq!(find("/system.slice/x-two.scope"), Some(("two".to_owned(), 25)));
        write(
            at("three/state.json"),
            r#"{"id":"three","cgroup_paths":{"cpu":"/sys/fs/cgroup/cpu,cpuacct/three"}}"#,
        );
        write(at("four/state.json"), r#"{"id":"four","cgroup_paths":{"":"/sys/fs/cgroup/four"}}"#);
        assert_eq!(find("/three").map(|(id, _)| id).as_deref(), Some("three"));
        assert_eq!(find("/four").map(|(id, _)| id).as_deref(), Some("four"));
        fs::remove_dir_all(at("one")).expect("it is there");
        assert_eq!(find("/a/b/c"), None);
    }
}
