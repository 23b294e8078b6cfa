//! The view of states: which of its columns there is room for, their cells, and bars of states.

use cpuledger::interval::Usage;
use cpuledger_view::interval::column::{TableColumn, append_per_mille, per_mille};
use ratatui::buffer::Buffer;
use ratatui::style::Style;

use super::canvas::{Look, write};
use crate::tui::config::Settings;
use crate::tui::frame::{Frame, Kind};
use crate::tui::shares::{Part, STATE_COLUMNS, StateCell, StateColumn, Times, WHOLE};

/// A column of the view.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shown {
    /// One of the registry.
    Column(TableColumn),
    /// One of states.
    State(&'static StateColumn),
}

impl Shown {
    fn by_name(name: &str) -> Option<Shown> {
        let state = STATE_COLUMNS.iter().find(|column| column.name == name).map(Shown::State);
        state.or_else(|| TableColumn::by_name(name).map(Shown::Column))
    }

    /// Its header.
    pub(super) fn name(self) -> &'static str {
        match self {
            Shown::Column(column) => column.name(),
            Shown::State(column) => column.name,
        }
    }

    /// Whether cells begin at the left.
    pub(super) fn is_left(self) -> bool {
        match self {
            Shown::Column(column) => column.is_left(),
            Shown::State(column) => column.cell == StateCell::Bar,
        }
    }

    /// Its usual width; 0: what is left of the line.
    fn width(self, is_exact: bool) -> usize {
        match self {
            Shown::Column(column) => column.width(is_exact),
            Shown::State(column) if is_exact && column.cell != StateCell::Bar => EXACT_WIDTH,
            Shown::State(column) => column.width,
        }
    }
}

/// The time of some threads in an hour is not longer.
const EXACT_WIDTH: usize = 13;

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

/// The columns that there is room for, with their widths. The shares in them are all of the time.
pub(super) fn columns(frame: Option<&Frame>, settings: &Settings, width: usize) -> Vec<(Shown, usize)> {
    let has_unseen = frame.is_some_and(|frame| has_unseen(frame, settings));
    let with_widths = |names: &[&str]| -> Vec<(Shown, usize)> {
        let columns = names.iter().filter_map(|name| Shown::by_name(name));
        columns.map(|column| (column, column.width(settings.is_exact))).collect()
    };
    let needed = |columns: &[(Shown, usize)]| {
        let all = columns.iter().map(|(_, width)| if *width == 0 { LEAST_LAST } else { *width } + 1);
        all.sum::<usize>() - 1
    };
    let mut names: Vec<&str> = ALL.into_iter().filter(|name| has_unseen || *name != "?").collect();
    let mut spare = SPARE.into_iter();
    loop {
        let columns = with_widths(&names);
        if needed(&columns) <= width {
            return columns;
        }
        let Some(least) = spare.next() else { break };
        names.retain(|name| *name != least);
    }
    let few = with_widths(&FEW);
    if needed(&few) <= width { few } else { with_widths(&FEW[1..]) }
}

/// Whether of any row it is not known what it did.
fn has_unseen(frame: &Frame, settings: &Settings) -> bool {
    let kind = if settings.has_threads { Kind::Task } else { Kind::Process };
    let usages = match kind {
        Kind::Process => &frame.interval.processes,
        Kind::Task => &frame.interval.tasks,
    };
    let living = usages.iter().filter_map(|usage| usage.states);
    let dead = frame.exited().iter().filter(|_| settings.has_exited).filter_map(|exited| exited.states);
    living.chain(dead).any(|states| states.unseen_ns > 0)
}

/// What a cell is written from.
pub(super) struct Cells {
    /// `None`: not known.
    times: Option<Times>,
    tenths: Option<[u64; 8]>,
    length_ns: u64,
    is_exact: bool,
}

impl Cells {
    /// Those of a row in an interval of this length.
    pub(super) fn of(usage: &Usage, length_ns: u64, is_exact: bool) -> Cells {
        let times = Times::of(usage);
        Cells { times, tenths: times.map(|times| times.in_units(WHOLE)), length_ns, is_exact }
    }

    /// Whether CPU time is not known by mode: then one cell in the place of USR and SYS has all of it.
    pub(super) fn is_undivided(&self) -> bool {
        self.times.is_some_and(|times| !times.is_divided)
    }

    /// The text of a cell.
    pub(super) fn text(&self, column: &StateColumn) -> String {
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
        let text = if self.is_exact {
            ns.to_string()
        } else {
            let mut text = Vec::new();
            append_per_mille(&mut text, tenths);
            String::from_utf8_lossy(&text).into_owned()
        };
        if column.cell == StateCell::Io { format!("({text})") } else { text }
    }

    /// CPU time that is not known by mode.
    pub(super) fn undivided_text(&self) -> String {
        let user = STATE_COLUMNS.iter().find(|column| column.cell == StateCell::Share(&[Part::User]));
        format!("cpu {}", user.map(|column| self.text(column)).unwrap_or_default())
    }

    /// Draws all states as a bar.
    pub(super) fn draw_bar(&self, buffer: &mut Buffer, look: &Look, from: (u16, u16), width: u16, on: Style) {
        let Some(times) = self.times else {
            write(buffer, from.0, from.1, "-", on);
            return;
        };
        let mut column = from.0;
        for ((cells, mark), style) in times.in_units(width.into()).into_iter().zip(MARKS).zip(styles(look)) {
            column = write(buffer, column, from.1, &mark.repeat(cells as usize), on.patch(style));
        }
    }

    /// All figures in words, with the marks of the bar.
    pub(super) fn legend(&self) -> Option<String> {
        let times = self.times?;
        let mut words = Vec::new();
        for (column, mark) in STATE_COLUMNS.iter().filter(|column| is_part(column)).zip(MARKS) {
            let StateCell::Share(parts) = column.cell else { continue };
            let text = match parts {
                [Part::User] if !times.is_divided => self.undivided_text(),
                [Part::System | Part::Stolen] if !times.is_divided => continue,
                [Part::Unseen] if times.sum_ns(parts) == 0 => continue,
                [Part::Blocked] => {
                    let io = STATE_COLUMNS.iter().find(|column| column.cell == StateCell::Io);
                    let io = io.map(|column| self.text(column).replace('(', "(IO ")).unwrap_or_default();
                    format!("{} {} {io}", column.name, self.text(column))
                }
                _ => format!("{} {}", column.name, self.text(column)),
            };
            words.push(format!("{mark} {text}"));
        }
        let unit = if self.is_exact { "ns" } else { "%" };
        let seconds = times.elapsed_ns() as f64 / 1e9;
        Some(format!("{}: {unit} of {seconds:.3} s", words.join(", ")))
    }
}

/// Whether it is the column of one part.
fn is_part(column: &StateColumn) -> bool {
    matches!(column.cell, StateCell::Share([_]))
}

/// What the parts are drawn with: the first three as in the bars of CPUs.
const MARKS: [&str; 8] = ["|", "#", "*", "w", "b", ".", "t", "?"];

fn styles(look: &Look) -> [Style; 8] {
    let theme = &look.theme;
    [theme.user, theme.system, theme.stolen, theme.mark, theme.error, theme.idle, theme.label, theme.label]
}
