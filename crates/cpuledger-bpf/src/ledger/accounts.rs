//! What a ledger keeps besides CPU time while somebody wants it: its accounts. Each has an object of its own, whose hooks share the maps of
//! the ledger. They are loaded when the account is wanted first, and go when it is not wanted any more.

use cpuledger_model::accounts::{Account, Accounts};
use cpuledger_model::buffer::empty;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::traffic::NetworkTotals;

use crate::abi;
use crate::error::Error;

use super::booked::{Booked, Rested};
use super::disk::DiskBook;
use super::network::Network;
use super::wire::Wire;

/// Those that are attached.
#[derive(Default)]
pub(super) struct Books {
    /// The account of the network is this or the wire, or both.
    pub(super) network: Option<Network>,
    pub(super) wire: Option<Wire>,
    pub(super) disks: Option<DiskBook>,
    /// Those that could not be attached, as long as they are wanted.
    pub(super) refused: Accounts,
    /// Why, until somebody asks.
    pub(super) reasons: Vec<(Account, Error)>,
    pub(super) booked: Booked,
}

impl Books {
    /// As the ledger does with its own slots.
    pub(super) fn map_up_to(&mut self, end: u32) -> Result<(), Error> {
        self.network.as_mut().map_or(Ok(()), |network| network.slots.map_up_to(end))?;
        self.disks.as_mut().map_or(Ok(()), |disks| disks.hooks.slots.map_up_to(end))
    }

    /// Waits for the hooks that had begun when the CPUs were closed.
    ///
    /// # Errors
    /// When one of them does not come to its end.
    pub(super) fn close(&self) -> Result<(), Error> {
        self.network.as_ref().map_or(Ok(()), Network::close)?;
        self.disks.as_ref().map_or(Ok(()), |disks| disks.hooks.close())
    }

    /// Begins to gather the closed interval.
    pub(super) fn begin(&mut self, interval: u64) -> Result<(), Error> {
        let Books { network, wire, disks, booked, .. } = self;
        empty(&mut booked.of_tasks);
        empty(&mut booked.of_others);
        booked.known = FieldSet::EMPTY;
        booked.network = NetworkTotals::default();
        booked.disks = None;
        booked.wire = wire.as_mut().and_then(|wire| Some(wire.take()).filter(|_| wire.is_whole(interval)));
        if let Some(network) = network {
            let totals = network.take_cpus(interval);
            if network.is_whole(interval) {
                booked.know(Account::Network);
                booked.network = totals;
            }
        }
        if let Some(disks) = disks {
            let told = disks.take_devices(interval)?;
            if disks.hooks.is_whole(interval) {
                booked.know(Account::Disk);
                if !disks.shows_swap() {
                    booked.known = booked.known.without(FieldSet::of(&[Field::SwapBlocked]));
                }
                booked.disks = Some(told);
            }
        }
        Ok(())
    }

    /// Takes what was booked to a slot. `place` is that of its task among those of the interval; `None`: it has no task there.
    pub(super) fn take(
        &mut self,
        number: u32,
        slot: &abi::cpuledger_slot,
        interval: u64,
        place: Option<usize>,
    ) {
        let Books { network, disks, booked, .. } = self;
        let (mut counters, mut has_any) = (booked.nothing(), false);
        let is_own = |owner_ns| place.is_some() && owner_ns == slot.start_time_ns;
        match network.as_ref().and_then(|network| network.take(number, interval)) {
            Some(taken) if is_own(taken.owner_ns) => {
                taken.used.store_into(&mut counters);
                has_any = true;
            }
            lost => lost.iter().for_each(|lost| booked.network.lose(&lost.used)),
        }
        match disks.as_ref().and_then(|disks| disks.take(number, interval)) {
            Some(taken) if is_own(taken.owner_ns) => {
                taken.used.store_into(&mut counters);
                has_any = true;
            }
            lost => lost.iter().for_each(|lost| booked.lose(&lost.used.all)),
        }
        if let Some(place) = place.filter(|_| has_any) {
            booked.of_tasks.push((place, counters));
        }
    }

    /// Takes what has ended in the interval for tasks that did not run. Slots of the dead are not free yet.
    pub(super) fn take_rest(&mut self, interval: u64, slot: impl Fn(u32) -> abi::cpuledger_slot) {
        let Books { disks, booked, .. } = self;
        let Some(disks) = disks else { return };
        for number in disks.take_listed(interval) {
            let Some(taken) = disks.take(number, interval) else { continue };
            let slot = slot(number);
            if slot.tid == 0 || slot.exit_interval != 0 || slot.start_time_ns != taken.owner_ns {
                booked.lose(&taken.used.all);
                continue;
            }
            let mut counters = booked.nothing();
            taken.used.store_into(&mut counters);
            let starts_ns = [slot.start_time_ns, slot.process_start_time_ns];
            booked.of_others.push(Rested { ids: [slot.tid, slot.pid], starts_ns, booked: counters });
        }
    }
}
