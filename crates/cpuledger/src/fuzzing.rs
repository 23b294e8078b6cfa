//! Doors for the fuzz targets in `fuzz/`: whatever takes bytes from elsewhere and is private. No part of the interface.

use std::hint::black_box;

use cpuledger_bpf::{Mechanism, Walked};

use crate::enrich::detail::{cgroup, files};
use crate::facts;
use crate::field::FieldSet;
use crate::snapshot::{Request, Scope, Snapshot};
use crate::source::io_access::IoAccess;
use crate::source::kernel_text::Dialect;
use crate::source::procfs::cgroup::Hierarchy;
use crate::source::procfs::{self, counts, stat, status};
use crate::source::records;
use crate::{machine, terminal};

/// Every parser of a file of /proc and /sys.
pub fn proc_text(bytes: &[u8]) {
    black_box(stat::parse_stat(bytes));
    black_box(status::parse_status(bytes));
    black_box(counts::parse_statm(bytes));
    black_box(counts::parse_schedstat(bytes));
    black_box(counts::parse_io(bytes));
    for hierarchy in [Hierarchy::Unified, Hierarchy::V1Cpu] {
        black_box(procfs::cgroup::path_of(bytes, hierarchy));
        bytes.split(|&byte| byte == b'\n').for_each(|line| {
            black_box(procfs::cgroup::mount_point(line, hierarchy));
        });
    }
    black_box(files::parse_status(bytes));
    black_box(files::parse_addresses(bytes));
    black_box(files::parse_shares(bytes));
    black_box(files::parse_autogroup(bytes));
    black_box(Dialect::parse(bytes));
    cgroup_text(bytes);
    if let Ok(text) = str::from_utf8(bytes) {
        utf8_text(text);
    }
}

fn cgroup_text(bytes: &[u8]) {
    black_box(cgroup::names(&cgroup::one_line(bytes)).len());
    black_box(cgroup::lxc(bytes));
    black_box(cgroup::docker(bytes));
    for hierarchy in [cgroup::Hierarchy::Unified, cgroup::Hierarchy::Named] {
        let Some(path) = cgroup::path(bytes, hierarchy) else { continue };
        for path in [path, cgroup::below_root(path, bytes)] {
            black_box((cgroup::slice(path), cgroup::unit(path), cgroup::user_unit(path)));
            black_box((cgroup::session(path), cgroup::owner(path)));
        }
    }
}

fn utf8_text(text: &str) {
    let (count, list) = (machine::count_list(text), machine::expand_list(text));
    if let (Some(count), Some(list)) = (count, &list) {
        assert_eq!(count as usize, list.len(), "two readings of the same list: {text:?}");
    }
    black_box(machine::parse_load(text));
    black_box(machine::number_after(text, "btime "));
    black_box(terminal::parse_drivers(text));
    black_box(facts::hiding(text));
}

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
    records::Decoder::new(walked, &Request { scope, fields: FieldSet::ALL }, IoAccess::ALL)
        .decode(&mut Vec::new(), &mut snapshot);
    snapshot
}

/// Decodes records of exits.
pub fn deaths(bytes: &[u8]) {
    cpuledger_bpf::fuzzing::exits(bytes).iter().for_each(|exit| {
        black_box(records::decode_death(exit));
    });
}
