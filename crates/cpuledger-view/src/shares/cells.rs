//! The cells of states as text: what is on the screen is what `--batch` prints.

use cpuledger_model::interval::Usage;

use super::{Part, STATE_COLUMNS, StateCell, StateColumn, Times, WHOLE};
use crate::interval::column::{per_mille, percent};

/// What a cell is written from.
#[derive(Debug, Clone, Copy)]
pub struct Cells {
    /// `None`: not known.
    times: Option<Times>,
    tenths: Option<[u64; 8]>,
    length_ns: u64,
    is_exact: bool,
}

impl Cells {
    /// Those of a row in an interval of this length.
    pub fn of(usage: &Usage, length_ns: u64, is_exact: bool) -> Cells {
        let times = Times::of(usage);
        Cells { times, tenths: times.map(|times| times.in_units(WHOLE)), length_ns, is_exact }
    }

    /// What the row did; `None`: not known.
    pub fn times(&self) -> Option<&Times> {
        self.times.as_ref()
    }

    /// Whether figures are in nanoseconds.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Whether CPU time is not known by mode: then one cell in the place of USR and SYS has all of it.
    pub fn is_undivided(&self) -> bool {
        self.times.is_some_and(|times| !times.is_divided)
    }

    /// The text of a cell.
    pub fn text(&self, column: &StateColumn) -> String {
        let (Some(times), Some(tenths)) = (self.times, self.tenths) else { return "-".to_owned() };
        let sum = |parts: &[Part]| parts.iter().map(|part| tenths[*part as usize]).sum::<u64>();
        let (ns, tenths) = match column.cell {
            StateCell::Share([Part::Stolen]) if !times.is_divided => return "-".to_owned(),
            StateCell::Share(parts) => (times.sum_ns(parts), sum(parts)),
            StateCell::Io => {
                // Not more than what is printed of the whole.
                let io =
                    (u128::from(times.io_wait_ns) * 2000 / u128::from(times.elapsed_ns())).div_ceil(2) as u64;
                (times.io_wait_ns, io.min(sum(&[Part::Blocked])))
            }
            StateCell::Held => (times.held_ns(), per_mille(times.held_ns(), self.length_ns)),
            StateCell::Bar => return String::new(),
        };
        let text = if self.is_exact { ns.to_string() } else { percent(tenths) };
        if column.cell == StateCell::Io { format!("({text})") } else { text }
    }

    /// CPU time that is not known by mode, for the place of USR and SYS.
    pub fn undivided_text(&self) -> String {
        let user = STATE_COLUMNS.iter().find(|column| column.cell == StateCell::Share(&[Part::User]));
        format!("cpu {}", user.map(|column| self.text(column)).unwrap_or_default())
    }
}
