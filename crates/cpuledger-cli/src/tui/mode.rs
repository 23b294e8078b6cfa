//! What is open besides the table: lines to fill in, lists to choose from, the help page.

use super::config::ShownColumn;
use super::effect::ExportFormat;
use super::listing::Followed;
use super::victim::Victim;

/// What is open besides the table.
#[derive(Debug, Default)]
pub enum Mode {
    /// Nothing.
    #[default]
    Table,
    /// A line to fill in.
    Prompt(Prompt),
    /// A list to choose from.
    Menu(Menu),
    /// The help page.
    Help(Help),
}

/// What is seen of the help page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Help {
    /// From this line on.
    pub top: usize,
    /// Lines with this text alone.
    pub search: String,
    /// The text is being typed.
    pub is_typing: bool,
}

/// What a line is filled in for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptKind {
    /// Text to find.
    Search,
    /// A filter.
    Filter,
    /// Seconds.
    Delay,
    /// A user.
    User,
    /// A nice value.
    Nice(Victim),
    /// CPUs.
    Affinity(Victim),
    /// A time.
    Jump,
    /// A filter, for intervals.
    Find,
    /// A file.
    Export(ExportFormat),
}

impl PromptKind {
    /// What stands before it.
    pub fn title(&self) -> String {
        match self {
            PromptKind::Search => "Search: ".to_owned(),
            PromptKind::Filter => "Filter: ".to_owned(),
            PromptKind::Jump => "Time (03:12, yesterday 03:12, -10m): ".to_owned(),
            PromptKind::Find => "Next interval with: ".to_owned(),
            PromptKind::Delay => "Seconds of an interval: ".to_owned(),
            PromptKind::User => "User (nothing: all): ".to_owned(),
            PromptKind::Nice(victim) => format!("Nice value of {} ({}): ", victim.id.tid, victim.name),
            PromptKind::Affinity(victim) => format!("CPUs of {} ({}): ", victim.id.tid, victim.name),
            PromptKind::Export(ExportFormat::Json) => "Write JSON to: ".to_owned(),
            PromptKind::Export(ExportFormat::Csv) => "Write CSV to: ".to_owned(),
        }
    }
}

/// A line to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What for.
    pub kind: PromptKind,
    /// What is in it; the cursor is at its end.
    pub text: String,
    /// What is wrong with it.
    pub error: Option<String>,
    /// What was there before, for a filter that is left.
    pub(super) before: String,
    /// Where the cursor was, and what it stayed with.
    pub(super) cursor: (usize, Option<Followed>),
}

/// What a list is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MenuKind {
    /// A signal.
    Signal(Victim),
    /// An I/O priority.
    IoPriority(Victim),
    /// What to sort by.
    Sort,
    /// Columns; those that are shown come first.
    Columns,
}

/// A list to choose from.
#[derive(Debug, Clone, PartialEq)]
pub struct Menu {
    /// What for.
    pub kind: MenuKind,
    /// The title.
    pub title: String,
    /// Lines.
    pub items: Vec<String>,
    /// Of columns: which there are, and whether they are shown.
    pub columns: Vec<(ShownColumn, bool)>,
    /// The line that is selected.
    pub selected: usize,
}
