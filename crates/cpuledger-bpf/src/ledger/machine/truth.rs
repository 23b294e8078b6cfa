//! What tasks truly did while they were on no CPU: `truth.h` of the machine notes it, and it is compared with what the ledger tells.

use std::collections::HashMap;

use super::waits::WaitEvent;
use crate::abi;
use crate::ledger::{Newborn, TaskTime};

/// `struct stretch`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Stretch {
    task: u64,
    start_ns: u64,
    left_ns: u64,
    queued_ns: u64,
    came_ns: u64,
    state: u32,
    is_of_now: u16,
    is_unsure: u16,
}

/// `struct truth`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Noted {
    stretches: *const Stretch,
    count: u64,
    waits: *const WaitEvent,
    wait_count: u64,
}

impl Noted {
    /// What happened in the queues of CPUs.
    pub(super) fn waits(&self) -> &[WaitEvent] {
        // SAFETY: an array of the library, which is loaded, with this many of them; nothing runs in it now.
        unsafe { std::slice::from_raw_parts(self.waits, self.wait_count as usize) }
    }
}

/// What was noted and is not over, by the address of a task and its start.
#[derive(Debug, Default)]
pub(super) struct Truth {
    stretches: HashMap<(u64, u64), Vec<Stretch>>,
    /// How many tasks were compared, and for how long those waited that did so for a part of the time.
    pub(super) compared: u64,
    /// How many were told that had not run after their birth.
    pub(super) newborn: u64,
    pub(super) waited_ns: u64,
}

impl Stretch {
    /// Adds the part of it between two times, by state. If `is_late`, what it did at the end is told by what it did before it was queued.
    fn add(&self, (begin_ns, end_ns): (u64, u64), is_late: bool, sums: &mut [u64; STATES]) {
        let part = |from_ns: u64, to_ns: u64| to_ns.min(end_ns).saturating_sub(from_ns.max(begin_ns));
        let queued_ns = if is_late && self.came_ns > end_ns { self.came_ns } else { self.queued_ns };
        sums[self.state as usize] += part(self.left_ns, queued_ns);
        sums[abi::CPULEDGER_OFF_WAITS as usize] += part(queued_ns, self.came_ns);
    }
}

const STATES: usize = abi::CPULEDGER_OFF_STATES as usize;

impl Truth {
    /// Takes what the machine has noted since.
    pub(super) fn take(&mut self, noted: &Noted) {
        // SAFETY: an array of the library, which is loaded, with this many of them; nothing runs in it now.
        let noted = unsafe { std::slice::from_raw_parts(noted.stretches, noted.count as usize) };
        for stretch in noted {
            self.stretches.entry((stretch.task, stretch.start_ns)).or_default().push(*stretch);
        }
    }

    /// What is wrong with what is told of these tasks, in the interval that ends at the cut.
    pub(super) fn compare(&mut self, tasks: &[TaskTime], cut_ns: u64) -> Option<String> {
        tasks.iter().filter(|time| !time.is_last).find_map(|time| self.compare_one(time, cut_ns))
    }

    /// What is wrong with those that are told to wait for their first turn at the cut.
    pub(super) fn compare_newborn(&mut self, newborn: &[Newborn], cut_ns: u64) -> Option<String> {
        self.newborn += newborn.len() as u64;
        newborn.iter().find_map(|Newborn { slot, .. }| {
            let stretches = self.stretches.get(&(slot.task, slot.start_time_ns))?;
            // What one does that switches right now is noted after the switch.
            let waits = |stretch: &Stretch| {
                stretch.is_unsure != 0 || (stretch.left_ns == slot.start_time_ns && stretch.came_ns >= cut_ns)
            };
            (!stretches.iter().any(waits)).then(|| format!("it has run: {slot:?}, {stretches:?}"))
        })
    }

    /// Forgets what is over by the cut, and what the machine noted of this moment.
    pub(super) fn forget(&mut self, cut_ns: u64) {
        self.stretches.retain(|_, stretches| {
            stretches.retain(|stretch| stretch.came_ns > cut_ns && stretch.is_of_now == 0);
            !stretches.is_empty()
        });
    }

    fn compare_one(&mut self, time: &TaskTime, cut_ns: u64) -> Option<String> {
        let off = time.off?;
        let stretches = self.stretches.get(&(time.slot.task, time.slot.start_time_ns))?;
        let is_sure = stretches.iter().any(|stretch| stretch.is_of_now != 0 && stretch.is_unsure == 0);
        let told = off.time;
        let [waits_ns, sleeps_ns, blocked_ns, _, stopped_ns, unseen_ns] = told;
        if !is_sure || unseen_ns > 0 {
            return None;
        }
        let sums = [false, true].map(|is_late| {
            let mut sums = [0; STATES];
            stretches.iter().for_each(|stretch| stretch.add((off.begin_ns, cut_ns), is_late, &mut sums));
            sums
        });
        self.compared += 1;
        self.waited_ns += if sleeps_ns + blocked_ns + stopped_ns > 0 { waits_ns } else { 0 };
        // One that was queued before the cut and came after it may be told by what it did before, where the reader has looked first.
        (!sums.contains(&told))
            .then(|| format!("states {told:?} instead of {sums:?}: {time:?}, {stretches:?}"))
    }
}
