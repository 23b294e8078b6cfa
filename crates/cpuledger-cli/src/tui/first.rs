//! The first picture: what all processes have used since they began, by the files of /proc. It is shown while the source is being opened,
//! which takes long on a busy machine, unless an interval comes sooner. Nothing of it is in an interval, in the past or in a recording.

use std::sync::mpsc::Sender;
use std::thread;

use cpuledger::host_statistics::HostStatistics;
use cpuledger::source::procfs::Procfs;
use cpuledger::{Field, FieldSet, Interval, Request, Scope, Snapshot, machine};
use cpuledger_names::named::Namer;

use super::around::AroundReader;
use super::event::Event;
use super::frame::Frame;
use crate::cmd::top::collect::TEXT;

/// How long files are read: what is not read by then is left out.
const LONGEST_NS: u64 = 80_000_000;

/// Reads it on a thread of its own, and sends it.
///
/// # Errors
/// Where there is no thread to be had.
pub fn start(events: Sender<Event>) -> std::io::Result<()> {
    let read = move || picture().map(|frame| events.send(Event::Frame(Box::new(frame))));
    thread::Builder::new().name("first".into()).spawn(read).map(drop)
}

/// `None`: /proc cannot be read.
fn picture() -> Option<Frame> {
    let deadline_ns = machine::monotonic_ns() + LONGEST_NS;
    // What two files of a process have.
    let fields = TEXT.union(FieldSet::of(&[Field::Ppid, Field::Threads]));
    let request = Request::new(Scope::Processes, fields);
    let mut snapshot = Snapshot::default();
    let unread = Procfs::open().ok()?.snapshot_until(deadline_ns, &request, &mut snapshot).ok()?;
    let interval = Interval::since_boot(&snapshot, machine::online_cpus());
    let mut frame = AroundReader::new(HostStatistics::default(), Namer::default()).frame(interval, false);
    frame.around.unread = unread;
    Some(frame)
}
