//! What a program asks for.

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cpuledger_client::service::socket_path;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::snapshot::{Request, Scope};
use cpuledger_recording::{Span, When};

use crate::failure::Failure;
use crate::field::abi_bit;
use crate::sized::{self, Sized_, check_reserve};

/// How a handle is opened. Zero in a member means what its comment says.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct cpuledger_options {
    /// CPULEDGER_INIT sets it.
    pub size: usize,
    /// The length of intervals, in nanoseconds; 0: one second, and of a recording the intervals as they were recorded.
    pub interval_ns: u64,
    /// The socket of the service; NULL: $CPULEDGER_SOCKET, else /run/cpuledger/io.cpuledger.Ledger. It is copied.
    pub socket: *const c_char,
    /// The begin of what is read of a recording, in nanoseconds since 1970; 0: its own begin.
    pub since_realtime_ns: u64,
    /// The end of what is read of a recording, in nanoseconds since 1970; 0: its own end.
    pub until_realtime_ns: u64,
    /// Zero.
    pub reserved: [u64; 11],
}

// SAFETY: it begins with its size, and of numbers and pointers zeros are values.
unsafe impl Sized_ for cpuledger_options {
    const LEAST_BYTES: usize = 128;
    const NAME: &'static str = "cpuledger_options";
}

/// What is listed.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct cpuledger_list_options {
    /// CPULEDGER_INIT sets it.
    pub size: usize,
    /// Bits of the fields that are wanted, as in `known` of a row; both 0: all fields.
    pub fields: [u64; 2],
    /// Whether tasks are listed besides processes: 0 or 1.
    pub with_tasks: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

// SAFETY: it begins with its size, and of numbers zeros are values.
unsafe impl Sized_ for cpuledger_list_options {
    const LEAST_BYTES: usize = 64;
    const NAME: &'static str = "cpuledger_list_options";
}

const _: () = assert!(size_of::<cpuledger_options>() == cpuledger_options::LEAST_BYTES);
const _: () = assert!(size_of::<cpuledger_list_options>() == cpuledger_list_options::LEAST_BYTES);

/// A second.
const USUAL_NS: u64 = 1_000_000_000;

/// A text of the caller.
///
/// # Errors
/// When it is NULL.
///
/// # Safety
/// The pointer is NULL, or leads to a text that ends with NUL and stays as it is for `'a`.
pub unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a OsStr, Failure> {
    if pointer.is_null() {
        return Err(Failure::invalid(format!("{what} is NULL")));
    }
    // SAFETY: the caller says so.
    Ok(OsStr::from_bytes(unsafe { CStr::from_ptr(pointer) }.to_bytes()))
}

/// The length of intervals that options ask for; without options a second.
///
/// # Errors
/// When the options are none.
///
/// # Safety
/// The pointer is NULL, or leads to as many bytes as the struct states.
pub unsafe fn interval_ns(options: *const cpuledger_options) -> Result<u64, Failure> {
    // SAFETY: the caller says so.
    Ok(unsafe { Asked::read(options) }?.length_or(USUAL_NS).as_nanos() as u64)
}

/// Options, read.
pub(crate) struct Asked {
    interval_ns: u64,
    pub(crate) socket: PathBuf,
    pub(crate) span: Span,
}

impl Asked {
    /// NULL asks for nothing special.
    ///
    /// # Safety
    /// The pointer is NULL, or leads to as many bytes as the struct states.
    pub(crate) unsafe fn read(options: *const cpuledger_options) -> Result<Asked, Failure> {
        let mut asked = Asked { interval_ns: 0, socket: socket_path(), span: Span::ALL };
        if options.is_null() {
            return Ok(asked);
        }
        // SAFETY: the caller says so.
        let options = unsafe { sized::read(options) }?;
        check_reserve::<cpuledger_options>(&options.reserved)?;
        asked.interval_ns = options.interval_ns;
        if !options.socket.is_null() {
            // SAFETY: the caller says that it is a text.
            asked.socket = Path::new(unsafe { text(options.socket, "the socket") }?).to_path_buf();
        }
        asked.span.since = When::Realtime(options.since_realtime_ns);
        if options.until_realtime_ns > 0 {
            asked.span.until = When::Realtime(options.until_realtime_ns);
        }
        if asked.span.is_empty() {
            return Err(Failure::invalid("until_realtime_ns is not behind since_realtime_ns"));
        }
        Ok(asked)
    }

    /// The length that is asked for, else this one.
    pub(crate) fn length_or(&self, usual_ns: u64) -> Duration {
        Duration::from_nanos(if self.interval_ns == 0 { usual_ns } else { self.interval_ns })
    }

    /// The length of intervals of a live source.
    pub(crate) fn length(&self) -> Duration {
        self.length_or(USUAL_NS)
    }
}

/// What is to be listed; NULL: all fields of processes.
///
/// # Safety
/// The pointer is NULL, or leads to as many bytes as the struct states.
pub(crate) unsafe fn request(options: *const cpuledger_list_options) -> Result<Request, Failure> {
    let mut request = Request::new(Scope::Processes, FieldSet::ALL);
    if options.is_null() {
        return Ok(request);
    }
    // SAFETY: the caller says so.
    let options = unsafe { sized::read(options) }?;
    check_reserve::<cpuledger_list_options>(&options.reserved)?;
    match options.with_tasks {
        0 => {}
        1 => request.scope = Scope::Tasks,
        _ => return Err(Failure::invalid("with_tasks is neither 0 nor 1")),
    }
    if options.fields != [0; 2] {
        let asked = |field: &Field| {
            let bit = abi_bit(*field);
            options.fields[bit as usize / 64] >> (bit % 64) & 1 == 1
        };
        let fields: Vec<Field> = Field::ALL.iter().copied().filter(asked).collect();
        let known: u32 = options.fields.iter().map(|word| word.count_ones()).sum();
        if fields.len() as u32 != known {
            return Err(Failure::invalid("fields has a bit that is no field of this version"));
        }
        request.fields = FieldSet::of(&fields);
    }
    Ok(request)
}
