//! A listing takes the kernel's snapshot, where that has all fields.

use std::process::Command;

use cpuledger::source::choose::open_for_listing;
use cpuledger::source::procfs::Procfs;
use cpuledger::{Field, FieldSet, Request, Scope, Snapshot, Source, SourceKind};
use cpuledger_load::Sleepers;

use crate::{begin, program};

#[test]
fn a_listing_of_the_kernel_is_that_of_proc_root() {
    let Some(_alone) = begin() else { return };
    let _sleepers = Sleepers::start(300, 150).expect("sleepers");
    let fields =
        FieldSet::of(&[Field::Pid, Field::Tid, Field::Comm, Field::Ppid, Field::Uid, Field::StartTime]);
    for scope in [Scope::Processes, Scope::Tasks] {
        let request = Request::new(scope, fields);
        let mut source = open_for_listing(None, &request).expect("a source");
        assert_eq!(source.kind(), SourceKind::Netlink, "{scope:?}");
        let (mut told, mut in_files) = (Snapshot::default(), Snapshot::default());
        Procfs::open().expect("procfs").snapshot(&request, &mut in_files).expect("files");
        source.snapshot(&request, &mut told).expect("a snapshot");
        let rows = |snapshot: &Snapshot| {
            let rows = if scope == Scope::Tasks { &snapshot.tasks } else { &snapshot.processes };
            let is_whole = rows.iter().all(|row| fields.without(row.known) == FieldSet::EMPTY);
            assert!(is_whole, "each row has all fields");
            let mut rows: Vec<_> = rows
                .iter()
                .map(|row| (row.pid, row.tid, row.ppid, row.uid, row.start_time_ns, row.comm))
                .collect();
            rows.retain(|row| !row.5.as_bytes().starts_with(b"kworker"));
            rows.sort_unstable_by_key(|row| (row.0, row.1));
            rows
        };
        let (told, in_files) = (rows(&told), rows(&in_files));
        println!("{scope:?}: {} rows", told.len());
        assert_eq!(told, in_files);
    }
}

/// Where a field is in files only, `ps` reads files.
#[test]
fn ps_lists_with_and_without_it_root() {
    let Some(_alone) = begin() else { return };
    let _sleepers = Sleepers::start(300, 150).expect("sleepers");
    let list = |columns: &str| {
        let output = Command::new(program()).args(["ps", "-eo", columns]).output().expect("ps runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8").lines().count()
    };
    let (of_kernel, of_files) = (list("pid,comm,time"), list("pid,comm,time,stat"));
    assert_eq!(of_kernel, of_files);
}
