//! Intervals of the service, as an iterator that waits without the lock of the interpreter.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::Duration;

use cpuledger_client::service::socket_path;
use cpuledger_client::{Client, Next};
use cpuledger_model::frame::{Column, Section};
use cpuledger_model::interval;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::books::Books;
use crate::error::of_service;
use crate::interval::Interval;

/// How often `close` is looked for meanwhile: once in an interval that is a little late, within these. A signal, such as that of Ctrl-C, ends a wait at
/// once.
const LOOK: [Duration; 2] = [Duration::from_millis(500), Duration::from_millis(1_500)];

/// The shortest and the longest interval that can be asked for, in seconds.
const SHORTEST_S: f64 = 0.001;
const LONGEST_S: f64 = 86_400.0;

/// Intervals of the service, one after another, without end.
#[pyclass(frozen, module = "cpuledger")]
#[derive(Debug)]
pub(crate) struct Intervals {
    client: Mutex<Client>,
    /// As the client said last: another thread may have it.
    ended: Mutex<Option<String>>,
    is_closed: AtomicBool,
    look: Duration,
}

/// Where the service is: the socket that was named, or that of the environment.
pub(crate) fn socket(named: Option<PathBuf>) -> PathBuf {
    named.unwrap_or_else(socket_path)
}

#[pymethods]
impl Intervals {
    #[new]
    #[pyo3(signature = (length = 1.0, *, socket = None))]
    fn new(py: Python<'_>, length: f64, socket: Option<PathBuf>) -> PyResult<Intervals> {
        if !(SHORTEST_S..=LONGEST_S).contains(&length) {
            let message = format!("an interval has {SHORTEST_S} to {LONGEST_S} seconds, not {length}");
            return Err(PyValueError::new_err(message));
        }
        let socket = self::socket(socket);
        let open = || Client::service_at(&socket, Duration::from_secs_f64(length));
        let mut client = py.detach(open).map_err(of_service)?;
        client.leave_out_rows();
        Ok(Intervals {
            client: Mutex::new(client),
            ended: Mutex::default(),
            is_closed: AtomicBool::new(false),
            look: Duration::from_secs_f64(length * 1.25).clamp(LOOK[0], LOOK[1]),
        })
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Interval>> {
        loop {
            py.check_signals()?;
            if self.is_closed.load(Ordering::Acquire) {
                return Ok(None);
            }
            if let Some(interval) = py.detach(|| self.next_within(self.look))? {
                return Ok(Some(interval));
            }
        }
    }

    /// Why there are intervals without books: the service has ended, and is waited for. None: it is there.
    #[getter]
    fn ended(&self) -> Option<String> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the iteration, also one that waits in another thread.
    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __exit__(&self, _type: Bound<'_, PyAny>, _value: Bound<'_, PyAny>, _traceback: Bound<'_, PyAny>) {
        self.close();
    }

    fn __repr__(&self) -> &'static str {
        "<Intervals of the service>"
    }
}

impl Intervals {
    fn next_within(&self, timeout: Duration) -> PyResult<Option<Interval>> {
        let mut client = match self.client.try_lock() {
            Ok(client) => client,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let message =
                    "another thread waits for the next interval; call intervals() once in each thread";
                return Err(PyRuntimeError::new_err(message));
            }
        };
        let next = client.next_within(Some(timeout)).map_err(of_service)?;
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = client.ended().map(ToString::to_string);
        if next != Next::Interval {
            return Ok(None);
        }
        let end_realtime_ns = client.circumstances().end_realtime_ns;
        Ok(Interval::new(of_interval(client.take_interval(), end_realtime_ns)))
    }
}

/// The books of an interval of the service, with what its frame says of the boot.
fn of_interval(interval: interval::Interval, end_realtime_ns: Option<u64>) -> Books {
    let frame = interval.frame.as_ref();
    let boot_id = frame.and_then(|frame| frame.text_of(Section::Interval, Column::BOOT_ID, 0));
    let boot_id = boot_id.map(|id| String::from_utf8_lossy(id).into_owned());
    Books::of_interval(interval, boot_id, end_realtime_ns)
}
