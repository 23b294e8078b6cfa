//! Compiles each BPF object and translates `bpf/abi.h` for Rust.

use std::env;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

/// The BPF objects, each a `.bpf.c` of its own.
const OBJECTS: [&str; 8] =
    ["walk", "walk_memory", "walk_identity", "lifecycle", "ledger", "inspect", "inspect_briefly", "status"];

/// `v3` is understood by every kernel since 5.1; warnings are errors.
const CLANG_ARGUMENTS: [&str; 6] =
    ["-mcpu=v3", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-missing-declarations"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo:rerun-if-changed=bpf");
    for object in OBJECTS {
        SkeletonBuilder::new()
            .source(Path::new("bpf").join(format!("{object}.bpf.c")))
            .obj(out.join(format!("{object}.bpf.o")))
            .clang_args(CLANG_ARGUMENTS)
            .build()
            .unwrap_or_else(|error| panic!("bpf/{object}.bpf.c does not compile: {error:#}"));
    }
    bindgen::Builder::default()
        .header("bpf/abi.h")
        .allowlist_item("(cpuledger|CPULEDGER)_.*")
        .derive_default(true)
        .prepend_enum_name(false)
        .generate()
        .expect("bpf/abi.h is plain C")
        .write_to_file(out.join("abi.rs"))
        .expect("OUT_DIR is writable");
}
