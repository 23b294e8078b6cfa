//! An interval.

use std::sync::Arc;

use cpuledger_model::interval;
use cpuledger_view::json::append_interval;
use cpuledger_view::key::{Beside, Shown};
use cpuledger_view::member::{LOSSES, MISSED_EXITS, Member, TOTALS};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::books::{Books, Cell, Rows};
use crate::columns::Section;
use crate::row::value;
use crate::table::Table;

/// What lies between two cuts: where the CPU time of the machine went. `attributed_ns + idle_ns + unattributed_ns == capacity_ns`.
#[pyclass(frozen, module = "cpuledger")]
#[derive(Debug)]
pub(crate) struct Interval {
    books: Arc<Books>,
}

/// What an interval says by itself.
fn members() -> impl Iterator<Item = &'static Member<interval::Interval>> {
    TOTALS.iter().chain(&LOSSES).chain(&MISSED_EXITS)
}

impl Interval {
    /// Of these books; `None`: they are a listing.
    pub(crate) fn new(books: Books) -> Option<Interval> {
        matches!(books.rows, Rows::Interval { .. }).then(|| Interval { books: Arc::new(books) })
    }

    pub(crate) fn books(&self) -> &Arc<Books> {
        &self.books
    }

    fn interval(&self) -> &interval::Interval {
        match &self.books.rows {
            Rows::Interval { totals, .. } => totals,
            Rows::Listing(_) => unreachable!("Interval::new takes no listing"),
        }
    }

    fn whole(&self) -> &interval::Interval {
        self.books.whole().unwrap_or_else(|| self.interval())
    }

    fn line(&self) -> Vec<u8> {
        let interval = self.whole();
        let all = |rows: usize| (0..rows).collect::<Vec<usize>>();
        let rows = |section| all(self.books.len(section).unwrap_or(0));
        let tasks = rows(Section::Tasks);
        let shown = Shown {
            interval,
            processes: &rows(Section::Processes),
            tasks: Some(&tasks),
            exited: &rows(Section::Exited),
            blocked: &rows(Section::Blocked),
            boot_id: self.books.boot_id.as_deref(),
            named: Some(self.books.named()),
            beside: Beside::default(),
        };
        line_of(&shown)
    }

    /// The value of a key of its JSON that is no number, whatever its rows are.
    fn nested<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        loads(py, &line_of(&Shown::without_rows(self.interval())))?.get_item(key)
    }
}

fn line_of(shown: &Shown<'_>) -> Vec<u8> {
    let mut line = Vec::new();
    append_interval(&mut line, shown);
    line.pop();
    line
}

/// What Python makes of a line of JSON, whose escaped text is UTF-8.
fn loads<'py>(py: Python<'py>, line: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (String::from_utf8_lossy(line),))
}

#[pymethods]
impl Interval {
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = members().find(|member| member.key == name);
        let member = found
            .ok_or_else(|| PyAttributeError::new_err(format!("an interval has no attribute `{name}`")))?;
        Ok(value(py, Cell::Value((member.value)(self.interval()))))
    }

    fn __dir__(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        let own: Vec<String> = slf.get_type().dir()?.extract()?;
        Ok(own.into_iter().chain(members().map(|member| member.key.to_owned())).collect())
    }

    /// Where it comes from: `service`, or `replay` for a recording.
    #[getter]
    fn source(&self) -> &'static str {
        self.interval().source_name()
    }

    /// Identifier of the boot; None: not known.
    #[getter]
    fn boot_id(&self) -> Option<&str> {
        self.books.boot_id.as_deref()
    }

    /// Its length: `end_ns - start_ns`.
    #[getter]
    fn length_ns(&self) -> u64 {
        self.interval().length_ns()
    }

    /// When it ended by the calendar: CLOCK_REALTIME, nanoseconds since 1970. None: not known.
    #[getter]
    fn end_realtime_ns(&self) -> Option<u64> {
        self.books.end_realtime_ns
    }

    /// `capacity_ns` less all that was booked: 0.
    #[getter]
    fn imbalance_ns(&self) -> Option<i64> {
        self.interval().imbalance_ns()
    }

    /// Whether there are no books of this time: the service was away, or nothing was recorded. All of it is unattributed.
    #[getter]
    fn is_gap(&self) -> bool {
        let interval = self.interval();
        interval.capacity_ns > 0 && interval.unattributed_by.not_attached_ns == interval.capacity_ns
    }

    /// `unattributed_ns` by reason; None: not known.
    #[getter]
    fn unattributed_by<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let interval = self.interval();
        if interval.unattributed_ns.is_none() {
            return Ok(None);
        }
        let reasons = PyDict::new(py);
        for (key, _, ns) in interval.unattributed_by.reasons() {
            reasons.set_item(key, ns)?;
        }
        Ok(Some(reasons))
    }

    /// Tids of tasks that the kernel hides from programs: their rows are from /proc.
    #[getter(from_procfs)]
    fn tids_from_procfs(&self) -> Vec<i32> {
        self.whole().from_procfs.iter().map(|tid| tid.0).collect()
    }

    /// The processes that ran, or waited for a CPU.
    #[getter]
    fn processes(&self) -> Option<Table> {
        Table::of(&self.books, Section::Processes)
    }

    /// Their tasks, likewise.
    #[getter]
    fn tasks(&self) -> Option<Table> {
        Table::of(&self.books, Section::Tasks)
    }

    /// The tasks that died; None: the source does not see them.
    #[getter]
    fn exited(&self) -> Option<Table> {
        Table::of(&self.books, Section::Exited)
    }

    /// The tasks that were blocked in all of it; None: not known.
    #[getter]
    fn blocked(&self) -> Option<Table> {
        Table::of(&self.books, Section::Blocked)
    }

    /// The interval as one line of JSON, schema cpuledger.interval/1.
    fn to_json<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        let line = py.detach(|| self.line());
        // Escaped text is UTF-8.
        PyString::new(py, &String::from_utf8_lossy(&line))
    }

    /// The interval as a dictionary: what `json.loads` makes of the line.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loads(py, &py.detach(|| self.line()))
    }

    /// What tasks waited for a CPU, by what they waited for; None: the account of blame is not kept.
    #[getter]
    fn wait_caused_by<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.nested(py, "wait_caused_by")
    }

    /// Which cgroup made which wait; None: the account of pairs is not kept.
    #[getter]
    fn wait_pairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.nested(py, "wait_pairs")
    }

    /// Requests of each disk, by name; None: the account of disks is not kept.
    #[getter]
    fn disks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.nested(py, "disks")
    }

    /// Packets and bytes of each cgroup on the wire; None: the account of the network is not kept, or not for cgroups.
    #[getter]
    fn wire<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.nested(py, "wire")
    }

    fn __repr__(&self) -> String {
        let interval = self.interval();
        format!(
            "<Interval of {}: {:.3} s, {} processes, imbalance {} ns>",
            interval.source_name(),
            interval.length_ns() as f64 / 1e9,
            self.books.len(Section::Processes).unwrap_or(0),
            interval.imbalance_ns().map_or("unknown".to_owned(), |ns| ns.to_string()),
        )
    }
}
