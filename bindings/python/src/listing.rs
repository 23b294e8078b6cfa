//! Listings: what exists now.

use std::path::PathBuf;
use std::sync::Arc;

use cpuledger_client::service::ServiceListing;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::books::Books;
use crate::columns::Section;
use crate::error::of_service;
use crate::follow::socket;
use crate::table::Table;

/// Lists processes or, with `tasks`, every task.
#[pyfunction]
#[pyo3(signature = (tasks, fields = None, socket = None))]
pub(crate) fn listing(
    py: Python<'_>,
    tasks: bool,
    fields: Option<Vec<String>>,
    socket: Option<PathBuf>,
) -> PyResult<Table> {
    let (scope, section) = match tasks {
        true => (Scope::Tasks, Section::ListedTasks),
        false => (Scope::Processes, Section::ListedProcesses),
    };
    let fields = match fields {
        None => FieldSet::ALL,
        Some(names) => named(&names)?,
    };
    let socket = self::socket(socket);
    let list = || {
        let mut source = ServiceListing::open_only_at(&socket)?;
        let mut snapshot = Snapshot::default();
        source.snapshot(&Request::new(scope, fields), &mut snapshot)?;
        Ok((snapshot, source.shows_all()))
    };
    let (snapshot, shows_all) =
        py.detach(list).map_err(|error: cpuledger_client::Error| of_service(error))?;
    let table = Table::of(&Arc::new(Books::of_listing(snapshot, shows_all)), section);
    table.ok_or_else(|| of_service("the service has listed no such rows"))
}

/// The fields of these names, with those that say which task it is.
fn named(names: &[String]) -> PyResult<FieldSet> {
    let mut fields = FieldSet::of(&[Field::Tid, Field::Pid, Field::StartTime]);
    for name in names {
        let field = Field::by_key(name).ok_or_else(|| {
            PyValueError::new_err(format!(
                "a listing has no field `{name}`; `columns` of a listing has the names"
            ))
        })?;
        fields = fields.union(FieldSet::of(&[field]));
    }
    Ok(fields)
}
