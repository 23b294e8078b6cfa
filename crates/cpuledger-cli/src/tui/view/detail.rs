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

use super::canvas::{Look, clear, write};
use super::foot::draw_sparkline;
use super::states::{draw_bar, legend};
use crate::tui::file_detail::FileDetail;
use crate::tui::frame::{Frame, Kind, RowRef};
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

/// Limits that are worth a word.
const LIMITS: [&str; 5] =
    ["Max open files", "Max processes", "Max locked memory", "Max address space", "Max stack size"];

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
    let files = state.files.as_deref().filter(|files| files.id == id);
    let mut lines = area.y + 1..area.bottom();
    draw_states(state, frame, at, look, buffer, &mut lines, room);
    draw_history(state, at.kind, row.id(), look, buffer, &mut lines);
    let of = |(label, key): &(&'static str, &'static str)| {
        let key = Key::by_name(key)?;
        Some((*label, figure(key, &frame.row(at), state.settings.is_exact)))
    };
    let pairs: Vec<_> = COUNTS.iter().chain(&IDS).filter_map(of).collect();
    draw_pairs(&pairs, look, buffer, &mut lines, room);
    for (label, text) in &file_lines(files) {
        draw_part(look, buffer, &mut lines, room, (label, text));
    }
    if threads > 0 {
        draw_threads(state, frame, look, buffer, Rect { x: room, width: threads, ..area });
    }
}

fn draw_states(
    state: &State,
    frame: &Frame,
    at: RowRef,
    look: &Look,
    buffer: &mut Buffer,
    lines: &mut Range<u16>,
    room: u16,
) {
    let states = Cells::of(&frame.usage(at), frame.cpu_length_ns(), state.settings.is_exact);
    let Some(words) = legend(&states) else { return };
    if let Some(line) = lines.next() {
        let from = write(buffer, 0, line, "states [", look.theme.label);
        let width = room.saturating_sub(from + 2).min(BAR_WIDTH);
        draw_bar(&states, buffer, look, (from, line), width, (look.theme.text, true));
        write(buffer, from + width, line, "]", look.theme.label);
    }
    for (words, line) in flowing(&words, room.into()).into_iter().zip(lines) {
        write(buffer, 0, line, &words, look.theme.text);
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

/// The last intervals as a graph.
fn draw_history(
    state: &State,
    kind: Kind,
    id: TaskId,
    look: &Look,
    buffer: &mut Buffer,
    lines: &mut Range<u16>,
) {
    let shares = state.history.of(kind, id);
    let most = shares.iter().copied().max().unwrap_or(0);
    if most == 0 || state.strip.is_some() {
        return;
    }
    let Some(line) = lines.next() else { return };
    let from = write(buffer, 0, line, "history [", look.theme.label);
    draw_sparkline(&shares, most, look, buffer, (from, line));
    let text = format!("] most {} % of a CPU", percent(most));
    write(buffer, from + shares.len() as u16, line, &text, look.theme.label);
}

/// Labels and figures side by side, from the top to the bottom.
fn draw_pairs(pairs: &[(&str, String)], look: &Look, buffer: &mut Buffer, lines: &mut Range<u16>, room: u16) {
    let columns = usize::from(room / PAIR_WIDTH).max(1);
    let count = pairs.len().div_ceil(columns);
    for row in 0..count {
        let Some(line) = lines.next() else { return };
        for (column, (label, figure)) in pairs.iter().skip(row).step_by(count).enumerate() {
            let from = column as u16 * PAIR_WIDTH;
            write(buffer, from, line, label, look.theme.label);
            let width = figure.chars().count() as u16;
            let right = (from + PAIR_WIDTH - 3).saturating_sub(width);
            write(buffer, right.max(from + label.len() as u16 + 1), line, figure, look.theme.text);
        }
    }
}

/// Writes a label and its text, in as many lines as that takes.
fn draw_part(look: &Look, buffer: &mut Buffer, lines: &mut Range<u16>, room: u16, part: (&str, &str)) {
    let (label, text) = part;
    for (index, piece) in wrap(text, usize::from(room.saturating_sub(INDENT + 1))).into_iter().enumerate() {
        let Some(line) = lines.next() else { return };
        if index == 0 {
            write(buffer, 0, line, label, look.theme.label);
        }
        write(buffer, INDENT, line, &piece, look.theme.text);
    }
}

/// With the unit that fits or, where that is wanted, as in JSON.
fn figure(key: Key, row: &Row, is_exact: bool) -> String {
    text_of(|cell| match (key.unit(), key.value(row)) {
        (Unit::Nanoseconds, Value::Unsigned(ns)) if !is_exact => append_duration(cell, ns),
        (Unit::Bytes, Value::Unsigned(bytes)) if !is_exact => append_size(cell, bytes),
        (_, value) => append_value(cell, value),
    })
}

fn file_lines(files: Option<&FileDetail>) -> Vec<(&'static str, String)> {
    let Some(files) = files else { return vec![("files", "being read...".to_owned())] };
    let dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let limits = files.limits.iter().filter(|[name, ..]| LIMITS.contains(&name.as_str()));
    let limits: Vec<String> =
        limits.map(|[name, soft, hard]| format!("{} {soft}/{hard}", &name[4..])).collect();
    let calls = files.calls.map_or_else(
        || "-".to_owned(),
        |[read, reads, written, writes]| {
            format!("{read} bytes by {reads} reads, {written} by {writes} writes, since the start")
        },
    );
    let [score, adjustment] =
        files.oom.map(|number| number.map_or_else(|| "-".to_owned(), |number| number.to_string()));
    vec![
        ("command", dash(&files.command_line)),
        ("program", dash(&files.program)),
        ("directory", dash(&files.directory)),
        ("cgroup", dash(&files.cgroup)),
        ("open files", number(files.open_files)),
        ("limits", dash(&limits.join(", "))),
        ("asked for", calls),
        ("out of memory", format!("score {score}, adjustment {adjustment}")),
    ]
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
