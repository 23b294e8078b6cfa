//! Opening and loading the embedded BPF objects.

use std::path::Path;
use std::thread;

use bytemuck::bytes_of_mut;
use libbpf_rs::{AsRawLibbpf, Map, MapCore, MapMut, Object, ObjectBuilder, OpenObject, libbpf_sys};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use crate::btf::{self, KernelTypes};
use crate::error::Error;
use crate::facts::KERNEL_BTF;
use crate::log;
use crate::threads::spawn_scoped;

/// The map with the numbers of kernel types.
const TYPE_NUMBERS: &str = ".rodata.types";

/// As many files as loading an object has open at once, with two for libbpf's probes and some for a load beside it.
const FILES_TO_LOAD: usize = 26;

/// Opens an embedded object, lets `prepare` choose among its programs, and loads it.
pub(crate) fn load(
    name: &str,
    bytes: &[u8],
    prepare: impl FnOnce(&mut OpenObject) -> Result<(), Error>,
) -> Result<Object, Error> {
    room_for_files(name)?;
    let types = KernelTypes::of_this_kernel();
    let mut open = open(name, bytes, types.as_ref())?;
    prepare(&mut open)?;
    open.load().map_err(|error| Error::from_libbpf(&loading(name), &error))
}

/// The same with maps that take long to make. Another thread makes them while libbpf reads the types of this kernel, which takes
/// as long. `adopt` hands them over before the kernel sees the programs.
pub(crate) fn load_beside<T: Send>(
    name: &str,
    bytes: &[u8],
    choose: impl FnOnce(&mut OpenObject),
    make: impl Fn() -> Result<T, Error> + Sync,
    adopt: impl FnOnce(&T, &mut OpenObject) -> Result<(), Error>,
) -> Result<(Object, T), Error> {
    room_for_files(name)?;
    let (mut open, made) = thread::scope(|scope| {
        let beside = spawn_scoped(scope, &make);
        let types = KernelTypes::of_this_kernel();
        let mut open = open(name, bytes, types.as_ref())?;
        choose(&mut open);
        // SAFETY: the object is open, not loaded, and `open` is its only owner.
        let code = unsafe { libbpf_sys::bpf_object__prepare(open.as_libbpf_object().as_ptr()) };
        let made =
            beside.map_or_else(|_| make(), |beside| beside.join().expect("making maps does not panic"))?;
        match code {
            0 => Ok((open, made)),
            code => Err(Error::from_errno(&loading(name), Errno::from_raw_os_error(-code))),
        }
    })?;
    adopt(&made, &mut open)?;
    let object = open.load().map_err(|error| Error::from_libbpf(&loading(name), &error))?;
    Ok((object, made))
}

/// `types` has to live until the object is prepared or loaded.
pub(crate) fn open(name: &str, bytes: &[u8], types: Option<&KernelTypes>) -> Result<OpenObject, Error> {
    if !Path::new(KERNEL_BTF).exists() {
        return Err(Error::NoBtf);
    }
    log::start();
    let refused = |error| Error::from_libbpf(&loading(name), &error);
    let mut builder = ObjectBuilder::default();
    if let Some(types) = types {
        builder.btf_custom_path(types.path()).map_err(refused)?;
    }
    let mut open = builder.name(name).and_then(|builder| builder.open_memory(bytes)).map_err(refused)?;
    let numbers = open.maps_mut().find(|map| map.name() == TYPE_NUMBERS);
    if let Some(mut numbers) = numbers {
        let found = types.map_or_else(btf::numbers_by_libbpf, |types| Ok(types.numbers));
        numbers.set_initial_value(bytes_of_mut(&mut found.map_err(refused)?)).map_err(refused)?;
    }
    Ok(open)
}

/// Refuses a load that would run out of open files midway. If a probe of libbpf fails for lack of a file, libbpf
/// takes that for a kernel without the feature. It then leaves out what is global, and the verifier's answer names no file.
fn room_for_files(name: &str) -> Result<(), Error> {
    let room = eventfd(0, EventfdFlags::CLOEXEC).and_then(|file| {
        (1..FILES_TO_LOAD).map(|_| fcntl_dupfd_cloexec(&file, 0)).collect::<Result<Vec<_>, _>>()
    });
    room.map(drop).map_err(|errno| Error::from_errno(&loading(name), errno))
}

fn loading(name: &str) -> String {
    format!("to load the BPF object `{name}`")
}

/// A map of a loaded object; its name is a constant of this crate.
pub(crate) fn map<'a>(object: &'a Object, name: &str) -> Map<'a> {
    object.maps().find(|map| map.name() == name).expect("the embedded object defines this map")
}

/// As [`map`], to change it.
pub(crate) fn map_mut<'a>(object: &'a mut Object, name: &str) -> MapMut<'a> {
    object.maps_mut().find(|map| map.name() == name).expect("the embedded object defines this map")
}
