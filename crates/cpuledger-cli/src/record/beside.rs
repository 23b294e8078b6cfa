//! What is recorded beside the rows of an interval: paths and names of their cgroups, units of systemd where these do not say them, and
//! names of ancestors that have no row. All are read while they are there.

use std::collections::HashSet;

use cpuledger::framing::{self, Ancestor, CgroupIds, CgroupNames};
use cpuledger::{Boottime, Comm, Field, FieldSet, Pid, Task, Tid};
use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_model::make;
use cpuledger_names::ancestors::Ancestors;
use cpuledger_names::named::Namer;
use cpuledger_names::watch::Watch;

/// Ancestors of a frame; what is beyond them is left out.
const MOST_ANCESTORS: usize = 4_096;

/// What is remembered from frame to frame.
#[derive(Debug)]
pub struct Beside {
    namer: Namer,
    ancestors: Ancestors,
}

impl Default for Beside {
    fn default() -> Beside {
        Beside { namer: Namer::watched(), ancestors: Ancestors::default() }
    }
}

impl Beside {
    /// Adds to a frame what is beside its rows.
    pub fn tell(&mut self, frame: &mut Frame) {
        self.namer.begin();
        self.tell_cgroups(frame);
        self.tell_units(frame);
        self.tell_ancestors(frame);
    }

    fn tell_cgroups(&mut self, frame: &mut Frame) {
        for row in 0..frame.table(Section::Processes).len() {
            self.namer.learn(&task_of(frame, row));
        }
        let ids = cgroups_of(frame);
        ids.iter().for_each(|ids| self.namer.learn_of_dead(*ids));
        let names = self.namer.cgroups();
        let cgroups: Vec<(CgroupIds, &CgroupNames)> =
            ids.into_iter().filter_map(|ids| Some((ids, names.get(&ids)?))).collect();
        framing::write_cgroups(frame, &cgroups);
    }

    fn tell_units(&mut self, frame: &mut Frame) {
        for row in 0..frame.table(Section::Processes).len() {
            let task = task_of(frame, row);
            let Some(unit) = self.namer.unit_beside(&task) else { return };
            let unit = frame.intern(unit);
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

/// Adds to a frame what its cgroups are called, as far as the watch of this process knows it: no file is read.
pub fn tell_watched(frame: &mut Frame) {
    let Some(watch) = Watch::shared() else { return };
    let found = cgroups_of(frame).into_iter().filter_map(|ids| Some((ids, watch.find(&ids)?)));
    let found: Vec<(CgroupIds, CgroupNames)> = found.collect();
    let cgroups: Vec<(CgroupIds, &CgroupNames)> = found.iter().map(|(ids, names)| (*ids, names)).collect();
    framing::write_cgroups(frame, &cgroups);
}

/// The cgroups of processes, living or dead, and of those that made another wait, in the order of their numbers.
fn cgroups_of(frame: &Frame) -> Vec<CgroupIds> {
    let mut all: Vec<CgroupIds> = Vec::new();
    for section in [Section::Processes, Section::Exited] {
        let table = frame.table(section);
        let (unified, of_cpu) = (table.cells(Column::CGROUP_ID), table.cells(Column::CGROUP_V1_CPU_ID));
        all.extend((0..table.len()).map(|row| (unified.get(row), of_cpu.get(row))));
    }
    let pairs = frame.table(Section::Pairs);
    for columns in
        [[Column::CGROUP_ID, Column::CGROUP_V1_CPU_ID], [Column::BY_CGROUP_ID, Column::BY_CGROUP_V1_CPU_ID]]
    {
        let [unified, of_cpu] = columns.map(|column| pairs.cells(column));
        all.extend((0..pairs.len()).map(|row| (unified.get(row), of_cpu.get(row))));
    }
    all.sort_unstable();
    all.dedup();
    all.retain(|ids| *ids != (None, None));
    all
}

/// What of a row says which task and which cgroup it is.
fn task_of(frame: &Frame, row: usize) -> Task {
    let table = frame.table(Section::Processes);
    let comm = frame.text_of(Section::Processes, Column::COMM, row).unwrap_or_default();
    let tid = table.get_signed(Column::TID, row).and_then(|tid| i32::try_from(tid).ok()).unwrap_or(0);
    let start_ns = table.get(Column::START_TIME_NS, row);
    let (unified, of_cpu) = (table.get(Column::CGROUP_ID, row), table.get(Column::CGROUP_V1_CPU_ID, row));
    let known = [(Field::CgroupId, unified), (Field::CgroupV1CpuId, of_cpu)]
        .into_iter()
        .filter(|(_, number)| number.is_some())
        .fold(FieldSet::EMPTY, |known, (field, _)| known.union(FieldSet::of(&[field])));
    make!(Task {
        known,
        tid: Tid(tid),
        pid: Pid(tid),
        comm: Comm::new(comm),
        start_time_ns: Boottime::from_ns(start_ns.unwrap_or(0)),
        cgroup_id: unified.unwrap_or(0),
        cgroup_v1_cpu_id: of_cpu.unwrap_or(0),
    })
}
