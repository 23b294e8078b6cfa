//! Tables of several intervals.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::columns::{Section, TIMES};
use crate::interval::Interval;
use crate::table::Table;

/// The rows of several intervals as one table, with the columns `start_ns` and `end_ns` before the others.
#[pyfunction]
pub(crate) fn join(intervals: &Bound<'_, PyAny>, table: &str) -> PyResult<Table> {
    let section = Section::by_name(table).ok_or_else(|| {
        PyValueError::new_err(format!(
            "there is no table `{table}`: an interval has processes, tasks, exited and blocked"
        ))
    })?;
    let mut parts = Vec::new();
    for interval in intervals.try_iter()? {
        parts.push(Arc::clone(interval?.cast::<Interval>()?.get().books()));
    }
    let columns = TIMES.iter().chain(section.columns()).collect();
    Ok(Table::of_parts(parts, section, columns))
}
