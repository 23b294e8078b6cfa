//! The third line of the head: a meter for each CPU, memory and load, and the graph behind them. Where that has lines of its own,
//! memory and load are below the meters.

use cpuledger::host_statistics::CpuShare;
use cpuledger_model::make;
use cpuledger_view::report::text::size;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::figures::others;
use crate::tui::frame::Frame;
use crate::tui::state::State;
use crate::tui::view::canvas::{Look, bar_marks, step, write};
use crate::tui::view::pieces::{Piece, draw_pieces, fitting, needed};
use crate::tui::view::strip;

/// From this width on, few CPUs have meters with figures.
const WIDE: u16 = 100;

/// So many CPUs at most have figures.
const FEW: usize = 8;

/// The width of such a meter, and of the bar in it.
const METER: u16 = 17;
const BAR: usize = 8;

/// The line of the meters.
const ROW: u16 = 2;

/// The narrowest time line.
const LEAST_TIMELINE: u16 = 12;

/// How wide the meters are, and how many CPUs a cell stands for: 0 where they have figures. `is_alone`: nothing has to be behind them.
fn meters(state: &State, frame: &Frame, width: u16, is_alone: bool) -> (u16, usize) {
    let count =
        if state.settings.has_cpus { frame.around.cpus.len() } else { 1.min(frame.around.cpus.len()) };
    if count == 0 {
        return (0, 0);
    }
    let behind = if is_alone { 0 } else { 2 * WIDE / 3 };
    if count <= FEW && count as u16 * METER + behind <= width && (is_alone || width >= WIDE) {
        return (count as u16 * METER, 0);
    }
    let room = usize::from(width / 2).saturating_sub(4).max(1);
    let each = count.div_ceil(room);
    (4 + count.div_ceil(each) as u16, each)
}

/// Memory and load.
fn words(state: &State, frame: &Frame, look: Option<&Look>) -> Vec<Piece> {
    let label = look.map(|look| look.theme.label).unwrap_or_default();
    let mut pieces: Vec<Piece> = Vec::new();
    if !state.settings.has_memory {
        return pieces;
    }
    let statistics = &frame.around.statistics;
    if let Some(memory) = statistics.memory {
        let used = memory.total.saturating_sub(memory.available);
        pieces.push((0, format!("mem {} of {}", size(used), size(memory.total)), label));
        let swapped = memory.swap_total.saturating_sub(memory.swap_free);
        if memory.swap_total > 0 {
            pieces.push((3, format!("swap {} of {}", size(swapped), size(memory.swap_total)), label));
        }
    }
    if let Some(load) = &statistics.load {
        pieces.push((1, format!("load {}", load.averages.join(" ")), label));
        if let Some(tasks) = load.tasks {
            pieces.push((4, format!("{tasks} tasks"), label));
        }
    }
    if let Some(exited) = frame.interval.exited.as_ref().filter(|exited| !exited.is_empty()) {
        pieces.push((2, format!("{} died", exited.len()), label));
    }
    pieces
}

/// The words that there is room for beside the meters and the narrowest time line.
fn fitting_words(state: &State, frame: &Frame, width: u16, look: Option<&Look>) -> Vec<Piece> {
    let (meters, _) = meters(state, frame, width, false);
    let room = usize::from(width.saturating_sub(meters + 2 + LEAST_TIMELINE.max(width / 3)));
    fitting(words(state, frame, look), room)
}

/// Where the graph is: in its own lines, or behind the words.
pub(super) fn graph_place(state: &State, width: u16, own: Option<Rect>) -> Rect {
    if let Some(own) = own {
        return own;
    }
    let Some(frame) = &state.frame else { return Rect::new(0, ROW, width, 1) };
    let (meters, _) = meters(state, frame, width, false);
    let words = needed(&fitting_words(state, frame, width, None)) as u16;
    let before = (meters + u16::from(meters > 0) + words + 2 * u16::from(words > 0)).min(width);
    Rect::new(before, ROW, width - before, 1)
}

/// Draws the line; `graph` is where the graph has lines of its own.
pub(super) fn draw(state: &State, look: &Look, buffer: &mut Buffer, graph: Option<Rect>) {
    let width = buffer.area.width;
    let Some(frame) = &state.frame else { return };
    let left = strip::left_of(graph, width);
    let (meters, each) = meters(state, frame, left, graph.is_some());
    if meters > 0 && each == 0 {
        draw_bars(&shown(state, frame), look, buffer, ROW);
    } else if meters > 0 {
        let mut column = write(buffer, 0, ROW, "CPU ", look.theme.label);
        for of_cell in shown(state, frame).chunks(each) {
            let mark = step(mean(of_cell), look.is_ascii).to_string();
            column = write(buffer, column, ROW, &mark, look.theme.user);
        }
    }
    let from = meters + u16::from(meters > 0);
    if graph.is_some() {
        let room = usize::from(left.saturating_sub(from));
        draw_pieces(&fitting(others(state, frame, look), room), buffer, from, ROW);
        draw_pieces(&fitting(words(state, frame, Some(look)), left.into()), buffer, 0, ROW + 1);
    } else {
        draw_pieces(&fitting_words(state, frame, width, Some(look)), buffer, from, ROW);
    }
    strip::draw(state, look, buffer, graph_place(state, width, graph));
}

fn busy(share: &CpuShare) -> u32 {
    share.user + share.system + share.stolen
}

fn mean(cpus: &[CpuShare]) -> u32 {
    cpus.iter().map(busy).sum::<u32>() / cpus.len().max(1) as u32
}

/// Each CPU, or all of them as one.
fn shown(state: &State, frame: &Frame) -> Vec<CpuShare> {
    let cpus = &frame.around.cpus;
    if state.settings.has_cpus || cpus.is_empty() {
        return cpus.clone();
    }
    let part = |part: fn(&CpuShare) -> u32| cpus.iter().map(part).sum::<u32>() / cpus.len() as u32;
    vec![make!(CpuShare {
        cpu: 0,
        user: part(|share| share.user),
        system: part(|share| share.system),
        stolen: part(|share| share.stolen),
    })]
}

/// `0 ━━━━╍╍──  62 %` for each.
fn draw_bars(cpus: &[CpuShare], look: &Look, buffer: &mut Buffer, row: u16) {
    let [user, system, stolen, _, idle] = bar_marks(look.is_ascii);
    for (index, share) in cpus.iter().enumerate() {
        let from = index as u16 * METER;
        let mut column = write(buffer, from, row, &format!("{} ", share.cpu), look.theme.label);
        let styles = [look.theme.user, look.theme.system, look.theme.stolen];
        let (mut filled, mut sum) = (0, 0);
        let parts = [(share.user, user), (share.system, system), (share.stolen, stolen)];
        for ((part, mark), style) in parts.into_iter().zip(styles) {
            sum += part as usize;
            let end = ((sum * BAR + 500) / 1000).clamp(filled, BAR);
            column = write(buffer, column, row, &mark.repeat(end - filled), style);
            filled = end;
        }
        column = write(buffer, column, row, &idle.repeat(BAR - filled), look.theme.idle);
        write(buffer, column, row, &format!("{:>4} %", busy(share) / 10), look.theme.text);
    }
}
