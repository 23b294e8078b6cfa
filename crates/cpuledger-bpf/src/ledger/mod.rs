//! The ledger: every nanosecond of every CPU between two cuts, attributed to a task.
//!
//! For each interval, Σ tasks + Σ idle + unattributed = Σ over CPUs of the time they were in the books, in integer
//! nanoseconds. A CPU is in the books from its first switch after the ledger was attached, or after it came online, until
//! the cut at which it is found offline; until that cut an offline CPU counts as idle. For a CPU that stays online that is
//! the length of the interval.

mod attach;
mod clock;
mod cut;
mod online;
mod shared;

use std::collections::HashMap;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

use libbpf_rs::{Link, Object};

use crate::abi;
use crate::object::Error;

use cut::{Book, Running};
use online::Online;
use shared::Shared;

/// How large a ledger shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Tasks that can be told apart: those that have run since the ledger was attached and are alive, and those that died
    /// in the running interval. Between `CPULEDGER_MIN_SLOTS` and `CPULEDGER_MAX_SLOTS`. Unless stated,
    /// `CPULEDGER_DEFAULT_SLOTS`: as many as 16 MiB of locked memory hold.
    pub slots: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { slots: abi::CPULEDGER_DEFAULT_SLOTS }
    }
}

impl Options {
    /// The numbers of slots that a ledger can have.
    pub fn possible_slots() -> std::ops::RangeInclusive<u32> {
        abi::CPULEDGER_MIN_SLOTS..=abi::CPULEDGER_MAX_SLOTS
    }

    /// Kernel memory that a ledger of this size locks, in bytes, on a machine with so many possible CPUs.
    pub fn locked_bytes(&self, possible_cpus: u32) -> u64 {
        let slots = u64::from(self.slots);
        slots * (size_of::<abi::cpuledger_slot>() + size_of::<abi::cpuledger_slot_rest>()) as u64
            + 2 * slots * size_of::<u64>() as u64
            + u64::from(self.buckets()) * size_of::<abi::cpuledger_bucket>() as u64
            + u64::from(possible_cpus) * size_of::<abi::cpuledger_cpu>() as u64
            + size_of::<abi::cpuledger_control>() as u64
    }

    /// Fewer free slots are few: the dead are folded.
    fn low_slots(&self) -> u32 {
        self.slots / abi::CPULEDGER_LOW_SLOTS_SHARE
    }

    /// Buckets of the index of tids: at most half of their entries are ever used.
    fn buckets(&self) -> u32 {
        (2 * self.slots / abi::CPULEDGER_BUCKET_ENTRIES).next_power_of_two()
    }
}

/// The time of one task in an interval.
#[derive(Debug, Clone, Copy)]
pub struct TaskTime {
    /// Number of its slot, which nobody else has before the interval after its last.
    pub number: u32,
    /// Time on a CPU, in nanoseconds.
    pub wall_ns: u64,
    /// Time of threads of its process that died in the interval and whose identity was lost, in nanoseconds.
    pub folded_threads_ns: u64,
    /// Likewise of processes that it accounts for.
    pub folded_children_ns: u64,
    /// Whether its last switch was in the interval (or that of its tid: `CPULEDGER_SLOT_RENUMBERED`). Only then the final
    /// values in `slot` are set.
    pub is_last: bool,
    /// Whether it was on a CPU at the cut.
    pub is_running: bool,
    /// Who it is; the accumulators in it have no meaning.
    pub slot: abi::cpuledger_slot,
}

impl TaskTime {
    /// All of its time.
    pub fn total_ns(&self) -> u64 {
        self.wall_ns + self.folded_threads_ns + self.folded_children_ns
    }
}

/// One CPU in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTime {
    /// Its number.
    pub cpu: u32,
    /// Since when it was in the books, CLOCK_MONOTONIC: the begin of the interval, or later.
    pub begin_ns: u64,
    /// Time of its idle task, in nanoseconds.
    pub idle_ns: u64,
    /// Time of tasks that found no slot, in nanoseconds.
    pub unattributed_ns: u64,
    /// Switches since the ledger was attached.
    pub switches: u64,
}

/// What a ledger could not keep since it was attached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
    /// Switches that could not be booked when they happened: their time is with a task before or after. Not known to
    /// happen.
    pub contended: u64,
    /// Switches for which the kernel did not run the hook: the time of the task that left went to the one that came. Some
    /// kernels run no hooks in the context of tasks they protect.
    pub missed: u64,
}

impl Lost {
    /// Whether some time or some identity was lost for want of slots.
    pub fn is_short_of_slots(&self) -> bool {
        self.no_slot + self.no_entry + self.folded_threads + self.folded_processes > 0
    }
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
    /// Every CPU that was in the books.
    pub cpus: &'a [CpuTime],
    /// Time that was folded into a task which had just been forgotten, in nanoseconds.
    pub stray_ns: u64,
    /// Slots that are free now.
    pub free_slots: u64,
}

impl Interval<'_> {
    /// Σ over CPUs of the time they were in the books.
    pub fn capacity_ns(&self) -> u64 {
        self.cpus.iter().map(|cpu| self.end_ns - cpu.begin_ns).sum()
    }

    /// Σ over tasks.
    pub fn attributed_ns(&self) -> u64 {
        self.tasks.iter().map(TaskTime::total_ns).sum()
    }

    /// Σ over CPUs of the time of their idle tasks.
    pub fn idle_ns(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.idle_ns).sum()
    }

    /// What belongs to tasks that could not be told apart.
    pub fn unattributed_ns(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.unattributed_ns).sum::<u64>() + self.stray_ns
    }

    /// Capacity less all that is booked: 0.
    pub fn imbalance_ns(&self) -> i128 {
        let booked = [self.attributed_ns(), self.idle_ns(), self.unattributed_ns()];
        i128::from(self.capacity_ns()) - booked.into_iter().map(i128::from).sum::<i128>()
    }
}

/// The attached ledger. Nothing is pinned: dropping it, or the death of this process, detaches it.
pub struct Ledger {
    _links: Vec<Link>,
    _object: Object,
    options: Options,
    control: Shared<abi::cpuledger_control>,
    cpus: Shared<abi::cpuledger_cpu>,
    slots: Shared<abi::cpuledger_slot>,
    rests: Shared<abi::cpuledger_slot_rest>,
    listed: Shared<u64>,
    index: Shared<abi::cpuledger_bucket>,
    online: Online,
    /// Whether a hook counts the changes of the set of online CPUs.
    is_watching_cpus: bool,
    /// By CPU number, for all possible CPUs.
    books: Vec<Book>,
    is_online: Vec<bool>,
    interval: u64,
    start_ns: u64,
    /// The cut that ends the running interval, once it is chosen.
    published_ns: Option<u64>,
    /// A close that failed half-way leaves books that cannot be mended.
    is_stuck: bool,
    tasks: Vec<TaskTime>,
    cpu_times: Vec<CpuTime>,
    /// Slots on a CPU at the cut, with the time that the reader has closed.
    running: HashMap<u32, u64>,
    /// Slots of leaders whose threads without a slot were on a CPU at the cut, likewise.
    of_leaders: HashMap<u32, u64>,
    freed: Vec<u32>,
}

/// Whether a slot is that of the leader of this process, and was so to the end of the interval or his.
fn is_leader_of(slot: &abi::cpuledger_slot, pid: i32, interval: u64) -> bool {
    (slot.tid, slot.pid) == (pid, pid) && [0, interval].contains(&slot.exit_interval)
}

/// Offset of the entry for an interval in a pair of accumulators at `offset`.
fn of_parity(offset: usize, interval: u64) -> usize {
    offset + 8 * (interval & 1) as usize
}

impl Ledger {
    /// The size it was attached with.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Kernel memory it locks, in bytes.
    pub fn locked_bytes(&self) -> u64 {
        self.options.locked_bytes(self.books.len() as u32)
    }

    /// When the running interval began, CLOCK_MONOTONIC.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// What was lost since it was attached.
    pub fn lost(&self) -> Lost {
        let counter = |offset| self.control.word(0, offset).load(Ordering::Relaxed);
        Lost {
            no_slot: counter(offset_of!(abi::cpuledger_control, no_slot)),
            no_entry: counter(offset_of!(abi::cpuledger_control, no_entry)),
            folded_threads: counter(offset_of!(abi::cpuledger_control, folded_threads)),
            folded_processes: counter(offset_of!(abi::cpuledger_control, folded_processes)),
            contended: counter(offset_of!(abi::cpuledger_control, contended)),
            missed: counter(offset_of!(abi::cpuledger_control, missed)),
        }
    }

    /// Chooses the end of the running interval: `cut_ns` (CLOCK_MONOTONIC) or, if that is past or only microseconds away, as
    /// soon as possible. The first choice stays: this says which it is, so that two ledgers can be cut at the same instant.
    ///
    /// # Errors
    /// When this thread does not get to run without being held up.
    pub fn publish(&mut self, cut_ns: u64) -> Result<u64, Error> {
        if let Some(published_ns) = self.published_ns {
            return Ok(published_ns);
        }
        let published_ns = cut::publish(&self.control, self.interval, cut_ns)?;
        self.published_ns = Some(published_ns);
        Ok(published_ns)
    }

    /// Sleeps until the cut at `cut_ns` (CLOCK_MONOTONIC) and closes the interval there; if that is past, or only
    /// microseconds away, the cut is as soon as possible.
    ///
    /// # Errors
    /// When a cut cannot be taken; the ledger is of no use afterwards.
    pub fn close_interval(&mut self, cut_ns: u64) -> Result<Interval<'_>, Error> {
        let cut_ns = self.publish(cut_ns)?;
        if std::mem::replace(&mut self.is_stuck, true) {
            return Err(Error::Stuck { what: "it could not close the one before".to_owned() });
        }
        self.published_ns = None;
        clock::sleep_until(cut_ns);
        self.close_cpus(cut_ns)?;
        let stray_ns = self.gather_tasks();
        let (number, start_ns) = (self.interval, self.start_ns);
        let free_slots = self.free_slots();
        self.open_next(cut_ns);
        self.is_stuck = false;
        Ok(Interval {
            number,
            start_ns,
            end_ns: cut_ns,
            tasks: &self.tasks,
            cpus: &self.cpu_times,
            stray_ns,
            free_slots,
        })
    }

    /// Closes every CPU, then fetches what it has booked by itself.
    fn close_cpus(&mut self, cut_ns: u64) -> Result<(), Error> {
        let changes = self.is_watching_cpus.then(|| self.hotplug_steps());
        self.online.read(&mut self.is_online, changes);
        self.cpu_times.clear();
        self.running.clear();
        let interval = self.interval;
        for (cpu, book) in (0..).zip(&mut self.books) {
            let closed = book.close(&self.cpus, cpu, cut_ns, self.is_online[cpu as usize])?;
            let at_cut = offset_of!(abi::cpuledger_cpu, at_cut) + 4 * (interval & 1) as usize;
            let ran = self.cpus.half(cpu, at_cut).swap(0, Ordering::Relaxed);
            let Some(begin_ns) = closed.begin_ns else { continue };
            if ran != abi::CPULEDGER_SLOT_IDLE {
                self.running.entry(ran).or_insert(0);
            }
            let take = |offset| self.cpus.word(cpu, of_parity(offset, interval)).swap(0, Ordering::Relaxed);
            let mut time = CpuTime {
                cpu,
                begin_ns,
                idle_ns: take(offset_of!(abi::cpuledger_cpu, idle_ns)),
                unattributed_ns: take(offset_of!(abi::cpuledger_cpu, unattributed_ns)),
                switches: self
                    .cpus
                    .word(cpu, offset_of!(abi::cpuledger_cpu, switches))
                    .load(Ordering::Relaxed),
            };
            match closed.running {
                Some(Running { slot: abi::CPULEDGER_SLOT_IDLE, wall_ns, .. }) => time.idle_ns += wall_ns,
                Some(Running { slot, instead_of_thread_of: Some(pid), wall_ns })
                    if is_leader_of(&self.slots.copy(slot), pid, interval) =>
                {
                    *self.of_leaders.entry(slot).or_insert(0) += wall_ns;
                }
                Some(Running { slot: abi::CPULEDGER_SLOT_NOBODY, wall_ns, .. })
                | Some(Running { instead_of_thread_of: Some(_), wall_ns, .. }) => {
                    time.unattributed_ns += wall_ns;
                }
                Some(Running { slot, wall_ns, .. }) => *self.running.entry(slot).or_insert(0) += wall_ns,
                None => {}
            }
            self.cpu_times.push(time);
        }
        Ok(())
    }

    /// Reads and zeroes what the closed interval has listed, and frees the slots of the dead. Returns the time that belongs
    /// to no task any more.
    fn gather_tasks(&mut self) -> u64 {
        self.tasks.clear();
        self.freed.clear();
        let parity = (self.interval & 1) as u32;
        let listed = offset_of!(abi::cpuledger_control, listed);
        let count = self.control.word(0, of_parity(listed, self.interval)).load(Ordering::Acquire);
        let count = count.min(u64::from(self.options.slots)) as u32;
        let mut stray_ns = 0;
        for place in 0..count {
            let number = self.listed.word(parity * self.options.slots + place, 0).load(Ordering::Relaxed);
            let running_ns = self.running.remove(&(number as u32));
            stray_ns += self.gather_task(number as u32, running_ns);
        }
        // Those that ran through the whole interval. The map keeps its memory.
        let mut running = std::mem::take(&mut self.running);
        for (number, running_ns) in running.drain() {
            stray_ns += self.gather_task(number, Some(running_ns));
        }
        self.running = running;
        // Leaders that did not run, and are not on the list.
        while let Some(&number) = self.of_leaders.keys().next() {
            stray_ns += self.gather_task(number, None);
        }
        self.free();
        stray_ns
    }

    /// `running_ns` is what the reader has closed of it; None: it was not on a CPU at the cut.
    fn gather_task(&mut self, number: u32, running_ns: Option<u64>) -> u64 {
        // Nearly all are zero: do not write them.
        let take = |word: &AtomicU64| match word.load(Ordering::Relaxed) {
            0 => 0,
            _ => word.swap(0, Ordering::Relaxed),
        };
        let own = |offset| self.slots.word(number, of_parity(offset, self.interval));
        let folded = |offset| self.rests.word(number, of_parity(offset, self.interval));
        let wall_ns = running_ns.unwrap_or(0) + take(own(offset_of!(abi::cpuledger_slot, wall_ns)));
        let folded_threads_ns = self.of_leaders.remove(&number).unwrap_or(0)
            + take(folded(offset_of!(abi::cpuledger_slot_rest, folded_threads_ns)));
        let folded_children_ns = take(folded(offset_of!(abi::cpuledger_slot_rest, folded_children_ns)));
        let slot = self.slots.copy(number);
        let is_last = slot.exit_interval == self.interval;
        if is_last {
            // Before the slot is free: who finds it in the index would take it for what it was.
            if slot.flags & abi::CPULEDGER_SLOT_COLLECTS != 0 {
                self.index_remove(slot.pid, number);
            }
            self.freed.push(number);
        }
        let is_running = running_ns.is_some();
        let time =
            TaskTime { number, wall_ns, folded_threads_ns, folded_children_ns, is_last, is_running, slot };
        if slot.tid == 0 {
            return time.total_ns();
        }
        if time.total_ns() > 0 || is_last {
            self.tasks.push(time);
        }
        0
    }

    /// Takes a slot out of the index. Slots that still collect for a dead task's process are the only ones that the hook leaves in
    /// it; the entry is in one of two buckets (`bucket_of`).
    fn index_remove(&self, pid: i32, number: u32) {
        let tid = pid.cast_unsigned();
        let entry = u64::from(tid) << 32 | u64::from(number);
        for key in [tid, tid.wrapping_mul(abi::CPULEDGER_BUCKET_HASH) >> abi::CPULEDGER_BUCKET_HASH_SHIFT] {
            let bucket = key & (self.options.buckets() - 1);
            for place in 0..abi::CPULEDGER_BUCKET_ENTRIES as usize {
                let word = self.index.word(bucket, 8 * place);
                let _ = word.compare_exchange(entry, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }

    /// Gives the slots of the dead back, all with one exchange.
    fn free(&mut self) {
        let (Some(first), Some(last)) = (self.freed.first(), self.freed.last()) else { return };
        let next = |number| self.slots.half(number, offset_of!(abi::cpuledger_slot, ppid_or_next_free));
        for pair in self.freed.windows(2) {
            next(pair[0]).store(pair[1], Ordering::Relaxed);
        }
        let head = self.control.word(0, offset_of!(abi::cpuledger_control, free_head));
        let mut seen = head.load(Ordering::Relaxed);
        loop {
            next(*last).store(seen as u32, Ordering::Relaxed);
            let fresh = (seen >> 32).wrapping_add(1) << 32 | u64::from(*first);
            match head.compare_exchange_weak(seen, fresh, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        let count = self.control.word(0, offset_of!(abi::cpuledger_control, free_count));
        let freed = self.freed.len() as u64;
        let free = count.fetch_add(freed, Ordering::Relaxed).wrapping_add(freed).cast_signed();
        if free >= i64::from(self.options.low_slots()) {
            self.control.half(0, offset_of!(abi::cpuledger_control, is_low)).store(0, Ordering::Relaxed);
        }
    }

    /// Before the list of online CPUs is read: a change that this misses is in the list.
    fn hotplug_steps(&self) -> u64 {
        self.control.word(0, offset_of!(abi::cpuledger_control, hotplug)).load(Ordering::SeqCst)
    }

    fn free_slots(&self) -> u64 {
        let count = self.control.word(0, offset_of!(abi::cpuledger_control, free_count));
        // Below zero for a moment while one CPU takes what another gives.
        (count.load(Ordering::Relaxed) as i64).max(0) as u64
    }

    /// Hands the emptied accumulators to the interval after the running one.
    fn open_next(&mut self, cut_ns: u64) {
        let word = |offset| self.control.word(0, offset);
        word(of_parity(offset_of!(abi::cpuledger_control, listed), self.interval))
            .store(0, Ordering::Relaxed);
        self.interval += 1;
        self.start_ns = cut_ns;
        word(cut::place_of(self.interval)).store(0, Ordering::Relaxed);
        word(offset_of!(abi::cpuledger_control, interval)).store(self.interval, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn the_default_size_locks_less_than_16_mib() {
        assert!(Options::default().locked_bytes(1024) < 16 * 1024 * 1024);
    }
}
