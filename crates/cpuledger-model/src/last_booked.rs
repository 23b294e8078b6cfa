//! What accounts have booked to a task in the interval in which it died.

use crate::counters::Counters;
use crate::field::Field;

macro_rules! last_booked {
    ($($(#[$what:meta])* $field:ident $member:ident;)*) => {
        /// The figures of accounts of a task that died, in its last interval; absent while the account is not kept, or where the reader may not see
        /// them.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct LastBooked {
            $($(#[$what])* pub $member: Option<u64>,)*
        }

        impl LastBooked {
            /// Those of these counters.
            pub fn of(counters: &Counters) -> LastBooked {
                let known = |field: Field, figure: u64| counters.known.contains(field).then_some(figure);
                LastBooked { $($member: known(Field::$field, counters.$member),)* }
            }

            /// Makes the fields of these figures known, where they are.
            pub fn store_into(&self, counters: &mut Counters) {
                $(if let Some(figure) = self.$member {
                    counters.set(Field::$field, figure);
                })*
            }
        }
    };
}

last_booked! {
    /// How long it waited for a CPU.
    WaitSuffered wait_suffered_ns;
    /// How long others waited for the CPU that it had.
    WaitCaused wait_caused_ns;
    /// Bytes sent, but for Unix sockets.
    NetworkSent network_sent_bytes;
    /// Bytes received, likewise.
    NetworkReceived network_received_bytes;
    /// Bytes sent by Unix sockets.
    UnixSent unix_sent_bytes;
    /// Bytes received by them.
    UnixReceived unix_received_bytes;
    /// Bytes that disks have read for it.
    DiskReadBytes disk_read_bytes;
    /// Bytes that disks have written for it.
    DiskWrittenBytes disk_written_bytes;
}

impl LastBooked {
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
    use crate::field::FieldSet;

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
