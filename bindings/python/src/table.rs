//! A table: a sequence of rows, and a stream of Arrow.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_array::RecordBatch;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PySlice, PyTuple};

use crate::arrow;
use crate::books::Books;
use crate::columns::{Column, Section, TIMES};
use crate::found::{Found, find};
use crate::row::{object, value};

/// Rows of one interval, of several, or of a listing. It is a sequence of row objects, and any library that takes Arrow takes it without a copy:
/// `polars.DataFrame(table)`, `pyarrow.table(table)`, `duckdb.sql("FROM table")`, `pandas.DataFrame.from_arrow(table)`.
#[pyclass(frozen, module = "cpuledger")]
#[derive(Debug)]
pub(crate) struct Table {
    section: Section,
    parts: Vec<Arc<Books>>,
    /// Of each part, the number of its first row; and the number of all rows.
    starts: Vec<usize>,
    columns: Vec<&'static Column>,
    /// Made when they are first wanted.
    batches: OnceLock<Vec<RecordBatch>>,
    /// Held by the thread that makes them: others wait for these, and do not make more.
    making: Mutex<()>,
}

impl Table {
    /// The rows of this section. `None`: the source does not know such rows.
    pub(crate) fn of(books: &Arc<Books>, section: Section) -> Option<Table> {
        books.len(section)?;
        Some(Table::of_parts(vec![Arc::clone(books)], section, section.columns().iter().collect()))
    }

    /// These columns of the rows of several.
    pub(crate) fn of_parts(parts: Vec<Arc<Books>>, section: Section, columns: Vec<&'static Column>) -> Table {
        let mut starts = vec![0];
        let mut rows = 0;
        for part in &parts {
            rows += part.len(section).unwrap_or(0);
            starts.push(rows);
        }
        Table { section, parts, starts, columns, batches: OnceLock::new(), making: Mutex::default() }
    }

    fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The part of a row, and its number there.
    fn place(&self, row: usize) -> (&Arc<Books>, usize) {
        let part = self.starts.partition_point(|start| *start <= row) - 1;
        (&self.parts[part], row - self.starts[part])
    }

    fn row(&self, py: Python<'_>, row: usize) -> PyResult<Py<PyAny>> {
        let (books, index) = self.place(row);
        object(py, books, self.section, index)
    }

    /// The batches. It may take long, so it is called without the lock of the interpreter.
    fn batches(&self) -> Result<&Vec<RecordBatch>, arrow_schema::ArrowError> {
        if let Some(batches) = self.batches.get() {
            return Ok(batches);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(batches) = self.batches.get() {
            return Ok(batches);
        }
        let made = arrow::batches(&self.parts, self.section, &self.columns)?;
        Ok(self.batches.get_or_init(|| made))
    }

    fn column_of(&self, name: &str) -> PyResult<&'static Column> {
        let found = self.section.column(name).or_else(|| TIMES.iter().find(|column| column.name == name));
        let rows = self.section.name();
        found.ok_or_else(|| {
            PyKeyError::new_err(format!("`{rows}` has no column `{name}`; `columns` has the names of all"))
        })
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.rows()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let rows = isize::try_from(self.rows())?;
        if let Ok(slice) = index.cast::<PySlice>() {
            let indices = slice.indices(rows)?;
            let numbers =
                (0..indices.slicelength).map(|number| indices.start + number.cast_signed() * indices.step);
            let objects = numbers.map(|number| self.row(py, number.cast_unsigned()));
            return Ok(PyList::new(py, objects.collect::<PyResult<Vec<_>>>()?)?.into_any());
        }
        let index: isize = index.extract().map_err(|_| {
            PyTypeError::new_err("a row is named by its number, or rows by a slice of numbers")
        })?;
        let index = if index < 0 { index + rows } else { index };
        if !(0..rows).contains(&index) {
            return Err(PyIndexError::new_err(format!("there are {rows} rows")));
        }
        Ok(self.row(py, index.cast_unsigned())?.into_bound(py))
    }

    fn __iter__(slf: Bound<'_, Self>) -> RowIterator {
        RowIterator { table: slf.unbind(), next: AtomicUsize::new(0) }
    }

    fn __repr__(&self) -> String {
        format!("<Table of {}: {} rows, {} columns>", self.section.name(), self.rows(), self.columns.len())
    }

    /// The names of its columns.
    #[getter]
    fn columns(&self) -> Vec<&'static str> {
        self.columns.iter().map(|column| column.name).collect()
    }

    /// When the first interval began, or the listing was begun: CLOCK_MONOTONIC. None: there is no interval.
    #[getter]
    fn start_ns(&self) -> Option<u64> {
        self.parts.first().map(|books| books.times_ns()[0])
    }

    /// When the last interval ended, or the listing was complete.
    #[getter]
    fn end_ns(&self) -> Option<u64> {
        self.parts.last().map(|books| books.times_ns()[1])
    }

    /// Of a listing: whether it has every process that /proc shows this user. Else the policy of the service holds some back. None: it is none.
    #[getter]
    fn shows_all(&self) -> Option<bool> {
        self.parts.first().and_then(|books| books.shows_all)
    }

    /// The same rows with these columns only, in this order. `start_ns` and `end_ns` of the interval are columns, too.
    #[pyo3(signature = (*names))]
    fn select(&self, names: &Bound<'_, PyTuple>) -> PyResult<Table> {
        let mut columns: Vec<&'static Column> = Vec::with_capacity(names.len());
        for name in names {
            let column = self.column_of(&name.extract::<String>()?)?;
            if columns.iter().any(|other| other.name == column.name) {
                return Err(PyValueError::new_err(format!("the column `{}` is named twice", column.name)));
            }
            columns.push(column);
        }
        Ok(Table::of_parts(self.parts.clone(), self.section, columns))
    }

    /// The values of a column; what is not known is None.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.column_of(name)?;
        let mut values = Vec::with_capacity(self.rows());
        for books in &self.parts {
            let rows = books.len(self.section).unwrap_or(0);
            match find(books, self.section, column) {
                Found::Numbers(numbers) if !column.is_of_cgroup() => {
                    values.extend(
                        numbers.iter(rows).map(|number| number.into_pyobject(py).map(Bound::into_any)),
                    );
                }
                _ => values.extend((0..rows).map(|row| Ok(value(py, books.cell(self.section, row, column))))),
            }
        }
        PyList::new(py, values.into_iter().collect::<Result<Vec<_>, _>>()?)
    }

    /// Each row as a dictionary with the columns of this table.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let mut dictionaries = Vec::with_capacity(self.rows());
        for row in 0..self.rows() {
            let (books, index) = self.place(row);
            let dictionary = PyDict::new(py);
            for column in &self.columns {
                dictionary.set_item(column.name, value(py, books.cell(self.section, index, column)))?;
            }
            dictionaries.push(dictionary);
        }
        Ok(dictionaries)
    }

    /// The Arrow PyCapsule interface. Numbers are Int64, names are string views. Another schema is not taken: the consumer converts.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = py.detach(|| self.batches().cloned()).map_err(arrow::failed)?;
        arrow::stream(py, batches, arrow::schema(&self.columns))
    }

    /// The schema alone.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema_capsule(py, &arrow::schema(&self.columns))
    }
}

/// The rows of a table, one after another. Threads that share it get each row once.
#[pyclass(frozen, module = "cpuledger")]
struct RowIterator {
    table: Py<Table>,
    next: AtomicUsize,
}

#[pymethods]
impl RowIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let table = self.table.get();
        let rows = table.rows();
        let following = |next| (next < rows).then_some(next + 1);
        let taken = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, following);
        taken.ok().map(|row| table.row(py, row)).transpose()
    }
}
