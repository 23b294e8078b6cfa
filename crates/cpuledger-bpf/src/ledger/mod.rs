//! The ledger: every nanosecond of every CPU between two cuts, attributed to a task.
//!
//! For each interval, Σ tasks + Σ idle + unattributed = Σ over CPUs of the time they were online, in integer nanoseconds. A CPU
//! is online from its first switch after it came up, the first event that a hook sees, to the event by which the kernel says
//! that it is down. While it is online and no hook has seen what runs there, its time is unattributed: before its first
//! switch, or its entry by a timer (`entry`), and while it is taken down.

mod accounts;
mod attach;
mod births;
mod blame;
mod booked;
mod clock;
mod cut;
mod disk;
mod entry;
mod interval;
mod keep;
mod kept;
#[cfg(test)]
mod machine;
mod network;
mod off;
mod online;
mod options;
mod owned;
mod pairs;
mod parts;
mod shared;
#[cfg(test)]
mod turns;
mod waiters;
mod waiting;
mod waits;
mod watch;
mod wire;

use std::collections::HashMap;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use cpuledger_model::accounts::Account;
use cpuledger_model::buffer::{Trim, empty};
use cpuledger_model::states::OffState;

use crate::abi;
use crate::error::Error;

use cut::{Book, ByList, Running, Tail};
use entry::Entry;
use off::Alive;
use online::Online;
use shared::{Shared, of_parity, take_word};
use watch::Attached;

pub use booked::{Booked, Rested};
#[cfg(feature = "testing")]
pub use disk::tell_devices_apart;
pub use interval::{CpuTime, Interval, Lost, Newborn, SharedWrites, TaskTime, Waiting};
pub use keep::{lacks, lacks_of_network};
pub use kept::layout;
pub use off::{Off, OffTimes};
pub use options::{Memory, Options};
pub use owned::ledgers_of;
pub use waits::{Blame, Waited, Waits};
pub use watch::{Moment, Seen, Watch};
#[cfg(feature = "testing")]
pub use wire::tell_cgroups_apart;
pub use wire::wire_root;

/// The attached ledger. Nothing is pinned: dropping it, or the death of this process, detaches it, unless another process has its
/// [`Ledger::parts`].
pub struct Ledger {
    /// Dropped first: what watches it knows before the hooks are gone.
    attached: Attached,
    /// Its maps and links, by name; none in a test, where the hooks run in user space.
    parts: Vec<(&'static str, OwnedFd)>,
    memory: Memory,
    control: Shared<abi::cpuledger_control>,
    cpus: Shared<abi::cpuledger_cpu>,
    slots: Shared<abi::cpuledger_slot>,
    rests: Shared<abi::cpuledger_slot_rest>,
    offs: Shared<abi::cpuledger_slot_off>,
    listed: Shared<u64>,
    index: Shared<abi::cpuledger_bucket>,
    online: Online,
    /// What brings CPUs into the books without a switch.
    entry: Entry,
    /// By CPU number, up to the highest that is possible.
    books: Vec<Book>,
    /// What the kernel's list says, likewise; empty where the hook tells.
    by_list: Vec<ByList>,
    /// A close that failed half-way leaves books that cannot be corrected.
    is_poisoned: bool,
    tasks: Vec<TaskTime>,
    newborn: Vec<Newborn>,
    /// The first of each list of births that was taken.
    births: Vec<u32>,
    waiting: Vec<Waiting>,
    cpu_times: Vec<CpuTime>,
    /// Slots on a CPU at the cut, with the time that the reader has closed.
    running: HashMap<u32, u64>,
    /// Slots of leaders whose threads without a slot were on a CPU at the cut, likewise; 0: one that itself was lost sight of.
    unlisted: HashMap<u32, u64>,
    /// As in [`Interval`].
    off_fault_ns: u64,
    accounts: accounts::Books,
    /// `None`: nobody wants to know who waits because of whom.
    blame: Option<blame::Books>,
}

/// Whether a slot is that of the leader of this process, and was so until the interval ended or the leader died.
fn is_leader_of(slot: &abi::cpuledger_slot, pid: i32, interval: u64) -> bool {
    (slot.tid, slot.pid) == (pid, pid) && [0, interval].contains(&slot.exit_interval)
}

/// What the list of an interval holds until the next one. To map more anew costs less than to gather the tasks that it takes to fill it.
const MOST_IDLE_BYTES: usize = 4 << 20;

/// Slots that are fetched at once: their lines fit into the first cache.
const FETCHED_AT_ONCE: usize = 16;

impl Ledger {
    /// The size it was attached with.
    pub fn options(&self) -> Options {
        self.memory.options
    }

    /// Kernel memory it locks, in bytes.
    pub fn locked_bytes(&self) -> u64 {
        self.memory.options.locked_bytes(self.books.len() as u32)
    }

    /// What tells from another thread which processes have run. It ends with this ledger.
    ///
    /// # Errors
    /// When the kernel refuses to map the shared records once more.
    pub fn watch(&self) -> Result<Watch, Error> {
        let sizes = [self.memory.options.slots, self.books.len() as u32];
        Watch::of(&self.parts, &self.attached, sizes, self.memory.options.off)
    }

    /// When the running interval began, CLOCK_MONOTONIC.
    pub fn start_ns(&self) -> u64 {
        self.memory.start_ns
    }

    /// What was lost since it was attached.
    pub fn lost(&self) -> Lost {
        let counter = |offset| -> u64 {
            (0..self.books.len() as u32).map(|cpu| self.cpus.word(cpu, offset).load(Ordering::Relaxed)).sum()
        };
        Lost {
            no_slot: counter(offset_of!(abi::cpuledger_cpu, no_slot)),
            no_entry: counter(offset_of!(abi::cpuledger_cpu, no_entry)),
            folded_threads: counter(offset_of!(abi::cpuledger_cpu, folded_threads)),
            folded_processes: counter(offset_of!(abi::cpuledger_cpu, folded_processes)),
            unnamed_deaths: counter(offset_of!(abi::cpuledger_cpu, unnamed_deaths)),
            contended: counter(offset_of!(abi::cpuledger_cpu, contended)),
            missed: counter(offset_of!(abi::cpuledger_cpu, missed)),
            slots: counter(offset_of!(abi::cpuledger_cpu, lost_slots)),
        }
    }

    /// How often the lines that all CPUs share were written, up to the last cut.
    pub fn shared_writes(&self) -> SharedWrites {
        let word = |offset| self.control.word(0, offset).load(Ordering::Relaxed);
        let batch = u64::from(self.memory.options.slot_batch(self.books.len() as u32));
        let fresh = word(offset_of!(abi::cpuledger_control, fresh)) - u64::from(abi::CPULEDGER_SLOT_FIRST);
        SharedWrites {
            slots: (word(offset_of!(abi::cpuledger_control, free_head)) >> 32) + fresh.div_ceil(batch),
            places: self.memory.reserved / u64::from(abi::CPULEDGER_LIST_BATCH),
        }
    }

    /// Chooses the end of the running interval: `cut_ns` (CLOCK_MONOTONIC) or, if that is past or only microseconds away, as
    /// soon as possible. The first choice stays: this says which it is, so that two ledgers can be cut at the same instant.
    ///
    /// # Errors
    /// When this thread does not get to run without being held up.
    pub fn publish(&mut self, cut_ns: u64) -> Result<u64, Error> {
        if let Some(published_ns) = self.memory.published_ns {
            return Ok(published_ns);
        }
        let published_ns = cut::publish(&self.control, self.memory.interval, cut_ns)?;
        self.memory.published_ns = Some(published_ns);
        Ok(published_ns)
    }

    /// Makes the next interval fail, as one does in which a CPU is held up for too long. For tests.
    #[cfg(feature = "testing")]
    pub fn fail_next(&mut self) {
        self.is_poisoned = true;
    }

    /// Sleeps until the cut at `cut_ns` (CLOCK_MONOTONIC) and closes the interval there; if that is past, or only
    /// microseconds away, the cut is as soon as possible.
    ///
    /// # Errors
    /// When a cut cannot be taken; the ledger is of no use afterwards.
    pub fn close_interval(&mut self, cut_ns: u64) -> Result<Interval<'_>, Error> {
        self.close_interval_beside(cut_ns, || &[])
    }

    /// Likewise. `list_waiting` is called after the cut, and tells which tasks wait for a CPU then: [`crate::Inspector::waiting`]. Without that,
    /// one that has been woken and has no CPU yet is told by what it did before.
    ///
    /// # Errors
    /// As [`Ledger::close_interval`].
    pub fn close_interval_beside<'w>(
        &mut self,
        cut_ns: u64,
        list_waiting: impl FnOnce() -> &'w [abi::cpuledger_waiting],
    ) -> Result<Interval<'_>, Error> {
        let cut_ns = self.publish(cut_ns)?;
        if std::mem::replace(&mut self.is_poisoned, true) {
            return Err(Error::Poisoned { what: "it could not close the one before".to_owned() });
        }
        self.memory.published_ns = None;
        clock::sleep_until(cut_ns);
        self.map_slots()?;
        self.close_cpus(cut_ns)?;
        self.accounts.close()?;
        self.accounts.begin(self.memory.interval)?;
        if self.blame.is_some() {
            self.accounts.booked.know(Account::Blame);
        }
        self.take_births();
        self.await_blame(cut_ns)?;
        // A switch that was under way may have made a slot for a task that the kernel had hidden.
        self.map_slots()?;
        self.close_blame(cut_ns)?;
        let stray_ns = self.gather_tasks(cut_ns);
        self.gather_blame();
        self.gather_births(cut_ns);
        self.gather_waiting(list_waiting(), cut_ns);
        let (number, start_ns) = (self.memory.interval, self.memory.start_ns);
        let free_slots = self.free_slots();
        self.open_next(cut_ns);
        self.is_poisoned = false;
        Ok(Interval {
            number,
            start_ns,
            end_ns: cut_ns,
            tasks: &self.tasks,
            newborn: &self.newborn,
            waiting: &self.waiting,
            cpus: &self.cpu_times,
            stray_ns,
            free_slots,
            off_fault_ns: self.off_fault_ns,
            booked: &self.accounts.booked,
            waits: self.blame.as_ref().map(blame::Books::waits),
            slots: &self.slots,
        })
    }

    /// Gives the list of the closed interval back, if it is large: it is needed no more.
    pub fn release_tasks(&mut self) {
        if self.tasks.capacity() * size_of::<TaskTime>() > MOST_IDLE_BYTES {
            self.tasks = Vec::new();
        }
    }

    /// Maps the slots that were ever taken: no task has another.
    ///
    /// # Errors
    /// When the kernel refuses the memory: then this ledger is poisoned, and one that is attached anew has less to map.
    fn map_slots(&mut self) -> Result<(), Error> {
        let fresh = self.control.word(0, offset_of!(abi::cpuledger_control, fresh)).load(Ordering::Acquire);
        let end = fresh.min(u64::from(self.memory.options.slots)) as u32;
        let mapped = self
            .slots
            .map_up_to(end)
            .and_then(|()| self.rests.map_up_to(end))
            .and_then(|()| self.offs.map_up_to(end))
            .and_then(|()| self.accounts.map_up_to(end))
            .and_then(|()| self.blame.as_mut().map_or(Ok(()), |blame| blame.slots.map_up_to(end)));
        mapped.map_err(|error| Error::Poisoned { what: error.to_string() })
    }

    /// Closes every CPU, then fetches what it has booked by itself.
    fn close_cpus(&mut self, cut_ns: u64) -> Result<(), Error> {
        self.list_cpus();
        self.cpu_times.clear();
        self.running.clear();
        let (interval, length_ns) = (self.memory.interval, cut_ns.saturating_sub(self.memory.start_ns));
        for (cpu, book) in (0..).zip(&mut self.books) {
            let closed = book.close(&self.cpus, cpu, cut_ns, self.by_list.get(cpu as usize).copied())?;
            if !closed.is_uncovered {
                self.entry.close(cpu);
            }
            let at_cut = offset_of!(abi::cpuledger_cpu, at_cut) + 4 * (interval & 1) as usize;
            let ran = self.cpus.half(cpu, at_cut).swap(0, Ordering::Relaxed);
            if ran != abi::CPULEDGER_SLOT_IDLE {
                self.running.entry(ran).or_insert(0);
            }
            let word = |offset| self.cpus.word(cpu, offset);
            let take = |offset| word(of_parity(offset, interval)).swap(0, Ordering::Relaxed);
            let mut offline_ns = take(offset_of!(abi::cpuledger_cpu, offline_ns));
            let mut time = CpuTime {
                cpu,
                online_ns: 0,
                is_online: closed.is_online,
                idle_ns: take(offset_of!(abi::cpuledger_cpu, idle_ns)),
                no_slot_ns: take(offset_of!(abi::cpuledger_cpu, no_slot_ns)),
                uncovered_ns: take(offset_of!(abi::cpuledger_cpu, uncovered_ns)),
                switches: word(offset_of!(abi::cpuledger_cpu, switches)).load(Ordering::Relaxed),
            };
            match closed.tail {
                Tail::Split => {}
                Tail::Offline(ns) => offline_ns += ns,
                Tail::Uncovered(ns) => time.uncovered_ns += ns,
                Tail::Lost(Running { slot, instead_of_thread_of, wall_ns }) => {
                    time.uncovered_ns += wall_ns;
                    if slot >= abi::CPULEDGER_SLOT_FIRST && instead_of_thread_of.is_none() {
                        off::lose_sight(&self.offs, slot, cut_ns - wall_ns);
                        self.unlisted.entry(slot).or_insert(0);
                    }
                }
                Tail::Ran(Running { slot: abi::CPULEDGER_SLOT_IDLE, wall_ns, .. }) => time.idle_ns += wall_ns,
                Tail::Ran(Running { slot, instead_of_thread_of: Some(pid), wall_ns })
                    if is_leader_of(&self.slots.copy(slot), pid, interval) =>
                {
                    *self.unlisted.entry(slot).or_insert(0) += wall_ns;
                }
                Tail::Ran(Running { slot: abi::CPULEDGER_SLOT_NONE, wall_ns, .. })
                | Tail::Ran(Running { instead_of_thread_of: Some(_), wall_ns, .. }) => {
                    time.no_slot_ns += wall_ns;
                }
                Tail::Ran(Running { slot, wall_ns, .. }) => *self.running.entry(slot).or_insert(0) += wall_ns,
            }
            // Nothing else: what the first interval holds begins before any clock, and is not given out.
            time.online_ns = length_ns.saturating_sub(offline_ns);
            if time.online_ns > 0 || time.is_online {
                self.cpu_times.push(time);
            }
        }
        Ok(())
    }

    /// Asks the kernel's list which CPUs are online, where no hook tells, and before the first cut: a CPU may have come or gone
    /// before the hook was attached.
    fn list_cpus(&mut self) {
        self.by_list.clear();
        if self.memory.is_watching_cpus && self.memory.interval > u64::from(abi::CPULEDGER_FIRST_INTERVAL) {
            return;
        }
        // In this order: what a hook has changed since the list was read stays.
        let run = |cpu| ByList { run: cut::run_of(&self.cpus, cpu), is_online: true };
        self.by_list.extend((0..self.books.len() as u32).map(run));
        let online = self.online.read(self.by_list.len());
        self.by_list.iter_mut().zip(online).for_each(|(by_list, is_online)| by_list.is_online = is_online);
    }

    /// Reads and zeroes what the closed interval has listed, and frees the slots of the dead. Returns the time that belongs
    /// to no task any more.
    fn gather_tasks(&mut self, cut_ns: u64) -> u64 {
        empty(&mut self.tasks);
        self.off_fault_ns = 0;
        let parity = (self.memory.interval & 1) as u32;
        let count = self.places_taken(self.memory.interval);
        self.memory.reserved += u64::from(count);
        let mut stray_ns = 0;
        for first in (0..count).step_by(FETCHED_AT_ONCE) {
            let mut numbers = [abi::CPULEDGER_SLOT_IDLE; FETCHED_AT_ONCE];
            for (place, number) in (first..count).zip(&mut numbers) {
                let place = self.listed.word(listed_at(place, parity), 0);
                *number = place.load(Ordering::Relaxed) as u32;
                // Emptied, as a CPU may leave some of the places that it reserves.
                place.store(0, Ordering::Relaxed);
            }
            let listed = numbers.into_iter().filter(|number| *number != abi::CPULEDGER_SLOT_IDLE);
            self.fetch(listed.clone());
            for number in listed {
                let running_ns = self.running.remove(&number);
                stray_ns += self.gather_task(number, running_ns, cut_ns);
            }
        }
        // Those that ran through the whole interval. The map keeps its memory.
        let mut running = std::mem::take(&mut self.running);
        for (number, running_ns) in running.drain() {
            stray_ns += self.gather_task(number, Some(running_ns), cut_ns);
        }
        self.running = running;
        // Those that did not run, and are not on the list.
        while let Some(&number) = self.unlisted.keys().next() {
            stray_ns += self.gather_task(number, None, cut_ns);
        }
        let slots = &self.slots;
        self.accounts.take_rest(self.memory.interval, |number| slots.copy(number));
        self.free();
        stray_ns
    }

    /// How many places on the list of an interval are taken or reserved.
    fn places_taken(&self, interval: u64) -> u32 {
        let listed = offset_of!(abi::cpuledger_control, listed);
        self.places_of(listed, interval)
    }

    /// Likewise of a list whose counters are at this place of the control record.
    fn places_of(&self, counters: usize, interval: u64) -> u32 {
        let count = self.control.word(0, of_parity(counters, interval)).load(Ordering::Acquire);
        count.min(u64::from(self.memory.options.places(self.books.len() as u32))) as u32
    }

    /// Brings slots into the cache, all at once: what is read and zeroed by one atomic operation after another would wait for each line.
    fn fetch(&self, numbers: impl Iterator<Item = u32>) {
        let mut sum = 0;
        for number in numbers {
            sum ^= self.slots.fetch(number) ^ self.rests.fetch(number);
            if self.memory.options.off {
                sum ^= self.offs.fetch(number);
            }
        }
        std::hint::black_box(sum);
    }

    /// `running_ns` is what the reader has closed of it; None: it was not on a CPU at the cut.
    fn gather_task(&mut self, number: u32, running_ns: Option<u64>, cut_ns: u64) -> u64 {
        let own = |offset| self.slots.word(number, of_parity(offset, self.memory.interval));
        let folded = |offset| self.rests.word(number, of_parity(offset, self.memory.interval));
        let wall_ns = running_ns.unwrap_or(0) + take_word(own(offset_of!(abi::cpuledger_slot, wall_ns)));
        let folded_threads_ns = self.unlisted.remove(&number).unwrap_or(0)
            + take_word(folded(offset_of!(abi::cpuledger_slot_rest, folded_threads_ns)));
        let folded_children_ns = take_word(folded(offset_of!(abi::cpuledger_slot_rest, folded_children_ns)));
        let slot = self.slots.copy(number);
        let is_last = slot.exit_interval == self.memory.interval;
        if is_last {
            // Before the slot is free: a hook that finds it in the index would take it for what it was.
            if u32::from(slot.flags) & abi::CPULEDGER_SLOT_COLLECTS != 0 {
                self.index_remove(slot.pid, number);
            }
            self.memory.freed.push(number);
        }
        let is_running = running_ns.is_some();
        let end_ns = if is_last { slot.end_ns_or_batch } else { cut_ns };
        let (off, off_fault_ns) = self.take_off(number, wall_ns, end_ns, is_last, is_running).unzip();
        // Nothing tells what a task without a slot did.
        let is_of_one_task = slot.tid != 0
            && folded_threads_ns == 0
            && u32::from(slot.flags) & abi::CPULEDGER_SLOT_COLLECTS == 0;
        let off = off.filter(|_| is_of_one_task);
        self.off_fault_ns += off_fault_ns.filter(|_| is_of_one_task).map_or(0, i64::unsigned_abs);
        let blame = self.take_blame(number, slot.tid);
        let rest = |offset| self.rests.word(number, offset).load(Ordering::Acquire);
        let of_dead = [
            offset_of!(abi::cpuledger_slot_rest, cgroup_id),
            offset_of!(abi::cpuledger_slot_rest, cgroup_v1_cpu_id),
        ];
        let time = TaskTime {
            number,
            wall_ns,
            folded_threads_ns,
            folded_children_ns,
            is_last,
            is_running,
            off,
            cgroup: if is_last { of_dead.map(rest) } else { [0; 2] },
            slot,
        };
        // One that came onto a CPU, and no hook has seen how it left, has no time on it.
        let is_lost = || time.off.is_some_and(|off| off.at_cut == Some(OffState::Unseen));
        let has_waited = blame.is_some_and(|blame| blame.is_some());
        let is_told = slot.tid != 0 && (time.total_ns() > 0 || is_last || has_waited || is_lost());
        let place = is_told.then_some(self.tasks.len());
        self.accounts.take(number, &slot, self.memory.interval, place);
        self.accounts.booked.blame(place, blame);
        if is_told {
            self.tasks.push(time);
        }
        if slot.tid == 0 { time.total_ns() } else { 0 }
    }

    /// Reads and zeroes what the task of a slot did off the CPU in the closed interval, until `end_ns`.
    fn take_off(
        &self,
        number: u32,
        on_ns: u64,
        end_ns: u64,
        is_last: bool,
        is_running: bool,
    ) -> Option<(Off, i64)> {
        let word = self.rests.word(number, offset_of!(abi::cpuledger_slot_rest, first_ns));
        let first_ns = Some(word.load(Ordering::Acquire)).filter(|first_ns| *first_ns > 0)?;
        let alive = Alive {
            interval: self.memory.interval,
            first_ns,
            begin_ns: first_ns.max(self.memory.start_ns),
            end_ns,
            on_ns,
            is_on_at_end: is_last || is_running,
        };
        let taken = off::take(&self.offs, number, alive);
        if is_last {
            word.store(0, Ordering::Relaxed);
        }
        Some(taken)
    }

    /// Takes a slot out of the index. Slots that still collect for a dead task's process are the only ones that the hook leaves in it.
    fn index_remove(&self, pid: i32, number: u32) {
        let entry = u64::from(pid.cast_unsigned()) << 32 | u64::from(number);
        for word in self.entries_of(pid) {
            let _ = word.compare_exchange(entry, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// The slots that the index has for a tid.
    fn numbers_of(&self, tid: i32) -> impl Iterator<Item = u32> {
        let entries = self.entries_of(tid).map(|word| word.load(Ordering::Relaxed));
        entries.filter(move |entry| entry >> 32 == u64::from(tid.cast_unsigned())).map(|entry| entry as u32)
    }

    /// Where the index may have a tid: it is in one of two buckets (`bucket_of`).
    fn entries_of(&self, tid: i32) -> impl Iterator<Item = &AtomicU64> {
        let tid = tid.cast_unsigned();
        let keys = [tid, tid.wrapping_mul(abi::CPULEDGER_BUCKET_HASH) >> abi::CPULEDGER_BUCKET_HASH_SHIFT];
        let buckets = keys.map(|key| key & (self.memory.options.buckets() - 1)).into_iter();
        let places = 0..abi::CPULEDGER_BUCKET_ENTRIES as usize;
        buckets.flat_map(move |bucket| places.clone().map(move |place| self.index.word(bucket, 8 * place)))
    }

    /// Gives the slots of the dead back in whole batches, all with one exchange. What is left waits for the next interval.
    fn free(&mut self) {
        let batch = self.memory.options.slot_batch(self.books.len() as u32) as usize;
        let batches = self.memory.freed.chunks_exact(batch);
        let kept = batches.remainder().len();
        let Some(&[first, ..]) = batches.clone().next() else { return };
        let (half, word) = (
            |number| self.slots.half(number, offset_of!(abi::cpuledger_slot, ppid_or_next_free)),
            |number| self.slots.word(number, offset_of!(abi::cpuledger_slot, end_ns_or_batch)),
        );
        let set_batch = |number, next: u32| {
            word(number).store((batch as u64) << 32 | u64::from(next), Ordering::Relaxed);
        };
        let mut last = first;
        for slots in batches {
            set_batch(last, slots[0]);
            last = slots[0];
            for pair in slots.windows(2) {
                half(pair[0]).store(pair[1], Ordering::Relaxed);
            }
        }
        let head = self.control.word(0, offset_of!(abi::cpuledger_control, free_head));
        let mut seen = head.load(Ordering::Relaxed);
        loop {
            set_batch(last, seen as u32);
            let fresh = (seen >> 32).wrapping_add(1) << 32 | u64::from(first);
            match head.compare_exchange_weak(seen, fresh, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        let count = self.control.word(0, offset_of!(abi::cpuledger_control, free_count));
        let freed = (self.memory.freed.len() - kept) as u64;
        let free = count.fetch_add(freed, Ordering::Relaxed).wrapping_add(freed).cast_signed();
        if free >= i64::from(self.memory.options.low_slots()) {
            self.control.half(0, offset_of!(abi::cpuledger_control, is_low)).store(0, Ordering::Relaxed);
        }
        self.memory.freed.drain(..self.memory.freed.len() - kept);
        self.memory.freed.trim();
    }

    fn free_slots(&self) -> u64 {
        let count = self.control.word(0, offset_of!(abi::cpuledger_control, free_count));
        // Below zero for a moment while one CPU takes what another gives.
        (count.load(Ordering::Relaxed) as i64).max(0) as u64
    }

    /// Hands the emptied accumulators to the interval after the running one.
    fn open_next(&mut self, cut_ns: u64) {
        let word = |offset| self.control.word(0, offset);
        for list in [offset_of!(abi::cpuledger_control, listed), offset_of!(abi::cpuledger_control, waiting)]
        {
            word(of_parity(list, self.memory.interval)).store(0, Ordering::Relaxed);
        }
        self.memory.interval += 1;
        self.memory.start_ns = cut_ns;
        word(cut::place_of(self.memory.interval)).store(0, Ordering::Relaxed);
        word(offset_of!(abi::cpuledger_control, interval)).store(self.memory.interval, Ordering::Release);
    }
}

/// Where a place on the list of an interval of this parity is: `list_slot` has the same.
fn listed_at(place: u32, parity: u32) -> u32 {
    let batch = abi::CPULEDGER_LIST_BATCH;
    place / batch * 2 * batch + parity * batch + place % batch
}

#[cfg(test)]
mod tests {
    use super::{Options, listed_at};

    #[test]
    fn places_of_both_parities_fill_the_list_without_gap() {
        let options = Options { slots: 100, ..Options::default() };
        let places = options.places(3);
        let mut all: Vec<u32> =
            (0..places).flat_map(|place| [listed_at(place, 0), listed_at(place, 1)]).collect();
        all.sort_unstable();
        assert_eq!(all, (0..2 * places).collect::<Vec<_>>());
    }
}
