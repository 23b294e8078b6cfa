//! The functions of a handle.

use std::ffi::{c_char, c_int};
use std::path::Path;
use std::ptr;
use std::time::Duration;

use cpuledger_client::{Client, Next};

use crate::failure::Failure;
use crate::handle::{Feed, Source, cpuledger, open_feed, with_source};
use crate::interval::{cpuledger_exited, cpuledger_interval};
use crate::options::{Asked, cpuledger_list_options, cpuledger_options, request, text};
use crate::row::cpuledger_row;
use crate::sized::{self, Sized_};

/// The call has brought nothing: no interval has ended in time, or there is no such row.
pub const CPULEDGER_NOTHING: c_int = 0;
/// There is an interval, or a row.
pub const CPULEDGER_OK: c_int = 1;
/// The recording has no more intervals.
pub const CPULEDGER_END: c_int = 2;

/// The version of the library, such as "0.1.0". It is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn cpuledger_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Opens the books of the service, and stores a handle: also where this fails, for `cpuledger_message`. Close it with `cpuledger_close`. Without options,
/// intervals have one second. Returns 0, or a negative code.
///
/// # Safety
/// `handle` is NULL, or leads to room for a pointer. `options` is NULL, or leads to as many bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_open(
    handle: *mut *mut cpuledger,
    options: *const cpuledger_options,
) -> c_int {
    let open = || {
        // SAFETY: the caller says so.
        let asked = unsafe { Asked::read(options) }?;
        Ok(Box::new(Client::service_at(&asked.socket, asked.length())?) as Box<dyn Feed>)
    };
    // SAFETY: the caller says so.
    unsafe { open_feed(handle, open) }
}

/// Opens a recording: a directory, or a file of one. Otherwise as `cpuledger_open`.
///
/// # Safety
/// As `cpuledger_open`; `path` is NULL, or a text that ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_open_recording(
    handle: *mut *mut cpuledger,
    path: *const c_char,
    options: *const cpuledger_options,
) -> c_int {
    let open = || {
        // SAFETY: the caller says so.
        let (asked, path) = unsafe { (Asked::read(options)?, text(path, "the path")?) };
        let client = Client::recording(Path::new(path), asked.span, asked.length_or(0))?;
        Ok(Box::new(client) as Box<dyn Feed>)
    };
    // SAFETY: the caller says so.
    unsafe { open_feed(handle, open) }
}

/// Closes a handle, and frees all that belongs to it. NULL is permitted.
///
/// # Safety
/// `handle` is NULL, or one that was opened and is not closed. No other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_close(handle: *mut cpuledger) {
    if !handle.is_null() {
        // SAFETY: the caller says so.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// The sentence of the last error of this handle, or what its user should know, as that the service is gone; else an empty text. It belongs to the handle, and
/// is valid until the next call with it.
///
/// # Safety
/// As `cpuledger_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_message(handle: *const cpuledger) -> *const c_char {
    // SAFETY: the caller says so.
    match unsafe { handle.as_ref() } {
        Some(handle) => handle.message().as_ptr(),
        None => ptr::from_ref(c"there is no handle").cast(),
    }
}

/// What has come, as the caller gets it.
///
/// # Safety
/// As [`sized::write`].
unsafe fn come(next: Next, source: &Source, interval: *mut cpuledger_interval) -> Result<c_int, Failure> {
    match next {
        Next::Nothing => Ok(CPULEDGER_NOTHING),
        Next::End => Ok(CPULEDGER_END),
        Next::Interval => {
            let value = cpuledger_interval::of(source.feed.interval(), source.feed.circumstances());
            // SAFETY: the caller says so.
            unsafe { sized::write(interval, &value, CPULEDGER_OK) }
        }
    }
}

/// Waits for the end of the next interval, at most for so many milliseconds; -1: as long as it takes. Returns CPULEDGER_OK, CPULEDGER_NOTHING if none has
/// ended in time, CPULEDGER_END, or a negative code. Rows of the interval before are gone.
///
/// # Safety
/// `handle` is NULL or open, and no other thread uses it. `interval` is NULL, or leads to as many bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_next(
    handle: *mut cpuledger,
    timeout_ms: c_int,
    interval: *mut cpuledger_interval,
) -> c_int {
    let next = |source: &mut Source| {
        // SAFETY: the caller says so.
        unsafe { sized::check(interval) }?;
        let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        loop {
            let next = source.feed.next_within(timeout)?;
            if next != Next::Nothing || timeout.is_some() {
                // SAFETY: the caller says so.
                return unsafe { come(next, source, interval) };
            }
        }
    };
    // SAFETY: the caller says so.
    unsafe { with_source(handle, next) }
}

/// Ends the running interval now. Otherwise as `cpuledger_next`, which has those first that were not read.
///
/// # Safety
/// As `cpuledger_next`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_cut(handle: *mut cpuledger, interval: *mut cpuledger_interval) -> c_int {
    let cut = |source: &mut Source| {
        // SAFETY: the caller says so.
        unsafe { sized::check(interval) }?;
        let next = source.feed.cut()?;
        // SAFETY: the caller says so.
        unsafe { come(next, source, interval) }
    };
    // SAFETY: the caller says so.
    unsafe { with_source(handle, cut) }
}

/// Lists what exists now. Returns 0, or a negative code. `cpuledger_listed_process` and `cpuledger_listed_task` have the rows.
///
/// # Safety
/// `handle` is NULL or open, and no other thread uses it. `options` is NULL, or leads to as many bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_list(
    handle: *mut cpuledger,
    options: *const cpuledger_list_options,
) -> c_int {
    let list = |source: &mut Source| {
        // SAFETY: the caller says so.
        let request = unsafe { request(options) }?;
        source.feed.listing(&request, &mut source.listed).map(|()| 0)
    };
    // SAFETY: the caller says so.
    unsafe { with_source(handle, list) }
}

/// Copies what is found.
///
/// # Safety
/// `handle` is NULL or open, and no other thread uses it. `into` is NULL, or leads to as many bytes as it states.
unsafe fn copy<T: Sized_>(
    handle: *mut cpuledger,
    into: *mut T,
    find: impl FnOnce(&Source) -> Option<T>,
) -> c_int {
    let copy = |source: &mut Source| {
        // SAFETY: the caller says so.
        unsafe { sized::check(into) }?;
        match find(source) {
            // SAFETY: the caller says so.
            Some(value) => unsafe { sized::write(into, &value, CPULEDGER_OK) },
            None => Ok(CPULEDGER_NOTHING),
        }
    };
    // SAFETY: the caller says so.
    unsafe { with_source(handle, copy) }
}

/// An index as a place in memory. What is too large for one is no place.
fn at(index: u64) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// Copies the row of a process of the last interval. Returns CPULEDGER_OK, CPULEDGER_NOTHING if `index` is not below `processes`, or a negative code.
///
/// # Safety
/// `handle` is NULL or open, and no other thread uses it. `row` is NULL, or leads to as many bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_process(
    handle: *mut cpuledger,
    index: u64,
    row: *mut cpuledger_row,
) -> c_int {
    // SAFETY: the caller says so.
    unsafe {
        copy(handle, row, |source| source.feed.interval().processes.get(at(index)).map(cpuledger_row::of))
    }
}

/// Copies the row of a task of the last interval. Returns CPULEDGER_OK, CPULEDGER_NOTHING if `index` is not below `tasks`, or a negative code.
///
/// # Safety
/// `handle` is NULL or open, and no other thread uses it. `row` is NULL, or leads to as many bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_task(
    handle: *mut cpuledger,
    index: u64,
    row: *mut cpuledger_row,
) -> c_int {
    // SAFETY: the caller says so.
    unsafe { copy(handle, row, |source| source.feed.interval().tasks.get(at(index)).map(cpuledger_row::of)) }
}

/// Copies the row of a task that died of the last interval. Returns CPULEDGER_OK, CPULEDGER_NOTHING if `index` is not below `exited`, or a negative code.
///
/// # Safety
/// `handle` is NULL or open, and no other thread uses it. `row` is NULL, or leads to as many bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_death(
    handle: *mut cpuledger,
    index: u64,
    row: *mut cpuledger_exited,
) -> c_int {
    // SAFETY: the caller says so.
    unsafe {
        copy(handle, row, |source| {
            source.feed.interval().exited.as_ref()?.get(at(index)).map(cpuledger_exited::of)
        })
    }
}

/// Copies the row of a process of the last `cpuledger_list`. Returns CPULEDGER_OK, CPULEDGER_NOTHING if there are not so many, or a negative code.
///
/// # Safety
/// `handle` is NULL or open, and no other thread uses it. `row` is NULL, or leads to as many bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_listed_process(
    handle: *mut cpuledger,
    index: u64,
    row: *mut cpuledger_row,
) -> c_int {
    // SAFETY: the caller says so.
    unsafe { copy(handle, row, |source| source.listed.processes.get(at(index)).map(cpuledger_row::of_task)) }
}

/// Copies the row of a task of the last `cpuledger_list`. Returns CPULEDGER_OK, CPULEDGER_NOTHING if there are not so many, or a negative code.
///
/// # Safety
/// `handle` is NULL or open, and no other thread uses it. `row` is NULL, or leads to as many bytes as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpuledger_listed_task(
    handle: *mut cpuledger,
    index: u64,
    row: *mut cpuledger_row,
) -> c_int {
    // SAFETY: the caller says so.
    unsafe { copy(handle, row, |source| source.listed.tasks.get(at(index)).map(cpuledger_row::of_task)) }
}
