//! Who waits for a CPU because of whom: the reader's half. `bpf/blame.bpf.h` has the other half, and says how it is booked.
//!
//! After a cut T the reader waits until no hook that began before T can still write. Then it reads, by value, what lies before T: of each CPU what the task
//! that had it at T has caused and was not booked; of each task that waited at T since when it did. It looks at the tasks that began to wait in the interval, which the hooks
//! list, and at those that waited at the cut before.

use std::collections::HashMap;
use std::mem::offset_of;
use std::sync::atomic::{Ordering, fence};

use cpuledger_model::make;
use cpuledger_model::waits::WaitTotals;

use crate::abi;
use crate::error::Error;

use super::pairs::{Margins, PairBooks, PairsAtCut, class_at};
use super::parts::{self, Parts};
use super::shared::{Shared, of_parity, take_word};
use super::waits::{Blame, Waited, Waits};
use super::{clock, cut};

/// What a ledger that keeps this has besides.
pub(super) const MAPS: [&str; 3] = ["slot_blames", "cpu_blames", "waiters"];
pub(super) const HOOKS: [&str; 3] = ["on_wakeup", "on_wakeup_new", "on_migrate"];

/// How long after a cut no hook books in the interval before it: an event may be that old, and clocks of CPUs differ.
pub(super) const QUIET_NS: u64 = abi::CPULEDGER_BLAME_LAG_NS as u64 + cut::MARGIN_NS;

/// Maximum number of looks at a CPU on which hooks come one after the other.
const ATTEMPTS: u32 = 1_000_000;

const QUEUED: u32 = abi::CPULEDGER_PLACE_QUEUED;
const MOVED: u32 = abi::CPULEDGER_PLACE_MOVED;
const QUOTA: u32 = abi::CPULEDGER_PLACE_QUOTA;

/// Kernel memory that the records lock, in bytes.
pub(super) const fn locked_bytes(slots: u32, cpu_ids: u32, places: u32) -> u64 {
    slots as u64 * size_of::<abi::cpuledger_slot_blame>() as u64
        + cpu_ids as u64 * size_of::<abi::cpuledger_cpu_blame>() as u64
        + 2 * places as u64 * size_of::<u64>() as u64
}

/// What the books of an interval add up to.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    suffered_ns: u64,
    tasks_ns: u64,
    no_slot_ns: u64,
    idle_ns: u64,
    quota_ns: u64,
    interrupts_ns: u64,
    stolen_ns: u64,
    /// `enum cpuledger_taken`
    kernel_tells: u64,
    strays_suffered_ns: u64,
    miscounted_cpus: u32,
}

impl Sums {
    /// What was caused, of a sum that the hooks have booked. That may be below zero: they find some tasks to have left a CPU before its last event, and take that
    /// time from whoever has the CPU next. Then nothing was caused, and the task that was found is said to have waited up to that event: both sides stay equal.
    fn caused(&mut self, booked_ns: u64) -> u64 {
        let signed_ns = booked_ns.cast_signed();
        let taken_ns = signed_ns.min(0).unsigned_abs();
        self.suffered_ns += taken_ns;
        self.strays_suffered_ns += taken_ns;
        signed_ns.max(0).unsigned_abs()
    }
}

/// Adds to a sum that may be below zero.
fn add(sum_ns: &mut u64, ns: u64) {
    *sum_ns = sum_ns.wrapping_add(ns);
}

/// The shared records, and what the reader remembers.
pub(super) struct Books {
    pub(super) slots: Shared<abi::cpuledger_slot_blame>,
    cpus: Shared<abi::cpuledger_cpu_blame>,
    pub(super) list: Shared<u64>,
    /// Numbers of CPUs are below this.
    pub(super) cpu_ids: u32,
    /// Slots of tasks that waited at the last cut.
    pub(super) waiters: Vec<u32>,
    /// What the reader has found at the cut, by slot.
    at_cut: HashMap<u32, Blame>,
    pub(super) waited: Vec<Waited>,
    sums: Sums,
    /// `None`: nobody wants to know that by cgroups.
    pairs: Option<PairBooks>,
}

/// How many tasks wait no more and were found elsewhere, and the sum of the instants at which they were, by `gone` of a CPU. `take_gone` of the hooks
/// does the same.
fn gone(word: u64, near_ns: u64) -> (u64, u64) {
    let count = word & abi::CPULEDGER_GONE_COUNT as u64;
    let near_sum_ns = count.wrapping_mul(near_ns);
    let low_bits = (word >> abi::CPULEDGER_GONE_SHIFT).wrapping_sub(near_sum_ns);
    let differs_by = (low_bits << abi::CPULEDGER_GONE_SHIFT).cast_signed() >> abi::CPULEDGER_GONE_SHIFT;
    (count, near_sum_ns.wrapping_add_signed(differs_by))
}

#[derive(Debug, Clone)]
struct CpuAtCut {
    /// The slot that had it.
    running: u32,
    /// What that has caused and was not booked.
    caused_ns: u64,
    waiters: u64,
    /// The same by class, where that is kept.
    pairs: PairsAtCut,
}

/// A task that waited at a cut.
#[derive(Debug, Clone, Copy)]
struct WaitAtCut {
    since_ns: u64,
    how: u32,
    cpu: u32,
    class: u32,
}

impl Books {
    /// The records of a ledger with this number of slots, and of places on its lists, among its parts; with those of pairs or without.
    ///
    /// # Errors
    /// When one is missing, or the kernel refuses to map it.
    pub(super) fn of(
        parts: &Parts,
        [slots, places]: [u32; 2],
        cpus: u32,
        has_pairs: bool,
    ) -> Result<Books, Error> {
        let [of_slots, of_cpus, list] = MAPS.map(|name| parts::find(parts, name));
        Ok(Books::new(
            Shared::unmapped(of_slots?, slots)?,
            Shared::new(of_cpus?, cpus)?,
            Shared::new(list?, 2 * places)?,
            cpus,
            has_pairs.then(|| PairBooks::of(parts, cpus)).transpose()?,
        ))
    }

    pub(super) fn new(
        slots: Shared<abi::cpuledger_slot_blame>,
        cpus: Shared<abi::cpuledger_cpu_blame>,
        list: Shared<u64>,
        cpu_ids: u32,
        pairs: Option<PairBooks>,
    ) -> Books {
        let (waiters, waited) = (Vec::new(), Vec::new());
        let (at_cut, sums) = (HashMap::new(), Sums::default());
        Books { slots, cpus, list, cpu_ids, waiters, at_cut, waited, sums, pairs }
    }

    /// Sets what is not zero when the hooks begin.
    pub(super) fn prepare(&self) {
        for cpu in 0..self.cpu_ids {
            let running = self.cpus.half(cpu, offset_of!(abi::cpuledger_cpu_blame, running));
            running.store(abi::CPULEDGER_SLOT_NONE, Ordering::Relaxed);
        }
    }

    /// The slots of which something was found at the cut, or was booked to a task that waits.
    pub(super) fn found(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.at_cut.keys().chain(&self.waiters).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// What was found in the interval that was closed last.
    pub(super) fn waits(&self) -> Waits<'_> {
        let counter = |offset| -> u64 {
            (0..self.cpu_ids).map(|cpu| self.cpus.word(cpu, offset).load(Ordering::Relaxed)).sum()
        };
        let sums = &self.sums;
        let told = |kind: u32, ns| (sums.kernel_tells & u64::from(kind) != 0).then_some(ns);
        Waits {
            totals: make!(WaitTotals {
                suffered_ns: Some(sums.suffered_ns),
                tasks_ns: Some(sums.tasks_ns),
                no_slot_ns: Some(sums.no_slot_ns),
                idle_ns: Some(sums.idle_ns),
                quota_ns: Some(sums.quota_ns),
                interrupts_ns: told(abi::CPULEDGER_TAKEN_INTERRUPTS, sums.interrupts_ns),
                stolen_ns: told(abi::CPULEDGER_TAKEN_STOLEN, sums.stolen_ns),
                unattributed_suffered_ns: Some(sums.strays_suffered_ns),
            }),
            waited: &self.waited,
            pairs: self.pairs.as_ref().map(|pairs| &pairs.pairs),
            pairs_off_ns: self.pairs.as_ref().map_or(0, |pairs| pairs.off_ns),
            unseen: counter(offset_of!(abi::cpuledger_cpu_blame, unseen)),
            amended: counter(offset_of!(abi::cpuledger_cpu_blame, amended)),
            miscounted_cpus: sums.miscounted_cpus,
        }
    }

    /// Waits for the end of an event of this CPU that may have begun before the cut.
    pub(super) fn await_quiet(&self, cpu: u32) -> Result<(), Error> {
        let sequence = self.cpus.word(cpu, offset_of!(abi::cpuledger_cpu_blame, sequence));
        let first = sequence.load(Ordering::Acquire);
        let is_over = || first & 1 == 0 || sequence.load(Ordering::Acquire) != first;
        cut::wait_until(is_over, || format!("a wake-up on CPU {cpu}"))
    }

    /// What `read` finds in the record of a CPU while no hook writes it.
    fn undisturbed<T>(&self, cpu: u32, read: impl Fn() -> T) -> Result<T, Error> {
        let sequence = self.cpus.word(cpu, offset_of!(abi::cpuledger_cpu_blame, sequence));
        for _ in 0..ATTEMPTS {
            let before = sequence.load(Ordering::Acquire);
            let found = read();
            fence(Ordering::Acquire);
            if before & 1 == 0 && sequence.load(Ordering::Relaxed) == before {
                return Ok(found);
            }
            clock::yield_now();
        }
        Err(Error::Poisoned { what: format!("the waiters of CPU {cpu} could not be read") })
    }

    /// How many tasks wait for a CPU no more and were found elsewhere since its last event, and the sum of the instants: of all classes, where these are kept.
    fn gone_of(&self, cpu: u32, near_ns: u64) -> (u64, u64) {
        let Some(pairs) = &self.pairs else {
            let word = self.cpus.word(cpu, offset_of!(abi::cpuledger_cpu_blame, gone));
            return gone(word.load(Ordering::Relaxed), near_ns);
        };
        pairs
            .gone(cpu)
            .map(|(_, word)| gone(word, near_ns))
            .fold((0, 0), |(count, sum_ns), (more, ns)| (count + more, sum_ns.wrapping_add(ns)))
    }

    /// How a CPU was at the cut that ended this interval, which began at `start_ns`.
    fn cpu_at_cut(&self, cpu: u32, interval: u64, start_ns: u64, cut_ns: u64) -> Result<CpuAtCut, Error> {
        let word = |offset| self.cpus.word(cpu, offset).load(Ordering::Relaxed);
        let half = |offset| self.cpus.half(cpu, offset).load(Ordering::Relaxed);
        self.undisturbed(cpu, || {
            let seen = word(offset_of!(abi::cpuledger_cpu_blame, interval));
            if seen > interval {
                return CpuAtCut {
                    running: half(offset_of!(abi::cpuledger_cpu_blame, cut_running)),
                    caused_ns: word(offset_of!(abi::cpuledger_cpu_blame, cut_caused_ns)),
                    waiters: word(offset_of!(abi::cpuledger_cpu_blame, cut_waiters)),
                    pairs: self.pairs.as_ref().map(|pairs| pairs.left_at_cut(cpu)).unwrap_or_default(),
                };
            }
            let (gone_count, sum_ns) = self.gone_of(cpu, cut_ns);
            let waiters = word(offset_of!(abi::cpuledger_cpu_blame, waiters)).wrapping_sub(gone_count);
            let area = word(offset_of!(abi::cpuledger_cpu_blame, area)).wrapping_add(sum_ns);
            let at = |ns: u64| area.wrapping_add(waiters.wrapping_mul(ns));
            let told = match seen == interval {
                true => word(offset_of!(abi::cpuledger_cpu_blame, told)),
                false => at(start_ns),
            };
            CpuAtCut {
                running: half(offset_of!(abi::cpuledger_cpu_blame, running)),
                caused_ns: at(cut_ns).wrapping_sub(told),
                waiters,
                pairs: self
                    .pairs
                    .as_ref()
                    .map(|pairs| {
                        let start_ns = (seen != interval).then_some(start_ns);
                        pairs.found_at_cut(cpu, cut_ns, start_ns, |word| gone(word, cut_ns))
                    })
                    .unwrap_or_default(),
            }
        })
    }

    /// Where the task of a slot waited at the cut that ended this interval. `None`: it did not.
    fn wait_at_cut(&self, number: u32, interval: u64, cut_ns: u64) -> Option<WaitAtCut> {
        let word = |offset| self.slots.word(number, offset).load(Ordering::Acquire);
        let of = |since_ns, place: u32| WaitAtCut {
            since_ns,
            how: place & abi::CPULEDGER_PLACE_HOW,
            cpu: place >> abi::CPULEDGER_PLACE_SHIFT,
            class: class_at(place),
        };
        loop {
            // In this order: a hook writes the last before it overwrites the first.
            let wait = word(offset_of!(abi::cpuledger_slot_blame, wait));
            let place = self.slots.half(number, offset_of!(abi::cpuledger_slot_blame, place));
            let place = place.load(Ordering::Acquire);
            let at_cut = word(offset_of!(abi::cpuledger_slot_blame, at_cut));
            if (at_cut >> abi::CPULEDGER_BLAME_CUT_SHIFT) as u32 == interval as u32 {
                let cut_since_ns = word(offset_of!(abi::cpuledger_slot_blame, cut_since_ns));
                return Some(of(cut_since_ns, at_cut as u32));
            }
            let since_ns = wait >> abi::CPULEDGER_WAIT_SHIFT;
            if wait & u64::from(abi::CPULEDGER_WAIT_IS) == 0 || since_ns >= cut_ns {
                return None;
            }
            if word(offset_of!(abi::cpuledger_slot_blame, wait)) == wait {
                return Some(of(since_ns, place));
            }
        }
    }

    /// Adds what the task of a slot, or what stands for none, has caused up to the cut.
    fn book_caused(&mut self, running: u32, caused_ns: u64) {
        let sum_ns = match running {
            _ if caused_ns == 0 => return,
            abi::CPULEDGER_SLOT_IDLE => &mut self.sums.idle_ns,
            number if number >= self.slots.mapped() || number == abi::CPULEDGER_SLOT_NONE => {
                &mut self.sums.no_slot_ns
            }
            number => &mut self.at_cut.entry(number).or_default().caused_ns,
        };
        add(sum_ns, caused_ns);
    }

    /// Closes the books of an interval, but for what is booked in the slots.
    pub(super) fn close(
        &mut self,
        listed: Vec<u32>,
        interval: u64,
        start_ns: u64,
        cut_ns: u64,
    ) -> Result<(), Error> {
        self.sums = Sums::default();
        let cpus = (0..self.cpu_ids).map(|cpu| self.cpu_at_cut(cpu, interval, start_ns, cut_ns));
        let mut cpus = cpus.collect::<Result<Vec<_>, _>>()?;
        for cpu in 0..self.cpu_ids {
            let take = |offset| take_word(self.cpus.word(cpu, of_parity(offset, interval)));
            add(&mut self.sums.idle_ns, take(offset_of!(abi::cpuledger_cpu_blame, idle_ns)));
            self.sums.quota_ns += take(offset_of!(abi::cpuledger_cpu_blame, quota_ns));
            add(&mut self.sums.no_slot_ns, take(offset_of!(abi::cpuledger_cpu_blame, no_slot_ns)));
            self.sums.interrupts_ns += take(offset_of!(abi::cpuledger_cpu_blame, interrupts_ns));
            self.sums.stolen_ns += take(offset_of!(abi::cpuledger_cpu_blame, stolen_ns));
            let tells = self.cpus.word(cpu, offset_of!(abi::cpuledger_cpu_blame, kernel_tells));
            self.sums.kernel_tells |= tells.load(Ordering::Relaxed);
            self.book_caused(cpus[cpu as usize].running, cpus[cpu as usize].caused_ns);
        }
        if let Some(pairs) = &mut self.pairs {
            pairs.begin(interval, (0..).zip(&cpus).map(|(cpu, at_cut)| (cpu, &at_cut.pairs)));
        }
        let mut numbers = std::mem::take(&mut self.waiters);
        numbers.extend(listed.into_iter().filter(|number| *number < self.slots.mapped()));
        numbers.sort_unstable();
        numbers.dedup();
        numbers.retain(|number| {
            let Some(wait) = self.wait_at_cut(*number, interval, cut_ns) else {
                return self.is_booked(*number, interval);
            };
            let suffered_ns = cut_ns - wait.since_ns.max(start_ns);
            self.at_cut.entry(*number).or_default().suffered_ns += suffered_ns;
            let cpu = cpus.get_mut(wait.cpu as usize);
            let row = match (wait.how, cpu) {
                (QUEUED, Some(cpu)) => {
                    cpu.waiters = cpu.waiters.wrapping_sub(1);
                    None
                }
                (MOVED, Some(cpu)) => {
                    self.book_caused(cpu.running, suffered_ns);
                    Some(cpu.pairs.row)
                }
                (QUOTA, _) => {
                    self.sums.quota_ns += suffered_ns;
                    Some(abi::CPULEDGER_ROW_QUOTA)
                }
                _ => {
                    self.sums.no_slot_ns += suffered_ns;
                    Some(abi::CPULEDGER_CLASS_OTHER)
                }
            };
            if let Some(pairs) = &mut self.pairs {
                pairs.add_waiting(wait.class, row, suffered_ns);
            }
            true
        });
        self.waiters = numbers;
        self.sums.idle_ns = self.sums.caused(self.sums.idle_ns);
        self.sums.no_slot_ns = self.sums.caused(self.sums.no_slot_ns);
        self.sums.miscounted_cpus = cpus.iter().filter(|cpu| cpu.waiters != 0).count() as u32;
        Ok(())
    }

    /// Whether hooks have booked anything for this slot.
    fn is_booked(&self, number: u32, interval: u64) -> bool {
        let word = |offset| self.slots.word(number, of_parity(offset, interval)).load(Ordering::Relaxed);
        word(offset_of!(abi::cpuledger_slot_blame, suffered_ns)) > 0
            || word(offset_of!(abi::cpuledger_slot_blame, caused_ns)) > 0
    }

    /// Ends the interval, of which all slots are taken.
    pub(super) fn end(&mut self) {
        let Sums { tasks_ns, no_slot_ns, idle_ns, quota_ns, interrupts_ns, stolen_ns, .. } = self.sums;
        if let Some(pairs) = &mut self.pairs {
            let tasks_ns = tasks_ns + no_slot_ns;
            pairs.end(Margins { tasks_ns, idle_ns, quota_ns, interrupts_ns, stolen_ns });
        }
    }

    /// Takes what was booked for a slot in this interval, and what was found at the cut.
    pub(super) fn take(&mut self, number: u32, interval: u64, has_owner: bool) -> Blame {
        if number >= self.slots.mapped() {
            return Blame::default();
        }
        let take = |offset| take_word(self.slots.word(number, of_parity(offset, interval)));
        let found = self.at_cut.remove(&number).unwrap_or_default();
        let booked_ns = found.caused_ns.wrapping_add(take(offset_of!(abi::cpuledger_slot_blame, caused_ns)));
        let taken_ns = booked_ns.cast_signed().min(0).unsigned_abs();
        if let Some(pairs) = self.pairs.as_mut().filter(|_| taken_ns > 0) {
            let place = self.slots.half(number, offset_of!(abi::cpuledger_slot_blame, place));
            pairs.add_taken(class_at(place.load(Ordering::Relaxed)), taken_ns);
        }
        let blame = Blame {
            suffered_ns: found.suffered_ns + take(offset_of!(abi::cpuledger_slot_blame, suffered_ns)),
            caused_ns: self.sums.caused(booked_ns),
        };
        self.sums.suffered_ns += blame.suffered_ns;
        if has_owner {
            self.sums.tasks_ns += blame.caused_ns;
            return blame;
        }
        self.sums.no_slot_ns += blame.caused_ns;
        self.sums.strays_suffered_ns += blame.suffered_ns;
        Blame::default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Sums, gone};
    use crate::abi;

    #[test]
    fn what_is_taken_back_was_suffered_by_a_task_without_a_row() {
        let mut sums = Sums { suffered_ns: 100, ..Sums::default() };
        assert_eq!(sums.caused(100), 100);
        assert_eq!(sums.caused(7_u64.wrapping_sub(50)), 0);
        assert_eq!((sums.suffered_ns, sums.strays_suffered_ns), (143, 43));
    }

    #[test]
    fn the_instants_of_those_that_are_gone_add_up() {
        for near_ns in [12_345_678, (1 << 48) + 3, 1 << 50] {
            let instants: [u64; 3] = [near_ns + 7, near_ns - 9_000_000, near_ns + 1];
            let word = instants
                .iter()
                .fold(0, |word: u64, ns| word.wrapping_add(ns.wrapping_shl(abi::CPULEDGER_GONE_SHIFT) | 1));
            assert_eq!(gone(word, near_ns + 100), (3, instants.iter().sum()));
        }
        assert_eq!(gone(0, 5), (0, 0));
    }
}
