#![no_main]
//! See `cpuledger_fuzz::abi_records`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cpuledger_fuzz::abi_records(bytes));
