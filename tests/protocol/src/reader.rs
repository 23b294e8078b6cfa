//! `src/ledger/{mod,cut}.rs`: what the one reader does at a cut.

use crate::Mutation;
use crate::books::{Interval, Owner};
use crate::off::{self, Alive};
use crate::slots::{next_head, number_in};
use crate::words::{COLLECTS, CONFIRMED, EXITED, FIRST_SLOT, IDLE, NO_SLOT, OF_LEADER, OFFLINE, OUT};
use crate::words::{PARITY, UNCOVERED, parity_of, proposed, run_word, start_ns};
use crate::world::World;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicU64, fence};
use std::collections::BTreeMap;

/// How often the reader looks at a CPU again, or proposes a cut, before the model counts that as not ending.
const MAX_ATTEMPTS: usize = 12;

/// What the reader remembers of a CPU from one cut to the next: `cut::Book`.
#[derive(Clone, Copy)]
struct Book {
    written: u64,
}

/// What a CPU did up to the cut since `run` has changed last: `cut::Tail`.
#[derive(Clone, Copy)]
enum Tail {
    Split,
    Ran(Running),
    Uncovered(u64),
    Offline(u64),
}

/// A cut, from the reader's side.
#[derive(Clone, Copy)]
pub struct Plan {
    /// How far ahead a cut is proposed; doubled at each further attempt.
    pub lead_ns: u64,
    /// Whether the CPUs are found online by the kernel's list; `None`: it is not asked.
    pub is_online: Option<bool>,
}

impl Plan {
    /// A cut so far ahead.
    #[must_use]
    pub const fn ahead(lead_ns: u64) -> Self {
        Self { lead_ns, is_online: None }
    }
}

/// `current` and `current_pid` of a CPU at the cut, and the start of its segment.
type Running = (u64, u64, u64);

/// The reader.
pub struct Reader<'a> {
    world: &'a World,
    interval: u64,
    /// When it began.
    start_ns: u64,
    books: Vec<Book>,
    /// A cut may be confirmed only if it is at least this far ahead.
    margin_ns: u64,
    /// Slots that ran at the cut, with the time that the reader has closed.
    running: BTreeMap<u64, u64>,
    /// Slots of leaders whose threads without a slot were on a CPU at the cut, likewise.
    of_leaders: BTreeMap<u64, u64>,
    freed: Vec<u64>,
    /// A cut published too early, by mutation.
    early_cut: Option<u64>,
}

impl<'a> Reader<'a> {
    /// A reader of a world in which nothing was cut yet.
    #[must_use]
    pub fn new(world: &'a World) -> Self {
        let book = |running: &Option<u64>| {
            let prepared = if running.is_some() { 0 } else { UNCOVERED };
            Book { written: if world.has(Mutation::PreparedWordAwaited) { 0 } else { prepared } }
        };
        let ahead = (0..world.cpus.len()).map(|cpu| (world.setup.ahead_ns)(cpu).max(0).unsigned_abs()).max();
        Self {
            world,
            interval: world.first_interval,
            start_ns: 0,
            books: world.setup.running.iter().map(book).collect(),
            margin_ns: if world.has(Mutation::NoMargin) { 0 } else { ahead.unwrap_or(0) },
            running: BTreeMap::new(),
            of_leaders: BTreeMap::new(),
            freed: Vec::new(),
            early_cut: None,
        }
    }

    /// `close_interval`: ends the running interval and enters it in the books.
    pub fn cut(&mut self, plan: Plan) {
        let world = self.world;
        let cut_ns = self.early_cut.take().unwrap_or_else(|| self.publish(self.interval, plan.lead_ns));
        world.clock.sleep_until(cut_ns);
        let mut closed = Interval { end: cut_ns, ..Interval::default() };
        // As in the code, before the list is read: what has changed since knows better.
        let listed = plan.is_online.map(|is_online| {
            let words = world.cpus.iter().map(|cpu| cpu.run.load(Acquire)).collect::<Vec<_>>();
            (words, is_online)
        });
        for cpu in 0..world.cpus.len() {
            let by_list = listed.as_ref().map(|(words, is_online)| (words[cpu], *is_online));
            self.close(cpu, cut_ns, by_list, &mut closed);
            if world.has(Mutation::GatheredBeforeAllClosed) {
                self.gather(&mut closed);
            }
        }
        let is_early = [Mutation::CutBeforeGathered, Mutation::IntervalBeforeGathered];
        if is_early.contains(&world.mutation) {
            self.publish_next(plan);
            self.gather(&mut closed);
            self.empty_list();
        } else if world.has(Mutation::CutBeforeListEmptied) {
            self.gather(&mut closed);
            self.publish_next(plan);
            self.empty_list();
        } else {
            self.gather(&mut closed);
            self.empty_list();
            self.publish_next(plan);
        }
        self.interval += 1;
        self.start_ns = cut_ns;
        world.books.close(closed);
    }

    /// Publishes the end of an interval. The proposal is a store in the code; loom lets a store slip in between the two
    /// halves of another thread's compare-and-swap, so it is an exchange here.
    fn publish(&self, interval: u64, mut lead_ns: u64) -> u64 {
        let world = self.world;
        let word = world.cut_of(interval);
        for _ in 0..MAX_ATTEMPTS {
            let cut = world.clock.now() + lead_ns;
            let (proposed, confirmed) = (proposed(cut), proposed(cut) | CONFIRMED);
            word.swap(proposed, AcqRel);
            if !world.has(Mutation::ProposedWithoutBarrier) {
                fence(loom::sync::atomic::Ordering::SeqCst);
            }
            let is_early = world.has(Mutation::ClockNotRead) || world.clock.now() + self.margin_ns < cut;
            if is_early && world.has(Mutation::ConfirmedByStore) {
                word.swap(confirmed, AcqRel);
                return cut;
            }
            if is_early && word.compare_exchange(proposed, confirmed, AcqRel, Acquire).is_ok() {
                return cut;
            }
            lead_ns *= 2;
        }
        panic!("books: no end of proposing a cut");
    }

    /// `Book::close`, and what `close_cpus` does with what it has found.
    fn close(&mut self, cpu: usize, cut_ns: u64, by_list: Option<(u64, bool)>, closed: &mut Interval) {
        let world = self.world;
        let tail = self.close_run(cpu, cut_ns, by_list);
        let at_cut = &world.cpus[cpu].at_cut[parity_of(self.interval)];
        let is_kept = world.has(Mutation::AtCutNotCleared);
        let ran = if is_kept { at_cut.load(Relaxed) } else { at_cut.swap(0, Relaxed) };
        if ran != IDLE {
            self.running.entry(ran).or_insert(0);
        }
        let parity = parity_of(self.interval);
        let record = &world.cpus[cpu];
        let mut offline_ns = self.take(&record.offline_ns[parity]);
        let mut uncovered_ns = self.take(&record.uncovered_ns[parity]);
        let mut running = None;
        match tail {
            Tail::Split => {}
            Tail::Ran(ran) => running = Some(ran),
            Tail::Uncovered(_) if world.has(Mutation::UncoveredForgotten) => {}
            Tail::Uncovered(ns) => uncovered_ns += ns,
            Tail::Offline(ns) => offline_ns += ns,
        }
        closed.add(Owner::Uncovered(cpu), uncovered_ns);
        let length_ns = world.books.difference("length", cut_ns, self.start_ns);
        closed.capacity += world.books.difference("capacity", length_ns, offline_ns);
        closed.add(Owner::Idle(cpu), self.take(&record.idle_ns[parity]));
        closed.add(world.owner(NO_SLOT, cpu, 0), self.take(&record.unattributed_ns[parity]));
        if let Some((slot, pid, start_ns)) = running {
            let wall_ns = world.books.difference("running", cut_ns, start_ns);
            match slot {
                IDLE | NO_SLOT => closed.add(world.owner(slot, cpu, 0), wall_ns),
                slot if slot & OF_LEADER != 0 => {
                    let number = slot & !OF_LEADER;
                    if !self.is_leader_of(number, pid) {
                        closed.add(world.owner(NO_SLOT, cpu, 0), wall_ns);
                    } else if !world.has(Mutation::ThreadWithoutSlotForgotten) {
                        *self.of_leaders.entry(number).or_default() += wall_ns;
                    }
                }
                slot => *self.running.entry(slot).or_default() += wall_ns,
            }
        }
    }

    fn is_leader_of(&self, number: u64, pid: u64) -> bool {
        let slot = self.world.slot(number);
        slot.tid.load(Relaxed) == pid && [0, self.interval].contains(&slot.exit_interval.load(Relaxed))
    }

    /// What it did since its last change of `run`.
    fn close_run(&mut self, cpu: usize, cut_ns: u64, by_list: Option<(u64, bool)>) -> Tail {
        let world = self.world;
        let record = &world.cpus[cpu];
        for _ in 0..MAX_ATTEMPTS {
            let word = record.run.load(world.ordering(Acquire, Mutation::RunReadRelaxed));
            if start_ns(word) >= cut_ns {
                if !world.has(Mutation::SplitNotAwaited) {
                    self.wait_until_booked(cpu, |booked| start_ns(booked) >= cut_ns);
                }
                return Tail::Split;
            }
            let current = &record.current[(word & PARITY) as usize];
            let mut slot = current.load(Acquire);
            // Only there is it looked at in the model, so that all else has as many interleavings as before.
            let current_pid = &record.current_pid[(word & PARITY) as usize];
            let pid = if slot & OF_LEADER != 0 { current_pid.load(Acquire) } else { 0 };
            let out = match by_list.filter(|(run, _)| *run == word) {
                Some((_, false)) => OFFLINE,
                Some((_, true)) if word & OFFLINE != 0 => UNCOVERED,
                _ => word & OUT,
            };
            let closed = run_word(cut_ns, out | word & PARITY);
            if world.has(Mutation::RunStored) {
                record.run.store(closed, Release);
            } else {
                let order = world.ordering(AcqRel, Mutation::ReaderSwapRelaxed);
                let failed = world.ordering(Acquire, Mutation::ReaderSwapRelaxed);
                if record.run.compare_exchange(word, closed, order, failed).is_err() {
                    continue;
                }
            }
            match (word & OUT, out) {
                (before, after) if before == after => {}
                (0, _) => world.books.leave(cpu, start_ns(word), cut_ns),
                (UNCOVERED, _) => world.books.leave(cpu, 0, cut_ns),
                _ => world.books.fault("no scenario has a CPU that comes by the list".into()),
            }
            if world.has(Mutation::CurrentReadLate) {
                slot = current.load(Acquire);
            }
            let is_own = word == self.books[cpu].written && !world.has(Mutation::OwnWordAwaited);
            if !is_own && !world.has(Mutation::BookedNotAwaited) {
                self.wait_until_booked(cpu, |booked| booked == word || start_ns(booked) >= cut_ns);
            }
            self.books[cpu].written = closed;
            let ns = world.books.difference("tail", cut_ns, start_ns(word));
            return match word & OUT {
                0 if out == OFFLINE => Tail::Uncovered(ns),
                0 => Tail::Ran((slot, pid, start_ns(word))),
                UNCOVERED => Tail::Uncovered(ns),
                _ => Tail::Offline(ns),
            };
        }
        panic!("books: no end of looking at CPU {cpu}");
    }

    fn wait_until_booked(&self, cpu: usize, is_booked: impl Fn(u64) -> bool) {
        let acquire = self.world.ordering(Acquire, Mutation::AwaitRelaxed);
        while !is_booked(self.world.cpus[cpu].booked.load(acquire)) {
            loom::thread::yield_now();
        }
    }

    fn take(&self, word: &AtomicU64) -> u64 {
        if self.world.has(Mutation::NotZeroed) { word.load(Relaxed) } else { word.swap(0, Relaxed) }
    }

    /// `gather_tasks`.
    fn gather(&mut self, closed: &mut Interval) {
        let world = self.world;
        let parity = parity_of(self.interval);
        let count = world.listed_count[parity].load(Acquire);
        let mut seen = Vec::new();
        for entry in world.listed[parity].iter().take(count as usize) {
            let number = entry.load(Relaxed);
            if !world.has(Mutation::ListNotEmptied) {
                entry.store(0, Relaxed);
            }
            if number == IDLE && world.setup.list_batch > 1 {
                continue;
            }
            if number < FIRST_SLOT || seen.contains(&number) {
                world.books.fault(format!("interval {} lists {number} after {seen:?}", self.interval));
                continue;
            }
            seen.push(number);
            let running_ns = self.running.remove(&number);
            self.gather_task(number, running_ns, closed);
        }
        for (number, running_ns) in std::mem::take(&mut self.running) {
            if !world.has(Mutation::WholeIntervalForgotten) {
                self.gather_task(number, Some(running_ns), closed);
            }
        }
        while let Some(&number) = self.of_leaders.keys().next() {
            self.gather_task(number, None, closed);
        }
        self.free();
    }

    fn gather_task(&mut self, number: u64, running_ns: Option<u64>, closed: &mut Interval) {
        let world = self.world;
        let (slot, parity) = (world.slot(number), parity_of(self.interval));
        let mut total_ns = running_ns.unwrap_or(0) + self.of_leaders.remove(&number).unwrap_or(0);
        let folded = (world.setup.low_slots > 0)
            .then_some([&slot.folded_threads_ns[parity], &slot.folded_children_ns[parity]]);
        for word in std::iter::once(&slot.wall_ns[parity]).chain(folded.into_iter().flatten()) {
            total_ns += if word.load(Relaxed) == 0 { 0 } else { self.take(word) };
        }
        let (tid, exit_interval) = (slot.tid.load(Relaxed), slot.exit_interval.load(Relaxed));
        let is_early = exit_interval != 0 && world.has(Mutation::FreedEarly);
        if exit_interval == self.interval || is_early {
            let flags = if folded.is_some() { slot.flags.load(Relaxed) } else { EXITED };
            if flags & COLLECTS != 0 && !world.has(Mutation::CollectorLeftInIndex) {
                let _ = world.entry(tid).compare_exchange(number, 0, Relaxed, Relaxed);
            }
            self.freed.push(number);
            if tid != 0 && flags & EXITED != 0 {
                closed.dead.push(tid);
            }
        }
        if world.setup.keeps_off && exit_interval == 0 {
            let alive = Alive {
                interval: self.interval,
                begin_ns: self.start_ns,
                end_ns: closed.end,
                on_ns: total_ns,
                is_on_at_end: running_ns.is_some(),
            };
            off::take(world, number, &alive);
        }
        let owner = world.owner(number, 0, tid);
        if running_ns.is_some() {
            closed.running.insert(owner);
        }
        closed.add(owner, total_ns);
    }

    /// Gives the slots of the dead back in whole batches, all with one exchange. What is left waits for the next interval.
    fn free(&mut self) {
        let world = self.world;
        let size = world.setup.slot_batch as usize;
        let freed: Vec<u64> = self.freed.drain(..self.freed.len() / size * size).collect();
        let Some(&first) = freed.first() else { return };
        freed.iter().for_each(|number| world.books.give(*number));
        let set_batch =
            |first: u64, next: u64| world.slot(first).batch.store((size as u64) << 32 | next, Relaxed);
        let mut last = first;
        for slots in freed.chunks(size) {
            set_batch(last, slots[0]);
            last = slots[0];
            for pair in slots.windows(2) {
                world.slot(pair[0]).next_free.store(pair[1], Relaxed);
            }
        }
        // As in the hook: a change, so that loom lets other loads meet the swap.
        let mut seen = world.free_head.fetch_add(0, Relaxed);
        loop {
            set_batch(last, number_in(seen));
            let order = world.ordering(Release, Mutation::FreeRelaxed);
            match world.free_head.compare_exchange(seen, next_head(world, seen, first), order, Relaxed) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        world.free_count.fetch_add(freed.len() as u64, Relaxed);
    }

    /// Slots of the dead that are not given back yet.
    #[must_use]
    pub fn kept(&self) -> &[u64] {
        &self.freed
    }

    /// The first half of `open_next`.
    fn empty_list(&self) {
        self.world.listed_count[parity_of(self.interval)].store(0, Relaxed);
    }

    /// The second half of `open_next`.
    fn publish_next(&mut self, plan: Plan) {
        let world = self.world;
        let next = self.interval + 1;
        let is_late = world.has(Mutation::PlaceClearedLate);
        let clear = || world.cut_of(next).store(0, Relaxed);
        if !is_late && !world.has(Mutation::PlaceNotCleared) {
            clear();
        }
        world.interval.store(next, world.ordering(Release, Mutation::IntervalRelaxed));
        if is_late {
            clear();
        }
        if [Mutation::CutBeforeGathered, Mutation::CutBeforeListEmptied].contains(&world.mutation) {
            self.early_cut = Some(self.publish(next, plan.lead_ns));
        }
    }
}
