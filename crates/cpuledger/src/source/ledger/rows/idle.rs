//! Rows of processes and tasks that did not run in an interval.

use cpuledger_model::counters::Counters;
use cpuledger_model::field::FieldSet;
use cpuledger_model::interval::{Interval, Row, Usage};
use cpuledger_model::make;
use cpuledger_model::states::OffTasks;
use cpuledger_model::task::{Pid, Task, TaskId, Tid};
use rustc_hash::FxHashMap;

use crate::source::procfs::is_start;

use super::super::accounts::OffCpu;
use super::super::resting::{IdleTime, Starved, hide_counters, is_dead};
use super::RowBuilder;
use super::find::{find_process, find_row, is_listed};
use super::waiting::with_wait;
use crate::source::interface::Wanted;

/// Processes, or tasks, that did not run in an interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Idle<'a> {
    pub(crate) others: &'a [Task],
    /// Those of them that /proc has told.
    pub(crate) from_procfs: &'a [Tid],
    pub(crate) time: IdleTime,
    pub(crate) are_processes: bool,
}

impl RowBuilder {
    /// Rows of tasks that did not run because they waited for a CPU all the time.
    pub(super) fn add_starved(&mut self, into: &mut Interval) {
        let (mut rows, mut shown) = (Vec::new(), FxHashMap::default());
        for place in 0..self.starved.len() {
            let starved = self.starved[place];
            let Starved { process, task, slot, .. } = starved;
            match find_row(&self.rows.tasks, task, process).filter(|row| !is_dead(row)) {
                Some(row) if starved.has_run(row) => self.resting.forget(task),
                Some(row) => {
                    let totals = self.lives.totals_of_task(task, slot);
                    rows.push(self.with_totals(row, totals));
                    shown.insert(task, totals.map_or(FieldSet::EMPTY, |totals| totals.known));
                }
                None => self.resting.unlist_starved(task),
            }
        }
        let mut found = rows.iter().map(Task::id).peekable();
        self.starved.retain(|starved| found.next_if_eq(&starved.task).is_some());
        let idle = Idle { others: &rows, from_procfs: &[], time: self.idle_time(into), are_processes: false };
        self.add_idle(&idle, &mut into.tasks);
        hide_counters(&mut into.tasks, &shown);
    }

    /// Processes without time of which a task waited for a CPU, and those that are wanted anyway.
    pub(super) fn add_others(&mut self, wanted: &Wanted<'_>, into: &mut Interval) {
        let (mut extra, mut from_procfs) = (Vec::new(), Vec::new());
        let mut pids: Vec<Pid> = self.starved.iter().map(|starved| Pid(starved.process.tid.0)).collect();
        pids.extend(wanted.pids);
        pids.sort_unstable();
        pids.dedup();
        for pid in &pids {
            if self.accounts.has(pid.0) {
                continue;
            }
            let row = find_process(&self.rows.processes, pid.0).copied();
            // Some hosts keep their own processes from programs.
            let told = if row.is_some() { None } else { self.process_of_procfs(*pid, wanted.fields) };
            from_procfs.extend(told.map(|row| row.tid));
            extra.extend(row.or(told));
        }
        self.add_idle_processes(&extra, &from_procfs, into);
        let starved = self.starved.iter().map(|starved| starved.process);
        let shown = starved.filter(|process| !self.accounts.has(process.tid.0)).map(|process| {
            (process, self.lives.totals(process).map_or(FieldSet::EMPTY, |totals| totals.known))
        });
        let shown: FxHashMap<TaskId, FieldSet> = shown.collect();
        hide_counters(&mut into.processes, &shown);
        into.from_procfs.append(&mut from_procfs);
    }

    /// Adds processes that are not there yet, without use. What the ledger has shown of one does not fall.
    pub(crate) fn add_idle_processes(&mut self, others: &[Task], from_procfs: &[Tid], into: &mut Interval) {
        let others: Vec<Task> =
            others.iter().map(|row| self.with_totals(row, self.lives.totals(row.id()))).collect();
        let idle = Idle { others: &others, from_procfs, time: self.idle_time(into), are_processes: true };
        self.add_idle(&idle, &mut into.processes);
    }

    /// A row with the figures of the books, where they have them. Those of the row itself were read after the cut. They may be
    /// ahead of what the next interval shows: a thread that is about to end counts in its process, and its end is told later.
    fn with_totals(&self, row: &Task, totals: Option<&Counters>) -> Task {
        let mut row = *row;
        if let Some(totals) = totals {
            let held_back = self.held_back(&row);
            totals.or(&Counters::of(&row)).without(held_back).store_into(&mut row);
        }
        row
    }

    /// Adds rows that are not there yet, without use. What those from /proc have used is unknown.
    pub(crate) fn add_idle(&mut self, idle: &Idle<'_>, rows: &mut Vec<Row>) {
        let Idle { others, from_procfs, time, are_processes } = *idle;
        if others.is_empty() {
            return;
        }
        let is_told = |row: &Task| from_procfs.contains(&row.tid);
        // The hooks were shown that it waits, and not that it ran: what it used is unknown, not 0.
        for Row { task, usage, .. } in
            rows.iter_mut().filter(|row| row.usage.cpu_ns == 0 && is_told(&row.task))
        {
            let (growth, accounting_parent) = (usage.growth, usage.accounting_parent);
            let unseen = Usage::of_idle_in_ledger(task.known, true);
            *usage = make!(Usage { growth, accounting_parent, ..unseen });
        }
        // Files tell starts in ticks.
        let is_known = |row: &Task| {
            let is_it = |known: &&Row| known.task.tid == row.tid;
            is_listed(rows, row)
                || is_told(row)
                    && rows
                        .iter()
                        .find(is_it)
                        .is_some_and(|known| is_start(row.start_time_ns, known.task.start_time_ns))
        };
        let new: Vec<&Task> = others.iter().filter(|row| !is_known(row)).collect();
        for row in new {
            let heir = self.attribution.heir(row.id());
            let is_unseen = is_told(row);
            let has_run = self.lives.totals(row.id()).is_some();
            let rests = self.resting.of_idle(row, &time, are_processes, has_run).filter(|_| !is_unseen);
            let off_cpu = rests.map_or_else(OffCpu::default, |(tasks, alive_ns)| {
                match OffCpu::of_idle(tasks, alive_ns) {
                    // It was not there when the interval began.
                    off_cpu if alive_ns < time.length_ns => {
                        OffCpu { at_start: Some(OffTasks::default()), ..off_cpu }
                    }
                    off_cpu => off_cpu,
                }
            });
            let usage = make!(Usage {
                states: off_cpu.states,
                off_at_start: off_cpu.at_start,
                off_at_end: off_cpu.at_end,
                accounting_parent: (heir != row.id()).then_some(Pid(heir.tid.0)),
                ..Usage::of_idle_in_ledger(row.known, is_unseen)
            });
            let growth = with_wait(usage.growth, usage.states);
            rows.push(Row::new(*row, make!(Usage { growth, ..usage })));
        }
        // Two parts, each in its order.
        rows.sort_by_key(|row| row.task.place_key());
    }
}
