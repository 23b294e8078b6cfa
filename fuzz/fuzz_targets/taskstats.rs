#![no_main]
//! See `cpuledger_fuzz::taskstats`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cpuledger_fuzz::taskstats(bytes));
