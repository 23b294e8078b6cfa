//! `ledger.bpf.c`: what a CPU does at a switch.

use crate::Mutation;
use crate::fold::fold_slot;
use crate::off::{begin_off, end_off, not_before_off};
use crate::segment::{Fate, Segment, list_slot};
use crate::slots::{find_slot, make_slot};
use crate::words::{
    CONFIRMED, EXITED, IDLE, NO_CUT, NO_SLOT, OF_LEADER, OFFLINE, OUT, RUN_ATTEMPTS, VOID_CUT,
};
use crate::words::{cut_ns, parity_of, run_word, start_ns};
use crate::world::{Cpu, World};
use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// One CPU as its switches see it.
pub struct Processor<'a> {
    world: &'a World,
    number: usize,
    /// Slot, task and begin of the present stay. The slot is what the hook reads in `current[parity]`, which only it writes.
    stay: (u64, u64, u64),
    /// That of `run`. Only this CPU changes it, so the hook's reading it from there would be no event.
    parity: u64,
}

/// What the change of `run` has left for the rest of the switch.
struct Exchanged {
    run: u64,
    fresh: u64,
    end_ns: u64,
    /// Interval and cut, by mutation.
    seen_early: Option<(u64, u64)>,
}

impl<'a> Processor<'a> {
    /// CPU `number` of a world that has just begun.
    #[must_use]
    pub fn new(world: &'a World, number: usize) -> Self {
        let task = world.setup.running[number].unwrap_or(0);
        Self { world, number, stay: (find_slot(world, task), task, 0), parity: 0 }
    }

    fn cpu(&self) -> &'a Cpu {
        &self.world.cpus[self.number]
    }

    fn now(&self) -> u64 {
        self.world.clock.now().saturating_add_signed((self.world.setup.ahead_ns)(self.number))
    }

    /// The slot that runs, its task, and since when.
    #[must_use]
    pub fn stay(&self) -> (u64, u64, u64) {
        self.stay
    }

    /// `cpul_on_switch`: to task `next`, or 0 for the idle task.
    pub fn switch(&mut self, next: u64, fate: Fate) {
        let early = self.world.has(Mutation::CutReadBeforeClock).then(|| self.read_interval(u64::MAX));
        let now_ns = self.now();
        let instant_ns = now_ns.saturating_sub((self.world.setup.lag_ns)(next));
        self.switch_at(next, fate, (instant_ns, now_ns), early);
    }

    /// A switch at an instant that is not later than the clock.
    fn switch_at(
        &mut self,
        next: u64,
        fate: Fate,
        (instant_ns, now_ns): (u64, u64),
        early: Option<(u64, u64)>,
    ) {
        let (world, cpu) = (self.world, self.cpu());
        let mut number = IDLE;
        if next != 0 {
            number = find_slot(world, next);
            if number == 0 {
                number = make_slot(world, self.number, next);
            }
        }
        let other = self.parity ^ 1;
        if number == NO_SLOT {
            number = self.slot_of_leader(next, other);
        }
        if !world.has(Mutation::CurrentWrittenLate) {
            cpu.current[other as usize].store(number, Relaxed);
        }
        let mut end_ns = instant_ns;
        if world.setup.keeps_off && number > NO_SLOT && !world.has(Mutation::OnBeforeOff) {
            end_ns = not_before_off(world, number, instant_ns, now_ns);
        }
        let Some(exchanged) = self.exchange_run(other, end_ns, early) else {
            world.books.fault("a switch has lost all attempts".into());
            return;
        };
        if world.has(Mutation::CurrentWrittenLate) {
            cpu.current[other as usize].store(number, Relaxed);
        }
        self.book_exchanged(&exchanged, number, fate);
        (self.stay, self.parity) = ((number, next, exchanged.end_ns), other);
    }

    /// `on_entry`: brings the CPU into the books without a switch, while this task runs. No switch comes in between: it is an
    /// interrupt of this CPU, and switches are not interrupted.
    pub fn enter(&mut self, task: u64) {
        if self.cpu().run.fetch_add(0, Relaxed) & OUT != 0 {
            let now_ns = self.now();
            self.switch_at(task, Fate::Lives, (now_ns, now_ns), None);
        }
    }

    /// `on_hotplug`, when the CPU is dead. Another CPU does it; the kernel lets nothing happen on this one meanwhile.
    pub fn take_down(&mut self) {
        let (world, cpu) = (self.world, self.cpu());
        let Some(exchanged) = self.exchange_run(self.parity | OFFLINE, self.now(), None) else {
            world.books.fault("taking a CPU down has lost all attempts".into());
            return;
        };
        if world.has(Mutation::DownBookedEarly) {
            world.exchange(&cpu.booked, exchanged.fresh);
        }
        let start = start_ns(exchanged.run);
        world.books.leave(self.number, start, exchanged.end_ns);
        let (interval, cut_ns) = self.read_interval(exchanged.end_ns);
        let segment = Segment { start_ns: start, end_ns: exchanged.end_ns, interval, cut_ns };
        self.book_cpu(&cpu.uncovered_ns, &segment);
        if !world.has(Mutation::DownBookedEarly) {
            world.exchange(&cpu.booked, exchanged.fresh);
        }
    }

    /// What `current` holds for a thread that found no slot.
    fn slot_of_leader(&self, task: u64, parity: u64) -> u64 {
        let leader = (self.world.setup.leader_of)(task);
        let number = if task == leader { 0 } else { find_slot(self.world, leader) };
        if number == 0 {
            return NO_SLOT;
        }
        self.cpu().current_pid[parity as usize].store(leader, Relaxed);
        number | OF_LEADER
    }

    /// Ends the segment: changes `run` by compare-and-swap, to this time with these bits.
    fn exchange_run(&self, bits: u64, until_ns: u64, early: Option<(u64, u64)>) -> Option<Exchanged> {
        let (world, cpu) = (self.world, self.cpu());
        let mut first_start = None;
        for _ in 0..RUN_ATTEMPTS {
            // A load in the code, which may give an older value: the swap fails then. A change here, as loom would not let
            // the reader's loads meet the swap behind a load.
            let run = cpu.run.fetch_add(0, Relaxed);
            let mut start = start_ns(run);
            let mut end_ns = until_ns;
            if world.has(Mutation::StartNotReread) {
                start = *first_start.get_or_insert(start);
            }
            if end_ns <= start {
                end_ns = start + u64::from(!world.has(Mutation::WordComesTwice));
            }
            let early =
                early.or_else(|| world.has(Mutation::CutReadBeforeSwap).then(|| self.read_interval(end_ns)));
            let fresh = run_word(end_ns, bits);
            let found = if world.has(Mutation::RunExchanged) {
                world.exchange(&cpu.run, fresh);
                run
            } else if world.has(Mutation::HookSwapRelaxed) {
                cpu.run.compare_exchange(run, fresh, Relaxed, Relaxed).unwrap_or_else(|found| found)
            } else {
                world.compare_and_swap(&cpu.run, run, fresh)
            };
            if found == run {
                let run = run_word(start, run & OUT);
                return Some(Exchanged { run, fresh, end_ns, seen_early: early });
            }
        }
        None
    }

    /// All that follows the change of `run`.
    fn book_exchanged(&self, exchanged: &Exchanged, next: u64, fate: Fate) {
        let (world, cpu) = (self.world, self.cpu());
        let (run, end_ns) = (exchanged.run, exchanged.end_ns);
        let is_out = run & OUT != 0;
        let (slot, task, begin) = self.stay;
        world.books.stay(world.stay(slot, self.number, task), self.number, begin, end_ns);
        if fate != Fate::Lives {
            world.books.die(task, end_ns);
        }

        if world.has(Mutation::BookedEarly) || is_out && world.has(Mutation::EnteredLate) {
            cpu.booked.swap(exchanged.fresh, AcqRel);
        }
        let mut retired = None;
        let (interval, cut_ns) = exchanged.seen_early.unwrap_or_else(|| self.read_interval(end_ns));
        let segment = Segment { start_ns: start_ns(run), end_ns, interval, cut_ns };
        if is_out && !world.has(Mutation::OutIsBooked) {
            let is_offline = run & OFFLINE != 0 && !world.has(Mutation::OfflineIsCapacity);
            self.book_cpu(if is_offline { &cpu.offline_ns } else { &cpu.uncovered_ns }, &segment);
        } else {
            let slot = if world.has(Mutation::CurrentOfWrongParity) { next } else { slot };
            self.book(slot, task, &segment);
            let is_own = slot > NO_SLOT && slot & OF_LEADER == 0;
            retired = (fate != Fate::Lives && is_own).then_some((slot, segment));
        }
        if world.setup.keeps_off {
            if slot > NO_SLOT && fate == Fate::Lives && !is_out {
                begin_off(world, slot, end_ns);
            }
            if next > NO_SLOT {
                end_off(world, next, end_ns, interval, cut_ns);
            }
        }
        let retire = || retired.iter().for_each(|(slot, segment)| self.retire(*slot, task, fate, segment));
        if !world.has(Mutation::RetiredLate) {
            retire();
        }
        if world.has(Mutation::BookedRelaxed) {
            cpu.booked.swap(exchanged.fresh, Relaxed);
        } else {
            world.exchange(&cpu.booked, exchanged.fresh);
        }
        if world.has(Mutation::RetiredLate) {
            retire();
        }
    }

    /// The running interval and its end.
    fn read_interval(&self, now: u64) -> (u64, u64) {
        // Plain loads in the code: the address of each that follows depends on the one before, and that orders them.
        let interval = self.world.interval.load(self.world.ordering(Acquire, Mutation::CutReadRelaxed));
        (interval, self.read_cut(interval, now))
    }

    fn read_cut(&self, interval: u64, now: u64) -> u64 {
        let world = self.world;
        let place = world.cut_of(interval);
        let mut word = place.load(world.ordering(Acquire, Mutation::CutReadRelaxed));
        if world.has(Mutation::ProposalCounts) {
            return if word == 0 { NO_CUT } else { cut_ns(word) };
        }
        let is_late = word != 0 && word & CONFIRMED == 0 && now >= cut_ns(word);
        if is_late && !world.has(Mutation::ProposalNotVoided) {
            let seen = world.compare_and_swap(place, word, VOID_CUT);
            word = if seen == word { VOID_CUT } else { seen };
        }
        if word & CONFIRMED != 0 { cut_ns(word) } else { NO_CUT }
    }

    fn book(&self, number: u64, task: u64, segment: &Segment) {
        let mut segment = *segment;
        if self.world.has(Mutation::SegmentNotSplit) && !segment.starts_after_cut() {
            segment.cut_ns = NO_CUT;
        }
        match number {
            IDLE => self.book_cpu(&self.cpu().idle_ns, &segment),
            NO_SLOT => self.book_cpu(&self.cpu().unattributed_ns, &segment),
            number if number & OF_LEADER != 0 => self.book_to_process(number & !OF_LEADER, task, &segment),
            number => self.book_slot(number, &segment),
        }
    }

    fn book_cpu(&self, by_parity: &[AtomicU64; 2], segment: &Segment) {
        if !segment.starts_after_cut() || self.world.has(Mutation::ZeroAddedAfterCut) {
            add_plain(&by_parity[parity_of(segment.interval)], segment.before_cut());
        }
        if segment.ends_after_cut() {
            add_plain(&by_parity[parity_of(segment.interval + 1)], segment.after_cut());
        }
    }

    fn book_slot(&self, number: u64, segment: &Segment) {
        if !segment.starts_after_cut() {
            self.book_part(number, segment.interval, segment.before_cut());
        }
        if segment.ends_after_cut() {
            self.book_part(number, segment.interval + 1, segment.after_cut());
            if !segment.starts_after_cut() || self.world.has(Mutation::AnyoneAtCut) {
                self.cpu().at_cut[parity_of(segment.interval)].store(number, Relaxed);
            }
        }
    }

    /// The time of a thread without a slot.
    fn book_to_process(&self, number: u64, task: u64, segment: &Segment) {
        let slot = self.world.slot(number);
        let leader = (self.world.setup.leader_of)(task);
        if slot.tid.load(Relaxed) != leader || slot.exit_interval.load(Relaxed) != 0 {
            return self.book_cpu(&self.cpu().unattributed_ns, segment);
        }
        if !segment.starts_after_cut() {
            self.add_to_process(number, segment.interval, segment.before_cut());
        }
        if segment.ends_after_cut() {
            self.add_to_process(number, segment.interval + 1, segment.after_cut());
        }
    }

    fn add_to_process(&self, number: u64, interval: u64, ns: u64) {
        let place = &self.world.slot(number).folded_threads_ns[parity_of(interval)];
        if !self.world.has(Mutation::ProcessNotListed) {
            list_slot(self.world, self.number, number, interval);
        }
        if self.world.has(Mutation::ProcessNotAtomic) {
            add_plain(place, ns);
        } else {
            self.world.add_unordered(place, ns);
        }
    }

    fn book_part(&self, number: u64, interval: u64, ns: u64) {
        let (slot, parity) = (self.world.slot(number), parity_of(interval));
        add_plain(&slot.wall_ns[parity], ns);
        if slot.mark[parity].load(Relaxed) != interval {
            list_slot(self.world, self.number, number, interval);
        }
    }

    /// The last switch of a task.
    fn retire(&self, number: u64, task: u64, fate: Fate, segment: &Segment) {
        let world = self.world;
        world.entry(task).store(0, Relaxed);
        let ends_after = segment.ends_after_cut() && !world.has(Mutation::ExitInFirstInterval);
        let slot = world.slot(number);
        if world.setup.low_slots > 0 {
            slot.flags.store(EXITED, Relaxed);
        }
        slot.exit_interval.store(segment.interval + u64::from(ends_after), Relaxed);
        if world.setup.low_slots == 0 {
            return;
        }
        let is_low = world.free_count.load(Relaxed) < world.setup.low_slots;
        let is_before = match world.mutation {
            Mutation::FoldedAfterCut => true,
            Mutation::FoldedAcrossCut => !segment.starts_after_cut(),
            _ => !segment.ends_after_cut(),
        };
        if is_low && is_before {
            fold_slot(world, self.number, number, task, fate, segment);
        }
    }
}

/// `+=` of the code: a load and a store, between which others may change it.
fn add_plain(place: &AtomicU64, ns: u64) {
    place.store(place.load(Relaxed) + ns, Relaxed);
}
