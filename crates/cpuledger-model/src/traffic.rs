//! What went through sockets: the figures of the account [`crate::accounts::Account::Network`].

use crate::counters::Counters;

/// Bytes and calls, one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flow {
    /// Bytes.
    pub bytes: u64,
    /// Calls that did not fail.
    pub calls: u64,
}

impl Flow {
    fn add(&mut self, more: Flow) {
        self.bytes += more.bytes;
        self.calls += more.calls;
    }
}

/// Both ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flows {
    /// To others.
    pub sent: Flow,
    /// From others.
    pub received: Flow,
}

impl Flows {
    fn add(&mut self, more: Flows) {
        self.sent.add(more.sent);
        self.received.add(more.received);
    }
}

/// What tasks have sent and received, by the kind of socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// TCP and MPTCP.
    pub tcp: Flows,
    /// UDP and UDP-Lite.
    pub udp: Flows,
    /// Sockets of the same machine.
    pub unix: Flows,
    /// All others.
    pub other: Flows,
}

impl Traffic {
    /// All but that of Unix sockets.
    pub fn network(&self) -> Flows {
        let mut all = self.tcp;
        all.add(self.udp);
        all.add(self.other);
        all
    }

    /// All.
    pub fn all(&self) -> Flows {
        let mut all = self.network();
        all.add(self.unix);
        all
    }

    /// Adds another.
    pub fn add(&mut self, more: &Traffic) {
        self.tcp.add(more.tcp);
        self.udp.add(more.udp);
        self.unix.add(more.unix);
        self.other.add(more.other);
    }

    /// Makes the fields of the account those of this.
    pub fn store_into(&self, counters: &mut Counters) {
        let network = self.network();
        counters.network_sent_bytes = network.sent.bytes;
        counters.network_sends = network.sent.calls;
        counters.network_received_bytes = network.received.bytes;
        counters.network_receives = network.received.calls;
        counters.tcp_sent_bytes = self.tcp.sent.bytes;
        counters.tcp_sends = self.tcp.sent.calls;
        counters.tcp_received_bytes = self.tcp.received.bytes;
        counters.tcp_receives = self.tcp.received.calls;
        counters.udp_sent_bytes = self.udp.sent.bytes;
        counters.udp_sends = self.udp.sent.calls;
        counters.udp_received_bytes = self.udp.received.bytes;
        counters.udp_receives = self.udp.received.calls;
        counters.unix_sent_bytes = self.unix.sent.bytes;
        counters.unix_sends = self.unix.sent.calls;
        counters.unix_received_bytes = self.unix.received.bytes;
        counters.unix_receives = self.unix.received.calls;
        counters.known = counters.known.union(crate::accounts::Account::Network.fields());
    }
}

/// What all sockets of the machine have sent and received in an interval; absent while the account is not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkTotals {
    /// Bytes sent, by Unix sockets too.
    pub sent_bytes: Option<u64>,
    /// Bytes received, likewise.
    pub received_bytes: Option<u64>,
    /// The part of the former that is in no row: its task had no slot, or was folded.
    pub unattributed_sent_bytes: Option<u64>,
    /// The part of the latter, likewise.
    pub unattributed_received_bytes: Option<u64>,
}

impl NetworkTotals {
    /// Those of sockets that did nothing.
    pub const NOTHING: NetworkTotals = NetworkTotals {
        sent_bytes: Some(0),
        received_bytes: Some(0),
        unattributed_sent_bytes: Some(0),
        unattributed_received_bytes: Some(0),
    };

    /// Adds what was booked.
    pub fn add(&mut self, traffic: &Traffic) {
        let all = traffic.all();
        add(&mut self.sent_bytes, all.sent.bytes);
        add(&mut self.received_bytes, all.received.bytes);
    }

    /// Adds what of that belongs to no task.
    pub fn lose(&mut self, traffic: &Traffic) {
        let all = traffic.all();
        add(&mut self.unattributed_sent_bytes, all.sent.bytes);
        add(&mut self.unattributed_received_bytes, all.received.bytes);
    }

    /// Adds what belongs to a task of which there is no row.
    pub fn lose_row(&mut self, booked: &Counters) {
        add(&mut self.unattributed_sent_bytes, booked.network_sent_bytes + booked.unix_sent_bytes);
        add(
            &mut self.unattributed_received_bytes,
            booked.network_received_bytes + booked.unix_received_bytes,
        );
    }
}

fn add(sum: &mut Option<u64>, more: u64) {
    *sum = sum.map(|sum| sum + more);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::Account;
    use crate::field::Value;

    #[test]
    fn every_figure_has_its_field() {
        let flow = |number| Flow { bytes: 10 * number, calls: number };
        let flows = |number| Flows { sent: flow(number), received: flow(10 * number) };
        let traffic = Traffic { tcp: flows(1), udp: flows(2), unix: flows(4), other: flows(8) };
        let mut counters = Counters::default();
        traffic.store_into(&mut counters);
        let told: Vec<(&str, u64)> = Account::Network
            .fields()
            .iter()
            .map(|field| match counters.value(field) {
                Value::Unsigned(number) => (field.info().key, number),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected =
            [("network", 11), ("tcp", 1), ("udp", 2), ("unix", 4)].into_iter().flat_map(|(kind, number)| {
                [
                    (format!("{kind}_sent_bytes"), 10 * number),
                    (format!("{kind}_sends"), number),
                    (format!("{kind}_received_bytes"), 100 * number),
                    (format!("{kind}_receives"), 10 * number),
                ]
            });
        let told: Vec<(String, u64)> =
            told.into_iter().map(|(key, number)| (key.to_owned(), number)).collect();
        assert_eq!(told, expected.collect::<Vec<_>>());
        let mut totals = NetworkTotals::NOTHING;
        totals.add(&traffic);
        totals.lose(&Traffic { unix: traffic.unix, ..Traffic::default() });
        assert_eq!((totals.sent_bytes, totals.unattributed_received_bytes), (Some(150), Some(400)));
    }
}
