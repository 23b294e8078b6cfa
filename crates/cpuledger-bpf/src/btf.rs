//! The few types of the running kernel that the programs name, taken out of its BTF.
//!
//! For each struct that an object names, libbpf compares the name of every type of the kernel with it: 150,000 of them, some
//! 2 ms a struct. One pass over them finds all that are named, and what libbpf is given instead of the whole has about a
//! thousand types. The format is that of the kernel's `Documentation/bpf/btf.rst`.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libbpf_rs::btf::{Btf, types};
use libbpf_rs::libbpf_sys::{self, bpf_insn};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MapFlags, ProtFlags};

use crate::abi;
use crate::facts::KERNEL_BTF;
use crate::map::Mapping;

// Names of `KERNEL_TYPES`, sorted: what the objects of this crate name.
include!(concat!(env!("OUT_DIR"), "/kernel_types.rs"));

const HEADER_BYTES: usize = 24;
const MAGIC: u16 = 0xeb9f;
const TYPE_BYTES: usize = 12;

/// `BTF_KIND_*`.
mod kind {
    pub(super) const INT: u32 = 1;
    pub(super) const PTR: u32 = 2;
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const ENUM: u32 = 6;
    pub(super) const FWD: u32 = 7;
    pub(super) const TYPEDEF: u32 = 8;
    pub(super) const VOLATILE: u32 = 9;
    pub(super) const CONST: u32 = 10;
    pub(super) const RESTRICT: u32 = 11;
    pub(super) const FUNC: u32 = 12;
    pub(super) const FUNC_PROTO: u32 = 13;
    pub(super) const VAR: u32 = 14;
    pub(super) const DATASEC: u32 = 15;
    pub(super) const FLOAT: u32 = 16;
    pub(super) const DECL_TAG: u32 = 17;
    pub(super) const TYPE_TAG: u32 = 18;
    pub(super) const ENUM64: u32 = 19;
}

/// The kernel's functions that programs call, and what stands for them there.
const KERNEL_FUNCTIONS: [(&str, u32); 8] = [
    ("bpf_iter_task_destroy", abi::CPULEDGER_CALLS_ITER_TASK_DESTROY),
    ("bpf_iter_task_new", abi::CPULEDGER_CALLS_ITER_TASK_NEW),
    ("bpf_iter_task_next", abi::CPULEDGER_CALLS_ITER_TASK_NEXT),
    ("bpf_rcu_read_lock", abi::CPULEDGER_CALLS_RCU_READ_LOCK),
    ("bpf_rcu_read_unlock", abi::CPULEDGER_CALLS_RCU_READ_UNLOCK),
    (RDONLY_CAST, abi::CPULEDGER_CALLS_RDONLY_CAST),
    ("bpf_task_from_pid", abi::CPULEDGER_CALLS_TASK_FROM_PID),
    ("bpf_task_release", abi::CPULEDGER_CALLS_TASK_RELEASE),
];
const RDONLY_CAST: &str = "bpf_rdonly_cast";

/// What is found by name among the types of the running kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// Of types.
    pub(crate) types: abi::cpuledger_kernel_types,
    /// Of functions, in the order of [`KERNEL_FUNCTIONS`]; `None`: this kernel does not have it.
    functions: [Option<u32>; KERNEL_FUNCTIONS.len()],
}

impl Numbers {
    /// `find_type` and `find_function` find them by name. `None`: a type is missing.
    fn of(
        find_type: impl Fn(&str) -> Option<u32>,
        find_function: impl Fn(&str) -> Option<u32>,
    ) -> Option<Numbers> {
        let types = abi::cpuledger_kernel_types {
            task_struct: find_type("task_struct")?,
            cred: find_type("cred")?,
            has_rdonly_cast: u32::from(find_function(RDONLY_CAST).is_some()),
            unused: 0,
        };
        Some(Numbers { types, functions: KERNEL_FUNCTIONS.map(|(name, _)| find_function(name)) })
    }

    /// The same where nothing could be taken out.
    pub(crate) fn by_libbpf() -> libbpf_rs::Result<Numbers> {
        let kernel = Btf::from_vmlinux()?;
        let find_type =
            |name: &str| kernel.type_by_name(name).map(|found: types::Struct<'_>| found.type_id().into());
        let find_function =
            |name: &str| kernel.type_by_name(name).map(|found: types::Func<'_>| found.type_id().into());
        Ok(Numbers::of(find_type, find_function).unwrap_or_default())
    }

    /// Makes these instructions call the functions of this kernel. What it does not have is still called by a number of no helper. Answers
    /// whether there was anything to do.
    pub(crate) fn put_into(&self, instructions: &mut [bpf_insn]) -> bool {
        const CALL: u8 = (libbpf_sys::BPF_JMP | libbpf_sys::BPF_CALL) as u8;
        let mut has_changed = false;
        for instruction in instructions {
            let is_helper = instruction.code == CALL && instruction.src_reg() == 0;
            let Some(number) = self.function(instruction.imm.cast_unsigned()).filter(|_| is_helper) else {
                continue;
            };
            instruction.set_src_reg(libbpf_sys::BPF_PSEUDO_KFUNC_CALL as u8);
            instruction.imm = number.cast_signed();
            has_changed = true;
        }
        has_changed
    }

    /// The number of what this stands for in a program; `None`: it stands for nothing, or this kernel does not have it.
    fn function(&self, stands: u32) -> Option<u32> {
        let place = KERNEL_FUNCTIONS.iter().position(|(_, number)| *number == stands)?;
        self.functions[place]
    }
}

/// The types that were taken out, in a file without a name.
pub(crate) struct KernelTypes {
    file: File,
    /// The numbers that these have in the kernel: in the extract they have others.
    pub(crate) numbers: Numbers,
}

impl KernelTypes {
    /// Takes them out of the BTF of the running kernel, which does not change: once. `None` where that is not of the form known
    /// here, or no file can be made that libbpf could open: then it has to search the whole.
    pub(crate) fn of_this_kernel() -> Option<KernelTypes> {
        static EXTRACT: OnceLock<Option<(Vec<u8>, Numbers)>> = OnceLock::new();
        let (bytes, numbers) = EXTRACT.get_or_init(extract_from_kernel).as_ref()?;
        let mut file = File::from(memfd_create("cpuledger-btf", MemfdFlags::CLOEXEC).ok()?);
        file.write_all(bytes).ok()?;
        let types = KernelTypes { file, numbers: *numbers };
        types.path().exists().then_some(types)
    }

    /// Where libbpf finds it, as long as this lives.
    pub(crate) fn path(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        Path::new("/proc/self/fd").join(self.file.as_raw_fd().to_string())
    }
}

/// Which names are wanted. Most others are told apart by their first two bytes.
struct Wants([u64; 1024]);

impl Wants {
    fn new(names: impl IntoIterator<Item = &'static str>) -> Wants {
        let mut beginnings = [0; 1024];
        for name in names {
            let [first, second, ..] = *name.as_bytes() else { continue };
            let beginning = u16::from_be_bytes([first, second]);
            beginnings[usize::from(beginning >> 6)] |= 1 << (beginning & 63);
        }
        Wants(beginnings)
    }

    /// Whether the string at this offset may be wanted; `None`: there is none.
    fn may_be(&self, strings: &[u8], offset: u32) -> Option<bool> {
        let begin = offset as usize;
        let beginning = u16::from_be_bytes(strings.get(begin..begin + 2)?.try_into().ok()?);
        Some(self.0[usize::from(beginning >> 6)] >> (beginning & 63) & 1 != 0)
    }
}

fn string_at(strings: &[u8], offset: u32) -> Option<&[u8]> {
    let rest = strings.get(offset as usize..)?;
    Some(&rest[..rest.iter().position(|byte| *byte == 0)?])
}

/// The BTF of a kernel, and where each of its types begins.
struct Kernel<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    /// By number; 0 is `void`, and has no place.
    places: Vec<u32>,
}

/// What is wanted of a kernel's BTF, by number.
#[derive(Default)]
struct Found {
    types: Vec<u32>,
    functions: Vec<(&'static str, u32)>,
}

/// One type: its head and what follows it.
#[derive(Clone, Copy)]
struct Type<'a> {
    name: u32,
    info: u32,
    size_or_type: u32,
    rest: &'a [u8],
}

impl Type<'_> {
    fn kind(&self) -> u32 {
        self.info >> 24 & 0x1f
    }
}

fn word(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(place..place + 4)?.try_into().ok()?))
}

/// How many bytes follow the head of a type; `None`: a kind that came after this was written.
fn rest_bytes(info: u32) -> Option<usize> {
    let count = (info & 0xffff) as usize;
    Some(match info >> 24 & 0x1f {
        kind::INT | kind::VAR | kind::DECL_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => 12 * count,
        kind::ENUM | kind::FUNC_PROTO => 8 * count,
        kind::PTR | kind::FWD | kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT => 0,
        kind::FUNC | kind::FLOAT | kind::TYPE_TAG => 0,
        _ => return None,
    })
}

/// A name without what follows three underscores: libbpf takes `a___b` for another form of `a`.
fn essential(name: &[u8]) -> &[u8] {
    let flavor = name.windows(3).rposition(|three| three == b"___").filter(|place| *place > 0);
    &name[..flavor.unwrap_or(name.len())]
}

impl<'a> Kernel<'a> {
    /// Finds the places of all types, and those whose names are wanted.
    fn read(bytes: &'a [u8]) -> Option<(Kernel<'a>, Found)> {
        if u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?) != MAGIC {
            return None;
        }
        let header_bytes = word(bytes, 4)? as usize;
        let section = |place: usize| {
            let begin = header_bytes.checked_add(word(bytes, place)? as usize)?;
            bytes.get(begin..begin.checked_add(word(bytes, place + 4)? as usize)?)
        };
        let (types, strings) = (section(8)?, section(16)?);
        let mut kernel = Kernel { types, strings, places: Vec::with_capacity(types.len() / 24) };
        kernel.places.push(0);
        let function_names = KERNEL_FUNCTIONS.map(|(name, _)| name);
        let (wants, wants_functions) = (Wants::new(KERNEL_TYPES), Wants::new(function_names));
        let mut found = Found::default();
        let mut place = 0;
        while place < types.len() {
            let info = word(types, place + 4)?;
            let (name, number) = (word(types, place)?, kernel.places.len() as u32);
            match info >> 24 & 0x1f {
                kind::STRUCT | kind::UNION | kind::ENUM | kind::ENUM64 | kind::TYPEDEF
                    if wants.may_be(strings, name)? =>
                {
                    let name = essential(string_at(strings, name)?);
                    if KERNEL_TYPES.binary_search_by(|wanted| wanted.as_bytes().cmp(name)).is_ok() {
                        found.types.push(number);
                    }
                }
                kind::FUNC if wants_functions.may_be(strings, name)? => {
                    let name = string_at(strings, name)?;
                    let wanted = function_names.into_iter().find(|wanted| wanted.as_bytes() == name);
                    found.functions.extend(wanted.map(|name| (name, number)));
                }
                _ => {}
            }
            kernel.places.push(place as u32);
            place += TYPE_BYTES + rest_bytes(info)?;
        }
        Some((kernel, found))
    }

    fn get(&self, id: u32) -> Option<Type<'a>> {
        let place = *self.places.get(id as usize)? as usize;
        let info = word(self.types, place + 4)?;
        let begin = place + TYPE_BYTES;
        Some(Type {
            name: word(self.types, place)?,
            info,
            size_or_type: word(self.types, place + 8)?,
            rest: self.types.get(begin..begin + rest_bytes(info)?)?,
        })
    }
}

/// What is taken out, in the making. Types have their numbers in the order in which they are come across.
#[derive(Default)]
struct Extract {
    types: Vec<u8>,
    strings: Vec<u8>,
    /// New offsets of strings by the old ones.
    names: HashMap<u32, u32>,
    /// New numbers of types by the old ones.
    numbers: HashMap<u32, u32>,
    /// Old numbers, in the order of the new ones, from 1 on; `None` is the pointer that stands for all.
    order: Vec<Option<u32>>,
    pointer: Option<u32>,
}

impl Extract {
    fn push(&mut self, word: u32) {
        self.types.extend_from_slice(&word.to_ne_bytes());
    }

    fn name(&mut self, kernel: &Kernel<'_>, offset: u32) -> Option<u32> {
        if let Some(name) = self.names.get(&offset) {
            return Some(*name);
        }
        let name = self.strings.len() as u32;
        self.strings.extend_from_slice(string_at(kernel.strings, offset)?);
        self.strings.push(0);
        self.names.insert(offset, name);
        Some(name)
    }

    /// The new number of a type. What a pointer points to is of no interest: it is another type, or not named.
    fn number(&mut self, kernel: &Kernel<'_>, id: u32) -> Option<u32> {
        if id == 0 {
            return Some(0);
        }
        let is_pointer = kernel.get(id)?.kind() == kind::PTR;
        let known = if is_pointer { self.pointer } else { self.numbers.get(&id).copied() };
        if known.is_some() {
            return known;
        }
        self.order.push((!is_pointer).then_some(id));
        let number = self.order.len() as u32;
        if is_pointer {
            self.pointer = Some(number);
        } else {
            self.numbers.insert(id, number);
        }
        Some(number)
    }

    /// Writes the next type, whose parts get numbers if they have none.
    fn write(&mut self, kernel: &Kernel<'_>, id: Option<u32>) -> Option<()> {
        let Some(id) = id else {
            [0, kind::PTR << 24, 0].into_iter().for_each(|word| self.push(word));
            return Some(());
        };
        let of = kernel.get(id)?;
        let name = self.name(kernel, of.name)?;
        self.push(name);
        self.push(of.info);
        let refers = matches!(
            of.kind(),
            kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG
        );
        let size_or_type = if refers { self.number(kernel, of.size_or_type)? } else { of.size_or_type };
        self.push(size_or_type);
        for (index, value) in of.rest.chunks_exact(4).enumerate() {
            let value = u32::from_ne_bytes(value.try_into().ok()?);
            let value = match (of.kind(), index % 3) {
                (kind::STRUCT | kind::UNION | kind::ENUM64, 0) => self.name(kernel, value)?,
                (kind::STRUCT | kind::UNION, 1) | (kind::ARRAY, 0 | 1) => self.number(kernel, value)?,
                (kind::ENUM, _) if index % 2 == 0 => self.name(kernel, value)?,
                (kind::FUNC_PROTO | kind::DATASEC, _) => return None,
                _ => value,
            };
            self.push(value);
        }
        Some(())
    }

    fn into_bytes(self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.types.len() + self.strings.len());
        bytes.extend_from_slice(&MAGIC.to_ne_bytes());
        bytes.extend_from_slice(&[1, 0]); // version, flags
        for word in [HEADER_BYTES as u32, 0, types, types, strings] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        bytes.extend_from_slice(&self.types);
        bytes.extend_from_slice(&self.strings);
        bytes
    }
}

/// Of the running kernel, which lets its BTF be mapped since 6.16; to copy it takes some ms.
fn extract_from_kernel() -> Option<(Vec<u8>, Numbers)> {
    let file = File::open(KERNEL_BTF).ok()?;
    let count = usize::try_from(file.metadata().ok()?.len()).ok()?;
    let Ok(mapping) = Mapping::new(&file, 0, count, ProtFlags::READ, MapFlags::PRIVATE) else {
        return extract(&fs::read(KERNEL_BTF).ok()?);
    };
    // SAFETY: the mapping has this length and outlives the slice; the kernel's types do not change while it runs.
    extract(unsafe { std::slice::from_raw_parts(mapping.address().as_ptr(), count) })
}

/// The wanted types of a kernel's BTF with all that lies in them, as BTF, and the numbers that some have in the kernel.
fn extract(bytes: &[u8]) -> Option<(Vec<u8>, Numbers)> {
    let (kernel, Found { types, functions }) = Kernel::read(bytes)?;
    let mut extract = Extract::default();
    extract.strings.push(0);
    extract.names.insert(0, 0);
    let mut structs = HashMap::new();
    for id in types {
        extract.number(&kernel, id)?;
        let of = kernel.get(id)?;
        if of.kind() == kind::STRUCT {
            structs.entry(string_at(kernel.strings, of.name)?).or_insert(id);
        }
    }
    let find_function = |name: &str| functions.iter().find(|(found, _)| *found == name).map(|(_, id)| *id);
    let numbers = Numbers::of(|name| structs.get(name.as_bytes()).copied(), find_function)?;
    let mut written = 0;
    while let Some(&id) = extract.order.get(written) {
        extract.write(&kernel, id)?;
        written += 1;
    }
    Some((extract.into_bytes(), numbers))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use libbpf_rs::query::ProgInfoIter;
    use libbpf_rs::{ObjectBuilder, Program};

    use super::*;
    use crate::object::{open, unpack};

    const OBJECTS: [&[u8]; 7] = [
        include_bytes!(concat!(env!("OUT_DIR"), "/walk.bpf.o.zst")),
        include_bytes!(concat!(env!("OUT_DIR"), "/walk_slim.bpf.o.zst")),
        include_bytes!(concat!(env!("OUT_DIR"), "/lifecycle.bpf.o.zst")),
        include_bytes!(concat!(env!("OUT_DIR"), "/ledger.bpf.o.zst")),
        include_bytes!(concat!(env!("OUT_DIR"), "/inspect.bpf.o.zst")),
        include_bytes!(concat!(env!("OUT_DIR"), "/status.bpf.o.zst")),
        include_bytes!(concat!(env!("OUT_DIR"), "/programs.bpf.o.zst")),
    ];

    /// What the kernel calculates from the instructions of a program of an object; `None`: it does not take it.
    fn tag_of(object: &[u8], program: &str, types: Option<&KernelTypes>) -> Option<String> {
        let mut opened = open("compared", object, types).expect("the object is well-formed");
        for mut other in opened.object.progs_mut() {
            let is_wanted = other.name() == program;
            other.set_autoload(is_wanted);
        }
        opened.prepare("compared").ok()?;
        let loaded = opened.load("compared").ok()?;
        let program = loaded.progs().find(|other| other.name() == program).expect("it was there");
        let id = Program::id_from_fd(program.as_fd()).expect("the kernel knows it");
        let info = ProgInfoIter::default().find(|info| info.id == id).expect("it is loaded");
        Some(format!("{:?}", info.tag))
    }

    #[test]
    fn programs_are_those_that_the_whole_of_the_kernels_types_makes_root() {
        let types = KernelTypes::of_this_kernel().expect("this kernel's BTF is of the known form");
        let mut compared = 0;
        for object in OBJECTS {
            let names: Vec<String> = ObjectBuilder::default()
                .open_memory(&unpack(object))
                .expect("the object is well-formed")
                .progs()
                .map(|program| program.name().to_string_lossy().into_owned())
                .collect();
            for name in names {
                let (by_few, by_all) = (tag_of(object, &name, Some(&types)), tag_of(object, &name, None));
                println!("{name}: {by_few:?}");
                assert_eq!(by_few, by_all, "{name}");
                compared += usize::from(by_all.is_some());
            }
        }
        assert!(compared >= OBJECTS.len(), "only {compared} programs load; it needs root");
    }

    #[test]
    fn what_is_no_btf_is_nobodys_types() {
        let kernel = fs::read(KERNEL_BTF).expect("this kernel has BTF");
        assert!(extract(&kernel).is_some());
        assert!(extract(&[]).is_none());
        assert!(extract(&kernel[..1000]).is_none());
        let mut other = kernel;
        other[0] ^= 1;
        assert!(extract(&other).is_none());
    }

    #[test]
    fn what_stands_after_three_underscores_is_no_part_of_a_name() {
        for (name, wanted) in
            [("a___b", "a"), ("a__b", "a__b"), ("a___b___c", "a___b"), ("___a", "___a"), ("", "")]
        {
            assert_eq!(essential(name.as_bytes()), wanted.as_bytes());
        }
    }
}
