#![no_main]
//! See `cpuledger_fuzz::varlink`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cpuledger_fuzz::varlink(bytes));
