//! A BPF array mapped into this process as a slice of records.

use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use bytemuck::Pod;
use libbpf_rs::{MapHandle, MapType, OpenObject, libbpf_sys};
use rustix::io::Errno;
use rustix::mm::{MapFlags as MmapFlags, ProtFlags, mmap, munmap};

use crate::error::Error;

/// Memory of a file or a BPF map, at an address of the kernel's choice until it is dropped. Making and dropping it is safe. Code
/// that reads or writes the memory must ensure that this is sound.
pub(crate) struct Mapping {
    address: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// Maps `bytes` bytes from `offset` on, which is a multiple of the page size.
    pub(crate) fn new(
        file: impl AsFd,
        offset: u64,
        bytes: usize,
        protection: ProtFlags,
        flags: MmapFlags,
    ) -> Result<Mapping, Errno> {
        // SAFETY: a fresh mapping; nothing else is touched.
        let address = unsafe { mmap(std::ptr::null_mut(), bytes, protection, flags, file, offset) }?;
        Ok(Mapping {
            address: NonNull::new(address.cast()).expect("mmap never answers with address 0"),
            bytes,
        })
    }

    /// Where it begins: at the begin of a page.
    pub(crate) fn address(&self) -> NonNull<u8> {
        self.address
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made in `new` with this length; code that reads or writes it borrows this value meanwhile.
        // An error could only mean that it is already gone.
        let _ = unsafe { munmap(self.address.as_ptr().cast(), self.bytes) };
    }
}

// SAFETY: it is owned by this value alone, is not bound to a thread, and nothing here reads or writes what it holds.
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

/// A BPF array of its own, outside any object, mapped for reading, or for writing too.
pub(crate) struct MappedArray<R: Pod> {
    handle: MapHandle,
    mapping: Mapping,
    capacity: u32,
    is_writable: bool,
    record: PhantomData<R>,
}

impl<R: Pod> MappedArray<R> {
    /// Creates and maps an array of `capacity` zeroed records.
    pub(crate) fn new(name: &str, capacity: u32) -> Result<MappedArray<R>, Error> {
        MappedArray::with_protection(name, capacity, ProtFlags::READ)
    }

    /// The same, for records that this process writes and the kernel reads.
    pub(crate) fn new_writable(name: &str, capacity: u32) -> Result<MappedArray<R>, Error> {
        MappedArray::with_protection(name, capacity, ProtFlags::READ | ProtFlags::WRITE)
    }

    fn with_protection(name: &str, capacity: u32, protection: ProtFlags) -> Result<MappedArray<R>, Error> {
        const { assert!(size_of::<R>().is_multiple_of(8)) };
        let what = format!("a BPF array of {capacity} records of {} bytes", size_of::<R>());
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            map_flags: libbpf_sys::BPF_F_MMAPABLE,
            ..Default::default()
        };
        let handle =
            MapHandle::create(MapType::Array, Some(name), 4, size_of::<R>() as u32, capacity, &options)
                .map_err(|error| Error::from_libbpf(&what, &error))?;
        let bytes = capacity as usize * size_of::<R>();
        let mapping = Mapping::new(&handle, 0, bytes, protection, MmapFlags::SHARED)
            .map_err(|errno| Error::from_errno("to map a BPF array", errno))?;
        let is_writable = protection.contains(ProtFlags::WRITE);
        Ok(MappedArray { handle, mapping, capacity, is_writable, record: PhantomData })
    }

    /// How many records fit.
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The first `count` records; the kernel writes them only while this process runs the walk.
    pub(crate) fn records(&mut self, count: u32) -> &[R] {
        let count = count.min(self.capacity) as usize;
        // SAFETY: the mapping holds `capacity` records and lives as long as `self`. The kernel zeroes it at creation, and any
        // bytes are a valid record. The only writer is the program that the holder of `&mut self` runs.
        unsafe { std::slice::from_raw_parts(self.mapping.address().cast().as_ptr(), count) }
    }

    /// All records, for writing.
    ///
    /// # Panics
    /// Of an array that is not writable, which only a mistake in this crate can cause.
    pub(crate) fn records_mut(&mut self) -> &mut [R] {
        assert!(self.is_writable);
        // SAFETY: as in `records`; the mapping is writable, and the kernel only reads it, while the holder of `&mut self` runs
        // the program.
        unsafe {
            std::slice::from_raw_parts_mut(self.mapping.address().cast().as_ptr(), self.capacity as usize)
        }
    }

    /// Makes the programs of an object use this array as theirs of that name, which is a constant of this crate.
    ///
    /// # Errors
    /// When libbpf refuses, as it does for a record of another size.
    pub(crate) fn adopt(&self, open: &mut OpenObject, name: &str) -> Result<(), Error> {
        let mut map = open.maps_mut().find(|map| map.name() == name).expect("the embedded object defines it");
        map.reuse_fd(self.handle.as_fd())
            .map_err(|error| Error::from_libbpf("to hand a buffer to the programs", &error))
    }
}
