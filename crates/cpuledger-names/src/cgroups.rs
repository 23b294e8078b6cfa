//! Paths and names of cgroups by their numbers. A row has the numbers, and the file of a living process has the paths.
//!
//! If the cpu controller has a hierarchy of its own (cgroups 1), CPU time is divided by that one; the unified one of such a machine
//! mostly has all processes in `/`. Numbers may be reused (those of cgroups 1), a directory may be renamed, and a pid may belong to
//! another process in another cgroup. So a path counts only if it was read from the process of the row, and is read again later.

use std::fs;
use std::sync::Arc;

use cpuledger_model::field::Field;
use cpuledger_model::framing::{CgroupIds, CgroupNames};
use cpuledger_model::task::Task;
use cpuledger_proc::task::cgroup::path_of_cpu_time;
use rustc_hash::FxHashMap;

use crate::containers::Containers;
use crate::learnt::Learnt;
use crate::watch::Watch;

/// The numbers of the cgroups of a task: in the unified hierarchy and in that of the cpu controller, as far as they are known.
pub type Key = CgroupIds;

/// What cgroups are called, by their numbers.
pub type NamesByCgroup = FxHashMap<Key, CgroupNames>;

/// The numbers of a row; `None`: its source knows none.
pub fn key(row: &Task) -> Option<Key> {
    let known = |field, number| row.known.contains(field).then_some(number);
    let key = (known(Field::CgroupId, row.cgroup_id), known(Field::CgroupV1CpuId, row.cgroup_v1_cpu_id));
    (key != (None, None)).then_some(key)
}

/// What they are called.
#[derive(Debug, Default)]
pub struct Cgroups {
    learnt: Learnt<Key, CgroupNames>,
    containers: Containers,
    /// What is known of those that may be gone.
    watch: Option<Arc<Watch>>,
}

impl Cgroups {
    /// Those of living processes and of those that are gone: cgroups are looked at when they are made.
    pub fn watched() -> Cgroups {
        Cgroups { watch: Watch::shared(), ..Cgroups::default() }
    }

    /// The next frame begins.
    pub fn begin(&mut self) {
        self.learnt.begin();
    }

    /// What is known by now, to be kept beside a frame.
    pub fn named(&self) -> Arc<NamesByCgroup> {
        Arc::clone(&self.learnt.values)
    }

    /// Takes what was recorded, in the place of all else: numbers may be of another boot.
    pub fn take_recorded(&mut self, named: &[(CgroupIds, CgroupNames)]) {
        self.learnt.replace(named.iter().cloned().collect());
    }

    /// Reads what the cgroup of a row is called, unless that is known.
    pub fn learn(&mut self, row: &Task) {
        let Some(key) = key(row) else { return };
        let (containers, watch) = (&mut self.containers, &self.watch);
        let has_name = |names: &CgroupNames| names.nameless.is_none();
        self.learnt.learn_until(&key, has_name, |known| {
            let of_process = file_of(row).and_then(|file| Some(containers.names(path_of_cpu_time(&file)?)));
            let watched = || watch.as_ref()?.find(&key);
            let names = match of_process {
                // The thread of the watch may have rights that this one has not.
                Some(names) if names.container.is_empty() || !has_name(&names) => watched()
                    .filter(|own| own.path == names.path && has_name(own) && !own.container.is_empty())
                    .unwrap_or(names),
                Some(names) => names,
                None => watched()?,
            };
            // A container that ends has no state any more before it has no process any more.
            let was_named = known.filter(|known| known.path == names.path && has_name(known));
            Some(was_named.filter(|_| !has_name(&names)).cloned().unwrap_or(names))
        });
    }

    /// Takes what a frame tells of its cgroups, but for names that are known here already.
    pub fn take_told(&mut self, told: Vec<(CgroupIds, CgroupNames)>) {
        for (key, names) in told {
            let is_known = |known: &CgroupNames| known.nameless.is_none() || names.nameless.is_some();
            self.learnt.learn_until(&key, is_known, |_| Some(names.clone()));
        }
    }

    /// Learns what the cgroup with these numbers is called, though no process of it may be left.
    pub fn learn_of_dead(&mut self, key: Key) {
        let Some(watch) = self.watch.as_ref().filter(|_| key != (None, None)) else { return };
        self.learnt.learn(&key, || watch.find(&key));
    }
}

/// The file of a row with the paths of its cgroups, if that task still has its number.
pub(super) fn file_of(row: &Task) -> Option<Vec<u8>> {
    let directory = format!("/proc/{}/task/{}", row.pid, row.tid);
    let text = fs::read(format!("{directory}/cgroup")).ok()?;
    // Read after that file: the process that has the number now had it then, or none had.
    let stat = fs::read(format!("{directory}/stat")).ok()?;
    row.start_time_ns.is_start_in(&stat).then_some(text)
}

#[cfg(test)]
mod tests {
    use cpuledger_model::make;
    use cpuledger_proc::task::stat::parse_stat;

    use super::*;
    use cpuledger_model::boottime::{Boottime, TICK_NS};
    use cpuledger_model::field::FieldSet;
    use cpuledger_model::task::{Pid, Tid};

    const BOTH: FieldSet = FieldSet::of(&[Field::CgroupId, Field::CgroupV1CpuId]);

    fn row(number: u64) -> Task {
        make!(Task { known: BOTH, cgroup_id: 1, cgroup_v1_cpu_id: number })
    }

    #[test]
    fn rows_are_told_apart_by_both_numbers() {
        assert_ne!(key(&row(5)), key(&row(6)));
        assert_eq!(key(&make!(Task { known: FieldSet::EMPTY, ..row(5) })), None);
        let of_v1 = make!(Task { known: FieldSet::of(&[Field::CgroupV1CpuId]), ..row(5) });
        assert_eq!(key(&of_v1), Some((None, Some(5))));
    }

    #[test]
    fn a_reused_pid_does_not_answer_for_the_row() {
        let mut cgroups = Cgroups::default();
        let myself = std::process::id() as i32;
        let mut row = make!(Task { pid: Pid(myself), tid: Tid(myself), ..row(5) });
        cgroups.learn(&row);
        assert!(cgroups.named().is_empty(), "it began with the machine, and we did not");
        let stat = fs::read(format!("/proc/{myself}/stat")).expect("we live");
        row.start_time_ns = Boottime::from_ns(parse_stat(&stat).expect("a stat").start_ticks * TICK_NS + 7);
        row.cgroup_v1_cpu_id = 6;
        cgroups.learn(&row);
        let text = fs::read("/proc/self/cgroup").expect("we live");
        let named = cgroups.named();
        let path = named.get(&(Some(1), Some(6))).map(|names| &*names.path);
        assert_eq!(path, path_of_cpu_time(&text));
    }
}
