//! The records and limits that user space shares with the BPF programs, as bindgen reads them in `bpf/abi.h`.
#![allow(
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    clippy::all,
    clippy::undocumented_unsafe_blocks
)]

include!(concat!(env!("OUT_DIR"), "/abi.rs"));
