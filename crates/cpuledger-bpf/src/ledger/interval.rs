//! What a closed interval tells.

use std::mem::offset_of;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use crate::abi;

use cpuledger_model::states::OffState;

use super::booked::Booked;
use super::off::Off;
use super::shared::Shared;
use super::waits::Waits;

/// The time of one task in an interval.
#[derive(Debug, Clone, Copy)]
pub struct TaskTime {
    /// Number of its slot, which no other task gets before the interval after its last.
    pub number: u32,
    /// Time on a CPU, in nanoseconds.
    pub wall_ns: u64,
    /// Time of threads of its process without a slot, dead or alive, in nanoseconds.
    pub folded_threads_ns: u64,
    /// Likewise of processes that it accounts for.
    pub folded_children_ns: u64,
    /// Whether its last switch was in the interval (or that of its tid: `CPULEDGER_SLOT_RENUMBERED`). Only then the final
    /// values in `slot` are set.
    pub is_last: bool,
    /// Whether it was on a CPU at the cut.
    pub is_running: bool,
    /// What it did while it was on none. `None`: that is not kept, the kernel does not tell it, or a task without a slot of its own
    /// is in its books.
    pub off: Option<Off>,
    /// The cgroups that it has died in: of the unified hierarchy, and of that of the cpu controller; 0: not known, or it lives.
    pub cgroup: [u64; 2],
    /// The identity of the task; the accumulators in it have no meaning.
    pub slot: abi::cpuledger_slot,
}

impl TaskTime {
    /// All of its time.
    pub fn total_ns(&self) -> u64 {
        self.wall_ns + self.folded_threads_ns + self.folded_children_ns
    }
}

/// A task that has not run since its fork.
#[derive(Debug, Clone, Copy)]
pub struct Newborn {
    /// Number of its slot.
    pub number: u32,
    /// The identity of the task.
    pub slot: abi::cpuledger_slot,
}

/// A task that waits for a CPU at the cut, and has not run in the interval.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// The number of its slot. `None`: it has none yet.
    pub number: Option<u32>,
    /// Its identity, as the kernel has it: [`abi::cpuledger_waiting`].
    pub record: abi::cpuledger_waiting,
    /// What it did before, where its slot tells it.
    pub rested: Option<OffState>,
    /// Since when it waits, CLOCK_MONOTONIC: before the cut.
    pub since_ns: u64,
}

/// One CPU in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTime {
    /// Its number.
    pub cpu: u32,
    /// Time in which it was online, in nanoseconds: for a CPU that stays online the length of the interval.
    pub online_ns: u64,
    /// Whether it was online when it was closed, which is at the cut or soon after: a CPU that comes or goes in between is as it is
    /// then. How long it was online in the interval is in `online_ns`, to the nanosecond.
    pub is_online: bool,
    /// Time of its idle task, in nanoseconds.
    pub idle_ns: u64,
    /// Time of tasks that found no slot, in nanoseconds.
    pub no_slot_ns: u64,
    /// Time in which it was online and no hook has seen what ran, in nanoseconds.
    pub uncovered_ns: u64,
    /// Switches since the ledger was attached.
    pub switches: u64,
}

/// What a ledger could not keep since it was attached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// How often a task found no free slot. Until its next switch its time was that of its process or, where that has no slot
    /// either, not attributed.
    pub no_slot: u64,
    /// How often a task found its part of the index full, likewise.
    pub no_entry: u64,
    /// Dead threads whose time went to the slot of their process, because slots ran low.
    pub folded_threads: u64,
    /// Dead processes whose time went to the slot of their accounting parent.
    pub folded_processes: u64,
    /// Dead tasks that had no slot at their last switch.
    pub unnamed_deaths: u64,
    /// Switches that could not be booked when they happened: their time is with a task before or after. Not known to
    /// happen.
    pub contended: u64,
    /// Switches for which the kernel did not run the hook: the time of the task that left went to the one that came. Some
    /// kernels run no hooks in the context of tasks they protect.
    pub missed: u64,
    /// Free slots that no CPU can take any more: dozens of CPUs gave some back at the same instant. Not known to happen.
    pub slots: u64,
}

impl Lost {
    /// Dead tasks whose identity was lost, and whose time was not unless no process could take it.
    pub fn unidentified_exits(&self) -> u64 {
        self.folded_threads + self.folded_processes + self.unnamed_deaths
    }

    /// What to add, by [`Lost::plus`], to the counts of the ledger that takes over, so that the sum goes on from these.
    #[must_use]
    pub fn minus(&self, successor: &Lost) -> Lost {
        self.each(successor, u64::wrapping_sub)
    }

    /// The sum with the counts of the ledger that took over.
    #[must_use]
    pub fn plus(&self, successor: &Lost) -> Lost {
        self.each(successor, u64::wrapping_add)
    }

    fn each(&self, other: &Lost, both: fn(u64, u64) -> u64) -> Lost {
        Lost {
            no_slot: both(self.no_slot, other.no_slot),
            no_entry: both(self.no_entry, other.no_entry),
            folded_threads: both(self.folded_threads, other.folded_threads),
            folded_processes: both(self.folded_processes, other.folded_processes),
            unnamed_deaths: both(self.unnamed_deaths, other.unnamed_deaths),
            contended: both(self.contended, other.contended),
            missed: both(self.missed, other.missed),
            slots: both(self.slots, other.slots),
        }
    }

    /// Whether some time or some identity was lost for want of slots.
    pub fn is_short_of_slots(&self) -> bool {
        self.no_slot + self.no_entry + self.unidentified_exits() > 0
    }
}

/// How often the cache lines that all CPUs share were written since the ledger was attached, by CPUs and by the reader. On a machine
/// with many CPUs each such write takes the line away from all others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SharedWrites {
    /// Batches of free slots that were taken or given back: a fork takes a slot, the reader gives those of the dead back.
    pub slots: u64,
    /// Runs of places on the list of an interval that were reserved: a task takes a place when it first runs in an interval.
    pub places: u64,
}

/// One closed interval, valid until the next.
#[derive(Debug)]
pub struct Interval<'a> {
    /// Counted from the attachment; the first that is given out is 2.
    pub number: u64,
    /// CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC: the cut.
    pub end_ns: u64,
    /// Every task that ran, or ended, in no order.
    pub tasks: &'a [TaskTime],
    /// Tasks that were forked and have not run by the cut, each in the interval of its birth only: they wait for a CPU. One that is forked
    /// microseconds before the cut may be here in the next.
    pub newborn: &'a [Newborn],
    /// Tasks that wait for a CPU at the cut and have not run, each once: what is known of them, see [`super::Ledger::close_interval_beside`].
    /// Those that wait since they left the CPU, or since their birth, are here in each interval.
    pub waiting: &'a [Waiting],
    /// Every CPU that was online at any time in it.
    pub cpus: &'a [CpuTime],
    /// Time that was folded into a task which had just been forgotten, in nanoseconds.
    pub stray_ns: u64,
    /// Slots that are free now.
    pub free_slots: u64,
    /// What the time off the CPU of all tasks is off by, in nanoseconds: booked twice, or not booked although each switch was seen. It is 0,
    /// but where the clocks of two CPUs differ.
    pub off_fault_ns: u64,
    /// What accounts have booked.
    pub booked: &'a Booked,
    /// Who has waited because of whom. `None`: that is not kept.
    pub waits: Option<Waits<'a>>,
    /// The slots as they are now, after the cut.
    pub(super) slots: &'a Shared<abi::cpuledger_slot>,
}

impl Interval<'_> {
    /// The final figures of a task that has died since the cut, or goes on under another tid. `None`: it has not, or nothing holds them any
    /// more.
    pub fn final_figures(&self, time: &TaskTime) -> Option<abi::cpuledger_counters> {
        // The hook writes this last, and no task gets the slot before the next interval is closed, but for the dead of low slots.
        let ended = self
            .slots
            .word(time.number, offset_of!(abi::cpuledger_slot, exit_interval))
            .load(Ordering::Acquire);
        let slot = self.slots.copy(time.number);
        let is_same = (slot.tid, slot.start_time_ns) == (time.slot.tid, time.slot.start_time_ns);
        (ended > self.number && slot.exit_interval == ended && is_same).then_some(slot.last)
    }

    /// Σ over CPUs of the time they were online.
    pub fn capacity_ns(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.online_ns).sum()
    }

    /// CPUs online when they were closed, see [`CpuTime::is_online`].
    pub fn online_cpus(&self) -> u32 {
        self.cpus.iter().filter(|cpu| cpu.is_online).count() as u32
    }

    /// Σ over tasks.
    pub fn attributed_ns(&self) -> u64 {
        self.tasks.iter().map(TaskTime::total_ns).sum()
    }

    /// Σ over CPUs of the time of their idle tasks.
    pub fn idle_ns(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.idle_ns).sum()
    }

    /// Σ over CPUs of the time of tasks that found no slot.
    pub fn no_slot_ns(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.no_slot_ns).sum()
    }

    /// Σ over CPUs of the time in which no hook has seen what ran.
    pub fn uncovered_ns(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.uncovered_ns).sum()
    }

    /// What could not be attributed: the sum of the reasons.
    pub fn unattributed_ns(&self) -> u64 {
        self.no_slot_ns() + self.uncovered_ns() + self.stray_ns
    }

    /// Capacity less all that is booked: 0.
    pub fn imbalance_ns(&self) -> i128 {
        let booked = [self.attributed_ns(), self.idle_ns(), self.unattributed_ns()];
        i128::from(self.capacity_ns()) - booked.into_iter().map(i128::from).sum::<i128>()
    }
}
