//! What accounts have booked, in rows.

use cpuledger_bpf::ledger::{Interval as Closed, Rested};
use cpuledger_model::counters::Counters;
use cpuledger_model::field::FieldSet;
use cpuledger_model::interval::{Interval, Row};
use cpuledger_model::last_booked::LastBooked;
use cpuledger_model::make;
use cpuledger_model::task::TaskId;

use super::RowBuilder;
use super::find::{place_of_process, place_of_row};

impl RowBuilder {
    /// Gives what accounts have booked to a process or, if it has no row, to nobody.
    pub(super) fn book(&mut self, process: TaskId, booked: &Counters, into: &mut Interval) {
        if !self.accounts.book(process, booked) {
            into.lose_booked(booked);
        }
    }

    /// What is shown of what was booked to a task that has died: whose it was may be known, but not whether its user might have traced it.
    pub(super) fn last_booked(&self, booked: &Counters) -> LastBooked {
        let booked = LastBooked::of(booked);
        if self.io.is_unlimited() { booked } else { booked.open() }
    }

    /// What was booked for tasks that did not run: those that wait for a CPU have rows.
    pub(super) fn tell_rested(&self, closed: &Closed<'_>, into: &mut Interval) {
        for Rested { ids: [tid, pid], starts_ns: [start_ns, process_start_ns], booked } in
            closed.booked.of_others()
        {
            let (task, process) = (TaskId::new(*tid, *start_ns), TaskId::new(*pid, *process_start_ns));
            if let Some(place) = place_of_row(&into.tasks, task, process) {
                self.add_booked(&mut into.tasks[place], booked);
            }
            let place = place_of_process(&into.processes, *pid);
            match place.filter(|place| into.processes[*place].task.start_time_ns == process.start_time_ns) {
                Some(place) => self.add_booked(&mut into.processes[place], booked),
                None => into.lose_booked(booked),
            }
        }
    }

    fn add_booked(&self, row: &mut Row, booked: &Counters) {
        let known = row.usage.growth.known;
        row.usage.growth.add(&make!(Counters { known: known.union(booked.known), ..*booked }));
        row.usage.growth.known = known;
    }

    /// Of rows that did not run, it is known that accounts have booked nothing to them.
    pub(in crate::source::ledger) fn tell_nothing(&self, into: &mut Interval) {
        if self.booked_nothing.known == FieldSet::EMPTY {
            return;
        }
        for row in into.processes.iter_mut().chain(&mut into.tasks).filter(|row| !row.usage.is_unseen) {
            let shown = self.booked_nothing.without(self.held_back(&row.task));
            row.usage.growth = row.usage.growth.or(&shown);
        }
    }
}
