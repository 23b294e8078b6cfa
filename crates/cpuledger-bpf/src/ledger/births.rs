//! Tasks that were forked and have not run yet. `list_birth` of `bpf/list.bpf.h` has the other half.

use std::mem::offset_of;
use std::sync::atomic::Ordering;

use crate::abi;

use super::interval::Newborn;
use super::{Ledger, off};

const BIRTHS: usize = offset_of!(abi::cpuledger_cpu, births);
const BIRTH: usize = offset_of!(abi::cpuledger_slot_rest, birth);
const FIRST_NS: usize = offset_of!(abi::cpuledger_slot_rest, first_ns);
const LISTED: u32 = abi::CPULEDGER_BIRTH_LISTED;

impl Ledger {
    /// Takes the lists of all CPUs. Their slots are to be mapped after that.
    pub(super) fn take_births(&mut self) {
        self.births.clear();
        let lists = (0..self.books.len() as u32).map(|cpu| self.cpus.word(cpu, BIRTHS));
        self.births
            .extend(lists.map(|list| list.swap(0, Ordering::AcqRel) as u32).filter(|first| *first != 0));
    }

    /// Finds those on the lists that were born before the cut and have not run by then. What is younger is put back.
    pub(super) fn gather_births(&mut self, cut_ns: u64) {
        self.newborn.clear();
        for place in 0..self.births.len() {
            let mut number = self.births[place];
            while number != 0 {
                let link = self.rests.word(number, BIRTH);
                let next = link.load(Ordering::Acquire) as u32 & !LISTED;
                let first_ns = self.rests.word(number, FIRST_NS).load(Ordering::Acquire);
                if first_ns >= cut_ns {
                    self.list_again(number);
                } else {
                    // From here on a hook may list the slot anew.
                    link.store(0, Ordering::Release);
                    self.newborn.extend(self.newborn_of(number, first_ns));
                }
                number = next;
            }
        }
    }

    fn list_again(&self, number: u32) {
        let (list, link) = (self.cpus.word(0, BIRTHS), self.rests.word(number, BIRTH));
        let mut last = list.load(Ordering::Relaxed);
        loop {
            link.store(last | u64::from(LISTED), Ordering::Relaxed);
            match list.compare_exchange(last, number.into(), Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => last = now,
            }
        }
    }

    /// The owner of a slot, if it waits since its birth and is not among the tasks of the interval.
    fn newborn_of(&self, number: u32, first_ns: u64) -> Option<Newborn> {
        if first_ns == 0 || !off::waits_since_birth(&self.offs, number, self.memory.interval, first_ns) {
            return None;
        }
        let slot = self.slots.copy(number);
        let is_same = self.rests.word(number, FIRST_NS).load(Ordering::Acquire) == first_ns;
        let has_ended = slot.exit_interval != 0 && slot.exit_interval <= self.memory.interval;
        let is_listed = slot.mark[(self.memory.interval & 1) as usize] == self.memory.interval;
        (is_same && slot.tid != 0 && !has_ended && !is_listed).then_some(Newborn { number, slot })
    }
}
