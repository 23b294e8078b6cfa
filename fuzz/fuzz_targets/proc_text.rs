#![no_main]
//! See `cpuledger_fuzz::proc_text`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cpuledger_fuzz::proc_text(bytes));
