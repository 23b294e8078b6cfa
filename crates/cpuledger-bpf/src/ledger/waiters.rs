//! When the reader closes the books of who waits because of whom: `blame.rs` has the books.

use std::mem::offset_of;
use std::sync::atomic::Ordering;

use cpuledger_model::buffer::empty;

use crate::abi;
use crate::error::Error;

use super::blame::QUIET_NS;
use super::booked::Rested;
use super::waits::{Blame, Waited};
use super::{Ledger, clock, listed_at};

impl Ledger {
    /// Waits until no hook writes about what was before the cut. The slots of all that waited are to be mapped after that.
    pub(super) fn await_blame(&self, cut_ns: u64) -> Result<(), Error> {
        let Some(books) = &self.blame else { return Ok(()) };
        clock::sleep_until(cut_ns + QUIET_NS);
        (0..books.cpu_ids).try_for_each(|cpu| books.await_quiet(cpu))
    }

    /// Reads who waited at the cut, and because of whom.
    pub(super) fn close_blame(&mut self, cut_ns: u64) -> Result<(), Error> {
        let Some(mut books) = self.blame.take() else { return Ok(()) };
        let count = self.places_of(offset_of!(abi::cpuledger_control, waiting), self.memory.interval);
        let parity = (self.memory.interval & 1) as u32;
        let places = (0..count).map(|place| books.list.word(listed_at(place, parity), 0));
        // Emptied, as a CPU may leave some of the places that it reserves.
        let listed = places.map(|place| place.swap(0, Ordering::Relaxed) as u32);
        let listed = listed.filter(|number| *number != abi::CPULEDGER_SLOT_IDLE).collect();
        let closed = books.close(listed, self.memory.interval, self.memory.start_ns, cut_ns);
        self.blame = Some(books);
        closed
    }

    /// The blame of a slot in the closed interval; `tid` is 0 if it has no owner any more.
    pub(super) fn take_blame(&mut self, number: u32, tid: i32) -> Option<Blame> {
        let interval = self.memory.interval;
        self.blame.as_mut().map(|books| books.take(number, interval, tid != 0))
    }

    /// Takes that of the slots that did not run.
    pub(super) fn gather_blame(&mut self) {
        let Some(mut books) = self.blame.take() else { return };
        empty(&mut books.waited);
        for number in books.found() {
            let slot = self.slots.copy(number);
            let blame = books.take(number, self.memory.interval, slot.tid != 0);
            if blame.is_some() {
                let mut booked = self.accounts.booked.nothing();
                blame.store_into(&mut booked);
                let starts_ns = [slot.start_time_ns, slot.process_start_time_ns];
                self.accounts.booked.of_others.push(Rested { ids: [slot.tid, slot.pid], starts_ns, booked });
                books.waited.push(Waited { number, blame, slot });
            }
        }
        books.end();
        self.blame = Some(books);
    }
}
