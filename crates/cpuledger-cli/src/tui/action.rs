//! What keys, clicks and labels ask for.

use super::travel::Travel;
use super::views::View;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The help page.
    Help,
    /// Another view.
    View(View),
    /// Choose columns.
    Columns,
    /// Find a row.
    Search,
    /// Find the next.
    SearchNext,
    /// Filter rows.
    Filter,
    /// A tree by parent, and back.
    Tree,
    /// A tree by accounting parent, and back.
    AccountingTree,
    /// Choose what to sort by.
    Sort,
    /// Sort by this column.
    SortBy(&'static str),
    /// Sort by the column to the left or right.
    SortNext(isize),
    /// The other direction.
    Reverse,
    /// Nice value up or down.
    Nice(i32),
    /// Another nice value.
    Renice,
    /// I/O priority.
    IoPriority,
    /// CPUs it may run on.
    Affinity,
    /// Send a signal.
    Kill,
    /// The end.
    Quit,
    /// Tasks or processes.
    Threads,
    /// Those too that did not run.
    All,
    /// The exited.
    Exited,
    /// The next way of grouping.
    Group,
    /// Unfold or fold the row.
    Fold(bool),
    /// Fold or unfold everything.
    FoldAll,
    /// Names or arguments.
    Arguments,
    /// Percent of the machine.
    OfMachine,
    /// Nanoseconds.
    Exact,
    /// User, system and stolen time of each part in place of the columns, and back.
    Parts,
    /// A meter for each CPU.
    Cpus,
    /// Memory in the head.
    Memory,
    /// The next theme.
    Theme,
    /// Only this user's.
    User,
    /// The length of an interval.
    Delay,
    /// A cut now.
    Refresh,
    /// Nothing new is shown.
    Pause,
    /// The selected row stays selected.
    Follow,
    /// The detail pane.
    Detail,
    /// Write what is seen.
    Export(ExportFormat),
    /// Write the settings.
    Save,
    /// Move by this many rows.
    Move(isize),
    /// Move by this many pages.
    Page(isize),
    /// To the first row.
    First,
    /// To the last row.
    Last,
    /// Commands to the left or right.
    Scroll(isize),
    /// To another interval, or play faster or slower.
    Travel(Travel),
    /// The interval of a time.
    Jump,
    /// The next interval that has a row that matches.
    Find,
    /// Back to the shell for a while.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Leave what is open.
    Leave,
}

/// How what is seen is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// As one object.
    Json,
    /// As a table.
    Csv,
}
