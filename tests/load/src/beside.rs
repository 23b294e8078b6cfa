//! The programs beside `cpuledger` that commands of it become.

use std::path::Path;

use crate::program::is_newer_than_all;

const CRATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates");

/// This `cpuledger`, whose command `export` has its program beside it. Cargo builds that for the tests of its own package and of the workspace.
///
/// # Panics
/// Where it is missing or older than its sources.
pub fn with_export(cpuledger: &str) -> &str {
    with_program(cpuledger, "cpuledger-export")
}

/// This `cpuledger`, whose command `metrics` has its program beside it.
///
/// # Panics
/// As [`with_export`].
pub fn with_net(cpuledger: &str) -> &str {
    with_program(cpuledger, "cpuledger-net")
}

fn with_program<'a>(cpuledger: &'a str, name: &str) -> &'a str {
    let program = Path::new(cpuledger).with_file_name(name);
    let command = format!("build it with `cargo build --package {name}`, as `cargo test --workspace` does");
    assert!(program.is_file(), "there is no {}: {command}", program.display());
    assert!(
        is_newer_than_all(&program, &Path::new(CRATES).join(name).join("src")),
        "{} is older than its sources: {command}",
        program.display()
    );
    cpuledger
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "cargo build --package cpuledger-export")]
    fn a_missing_program_is_told_with_the_command_that_builds_it() {
        with_export("/nowhere/cpuledger");
    }
}
