//! What processes use that descend from one, between two cuts of the service.

use std::ffi::{CString, c_char, c_int};
use std::ptr;

use cpuledger_client::descent::Used;
use cpuledger_client::measure::{Measured, Measurement};
use cpuledger_model::task::Pid;

use crate::failure::{CPULEDGER_EINVAL, Failure};
use crate::fill::known;
use crate::functions::{CPULEDGER_NOTHING, CPULEDGER_OK};
use crate::handle::{caught, sentence};
use crate::options::{Asked, cpuledger_options};
use crate::sized::{self, Sized_};

/// A measurement. One thread at a time uses it.
pub struct cpuledger_measurement {
    state: State,
    message: CString,
}

enum State {
    Runs(Box<Measurement>),
    Ended(Box<Ended>),
    /// It has failed for good.
    Failed(Failure),
}

/// What was measured, and the names of what ended or still runs, in the order of their CPU time.
struct Ended {
    measured: Measured,
    names: Vec<(Option<CString>, Used)>,
}

/// What processes used between two cuts.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct cpuledger_measured {
    /// CPULEDGER_INIT sets it.
    pub size: usize,
    /// The first cut, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// The last cut, CLOCK_MONOTONIC.
    pub end_ns: u64,
    /// CPU time of all that descends from the process, that of the dead included, stolen time included.
    pub cpu_ns: u64,
    /// The part of it in which they did not execute: the hypervisor or an interrupt did.
    pub stolen_ns: u64,
    /// How long they were runnable, and waited for a CPU.
    pub waiting_ns: u64,
    /// The part of `cpu_ns` that no name has: of the dead whose identity was lost.
    pub unidentified_ns: u64,
    /// How many processes they were.
    pub processes: u64,
    /// How many of them still run.
    pub running: u64,
    /// CPU time of the process itself, its threads included. It is not in `cpu_ns`.
    pub own_ns: u64,
    /// CPU time of the machine that is attributed to nobody: some of it may be theirs.
    pub unattributed_ns: u64,
    /// For how long there were no books: what ran then is in no figure.
    pub without_books_ns: u64,
    /// Switches that the kernel has not shown, so that some time may be with another task.
    pub missed_switches: u64,
    /// Names that `cpuledger_measure_name` has.
    pub names: u64,
    /// Zero.
    pub reserved: [u64; 8],
}

// SAFETY: it begins with its size, and of numbers zeros are values.
unsafe impl Sized_ for cpuledger_measured {
    const LEAST_BYTES: usize = 176;
    const NAME: &'static str = "cpuledger_measured";
}

/// What processes of one name used.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct cpuledger_used {
    /// CPULEDGER_INIT sets it.
    pub size: usize,
    /// Their name, with `\x…` for what a terminal could take for a command; NULL: all names beyond the first 10,000. It belongs to the measurement.
    pub name: *const c_char,
    /// How many they were.
    pub processes: u64,
    /// CPU time, stolen time included.
    pub cpu_ns: u64,
    /// How long they were runnable, and waited for a CPU.
    pub waiting_ns: u64,
    /// The longest life of one.
    pub longest_ns: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

// SAFETY: it begins with its size, and of numbers and pointers zeros are values.
unsafe impl Sized_ for cpuledger_used {
    const LEAST_BYTES: usize = 80;
    const NAME: &'static str = "cpuledger_used";
}

const _: () = assert!(size_of::<cpuledger_measured>() == cpuledger_measured::LEAST_BYTES);
const _: () = assert!(size_of::<cpuledger_used>() == cpuledger_used::LEAST_BYTES);

/// Makes the first cut, and stores a measurement of what descends from the process `pid`, 0 for the caller: also where this fails, for
/// `cpuledger_measure_message`. Close it with `cpuledger_measure_close`. Of the options, the socket counts. Returns 0, or a negative code.
///
/// # Safety
/// `measurement` is NULL, or leads to room for a pointer. `options` is NULL, or leads to as many bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_measure_begin(
    measurement: *mut *mut cpuledger_measurement,
    pid: i32,
    options: *const cpuledger_options,
) -> c_int {
    if measurement.is_null() {
        return CPULEDGER_EINVAL;
    }
    let begun = caught(|| {
        let pid = match pid {
            0 => std::process::id().cast_signed(),
            1.. => pid,
            ..0 => return Err(Failure::invalid("the pid is negative")),
        };
        // SAFETY: the caller says so.
        let asked = unsafe { Asked::read(options) }?;
        Ok(Measurement::begin_at(&asked.socket, Pid(pid))?)
    });
    let (state, message, code) = match begun {
        Ok(begun) => (State::Runs(Box::new(begun)), CString::default(), 0),
        Err(failure) => {
            let (message, code) = (sentence(&failure.message), failure.code);
            (State::Failed(failure), message, code)
        }
    };
    // SAFETY: the caller says so.
    unsafe { measurement.write(Box::into_raw(Box::new(cpuledger_measurement { state, message }))) };
    code
}

/// Adds what has come, without waiting. The service has room for two intervals at least, of a second as a rule: call this every second. Returns 0, or a negative code.
///
/// # Safety
/// `measurement` is NULL, or one that was begun and is not closed. No other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_measure_collect(measurement: *mut cpuledger_measurement) -> c_int {
    let collect = |state: &mut State| match state {
        State::Runs(measurement) => {
            measurement.collect()?;
            Ok(0)
        }
        State::Ended(_) => Ok(0),
        State::Failed(failure) => Err(failure.clone()),
    };
    // SAFETY: the caller says so.
    unsafe { with_measurement(measurement, collect) }
}

/// Makes the last cut, if that is not made, and copies what was measured. Returns 0, or a negative code.
///
/// # Safety
/// As `cpuledger_measure_collect`; `measured` is NULL, or leads to as many bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_measure_end(
    measurement: *mut cpuledger_measurement,
    measured: *mut cpuledger_measured,
) -> c_int {
    let end = |state: &mut State| {
        // SAFETY: the caller says so.
        unsafe { sized::check(measured) }?;
        let value = state.end()?.value();
        // SAFETY: the caller says so.
        unsafe { sized::write(measured, &value, 0) }
    };
    // SAFETY: the caller says so.
    unsafe { with_measurement(measurement, end) }
}

/// Copies what processes of one name used, after `cpuledger_measure_end`: `index` 0 is that with the most CPU time. Returns CPULEDGER_OK,
/// CPULEDGER_NOTHING if `index` is not below `names`, or a negative code.
///
/// # Safety
/// As `cpuledger_measure_collect`; `used` is NULL, or leads to as many bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_measure_name(
    measurement: *mut cpuledger_measurement,
    index: u64,
    used: *mut cpuledger_used,
) -> c_int {
    let name = |state: &mut State| {
        // SAFETY: the caller says so.
        unsafe { sized::check(used) }?;
        let State::Ended(ended) = state else {
            return Err(Failure::invalid("the measurement has not ended: call cpuledger_measure_end first"));
        };
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let Some((name, of)) = ended.names.get(index) else { return Ok(CPULEDGER_NOTHING) };
        let value = cpuledger_used {
            size: 0,
            name: name.as_ref().map_or(ptr::null(), |name| name.as_ptr()),
            processes: of.processes,
            cpu_ns: of.cpu_ns,
            waiting_ns: of.waiting_ns,
            longest_ns: of.longest_ns,
            reserved: [0; 4],
        };
        // SAFETY: the caller says so.
        unsafe { sized::write(used, &value, CPULEDGER_OK) }
    };
    // SAFETY: the caller says so.
    unsafe { with_measurement(measurement, name) }
}

/// The sentence of the last error; else an empty text. It belongs to the measurement, and is valid until the next call with it.
///
/// # Safety
/// As `cpuledger_measure_collect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_measure_message(
    measurement: *const cpuledger_measurement,
) -> *const c_char {
    // SAFETY: the caller says so.
    match unsafe { measurement.as_ref() } {
        Some(measurement) => measurement.message.as_ptr(),
        None => ptr::from_ref(c"there is no measurement").cast(),
    }
}

/// Closes a measurement, and frees all that belongs to it. NULL is permitted.
///
/// # Safety
/// As `cpuledger_measure_collect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_measure_close(measurement: *mut cpuledger_measurement) {
    if !measurement.is_null() {
        // SAFETY: the caller says so.
        drop(unsafe { Box::from_raw(measurement) });
    }
}

/// Calls what uses a measurement, and keeps the sentence of an error.
///
/// # Safety
/// As `cpuledger_measure_collect`.
unsafe fn with_measurement(
    measurement: *mut cpuledger_measurement,
    call: impl FnOnce(&mut State) -> Result<c_int, Failure>,
) -> c_int {
    // SAFETY: the caller says so.
    let Some(measurement) = (unsafe { measurement.as_mut() }) else { return CPULEDGER_EINVAL };
    match caught(|| call(&mut measurement.state)) {
        Ok(code) => {
            measurement.message = CString::default();
            code
        }
        Err(failure) => {
            measurement.message = sentence(&failure.message);
            // What an argument was wrong for can be asked for again.
            if failure.code != CPULEDGER_EINVAL {
                measurement.state = State::Failed(failure.clone());
            }
            failure.code
        }
    }
}

impl State {
    /// What was measured: the last cut is made where it is not.
    fn end(&mut self) -> Result<&Ended, Failure> {
        let before = std::mem::replace(self, State::Failed(Failure::invalid("the measurement is lost")));
        *self = match before {
            State::Runs(measurement) => State::Ended(Box::new(Ended::of(measurement.end()?))),
            before => before,
        };
        match self {
            State::Ended(ended) => Ok(ended),
            State::Failed(failure) => Err(failure.clone()),
            // It has just been ended.
            State::Runs(_) => Err(Failure::invalid("the measurement runs")),
        }
    }
}

impl Ended {
    fn of(measured: Measured) -> Ended {
        let name = |name: &String| sentence(name);
        let mut names: Vec<(Option<CString>, Used)> =
            measured.tree.sums.by_name.iter().map(|(text, used)| (text.as_ref().map(name), *used)).collect();
        names.sort_by(|a, b| b.1.cpu_ns.cmp(&a.1.cpu_ns).then_with(|| a.0.cmp(&b.0)));
        Ended { measured, names }
    }

    fn value(&self) -> cpuledger_measured {
        let Measured { start_ns, end_ns, tree, unattributed_ns, without_books_ns, .. } = &self.measured;
        cpuledger_measured {
            size: 0,
            start_ns: *start_ns,
            end_ns: *end_ns,
            cpu_ns: tree.booked_ns,
            stolen_ns: tree.stolen_ns,
            waiting_ns: tree.all.waiting_ns,
            unidentified_ns: tree.booked_ns.saturating_sub(tree.all.cpu_ns),
            processes: tree.all.processes,
            running: tree.running.len() as u64,
            own_ns: tree.own_ns,
            unattributed_ns: *unattributed_ns,
            without_books_ns: *without_books_ns,
            missed_switches: known(tree.missed_switches),
            names: self.names.len() as u64,
            reserved: [0; 8],
        }
    }
}
