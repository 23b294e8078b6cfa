#![no_main]
//! See `cpuledger_fuzz::shown`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cpuledger_fuzz::shown(bytes));
