//! What the cgroup of a row is called: path, unit, container, image and pod.

use std::borrow::Cow;

use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_model::framing::{self, CgroupIds, CgroupNames};
use cpuledger_proc::task::units::unit_or_slice;
use rustc_hash::FxHashMap;

use crate::schema::Table;

/// The cgroups of a frame, for one of its tables.
#[derive(Debug, Default)]
pub(crate) struct Cgroups {
    names: FxHashMap<CgroupIds, CgroupNames>,
    /// Whether rows of processes tell their units, as the paths of their cgroups do not.
    has_units: bool,
    /// For each row of the dead: the row of a living process that is taken for where it was, if its own record does not tell it.
    stand_ins: Vec<Option<usize>>,
}

impl Cgroups {
    /// None for a table whose rows are in no cgroup.
    pub(crate) fn of(frame: &Frame, table: Table) -> Cgroups {
        if table.section() == Section::Interval {
            return Cgroups::default();
        }
        let processes = frame.table(Section::Processes);
        let units = processes.cells(Column::UNIT);
        let has_units = (0..processes.len()).any(|row| units.get(row).is_some());
        let names = framing::cgroups(frame).into_iter().collect();
        let stand_ins = if table.section() == Section::Exited { stand_ins(frame) } else { Vec::new() };
        Cgroups { names, has_units, stand_ins }
    }

    /// A name of a row, as the column of cgroups has it; `None`: it has none, or it is not known.
    pub(crate) fn name(
        &self,
        frame: &Frame,
        section: Section,
        row: usize,
        column: Column,
    ) -> Option<Cow<'_, [u8]>> {
        let own = ids(frame, section, row);
        let tells_it = own != (None, None) && !(self.has_units && column == Column::UNIT);
        let found = if section == Section::Processes {
            self.of_process(frame, row, column)
        } else if tells_it {
            self.of_cgroup(own, column)
        } else {
            self.of_process(frame, (*self.stand_ins.get(row)?)?, column)
        };
        found.filter(|name| !name.is_empty())
    }

    fn of_process(&self, frame: &Frame, row: usize, column: Column) -> Option<Cow<'_, [u8]>> {
        if column == Column::UNIT
            && let Some(unit) = frame.text_of(Section::Processes, Column::UNIT, row)
        {
            return Some(Cow::Owned(unit.to_vec()));
        }
        self.of_cgroup(ids(frame, Section::Processes, row), column)
    }

    /// A container without a name goes by its id.
    fn of_cgroup(&self, ids: CgroupIds, column: Column) -> Option<Cow<'_, [u8]>> {
        let names = self.names.get(&ids)?;
        Some(Cow::Borrowed(match column {
            Column::PATH => &names.path,
            Column::UNIT => unit_or_slice(&names.path),
            Column::CONTAINER => names.container_label(),
            Column::CONTAINER_ID => &names.container_id,
            Column::NAMELESS => names.nameless?.words().as_bytes(),
            Column::IMAGE => &names.image,
            Column::POD => &names.pod,
            _ => &names.namespace,
        }))
    }
}

fn ids(frame: &Frame, section: Section, row: usize) -> CgroupIds {
    let table = frame.table(section);
    (table.get(Column::CGROUP_ID, row), table.get(Column::CGROUP_V1_CPU_ID, row))
}

/// A process: its pid and its start, where that is known.
type Id = (i64, Option<u64>);

/// For each of the dead the row of its process or, if that died too, of the first heir that lives.
fn stand_ins(frame: &Frame) -> Vec<Option<usize>> {
    let (living, dead) = (frame.table(Section::Processes), frame.table(Section::Exited));
    let mut rows: FxHashMap<i64, (usize, Option<u64>)> = FxHashMap::default();
    for row in 0..living.len() {
        if let Some(pid) = living.get_signed(Column::PID, row) {
            rows.insert(pid, (row, living.get(Column::START_TIME_NS, row)));
        }
    }
    let row_of = |(pid, start): Id| {
        let (row, own) = rows.get(&pid)?;
        (start.is_none() || own.is_none() || start == *own).then_some(*row)
    };
    // Who inherits from one dies after it, and comes behind it: so that one is known already.
    let (mut found, mut of_dead) = (vec![None; dead.len()], FxHashMap::default());
    for record in (0..dead.len()).rev() {
        let id = |pid, start| Some((dead.get_signed(pid, record)?, dead.get(start, record)));
        let own: Option<Id> = id(Column::PID, Column::PROCESS_START_NS);
        let heir: Option<Id> = id(Column::ACCOUNTING_PPID, Column::ACCOUNTING_START_NS);
        let above = || row_of(heir?).or_else(|| of_dead.get(&heir?).copied().flatten());
        found[record] = own.and_then(row_of).or_else(above);
        if let Some(own) = own {
            of_dead.insert(own, found[record]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two services, a child of the first that died, a child of that which died before, and one whose heir is not there.
    fn frame(has_ids: bool, has_units: bool) -> Frame {
        let mut frame = Frame::new();
        let paths: [&[u8]; 2] = [b"/system.slice/a.service", b"/kubepods.slice/x/b"];
        let cgroups = paths.map(CgroupNames::of_path);
        let ids = |number: u64| (Some(number), None);
        framing::write_cgroups(&mut frame, &[(ids(1), &cgroups[0]), (ids(2), &cgroups[1])]);
        let unit = has_units.then(|| frame.intern(b"other.service"));
        let table = frame.table_mut(Section::Processes);
        table.reset(2);
        table.fill_signed(Column::PID, [Some(10), Some(20)]);
        table.fill(Column::START_TIME_NS, [Some(1000), Some(2000)]);
        table.fill(Column::CGROUP_ID, [Some(1), Some(2)]);
        table.fill(Column::UNIT, [unit, None]);
        let table = frame.table_mut(Section::Exited);
        table.reset(4);
        table.fill_signed(Column::PID, [Some(12), Some(11), Some(13), Some(20)]);
        table.fill(Column::PROCESS_START_NS, [Some(1200), Some(1100), Some(1300), Some(2000)]);
        table.fill_signed(Column::ACCOUNTING_PPID, [Some(11), Some(10), Some(10), Some(10)]);
        // The third had another heir of that pid.
        table.fill(Column::ACCOUNTING_START_NS, [Some(1100), Some(1000), Some(9), Some(1000)]);
        table.fill(Column::CGROUP_ID, (0..4).map(|_| has_ids.then_some(2)));
        frame
    }

    fn names(frame: &Frame, table: Table, column: Column) -> Vec<String> {
        let (cgroups, section) = (Cgroups::of(frame, table), table.section());
        let name = |row| cgroups.name(frame, section, row, column).map(|name| name.into_owned());
        let text = |name: Vec<u8>| String::from_utf8(name).expect("ASCII");
        let rows = 0..frame.table(section).len();
        rows.map(|row| name(row).map_or("-".to_owned(), text)).collect()
    }

    #[test]
    fn the_path_of_a_cgroup_tells_the_unit_unless_the_row_does() {
        let names = |has_units, table| names(&frame(true, has_units), table, Column::UNIT);
        assert_eq!(names(false, Table::Usage), ["a.service", "kubepods.slice"]);
        assert_eq!(names(true, Table::Usage), ["other.service", "kubepods.slice"]);
        assert_eq!(names(false, Table::Exited), ["kubepods.slice"; 4]);
    }

    #[test]
    fn the_dead_are_where_their_process_or_the_first_living_heir_is_if_they_do_not_tell_it() {
        let frame = frame(false, false);
        let expected = ["a.service", "a.service", "-", "kubepods.slice"];
        assert_eq!(names(&frame, Table::Exited, Column::UNIT), expected);
        let expected = ["/system.slice/a.service", "/system.slice/a.service", "-", "/kubepods.slice/x/b"];
        assert_eq!(names(&frame, Table::Exited, Column::PATH), expected);
        let told = super::tests::frame(true, true);
        let expected = ["other.service", "other.service", "-", "kubepods.slice"];
        assert_eq!(names(&told, Table::Exited, Column::UNIT), expected);
    }
}
