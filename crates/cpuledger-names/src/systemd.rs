//! Which unit of systemd a process is in, by the cgroup that it has in the hierarchy that systemd uses. This is the only place that decides it.

use std::fs;
use std::sync::Arc;

use cpuledger_model::task::{Comm, Task, TaskId};
use cpuledger_proc::task::cgroup::{self, Hierarchy, hierarchy_of_cpu_time};
use cpuledger_proc::task::mountinfo::systemd_hierarchy;
use cpuledger_proc::task::units::{self, unit_or_slice};

use rustc_hash::FxHashMap;

use crate::cgroups::{self, Key, file_of};
use crate::learnt::Learnt;

/// How to find a process in the tree of systemd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Systemd {
    hierarchy: Hierarchy,
    /// The cgroup of the first process.
    init: Vec<u8>,
}

impl Systemd {
    /// That of this machine, or of the files below another root; `None`: no cgroups are mounted that systemd could use.
    pub fn find(root: &str) -> Option<Systemd> {
        let of_init = fs::read(format!("{root}/proc/1/cgroup")).unwrap_or_default();
        match fs::read(format!("{root}/proc/self/mountinfo")) {
            Ok(mountinfo) => Systemd::of(&mountinfo, &of_init),
            // Files that stand for those of a machine.
            Err(_) if !root.is_empty() => Systemd::in_hierarchy(Hierarchy::Unified, &of_init),
            Err(_) => None,
        }
    }

    /// That of a machine with these mounts, whose first process has this file.
    pub fn of(mountinfo: &[u8], of_init: &[u8]) -> Option<Systemd> {
        Systemd::in_hierarchy(systemd_hierarchy(mountinfo)?, of_init)
    }

    fn in_hierarchy(hierarchy: Hierarchy, of_init: &[u8]) -> Option<Systemd> {
        Some(Systemd { hierarchy, init: cgroup::path(of_init, hierarchy)?.to_vec() })
    }

    /// The path of a process in the tree of systemd, by its file.
    pub fn path<'a>(&self, file: &'a [u8]) -> Option<&'a [u8]> {
        Some(units::below_root(cgroup::path(file, self.hierarchy)?, &self.init))
    }

    /// Whether that is the path of the cgroup that CPU time is divided by.
    fn is_of_cpu_time(&self, file: &[u8]) -> bool {
        hierarchy_of_cpu_time(file) == Some(self.hierarchy)
    }
}

/// A cgroup. Where systemd has a hierarchy of version 1, rows have no number of it, and each process counts for itself until it executes.
pub type UnitKey = (Option<Key>, Option<(TaskId, Comm)>);

/// The unit of each or, of what is in none, the slice.
pub type UnitsOfRows = FxHashMap<UnitKey, Vec<u8>>;

/// Units of rows, on a machine where the cgroups of CPU time are not those of systemd.
#[derive(Debug, Default)]
pub struct Units {
    systemd: Option<Systemd>,
    learnt: Learnt<UnitKey, Vec<u8>>,
}

impl Units {
    /// Those of this machine.
    pub fn new() -> Units {
        let own = fs::read("/proc/self/cgroup").unwrap_or_default();
        let systemd = Systemd::find("").filter(|systemd| !systemd.is_of_cpu_time(&own));
        Units { systemd, learnt: Learnt::default() }
    }

    /// The next frame begins.
    pub fn begin(&mut self) {
        self.learnt.begin();
    }

    /// Those that are known; `None`: the cgroups of CPU time say it.
    pub fn units(&self) -> Option<Arc<UnitsOfRows>> {
        self.systemd.as_ref().map(|_| Arc::clone(&self.learnt.values))
    }

    /// The unit or slice of a row, empty where it is not known; `None`: the cgroup of CPU time says it.
    pub fn unit(&mut self, row: &Task) -> Option<&[u8]> {
        self.unit_by(row, file_of)
    }

    fn unit_by(&mut self, row: &Task, read: impl FnOnce(&Task) -> Option<Vec<u8>>) -> Option<&[u8]> {
        let systemd = self.systemd.as_ref()?;
        let is_numbered = systemd.hierarchy == Hierarchy::Unified;
        let key = (cgroups::key(row), (!is_numbered).then_some((row.id(), row.comm)));
        self.learnt.learn(&key, || {
            let file = read(row)?;
            Some(unit_or_slice(systemd.path(&file)?).to_vec())
        });
        Some(self.learnt.values.get(&key).map_or(&[], Vec::as_slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::field::{Field, FieldSet};
    use cpuledger_model::make;
    use cpuledger_model::task::Tid;

    const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    const HYBRID: &str = "30 23 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
        31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
        32 30 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n";
    const V1: &str = "30 23 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
        32 30 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n";
    /// A service that is told apart by its hierarchies.
    const FILE: &[u8] =
        b"9:name=systemd:/system.slice/named.service\n1:cpu,cpuacct:/\n0::/system.slice/unified.service\n";

    fn systemd(mountinfo: &str) -> Systemd {
        Systemd::of(mountinfo.as_bytes(), b"9:name=systemd:/init.scope\n1:cpu,cpuacct:/\n0::/init.scope\n")
            .expect("there is one")
    }

    #[test]
    fn the_unit_is_that_of_the_hierarchy_of_systemd() {
        for (mountinfo, unit) in
            [(UNIFIED, "unified.service"), (HYBRID, "unified.service"), (V1, "named.service")]
        {
            let path = systemd(mountinfo).path(FILE).expect("a path");
            assert_eq!(unit_or_slice(path), unit.as_bytes(), "{mountinfo}");
        }
        assert_eq!(Systemd::of(b"", FILE), None);
        // Its own name stands for itself, and so does a slice.
        for name in ["x.service", "-.slice", "user-7.slice", "init.scope"] {
            assert_eq!(unit_or_slice(name.as_bytes()), name.as_bytes());
        }
    }

    #[test]
    fn a_unit_is_recorded_where_cgroups_of_cpu_time_do_not_say_it() {
        assert!(systemd(UNIFIED).is_of_cpu_time(b"0::/system.slice/unified.service\n"));
        assert!(!systemd(HYBRID).is_of_cpu_time(FILE) && !systemd(V1).is_of_cpu_time(FILE));
        // Version 2 with a named hierarchy of version 1 beside it.
        assert!(systemd(UNIFIED).is_of_cpu_time(b"1:name=systemd:/\n0::/a.service\n"));
    }

    #[test]
    fn rows_of_a_cgroup_share_its_unit_where_it_has_a_number() {
        let row = |tid, unified| {
            make!(Task {
                known: FieldSet::of(&[Field::CgroupId, Field::CgroupV1CpuId]),
                tid: Tid(tid),
                cgroup_id: unified,
                cgroup_v1_cpu_id: 1,
            })
        };
        let reads = |mountinfo, rows: &[Task]| {
            let mut units = Units { systemd: Some(systemd(mountinfo)), learnt: Learnt::default() };
            units.begin();
            let mut reads = 0;
            for row in rows {
                let unit = units.unit_by(row, |_| {
                    reads += 1;
                    Some(FILE.to_vec())
                });
                assert!(unit.is_some_and(|unit| unit.ends_with(b".service")));
            }
            reads
        };
        let rows = [row(5, 70), row(6, 70), row(7, 71), row(5, 70)];
        assert_eq!((reads(HYBRID, &rows), reads(V1, &rows)), (2, 3));
        let executed = make!(Task { comm: Comm::new(b"other"), ..rows[0] });
        assert_eq!(reads(V1, &[rows[0], executed]), 2, "systemd moves a process before it executes");
        let mut nothing = Units::default();
        assert!(nothing.units().is_none() && nothing.unit(&rows[0]).is_none());
    }
}
