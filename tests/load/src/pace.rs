//! How fast the CPU is that a test has.

/// Whether the CPU is emulated, as in the guests of the kernel matrix, which say so in the environment. It takes some thirty times
/// as long: there a test that is long or large for the sake of chance is shorter, and allows more time.
pub fn is_emulated() -> bool {
    std::env::var_os("CPULEDGER_TEST_EMULATED").is_some()
}
