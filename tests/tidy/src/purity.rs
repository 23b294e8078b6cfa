//! Which crates are pure, and what that means.

/// Crates that touch nothing: no file, no clock, no system call. With each, the beginnings of paths that it does not use.
pub const PURE: &[(&str, &[&str])] = &[
    ("crates/cpuledger-proc", TOUCHING),
    ("crates/cpuledger-model", TOUCHING),
    ("crates/cpuledger-report", TOUCHING),
    ("crates/cpuledger-view", TOUCHING),
];

/// The beginnings of paths to what touches files, clocks or the kernel.
pub const TOUCHING: &[&str] = &[
    "cpuledger_names::logins",
    "cpuledger::facts",
    "cpuledger::machine",
    "cpuledger::source::open",
    "cpuledger::support",
    "libc",
    "nix",
    "rustix",
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time",
];
