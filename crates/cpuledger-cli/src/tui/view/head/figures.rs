//! The figures of the balance, and who has the most.

use cpuledger_proc::escape::escaped;
use cpuledger_view::interval::balance::Shares;
use cpuledger_view::interval::column::{per_mille, percent};
use cpuledger_view::shares::apportion;

use crate::tui::frame::Frame;
use crate::tui::state::State;
use crate::tui::view::canvas::Look;
use crate::tui::view::facts;
use crate::tui::view::pieces::Piece;

/// User, system, stolen, unattributed and idle time.
pub(super) fn parts(frame: &Frame) -> [u64; 5] {
    let interval = &frame.interval;
    let [user, system, stolen] = frame.modes_ns();
    let unattributed = interval.unattributed_ns.unwrap_or(0);
    let rest = interval.capacity_ns.saturating_sub(interval.attributed_ns + unattributed);
    [user, system, stolen, unattributed, interval.idle_ns.unwrap_or(rest)]
}

/// What became of all time.
pub(super) fn of_balance(state: &State, frame: &Frame, look: &Look) -> Vec<Piece> {
    let interval = &frame.interval;
    let theme = &look.theme;
    let length_ns = frame.cpu_length_ns() * state.cpus_in_whole(frame);
    let of = |ns: u64| percent(per_mille(ns, length_ns));
    // They add up as they are printed.
    let shares = apportion(parts(frame), per_mille(interval.capacity_ns, length_ns)).unwrap_or_default();
    let [user, system, stolen, unattributed, idle] = shares;
    let mut pieces = vec![
        (1, format!("user {}", percent(user)), theme.user),
        (1, format!("sys {}", percent(system)), theme.system),
    ];
    // Sources without a balance do not know it.
    if interval.idle_ns.is_some() {
        pieces.push((2, format!("stolen {}", percent(stolen)), theme.stolen));
    }
    if interval.idle_ns.is_some() {
        pieces.push((1, format!("idle {}", percent(idle)), theme.label));
    }
    if interval.unattributed_ns.is_some_and(|ns| ns > 0) {
        pieces.push((1, format!("unattributed {}", percent(unattributed)), theme.unattributed));
    }
    pieces.push((4, format!("= {} %", of(interval.capacity_ns)), theme.label));
    pieces
}

/// Who has the most, and what all tasks together waited.
pub(super) fn others(state: &State, frame: &Frame, look: &Look) -> Vec<Piece> {
    let theme = &look.theme;
    let length_ns = frame.cpu_length_ns() * state.cpus_in_whole(frame);
    let mut pieces = Vec::new();
    // Totals are of no interval.
    if frame.interval.is_since_boot() {
        return pieces;
    }
    if let Some((name, ns)) = largest(frame) {
        pieces.push((3, format!("most: {name} {} %", percent(per_mille(ns, length_ns))), theme.own));
    }
    if let Some([waited_ns, blocked_ns]) = frame.held_ns() {
        pieces.push((7, format!("{} wait for a CPU", facts::average(waited_ns, frame)), theme.label));
        pieces.push((8, format!("{} blocked", facts::average(blocked_ns, frame)), theme.label));
    }
    pieces
}

/// The process with the most time.
fn largest(frame: &Frame) -> Option<(String, u64)> {
    const MOST: usize = 15;
    let row = frame.interval.processes.iter().max_by_key(|row| row.usage.cpu_ns)?;
    let name: String = escaped(row.task.comm.as_bytes()).chars().take(MOST).collect();
    (row.usage.cpu_ns > 0).then_some((name, row.usage.cpu_ns))
}

/// The balance to the nanosecond.
pub(super) fn exact(frame: &Frame) -> String {
    let interval = &frame.interval;
    let known = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| ns.to_string());
    let Shares { rest, .. } = Shares::of(interval);
    let sign = if rest.is_some() { "=" } else { "of" };
    format!(
        "attributed {} + idle {} + unattributed {} {sign} {} ns",
        interval.attributed_ns,
        known(interval.idle_ns),
        known(interval.unattributed_ns),
        interval.capacity_ns
    )
}
