//! What the state says is to be done to the machine.

use super::travel::Travel;
use super::victim::Victim;
use cpuledger_view::query::Query;

/// What only the program around the state can do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Nothing.
    None,
    /// End.
    Quit,
    /// Stop until fg.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// End the interval now.
    Cut,
    /// Send the signal with this number.
    Signal(Victim, u32),
    /// Give another nice value.
    Nice(Victim, i32),
    /// Give another I/O priority.
    IoPriority(Victim, String),
    /// Allow these CPUs only.
    Affinity(Victim, Vec<usize>),
    /// Ask for the CPUs that are allowed, for the line that is open.
    AskAffinity(Victim),
    /// Write what is seen to this file.
    Export(ExportFormat, String),
    /// Show another interval.
    Travel(Travel),
    /// Show the next interval that has a row which matches this filter.
    Find(Query),
    /// Write the settings.
    Save,
}

/// How what is seen is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// As one object.
    Json,
    /// As a table.
    Csv,
}
