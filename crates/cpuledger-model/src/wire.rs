//! What cgroups send and receive on the wire: packets, and their bytes from the IP header on. The account [`crate::accounts::Account::Network`] has it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Cgroups that are told apart in an interval; all others are one.
pub const MOST_WIRE_CGROUPS: usize = 1_023;

/// Packets and their bytes, both ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WireUse {
    /// Bytes sent, from the IP header on.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes received, likewise.
    pub received_bytes: u64,
    /// Packets received.
    pub received_packets: u64,
}

impl WireUse {
    /// The figures, in the order of the members.
    pub fn figures(&self) -> [u64; 4] {
        [self.sent_bytes, self.sent_packets, self.received_bytes, self.received_packets]
    }

    /// That of these figures.
    pub fn of(figures: [u64; 4]) -> WireUse {
        let [sent_bytes, sent_packets, received_bytes, received_packets] = figures;
        WireUse { sent_bytes, sent_packets, received_bytes, received_packets }
    }

    /// Adds another.
    pub fn add(&mut self, more: &WireUse) {
        let (own, more) = (self.figures(), more.figures());
        *self = WireUse::of(std::array::from_fn(|place| own[place].saturating_add(more[place])));
    }

    /// Bytes, both ways.
    pub fn bytes(&self) -> u64 {
        self.sent_bytes.saturating_add(self.received_bytes)
    }
}

/// A cgroup, or all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WireCgroup {
    /// Its number in the unified hierarchy, which the kernel never gives to another; `None`: all other cgroups.
    pub id: Option<u64>,
    /// Its path; empty: not known.
    pub path: Vec<u8>,
    /// What its sockets sent and received.
    pub used: WireUse,
}

impl WireCgroup {
    /// What the sockets of a cgroup without a path sent and received.
    pub fn new(id: Option<u64>, used: WireUse) -> WireCgroup {
        WireCgroup { id, path: Vec::new(), used }
    }
}

/// All cgroups of an interval with packets: each once, by number; all others come first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wire(Vec<WireCgroup>);

impl Wire {
    /// The sum of these, of which the same may come more than once. Of more than [`MOST_WIRE_CGROUPS`], those with the fewest bytes are one.
    pub fn of(cgroups: impl IntoIterator<Item = WireCgroup>) -> Wire {
        let mut all: BTreeMap<Option<u64>, WireCgroup> = BTreeMap::new();
        for mut cgroup in cgroups.into_iter().filter(|cgroup| cgroup.used != WireUse::default()) {
            if cgroup.id.is_none() {
                cgroup.path.clear();
            }
            let own = all.entry(cgroup.id).or_insert_with(|| WireCgroup::new(cgroup.id, WireUse::default()));
            own.used.add(&cgroup.used);
            if !cgroup.path.is_empty() {
                own.path = cgroup.path;
            }
        }
        let named = all.keys().filter(|id| id.is_some()).count();
        if named > MOST_WIRE_CGROUPS {
            let mut ids: Vec<(Reverse<u64>, u64)> =
                all.values().filter_map(|cgroup| Some((Reverse(cgroup.used.bytes()), cgroup.id?))).collect();
            ids.sort_unstable();
            for (_, id) in ids.drain(MOST_WIRE_CGROUPS..) {
                let Some(cgroup) = all.remove(&Some(id)) else { continue };
                all.entry(None).or_default().used.add(&cgroup.used);
            }
        }
        Wire(all.into_values().collect())
    }

    /// Each of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &WireCgroup> {
        self.0.iter()
    }

    /// Each of them, to name it.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut WireCgroup> {
        self.0.iter_mut()
    }

    /// With those of a later interval, whose paths count.
    #[must_use]
    pub fn and(&self, later: &Wire) -> Wire {
        Wire::of(self.0.iter().chain(&later.0).cloned())
    }

    /// What all of them add up to.
    pub fn sum(&self) -> WireUse {
        self.0.iter().fold(WireUse::default(), |mut sum, cgroup| {
            sum.add(&cgroup.used);
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cgroup(id: u64, path: &str, bytes: u64) -> WireCgroup {
        WireCgroup { id: Some(id), path: path.into(), used: WireUse::of([bytes, 1, 0, 0]) }
    }

    #[test]
    fn the_same_cgroup_comes_once_with_its_last_path() {
        let one = Wire::of([cgroup(7, "/a", 10), cgroup(5, "", 1), cgroup(7, "", 5), cgroup(9, "/gone", 0)]);
        let both =
            one.and(&Wire::of([cgroup(7, "/b", 100), WireCgroup::new(None, WireUse::of([0, 0, 3, 1]))]));
        let told: Vec<_> =
            both.iter().map(|cgroup| (cgroup.id, &*cgroup.path, cgroup.used.figures())).collect();
        assert_eq!(
            told,
            [
                (None, &b""[..], [0, 0, 3, 1]),
                (Some(5), b"", [1, 1, 0, 0]),
                (Some(7), b"/b", [115, 3, 0, 0]),
                (Some(9), b"/gone", [0, 1, 0, 0])
            ]
        );
        assert_eq!(both.sum().figures(), [116, 5, 3, 1]);
    }

    #[test]
    fn those_with_the_fewest_bytes_of_too_many_are_among_the_others() {
        let most = MOST_WIRE_CGROUPS as u64;
        let all = Wire::of((1..=most + 5).map(|id| cgroup(id, "/x", id)));
        assert_eq!(all.sum().sent_bytes, (1..=most + 5).sum::<u64>());
        let others = all.iter().next().expect("there are many");
        assert_eq!((others.id, &*others.path, others.used.sent_bytes), (None, &b""[..], 15));
        assert_eq!(all.iter().len(), MOST_WIRE_CGROUPS + 1);
        assert_eq!(all.iter().nth(1).expect("there are many").id, Some(6));
    }
}
