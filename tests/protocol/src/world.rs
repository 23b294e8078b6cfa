//! The memory that hook and reader share, and the clock. The names are those of `bpf/abi.h`.

use crate::Mutation;
use crate::books::{Books, Owner};
use crate::words::{CUTS, FIRST_INTERVAL, FIRST_SLOT, IDLE, NO_SLOT, OF_LEADER, UNCOVERED, run_word};
use loom::sync::atomic::{AtomicU64, Ordering, fence};

/// Time. It passes only when it is read, or when the reader has slept past a cut.
///
/// Free slots of one CPU: no other CPU looks at them, so they are no part of the interleavings.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// How many they are.
    pub count: u64,
    /// The first, whose `next_free` is the link to the next; with `RUN` the first of those that were never used.
    pub link: u64,
}

/// Reading it orders nothing else: what must be seen after a certain time needs barriers on both sides.
pub struct Clock(AtomicU64);

impl Clock {
    /// A time that is read only once, later than all read before.
    pub fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Sleeps until it is `time` or later.
    pub fn sleep_until(&self, time: u64) {
        self.0.fetch_max(time, Ordering::Relaxed);
    }
}

/// `struct cpuledger_cpu`.
pub struct Cpu {
    /// Since when the running task has run.
    pub run: AtomicU64,
    /// The `run` that the last switch wrote, as soon as all before it is booked.
    pub booked: AtomicU64,
    /// Time of the idle task, by parity of the interval.
    pub idle_ns: [AtomicU64; 2],
    /// Time of tasks without a slot, likewise.
    pub unattributed_ns: [AtomicU64; 2],
    /// The slot of the running task, by parity of the run.
    pub current: [AtomicU64; 2],
    /// The process of the running task, where `current` is the slot of its leader.
    pub current_pid: [AtomicU64; 2],
    /// Time in which it was online and no hook had seen what ran, by parity of the interval.
    pub uncovered_ns: [AtomicU64; 2],
    /// Time in which it was offline, likewise.
    pub offline_ns: [AtomicU64; 2],
    /// The slot that ran when the interval of that parity ended, where a switch has closed it; 0: none.
    pub at_cut: [AtomicU64; 2],
    /// What no other CPU, nor the reader, looks at.
    pub own: Own,
}

/// What a CPU has taken from the words that all share.
#[derive(Default)]
pub struct Own {
    /// Free slots.
    pub free: Private<Batch>,
    /// A full batch beside them.
    pub spare: Private<Batch>,
    /// The interval and the next place on its list, by parity.
    pub list_place: [Private<(u64, u64)>; 2],
}

/// Memory of one CPU alone: no interleaving can change what it reads there.
#[derive(Default)]
pub struct Private<T>(std::sync::Mutex<T>);

impl<T: Copy + Default> Private<T> {
    /// What it is.
    ///
    /// # Panics
    /// Never: nothing panics while it is locked.
    pub fn get(&self) -> T {
        *self.0.lock().expect("no thread panics with it")
    }

    /// Changes it.
    ///
    /// # Panics
    /// Never, likewise.
    pub fn set(&self, value: T) {
        *self.0.lock().expect("no thread panics with it") = value;
    }

    /// What it was; it is empty afterwards.
    pub fn take(&self) -> T {
        let value = self.get();
        self.set(T::default());
        value
    }
}

/// `struct cpuledger_slot`.
pub struct Slot {
    /// Its time, by parity of the interval.
    pub wall_ns: [AtomicU64; 2],
    /// The last interval that lists it, by parity.
    pub mark: [AtomicU64; 2],
    /// The interval of its last switch; 0: not yet.
    pub exit_interval: AtomicU64,
    /// Its task; 0: none, as it was folded.
    pub tid: AtomicU64,
    /// Looked at only where slots may run low.
    pub flags: AtomicU64,
    /// Slot number; of no meaning in the last of a batch.
    pub next_free: AtomicU64,
    /// In the first slot of a batch: how many it holds, and the first slot of the next batch, or 0 in the last.
    pub batch: AtomicU64,
    /// Of threads that were folded, by parity of the interval.
    pub folded_threads_ns: [AtomicU64; 2],
    /// Of processes that were folded, likewise.
    pub folded_children_ns: [AtomicU64; 2],
    /// What the task does off the CPU, where a scenario looks at that.
    pub off: Off,
}

/// `struct cpuledger_slot_off`.
pub struct Off {
    /// Since when the task is off the CPU; 0: it is on one.
    pub off: AtomicU64,
    /// Time off the CPU, by parity of the interval.
    pub ns: [AtomicU64; 2],
    /// The interval after whose cut it came back.
    pub cut_interval: AtomicU64,
    /// What `off` was then.
    pub at_cut: AtomicU64,
}

impl Off {
    /// Of a task that is off the CPU since time 0, or on it.
    #[must_use]
    pub fn new(is_on: bool) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            off: AtomicU64::new(u64::from(!is_on)),
            ns: [zero(), zero()],
            cut_interval: zero(),
            at_cut: zero(),
        }
    }
}

/// How a world begins, and which task is the parent of which. Task n has the n-th slot, if it has one from the beginning.
#[derive(Clone, Copy)]
pub struct Setup {
    /// The task that runs on each CPU at time 0; `None`: the CPU is online, and no hook has seen yet what runs there.
    pub running: &'static [Option<u64>],
    /// Tasks that have a slot from the beginning.
    pub tasks: u64,
    /// Slots for tasks.
    pub slots: u64,
    /// Slots that a CPU takes or gives back at once.
    pub slot_batch: u64,
    /// Places on a list that a CPU reserves at once.
    pub list_batch: u64,
    /// With fewer free slots the dead are folded.
    pub low_slots: u64,
    /// The leader of this thread; itself, if it is one.
    pub leader_of: fn(u64) -> u64,
    /// The accounting parent of this process; 0: unknown.
    pub parent_of: fn(u64) -> u64,
    /// Time of all tasks is taken together: the model cannot tell in which slot folding leaves it, nor whether the leader of a
    /// thread without a slot still has one.
    pub is_one_family: bool,
    /// Whether it is kept what tasks do off the CPU. All have a slot from the beginning then.
    pub keeps_off: bool,
    /// How far the clock of a CPU is ahead of the reader's.
    pub ahead_ns: fn(usize) -> i64,
    /// How long before the hook of a switch to this task the scheduler has read its clock.
    pub lag_ns: fn(u64) -> u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            running: &[Some(1)],
            tasks: 3,
            slots: 3,
            slot_batch: 1,
            list_batch: 1,
            low_slots: 0,
            leader_of: |task| task,
            parent_of: |_| 0,
            is_one_family: false,
            keeps_off: false,
            ahead_ns: |_| 0,
            lag_ns: |_| 0,
        }
    }
}

/// Everything.
pub struct World {
    /// What is done otherwise.
    pub mutation: Mutation,
    /// How it began.
    pub setup: Setup,
    /// The number of the first interval.
    pub first_interval: u64,
    /// Places for cuts.
    pub cuts: usize,
    /// The clock.
    pub clock: Clock,
    /// The CPUs.
    pub cpus: Vec<Cpu>,
    /// The slots from [`FIRST_SLOT`] on.
    pub slots: Vec<Slot>,
    /// The slot of each task, from task 1 on; 0: it has none. It stands for the index of tids.
    pub index: Vec<AtomicU64>,
    /// The slots listed, by parity of the interval.
    pub listed: [Vec<AtomicU64>; 2],
    /// How many places are reserved.
    pub listed_count: [AtomicU64; 2],
    /// The number of the running interval.
    pub interval: AtomicU64,
    /// When it ends.
    pub cut: [AtomicU64; CUTS],
    /// Changes so far and the first slot of the first batch.
    pub free_head: AtomicU64,
    /// The first slot that was never used.
    pub fresh: AtomicU64,
    /// How many of them are free and no CPU's.
    pub free_count: AtomicU64,
    /// Something for two CPUs to agree on which stands for what the kernel orders.
    pub kernel: AtomicU64,
    /// What really happened. No part of the protocol.
    pub books: Books,
}

/// More tasks than any scenario has.
const TASKS: u64 = 7;

fn zero() -> AtomicU64 {
    AtomicU64::new(0)
}

fn pair() -> [AtomicU64; 2] {
    [zero(), zero()]
}

impl World {
    /// The world at time 0.
    #[must_use]
    pub fn new(setup: Setup, mutation: Mutation) -> Self {
        let slot_of = |task: u64| if task == 0 { IDLE } else { FIRST_SLOT + task - 1 };
        let cpu = |running: &Option<u64>| Cpu {
            run: AtomicU64::new(run_word(0, running.map_or(UNCOVERED, |_| 0))),
            booked: zero(),
            idle_ns: pair(),
            unattributed_ns: pair(),
            current: [AtomicU64::new(slot_of(running.unwrap_or(0))), zero()],
            current_pid: pair(),
            uncovered_ns: pair(),
            offline_ns: pair(),
            at_cut: pair(),
            own: Own::default(),
        };
        let slot = |number: u64| Slot {
            wall_ns: pair(),
            mark: pair(),
            exit_interval: zero(),
            tid: AtomicU64::new(if number < setup.tasks { number + 1 } else { 0 }),
            flags: zero(),
            next_free: zero(),
            batch: zero(),
            folded_threads_ns: pair(),
            folded_children_ns: pair(),
            off: Off::new(setup.running.contains(&Some(number + 1))),
        };
        let books = Books::default();
        let is_out = |(_, running): &(usize, &Option<u64>)| running.is_none();
        setup.running.iter().enumerate().filter(is_out).for_each(|(cpu, _)| books.leave(cpu, 0, u64::MAX));
        (1..=setup.tasks).for_each(|task| books.take(slot_of(task)));
        let first_interval = if mutation == Mutation::NumberedFromZero { 0 } else { FIRST_INTERVAL };
        let partly_used = (setup.list_batch - 1) * setup.running.len() as u64;
        let list = || (0..setup.slots + partly_used).map(|_| zero()).collect();
        Self {
            mutation,
            setup,
            first_interval,
            cuts: if mutation == Mutation::TwoCuts { 2 } else { CUTS },
            clock: Clock(zero()),
            cpus: setup.running.iter().map(cpu).collect(),
            slots: (0..setup.slots).map(slot).collect(),
            index: (1..=TASKS)
                .map(|task| AtomicU64::new(if task <= setup.tasks { slot_of(task) } else { 0 }))
                .collect(),
            listed: [list(), list()],
            listed_count: pair(),
            interval: AtomicU64::new(first_interval),
            cut: std::array::from_fn(|_| zero()),
            free_head: zero(),
            fresh: AtomicU64::new(slot_of(setup.tasks + 1)),
            free_count: AtomicU64::new(setup.slots - setup.tasks),
            kernel: zero(),
            books,
        }
    }

    /// Whether this is what is done otherwise.
    #[must_use]
    pub fn has(&self, mutation: Mutation) -> bool {
        self.mutation == mutation
    }

    /// The ordering, unless not having it is what is wrong.
    #[must_use]
    pub fn ordering(&self, ordering: Ordering, relaxed: Mutation) -> Ordering {
        if self.has(relaxed) { Ordering::Relaxed } else { ordering }
    }

    /// `control.listed` and the rest of an interval go by its parity, `control.cut` by its place.
    #[must_use]
    pub fn cut_of(&self, interval: u64) -> &AtomicU64 {
        &self.cut[interval as usize % self.cuts]
    }

    /// The slot of a task.
    ///
    /// # Panics
    /// For [`IDLE`] and [`NO_SLOT`], which have none.
    #[must_use]
    pub fn slot(&self, number: u64) -> &Slot {
        &self.slots[(number - FIRST_SLOT) as usize]
    }

    /// The entry of a task in the index.
    #[must_use]
    pub fn entry(&self, task: u64) -> &AtomicU64 {
        &self.index[task as usize - 1]
    }

    /// The task that stays on this CPU, and whether the reader has to know of it at a cut: not of the idle task or one without a slot.
    #[must_use]
    pub fn stay(&self, slot: u64, cpu: usize, task: u64) -> (Owner, bool) {
        (self.owner(slot, cpu, task), slot >= FIRST_SLOT && slot & OF_LEADER == 0)
    }

    /// The owner of the time in this slot on this CPU, if the slot is this task's.
    #[must_use]
    pub fn owner(&self, slot: u64, cpu: usize, task: u64) -> Owner {
        match (slot, task) {
            (IDLE, _) => Owner::Idle(cpu),
            _ if self.setup.is_one_family => Owner::Task(1),
            (NO_SLOT, _) => Owner::NoSlot(cpu),
            (_, 0) => Owner::Stray,
            (_, task) => Owner::Task(task),
        }
    }
}

/// The built-ins of the hook as they are on arm64, and a little weaker: what comes before one of them is ordered with it, and with what
/// comes after it. On x86 each of them is a full barrier, whatever becomes of it.
impl World {
    /// `__sync_val_compare_and_swap`; what it has found. If it fails it orders nothing.
    #[must_use]
    pub fn compare_and_swap(&self, place: &AtomicU64, old: u64, new: u64) -> u64 {
        match place.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(found) => {
                fence(Ordering::SeqCst);
                found
            }
            Err(found) => found,
        }
    }

    /// `__sync_lock_test_and_set`.
    pub fn exchange(&self, place: &AtomicU64, new: u64) -> u64 {
        let found = place.swap(new, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        found
    }

    /// `__sync_fetch_and_add` whose value is used.
    pub fn add(&self, place: &AtomicU64, more: u64) -> u64 {
        let found = place.fetch_add(more, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        found
    }

    /// `__sync_fetch_and_add` whose value is not used: it orders nothing.
    pub fn add_unordered(&self, place: &AtomicU64, more: u64) {
        place.fetch_add(more, Ordering::Relaxed);
    }
}
