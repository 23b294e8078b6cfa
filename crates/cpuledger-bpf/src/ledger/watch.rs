//! Which processes have run since some moment: a walk need not visit the threads of the others again.
//!
//! A switch marks the slot of the task that leaves the CPU with the interval, and each CPU tells which task it runs. So a process of which no
//! slot has a mark since, and that no CPU runs, has not run. Looking costs a word or two for each task that has run since the ledger was
//! attached. It neither stops nor changes anything, and the thread that closes the intervals need not know of it.

use std::collections::HashSet;
use std::fmt;
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::abi;
use crate::error::Error;

use super::parts::{Parts, find};
use super::shared::Shared;

/// Maximum number of looks at a CPU whose switch is under way. One takes less than 1 µs, unless the hypervisor takes the CPU away.
const ATTEMPTS: u32 = 10_000;

/// Whether the hooks of a ledger are attached. They may be for as long as this value lives.
#[derive(Debug)]
pub(super) struct Attached(Arc<AtomicBool>);

impl Default for Attached {
    fn default() -> Attached {
        Attached(Arc::new(AtomicBool::new(true)))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// The begin of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The running interval.
    interval: u64,
    /// How often a task could not be told apart so far.
    lost: u64,
    /// Whether a CPU ran something that no slot tells.
    is_blind: bool,
}

/// What a look has found.
#[derive(Debug)]
pub struct Seen {
    /// When it began.
    pub moment: Moment,
    /// Processes that may have run since the moment before, by pid, of those that were asked for; `None`: any may.
    pub ran: Option<HashSet<i32>>,
}

/// Looks at an attached ledger from another thread than that of its reader.
pub struct Watch {
    attached: Arc<AtomicBool>,
    control: Shared<abi::cpuledger_control>,
    cpus: Shared<abi::cpuledger_cpu>,
    slots: Shared<abi::cpuledger_slot>,
    count: u32,
    /// Whether the ledger keeps what tasks do off the CPU.
    has_off: bool,
    cpu_ids: u32,
}

impl fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Watch").field("is_over", &self.is_over()).finish_non_exhaustive()
    }
}

impl Watch {
    /// Of the parts of a ledger with this number of slots.
    ///
    /// # Errors
    /// When the kernel refuses to map the shared records once more.
    pub(super) fn of(
        parts: &Parts,
        attached: &Attached,
        [count, cpu_ids]: [u32; 2],
        has_off: bool,
    ) -> Result<Watch, Error> {
        Ok(Watch {
            attached: Arc::clone(&attached.0),
            control: Shared::new(find(parts, ".data.control")?, 1)?,
            cpus: Shared::new(find(parts, "cpus")?, cpu_ids)?,
            slots: Shared::unmapped(find(parts, "slots")?, count)?,
            count,
            has_off,
            cpu_ids,
        })
    }

    /// Whether the ledger is gone: then it tells nothing any more.
    pub fn is_over(&self) -> bool {
        !self.attached.load(Ordering::SeqCst)
    }

    /// Looks which of these processes have run since that moment, up to now. Those are included that ran at any time in the interval of the moment,
    /// or in the one before it. `None`: the ledger is gone.
    ///
    /// Where a host hides switches from programs, a task that came onto a CPU unseen is told once it has left.
    ///
    /// # Errors
    /// When the kernel refuses to map more of the shared records.
    pub fn look(
        &mut self,
        since: Option<&Moment>,
        is_asked_for: impl Fn(i32) -> bool,
    ) -> Result<Option<Seen>, Error> {
        // In this order: what comes after is found by the next look.
        let lost = self.lost();
        let interval = self.word_of_control(offset_of!(abi::cpuledger_control, interval));
        let running = self.running();
        let moment = Moment { interval, lost, is_blind: running.is_none() };
        let since = since.filter(|since| !since.is_blind && since.lost == lost);
        let ran = match (since, running) {
            (Some(since), Some(running)) => {
                let ran = self.marked(since.interval.saturating_sub(1), &running)?;
                ran.map(|ran| ran.filter(|pid| is_asked_for(*pid)).collect())
            }
            _ => None,
        };
        Ok((!self.is_over()).then_some(Seen { moment, ran }))
    }

    fn word_of_control(&self, offset: usize) -> u64 {
        self.control.word(0, offset).load(Ordering::Acquire)
    }

    /// How often a switch was booked to no slot, or to that of another task.
    fn lost(&self) -> u64 {
        let mut counters = vec![
            offset_of!(abi::cpuledger_cpu, no_slot),
            offset_of!(abi::cpuledger_cpu, no_entry),
            offset_of!(abi::cpuledger_cpu, contended),
        ];
        if !self.has_off {
            // Else the slot of the task that left unseen is marked, too.
            counters.push(offset_of!(abi::cpuledger_cpu, missed));
        }
        let counter = |cpu, offset| self.cpus.word(cpu, offset).load(Ordering::Acquire);
        (0..self.cpu_ids).flat_map(|cpu| counters.iter().map(move |offset| counter(cpu, *offset))).sum()
    }

    /// The slots of the tasks that have a CPU now; `None`: there is one that has none, or only a share in that of its leader.
    fn running(&self) -> Option<Vec<u32>> {
        let mut running = Vec::new();
        for cpu in 0..self.cpu_ids {
            let number = self.running_on(cpu)?;
            if number >= abi::CPULEDGER_CURRENT_OF_LEADER || number == abi::CPULEDGER_SLOT_NONE {
                return None;
            }
            if number != abi::CPULEDGER_SLOT_IDLE {
                running.push(number);
            }
        }
        Some(running)
    }

    /// The slot of the task that has this CPU. All that ran before it there, and still had the CPU when this began, is marked.
    fn running_on(&self, cpu: u32) -> Option<u32> {
        const PARITY: u64 = abi::CPULEDGER_RUN_PARITY as u64;
        let word = |offset| self.cpus.word(cpu, offset).load(Ordering::Acquire);
        for _ in 0..ATTEMPTS {
            let booked = word(offset_of!(abi::cpuledger_cpu, booked));
            let run = word(offset_of!(abi::cpuledger_cpu, run));
            if run & u64::from(abi::CPULEDGER_RUN_OFFLINE) != 0 {
                return Some(abi::CPULEDGER_SLOT_IDLE);
            }
            if run & u64::from(abi::CPULEDGER_RUN_UNCOVERED) != 0 {
                return None;
            }
            // A switch turns the parity at its begin, and has booked when `booked` has the same one. A reader changes only the time.
            let offset = offset_of!(abi::cpuledger_cpu, current) + 4 * (run & PARITY) as usize;
            let current = self.cpus.half(cpu, offset).load(Ordering::Acquire);
            if (booked ^ run) & PARITY == 0
                && word(offset_of!(abi::cpuledger_cpu, run)) & PARITY == run & PARITY
            {
                return Some(current);
            }
            std::hint::spin_loop();
        }
        None
    }

    /// The processes of these slots, and of those that were marked in this interval or later.
    fn marked<'a>(
        &'a mut self,
        interval: u64,
        running: &'a [u32],
    ) -> Result<Option<impl Iterator<Item = i32> + 'a>, Error> {
        let fresh = self.word_of_control(offset_of!(abi::cpuledger_control, fresh));
        let end = fresh.min(u64::from(self.count)) as u32;
        self.slots.map_up_to(end)?;
        if running.iter().any(|number| *number >= end) {
            return Ok(None);
        }
        let slots = &self.slots;
        let word = |number, offset| slots.word(number, offset).load(Ordering::Relaxed);
        let is_marked = move |number: &u32| {
            let mark = offset_of!(abi::cpuledger_slot, mark);
            word(*number, mark).max(word(*number, mark + 8)) >= interval
        };
        let pid = |number| {
            let half = slots.half(number, offset_of!(abi::cpuledger_slot, pid));
            half.load(Ordering::Relaxed).cast_signed()
        };
        let marked = (abi::CPULEDGER_SLOT_FIRST..end).filter(is_marked);
        Ok(Some(marked.chain(running.iter().copied()).map(pid)))
    }
}
