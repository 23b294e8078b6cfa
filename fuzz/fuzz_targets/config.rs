#![no_main]
//! See `cpuledger_fuzz::config`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cpuledger_fuzz::config(bytes));
