//! The account of the network: what `bpf/network.bpf.c` books.

use std::mem::offset_of;
use std::sync::atomic::Ordering;

use bytemuck::AnyBitPattern;
use cpuledger_model::accounts::Account;
use cpuledger_model::make;
use cpuledger_model::traffic::{Flow, Flows, NetworkTotals, Traffic};

use crate::abi;
use crate::error::Error;

use super::booked::Taken;
use super::parts::{self, Hooked, Needs, Parts};
use super::shared::{Shared, of_parity};

/// The compiled `bpf/network.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/network.bpf.o.zst"));

const HOOKS: [&str; 2] = ["on_send", "on_receive"];

/// The attached hooks. They go with it.
pub(super) type Network = Hooked<abi::cpuledger_slot_network, abi::cpuledger_cpu_network>;

/// What the hooks are attached to.
pub(super) static NEEDS: Needs =
    Needs::new(Account::Network, ["sock_send_length", "sock_recv_length"], "6.3");

/// Attaches the hooks to the ledger with these parts, of so many slots and CPUs. The interval `since` is the first that counts.
///
/// # Errors
/// On kernels before 6.3, which do not tell what is sent; and as [`super::Ledger::attach`].
pub(super) fn attach(ledger: &Parts, counts: (u32, u32), since: u64) -> Result<Network, Error> {
    let maps = ["slot_networks", "cpu_networks"];
    let sizes = [(maps[0], counts.0), (maps[1], counts.1)];
    let object = parts::load_beside(ledger, &NEEDS, ("cpuledger_net", OBJECT), &sizes)?;
    Hooked::attach("the network", &object, &HOOKS, maps, counts, since)
}

impl Network {
    /// Reads and zeroes what the CPUs have booked.
    pub(super) fn take_cpus(&self, interval: u64) -> NetworkTotals {
        let mut totals = NetworkTotals::NOTHING;
        for cpu in 0..self.counts.1 {
            let take = |offset| take(&self.cpus, cpu, offset, interval);
            totals.add(&take(offset_of!(abi::cpuledger_cpu_network, all)));
            totals.lose(&take(offset_of!(abi::cpuledger_cpu_network, unattributed)));
        }
        totals
    }

    /// Likewise, of a slot. `None`: nothing.
    pub(super) fn take(&self, number: u32, interval: u64) -> Option<Taken<Traffic>> {
        let used = take(&self.slots, number, offset_of!(abi::cpuledger_slot_network, used), interval);
        let owner = of_parity(offset_of!(abi::cpuledger_slot_network, owner), interval);
        let owner_ns = self.slots.word(number, owner).load(Ordering::Relaxed);
        (used != Traffic::default() && self.is_whole(interval)).then_some(Taken { used, owner_ns })
    }
}

/// Reads and zeroes the pair of accumulators at `offset` of a record: that of the interval.
fn take<R: AnyBitPattern>(records: &Shared<R>, index: u32, offset: usize, interval: u64) -> Traffic {
    let offset = offset + size_of::<abi::cpuledger_network>() * (interval & 1) as usize;
    let abi::cpuledger_network { by } = records.take(index, offset);
    let flow = |of: abi::cpuledger_traffic| make!(Flow { bytes: of.bytes, calls: of.calls });
    let flows = |kind: u32| {
        let [sent, received] = by[kind as usize].map(flow);
        Flows { sent, received }
    };
    make!(Traffic {
        tcp: flows(abi::CPULEDGER_SOCKET_TCP),
        udp: flows(abi::CPULEDGER_SOCKET_UDP),
        unix: flows(abi::CPULEDGER_SOCKET_UNIX),
        other: flows(abi::CPULEDGER_SOCKET_OTHER),
    })
}

const _: () = assert!(abi::CPULEDGER_SENT == 0 && abi::CPULEDGER_RECEIVED == 1);
