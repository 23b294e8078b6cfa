//! Tasks that have been woken, and have no CPU yet at the cut. No hook sees a wake-up: the queues of the scheduler tell it, see
//! [`crate::Inspector::waiting`].

use std::collections::HashMap;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

use cpuledger_model::buffer::empty;
use cpuledger_model::states::OffState;

use crate::abi;

use super::cut::CURRENT;
use super::interval::Waiting;
use super::off::{self, Left};
use super::{Ledger, listed_at};

const LAG: usize = offset_of!(abi::cpuledger_cpu, lag_ns);

/// Of a task that has been woken: its slot, what it did since it left the CPU, and from when on it has waited.
struct Woken {
    number: u32,
    left: Left,
    since_ns: u64,
}

impl Ledger {
    /// Takes the tasks that wait for a CPU after the cut. Those that did so at the cut are told to wait from their wake-up on: of what has run
    /// in the interval the time is told anew, and the others are listed.
    pub(super) fn gather_waiting(&mut self, records: &[abi::cpuledger_waiting], cut_ns: u64) {
        empty(&mut self.waiting);
        // Since when they wait, by slot.
        let mut since = HashMap::new();
        for record in records {
            match self.woken_of(record, cut_ns) {
                Ok(Some(woken)) if woken.since_ns < cut_ns => {
                    since.insert(woken.number, woken.since_ns);
                    self.waiting.push(Waiting {
                        number: Some(woken.number),
                        record: *record,
                        rested: Some(woken.left.state),
                        since_ns: woken.since_ns,
                    });
                }
                Ok(_) => {}
                Err(NoSlot) => self.waiting.extend(self.without_slot(record, cut_ns)),
            }
        }
        // In this order: one that leaves its queue for a CPU meanwhile is found here.
        for number in self.came_since_cut() {
            let Some(waiting) = self.waited_at_cut(number, cut_ns) else { continue };
            since.insert(number, waiting.since_ns);
            self.waiting.push(waiting);
        }
        if since.is_empty() {
            return;
        }
        for time in &mut self.tasks {
            let Some(since_ns) = since.remove(&time.number) else { continue };
            if let Some(off) = &mut time.off {
                off.wait_since(since_ns, cut_ns);
            }
        }
        // Those that are left have not run. Each once, whatever the queues looked like.
        self.waiting.retain(|waiting| waiting.number.is_none_or(|number| since.remove(&number).is_some()));
    }

    /// What is told of a task by its slot. `None`: it has had a CPU since the cut, or has one.
    fn woken_of(&self, record: &abi::cpuledger_waiting, cut_ns: u64) -> Result<Option<Woken>, NoSlot> {
        let number = self.slot_of(record).ok_or(NoSlot)?;
        let Some(left) = off::left(&self.offs, number).filter(|left| left.since_ns < cut_ns) else {
            return Ok(None);
        };
        let since_ns = match left.state {
            OffState::Waits => left.since_ns,
            // Before this queue it has been in others.
            _ => match self.queued_ns(record) {
                Some(queued_ns) => {
                    let before_ns = record.run_delay_ns.saturating_sub(left.run_delay_ns);
                    queued_ns.saturating_sub(before_ns).max(left.since_ns)
                }
                None => return Ok(None),
            },
        };
        Ok(Some(Woken { number, left, since_ns }))
    }

    /// The slots of tasks that have come onto a CPU since the cut: what the next interval lists so far, and what has a CPU.
    fn came_since_cut(&self) -> Vec<u32> {
        let next = self.memory.interval + 1;
        let parity = (next & 1) as u32;
        let listed = (0..self.places_taken(next)).map(|place| self.listed.word(listed_at(place, parity), 0));
        let listed = listed.map(|place| place.load(Ordering::Relaxed) as u32);
        let current = (0..self.books.len() as u32).flat_map(|cpu| [(cpu, CURRENT), (cpu, CURRENT + 4)]);
        let current = current.map(|(cpu, offset)| self.cpus.half(cpu, offset).load(Ordering::Acquire));
        let has_slot = |number: &u32| (abi::CPULEDGER_SLOT_FIRST..self.slots.mapped()).contains(number);
        listed.chain(current).filter(has_slot).collect()
    }

    /// What is told of a task that waited for a CPU at the cut, after it had slept, and has come onto one since: if it has not run in the interval.
    fn waited_at_cut(&self, number: u32, cut_ns: u64) -> Option<Waiting> {
        let (rested, since_ns) = off::before_return(&self.offs, number, self.memory.interval)?;
        let slot = self.slots.copy(number);
        let is_listed = slot.mark[(self.memory.interval & 1) as usize] == self.memory.interval;
        let is_one = slot.tid != 0 && u32::from(slot.flags) & abi::CPULEDGER_SLOT_COLLECTS == 0;
        if rested == OffState::Waits || since_ns >= cut_ns || is_listed || !is_one {
            return None;
        }
        let record = abi::cpuledger_waiting {
            tid: slot.tid,
            pid: slot.pid,
            start_time_ns: slot.start_time_ns,
            process_start_time_ns: slot.process_start_time_ns,
            ..Default::default()
        };
        Some(Waiting { number: Some(number), record, rested: Some(rested), since_ns })
    }

    fn without_slot(&self, record: &abi::cpuledger_waiting, cut_ns: u64) -> Option<Waiting> {
        let since_ns = self.queued_ns(record).filter(|since_ns| *since_ns < cut_ns)?;
        Some(Waiting { number: None, record: *record, rested: None, since_ns })
    }

    /// Since when it is in its queue, CLOCK_MONOTONIC. `None`: no switch of that CPU has told how the clocks differ.
    fn queued_ns(&self, record: &abi::cpuledger_waiting) -> Option<u64> {
        if record.cpu >= self.books.len() as u32 {
            return None;
        }
        let lag_ns = self.cpus.word(record.cpu, LAG).load(Ordering::Relaxed);
        (lag_ns != 0).then(|| record.queued_ns.wrapping_add(lag_ns))
    }

    /// The slot of a task that lives.
    fn slot_of(&self, record: &abi::cpuledger_waiting) -> Option<u32> {
        let is_it = |number: &u32| {
            let slot = self.slots.copy(*number);
            (slot.tid, slot.start_time_ns, slot.exit_interval) == (record.tid, record.start_time_ns, 0)
        };
        self.numbers_of(record.tid).filter(|number| *number < self.slots.mapped()).find(is_it)
    }
}

/// A task that has no slot.
struct NoSlot;
