//! Exceptions.

use std::fmt::Display;

use cpuledger_client::REMEDY_OF_SERVICE;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(cpuledger, Error, PyException, "What this package raises: one sentence, with the remedy.");
create_exception!(cpuledger, ServiceError, Error, "There is no service, or it does not give what is wanted.");
create_exception!(cpuledger, RecordingError, Error, "A recording cannot be read.");

/// The exception for a service that cannot be used.
pub(crate) fn of_service(error: impl Display) -> PyErr {
    ServiceError::new_err(format!("{error}{REMEDY_OF_SERVICE}"))
}

/// The exception for a recording.
pub(crate) fn of_recording(error: impl Display) -> PyErr {
    RecordingError::new_err(error.to_string())
}
