//! Structs that begin with their size: programs and libraries of different versions understand each other.
//!
//! A later version of the library uses a part of the reserve, or makes a struct longer. Of an input, a program states the size that it knows. What is
//! longer than the library knows must be zero, and so must the reserve: then the program asks for nothing that the library cannot do. Into an output the
//! library writes no more than the program has room for, and zeroes what it does not know.

use std::ffi::c_int;
use std::ptr;

use crate::failure::Failure;

/// No struct is longer: a larger size is memory that nobody has set.
const MOST_BYTES: usize = 1 << 16;

/// A struct of the interface.
///
/// # Safety
/// It is `repr(C)`, its first member is its size as a `usize`, and all bytes zero are a value of it.
pub unsafe trait Sized_: Copy {
    /// Its size in version 0.1, which every program states at least.
    const LEAST_BYTES: usize;
    /// What it is called, for a message.
    const NAME: &'static str;
}

/// The size that a struct states, checked.
///
/// # Safety
/// The pointer is NULL, or leads to at least a `usize`.
unsafe fn stated<T: Sized_>(pointer: *const T) -> Result<usize, Failure> {
    if pointer.is_null() {
        return Err(Failure::invalid(format!("struct {} is NULL", T::NAME)));
    }
    // SAFETY: the caller says so; it need not be aligned.
    let size = unsafe { pointer.cast::<usize>().read_unaligned() };
    if (T::LEAST_BYTES..=MOST_BYTES).contains(&size) {
        return Ok(size);
    }
    Err(Failure::invalid(format!(
        "struct {} states a size of {size} bytes: call CPULEDGER_INIT on it before its first use",
        T::NAME
    )))
}

/// Reads an input.
///
/// # Safety
/// The pointer is NULL, or leads to as many bytes as the struct states.
pub unsafe fn read<T: Sized_>(pointer: *const T) -> Result<T, Failure> {
    // SAFETY: the caller says so.
    let size = unsafe { stated(pointer) }?;
    let known = size_of::<T>();
    // SAFETY: `Sized_` says that zeros are a value, and the struct has at least as many bytes as are copied.
    let value = unsafe {
        let mut value: T = std::mem::zeroed();
        ptr::copy_nonoverlapping(pointer.cast::<u8>(), ptr::from_mut(&mut value).cast(), size.min(known));
        value
    };
    for offset in known..size {
        // SAFETY: the struct states that it has this byte.
        if unsafe { pointer.cast::<u8>().add(offset).read() } != 0 {
            return Err(Failure::invalid(format!(
                "struct {} asks for something that this version of the library does not know: byte {offset} is not zero",
                T::NAME
            )));
        }
    }
    Ok(value)
}

/// Checks a reserve.
pub fn check_reserve<T: Sized_>(reserve: &[u64]) -> Result<(), Failure> {
    if reserve.iter().all(|word| *word == 0) {
        return Ok(());
    }
    let name = T::NAME;
    Err(Failure::invalid(format!(
        "the reserve of struct {name} is not zero: call CPULEDGER_INIT on it first"
    )))
}

/// Writes an output, and returns `code`.
///
/// # Safety
/// The pointer is NULL, or leads to as many bytes as the struct states.
pub unsafe fn write<T: Sized_>(pointer: *mut T, value: &T, code: c_int) -> Result<c_int, Failure> {
    // SAFETY: the caller says so.
    let size = unsafe { stated(pointer.cast_const()) }?;
    let known = size_of::<T>();
    // SAFETY: the struct has as many bytes as are written.
    unsafe {
        ptr::copy_nonoverlapping(ptr::from_ref(value).cast::<u8>(), pointer.cast(), size.min(known));
        if size > known {
            ptr::write_bytes(pointer.cast::<u8>().add(known), 0, size - known);
        }
        pointer.cast::<usize>().write_unaligned(size);
    }
    Ok(code)
}

/// Checks that an output can be written, before anything is done for it.
///
/// # Safety
/// As [`write`].
pub unsafe fn check<T: Sized_>(pointer: *const T) -> Result<(), Failure> {
    // SAFETY: the caller says so.
    unsafe { stated(pointer) }.map(drop)
}
