//! What CPUs a machine has, and what Debian, Rust and the emulator call them.

/// An architecture that the matrix tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Architecture {
    /// The one of the machines that build.
    Amd64,
    /// 64-bit Arm.
    Arm64,
}

impl Architecture {
    /// All of them.
    pub const ALL: [Architecture; 2] = [Architecture::Amd64, Architecture::Arm64];

    /// As Debian calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Architecture::Amd64 => "amd64",
            Architecture::Arm64 => "arm64",
        }
    }

    /// As Rust calls it, with all that it says of the system.
    pub const fn target(self) -> &'static str {
        match self {
            Architecture::Amd64 => "x86_64-unknown-linux-gnu",
            Architecture::Arm64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// Its emulator.
    pub const fn emulator(self) -> &'static str {
        match self {
            Architecture::Amd64 => "qemu-system-x86_64",
            Architecture::Arm64 => "qemu-system-aarch64",
        }
    }
}
