//! Where the program `cpuledger-load` is.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

use crate::Error;

const NAME: &str = "cpuledger-load";
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// The program's path, the same for the whole life of the process. Looked for in this order:
///
/// 1. the environment variable `CARGO_BIN_EXE_cpuledger-load`, if set;
/// 2. next to the running executable, or in the folder above if that one is `deps` or `examples`: cargo's own
///    layout (`target/<profile>/deps/<test>`, `target/<profile>/cpuledger-load`), and that of a test machine
///    to which both files were copied. Passed over if it is older than the sources of this package: a `cargo
///    test -p` of another package rebuilds this library, but not its program;
/// 3. what `cargo build --bin cpuledger-load` makes, in the folder and with the profile of the running one.
///
/// # Errors
/// [`Error::NoProgram`] if nothing was found and cargo could not build it.
pub fn program() -> Result<&'static Path, Error> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PROGRAM.get_or_init(find).as_deref().map_err(|reason| Error::NoProgram(reason.clone()))
}

fn find() -> Result<PathBuf, String> {
    if let Some(path) = env::var_os(format!("CARGO_BIN_EXE_{NAME}")) {
        return Ok(path.into());
    }
    let this = env::current_exe().map_err(|e| format!("the path of this executable is not known ({e})"))?;
    let profile = profile_folder(&this);
    let beside = [this.parent(), profile].into_iter().flatten().map(|folder| folder.join(NAME));
    match beside.filter(|path| path.is_file()).find(|path| is_newer_than_all(path, Path::new(SOURCES))) {
        Some(path) => Ok(path),
        None => build(profile),
    }
}

/// The folder `target/<profile>` that holds this test, benchmark or example, if cargo put it there.
fn profile_folder(executable: &Path) -> Option<&Path> {
    let own = executable.parent()?;
    let is_cargo_s = own.ends_with("deps") || own.ends_with("examples");
    own.parent().filter(|_| is_cargo_s)
}

/// Whether the program is at least as new as each source file; also if there are no sources here. Files of unit tests are not built into it.
pub(crate) fn is_newer_than_all(program: &Path, sources: &Path) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).ok();
    match (modified(program), newest(sources)) {
        (Some(program), Some(sources)) => program >= sources,
        (_, None) => true,
        (None, _) => false,
    }
}

fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries
        .filter_map(|entry| match entry.file_type().ok()?.is_dir() {
            true => newest(&entry.path()),
            false if entry.file_name() == "tests.rs" => None,
            false => entry.metadata().ok()?.modified().ok(),
        })
        .max()
}

/// Has cargo build the program, beside the running executable if that is in a profile's folder, and say where
/// it is. Cargo holds no lock while it runs tests, and keeps several builders of the same folder apart by
/// itself.
fn build(profile: Option<&Path>) -> Result<PathBuf, String> {
    if !Path::new(MANIFEST).is_file() {
        return Err(format!(
            "not beside this executable, and its sources ({MANIFEST}) are not on this machine"
        ));
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(&cargo);
    // With the features that the whole workspace has: after `cargo test --workspace`, there is nothing left to compile.
    command.args(["build", "--quiet", "--workspace", "--bin", NAME, "--message-format=json"]);
    command.args(["--manifest-path", MANIFEST]);
    if let Some((target, name)) = profile.and_then(|profile| Some((profile.parent()?, profile.file_name()?)))
    {
        // The profile `dev` has the only folder that is not named after it.
        let name = if name == "debug" { OsStr::new("dev") } else { name };
        command.arg("--target-dir").arg(target).arg("--profile").arg(name);
    }
    let output = command.output().map_err(|e| format!("{} cannot be run ({e})", cargo.display()))?;
    if !output.status.success() {
        return Err(format!("cargo failed: {}", String::from_utf8_lossy(&output.stderr).trim_end()));
    }
    executable_of(&output.stdout).ok_or_else(|| "cargo built it but did not say where".to_string())
}

/// The path in cargo's messages, one JSON object a line.
fn executable_of(messages: &[u8]) -> Option<PathBuf> {
    messages
        .split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact" && message["target"]["name"] == NAME)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_in_deps_belongs_to_a_profile() {
        let profile = profile_folder(Path::new("/t/release/deps/ledger-0123"));
        assert_eq!(profile, Some(Path::new("/t/release")));
        assert_eq!(profile_folder(Path::new("/vm/ledger-0123")), None);
    }

    #[test]
    fn cargo_says_where_the_executable_is() {
        let messages =
            br#"{"reason":"compiler-artifact","target":{"name":"cpuledger_load"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"cpuledger-load"},"executable":"/t/debug/cpuledger-load"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable_of(messages), Some(PathBuf::from("/t/debug/cpuledger-load")));
    }

    #[test]
    fn cargo_builds_it_where_there_is_none() {
        let this = env::current_exe().expect("a path");
        let profile = profile_folder(&this).expect("cargo has built this test");
        assert_eq!(build(Some(profile)), Ok(profile.join(NAME)));
    }
}
