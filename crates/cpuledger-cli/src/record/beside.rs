//! What is recorded beside the rows of an interval: paths of their cgroups, units of systemd where these do not say them, and names of
//! ancestors that have no row. All are read while they are there.

use std::collections::HashSet;

use cpuledger::framing::{self, Ancestor, CgroupIds};
use cpuledger::{Boottime, Comm, Field, FieldSet, Pid, Task, Tid};
use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_names::ancestors::Ancestors;
use cpuledger_names::cgroups::{self, Cgroups};
use cpuledger_names::systemd::Units;
use rustc_hash::FxHashSet;

/// Ancestors of a frame; what is beyond them is left out.
const MOST_ANCESTORS: usize = 4_096;

/// What is remembered from frame to frame.
#[derive(Debug)]
pub struct Beside {
    cgroups: Cgroups,
    units: Units,
    ancestors: Ancestors,
}

impl Default for Beside {
    fn default() -> Beside {
        Beside { cgroups: Cgroups::default(), units: Units::new(), ancestors: Ancestors::default() }
    }
}

impl Beside {
    /// Adds to a frame what is beside its rows.
    pub fn tell(&mut self, frame: &mut Frame) {
        self.tell_cgroups(frame);
        self.tell_units(frame);
        self.tell_ancestors(frame);
    }

    fn tell_cgroups(&mut self, frame: &mut Frame) {
        self.cgroups.begin();
        let mut told: FxHashSet<CgroupIds> = FxHashSet::default();
        for row in 0..frame.table(Section::Processes).len() {
            let task = task_of(frame, row);
            self.cgroups.learn(&task);
            told.extend(cgroups::key(&task));
        }
        let paths = self.cgroups.paths();
        let mut paths: Vec<(CgroupIds, &[u8])> =
            told.iter().filter_map(|ids| Some((*ids, paths.get(ids)?.as_bytes()))).collect();
        paths.sort_unstable();
        framing::write_cgroups(frame, &paths);
    }

    fn tell_units(&mut self, frame: &mut Frame) {
        if !self.units.begin() {
            return;
        }
        for row in 0..frame.table(Section::Processes).len() {
            let comm = frame.text_of(Section::Processes, Column::COMM, row).unwrap_or_default();
            let task = Task { comm: Comm::new(comm), ..task_of(frame, row) };
            let unit = frame.intern(self.units.unit(&task));
            frame.table_mut(Section::Processes).set(Column::UNIT, row, Some(unit));
        }
    }

    fn tell_ancestors(&mut self, frame: &mut Frame) {
        self.ancestors.begin();
        let processes = frame.table(Section::Processes);
        let signed = |section: Section, column, row| frame.table(section).get_signed(column, row);
        let mut known: HashSet<i64> =
            (0..processes.len()).filter_map(|row| signed(Section::Processes, Column::TID, row)).collect();
        let mut wanted: Vec<i64> = Vec::new();
        for section in [Section::Processes, Section::Exited] {
            for row in 0..frame.table(section).len() {
                let heir = signed(section, Column::ACCOUNTING_PPID, row);
                wanted.extend(heir.or_else(|| signed(section, Column::PPID, row)));
            }
        }
        let mut found: Vec<Ancestor> = Vec::new();
        while let Some(pid) = wanted.pop()
            && found.len() < MOST_ANCESTORS
        {
            if pid > 0
                && known.insert(pid)
                && let Ok(pid) = i32::try_from(pid)
                && let Some(ancestor) = self.ancestors.find(Pid(pid))
            {
                wanted.push(ancestor.ppid.0.into());
                found.push(ancestor.clone());
            }
        }
        found.sort_unstable_by_key(|ancestor| ancestor.pid);
        framing::write_ancestors(frame, &found);
    }
}

/// What of a row says which task and which cgroup it is.
fn task_of(frame: &Frame, row: usize) -> Task {
    let table = frame.table(Section::Processes);
    let tid = table.get_signed(Column::TID, row).and_then(|tid| i32::try_from(tid).ok()).unwrap_or(0);
    let start_ns = table.get(Column::START_TIME_NS, row);
    let (unified, of_cpu) = (table.get(Column::CGROUP_ID, row), table.get(Column::CGROUP_V1_CPU_ID, row));
    let known = [(Field::CgroupId, unified), (Field::CgroupV1CpuId, of_cpu)]
        .into_iter()
        .filter(|(_, number)| number.is_some())
        .fold(FieldSet::EMPTY, |known, (field, _)| known.union(FieldSet::of(&[field])));
    Task {
        known,
        tid: Tid(tid),
        pid: Pid(tid),
        start_time_ns: Boottime::from_ns(start_ns.unwrap_or(0)),
        cgroup_id: unified.unwrap_or(0),
        cgroup_v1_cpu_id: of_cpu.unwrap_or(0),
        ..Task::default()
    }
}
