//! Ways through time, and what the screen shows of where it is.

use cpuledger::Interval;
use cpuledger_program::when::Named;

/// A way through time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Travel {
    /// By this number of intervals.
    Step(i64),
    /// To the first interval.
    First,
    /// To the last interval or, where intervals go on, to that of now.
    Last,
    /// To the interval of this instant; `10m ago` counts from the interval that is shown.
    Jump(Named),
    /// To the next interval that has a row which matches this filter.
    Find(String),
    /// Play, or pause.
    Play,
    /// Play faster or slower: by this power of two.
    Speed(i32),
}

/// What is known of an interval on the time line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// The share of the machine that was used, in thousandths.
    Used(u32),
    /// There are no books of it.
    Gap,
}

impl Cell {
    /// What the time line shows of an interval.
    pub fn of(interval: &Interval) -> Cell {
        let capacity_ns = interval.capacity_ns.max(1);
        if interval.unattributed_by.not_attached_ns >= capacity_ns {
            return Cell::Gap;
        }
        Cell::Used((u128::from(interval.attributed_ns) * 1000 / u128::from(capacity_ns)).min(1000) as u32)
    }
}

/// Where the screen is in time, unless it shows what comes from the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strip {
    /// The day and the time, and how it plays.
    pub words: String,
    /// Neighbours of the interval that is shown.
    pub cells: Vec<Cell>,
    /// Which of them is shown.
    pub position: usize,
    /// Whether the files of tasks may be of other tasks than those that are shown.
    pub is_of_other_boot: bool,
}
