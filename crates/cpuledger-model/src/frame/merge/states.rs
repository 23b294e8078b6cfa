//! What tasks did off the CPU in two intervals together: where a frame has no row of one, it rested in one state.

use crate::frame::column::{Column, STATES};
use crate::frame::table::{ABSENT, Table};

use super::rows::sum;

/// The figures that time in each state belongs to, in the order of [`Column::OFF_AT_START`].
const RESTS: [&[Column]; 6] = [
    &[Column::WAITING_NS],
    &[Column::SLEEP_NS],
    &[Column::BLOCKED_NS],
    &[Column::BLOCKED_NS, Column::IO_WAIT_NS],
    &[Column::STOPPED_NS],
    &[Column::UNSEEN_NS],
];

/// The times of two neighbours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) earlier_ns: u64,
    pub(super) later_ns: u64,
    /// The cut between them, CLOCK_BOOTTIME; or absent.
    pub(super) between_ns: u64,
}

impl Times {
    /// For how long one was alive in the later interval that was alive at the cut. Absent where the other way round it is not known either: else
    /// the order of merges would count.
    fn alive_later_ns(&self) -> u64 {
        if self.between_ns == ABSENT && self.later_ns > 0 { ABSENT } else { self.later_ns }
    }

    /// For how long one that started then was alive in the earlier interval.
    fn alive_earlier_ns(&self, start_ns: u64) -> u64 {
        if start_ns == ABSENT || self.between_ns == ABSENT {
            return ABSENT;
        }
        self.between_ns.saturating_sub(start_ns).min(self.earlier_ns)
    }
}

/// A row of a table.
pub(super) type Side<'a> = Option<(&'a Table, usize)>;

/// Puts into a row what it did in both intervals.
pub(super) fn merge_states(out: &mut Table, row: usize, earlier: Side<'_>, later: Side<'_>, times: &Times) {
    let read = |(table, row): (&Table, usize)| STATES.map(|column| table.raw(column, row));
    let states = match (earlier, later) {
        (None, None) => return,
        (Some(earlier), Some(later)) => {
            let (earlier, later) = (read(earlier), read(later));
            std::array::from_fn(|figure| sum(earlier[figure], later[figure]))
        }
        (Some(earlier), None) => {
            let rests = Column::OFF_AT_END.map(|column| earlier.0.raw(column, earlier.1));
            add_rest(read(earlier), rests, times.alive_later_ns())
        }
        (None, Some(later)) => {
            let rests = Column::OFF_AT_START.map(|column| later.0.raw(column, later.1));
            let alive_ns = times.alive_earlier_ns(later.0.raw(Column::START_TIME_NS, later.1));
            if alive_ns < times.earlier_ns {
                // It began later than the earlier interval.
                for column in Column::OFF_AT_START {
                    if out.raw(column, row) != ABSENT {
                        out.set_raw(column, row, 0);
                    }
                }
            }
            add_rest(read(later), rests, alive_ns)
        }
    };
    for (column, value) in STATES.into_iter().zip(states) {
        out.set_raw(column, row, value);
    }
}

/// Adds the time in which none of the tasks ran. Where it is not known what they did, nothing is known of the sum.
fn add_rest(mut states: [u64; STATES.len()], rests: [u64; RESTS.len()], ns: u64) -> [u64; STATES.len()] {
    if ns == 0 {
        return states;
    }
    if ns == ABSENT || rests.contains(&ABSENT) {
        return [ABSENT; STATES.len()];
    }
    for (figures, tasks) in RESTS.into_iter().zip(rests) {
        let rested_ns = tasks.saturating_mul(ns).min(ABSENT - 1);
        for (column, state) in STATES.into_iter().zip(&mut states) {
            if column == Column::ELAPSED_NS || figures.contains(&column) {
                *state = sum(*state, rested_ns);
            }
        }
    }
    states
}

/// The wait for a CPU is in the growth of a counter, too: between the cuts, where that is known.
pub(super) fn grow_by_wait(out: &mut Table) {
    let Some(growth) = Column::RUNQUEUE_WAIT_NS.growth() else { return };
    for row in 0..out.len() {
        let waited = out.raw(Column::WAITING_NS, row);
        if waited != ABSENT {
            out.set_raw(growth, row, waited);
        }
    }
}
