#![no_main]
//! See `cpuledger_fuzz::ps_options`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cpuledger_fuzz::ps_options(bytes));
