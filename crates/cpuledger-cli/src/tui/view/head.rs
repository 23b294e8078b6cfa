//! The head: CPUs, memory, load, pressure, how many tasks, and the balance.

use cpuledger::host_statistics::{CpuShare, Memory};
use cpuledger_proc::count::count_of;
use cpuledger_view::interval::by::append_blocked_task;
use cpuledger_view::interval::column::{append_bytes, append_decimals};
use cpuledger_view::interval::{Writer, append_uptime};
use cpuledger_view::layout;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::canvas::Look;
use crate::cmd::top::select::is_wanted_blocked;
use crate::tui::frame::{Frame, Kind};
use crate::tui::state::State;

/// The narrowest bar.
const LEAST_BAR: u16 = 18;
/// Bars of CPUs beside each other.
const MOST_BESIDE: u16 = 4;

pub(super) fn draw(state: &State, look: &Look, buffer: &mut Buffer, most: usize) {
    let width = buffer.area.width;
    for (row, line) in (0..).zip(lines(state, width, most, Some(look))) {
        if row < buffer.area.height {
            buffer.set_line(0, row, &line, width);
        }
    }
}

/// The lines of the head, at most `most`: those of the highest rank are dropped first. Without figures there are no bars in them.
pub(super) fn lines(state: &State, width: u16, most: usize, look: Option<&Look>) -> Vec<Line<'static>> {
    let Some(frame) = &state.frame else {
        return vec![Line::raw("Waiting for the end of the first interval...")];
    };
    let mut ranked: Vec<(u8, Line<'static>)> = wrapped(&title(state, frame), width, 3).collect();
    let cpus = cpu_lines(state, frame, width, most / 2, look);
    ranked.extend(cpus.into_iter().map(|line| (2, line)));
    if state.settings.has_memory
        && let Some(memory) = frame.around.statistics.memory
    {
        ranked.push((4, memory_line(memory, width, look)));
    }
    ranked.extend(pressure(frame).iter().flat_map(|text| wrapped(text, width, 6)));
    ranked.extend(averages(frame).iter().flat_map(|text| wrapped(text, width, 5)));
    ranked.extend(wrapped(&counts(state, frame), width, 5));
    ranked.extend(balance(frame, width));
    ranked.extend(losses(frame, width));
    ranked.extend(blocked(state, frame, width).map(|line| (3, line)));
    while ranked.len() > most.max(1) {
        let highest = ranked.iter().map(|(rank, _)| *rank).max();
        let place = ranked.iter().rposition(|(rank, _)| Some(*rank) == highest);
        place.map(|place| ranked.remove(place));
    }
    ranked.into_iter().map(|(_, line)| line).collect()
}

/// Text in as many lines as it takes, all of them of that rank.
fn wrapped(text: &str, width: u16, rank: u8) -> impl Iterator<Item = (u8, Line<'static>)> + use<> {
    layout::wrap(text, width.into()).into_iter().map(move |line| (rank, Line::raw(line)))
}

fn title(state: &State, frame: &Frame) -> String {
    let mut uptime = Vec::new();
    append_uptime(&mut uptime, frame.around.uptime.ticks(1_000_000_000));
    let load = frame.around.statistics.load.as_ref().map(|load| load.averages.join(", "));
    let load = load.map_or_else(String::new, |load| format!(",  load average: {load}"));
    let paused = if state.is_paused { "  [PAUSED]" } else { "" };
    let filter =
        if state.query.is_empty() { String::new() } else { format!("  [{}]", state.query.text().trim()) };
    let up = String::from_utf8_lossy(&uptime).into_owned();
    format!("ptop - {} up {up}{load}{paused}{filter}", frame.around.time_of_day)
}

/// What was attributed, in more lines where it is too long for one: of these the first, which names the interval, counts least.
fn balance(frame: &Frame, width: u16) -> Vec<(u8, Line<'static>)> {
    let mut text = Vec::new();
    Writer::default().append_balance(&mut text, &frame.interval);
    let text = String::from_utf8_lossy(&text).into_owned();
    match text.split_once(": ") {
        Some((interval, parts)) if text.len() > usize::from(width) => {
            wrapped(interval, width, 2).chain(wrapped(parts, width, 1)).collect()
        }
        _ => wrapped(&text, width, 1).collect(),
    }
}

/// What the source cannot see, or has lost. That nothing is lost goes first where there is no room.
fn losses(frame: &Frame, width: u16) -> Vec<(u8, Line<'static>)> {
    let mut text = Vec::new();
    Writer::default().append_losses(&mut text, &frame.interval);
    let text = String::from_utf8_lossy(&text).into_owned();
    let rank = if text.starts_with("Balanced") { 7 } else { 4 };
    wrapped(&text, width, rank).collect()
}

fn counts(state: &State, frame: &Frame) -> String {
    let interval = &frame.interval;
    let mut parts = Vec::new();
    if let Some(tasks) = frame.around.statistics.load.as_ref().and_then(|load| load.tasks) {
        parts.push(count_of(tasks.into(), "task"));
    }
    if let Some(running) = frame.around.statistics.running {
        parts.push(format!("{running} running"));
    }
    if let Some(born) = frame.around.born {
        parts.push(format!("{born} born"));
    }
    if let Some(exited) = &interval.exited {
        parts.push(format!(
            "{} died",
            exited.len() as u64 + interval.unidentified_exits.unwrap_or(0) + interval.missed_exits
        ));
    }
    let processes = interval.processes.iter().filter(|row| row.usage.cpu_ns > 0).count();
    let counted =
        |count: usize, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
    parts.push(format!("{} active", counted(processes, "process", "processes")));
    if state.settings.has_all {
        let listed = if state.settings.has_threads {
            counted(frame.all(Kind::Task).count(), "thread", "threads")
        } else {
            counted(frame.all(Kind::Process).count(), "process", "processes")
        };
        parts.push(format!("{listed} listed"));
    }
    parts.join(", ")
}

/// How many tasks did what on average, from the sums of their nanoseconds.
fn averages(frame: &Frame) -> Option<String> {
    let [waited_ns, blocked_ns] = frame.held_ns()?;
    let length_ns = u128::from(frame.interval.length_ns().max(1));
    let average = |sum_ns: u64| {
        let mut text = Vec::new();
        append_decimals(&mut text, (u128::from(sum_ns) * 100 / length_ns) as u64, 2);
        String::from_utf8_lossy(&text).into_owned()
    };
    let [running, waiting, blocked] = [frame.interval.attributed_ns, waited_ns, blocked_ns].map(average);
    Some(format!("On average: {running} running, {waiting} waiting for a CPU, {blocked} blocked"))
}

/// What was blocked all the time by name, as much of it as there is room for.
fn blocked(state: &State, frame: &Frame, width: u16) -> Option<Line<'static>> {
    let all = frame.interval.blocked.as_deref().filter(|_| state.settings.has_states)?;
    let listed: Vec<_> = all.iter().filter(|blocked| is_wanted_blocked(&state.options, blocked)).collect();
    let not_listed = frame.interval.blocked_tasks - all.len() as u64;
    let mut text = String::new();
    for (index, blocked) in listed.iter().enumerate() {
        let mut words = Vec::new();
        append_blocked_task(&mut words, blocked);
        let before = if index == 0 { "Blocked all the time: " } else { "; " };
        let more = format!("; {} more", (listed.len() - index) as u64 + not_listed);
        let words = format!("{before}{}", String::from_utf8_lossy(&words));
        let needed = layout::width(text.as_bytes()) + layout::width(words.as_bytes());
        let is_last = index + 1 == listed.len() && not_listed == 0;
        if index > 0 && needed + if is_last { 0 } else { more.len() } > usize::from(width) {
            return Some(Line::raw(text + &more));
        }
        text += &words;
    }
    if not_listed > 0 && !text.is_empty() {
        text += &format!("; {not_listed} more");
    }
    (!text.is_empty()).then(|| Line::raw(text))
}

fn pressure(frame: &Frame) -> Option<String> {
    let names = ["cpu", "memory", "io"];
    let mut parts = Vec::new();
    for (name, pressure) in names.iter().zip(&frame.around.statistics.pressure) {
        let Some(pressure) = pressure else { continue };
        let percent = |share: u32| format!("{}.{:02}", share / 100, share % 100);
        let full = pressure.full.map_or_else(String::new, |full| format!("/{}", percent(full)));
        parts.push(format!("{name} {}{full}", percent(pressure.some)));
    }
    (!parts.is_empty()).then(|| format!("Pressure, % of 10 s some/full: {}", parts.join(", ")))
}

/// One bar a CPU, or one for all where there is no room, or where that is wanted.
fn cpu_lines(
    state: &State,
    frame: &Frame,
    width: u16,
    most: usize,
    look: Option<&Look>,
) -> Vec<Line<'static>> {
    let cpus = &frame.around.cpus;
    if cpus.is_empty() {
        return Vec::new();
    }
    let beside = (width / (LEAST_BAR + 12)).clamp(1, MOST_BESIDE).min(cpus.len() as u16);
    let lines = cpus.len().div_ceil(usize::from(beside));
    if !state.settings.has_cpus || lines > most.max(1) {
        let mean = |part: fn(&CpuShare) -> u32| cpus.iter().map(part).sum::<u32>() / cpus.len() as u32;
        let all = CpuShare {
            cpu: 0,
            user: mean(|share| share.user),
            system: mean(|share| share.system),
            stolen: mean(|share| share.stolen),
        };
        return vec![Line::from(cpu_bar("CPU", &all, width.min(120), look))];
    }
    let each = width / beside;
    let bars = |share: &CpuShare| cpu_bar(&format!("{:>3}", share.cpu), share, each, look);
    // Downwards, as one reads a list.
    (0..lines)
        .map(|line| Line::from(cpus.iter().skip(line).step_by(lines).flat_map(bars).collect::<Vec<_>>()))
        .collect()
}

fn cpu_bar(name: &str, share: &CpuShare, width: u16, look: Option<&Look>) -> Vec<Span<'static>> {
    let Some(look) = look else { return Vec::new() };
    let busy = share.user + share.system + share.stolen;
    let parts =
        [(share.user, look.theme.user), (share.system, look.theme.system), (share.stolen, look.theme.stolen)];
    bar(name, &parts, &format!("{}.{}%", busy / 10, busy % 10), width, look)
}

fn memory_line(memory: Memory, width: u16, look: Option<&Look>) -> Line<'static> {
    let Some(look) = look else { return Line::default() };
    let half = width / 2;
    let share = |part: u64, whole: u64| (u128::from(part) * 1000 / u128::from(whole.max(1))) as u32;
    let used = memory.total.saturating_sub(memory.available);
    let cache = memory.cache.min(memory.available);
    let parts = [(share(used, memory.total), look.theme.user), (share(cache, memory.total), look.theme.idle)];
    let mut spans = bar("Mem", &parts, &of(used, memory.total), half, look);
    let swapped = memory.swap_total.saturating_sub(memory.swap_free);
    let parts = [(share(swapped, memory.swap_total), look.theme.system)];
    spans.extend(bar("Swp", &parts, &of(swapped, memory.swap_total), half, look));
    Line::from(spans)
}

fn of(part: u64, whole: u64) -> String {
    const WIDTH: usize = 5;
    let size = |bytes| {
        let mut text = Vec::new();
        append_bytes(&mut text, bytes, WIDTH);
        String::from_utf8_lossy(&text).into_owned()
    };
    format!("{}/{}", size(part), size(whole))
}

/// `Name[||||    text]`, so wide, a blank behind it included. Parts are thousandths.
fn bar(name: &str, parts: &[(u32, Style)], text: &str, width: u16, look: &Look) -> Vec<Span<'static>> {
    let inner = usize::from(width).saturating_sub(name.len() + 3);
    let mut spans = vec![Span::styled(name.to_owned(), look.theme.label), Span::raw("[")];
    let text: String = text.chars().take(inner).collect();
    let room = inner - text.len();
    const MARKS: [&str; 3] = ["|", "#", "*"];
    let (mut filled, mut sum) = (0, 0);
    for ((share, style), mark) in parts.iter().zip(MARKS) {
        sum += share;
        // Where the whole bar were this wide, the text covers its end.
        let end = ((inner * sum as usize + 500) / 1000).min(room);
        spans.push(Span::styled(mark.repeat(end.saturating_sub(filled)), *style));
        filled = filled.max(end);
    }
    spans.push(Span::raw(" ".repeat(room - filled)));
    spans.push(Span::styled(text, look.theme.label));
    spans.push(Span::raw("] "));
    spans
}
