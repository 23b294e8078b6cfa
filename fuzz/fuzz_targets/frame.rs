#![no_main]
//! See `cpuledger_fuzz::frame`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cpuledger_fuzz::frame(bytes));
