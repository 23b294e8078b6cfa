//! What is to be said of the interval: the page of help has it, and the head no more than a mark.

use cpuledger::Interval;
use cpuledger_proc::count::count_of;
use cpuledger_view::interval::column::{decimals, text_of};
use cpuledger_view::interval::{append_uptime, head};

use crate::tui::frame::{Frame, Kind};
use crate::tui::state::State;

/// How much was not seen, or is lost: what the page of help says of it.
pub(super) fn count_of_notes(interval: &Interval) -> usize {
    head::losses(interval).1
}

/// Of the capacity, the part that figures may be wrong by and still are as they are printed, nearly.
const NEARLY: u64 = 100;

/// Whether figures of this interval are wrong: the books do not balance, deaths were lost, or a part of the time that is seen is in no row or
/// in a wrong one. What a source never sees is no such thing.
pub(super) fn is_inexact(interval: &Interval) -> bool {
    let hidden_ns = interval.hidden_cpu_ns.unwrap_or(0);
    let elsewhere_ns = interval.unattributed_by.total_ns().saturating_add(hidden_ns);
    interval.fault().is_some()
        || interval.missed_exits > 0
        || elsewhere_ns > 0 && elsewhere_ns >= interval.capacity_ns / NEARLY
}

/// Sentences about the interval that is shown, and about the machine.
pub(super) fn sentences(state: &State) -> Vec<String> {
    let Some(frame) = &state.frame else { return Vec::new() };
    let uptime = text_of(|text| append_uptime(text, frame.around.uptime.ticks(1_000_000_000)));
    let mut all = vec![
        format!("{}, up {uptime}", frame.around.time_of_day),
        head::balance(&frame.interval),
        head::losses(&frame.interval).0,
        counts(state, frame),
    ];
    all.extend(averages(frame));
    all.extend(pressure(frame));
    all
}

fn counts(state: &State, frame: &Frame) -> String {
    let interval = &frame.interval;
    let statistics = &frame.around.statistics;
    let tasks = statistics.load.as_ref().and_then(|load| load.tasks);
    let lost = interval.unidentified_exits.unwrap_or(0) + interval.missed_exits;
    let active = interval.processes.iter().filter(|row| row.usage.cpu_ns > 0).count();
    let (kind, noun) =
        if state.settings.has_threads { (Kind::Task, "thread") } else { (Kind::Process, "process") };
    let listed = state.settings.has_all.then(|| frame.all(kind).count() as u64);
    let parts = [
        tasks.map(|tasks| count_of(tasks.into(), "task")),
        statistics.running.map(|running| format!("{running} running")),
        frame.around.born.map(|born| format!("{born} born")),
        interval.exited.as_ref().map(|exited| format!("{} died", exited.len() as u64 + lost)),
        Some(format!("{} active", count_of(active as u64, "process"))),
        listed.map(|listed| format!("{} listed", count_of(listed, noun))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How many tasks did what on average, from the sums of their nanoseconds.
pub(super) fn averages(frame: &Frame) -> Option<String> {
    let [waited_ns, blocked_ns] = frame.held_ns()?;
    let average = |sum_ns: u64| average(sum_ns, frame);
    let [running, waiting, blocked] = [frame.interval.attributed_ns, waited_ns, blocked_ns].map(average);
    Some(format!("On average: {running} running, {waiting} waiting for a CPU, {blocked} blocked"))
}

/// How many did at once on average what took so long together.
pub(super) fn average(sum_ns: u64, frame: &Frame) -> String {
    let length_ns = u128::from(frame.interval.length_ns().max(1));
    decimals((u128::from(sum_ns) * 100 / length_ns) as u64, 2)
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
