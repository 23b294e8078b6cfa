//! Entry points for the fuzz targets in `fuzz/`: private code that takes bytes from elsewhere. No part of the interface.

use std::hint::black_box;

use cpuledger_bpf::{Mechanism, Walked};
use cpuledger_model::field::FieldSet;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};

use crate::source::io_access::IoAccess;
use crate::source::records;

/// What records of the kernel half make. The first byte chooses the form of the walk; the rest are processes, then as many tasks
/// as there are bytes for.
pub fn snapshot_of(bytes: &[u8]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let Some((&choice, bytes)) = bytes.split_first() else { return snapshot };
    let of_walk = cpuledger_bpf::fuzzing::records(bytes);
    let walked = Walked {
        tasks: &of_walk.tasks,
        rests: &of_walk.rests,
        processes: &of_walk.processes,
        begin_ns: 0,
        begin_boottime_ns: 0,
        end_ns: 1,
        lacks: u32::from(choice >> 2),
        mechanism: if choice & 1 == 0 { Mechanism::OneCall } else { Mechanism::Iterator },
    };
    let scope = if choice & 2 == 0 { Scope::Processes } else { Scope::Tasks };
    records::Decoder::new(walked, &Request::new(scope, FieldSet::ALL), IoAccess::ALL)
        .decode(&mut Vec::new(), &mut snapshot);
    snapshot
}

/// Decodes records of exits.
pub fn deaths(bytes: &[u8]) {
    cpuledger_bpf::fuzzing::exits(bytes).iter().for_each(|exit| {
        black_box(records::decode_death(exit));
    });
}
