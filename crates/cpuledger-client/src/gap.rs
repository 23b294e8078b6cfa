//! The time for which there are no books.

use cpuledger_model::interval::{Interval, Unattributed};
use cpuledger_model::make;
use cpuledger_model::source_kind::SourceKind;

use crate::cpus::online_cpus;

/// An interval without books: all of the time of the CPUs that are online now is unattributed.
pub fn tell_gap(source: SourceKind, times: [u64; 2], into: &mut Interval) {
    tell_gap_of(source, times, online_cpus(), into);
}

/// Whether an interval is one without books, and not one that has some of both.
pub fn is_gap(interval: &Interval) -> bool {
    interval.unattributed_by.not_attached_ns == interval.capacity_ns
}

/// The same as [`tell_gap`], of a machine with this number of CPUs.
pub fn tell_gap_of(source: SourceKind, [start_ns, end_ns]: [u64; 2], online_cpus: u32, into: &mut Interval) {
    let capacity_ns = end_ns.saturating_sub(start_ns).saturating_mul(online_cpus.into());
    into.renew(make!(Interval {
        source,
        start_ns,
        end_ns,
        online_cpus,
        capacity_ns,
        idle_ns: Some(0),
        unattributed_ns: Some(capacity_ns),
        unattributed_by: make!(Unattributed { not_attached_ns: capacity_ns }),
        read_begin_ns: end_ns,
        read_end_ns: end_ns,
        // No source has seen what died.
        exited: None,
    }));
}
