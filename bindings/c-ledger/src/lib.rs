//! libcpuledger with one function more: `cpuledger_open_ledger` opens a source of the program's own. Both libraries have the same symbols otherwise, and
//! the same handles; a program links one of them.
//!
//! The other one needs no libbpf, libelf or zlib, and no privilege: so they are two.

use std::ffi::{c_char, c_int};
use std::time::Duration;

use cpuledger::intervals::{Intervals, Wanted};
use cpuledger::source::choose::open_for_listing;
use cpuledger::{Error, FieldSet, Interval, Source, SourceKind, clock};
use cpuledger_c::{Failure, Feed, cpuledger as Handle, cpuledger_options, interval_ns, open_feed, text};
use cpuledger_client::Next;
use cpuledger_model::framing::Circumstances;
use cpuledger_model::make;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};

/// Opens a source of this process: "ledger", "walk", "netlink" or "procfs", with the privileges that it needs. Otherwise as `cpuledger_open`; of the
/// options, the length of intervals counts.
///
/// # Safety
/// `handle` is NULL, or leads to room for a pointer. `source` is NULL, or a text that ends with NUL. `options` is NULL, or leads to as many
/// bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_open_ledger(
    handle: *mut *mut Handle,
    source: *const c_char,
    options: *const cpuledger_options,
) -> c_int {
    let open = || {
        // SAFETY: the caller says so.
        let (length_ns, name) = unsafe { (interval_ns(options)?, text(source, "the source")?) };
        let kind: SourceKind = match name.to_string_lossy().parse() {
            Ok(kind) if kind != SourceKind::Service => kind,
            _ => {
                let reason = "the source is none of \"ledger\", \"walk\", \"netlink\" and \"procfs\"";
                return Err(Failure::invalid(reason));
            }
        };
        Ok(Box::new(OwnSource::open(kind, length_ns)?) as Box<dyn Feed>)
    };
    // SAFETY: the caller says so.
    unsafe { open_feed(handle, open) }
}

/// Intervals of a source that is opened here.
struct OwnSource {
    intervals: Intervals,
    kind: SourceKind,
    listing: Option<Box<dyn Source>>,
}

impl OwnSource {
    fn open(kind: SourceKind, length_ns: u64) -> Result<OwnSource, Failure> {
        let wanted = make!(Wanted { source: Some(kind), length_ns, by_task: true });
        let intervals = Intervals::open(wanted).map_err(failed)?;
        Ok(OwnSource { intervals, kind, listing: None })
    }
}

fn failed(error: Error) -> Failure {
    Failure::unusable(error)
}

impl Feed for OwnSource {
    fn next_within(&mut self, timeout: Option<Duration>) -> Result<Next, Failure> {
        if let Some(timeout) = timeout {
            let rest_ns = self.intervals.ends_ns().saturating_sub(clock::monotonic_ns());
            let rest = Duration::from_nanos(rest_ns);
            if rest > timeout {
                std::thread::sleep(timeout);
                return Ok(Next::Nothing);
            }
        }
        self.intervals.close().map_err(failed)?;
        Ok(Next::Interval)
    }

    fn cut(&mut self) -> Result<Next, Failure> {
        self.intervals.waker().wake();
        self.intervals.close().map_err(failed)?;
        Ok(Next::Interval)
    }

    fn interval(&self) -> &Interval {
        &self.intervals.interval
    }

    fn circumstances(&self) -> &Circumstances<'static> {
        self.intervals.circumstances()
    }

    fn notice(&mut self) -> Option<String> {
        self.intervals.take_notices().pop()
    }

    fn listing(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Failure> {
        let source = match &mut self.listing {
            Some(source) => source,
            None => {
                // A ledger has what ran: what exists is told by a walk.
                let kind = if self.kind == SourceKind::Ledger { SourceKind::Walk } else { self.kind };
                let whole = Request::new(Scope::Tasks, FieldSet::ALL);
                self.listing.insert(open_for_listing(Some(kind), &whole).map_err(failed)?)
            }
        };
        source.snapshot(request, into).map_err(failed)
    }
}
