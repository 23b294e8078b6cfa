//! Names by which nothing is called any more: every user can make as many as processes.

use crate::names::Used;

use super::Accumulator;

impl Accumulator {
    /// Forgets such names if all names take more than this. Returns whether they did.
    pub(super) fn forget_names(&mut self, most_bytes: usize) -> bool {
        if self.names.bytes() <= most_bytes {
            return false;
        }
        let mut used = Used::default();
        for (_, table) in &self.tables {
            table.lines.iter().for_each(|(key, _)| used.add(key.comm()));
        }
        self.lineage.iter().for_each(|lineage| lineage.add_used(&mut used));
        // The cgroups of the frame that was added last can be asked for.
        self.paths.values().for_each(|path| used.add(*path));
        self.named.values().flatten().for_each(|key| used.add(key.comm()));
        let comms = self.names.keep(&used);
        self.tables.iter_mut().for_each(|(_, table)| table.rename(|key| key.renumbered(&comms)));
        self.lineage.iter_mut().for_each(|lineage| lineage.renumber(&comms));
        self.paths.values_mut().for_each(|path| *path = comms.of(*path));
        self.named.values_mut().flatten().for_each(|key| *key = key.renumbered(&comms));
        self.within.forget_answers();
        true
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_model::frame::{Column, Frame, Section};

    use crate::names::LEAST_BYTES;
    use crate::{Accumulator, Amounts, Dimension, Instants, Name};

    const ROWS: u64 = 1000;

    /// An interval of a user whose processes all have other names. Each but the first dies in it, and leaves its time to that.
    fn frame(nth: u64) -> Frame {
        let mut frame = Frame::new();
        let shell = frame.intern(b"sh");
        let comms: Vec<u64> = (1..ROWS).map(|row| frame.intern(format!("{nth}-{row}").as_bytes())).collect();
        let table = frame.table_mut(Section::Processes);
        table.reset(1);
        table.set_signed(Column::PID, 0, Some(2));
        table.set(Column::START_TIME_NS, 0, Some(1));
        table.set(Column::COMM, 0, Some(shell));
        table.set(Column::CPU_NS, 0, Some(ROWS));
        table.set(Column::EXITED_CHILDREN_NS, 0, Some(ROWS - 1));
        let table = frame.table_mut(Section::Exited);
        table.reset(comms.len());
        let signed = |number: u64| number.cast_signed();
        table.fill_signed(Column::PID, (1..ROWS).map(|row| Some(signed(row + 2))));
        table.fill_signed(Column::TID, (1..ROWS).map(|row| Some(signed(row + 2))));
        table.fill_signed(Column::ACCOUNTING_PPID, comms.iter().map(|_| Some(2)));
        table.fill(Column::ACCOUNTING_START_NS, comms.iter().map(|_| Some(1)));
        table.fill(Column::START_TIME_NS, (1..ROWS).map(|row| Some(nth * ROWS + row)));
        table.fill(Column::COMM, comms.iter().copied().map(Some));
        table.fill(Column::CPU_NS, comms.iter().map(|_| Some(1)));
        table.fill(Column::ENDS_PROCESS, comms.iter().map(|_| Some(1)));
        frame.set_figure(Column::CAPACITY_NS, Some(ROWS));
        frame.set_figure(Column::ATTRIBUTED_NS, Some(ROWS));
        frame
    }

    fn when(nth: u64) -> Instants {
        Instants { start_realtime_ns: nth, end_realtime_ns: nth + 1 }
    }

    const BY: [Dimension; 3] = [Dimension::Command, Dimension::Process, Dimension::Ancestor];

    #[test]
    fn names_take_no_more_than_what_is_told_apart_and_no_time_is_lost() {
        let intervals = 400;
        let mut accumulator = Accumulator::new(&BY);
        for nth in 0..intervals {
            accumulator.add(&frame(nth), when(nth));
            assert!(accumulator.names.bytes() < 3 * LEAST_BYTES, "{}", accumulator.names.bytes());
        }
        for by in BY {
            let report = accumulator.report(by, 10);
            assert_eq!(report.total().self_ns, intervals * ROWS, "{by:?}");
            let shell = |name: &Name| match name {
                Name::Text(text) => text == b"sh",
                Name::Process { comm, .. } => comm.as_deref() == Some(b"sh"),
                Name::Path(names) => names[..] == [Some(b"sh".to_vec())],
                _ => false,
            };
            let of_shell = report.rows.iter().find(|row| shell(&row.name)).expect("it has most of all");
            assert!(of_shell.amounts.self_ns >= intervals, "{by:?}: {of_shell:?}");
        }
        accumulator.begin_again();
        assert!(accumulator.names.bytes() < 1000, "{}", accumulator.names.bytes());
        accumulator.add(&frame(0), when(0));
        assert_eq!(accumulator.report(Dimension::Command, 1).total(), {
            let mut fresh = Accumulator::new(&BY);
            fresh.add(&frame(0), when(0));
            fresh.report(Dimension::Command, 1).total()
        });
    }

    /// Which names are forgotten does not change what others have.
    #[test]
    fn reports_are_the_same_whenever_names_are_forgotten() {
        let [mut often, mut never] = [(); 2].map(|()| Accumulator::new(&BY));
        for nth in 0..8 {
            for accumulator in [&mut often, &mut never] {
                accumulator.add(&frame(nth % 5), when(nth));
            }
            often.forget_names(0);
        }
        let mut both = often.clone();
        both.merge(often.clone());
        for by in BY {
            assert_eq!(often.report(by, usize::MAX), never.report(by, usize::MAX));
            let twice: Amounts = both.report(by, usize::MAX).total();
            assert_eq!(twice.self_ns, 2 * never.report(by, usize::MAX).total().self_ns);
        }
    }
}
