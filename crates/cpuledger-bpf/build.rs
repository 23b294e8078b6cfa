//! Compiles each BPF object and translates `bpf/abi.h` and `bpf/abi_status.h` for Rust.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bindgen::callbacks::{DeriveInfo, ParseCallbacks};
use libbpf_rs::btf::{Btf, BtfKind, BtfType};
use libbpf_rs::{Linker, libbpf_sys};

/// The BPF objects, each a `.bpf.c` of its own.
const OBJECTS: [&str; 10] =
    ["walk", "walk_slim", "lifecycle", "ledger", "network", "wire", "disk", "inspect", "status", "programs"];

/// `v3` is understood by every kernel since 5.1; warnings are errors. Constants of `abi.h` are enumerators, which newer clangs (21) do not
/// like to see compared with those of another enumeration, or with an `int`.
const CLANG_ARGUMENTS: [&str; 13] = [
    "-target",
    "bpf",
    "-g",
    "-O2",
    "-fno-stack-protector",
    "-mcpu=v3",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-parameter",
    "-Wno-missing-declarations",
    "-Wno-enum-compare",
    "-Wno-sign-compare",
];

/// The level of Zstandard for the objects.
const LEVEL: i32 = 19;

/// Any bytes are a valid record, and a record is nothing but bytes: the compiler checks that there are only integers, and no padding.
#[derive(Debug)]
struct PlainRecords;

impl ParseCallbacks for PlainRecords {
    fn add_derives(&self, record: &DeriveInfo<'_>) -> Vec<String> {
        match record.name {
            // What its counters leave of a cache line is padding.
            "cpuledger_slot" | "cpuledger_slot_network" | "cpuledger_cpu_network" | "cpuledger_slot_disk" => {
                vec!["bytemuck::AnyBitPattern".to_owned()]
            }
            _ => ["bytemuck::Pod", "bytemuck::Zeroable"].map(String::from).to_vec(),
        }
    }
}

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo:rerun-if-changed=bpf");
    let headers = write_headers(&out);
    for object in OBJECTS {
        compile(object, &headers, &out);
    }
    write_kernel_types(&out);
    bindgen::Builder::default()
        .headers(["bpf/abi.h", "bpf/abi_status.h"])
        .allowlist_item("(cpuledger|CPULEDGER)_.*")
        .parse_callbacks(Box::new(PlainRecords))
        .derive_default(true)
        .derive_partialeq(true)
        .derive_eq(true)
        .prepend_enum_name(false)
        .generate()
        .expect("they are plain C")
        .write_to_file(out.join("abi.rs"))
        .expect("OUT_DIR is writable");
}

/// Writes the headers of libbpf, `bpf/*.h`. Returns the folder to include.
fn write_headers(out: &Path) -> PathBuf {
    let folder = out.join("include");
    fs::create_dir_all(folder.join("bpf")).expect("OUT_DIR is writable");
    for (name, text) in libbpf_sys::API_HEADERS {
        fs::write(folder.join("bpf").join(name), text).expect("OUT_DIR is writable");
    }
    folder
}

/// Compiles `bpf/OBJECT.bpf.c` to `OBJECT.bpf.o`. The linker of libbpf merges equal types, and leaves out what only a debugger reads.
/// Line information names sources as they are named here, so the objects are the same wherever the tree is.
fn compile(object: &str, headers: &Path, out: &Path) {
    let folders = [env::current_dir().expect("cargo makes it the package's"), out.to_path_buf()];
    let source = Path::new("bpf").join(format!("{object}.bpf.c"));
    let compiled = out.join(format!("{object}.compiled.o"));
    let clang = Command::new("clang")
        .args(CLANG_ARGUMENTS)
        .args(folders.map(|folder| format!("-ffile-prefix-map={}=.", folder.display())))
        .arg("-I")
        .arg(headers)
        .arg("-c")
        .arg(&source)
        .arg("-o")
        .arg(&compiled)
        .output()
        .unwrap_or_else(|error| panic!("clang cannot be run ({error}): install clang"));
    let said = String::from_utf8_lossy(&clang.stderr);
    assert!(clang.status.success(), "{} does not compile:\n{said}", source.display());
    let link = || {
        let mut linker = Linker::new(out.join(format!("{object}.bpf.o")))?;
        linker.add_file(&compiled)?;
        linker.link()
    };
    link().unwrap_or_else(|error| panic!("{} cannot be linked: {error}", compiled.display()));
    // A program carries all of them, and most of their bytes are types and lines of source.
    let linked = fs::read(out.join(format!("{object}.bpf.o"))).expect("the linker has written it");
    let packed = zstd::bulk::compress(&linked, LEVEL).expect("memory suffices");
    fs::write(out.join(format!("{object}.bpf.o.zst")), packed).expect("OUT_DIR is writable");
}

/// The names of all types that the objects name, for `src/btf.rs`: those of the kernel are among them.
fn write_kernel_types(out: &Path) {
    let mut names = BTreeSet::new();
    for object in OBJECTS {
        let btf = Btf::from_path(out.join(format!("{object}.bpf.o"))).expect("clang has written BTF");
        for id in 1..btf.len() as u32 {
            let named: BtfType<'_> = btf.type_by_id(id.into()).expect("types are numbered one by one");
            let is_nameable = matches!(
                named.kind(),
                BtfKind::Struct | BtfKind::Union | BtfKind::Enum | BtfKind::Enum64 | BtfKind::Typedef
            );
            let name = named.name().and_then(|name| name.to_str()).unwrap_or_default();
            let essential = name.rfind("___").map_or(name, |flavor| &name[..flavor]);
            if is_nameable && essential.len() > 1 && !essential.starts_with("cpuledger_") {
                names.insert(essential.to_owned());
            }
        }
    }
    let (count, names) = (names.len(), names.into_iter().collect::<Vec<_>>());
    let text = format!("const KERNEL_TYPES: [&str; {count}] = {names:?};\n");
    fs::write(out.join("kernel_types.rs"), text).expect("OUT_DIR is writable");
}
