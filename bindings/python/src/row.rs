//! Rows as objects: an attribute for each column of their table.

use std::sync::Arc;

use cpuledger_model::field::Value;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

use crate::books::{Books, Cell, printable};
use crate::columns::Section;

/// A row of a table. Its attributes are the columns of the table; what is not known is None.
#[pyclass(frozen, subclass, module = "cpuledger")]
#[derive(Debug, Clone)]
pub(crate) struct Row {
    books: Arc<Books>,
    section: Section,
    index: usize,
}

macro_rules! kinds_of_rows {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[pyclass(frozen, extends = Row, module = "cpuledger")]
            pub(crate) struct $name;
        )*
    };
}

kinds_of_rows! {
    /// A process in an interval: the keys of `processes` in docs/json.md.
    ProcessRow;
    /// A task in an interval: the keys of `tasks`.
    TaskRow;
    /// A task that died in an interval: the keys of `exited`.
    ExitedRow;
    /// A task that was blocked in all of an interval: the keys of `blocked`.
    BlockedRow;
    /// A process or a task in a listing: every field, cumulative ones since its start.
    ListedRow;
}

/// The object for a row.
pub(crate) fn object(
    py: Python<'_>,
    books: &Arc<Books>,
    section: Section,
    index: usize,
) -> PyResult<Py<PyAny>> {
    let row = PyClassInitializer::from(Row { books: Arc::clone(books), section, index });
    Ok(match section {
        Section::Processes => Py::new(py, row.add_subclass(ProcessRow))?.into_any(),
        Section::Tasks => Py::new(py, row.add_subclass(TaskRow))?.into_any(),
        Section::Exited => Py::new(py, row.add_subclass(ExitedRow))?.into_any(),
        Section::Blocked => Py::new(py, row.add_subclass(BlockedRow))?.into_any(),
        Section::ListedProcesses | Section::ListedTasks => {
            Py::new(py, row.add_subclass(ListedRow))?.into_any()
        }
    })
}

/// A value as Python has it: names are escaped as in all outputs.
pub(crate) fn value<'py>(py: Python<'py>, cell: Cell<'_>) -> Bound<'py, PyAny> {
    match cell {
        Cell::Value(Value::Absent) | Cell::Flag(None) => py.None().into_bound(py),
        Cell::Value(Value::Unsigned(number)) => PyInt::new(py, number).into_any(),
        Cell::Value(Value::Signed(number)) => PyInt::new(py, number).into_any(),
        Cell::Value(Value::Letter(letter)) => PyString::new(py, &printable(&[letter])).into_any(),
        Cell::Value(Value::Bytes(bytes)) => PyString::new(py, &printable(bytes)).into_any(),
        Cell::Flag(Some(flag)) => PyBool::new(py, flag).to_owned().into_any(),
    }
}

#[pymethods]
impl Row {
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(column) = self.section.column(name) else {
            let rows = self.section.name();
            return Err(PyAttributeError::new_err(format!("rows of `{rows}` have no attribute `{name}`")));
        };
        Ok(value(py, self.books.cell(self.section, self.index, column)))
    }

    fn __dir__(&self) -> Vec<&'static str> {
        let columns = self.section.columns().iter().map(|column| column.name);
        columns.chain(["to_dict"]).collect()
    }

    /// The row as a dictionary, as it is in JSON.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dictionary = PyDict::new(py);
        for column in self.section.columns() {
            dictionary.set_item(column.name, value(py, self.books.cell(self.section, self.index, column)))?;
        }
        Ok(dictionary)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let row = slf.get();
        let told = |name: &str| -> PyResult<Option<String>> {
            let Some(column) = row.section.column(name) else { return Ok(None) };
            let value = value(slf.py(), row.books.cell(row.section, row.index, column));
            Ok(Some(format!("{name}={}", value.repr()?)))
        };
        let mut words = Vec::new();
        for name in ["tid", "pid", "comm", "cpu_ns", "runtime_ns", "blocked_for_ns"] {
            words.extend(told(name)?);
        }
        Ok(format!("{}({}, ...)", slf.get_type().name()?, words.join(", ")))
    }
}
