//! What accounts have booked to a task in the interval in which it died.

use crate::counters::Counters;
use crate::field::{Field, FieldSet};

/// The figures of accounts of a task that died, in its last interval; absent while the account is not kept, or where the reader may not see them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastBooked {
    /// How long it waited for a CPU.
    pub wait_suffered_ns: Option<u64>,
    /// How long others waited for the CPU that it had.
    pub wait_caused_ns: Option<u64>,
    /// Bytes sent, but for Unix sockets.
    pub network_sent_bytes: Option<u64>,
    /// Bytes received, likewise.
    pub network_received_bytes: Option<u64>,
    /// Bytes sent by Unix sockets.
    pub unix_sent_bytes: Option<u64>,
    /// Bytes received by them.
    pub unix_received_bytes: Option<u64>,
    /// Bytes that disks have read for it.
    pub disk_read_bytes: Option<u64>,
    /// Bytes that disks have written for it.
    pub disk_written_bytes: Option<u64>,
}

impl LastBooked {
    /// Those of these counters.
    pub fn of(counters: &Counters) -> LastBooked {
        let known = |field: Field, figure: u64| counters.known.contains(field).then_some(figure);
        LastBooked {
            wait_suffered_ns: known(Field::WaitSuffered, counters.wait_suffered_ns),
            wait_caused_ns: known(Field::WaitCaused, counters.wait_caused_ns),
            network_sent_bytes: known(Field::NetworkSent, counters.network_sent_bytes),
            network_received_bytes: known(Field::NetworkReceived, counters.network_received_bytes),
            unix_sent_bytes: known(Field::UnixSent, counters.unix_sent_bytes),
            unix_received_bytes: known(Field::UnixReceived, counters.unix_received_bytes),
            disk_read_bytes: known(Field::DiskReadBytes, counters.disk_read_bytes),
            disk_written_bytes: known(Field::DiskWrittenBytes, counters.disk_written_bytes),
        }
    }

    /// Makes the fields of these figures known, where they are.
    pub fn store_into(&self, counters: &mut Counters) {
        for (field, figure, counter) in [
            (Field::WaitSuffered, self.wait_suffered_ns, &mut counters.wait_suffered_ns),
            (Field::WaitCaused, self.wait_caused_ns, &mut counters.wait_caused_ns),
            (Field::NetworkSent, self.network_sent_bytes, &mut counters.network_sent_bytes),
            (Field::NetworkReceived, self.network_received_bytes, &mut counters.network_received_bytes),
            (Field::UnixSent, self.unix_sent_bytes, &mut counters.unix_sent_bytes),
            (Field::UnixReceived, self.unix_received_bytes, &mut counters.unix_received_bytes),
            (Field::DiskReadBytes, self.disk_read_bytes, &mut counters.disk_read_bytes),
            (Field::DiskWrittenBytes, self.disk_written_bytes, &mut counters.disk_written_bytes),
        ] {
            if let Some(figure) = figure {
                *counter = figure;
                counters.known = counters.known.union(FieldSet::of(&[field]));
            }
        }
    }

    /// What /proc would show anybody of a living task: its waits.
    #[must_use]
    pub fn open(&self) -> LastBooked {
        let LastBooked { wait_suffered_ns, wait_caused_ns, .. } = *self;
        LastBooked { wait_suffered_ns, wait_caused_ns, ..LastBooked::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_what_it_is_made_of() {
        let mut counters = Counters { known: Counters::FIELDS, ..Counters::default() };
        counters.wait_caused_ns = 1;
        counters.unix_sent_bytes = 2;
        counters.disk_written_bytes = 3;
        let booked = LastBooked::of(&counters);
        let mut stored = Counters::default();
        booked.store_into(&mut stored);
        assert_eq!(LastBooked::of(&stored), booked);
        assert_eq!((stored.wait_caused_ns, stored.unix_sent_bytes, stored.disk_written_bytes), (1, 2, 3));
        assert!(!stored.known.contains(Field::DiskReads), "it has no such figure");
        let mut open = Counters::default();
        booked.open().store_into(&mut open);
        assert_eq!(open.known, FieldSet::of(&[Field::WaitSuffered, Field::WaitCaused]));
    }
}
