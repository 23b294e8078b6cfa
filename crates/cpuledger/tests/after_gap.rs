//! An interval without books is followed by those of another source, as when the service is lost: nothing of it is in them.

use cpuledger::attribution::difference::CutFacts;
use cpuledger::framing::{self, Circumstances};
use cpuledger::source::{Exits, Source, procfs::Procfs, tell_gap};
use cpuledger::{Books, FieldSet, Interval, Request, Scope, Snapshot, SourceKind};
use cpuledger_model::frame::Frame;

const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn intervals_of_proc_tell_nothing_of_the_gap_before() {
    let (mut snapshot, mut interval, mut exits) =
        (Snapshot::default(), Interval::default(), Exits::default());
    tell_gap(SourceKind::Service, [0, 10 * SECOND_NS], &mut interval);
    assert!(interval.unattributed_ns >= Some(10 * SECOND_NS));
    let mut source = Procfs::open().expect("procfs is mounted");
    let mut books = Books::new(false);
    let request = Request::new(Scope::Processes, FieldSet::ALL);
    let cut = CutFacts::new(2, false);
    for _ in 0..2 {
        source.snapshot(&request, &mut snapshot).expect("a snapshot");
        books.close(&cut, &snapshot, &mut exits, &mut interval);
        assert_eq!(
            (interval.idle_ns, interval.unattributed_ns),
            (None, None),
            "files of /proc do not tell it"
        );
        assert_eq!(interval.unattributed_by.total_ns(), 0);
        assert_eq!(interval.fault(), None);
    }
    // Nor do their frames, which recordings have.
    let mut frame = Frame::new();
    framing::write(&interval, &Circumstances::default(), &mut frame);
    let mut replayed = Interval::default();
    tell_gap(SourceKind::Service, [0, 10 * SECOND_NS], &mut replayed);
    framing::read(&frame, &mut replayed).expect("it was just written");
    assert_eq!((replayed.idle_ns, replayed.unattributed_ns, replayed.fault()), (None, None, None));
}
