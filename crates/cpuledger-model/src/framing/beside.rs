//! What a frame of a recording tells beside its rows: paths of their cgroups, and names of ancestors that have no row.

use crate::frame::{Column, Frame, MOST_TEXT_BYTES, Section, path_of_two_texts};

use crate::boottime::Boottime;
use crate::task::{Comm, Pid, TaskId, Tid};

use super::cgroup::{CgroupNames, Nameless};

pub use crate::pairs::CgroupIds;

/// The unit of a row of processes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowUnit {
    /// The numbers of its cgroup.
    pub cgroup: CgroupIds,
    /// Which task.
    pub task: TaskId,
    /// Its name.
    pub comm: Comm,
    /// Its unit of systemd or, of what is in none, its slice; empty: it is not known.
    pub unit: Vec<u8>,
}

/// A living process without a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ancestor {
    /// Which.
    pub pid: Pid,
    /// Its start, rounded down to a tick.
    pub start: Boottime,
    /// Its parent.
    pub ppid: Pid,
    /// Its name.
    pub comm: Vec<u8>,
}

/// The columns of the names of a cgroup, and why it has none.
pub const NAME_COLUMNS: [Column; 6] = [
    Column::CONTAINER,
    Column::CONTAINER_ID,
    Column::IMAGE,
    Column::POD,
    Column::NAMESPACE,
    Column::NAMELESS,
];

/// Those of names, in the order of [`CgroupNames::names`].
const NAMES: [Column; 5] = *NAME_COLUMNS.first_chunk().expect("there are more");

/// Puts cgroups in the place of those that the frame has. A path that is too long for two texts has its first components; a name is cut.
pub fn write_cgroups<'a>(frame: &mut Frame, cgroups: &[(CgroupIds, &'a CgroupNames)]) {
    const MOST: usize = MOST_TEXT_BYTES as usize;
    let with_path =
        |(ids, names): &(CgroupIds, &'a CgroupNames)| Some((*ids, path_of_two_texts(&names.path)?, *names));
    let cgroups: Vec<_> = cgroups.iter().filter_map(with_path).collect();
    let table = frame.table_mut(Section::Cgroups);
    table.reset(cgroups.len());
    for (row, ((unified, of_cpu), _, names)) in cgroups.iter().enumerate() {
        table.set(Column::CGROUP_ID, row, *unified);
        table.set(Column::CGROUP_V1_CPU_ID, row, *of_cpu);
        table.set(Column::NAMELESS, row, names.nameless.map(|why| u64::from(why as u8)));
    }
    for (row, (_, path, names)) in cgroups.iter().enumerate() {
        let (first, rest) = path.split_at(path.len().min(MOST));
        let number = frame.intern(first);
        let rest = (!rest.is_empty()).then(|| frame.intern(rest));
        let table = frame.table_mut(Section::Cgroups);
        table.set(Column::PATH, row, Some(number));
        table.set(Column::PATH_REST, row, rest);
        for (column, name) in NAMES.into_iter().zip(names.names()) {
            let number = (!name.is_empty()).then(|| frame.intern(&name[..name.len().min(MOST)]));
            frame.table_mut(Section::Cgroups).set(column, row, number);
        }
    }
}

/// The cgroups.
pub fn cgroups(frame: &Frame) -> Vec<(CgroupIds, CgroupNames)> {
    let table = frame.table(Section::Cgroups);
    let text = |column, row| frame.text_of(Section::Cgroups, column, row);
    let one = |row| {
        let ids = (table.get(Column::CGROUP_ID, row), table.get(Column::CGROUP_V1_CPU_ID, row));
        let path = [text(Column::PATH, row)?, text(Column::PATH_REST, row).unwrap_or_default()].concat();
        let nameless = table.get(Column::NAMELESS, row).and_then(Nameless::by_number);
        let mut names = CgroupNames { path, nameless, ..CgroupNames::default() };
        for (column, name) in NAMES.into_iter().zip(names.names_mut()) {
            text(column, row).unwrap_or_default().clone_into(name);
        }
        Some((ids, names.or_by_path()))
    };
    (0..table.len()).filter_map(one).collect()
}

/// The units of rows of processes, where the frame tells them.
pub fn units(frame: &Frame) -> Vec<RowUnit> {
    let table = frame.table(Section::Processes);
    let text = |column, row| frame.text_of(Section::Processes, column, row);
    let one = |row| {
        let unit = text(Column::UNIT, row)?.to_vec();
        let tid = i32::try_from(table.get_signed(Column::TID, row)?).ok()?;
        let start = table.get(Column::START_TIME_NS, row).unwrap_or_default();
        Some(RowUnit {
            cgroup: (table.get(Column::CGROUP_ID, row), table.get(Column::CGROUP_V1_CPU_ID, row)),
            task: TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(start) },
            comm: Comm::new(text(Column::COMM, row).unwrap_or_default()),
            unit,
        })
    };
    (0..table.len()).filter_map(one).collect()
}

/// Puts ancestors in the place of those that the frame has.
pub fn write_ancestors(frame: &mut Frame, ancestors: &[Ancestor]) {
    frame.table_mut(Section::Ancestors).reset(ancestors.len());
    for (row, ancestor) in ancestors.iter().enumerate() {
        let comm = frame.intern(&ancestor.comm);
        let table = frame.table_mut(Section::Ancestors);
        table.set_signed(Column::TID, row, Some(ancestor.pid.0.into()));
        table.set_signed(Column::PPID, row, Some(ancestor.ppid.0.into()));
        table.set(Column::START_TIME_NS, row, Some(ancestor.start.ns()));
        table.set(Column::COMM, row, Some(comm));
    }
}

/// The ancestors.
pub fn ancestors(frame: &Frame) -> Vec<Ancestor> {
    let table = frame.table(Section::Ancestors);
    let pid = |column, row| Some(Pid(i32::try_from(table.get_signed(column, row)?).ok()?));
    let one = |row| {
        Some(Ancestor {
            pid: pid(Column::TID, row)?,
            start: Boottime::from_ns(table.get(Column::START_TIME_NS, row).unwrap_or_default()),
            ppid: pid(Column::PPID, row)?,
            comm: frame.text_of(Section::Ancestors, Column::COMM, row)?.to_vec(),
        })
    };
    (0..table.len()).filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use cpuledger_proc::task::units::unit_or_slice;

    use super::*;

    #[test]
    fn paths_are_told_whole_or_not_at_all() {
        let cgroups: Vec<(CgroupIds, CgroupNames)> = [4, 255, 256, 510, 511]
            .iter()
            .zip(1..)
            .map(|(length, number)| {
                let path = [b"/", &vec![b'x'; length - 1][..]].concat();
                ((Some(number), (number % 2 == 0).then_some(7)), CgroupNames::of_path(&path))
            })
            .collect();
        assert_eq!(written_and_read(&cgroups), cgroups[..4]);
    }

    #[test]
    fn a_long_path_keeps_its_first_components_and_so_its_unit() {
        let deep = "/sub".repeat(200);
        let path = format!("/system.slice/web.service{deep}");
        let read = written_and_read(&[((Some(1), None), CgroupNames::of_path(path.as_bytes()))]);
        let kept = &read[0].1.path;
        // As many as there is room for.
        assert_eq!(kept.len(), 509);
        assert_eq!(unit_or_slice(kept), b"web.service");
        let (first, cut) = kept.split_at(kept.len() - 4);
        assert!(path.as_bytes().starts_with(first) && cut == b"/...", "{read:?}");
        assert_eq!(path.as_bytes()[first.len()], b'/');
    }

    #[test]
    fn names_are_told_with_their_cgroup() {
        let text = |text: &str| text.as_bytes().to_vec();
        let whole = CgroupNames {
            path: text("/docker/1"),
            container: text("web"),
            container_id: text("1"),
            image: text("nginx"),
            pod: text("shop"),
            namespace: text("prod"),
            nameless: None,
        };
        let long = CgroupNames { image: vec![b'i'; 300], ..CgroupNames::of_path(b"/b") };
        let nameless =
            Nameless::ALL.map(|why| CgroupNames { nameless: Some(why), ..CgroupNames::of_path(b"/c") });
        let told: Vec<(CgroupIds, CgroupNames)> =
            (1..).map(|number| (Some(number), None)).zip([whole, long].into_iter().chain(nameless)).collect();
        let mut expected = told.clone();
        expected[1].1.image.truncate(255);
        assert_eq!(written_and_read(&told), expected);
    }

    #[test]
    fn a_container_without_recorded_names_has_its_id() {
        let id = "6e14acd5d53af25b7e81e956059cc98f2c865add891f1d7d30dbf4ab9acd55f7";
        let old = CgroupNames::of_path(format!("/machine.slice/libpod-{id}.scope").as_bytes());
        let read = written_and_read(&[((Some(1), None), old)]);
        assert_eq!(
            (&*read[0].1.container_id, read[0].1.nameless),
            (id.as_bytes(), Some(Nameless::NotRecorded))
        );
        assert_eq!(read[0].1.container_label(), b"6e14acd5d53a");
    }

    fn written_and_read(cgroups: &[(CgroupIds, CgroupNames)]) -> Vec<(CgroupIds, CgroupNames)> {
        let told: Vec<(CgroupIds, &CgroupNames)> = cgroups.iter().map(|(ids, names)| (*ids, names)).collect();
        let (mut frame, mut bytes) = (Frame::new(), Vec::new());
        write_cgroups(&mut frame, &told);
        frame.encode(&mut bytes).expect("it is short");
        super::cgroups(&Frame::decode(&bytes).expect("a frame"))
    }
}
