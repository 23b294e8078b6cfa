//! The detail pane of one process or task.

use std::ops::Range;

use cpuledger::TaskId;
use cpuledger::field::{Unit, Value};
use cpuledger::interval::Row;
use cpuledger_proc::count::count_of;
use cpuledger_proc::escape::escaped;
use cpuledger_view::interval::column::{
    append_duration, append_size, append_value, per_mille, percent, text_of,
};
use cpuledger_view::key::Key;
use cpuledger_view::layout::wrap;
use cpuledger_view::shares::cells::Cells;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::canvas::{Look, clear, draw_sparkline, write};
use super::states::{draw_bar, legend};
use crate::tui::frame::{Frame, Kind};
use crate::tui::state::State;

/// What grew in the interval, as the pane names it.
const COUNTS: [(&str, &str); 8] = [
    ("minor faults", "minor_faults"),
    ("major faults", "major_faults"),
    ("voluntary switches", "voluntary_switches"),
    ("involuntary switches", "involuntary_switches"),
    ("waited for a CPU", "runqueue_wait_ns"),
    ("waited for disks", "block_io_delay_ns"),
    ("read", "read_bytes"),
    ("written", "write_bytes"),
];

/// Which it is, and how it is scheduled.
const IDS: [(&str, &str); 12] = [
    ("parent", "ppid"),
    ("heir", "accounting_ppid"),
    ("process group", "pgid"),
    ("session", "sid"),
    ("user id", "uid"),
    ("effective user id", "euid"),
    ("threads", "threads"),
    ("state", "state"),
    ("policy", "policy"),
    ("priority", "priority"),
    ("nice value", "nice"),
    ("last CPU", "processor"),
];

/// Where the texts begin, and the width of a label and its figure.
const INDENT: u16 = 14;
const PAIR_WIDTH: u16 = 36;

/// The widest bar of states.
const BAR_WIDTH: u16 = 100;

/// The width of the list of threads.
const THREADS_WIDTH: u16 = 34;

pub(super) fn draw(state: &State, look: &Look, buffer: &mut Buffer, area: Rect) {
    clear(buffer, area);
    let (Some(frame), Some((kind, id))) = (&state.frame, state.detail) else { return };
    buffer.set_style(Rect { height: 1, ..area }, look.theme.header);
    let Some(at) = frame.find(kind, id) else {
        let text = format!("{} did not run in this interval, or has exited; press i to list all", id.tid);
        write(buffer, 0, area.y, &text, look.theme.header);
        return;
    };
    let row = frame.whole(at);
    let name = escaped(row.comm.as_bytes());
    let what = if kind == Kind::Task {
        format!("Task {} of process {}", row.tid, row.pid)
    } else {
        format!("Process {}", row.pid)
    };
    write(buffer, 0, area.y, &format!("{what}: {name}"), look.theme.header);
    let threads = if area.width >= 2 * THREADS_WIDTH { THREADS_WIDTH } else { 0 };
    let room = area.width - threads;
    let mut pane = Pane { look, buffer, lines: area.y + 1..area.bottom(), room };
    pane.draw_states(&Cells::of(&frame.usage(at), frame.cpu_length_ns(), state.settings.is_exact));
    pane.draw_history(state, at.kind, row.id());
    let of = |(label, key): &(&'static str, &'static str)| {
        let key = Key::by_name(key)?;
        Some((*label, figure(key, &frame.row(at), state.settings.is_exact)))
    };
    pane.draw_pairs(&COUNTS.iter().chain(&IDS).filter_map(of).collect::<Vec<_>>());
    match state.files.as_ref().filter(|(of, _)| *of == id) {
        Some((_, lines)) => lines.iter().for_each(|(label, text)| pane.draw_part(label, text)),
        None => pane.draw_part("files", "being read..."),
    }
    if threads > 0 {
        draw_threads(state, frame, look, buffer, Rect { x: room, width: threads, ..area });
    }
}

/// The lines that are left of the pane, and how wide they are.
struct Pane<'a> {
    look: &'a Look,
    buffer: &'a mut Buffer,
    lines: Range<u16>,
    room: u16,
}

impl Pane<'_> {
    fn draw_states(&mut self, states: &Cells) {
        let (theme, Some(words)) = (&self.look.theme, legend(states)) else { return };
        if let Some(line) = self.lines.next() {
            let from = write(self.buffer, 0, line, "states [", theme.label);
            let width = self.room.saturating_sub(from + 2).min(BAR_WIDTH);
            draw_bar(states, self.buffer, self.look, (from, line), width, (theme.text, true));
            write(self.buffer, from + width, line, "]", theme.label);
        }
        for (words, line) in flowing(&words, self.room.into()).into_iter().zip(&mut self.lines) {
            write(self.buffer, 0, line, &words, theme.text);
        }
    }

    /// The last intervals as a graph.
    fn draw_history(&mut self, state: &State, kind: Kind, id: TaskId) {
        let shares = state.history.of(kind, id);
        let most = shares.iter().copied().max().unwrap_or(0);
        if most == 0 || state.strip.is_some() {
            return;
        }
        let Some(line) = self.lines.next() else { return };
        let theme = &self.look.theme;
        let from = write(self.buffer, 0, line, "history [", theme.label);
        let next = draw_sparkline(&shares, most, self.look, self.buffer, (from, line), |_| theme.user);
        write(self.buffer, next, line, &format!("] most {} % of a CPU", percent(most)), theme.label);
    }

    /// Labels and figures side by side, from the top to the bottom.
    fn draw_pairs(&mut self, pairs: &[(&str, String)]) {
        let columns = usize::from(self.room / PAIR_WIDTH).max(1);
        let count = pairs.len().div_ceil(columns);
        for row in 0..count {
            let Some(line) = self.lines.next() else { return };
            for (column, (label, figure)) in pairs.iter().skip(row).step_by(count).enumerate() {
                let from = column as u16 * PAIR_WIDTH;
                write(self.buffer, from, line, label, self.look.theme.label);
                let width = figure.chars().count() as u16;
                let right = (from + PAIR_WIDTH - 3).saturating_sub(width);
                let right = right.max(from + label.len() as u16 + 1);
                write(self.buffer, right, line, figure, self.look.theme.text);
            }
        }
    }

    /// Writes a label and its text, in as many lines as that takes.
    fn draw_part(&mut self, label: &str, text: &str) {
        let room = usize::from(self.room.saturating_sub(INDENT + 1));
        for (index, piece) in wrap(text, room).into_iter().enumerate() {
            let Some(line) = self.lines.next() else { return };
            if index == 0 {
                write(self.buffer, 0, line, label, self.look.theme.label);
            }
            write(self.buffer, INDENT, line, &piece, self.look.theme.text);
        }
    }
}

/// Phrases with commas between them, in lines of that width; none of them is broken.
fn flowing(phrases: &[String], width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for phrase in phrases {
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = phrase.clone(),
            Some(line) if line.chars().count() + phrase.chars().count() + 3 <= width => {
                *line = format!("{line}, {phrase}");
            }
            _ => lines.push(phrase.clone()),
        }
    }
    lines
}

/// With the unit that fits or, where that is wanted, as in JSON.
fn figure(key: Key, row: &Row, is_exact: bool) -> String {
    text_of(|cell| match (key.unit(), key.value(row)) {
        (Unit::Nanoseconds, Value::Unsigned(ns)) if !is_exact => append_duration(cell, ns),
        (Unit::Bytes, Value::Unsigned(bytes)) if !is_exact => append_size(cell, bytes),
        (_, value) => append_value(cell, value),
    })
}

fn draw_threads(state: &State, frame: &Frame, look: &Look, buffer: &mut Buffer, area: Rect) {
    let threads = state.detail_threads(frame);
    let title = format!("{} listed", count_of(threads.len() as u64, "thread"));
    write(buffer, area.x, area.y, &title, look.theme.header);
    for (line, &at) in (area.y + 1..area.bottom()).zip(&threads) {
        let row = frame.whole(at);
        let percent = percent(per_mille(frame.cpu_ns(at), frame.cpu_length_ns()));
        let name = escaped(row.comm.as_bytes());
        write(buffer, area.x, line, &format!("{:>7} {percent:>5} {name}", row.tid.0), look.theme.text);
    }
}
