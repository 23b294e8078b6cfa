//! What descends from this process, measured while its own code runs.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use cpuledger_client::descent::Sums;
use cpuledger_client::measure::Background;
use cpuledger_client::{Measured, Measurement};
use cpuledger_model::Pid;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{ServiceError, of_service};
use crate::follow::socket;

/// A measurement that has begun. A thread of its own collects intervals until it ends.
#[pyclass(frozen, module = "cpuledger")]
pub(crate) struct Measuring {
    background: Mutex<Option<Background>>,
    /// The process that has begun it, and has its thread.
    own: u32,
}

#[pymethods]
impl Measuring {
    /// Makes the first cut.
    #[new]
    #[pyo3(signature = (socket = None))]
    fn new(py: Python<'_>, socket: Option<PathBuf>) -> PyResult<Measuring> {
        let socket = self::socket(socket);
        let own = std::process::id();
        let of = Pid(own.cast_signed());
        let begun = py.detach(|| Measurement::begin_at(&socket, of)).map_err(of_service)?;
        let background = begun.in_background().map_err(|error| {
            ServiceError::new_err(format!(
                "cannot start a thread that measures: {error}; raise the limit of tasks"
            ))
        })?;
        Ok(Measuring { background: Mutex::new(Some(background)), own })
    }

    /// Makes the last cut, and returns the figures by their names.
    fn end<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.own != std::process::id() {
            let message =
                "this process was forked in the measurement: only the one that has begun it can end it";
            return Err(PyRuntimeError::new_err(message));
        }
        let background = self.background.lock().unwrap_or_else(PoisonError::into_inner).take();
        let background =
            background.ok_or_else(|| PyRuntimeError::new_err("the measurement has ended already"))?;
        let measured =
            py.detach(|| background.end()).map_err(|error| ServiceError::new_err(error.to_string()))?;
        figures(py, &measured)
    }
}

fn figures<'py>(py: Python<'py>, measured: &Measured) -> PyResult<Bound<'py, PyDict>> {
    let tree = &measured.tree;
    let figures = PyDict::new(py);
    for (name, value) in [
        ("start_ns", measured.start_ns),
        ("end_ns", measured.end_ns),
        ("cpu_ns", tree.booked_ns),
        ("waiting_ns", tree.all.waiting_ns),
        ("own_cpu_ns", tree.own_ns),
        ("processes", tree.all.processes),
        ("unattributed_ns", measured.unattributed_ns),
        ("without_books_ns", measured.without_books_ns),
    ] {
        figures.set_item(name, value)?;
    }
    for (name, value) in [
        ("user_ns", tree.divided.map(|part| part.user_ns)),
        ("system_ns", tree.divided.map(|part| part.system_ns)),
        ("stolen_ns", Some(tree.divided.map_or(tree.stolen_ns, |part| part.stolen_ns))),
        ("missed_switches", tree.missed_switches),
        ("hidden_cpu_ns", tree.hidden_cpu_ns),
    ] {
        figures.set_item(name, value)?;
    }
    figures.set_item("by_command", by_name(py, &tree.sums.by_name)?)?;
    figures.set_item("by_ancestry", by_name(py, &tree.sums.by_line)?)?;
    let running =
        tree.running.iter().map(|member| (member.id.tid.0, member.comm.as_str(), member.used.cpu_ns));
    figures.set_item("running", running.collect::<Vec<_>>())?;
    Ok(figures)
}

/// Most CPU time first. The name of the rest is None.
fn by_name<'py>(py: Python<'py>, sums: &Sums) -> PyResult<Bound<'py, PyDict>> {
    let mut all: Vec<_> = sums.iter().collect();
    all.sort_by_key(|(_, used)| std::cmp::Reverse(used.cpu_ns));
    let by_name = PyDict::new(py);
    for (name, used) in all {
        by_name.set_item(name, (used.processes, used.cpu_ns, used.waiting_ns, used.longest_ns))?;
    }
    Ok(by_name)
}
