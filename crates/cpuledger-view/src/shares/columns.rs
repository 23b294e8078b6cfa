//! Which columns of the view of states there is room for.

use super::STATE_COLUMNS;
use crate::interval::column::TableColumn;

/// The column of that name.
fn by_name(name: &str) -> Option<TableColumn> {
    let state = STATE_COLUMNS.iter().find(|column| column.name == name).map(TableColumn::State);
    state.or_else(|| TableColumn::by_name(name))
}

/// The narrowest last column.
const LEAST_LAST: usize = 12;

/// All columns, from left to right.
const ALL: [&str; 14] = [
    "PID", "USER", "%HELD", "USR", "SYS", "STL", "WAIT", "BLK", "(IO)", "SLP", "STOP", "?", "STATES",
    "COMMAND",
];

/// Those that go first where there is little room: no share is among them.
const SPARE: [&str; 4] = ["STATES", "USER", "(IO)", "%HELD"];

/// Columns where there is no room for all shares; without the first of them where there is none for these.
const FEW: [&str; 6] = ["PID", "CPU", "WAIT", "BLK", "REST", "COMMAND"];

/// The room for columns, and what is in them.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    /// Columns of the screen.
    pub width: usize,
    /// Of some row it is not known what it did all the time.
    pub has_unseen: bool,
    /// Figures are in nanoseconds.
    pub is_exact: bool,
    /// Columns that are not wanted, by their headers.
    pub without: &'a [&'a str],
}

/// The columns that there is room for, with their widths. The shares in them are all of the time.
pub fn columns(room: &Room<'_>) -> Vec<(TableColumn, usize)> {
    let is_wanted = |name: &&str| (room.has_unseen || *name != "?") && !room.without.contains(name);
    let with_widths = |names: &[&str]| -> Vec<(TableColumn, usize)> {
        let columns = names.iter().filter(|name| is_wanted(name)).filter_map(|name| by_name(name));
        columns.map(|column| (column, column.width(room.is_exact))).collect()
    };
    let needed = |columns: &[(TableColumn, usize)]| {
        let all = columns.iter().map(|(_, width)| if *width == 0 { LEAST_LAST } else { *width } + 1);
        all.sum::<usize>() - 1
    };
    let mut names = ALL.to_vec();
    let mut spare = SPARE.into_iter();
    loop {
        let columns = with_widths(&names);
        if needed(&columns) <= room.width {
            return columns;
        }
        let Some(least) = spare.next() else { break };
        names.retain(|name| *name != least);
    }
    let few = with_widths(&FEW);
    if needed(&few) <= room.width { few } else { with_widths(&FEW[1..]) }
}
