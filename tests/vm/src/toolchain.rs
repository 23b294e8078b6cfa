//! What builds programs for the guests: cargo as it is here or, for another architecture than this machine's, cargo in a Debian of
//! its own.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, bail, ensure};
use cpuledger_vm::Architecture;
use serde_json::Value;

use crate::Impossible;
use crate::apt::run;

/// What makes programs of another architecture small and quick to build, and puts all that they need into them. The compiler of C and its
/// settings are known to the script that runs cargo.
const SETTINGS_IN_ROOT: [(&str, &str); 3] = [
    ("CARGO_PROFILE_DEV_DEBUG", "0"),
    ("CARGO_INCREMENTAL", "0"),
    ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "-C target-feature=+crt-static -C strip=symbols"),
];
/// Our own code, which computes, is optimised: emulation makes each instruction dear. Of others so little runs in a guest that it would
/// only take longer to build.
const OPTIMISED: [&str; 4] =
    ["--config", "profile.dev.opt-level = 1", "--config", "profile.dev.package.'*'.opt-level = 0"];

/// Runs a command in a Debian that compiles for arm64, and makes that if there is none.
const ROOT_SCRIPT: &str = "scripts/arm64-root";
/// Where that has this machine's folder of what it builds.
const TARGET_IN_ROOT: &str = "/build/target";
/// What it ends with where this machine cannot have such a Debian.
const CANNOT: i32 = 77;

/// Where cargo builds.
pub fn target_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Cargo for one architecture.
pub enum Toolchain {
    /// That of this machine: guests run what `make test` has built already.
    Host,
    /// In a Debian of its own, which is in this folder.
    Root { folder: PathBuf },
}

impl Toolchain {
    /// What builds for this architecture; for arm64 it is made, if there is none.
    ///
    /// # Errors
    /// A sentence on what this machine lacks.
    pub fn find(architecture: Architecture, cache: &Path) -> anyhow::Result<Toolchain> {
        if env::consts::ARCH != "x86_64" {
            let sentence =
                format!("this machine is {}, and what builds for guests is x86_64", env::consts::ARCH);
            return Err(Impossible(sentence).into());
        }
        match architecture {
            Architecture::Amd64 => Ok(Toolchain::Host),
            Architecture::Arm64 => {
                let folder = cache.join("arm64").join("root");
                make_root(&folder)?;
                Ok(Toolchain::Root { folder })
            }
        }
    }

    /// Whether what it builds runs here, too.
    pub fn runs_here(&self) -> bool {
        matches!(self, Toolchain::Host)
    }

    /// The content of an executable without what only a debugger reads: a guest has it in memory.
    pub fn stripped(&self, path: &Path) -> anyhow::Result<Vec<u8>> {
        let read = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        match self {
            Toolchain::Root { .. } => read(path),
            Toolchain::Host => {
                let file = tempfile::NamedTempFile::new()?;
                run(Command::new("strip").arg("-o").arg(file.path()).arg(path))?;
                read(file.path())
            }
        }
    }

    /// Where on this machine lies what the toolchain says it has built.
    pub fn place_here(&self, path: &Path) -> PathBuf {
        match (self, path.strip_prefix(TARGET_IN_ROOT)) {
            (Toolchain::Root { .. }, Ok(below)) => target_of_root().join(below),
            _ => path.to_path_buf(),
        }
    }

    /// Builds the tests of these targets, and what they call. Returns what cargo says of it.
    pub fn build(&self, packages: &[&str], targets: &BTreeSet<&str>) -> anyhow::Result<Vec<Value>> {
        match self {
            Toolchain::Host => {
                // All of the workspace, as `make test-all` does: for a part of it cargo would build much once more, with fewer features.
                let mut tests = Command::new(cargo());
                tests.args(["test", "--workspace", "--no-run"]);
                messages(&mut tests)
            }
            Toolchain::Root { folder } => {
                fetch_crates()?;
                let mut command = in_root(folder);
                let settings = SETTINGS_IN_ROOT.map(|(name, value)| format!("{name}={value}"));
                command.arg("env").args(settings).args(["cargo", "build"]).args(OPTIMISED);
                command.args([
                    "--target",
                    Architecture::Arm64.target(),
                    "--features",
                    "cpuledger-bpf/static",
                ]);
                command.args([
                    "--bin",
                    "cpuledger",
                    "--bin",
                    "cpuledger-export",
                    "--bin",
                    "cpuledger-load",
                    "--bin",
                    "cpuledger-vm-guest",
                ]);
                command.args(packages.iter().flat_map(|name| ["--package", name]));
                command.args(targets.iter().flat_map(|name| ["--test", name]));
                messages(&mut command)
            }
        }
    }
}

/// Runs this command of cargo, and returns what it says.
fn messages(command: &mut Command) -> anyhow::Result<Vec<Value>> {
    let output = command
        .args(["--locked", "--quiet", "--message-format", "json-render-diagnostics"])
        .output()
        .context("cargo cannot be run")?;
    if !output.status.success() {
        // What the linker says of each static program that looks up names is of interest then only.
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("the tests cannot be built");
    }
    let lines = output.stdout.split(|&byte| byte == b'\n');
    Ok(lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()).collect())
}

fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Where the Debian of arm64 builds.
fn target_of_root() -> PathBuf {
    target_folder().join("arm64")
}

/// A command in that Debian, whose words are to follow.
fn in_root(folder: &Path) -> Command {
    let mut command = Command::new(ROOT_SCRIPT);
    command.arg(folder).arg(target_of_root()).stdin(Stdio::null());
    command
}

/// Makes that Debian, if there is none.
fn make_root(folder: &Path) -> anyhow::Result<()> {
    let output =
        in_root(folder).arg("true").output().with_context(|| format!("{ROOT_SCRIPT} cannot be run"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().last().unwrap_or("it does not say why").to_owned();
    if output.status.code() == Some(CANNOT) {
        return Err(Impossible(last).into());
    }
    ensure!(output.status.success(), "{ROOT_SCRIPT}: {last}");
    Ok(())
}

/// In that Debian cargo has no network: all that the other architecture needs has to be here.
fn fetch_crates() -> anyhow::Result<()> {
    let target = Architecture::Arm64.target();
    run(Command::new(cargo()).args(["fetch", "--locked", "--quiet", "--target", target])).map(drop)
}
