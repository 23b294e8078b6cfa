//! Figures of the dead below the line that has their time already: they stand where they are part of that line, or in parentheses, as `(IO)` does.

use cpuledger::interval::Row;
use cpuledger::{Accounts, FieldSet};
use cpuledger_view::interval::column::TableColumn;
use cpuledger_view::key::Key;

use crate::tui::frame::Frame;
use crate::tui::listing::{Entry, Item};
use crate::tui::state::State;
use crate::tui::view::place::Place;

/// The keys of `X` and `C`, and those of the time that is divided among these.
const OF_DEAD: [&str; 2] = ["exited_threads_ns", "exited_children_ns"];
const OF_LIVING: [&str; 2] = ["cpu_ns", "self_ns"];

/// A row as a part of the line above.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Its time, in `X` and `C`, where the line above has it.
    pub row: Row,
    /// There are columns that show this.
    is_seen: bool,
}

/// How a figure of a part is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// As that of any row.
    Usual,
    /// As a part of that of the line above, in the same column.
    AsPart,
    /// In parentheses: the figure above has it, too.
    InParentheses,
    /// Not at all: it stands in the column of which it is a part.
    Nowhere,
}

impl Part {
    /// The row of a line as a part of one above; `None`: no line above has its time.
    pub(super) fn of(
        state: &State,
        frame: &Frame,
        entry: &Entry,
        row: &Row,
        places: &[Place],
    ) -> Option<Part> {
        let threads_ns = match entry.item {
            _ if !entry.is_part => return None,
            Item::ExitedName(sum) => state.listing.heir(sum).map_or(0, |heir| heir.threads_ns),
            Item::Exited(index) => {
                let exited = &frame.exited()[index as usize];
                frame.process_of_dead_thread(exited).map_or(0, |_| exited.cpu_ns)
            }
            Item::Row(_) | Item::Group(_) | Item::Alike(_) => return None,
        };
        let children_ns = row.usage.cpu_ns - threads_ns;
        let mut row = *row;
        row.usage.self_ns = 0;
        (row.usage.exited_threads_ns, row.usage.exited_children_ns) = (Some(threads_ns), Some(children_ns));
        let has_column = |key: &str| places.iter().any(|place| place.shown.key().map(Key::name) == Some(key));
        let needed = OF_DEAD.iter().zip([threads_ns, children_ns]).filter(|(_, ns)| *ns > 0);
        let is_seen = needed.fold(true, |all, (key, _)| all && has_column(key));
        Some(Part { row, is_seen })
    }

    /// How its figure in that column is shown.
    pub(super) fn how(&self, column: TableColumn) -> How {
        match column.key() {
            Some(key) if OF_DEAD.contains(&key.name()) => How::AsPart,
            Some(key) if key.name() == OF_LIVING[0] && !self.is_seen => How::InParentheses,
            Some(key) if OF_LIVING.contains(&key.name()) => How::Nowhere,
            Some(Key::Field(field)) if of_accounts().contains(field) => How::InParentheses,
            _ => How::Usual,
        }
    }
}

/// What the line of an heir has of its dead, besides their time.
fn of_accounts() -> FieldSet {
    Accounts::ALL.fields()
}
