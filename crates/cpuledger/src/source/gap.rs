//! The time for which there are no books.

use crate::interval::{Interval, Unattributed};
use crate::machine;
use crate::snapshot::Snapshot;
use crate::source_kind::SourceKind;

/// An interval without books: all of the online CPUs' time is unattributed.
pub fn tell_gap(
    source: SourceKind,
    [start_ns, end_ns]: [u64; 2],
    snapshot: &mut Snapshot,
    into: &mut Interval,
) {
    snapshot.clear();
    snapshot.source = source;
    snapshot.begin_ns = end_ns;
    snapshot.end_ns = end_ns;
    into.clear();
    into.source = source;
    into.start_ns = start_ns;
    into.end_ns = end_ns;
    into.online_cpus = machine::online_cpus();
    into.capacity_ns = into.length_ns() * u64::from(into.online_cpus);
    into.idle_ns = Some(0);
    into.unattributed_ns = Some(into.capacity_ns);
    into.unattributed_by = Unattributed { not_attached_ns: into.capacity_ns, ..Unattributed::default() };
    // No source has seen what died.
    into.exited = None;
}
