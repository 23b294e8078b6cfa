//! What a frame of a recording tells beside its rows: paths of their cgroups, and names of ancestors that have no row.

use crate::frame::{Column, Frame, MOST_TEXT_BYTES, Section};

use crate::boottime::Boottime;
use crate::task::Pid;

/// The numbers of a cgroup: in the unified hierarchy and in that of the cpu controller.
pub type CgroupIds = (Option<u64>, Option<u64>);

/// A living process without a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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

/// Puts the paths of cgroups in the place of those that the frame has. What is too long for two texts is left out.
pub fn write_cgroups(frame: &mut Frame, paths: &[(CgroupIds, &[u8])]) {
    const MOST: usize = MOST_TEXT_BYTES as usize;
    let paths: Vec<_> = paths.iter().filter(|(_, path)| path.len() <= 2 * MOST).collect();
    let table = frame.table_mut(Section::Cgroups);
    table.reset(paths.len());
    for (row, ((unified, of_cpu), _)) in paths.iter().enumerate() {
        table.set(Column::CGROUP_ID, row, *unified);
        table.set(Column::CGROUP_V1_CPU_ID, row, *of_cpu);
    }
    for (row, (_, path)) in paths.iter().enumerate() {
        let (first, rest) = path.split_at(path.len().min(MOST));
        let number = frame.intern(first);
        let rest = (!rest.is_empty()).then(|| frame.intern(rest));
        let table = frame.table_mut(Section::Cgroups);
        table.set(Column::PATH, row, Some(number));
        table.set(Column::PATH_REST, row, rest);
    }
}

/// The paths of cgroups.
pub fn cgroups(frame: &Frame) -> Vec<(CgroupIds, Vec<u8>)> {
    let table = frame.table(Section::Cgroups);
    let text = |column, row| frame.text_of(Section::Cgroups, column, row);
    let one = |row| {
        let ids = (table.get(Column::CGROUP_ID, row), table.get(Column::CGROUP_V1_CPU_ID, row));
        let path = [text(Column::PATH, row)?, text(Column::PATH_REST, row).unwrap_or_default()].concat();
        Some((ids, path))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_whole_or_not_at_all() {
        let paths: Vec<Vec<u8>> =
            [4, 255, 256, 510, 511].map(|length| [b"/", &vec![b'x'; length - 1][..]].concat()).to_vec();
        let told: Vec<(CgroupIds, &[u8])> = paths
            .iter()
            .zip(1..)
            .map(|(path, number)| ((Some(number), (number % 2 == 0).then_some(7)), &path[..]))
            .collect();
        let (mut frame, mut bytes) = (Frame::new(), Vec::new());
        write_cgroups(&mut frame, &told);
        frame.encode(&mut bytes).expect("it is short");
        let read = cgroups(&Frame::decode(&bytes).expect("a frame"));
        let read: Vec<(CgroupIds, &[u8])> = read.iter().map(|(ids, path)| (*ids, &path[..])).collect();
        assert_eq!(read, told[..4]);
    }
}
