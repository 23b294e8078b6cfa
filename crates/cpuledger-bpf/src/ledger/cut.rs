//! The reader's half of the cut: publishing it, and closing each CPU at it. `bpf/ledger.bpf.c` has the other half.
//!
//! # How the ledger works
//!
//! At every context switch, `ledger.bpf.c` adds the time since the previous switch to the task that ran. The run segments of a CPU leave no gap. So
//! Σ tasks + Σ idle + unattributed is exactly the elapsed time, in integer nanoseconds, without correction, rounding or remainder. The
//! reader (`crates/cpuledger-bpf/src/ledger/`) takes the cuts. Only it and the hooks write to the shared maps.
//!
//! - **One word per CPU.** `run` holds the start of the current run segment, the parity, and whether the CPU is uncovered or offline. Switches and
//!   the reader change it only by compare-and-swap, and no value occurs twice. `current[parity]` is the slot that runs.
//! - **A cut** T is published as a proposal at least 200 µs ahead, and confirmed only if that was early enough. A switch that finds a proposal
//!   too late voids it, and the reader chooses another T. So a delayed reader makes a later cut, never a wrong one. After T each CPU is closed
//!   once. Either its next switch closes it and splits its run segment at T, or the reader closes it and moves the start of the segment to T.
//!   `booked` repeats the `run` of the last switch that is completely accounted for; the reader takes the closed accumulators only then.
//! - **Two of each accumulator**, by parity of the interval. The reader owns those of the closed interval until the next cut.
//! - **Slots** are found by tid in an index of 8-entry buckets. A bucket is one cache line, and each tid has two. The address of the task_struct
//!   distinguishes tasks with the same tid. A tid can be reused before the last switch. An exec by a thread that is not the leader exchanges two
//!   tids, and the old slot then ends as *renumbered*. Each CPU holds a batch of 32 free slots, and a spare batch.
//! - **The fork hook** fixes the accounting parent. A thread has that of its process.
//! - **Slots are low** when fewer than 1/8 are free. Then a dying task's time is folded into another slot, and its own slot is freed at once.
//!   - A thread's time goes to its leader's slot. A process's time goes to its accounting parent's slot, or else to that of the next one up
//!     (also noted at the fork). If neither has one, it goes to the slot of the parent that the kernel names at the death.
//!   - If the run segment crosses the cut, nothing is folded, because the reader may be reading the slot.
//!   - The leader may have no slot: it died first, it was replaced by another thread's exec, or it has not run. Then the slot of the first dead
//!     thread *collects*: it stays in the index, and the process's other threads fold into it. When the last of them dies, the collecting slot itself is folded into the heir's. What is
//!     left at the cut is taken out of the index by the reader.
//!   - If another CPU folds the target slot at the same moment, the time may appear under the slot's next owner.
//! - **Slots are very low** when fewer than 1/32 are free. Then threads get no slot, and leaders still do. The time of a thread without a slot goes to
//!   its leader's slot and counts as that of exited threads. Time is unattributed only for a process without a slot, and for a
//!   thread without a slot whose leader is dead. All of this is counted.
//! - **Final values**: at its last switch a task's counters, its parent and the time are copied into its slot, because the task cannot be read
//!   afterwards. If the reader has closed the CPU, it knows which task ran at the cut; otherwise the switch that split the run segment does.
//! - **Memory.** A slot is four cache lines: one that each switch touches, one that the fork writes, two for the last switch. States take two more,
//!   of which a switch touches one. What is seldom used takes 48 bytes more, the lists 16, and the index some 16. So the default of 32,768 slots locks
//!   15 MiB. Each possible CPU adds 768 bytes.
//! - **Reading.** The reader zeroes what a slot has booked by atomic operations, and each of them waits for its line. So it loads the lines of 16 slots
//!   at once before (`Ledger::fetch`).
//! - **Shared lines.** A write to a cache line that several CPUs use takes the line away from the others. On a machine with many CPUs that is the
//!   main cost of a hook. So what all CPUs share is written only once in 32 forks, exits or first runs. Each CPU takes free slots in
//!   batches of 32, and reserves 32 places at a time on the list of an interval. A batch is smaller where all batches together would hold more than
//!   1/16 of the slots, and a single slot where there are fewer than 16,384 slots. A CPU that folds ended tasks gives slots to its own batch. Counters of what was lost are kept by CPU.
//!
//!   | written | the line | shared with | how often |
//!   |---|---|---|---|
//!   | by a switch | two of the CPU's record (`run`, `booked`, accumulators, `current`) | the reader, at a cut | each switch |
//!   | | the first of the task's slot (time, marks) | the CPU where it ran last | each switch |
//!   | by a first run in an interval | the place on the list | no other CPU: this one has reserved the line | each |
//!   | | `control.listed` | all CPUs | once in 32 |
//!   | by a fork | the slot of the child | where it runs later | each |
//!   | | one bucket of the index; neighbours in it have tids that are thousands apart | rarely another CPU | each |
//!   | | `control.free_head`, or `fresh`, and `free_count` | all CPUs | once in 32 |
//!   | by an exit | the slot, the bucket | as above | each |
//!   | | where slots are low: the slot of its process or heir | CPUs where related tasks die | each |
//!   | | where slots are low: `control.free_head`, `free_count` | all CPUs | once in 32 |
//!
//!   `crates/cpuledger-bpf/tests/shared_lines.rs` reads the programs: nothing else writes `control`. A test in `ledger_root.rs` counts the writes of
//!   a storm, and `tests/protocol` runs batches through their interleavings.
//! - **Whether slots are low** is a word of its own beside what the reader publishes, written when it changes: deaths only read it.
//! - **Kernel pointers** are read by plain loads. A helper took 400 ns of the 1,500 ns that the hooks spend on a thread. The loads go through an
//!   untrusted copy of the task's pointer (`as_walked`), because for a trusted one the verifier searches all kernel types by name.
//! - **One system call**: the sleep. The list of online CPUs is read at attachment; where there is no hotplug hook, at each cut too.
//! - **CPUs** are in one of three states at any time: running, *uncovered* (online, but no hook has seen what runs), or *offline*. Capacity is
//!   the time that CPUs were not offline. Uncovered time is unattributed, with that reason.
//! - **Entry.** At attachment all online CPUs are uncovered. A perf(1) timer on each runs `on_entry` in its interrupt. This finds or makes the slot
//!   of the task that has the CPU, and does what a switch to that task would do. Switches have interrupts off, so the two never interleave
//!   on a CPU. The fork hook may be interrupted, which the free slots of a CPU allow for. So even a real-time task that never yields is
//!   accounted for 100 µs after the start, without any thread of ours on that CPU. The attachment waits 500 ms at most (a guest whose host
//!   gave a CPU no time for 54 ms was seen). A slower CPU stays uncovered until its timer or its next switch.
//! - **Hotplug.** Kernels run no tracepoint on a CPU that is not online. So the first switch after a CPU came up is the first event that a hook
//!   sees, and the CPU is online from there. The step `CPUHP_TEARDOWN_CPU` ends on another CPU when this one is dead (`cpuhp_exit`). The CPU is
//!   offline from there, and uncovered since its last switch. Between the bit in the kernel's mask and these events lie microseconds in which
//!   the CPU runs its idle and stopper tasks. On the way up they are no capacity, on the way down unattributed.
//! - **Numbers of CPUs** are indices up to the highest possible one, with gaps (`src/cpus.rs`): never a count.
//! - **Hidden switches**: some kernels run no hooks in the context of tasks that they protect. The hook compares the outgoing task with the
//!   last incoming one. If they differ, the run segment goes to the outgoing task, and is counted.
//! - **No lock, no unbounded loop.** Every compare-and-swap has a stated number of attempts. A switch fails at all of them only if
//!   several cuts come within it. Then the run segment goes to the next task that is seen, or to the previous one if a cut comes first.
//!
//! Hooks need BPF atomics (Linux 5.12).

use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::abi;
use crate::error::Error;

use super::clock;
use super::shared::Shared;

/// How long before its instant a cut is published, so that every CPU sees it in time.
const LEAD_NS: u64 = 200_000;
/// A cut is confirmed only if it is at least this far ahead: further than the clocks of two CPUs differ.
pub(super) const MARGIN_NS: u64 = 20_000;
/// Maximum number of attempts to publish a cut, when this thread is delayed each time; the lead doubles with each.
const PUBLISH_ATTEMPTS: u32 = 12;
/// A switch hook takes less than 1 µs, unless the hypervisor takes the CPU away.
const HOOK_LIMIT_NS: u64 = 5_000_000_000;
/// How long a hook is waited for without a sleep.
const HOOK_SPIN_NS: u64 = 20_000;
/// How long this thread sleeps then, again and again.
const HOOK_SLEEP_NS: u64 = 100_000;

const RUN: usize = offset_of!(abi::cpuledger_cpu, run);
const BOOKED: usize = offset_of!(abi::cpuledger_cpu, booked);
pub(super) const CURRENT: usize = offset_of!(abi::cpuledger_cpu, current);
const CURRENT_PID: usize = offset_of!(abi::cpuledger_cpu, current_pid);
const OF_LEADER: u32 = abi::CPULEDGER_CURRENT_OF_LEADER;
const UNCOVERED: u64 = abi::CPULEDGER_RUN_UNCOVERED as u64;
const OFFLINE: u64 = abi::CPULEDGER_RUN_OFFLINE as u64;
const OUT: u64 = abi::CPULEDGER_RUN_OUT as u64;
const PARITY: u64 = abi::CPULEDGER_RUN_PARITY as u64;

/// When the run segment of a `run` word began.
fn start_ns(run: u64) -> u64 {
    run >> abi::CPULEDGER_RUN_SHIFT
}

/// Offset of the word that holds the end of an interval.
pub(super) fn place_of(interval: u64) -> usize {
    offset_of!(abi::cpuledger_control, cut) + 8 * (interval % u64::from(abi::CPULEDGER_CUTS)) as usize
}

/// Publishes the end of the running interval: at `wanted_ns`, or as soon as possible after it. Returns the time. It does not
/// matter how long before.
///
/// # Errors
/// When this thread does not get to run without being held up.
pub(super) fn publish(
    control: &Shared<abi::cpuledger_control>,
    interval: u64,
    wanted_ns: u64,
) -> Result<u64, Error> {
    let word = control.word(0, place_of(interval));
    let mut lead = LEAD_NS;
    for _ in 0..PUBLISH_ATTEMPTS {
        let cut = wanted_ns.max(clock::now_ns() + lead);
        let proposed = cut << abi::CPULEDGER_CUT_SHIFT;
        let confirmed = proposed | abi::CPULEDGER_CUT_CONFIRMED as u64;
        word.store(proposed, Ordering::SeqCst);
        // The clock is read after every CPU can see the proposal, also where a store does not wait for that.
        fence(Ordering::SeqCst);
        // A switch that sees a proposal too late voids it, so a confirmed one was seen by every switch after it.
        if clock::now_ns() + MARGIN_NS < cut
            && word.compare_exchange(proposed, confirmed, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        {
            return Ok(cut);
        }
        lead *= 2;
    }
    Err(Error::Poisoned { what: "this thread was held up each time it published a cut".to_owned() })
}

/// A task that was running when its CPU was closed at the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) slot: u32,
    /// Some: it has no slot, and this is the one of the leader of this process.
    pub(super) instead_of_thread_of: Option<i32>,
    /// From its last switch, or the last cut, to this one.
    pub(super) wall_ns: u64,
}

/// What a CPU did up to the cut since `run` has changed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// The CPU has split its time at the cut itself.
    Split,
    /// A task had it, the idle task too.
    Ran(Running),
    /// It went offline, and no hook has seen when this task left it.
    Lost(Running),
    /// It was online, and no hook has seen what ran; for this time, in nanoseconds.
    Uncovered(u64),
    /// It was offline, likewise.
    Offline(u64),
}

/// What closing a CPU has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) tail: Tail,
    /// Whether it was online when it was closed.
    pub(super) is_online: bool,
    /// Whether it is online, and no hook has seen yet what runs there.
    pub(super) is_uncovered: bool,
}

/// What the kernel's list says of a CPU, where no hook tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByList {
    /// `run` before the list was read: what has changed since knows better.
    pub(super) run: u64,
    pub(super) is_online: bool,
}

/// What the reader remembers of a CPU from one cut to the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Book {
    /// The word that the reader wrote last.
    written: u64,
}

/// The `run` word of a CPU as it is now.
pub(super) fn run_of(cpus: &Shared<abi::cpuledger_cpu>, cpu: u32) -> u64 {
    cpus.word(cpu, RUN).load(Ordering::Acquire)
}

/// When a hook has last seen the CPU; `None`: it is not in the books.
pub(super) fn seen_ns(run: u64) -> Option<u64> {
    (run & OUT == 0).then_some(start_ns(run))
}

/// Whether a CPU is online, and no hook has seen yet what runs there.
pub(super) fn is_uncovered(run: u64) -> bool {
    run & UNCOVERED != 0
}

impl Book {
    /// Prepares `run` of a CPU before anything is attached. Its run segment begins with the clock, and ends in the interval
    /// before the first cut, which is not given out.
    pub(super) fn open(cpus: &Shared<abi::cpuledger_cpu>, cpu: u32, is_online: bool) -> Book {
        let written = if is_online { UNCOVERED } else { OFFLINE };
        cpus.word(cpu, RUN).store(written, Ordering::Relaxed);
        Book { written }
    }

    /// As another reader has left it: with the word that it wrote last.
    pub(super) fn resume(written: u64) -> Book {
        Book { written }
    }

    /// The word that the reader wrote last.
    pub(super) fn written(self) -> u64 {
        self.written
    }

    /// Closes one CPU at a cut that has passed: afterwards all its time up to it is booked or in the tail.
    ///
    /// # Errors
    /// When a switch on that CPU does not come to its end.
    pub(super) fn close(
        &mut self,
        cpus: &Shared<abi::cpuledger_cpu>,
        cpu: u32,
        cut_ns: u64,
        by_list: Option<ByList>,
    ) -> Result<Closed, Error> {
        let run = cpus.word(cpu, RUN);
        loop {
            let word = run.load(Ordering::Acquire);
            if start_ns(word) >= cut_ns {
                // It has switched since the cut.
                wait_until_booked(cpus, cpu, |booked| start_ns(booked) >= cut_ns)?;
                return Ok(Closed {
                    tail: Tail::Split,
                    is_online: word & OFFLINE == 0,
                    is_uncovered: word & UNCOVERED != 0,
                });
            }
            // Stable while `run` stays what it is: a switch writes the other one first.
            let half = |offset| cpus.half(cpu, offset + 4 * (word & PARITY) as usize).load(Ordering::Acquire);
            let (current, current_pid) = (half(CURRENT), half(CURRENT_PID));
            let out = match by_list.filter(|told| told.run == word).map(|told| told.is_online) {
                Some(false) => OFFLINE,
                Some(true) if word & OFFLINE != 0 => UNCOVERED,
                _ => word & OUT,
            };
            let closed = cut_ns << abi::CPULEDGER_RUN_SHIFT | out | word & PARITY;
            if run.compare_exchange(word, closed, Ordering::SeqCst, Ordering::Acquire).is_err() {
                continue;
            }
            if word != self.written {
                wait_until_booked(cpus, cpu, |booked| booked == word || start_ns(booked) >= cut_ns)?;
            }
            self.written = closed;
            let ns = cut_ns - start_ns(word);
            let running = Running {
                slot: current & !OF_LEADER,
                instead_of_thread_of: (current & OF_LEADER != 0).then_some(current_pid.cast_signed()),
                wall_ns: ns,
            };
            let tail = match word & OUT {
                0 if out == OFFLINE => Tail::Lost(running),
                0 => Tail::Ran(running),
                UNCOVERED => Tail::Uncovered(ns),
                _ => Tail::Offline(ns),
            };
            return Ok(Closed { tail, is_online: word & out & OFFLINE == 0, is_uncovered: out == UNCOVERED });
        }
    }
}

/// Waits for the end of a switch that has begun.
fn wait_until_booked(
    cpus: &Shared<abi::cpuledger_cpu>,
    cpu: u32,
    is_booked: impl Fn(u64) -> bool,
) -> Result<(), Error> {
    let booked = cpus.word(cpu, BOOKED);
    wait_until(|| is_booked(booked.load(Ordering::Acquire)), || format!("a switch on CPU {cpu}"))
}

/// Waits for the hooks of an account that had begun on a CPU when it was closed: `entered` and `left` count those that have begun, and ended. One that
/// begins later books to the next interval.
///
/// # Errors
/// When one does not come to its end.
pub(super) fn wait_for_hooks(of: &str, cpu: u32, [entered, left]: [&AtomicU64; 2]) -> Result<(), Error> {
    let entered = entered.load(Ordering::SeqCst);
    wait_until(|| left.load(Ordering::SeqCst) >= entered, || format!("a hook of {of} on CPU {cpu}"))
}

/// Waits until what a hook does has come to its end. Since Linux 7 the hooks of accounts may be preempted. If this thread has done so, in real time,
/// the hook goes on only while it sleeps.
///
/// # Errors
/// When it does not.
pub(super) fn wait_until(is_over: impl Fn() -> bool, what: impl Fn() -> String) -> Result<(), Error> {
    if is_over() {
        return Ok(());
    }
    let begin_ns = clock::now_ns();
    while !is_over() {
        let waited_ns = clock::now_ns() - begin_ns;
        if waited_ns > HOOK_LIMIT_NS {
            return Err(Error::Poisoned { what: format!("{} did not come to its end", what()) });
        }
        if waited_ns < HOOK_SPIN_NS {
            clock::yield_now();
        } else {
            clock::sleep_until(begin_ns + waited_ns + HOOK_SLEEP_NS);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::{BOOKED, Book, ByList, CURRENT, RUN, Running, Tail, is_uncovered, run_of, wait_until};
    use crate::abi;
    use crate::ledger::shared::Shared;

    const CUT_NS: u64 = 1000;

    /// One CPU as it is prepared, in a file that has no name any more.
    fn prepared() -> Shared<abi::cpuledger_cpu> {
        let path = std::env::temp_dir().join(format!("cpuledger-book-{:?}", std::thread::current().id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.expect("a file can be made");
        std::fs::remove_file(&path).expect("it is ours");
        file.set_len(size_of::<abi::cpuledger_cpu>() as u64).expect("it can grow");
        Shared::new(&file, 1).expect("it can be mapped")
    }

    #[test]
    fn an_uncovered_cpu_is_not_waited_for() {
        let cpus = prepared();
        let mut book = Book::open(&cpus, 0, true);
        for length_ns in [CUT_NS, CUT_NS] {
            let cut_ns = length_ns + super::start_ns(run_of(&cpus, 0));
            let closed = book.close(&cpus, 0, cut_ns, None).expect("nothing has begun");
            assert_eq!(closed.tail, Tail::Uncovered(length_ns));
            assert!(closed.is_online && closed.is_uncovered && is_uncovered(run_of(&cpus, 0)));
        }
    }

    #[test]
    fn a_cpu_that_has_not_switched_since_another_reader_is_not_waited_for() {
        let cpus = prepared();
        let mut book = Book::open(&cpus, 0, true);
        book.close(&cpus, 0, CUT_NS, None).expect("nothing has begun");
        let mut next = Book::resume(book.written());
        let closed = next.close(&cpus, 0, 3 * CUT_NS, None).expect("the word is that reader's own");
        assert_eq!(closed.tail, Tail::Uncovered(2 * CUT_NS));
    }

    #[test]
    fn a_cpu_comes_into_the_books_at_its_first_switch() {
        let cpus = prepared();
        let mut book = Book::open(&cpus, 0, true);
        let run = 400 << abi::CPULEDGER_RUN_SHIFT | 1;
        for (place, value) in [(RUN, run), (BOOKED, run)] {
            cpus.word(0, place).store(value, Ordering::Relaxed);
        }
        cpus.half(0, CURRENT + 4).store(7, Ordering::Relaxed);
        let running = |wall_ns| Tail::Ran(Running { slot: 7, instead_of_thread_of: None, wall_ns });
        let closed = book.close(&cpus, 0, CUT_NS, None).expect("all is booked");
        assert_eq!(closed.tail, running(CUT_NS - 400));
        let closed = book.close(&cpus, 0, 2 * CUT_NS, None).expect("the word is the reader's own");
        assert_eq!(closed.tail, running(CUT_NS));
        assert!(closed.is_online && !closed.is_uncovered);
    }

    #[test]
    fn the_list_is_believed_where_nothing_has_changed_since() {
        let cpus = prepared();
        let mut book = Book::open(&cpus, 0, true);
        let mut close = |cut_ns, run, is_online| {
            let by_list = Some(ByList { run, is_online });
            book.close(&cpus, 0, cut_ns, by_list).expect("nothing has begun").tail
        };
        let run = || run_of(&cpus, 0);
        assert_eq!(close(CUT_NS, run(), false), Tail::Uncovered(CUT_NS));
        // Something else has happened since it was looked at.
        assert_eq!(close(2 * CUT_NS, run() + 1, true), Tail::Offline(CUT_NS));
        assert_eq!(close(3 * CUT_NS, run(), true), Tail::Offline(CUT_NS));
        assert_eq!(close(4 * CUT_NS, run(), true), Tail::Uncovered(CUT_NS));
    }

    #[test]
    fn a_hook_that_this_thread_has_preempted_goes_on_root() {
        let all = sched_getaffinity(None).expect("the kernel says it");
        let cpu = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).expect("it runs somewhere");
        let mut one = CpuSet::new();
        one.set(cpu);
        let is_over = AtomicBool::new(false);
        let waited = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                sched_setaffinity(None, &one).expect("the CPU is online");
                crate::real_time::come_in_real_time(false).expect("it needs CAP_SYS_NICE");
                let hook = scope.spawn(|| {
                    // It has the CPU of the one that waits for it, and an ordinary priority.
                    is_over.store(true, Ordering::SeqCst);
                });
                let begin = Instant::now();
                wait_until(|| is_over.load(Ordering::SeqCst), || "a hook".to_owned()).expect("it ends");
                let waited = begin.elapsed();
                hook.join().expect("it does not panic");
                waited
            });
            waiter.join().expect("it does not panic")
        });
        // The kernel leaves 50 ms of each second to others, at its end.
        assert!(waited < Duration::from_millis(400), "{waited:?}");
    }
}
