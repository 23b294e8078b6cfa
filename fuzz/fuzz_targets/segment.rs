#![no_main]
//! See `cpuledger_fuzz::segment`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cpuledger_fuzz::segment(bytes));
