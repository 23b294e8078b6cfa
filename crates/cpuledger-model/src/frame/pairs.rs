//! Which cgroup made which wait, as rows of a table. Who waited has the columns of any cgroup.

use crate::frame::column::Column;
use crate::frame::table::Table;
use crate::pairs::{Party, WaitPair, WaitPairs};

/// Parties that are no tasks; their numbers, from 1 on, never change.
const CAUSES: [Party; 4] = [Party::Idle, Party::Quota, Party::Interrupts, Party::Stolen];

/// Their columns, and that of the interval that says whether they are known.
pub(crate) const COLUMNS: [Column; 7] = [
    Column::KNOWS_PAIRS,
    Column::CAUSE,
    Column::BY_CGROUP_ID,
    Column::BY_CGROUP_V1_CPU_ID,
    Column::CGROUP_ID,
    Column::CGROUP_V1_CPU_ID,
    Column::PAIR_WAITED_NS,
];

/// Puts them in the place of all rows.
pub(crate) fn write(table: &mut Table, pairs: &WaitPairs) {
    table.reset(pairs.iter().len());
    for (row, WaitPair { by, of, ns }) in pairs.iter().enumerate() {
        let ids = |party: &Party| if let Party::Cgroup(ids) = party { *ids } else { (None, None) };
        let cause = (1..).zip(CAUSES).find(|(_, cause)| cause == by).map(|(number, _)| number);
        let values = [
            (Column::CAUSE, cause),
            (Column::BY_CGROUP_ID, ids(by).0),
            (Column::BY_CGROUP_V1_CPU_ID, ids(by).1),
            (Column::CGROUP_ID, ids(of).0),
            (Column::CGROUP_V1_CPU_ID, ids(of).1),
            (Column::PAIR_WAITED_NS, Some(*ns)),
        ];
        for (column, value) in values {
            table.set(column, row, value);
        }
    }
}

/// The pairs of all rows. A cause that is not known here is among the others.
pub(crate) fn read(table: &Table) -> WaitPairs {
    let party = |columns: [Column; 2], row| match columns.map(|column| table.get(column, row)) {
        [None, None] => Party::Other,
        [id, v1_cpu_id] => Party::Cgroup((id, v1_cpu_id)),
    };
    WaitPairs::of((0..table.len()).map(|row| {
        let cause = table.get(Column::CAUSE, row).and_then(|number| number.checked_sub(1));
        let cause = cause.and_then(|place| CAUSES.get(usize::try_from(place).ok()?).copied());
        WaitPair {
            by: cause.unwrap_or_else(|| party([Column::BY_CGROUP_ID, Column::BY_CGROUP_V1_CPU_ID], row)),
            of: party([Column::CGROUP_ID, Column::CGROUP_V1_CPU_ID], row),
            ns: table.get(Column::PAIR_WAITED_NS, row).unwrap_or(0),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frame, Section};

    fn pairs() -> WaitPairs {
        let (web, backup) = (Party::Cgroup((Some(7), Some(0))), Party::Cgroup((Some(9), Some(3))));
        let others = CAUSES.into_iter().chain([Party::Other, web]);
        let rows = (1..).zip(others).map(|(ns, by)| WaitPair { by, of: web, ns });
        WaitPairs::of(rows.chain([
            WaitPair { by: web, of: Party::Other, ns: 40 },
            WaitPair { by: backup, of: web, ns: 312_000_000 },
        ]))
    }

    #[test]
    fn what_is_written_is_read() {
        let mut frame = Frame::new();
        write(frame.table_mut(Section::Pairs), &pairs());
        let mut bytes = Vec::new();
        frame.encode(&mut bytes).expect("it is short");
        let frame = Frame::decode(&bytes).expect("a frame");
        assert_eq!(read(frame.table(Section::Pairs)), pairs());
        // Of a newer version.
        let mut frame = frame;
        let table = frame.table_mut(Section::Pairs);
        (0..table.len()).for_each(|row| table.set(Column::CAUSE, row, Some(99)));
        let sum_ns = pairs().sum_ns();
        assert_eq!(read(frame.table(Section::Pairs)).sum_ns(), sum_ns);
    }
}
