//! What containers are called: from the paths of their cgroups and the state that their runtimes keep on disk. No daemon is asked.
//!
//! Names are those that the runtime of *this* machine's root has written. Within a container and in the tree of a user's own manager, others
//! make cgroups, and may call them like the container of somebody else. So three rules hold.
//!
//! - The outermost container of a path is the one that is named. The ids of those within it are appended to its name, and nothing is looked
//!   up for them.
//! - State counts only if it is of the cgroup that the path leads to.
//! - A container of a user's own runtime has the number of that user in its name and in its id, and no file of that user is read.

mod bundle;
mod pods;
mod runs;
mod state;
mod storage;

use std::fs;
use std::path::{Path, PathBuf};

use cpuledger_model::framing::{CgroupNames, Nameless};
use cpuledger_model::make;
use cpuledger_proc::task::containers::{
    Container, Runtime, SHORT_ID_DIGITS, claimed_id, containers, is_id, is_of_user, path_of_bundle, pod_uid,
};
use cpuledger_proc::task::units;
use serde::Deserialize;

use bundle::Bundle;
use pods::Pods;
use runs::Runs;
use state::MOST_BYTES;
use storage::List;

/// Below these, containerd has a folder for each of its namespaces, and in that one for each container.
const CONTAINERD: [&str; 3] = [
    "run/containerd/io.containerd.runtime.v2.task",
    "run/k3s/containerd/io.containerd.runtime.v2.task",
    "run/docker/containerd/daemon/io.containerd.runtime.v2.task",
];

/// Namespaces of containerd that are looked into.
const MOST_NAMESPACES: usize = 64;

/// Where containers/storage keeps what is temporary, and what is not.
const STORAGE: [&str; 2] = ["run/containers/storage", "var/lib/containers/storage"];

/// Its drivers, each with folders of its own.
const DRIVERS: [&str; 4] = ["overlay", "vfs", "btrfs", "zfs"];

/// Databases of Podman, below the second of these: of Podman 4, and of Podman 5.
const PODMAN: [&str; 2] = ["libpod/bolt_state.db", "db.sql"];

/// Where Docker keeps a folder for each container.
const DOCKER: &str = "var/lib/docker/containers";

/// Where crun and runc do.
const RUNS: [&str; 2] = ["run/crun", "run/runc"];

/// What Docker keeps of a container.
#[derive(Debug, Deserialize)]
struct DockerState {
    #[serde(default, rename = "Name")]
    name: String,
    #[serde(default, rename = "Config")]
    config: DockerConfig,
}

#[derive(Debug, Default, Deserialize)]
struct DockerConfig {
    #[serde(default, rename = "Image")]
    image: String,
}

/// The runtimes of a machine.
#[derive(Debug)]
pub struct Containers {
    /// The directory that holds `run` and `var`.
    root: PathBuf,
    lists: Vec<List>,
    pods: Pods,
    runs: Vec<(PathBuf, Runs)>,
}

impl Default for Containers {
    fn default() -> Containers {
        Containers::below(Path::new("/"))
    }
}

impl Containers {
    /// Those whose state is below another directory than `/`.
    pub fn below(root: &Path) -> Containers {
        let list = |folder: &str, driver: &str, name: &str| {
            List::of(root.join(folder).join(format!("{driver}-containers")).join(name))
        };
        let lists = DRIVERS.iter().flat_map(|driver| {
            [
                list(STORAGE[1], driver, "containers.json"),
                list(STORAGE[0], driver, "volatile-containers.json"),
            ]
        });
        Containers {
            root: root.to_owned(),
            lists: lists.collect(),
            pods: Pods::of(PODMAN.map(|name| root.join(STORAGE[1]).join(name))),
            runs: RUNS.iter().map(|folder| (root.join(folder), Runs::of(root.join(folder)))).collect(),
        }
    }

    /// The names of the cgroup at this path.
    pub fn names(&mut self, path: &[u8]) -> CgroupNames {
        let found = containers(path);
        if is_of_user(path) {
            return found.first().map_or_else(|| CgroupNames::of_path(path), |outer| of_user(path, outer));
        }
        let run = self.runs.iter_mut().find_map(|(folder, runs)| {
            let (id, end) = runs.find(path).ok()??;
            Some((folder.join(&id), id, end))
        });
        let outer = found.first();
        let (mut names, end) = match (run, outer) {
            (Some((folder, id, end)), outer) if outer.is_none_or(|outer| end < outer.end) => {
                (run_directly(&folder, &id), end)
            }
            (_, Some(outer)) => (self.of(outer, path), outer.end),
            (_, None) => return CgroupNames::of_path(path),
        };
        if names.nameless == Some(Nameless::OtherCgroup) {
            // Somebody has chosen this id.
            return make!(CgroupNames { nameless: names.nameless, ..CgroupNames::of_path(path) });
        }
        for inner in found.iter().filter(|inner| inner.end > end) {
            if names.container.is_empty() {
                names.container = shortened(&names.container_id);
            }
            names.container.push(b'/');
            names.container.extend(shortened(&inner.id));
        }
        if names.pod.is_empty() {
            names.pod = pod_uid(&path[..end]).unwrap_or_default();
        }
        make!(CgroupNames { path: path.to_vec(), ..names })
    }

    /// Of the outermost container of a path.
    fn of(&mut self, outer: &Container, path: &[u8]) -> CgroupNames {
        let place = &path[..outer.end];
        let looked_up = match outer.runtime {
            Runtime::Lxc | Runtime::Nspawn if is_made_by_root(place) => {
                Ok(make!(CgroupNames { container: outer.id.clone() }))
            }
            Runtime::Lxc | Runtime::Nspawn => Err(Nameless::OtherCgroup),
            _ => self.look_up(outer, place),
        };
        let container_id = outer.id.clone();
        match looked_up {
            Ok(names) => make!(CgroupNames { container_id, ..names }),
            Err(why) => make!(CgroupNames { container_id, nameless: Some(why) }),
        }
    }

    /// What its runtime knows of it.
    fn look_up(&mut self, outer: &Container, place: &[u8]) -> Result<CgroupNames, Nameless> {
        let id = str::from_utf8(&outer.id).map_err(|_| Nameless::Damaged)?;
        let (bundle, mut why) = self.bundle(outer.runtime, id);
        let mut is_there = bundle.is_some();
        if !bundle.as_ref().map_or_else(|| is_made_by_root(place), |bundle| is_of_bundle(bundle, place)) {
            return Err(Nameless::OtherCgroup);
        }
        let pod_id = bundle.as_ref().map(Bundle::pod_id).unwrap_or_default();
        let mut names = bundle.map(|bundle| bundle.names()).unwrap_or_default();
        if names.pod.is_empty()
            && matches!(outer.runtime, Runtime::Podman | Runtime::Any)
            && let Ok(Some(pod)) = self.pods.find(&pod_id)
        {
            names.pod = pod.to_vec();
        }
        fill(&mut names.pod, &shortened(&pod_id));
        if matches!(outer.runtime, Runtime::Docker | Runtime::Any) {
            let path = self.root.join(DOCKER).join(id).join("config.v2.json");
            match state::read_json::<DockerState>(&path, MOST_BYTES) {
                Ok(Some(docker)) => {
                    is_there = true;
                    let name = docker.name.strip_prefix('/').unwrap_or(&docker.name);
                    fill(&mut names.container, name.as_bytes());
                    fill(&mut names.image, docker.config.image.as_bytes());
                }
                Ok(None) => {}
                Err(error) => why = error,
            }
        }
        if matches!(outer.runtime, Runtime::Podman | Runtime::Crio | Runtime::Any) {
            for list in &mut self.lists {
                match list.find(&outer.id) {
                    Ok(Some((name, image))) => {
                        is_there = true;
                        fill(&mut names.container, name);
                        fill(&mut names.image, image);
                    }
                    Ok(None) => {}
                    Err(error) => why = error,
                }
            }
        }
        if !is_there {
            return Err(why);
        }
        fill(&mut names.container, &shortened(&outer.id));
        Ok(names)
    }

    /// Its bundle or, without one, why.
    fn bundle(&self, runtime: Runtime, id: &str) -> (Option<Bundle>, Nameless) {
        let mut folders: Vec<PathBuf> = Vec::new();
        let mut why = Nameless::NoState;
        if !matches!(runtime, Runtime::Podman | Runtime::Crio) {
            for containerd in CONTAINERD {
                match fs::read_dir(self.root.join(containerd)) {
                    Ok(entries) => {
                        let namespaces = entries.flatten().take(MOST_NAMESPACES);
                        folders.extend(namespaces.map(|namespace| namespace.path().join(id)));
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                        why = Nameless::Denied
                    }
                    Err(_) => {}
                }
            }
        }
        if !matches!(runtime, Runtime::Docker | Runtime::Containerd) {
            for storage in STORAGE {
                let of = |driver| self.root.join(storage).join(format!("{driver}-containers/{id}/userdata"));
                folders.extend(DRIVERS.map(of));
            }
        }
        folders.extend(RUNS.map(|folder| self.root.join(folder).join(id)));
        for folder in folders {
            match state::read_json::<Bundle>(&folder.join("config.json"), MOST_BYTES) {
                Ok(Some(bundle)) => return (Some(bundle), why),
                Ok(None) => {}
                Err(error) => why = error,
            }
        }
        (None, why)
    }
}

/// A container that crun or runc runs, in a cgroup that does not tell its id.
fn run_directly(folder: &Path, id: &str) -> CgroupNames {
    let bundle = state::read_json::<Bundle>(&folder.join("config.json"), MOST_BYTES).ok().flatten();
    let pod_id = bundle.as_ref().map(Bundle::pod_id).unwrap_or_default();
    let mut names = bundle.map(|bundle| bundle.names()).unwrap_or_default();
    fill(&mut names.pod, &shortened(&pod_id));
    fill(&mut names.container, id.as_bytes());
    make!(CgroupNames { container_id: id.as_bytes().to_vec(), ..names })
}

/// A container of a user's own runtime.
fn of_user(path: &[u8], outer: &Container) -> CgroupNames {
    make!(CgroupNames {
        container_id: claimed_id(path, outer),
        nameless: Some(Nameless::OfUser),
        ..CgroupNames::of_path(path)
    })
}

/// Whether only root, or what root runs as a whole, can have made a cgroup here: none of those above it is of a service or a scope, which
/// may have been handed to somebody else.
fn is_made_by_root(place: &[u8]) -> bool {
    let above = place.iter().rposition(|&byte| byte == b'/').map_or(&[][..], |end| &place[..end]);
    units::unit(above).is_none()
}

/// Whether the bundle is of the container at this path. In a cgroup namespace, the path is the end of what the bundle says.
fn is_of_bundle(bundle: &Bundle, place: &[u8]) -> bool {
    let asked = bundle.cgroups_path().as_bytes();
    // What is outside our namespace begins with `/..`.
    let mut below = place;
    while let Some(rest) = below.strip_prefix(b"/..").filter(|rest| rest.starts_with(b"/")) {
        below = rest;
    }
    let (above, name) = match below.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&below[..at], &below[at + 1..]),
        None => (&[][..], below),
    };
    match path_of_bundle(asked) {
        Some(path) if path.ends_with(below) && below.starts_with(b"/") => true,
        // A runtime that does not ask systemd makes a directory of that name below its own cgroup.
        _ if name == asked => above.ends_with(b"/containerd.service") || above.ends_with(b"/crio.service"),
        None if asked.is_empty() => is_made_by_root(below),
        _ => false,
    }
}

fn fill(name: &mut Vec<u8>, with: &[u8]) {
    if name.is_empty() {
        name.extend_from_slice(with);
    }
}

/// An id as it stands for a name.
fn shortened(id: &[u8]) -> Vec<u8> {
    if is_id(id) { id[..SHORT_ID_DIGITS].to_vec() } else { id.to_vec() }
}

#[cfg(test)]
mod tests;
