//! Opening and loading the embedded BPF objects.

use std::path::Path;
use std::thread;

use bytemuck::bytes_of_mut;
use libbpf_rs::{AsRawLibbpf, Map, MapCore, MapMut, Object, ObjectBuilder, OpenObject, libbpf_sys};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use crate::btf::{KernelTypes, Numbers};
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
    packed: &[u8],
    prepare: impl FnOnce(&mut OpenObject) -> Result<(), Error>,
) -> Result<Object, Error> {
    room_for_files(name)?;
    let types = KernelTypes::of_this_kernel();
    let mut opened = open(name, packed, types.as_ref())?;
    prepare(&mut opened.object)?;
    opened.prepare(name)?;
    opened.load(name)
}

/// The same with maps that take long to make. Another thread makes them while libbpf reads the types of this kernel, which takes
/// as long. `adopt` hands them over before the kernel sees the programs.
pub(crate) fn load_beside<T: Send>(
    name: &str,
    packed: &[u8],
    choose: impl FnOnce(&mut OpenObject),
    make: impl Fn() -> Result<T, Error> + Sync,
    adopt: impl FnOnce(&T, &mut OpenObject) -> Result<(), Error>,
) -> Result<(Object, T), Error> {
    room_for_files(name)?;
    let (mut opened, made) = thread::scope(|scope| {
        let beside = spawn_scoped(scope, &make);
        let types = KernelTypes::of_this_kernel();
        let mut opened = open(name, packed, types.as_ref())?;
        choose(&mut opened.object);
        let prepared = opened.prepare(name);
        let made =
            beside.map_or_else(|_| make(), |beside| beside.join().expect("making maps does not panic"))?;
        prepared.map(|()| (opened, made))
    })?;
    adopt(&made, &mut opened.object)?;
    Ok((opened.load(name)?, made))
}

/// An object that is not loaded yet.
pub(crate) struct Opened {
    pub(crate) object: OpenObject,
    numbers: Numbers,
}

impl Opened {
    /// Lets libbpf do what it does before the kernel sees the programs, and makes them call the functions of the running kernel. Which of them are
    /// loaded has to be chosen before.
    pub(crate) fn prepare(&mut self, name: &str) -> Result<(), Error> {
        let failed = |code: i32| Error::from_errno(&loading(name), Errno::from_raw_os_error(-code));
        // SAFETY: the object is open, not loaded, and `self` is its only owner.
        match unsafe { libbpf_sys::bpf_object__prepare(self.object.as_libbpf_object().as_ptr()) } {
            0 => {}
            code => return Err(failed(code)),
        }
        for program in self.object.progs_mut().filter(|program| program.autoload()) {
            let mut instructions = program.insns().to_vec();
            if !self.numbers.put_into(&mut instructions) {
                continue;
            }
            // SAFETY: the program is of an object that is not loaded; libbpf copies the instructions, which have this number.
            let code = unsafe {
                libbpf_sys::bpf_program__set_insns(
                    program.as_libbpf_object().as_ptr(),
                    instructions.as_mut_ptr(),
                    instructions.len() as libbpf_sys::size_t,
                )
            };
            if code != 0 {
                return Err(failed(code));
            }
        }
        Ok(())
    }

    pub(crate) fn load(self, name: &str) -> Result<Object, Error> {
        self.object.load().map_err(|error| Error::from_libbpf(&loading(name), &error))
    }
}

/// The bytes of an object, of what the program carries of it.
pub(crate) fn unpack(packed: &[u8]) -> Vec<u8> {
    zstd::stream::decode_all(packed).expect("the build script has packed it")
}

/// Opens what the program carries of an object. `types` has to live until the object is prepared or loaded.
pub(crate) fn open(name: &str, packed: &[u8], types: Option<&KernelTypes>) -> Result<Opened, Error> {
    if !Path::new(KERNEL_BTF).exists() {
        return Err(Error::NoBtf);
    }
    log::start();
    let refused = |error| Error::from_libbpf(&loading(name), &error);
    let mut builder = ObjectBuilder::default();
    if let Some(types) = types {
        builder.btf_custom_path(types.path()).map_err(refused)?;
    }
    let mut open =
        builder.name(name).and_then(|builder| builder.open_memory(&unpack(packed))).map_err(refused)?;
    let mut numbers = Numbers::default();
    let map = open.maps_mut().find(|map| map.name() == TYPE_NUMBERS);
    if let Some(mut map) = map {
        numbers = types.map_or_else(Numbers::by_libbpf, |types| Ok(types.numbers)).map_err(refused)?;
        map.set_initial_value(bytes_of_mut(&mut numbers.types)).map_err(refused)?;
    }
    Ok(Opened { object: open, numbers })
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

/// Sets the number of entries of a map that is not created yet; its name is a constant of this crate.
pub(crate) fn resize(open: &mut OpenObject, name: &str, entries: u32) {
    let mut map =
        open.maps_mut().find(|map| map.name() == name).expect("the embedded object defines this map");
    map.set_max_entries(entries).expect("a map that is not created yet takes any size");
}

/// A map of a loaded object; its name is a constant of this crate.
pub(crate) fn map<'a>(object: &'a Object, name: &str) -> Map<'a> {
    object.maps().find(|map| map.name() == name).expect("the embedded object defines this map")
}

/// As [`map`], to change it.
pub(crate) fn map_mut<'a>(object: &'a mut Object, name: &str) -> MapMut<'a> {
    object.maps_mut().find(|map| map.name() == name).expect("the embedded object defines this map")
}
