#![no_main]
//! See `cpuledger_fuzz::query`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cpuledger_fuzz::query(bytes));
