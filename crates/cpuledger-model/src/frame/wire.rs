//! What each cgroup sent and received on the wire, as rows of a table.

use crate::frame::column::Column;
use crate::frame::layout::MOST_TEXT_BYTES;
use crate::frame::names::{Names, path_of_two_texts};
use crate::frame::table::Table;
use crate::wire::{Wire, WireCgroup, WireUse};

const MOST: usize = MOST_TEXT_BYTES as usize;

/// In the order of [`WireUse::figures`].
const USED: [Column; 4] = [
    Column::WIRE_SENT_BYTES,
    Column::WIRE_SENT_PACKETS,
    Column::WIRE_RECEIVED_BYTES,
    Column::WIRE_RECEIVED_PACKETS,
];

/// Puts them in the place of all rows, and their paths among the names of the frame. One that is too long for two texts has its first components.
pub(crate) fn write(table: &mut Table, names: &mut Names, wire: &Wire) {
    table.reset(wire.iter().len());
    for (row, cgroup) in wire.iter().enumerate() {
        table.set(Column::CGROUP_ID, row, cgroup.id);
        let path = path_of_two_texts(&cgroup.path).unwrap_or_default();
        let (first, rest) = path.split_at(path.len().min(MOST));
        for (column, text) in [(Column::PATH, first), (Column::PATH_REST, rest)] {
            table.set(column, row, (!text.is_empty()).then(|| names.intern(text).into()));
        }
        for (column, figure) in USED.into_iter().zip(cgroup.used.figures()) {
            table.set(column, row, Some(figure));
        }
    }
}

/// The cgroups of all rows.
pub(crate) fn read(table: &Table, names: &Names) -> Wire {
    Wire::of((0..table.len()).map(|row| {
        let text = |column| table.get(column, row).and_then(|number| names.get(number)).unwrap_or_default();
        let used = WireUse::of(USED.map(|column| table.get(column, row).unwrap_or(0)));
        let path = [text(Column::PATH), text(Column::PATH_REST)].concat();
        WireCgroup { id: table.get(Column::CGROUP_ID, row), path, used }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frame, Section};

    #[test]
    fn what_is_written_is_read() {
        let cgroup = |id, bytes: usize, path: usize| WireCgroup {
            id,
            path: vec![b'p'; path],
            used: WireUse::of([bytes as u64, 2, 3, 4]),
        };
        let all = [
            cgroup(None, 1, 0),
            cgroup(Some(1), 2, 1),
            cgroup(Some(u64::MAX - 1), 3, 0),
            cgroup(Some(7), 4, 510),
            cgroup(Some(8), 5, 511),
        ];
        let mut frame = Frame::new();
        frame.set_wire(&Wire::of(all.clone()));
        let mut bytes = Vec::new();
        frame.encode(&mut bytes).expect("it is short");
        let frame = Frame::decode(&bytes).expect("a frame");
        let mut expected = all;
        // None of its components is known.
        expected[4].path.clear();
        assert_eq!(frame.wire(), Wire::of(expected));
        assert_eq!(frame.table(Section::Wire).len(), 5);
    }
}
