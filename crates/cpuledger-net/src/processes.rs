//! The processes that use most, one by one: what OpenTelemetry calls `process.*`.
//!
//! A process counts from when it is chosen. Its dead children are processes of their own, and are not in it. There is no rest: the sum over all
//! names is in the series by command.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_proc::escape::escaped;

use crate::modes::{Modes, sum};
use crate::series::{CANDIDATES, HYSTERESIS, IDLE, LEAVING_SHARE, Rounds, fading};

/// What is needed of a frame beside [`crate::modes::COLUMNS`].
pub const COLUMNS: [Column; 10] = [
    Column::START_TIME_NS,
    Column::PROCESS_START_NS,
    Column::HIDES_START,
    Column::COMM,
    Column::SELF_NS,
    Column::EXITED_THREADS_NS,
    Column::ENDS_PROCESS,
    Column::END_REALTIME_NS,
    Column::END_BOOTTIME_NS,
    Column::TID,
];

/// Those of [`Counts`], in their order.
const COUNTED: [Column; 4] =
    [Column::VOLUNTARY_SWITCHES, Column::INVOLUNTARY_SWITCHES, Column::MINOR_FAULTS, Column::MAJOR_FAULTS];

/// What their counters grew by.
pub fn growths() -> Vec<Column> {
    COUNTED.into_iter().filter_map(Column::growth).collect()
}

/// How many are ranked at most: those that live and ran between two pushes.
const MOST_CANDIDATES: usize = 1 << 16;

/// A process: its pid, and its start on CLOCK_BOOTTIME in nanoseconds.
type Id = (i64, u64);

/// Voluntary and involuntary context switches, minor and major page faults; `None`: no interval told it.
pub type Counts = [Option<u64>; COUNTED.len()];

/// What a process has used since it was chosen.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its pid.
    pub pid: i64,
    /// When it began, CLOCK_REALTIME in nanoseconds.
    pub creation_ns: u64,
    /// Its name. After an exec it is another one, and its figures begin again.
    pub name: String,
    /// When it was chosen, CLOCK_REALTIME in nanoseconds.
    pub since_ns: u64,
    /// Its CPU time, without that of dead children.
    pub modes: Modes,
    /// Its counters.
    pub counts: Counts,
    score: f64,
    idle: Duration,
    /// The last interval that had a row of it.
    seen: u64,
}

/// Those that are chosen, and what is remembered of the others.
#[derive(Debug, Default)]
pub struct Processes {
    limit: usize,
    chosen: HashMap<Id, Process>,
    /// Those that have ended, gave way or have another name, oldest first, each with the last round that it was shown in; `None`: it is still to
    /// be shown.
    last_looks: VecDeque<(Option<u64>, Process)>,
    /// Names and scores of others that live.
    candidates: HashMap<Id, (String, f64)>,
    intervals: u64,
    /// CLOCK_REALTIME less CLOCK_BOOTTIME at the first interval: a process keeps its identity when the clock is set.
    boot_ns: Option<u64>,
}

impl Processes {
    /// At most so many at a time.
    pub fn new(limit: usize) -> Processes {
        Processes { limit, ..Processes::default() }
    }

    /// Those to be shown, by pid; also those that were shown last in one of the rounds `again`.
    pub fn shown(&self, again: Rounds<'_>) -> Vec<&Process> {
        // One that was chosen again goes by the same name.
        let is_chosen = |own: &Process| {
            let is_it = |other: &Process| (other.pid, other.creation_ns) == (own.pid, own.creation_ns);
            self.chosen.values().any(|other| is_it(other) && other.name == own.name)
        };
        let last_looks = self.last_looks.iter().filter(|(round, own)| match round {
            Some(round) => again.binary_search(round).is_ok() && !is_chosen(own),
            None => true,
        });
        let last_looks = last_looks.map(|(_, process)| process);
        let mut all: Vec<&Process> = self.chosen.values().chain(last_looks).collect();
        all.sort_by_key(|process| (process.pid, process.creation_ns, process.since_ns));
        all
    }

    /// Adds an interval.
    pub fn add(&mut self, frame: &Frame) {
        if self.limit == 0 {
            return;
        }
        self.intervals += 1;
        let clocks = frame.figure(Column::END_REALTIME_NS).zip(frame.figure(Column::END_BOOTTIME_NS));
        let began_ns = clocks
            .map_or(0, |(realtime_ns, _)| realtime_ns.saturating_sub(frame.length_ns().unwrap_or_default()));
        if let (None, Some((realtime_ns, boottime_ns))) = (self.boot_ns, clocks) {
            self.boot_ns = realtime_ns.checked_sub(boottime_ns);
        }
        let table = frame.table(Section::Processes);
        for row in 0..table.len() {
            let (Some(pid), Some(start)) =
                (table.get_signed(Column::PID, row), table.get(Column::START_TIME_NS, row))
            else {
                continue;
            };
            // Pid 0 has what is not shown to this user.
            if pid > 0 && table.get(Column::HIDES_START, row) != Some(1) {
                self.add_row(frame, row, (pid, start), began_ns);
            }
        }
        self.add_dead(frame);
    }

    fn add_row(&mut self, frame: &Frame, row: usize, id: Id, began_ns: u64) {
        let table = frame.table(Section::Processes);
        let cpu_ns = sum(table, row, &[Column::SELF_NS, Column::EXITED_THREADS_NS]).unwrap_or_default();
        let comm = frame.text_of(Section::Processes, Column::COMM, row).unwrap_or_default();
        let Some(process) = self.chosen.get_mut(&id) else {
            if self.candidates.len() >= MOST_CANDIDATES && !self.candidates.contains_key(&id) {
                return;
            }
            let (name, score) = self.candidates.entry(id).or_default();
            *score += cpu_ns as f64;
            if name.as_bytes() != comm {
                *name = escaped(comm);
            }
            return;
        };
        let name = escaped(comm);
        if process.name != name {
            // What it used in this interval counts for the new name.
            let renamed = Process::new(id.0, process.creation_ns, name, began_ns, process.score);
            let old = std::mem::replace(process, renamed);
            self.last_looks.push_back((None, old));
        }
        let user_ns = sum(table, row, &[Column::SELF_USER_NS, Column::EXITED_THREADS_USER_NS]);
        process.modes.add(cpu_ns, user_ns, table.get(Column::STOLEN_NS, row));
        for (own, column) in process.counts.iter_mut().zip(COUNTED) {
            let grown = column.growth().and_then(|growth| table.get(growth, row));
            *own = own.zip(grown).map(|(own, grown)| own.saturating_add(grown)).or(*own).or(grown);
        }
        process.score += cpu_ns as f64;
        if cpu_ns > 0 {
            process.idle = Duration::ZERO;
        }
        process.seen = self.intervals;
    }

    /// Those that died have no row, but records with their time of the interval.
    fn add_dead(&mut self, frame: &Frame) {
        let table = frame.table(Section::Exited);
        let mut ended = Vec::new();
        for record in 0..table.len() {
            let Some(pid) = table.get_signed(Column::PID, record) else { continue };
            let id = (pid, table.get(Column::PROCESS_START_NS, record).unwrap_or_default());
            let Some(process) = self.chosen.get_mut(&id).filter(|process| process.seen < self.intervals)
            else {
                continue;
            };
            process.modes.add(table.get(Column::CPU_NS, record).unwrap_or_default(), None, None);
            if table.get(Column::ENDS_PROCESS, record) == Some(1) {
                ended.push(id);
            }
        }
        let ended = ended.into_iter().filter_map(|id| self.chosen.remove(&id));
        self.last_looks.extend(ended.map(|process| (None, process)));
        self.trim_last_looks();
    }

    fn trim_last_looks(&mut self) {
        let most = self.limit.saturating_mul(CANDIDATES);
        self.last_looks.drain(..self.last_looks.len().saturating_sub(most));
    }

    /// They were shown in this round: those that have ended leave, and are remembered in case that was lost.
    pub fn were_shown(&mut self, round: u64) {
        self.last_looks.iter_mut().for_each(|(shown, _)| *shown = shown.or(Some(round)));
    }

    /// Chooses who is shown from `now_ns` on, CLOCK_REALTIME; `passed` since the last time.
    pub fn rank(&mut self, passed: Duration, now_ns: u64) {
        let factor = fading(passed);
        for process in self.chosen.values_mut() {
            process.score *= factor;
            process.idle += passed;
        }
        let mut candidates: Vec<(f64, Id, String)> =
            self.candidates.drain().map(|(id, (name, score))| (score * factor, id, name)).collect();
        candidates.sort_unstable_by(|(one, own, _), (other, another, _)| {
            other.total_cmp(one).then_with(|| own.cmp(another))
        });
        self.give_way(&candidates);
        for (score, id, name) in candidates {
            if self.chosen.len() < self.limit {
                let creation_ns = self.boot_ns.map_or(0, |boot_ns| boot_ns.saturating_add(id.1));
                self.chosen.insert(id, Process::new(id.0, creation_ns, name, now_ns, score));
            } else if self.candidates.len() < self.limit.saturating_mul(CANDIDATES) {
                self.candidates.insert(id, (name, score));
            }
        }
    }

    /// Those leave that are idle, or rank far below candidates.
    fn give_way(&mut self, candidates: &[(f64, Id, String)]) {
        let mut ranked: Vec<(f64, Id, Duration)> =
            self.chosen.iter().map(|(id, process)| (process.score, *id, process.idle)).collect();
        ranked.sort_unstable_by(|(one, ..), (other, ..)| one.total_cmp(other));
        let room = self.limit.saturating_sub(self.chosen.len());
        let mut best = candidates.iter().skip(room).map(|(score, ..)| *score);
        let mut left = 0;
        for (score, id, idle) in ranked {
            let is_beaten = best.next().is_some_and(|best| best > score * HYSTERESIS);
            if idle >= IDLE || (is_beaten && left < (self.limit / LEAVING_SHARE).max(1)) {
                self.last_looks.extend(self.chosen.remove(&id).map(|process| (None, process)));
                left += 1;
            }
        }
        self.trim_last_looks();
    }
}

impl Process {
    fn new(pid: i64, creation_ns: u64, name: String, since_ns: u64, score: f64) -> Process {
        Process {
            pid,
            creation_ns,
            name,
            since_ns,
            modes: Modes::default(),
            counts: Counts::default(),
            score,
            idle: Duration::ZERO,
            seen: 0,
        }
    }
}

#[cfg(test)]
mod tests;
