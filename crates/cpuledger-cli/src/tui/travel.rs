//! Ways through time, and what the screen shows of where it is.

use cpuledger_program::when::Named;

/// A way through time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Travel {
    /// By this number of intervals.
    Step(i64),
    /// To the first interval.
    First,
    /// To the last interval or, where intervals go on, to that of now.
    Last,
    /// To the interval of this instant; `10m ago` counts from the interval that is shown.
    Jump(Named),
    /// Play, or pause.
    Play,
    /// Play faster or slower: by this power of two.
    Speed(i32),
}

/// What is known of an interval on the time line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// How much of the machine was used, in thousandths.
    Used {
        /// All of it.
        share: u32,
        /// The part in user mode; `None`: it is not known.
        user: Option<u32>,
    },
    /// There are no books of it.
    Gap,
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
