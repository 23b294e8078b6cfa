//! The detail pane of one process or task.

use std::ops::Range;

use cpuledger::field::Field;
use cpuledger::interval::Row;
use cpuledger_proc::count::count_of;
use cpuledger_proc::escape::escaped;
use cpuledger_view::interval::column::{append_per_mille, append_value, per_mille};
use cpuledger_view::key::{Key, PROCESS_KEYS};
use cpuledger_view::shares::cells::Cells;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::canvas::{Look, clear, write};
use super::states::{draw_bar, legend};
use crate::tui::file_detail::FileDetail;
use crate::tui::frame::{Frame, Kind, RowRef};
use crate::tui::state::State;

/// What grew in the interval, as the pane names it.
const COUNTS: [(&str, Field); 8] = [
    ("minor faults", Field::MinorFaults),
    ("major faults", Field::MajorFaults),
    ("voluntary switches", Field::VoluntarySwitches),
    ("involuntary switches", Field::InvoluntarySwitches),
    ("run-queue wait ns", Field::RunqueueWait),
    ("block I/O delay ns", Field::BlockIoDelay),
    ("bytes read", Field::ReadBytes),
    ("bytes written", Field::WriteBytes),
];

/// Limits that are worth a word.
const LIMITS: [&str; 5] =
    ["Max open files", "Max processes", "Max locked memory", "Max address space", "Max stack size"];

/// Where the second line of a text begins.
const INDENT: u16 = 2;

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
    let mut parts = vec![("in the interval", counts(frame, at)), ("ids", ids(frame, at))];
    parts.extend(file_lines(files));
    let mut lines = area.y + 1..area.bottom();
    let states = Cells::of(&frame.usage(at), frame.cpu_length_ns(), state.settings.is_exact);
    if let Some(words) = legend(&states) {
        if let Some(line) = lines.next() {
            let from = write(buffer, 0, line, "states [", look.theme.label);
            let width = room.saturating_sub(from + 2).min(BAR_WIDTH);
            draw_bar(&states, buffer, look, (from, line), width, look.theme.text);
            write(buffer, from + width, line, "]", look.theme.label);
        }
        draw_part(look, buffer, &mut lines, room, ("states", &words));
    }
    for (label, text) in &parts {
        draw_part(look, buffer, &mut lines, room, (label, text));
    }
    if threads > 0 {
        draw_threads(state, frame, look, buffer, Rect { x: room, width: threads, ..area });
    }
}

/// Writes a label and its text, in as many lines as that takes.
fn draw_part(look: &Look, buffer: &mut Buffer, lines: &mut Range<u16>, room: u16, part: (&str, &str)) {
    let (label, text) = part;
    let Some(mut line) = lines.next() else { return };
    let mut column = write(buffer, 0, line, &format!("{label}: "), look.theme.label);
    for word in text.split_inclusive(' ') {
        let width = word.trim_end().chars().count() as u16;
        if column + width >= room && column > INDENT {
            let Some(next) = lines.next() else { return };
            (line, column) = (next, INDENT);
        }
        let word: String = word.chars().take(usize::from(room.saturating_sub(column + 1))).collect();
        column = write(buffer, column, line, &word, look.theme.text);
    }
}

fn ids(frame: &Frame, at: RowRef) -> String {
    let row = frame.row(at);
    let wanted = [
        "pid",
        "ppid",
        "accounting_ppid",
        "pgid",
        "sid",
        "uid",
        "euid",
        "gid",
        "egid",
        "threads",
        "state",
        "policy",
        "priority",
        "nice",
        "processor",
    ];
    let keys = PROCESS_KEYS.iter().filter(|key| wanted.contains(&key.name()));
    keys.map(|key| format!("{} {}", key.name(), text(*key, &row))).collect::<Vec<_>>().join(", ")
}

fn counts(frame: &Frame, at: RowRef) -> String {
    let row = frame.row(at);
    let count = |(name, field): &(&str, Field)| format!("{name} {}", text(Key::Field(*field), &row));
    COUNTS.iter().map(count).collect::<Vec<_>>().join(", ")
}

fn text(key: Key, row: &Row) -> String {
    let mut cell = Vec::new();
    append_value(&mut cell, key.value(row));
    String::from_utf8_lossy(&cell).into_owned()
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
            format!("{read} bytes by {reads} reads, {written} by {writes} writes")
        },
    );
    let [score, adjustment] =
        files.oom.map(|number| number.map_or_else(|| "-".to_owned(), |number| number.to_string()));
    vec![
        ("command", dash(&files.command_line)),
        ("program", dash(&files.program)),
        ("open files", number(files.open_files)),
        ("limits", dash(&limits.join(", "))),
        ("asked for in its life", calls),
        ("cgroup", dash(&files.cgroup)),
        ("directory", dash(&files.directory)),
        ("out of memory", format!("score {score}, adjustment {adjustment}")),
    ]
}

fn draw_threads(state: &State, frame: &Frame, look: &Look, buffer: &mut Buffer, area: Rect) {
    let threads = state.detail_threads(frame);
    let title = format!("{} listed", count_of(threads.len() as u64, "thread"));
    write(buffer, area.x, area.y, &title, look.theme.header);
    for (line, &at) in (area.y + 1..area.bottom()).zip(&threads) {
        let row = frame.whole(at);
        let mut percent = Vec::new();
        append_per_mille(&mut percent, per_mille(frame.cpu_ns(at), frame.cpu_length_ns()));
        let percent = String::from_utf8_lossy(&percent).into_owned();
        let name = escaped(row.comm.as_bytes());
        write(buffer, area.x, line, &format!("{:>7} {percent:>5} {name}", row.tid.0), look.theme.text);
    }
}
