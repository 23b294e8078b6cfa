//! The set of cAdvisor: CPU time of containers.

use std::collections::HashMap;
use std::sync::Arc;

use cpuledger_model::frame::{Column, Frame};
use cpuledger_model::framing::{self, CgroupIds, CgroupNames};
use cpuledger_proc::task::containers::containers;
use cpuledger_report::Name;

use super::usage::{Subject, Usage};
use crate::labels;
use crate::own::realtime_ns;
use crate::series::Table;

/// What is needed of the section of cgroups, beside [`framing::NAME_COLUMNS`].
pub const COLUMNS: [Column; 2] = [Column::PATH, Column::PATH_REST];

/// The values of labels beside the id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// Its name in its pod; outside of pods it has none.
    pub container: String,
    /// The image.
    pub image: String,
    /// The name by which the runtime knows it: of a container of a pod, its id.
    pub name: String,
    /// The namespace of the pod.
    pub namespace: String,
    /// The pod.
    pub pod: String,
}

impl Labels {
    fn of(names: &CgroupNames) -> Labels {
        let is_of_pod = !names.pod.is_empty();
        let container: &[u8] = match &*names.container {
            name if is_of_pod && name != CgroupNames::SANDBOX => name,
            _ => b"",
        };
        let name = if is_of_pod { &names.container_id } else { names.container_label() };
        Labels {
            container: labels::of_text(container),
            image: labels::of_text(&names.image),
            name: labels::of_text(name),
            namespace: labels::of_text(&names.namespace),
            pod: labels::of_text(&names.pod),
        }
    }
}

/// All containers.
#[derive(Debug)]
pub struct Containers {
    /// The series: their names are paths of cgroups.
    pub table: Table<Usage>,
    labels: HashMap<Arc<Name>, Labels>,
}

impl Containers {
    /// With at most so many series.
    pub fn new(limit: usize) -> Containers {
        Containers { table: Table::new(limit, realtime_ns()), labels: HashMap::new() }
    }

    /// The labels of a series.
    pub fn labels(&self, name: &Name) -> Option<&Labels> {
        self.labels.get(name)
    }

    /// Adds what processes used in an interval.
    pub fn add(&mut self, frame: &Frame, subjects: &[Subject<'_>]) {
        let mut by_cgroup: HashMap<CgroupIds, Arc<Name>> = HashMap::new();
        for (ids, names) in framing::cgroups(frame) {
            if names.container_label().is_empty() {
                continue;
            }
            let name = Arc::new(Name::Text(id(&names.path).to_vec()));
            self.labels.insert(Arc::clone(&name), Labels::of(&names));
            by_cgroup.insert(ids, name);
        }
        for subject in subjects {
            if let Some(name) = by_cgroup.get(&subject.cgroup) {
                self.table.add(name, &subject.used);
            }
        }
        self.table.trim();
        let table = &self.table;
        self.labels.retain(|name, _| table.ranks(name));
    }
}

/// The path of the container, of that of a cgroup in it.
fn id(path: &[u8]) -> &[u8] {
    let outermost = containers(path).first().and_then(|outermost| path.get(..outermost.end));
    outermost.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::usage::Used;
    use crate::series::{IDLE, Settle as _};
    use cpuledger_model::make;

    #[test]
    fn a_cgroup_within_a_container_is_of_the_container() {
        let scope = format!("/system.slice/docker-{}.scope", "a".repeat(64));
        assert_eq!(id(format!("{scope}/init.scope").as_bytes()), scope.as_bytes());
        assert_eq!(id(b"/odd/place"), b"/odd/place");
    }

    #[test]
    fn labels_are_those_of_cadvisor() {
        let names = make!(CgroupNames {
            container: b"web".to_vec(),
            container_id: vec![b'a'; 64],
            image: b"nginx:1".to_vec(),
        });
        let of_docker = Labels::of(&names);
        assert_eq!((&*of_docker.name, &*of_docker.container, &*of_docker.image), ("web", "", "nginx:1"));
        let in_pod = make!(CgroupNames { pod: b"shop".to_vec(), namespace: b"prod".to_vec(), ..names });
        let of_pod = Labels::of(&in_pod);
        assert_eq!((of_pod.name.len(), &*of_pod.container, &*of_pod.pod), (64, "web", "shop"));
        let sandbox = make!(CgroupNames { container: CgroupNames::SANDBOX.to_vec(), ..in_pod });
        assert_eq!(Labels::of(&sandbox).container, "");
    }

    #[test]
    fn a_container_that_pauses_before_its_series_begins_has_its_labels() {
        let mut containers = Containers::new(4);
        let path = format!("/system.slice/docker-{}.scope", "a".repeat(64));
        let names =
            make!(CgroupNames { container: b"web".to_vec(), ..CgroupNames::of_path(path.as_bytes()) });
        let mut running = Frame::new();
        framing::write_cgroups(&mut running, &[((Some(1), None), &names)]);
        let mut used = Used::default();
        used.modes.add(50_000_000, None, None);
        let subject = Subject {
            pid: 7,
            start_ns: 1,
            comm: b"web",
            ppid: 1,
            heir: 0,
            euid: None,
            cgroup: (Some(1), None),
            used,
            lives: true,
        };
        containers.add(&running, &[subject]);
        containers.add(&Frame::new(), &[]);
        containers.table.rank(0, false);
        let name = Name::Text(path.into_bytes());
        assert!(containers.table.series(&[]).any(|(own, _)| *own == name));
        assert_eq!(containers.labels(&name).map(|labels| &*labels.name), Some("web"));
        // What has no series any more is forgotten.
        for round in 1..10 {
            containers.table.age(IDLE);
            containers.table.rank(0, false);
            containers.table.seen_by_all(round);
        }
        containers.add(&Frame::new(), &[]);
        assert!(containers.labels.is_empty());
    }
}
