//! The account of the network: what `bpf/network.bpf.c` books.

use std::mem::offset_of;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use cpuledger_model::accounts::Account;
use cpuledger_model::make;
use cpuledger_model::traffic::{Flow, Flows, NetworkTotals, Traffic};

use crate::abi;
use crate::error::Error;
use crate::object;

use super::booked::Taken;
use super::cut;
use super::parts::{self, Needs, Parts};
use super::shared::{Shared, take_word};

/// The compiled `bpf/network.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/network.bpf.o"));

const HOOKS: [&str; 2] = ["on_send", "on_receive"];

const FLOW_BYTES: usize = size_of::<abi::cpuledger_traffic>();
const ENTERED: usize = offset_of!(abi::cpuledger_cpu_network, entered);
const LEFT: usize = offset_of!(abi::cpuledger_cpu_network, left);

/// The attached hooks. They go with it.
pub(super) struct Network {
    slots: Shared<abi::cpuledger_slot_network>,
    cpus: Shared<abi::cpuledger_cpu_network>,
    count: u32,
    /// The first interval that they have seen all of.
    since: u64,
    _hooks: Vec<OwnedFd>,
}

impl std::fmt::Debug for Network {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Network").field("since", &self.since).finish_non_exhaustive()
    }
}

/// What the hooks are attached to.
pub(super) static NEEDS: Needs =
    Needs::new(Account::Network, ["sock_send_length", "sock_recv_length"], "6.3");

impl Network {
    /// Attaches the hooks to the ledger with these parts, of so many slots and CPUs. The interval `since` is the first that counts.
    ///
    /// # Errors
    /// On kernels before 6.3, which do not tell what is sent; and as [`super::Ledger::attach`].
    pub(super) fn attach(ledger: &Parts, (slots, cpus): (u32, u32), since: u64) -> Result<Network, Error> {
        let sizes = [("slot_networks", slots), ("cpu_networks", cpus)];
        let object = parts::load_beside(ledger, &NEEDS, ("cpuledger_net", OBJECT), &sizes)?;
        let of_slots = Shared::unmapped(&object::map(&object, "slot_networks").as_fd(), slots)?;
        let of_cpus = Shared::new(&object::map(&object, "cpu_networks").as_fd(), cpus)?;
        let hooks = parts::attach_all(&object, &HOOKS)?;
        Ok(Network { slots: of_slots, cpus: of_cpus, count: cpus, since, _hooks: hooks })
    }

    /// Whether all of an interval is in it.
    pub(super) fn is_whole(&self, interval: u64) -> bool {
        interval >= self.since
    }

    /// As the ledger does with its own slots.
    ///
    /// # Errors
    /// When the kernel refuses the memory.
    pub(super) fn map_up_to(&mut self, end: u32) -> Result<(), Error> {
        self.slots.map_up_to(end)
    }

    /// Waits for the hooks that have begun. All CPUs are closed: one that begins later books to the next interval.
    ///
    /// # Errors
    /// When one does not come to its end.
    pub(super) fn close(&self) -> Result<(), Error> {
        (0..self.count).try_for_each(|cpu| {
            cut::wait_for_hooks("the network", cpu, [ENTERED, LEFT].map(|word| self.cpus.word(cpu, word)))
        })
    }

    /// Reads and zeroes what the CPUs have booked.
    pub(super) fn take_cpus(&self, interval: u64) -> NetworkTotals {
        let mut totals = NetworkTotals::NOTHING;
        for cpu in 0..self.count {
            let take = |offset| take(&self.cpus, cpu, offset, interval);
            totals.add(&take(offset_of!(abi::cpuledger_cpu_network, all)));
            totals.lose(&take(offset_of!(abi::cpuledger_cpu_network, unattributed)));
        }
        totals
    }

    /// Likewise, of a slot. `None`: nothing.
    pub(super) fn take(&self, number: u32, interval: u64) -> Option<Taken<Traffic>> {
        let used = take(&self.slots, number, offset_of!(abi::cpuledger_slot_network, used), interval);
        let owner = offset_of!(abi::cpuledger_slot_network, owner) + 8 * (interval & 1) as usize;
        let owner_ns = self.slots.word(number, owner).load(Ordering::Relaxed);
        (used != Traffic::default()).then_some(Taken { used, owner_ns })
    }
}

/// Reads and zeroes the pair of accumulators at `offset` of a record: that of the interval.
fn take<R: bytemuck::AnyBitPattern>(
    records: &Shared<R>,
    index: u32,
    offset: usize,
    interval: u64,
) -> Traffic {
    let offset = offset + size_of::<abi::cpuledger_network>() * (interval & 1) as usize;
    let flow = |kind: u32, direction: u32| {
        let place = offset + FLOW_BYTES * (kind * abi::CPULEDGER_DIRECTIONS + direction) as usize;
        let word = |of_flow| take_word(records.word(index, place + of_flow));
        make!(Flow {
            bytes: word(offset_of!(abi::cpuledger_traffic, bytes)),
            calls: word(offset_of!(abi::cpuledger_traffic, calls)),
        })
    };
    let flows =
        |kind| Flows { sent: flow(kind, abi::CPULEDGER_SENT), received: flow(kind, abi::CPULEDGER_RECEIVED) };
    make!(Traffic {
        tcp: flows(abi::CPULEDGER_SOCKET_TCP),
        udp: flows(abi::CPULEDGER_SOCKET_UDP),
        unix: flows(abi::CPULEDGER_SOCKET_UNIX),
        other: flows(abi::CPULEDGER_SOCKET_OTHER),
    })
}
