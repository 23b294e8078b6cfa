//! The reader's half of the cut: publishing it, and closing each CPU at it. `bpf/ledger.bpf.c` has the other half.

use std::mem::offset_of;
use std::sync::atomic::{Ordering, fence};

use crate::abi;
use crate::error::Error;

use super::clock;
use super::shared::Shared;

/// How long before its instant a cut is published, so that every CPU sees it in time.
const LEAD_NS: u64 = 200_000;
/// A cut is confirmed only if it is at least this far ahead: further than the clocks of two CPUs differ.
const MARGIN_NS: u64 = 20_000;
/// Maximum number of attempts to publish a cut, when this thread is delayed each time; the lead doubles with each.
const PUBLISH_ATTEMPTS: u32 = 12;
/// A switch hook takes less than 1 µs, unless the hypervisor takes the CPU away.
const HOOK_LIMIT_NS: u64 = 5_000_000_000;

const RUN: usize = offset_of!(abi::cpuledger_cpu, run);
const BOOKED: usize = offset_of!(abi::cpuledger_cpu, booked);
const CURRENT: usize = offset_of!(abi::cpuledger_cpu, current);
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
    if is_booked(booked.load(Ordering::Acquire)) {
        return Ok(());
    }
    let limit = clock::now_ns() + HOOK_LIMIT_NS;
    while !is_booked(booked.load(Ordering::Acquire)) {
        if clock::now_ns() > limit {
            return Err(Error::Poisoned { what: format!("a switch on CPU {cpu} did not come to its end") });
        }
        clock::yield_now();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::atomic::Ordering;

    use super::{BOOKED, Book, ByList, CURRENT, RUN, Running, Tail, is_uncovered, run_of};
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
}
