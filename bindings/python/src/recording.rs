//! Intervals of a recording.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use cpuledger_client::replay::{Replay, Spot};
use cpuledger_model::interval;
use cpuledger_recording::{Span, When};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::books::Books;
use crate::error::of_recording;
use crate::interval::Interval;

/// A recording, as an iterable of its intervals. Each iteration begins at the first.
#[pyclass(frozen, module = "cpuledger")]
#[derive(Debug)]
pub(crate) struct Recording {
    path: PathBuf,
    span: Span,
    length_ns: u64,
}

/// An instant as the Python side names it: nanoseconds since 1970, or before the end of the recording.
type Named = (u64, bool);

fn when((ns, is_before_end): Named) -> When {
    if is_before_end { When::BeforeEnd(ns) } else { When::Realtime(ns) }
}

#[pymethods]
impl Recording {
    #[new]
    #[pyo3(signature = (path, since, until, length_ns))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        since: Option<Named>,
        until: Option<Named>,
        length_ns: u64,
    ) -> PyResult<Recording> {
        let span =
            Span { since: since.map_or(Span::ALL.since, when), until: until.map_or(Span::ALL.until, when) };
        if span.is_empty() {
            return Err(PyValueError::new_err("the span has no time in it: `since` is to be before `until`"));
        }
        // What cannot be read is said at once.
        py.detach(|| Replay::open(&path)).map_err(of_recording)?;
        Ok(Recording { path, span, length_ns })
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<RecordedIntervals> {
        py.detach(|| {
            let mut replay = Replay::open(&self.path)?;
            replay.set_span(self.span);
            replay.set_length(self.length_ns);
            replay.leave_out_rows();
            let next = replay.first()?;
            Ok(RecordedIntervals { at: Mutex::new(At { replay, next }) })
        })
        .map_err(|error: cpuledger_client::Error| of_recording(error))
    }

    /// When the first interval of all that was recorded began, and the last one ended: CLOCK_REALTIME, nanoseconds since 1970. None: it has
    /// none.
    #[getter]
    fn span_realtime_ns(&self, py: Python<'_>) -> PyResult<Option<(u64, u64)>> {
        py.detach(|| Ok(Replay::open(&self.path)?.span_realtime_ns()))
            .map_err(|error: cpuledger_client::Error| of_recording(error))
    }

    fn __repr__(&self) -> String {
        format!("<Recording in {}>", self.path.display())
    }
}

/// The intervals of a recording that are still to come.
#[pyclass(frozen, module = "cpuledger")]
#[derive(Debug)]
struct RecordedIntervals {
    at: Mutex<At>,
}

#[derive(Debug)]
struct At {
    replay: Replay,
    next: Option<Spot>,
}

#[pymethods]
impl RecordedIntervals {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Interval>> {
        py.check_signals()?;
        py.detach(|| self.at.lock().unwrap_or_else(PoisonError::into_inner).next()).map_err(of_recording)
    }
}

impl At {
    fn next(&mut self) -> Result<Option<Interval>, cpuledger_client::Error> {
        let Some(spot) = self.next.take() else { return Ok(None) };
        let mut interval = interval::Interval::default();
        let Some(facts) = self.replay.read(spot, &mut interval)? else { return Ok(None) };
        self.next = facts.next;
        let (cgroups, units) = (&facts.cgroups, &facts.units);
        Ok(Interval::new(Books::of_recorded(interval, facts.boot_id, facts.end_realtime_ns, cgroups, units)))
    }
}
