//! What builds programs for the guests: cargo as it is here or, for another architecture than this machine's, cargo in a Debian of
//! its own.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use cpuledger_vm::Architecture;
use serde_json::Value;

use crate::Impossible;
use crate::apt::run;

/// What makes them small and quick to build.
const SETTINGS: [(&str, &str); 2] = [("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_INCREMENTAL", "0")];
/// Naming the target keeps build scripts and macros as they are: only what runs in the guest is static. libbpf is C, which under
/// emulation wants to be optimised.
const SETTINGS_HERE: [(&str, &str); 2] =
    [("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", STATIC), ("CFLAGS_x86_64_unknown_linux_gnu", "-O2")];
/// The compiler of C and its settings are known to the script that runs cargo.
const SETTINGS_IN_ROOT: [(&str, &str); 1] = [("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS", STATIC)];
const STATIC: &str = "-C target-feature=+crt-static -C strip=symbols";

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
    /// That of this machine, with the folder of its `libelf.a`.
    Host { libraries: String },
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
            Architecture::Amd64 => Ok(Toolchain::Host { libraries: find_static_libraries()? }),
            Architecture::Arm64 => {
                let folder = cache.join("arm64").join("root");
                make_root(&folder)?;
                Ok(Toolchain::Root { folder })
            }
        }
    }

    /// Whether what it builds runs here, too.
    pub fn runs_here(&self) -> bool {
        matches!(self, Toolchain::Host { .. })
    }

    /// Where on this machine lies what the toolchain says it has built.
    pub fn place_here(&self, path: &Path) -> PathBuf {
        match (self, path.strip_prefix(TARGET_IN_ROOT)) {
            (Toolchain::Root { .. }, Ok(below)) => target_of_root().join(below),
            _ => path.to_path_buf(),
        }
    }

    /// Builds, and returns what cargo says of it.
    pub fn build(&self, arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
        let (mut command, architecture) = match self {
            Toolchain::Host { libraries } => {
                let mut command = Command::new(cargo());
                command.envs(SETTINGS).envs(SETTINGS_HERE).env("LIBBPF_SYS_LIBRARY_PATH", libraries);
                (command, Architecture::Amd64)
            }
            Toolchain::Root { folder } => {
                fetch_crates()?;
                let mut command = in_root(folder);
                let settings = SETTINGS.into_iter().chain(SETTINGS_IN_ROOT);
                command.arg("env").args(settings.map(|(name, value)| format!("{name}={value}"))).arg("cargo");
                (command, Architecture::Arm64)
            }
        };
        let output = command
            .arg("build")
            .args(OPTIMISED)
            .args(["--locked", "--quiet", "--target", architecture.target()])
            .args(["--features", "cpuledger-bpf/static", "--message-format", "json-render-diagnostics"])
            .args(arguments)
            .output()
            .context("cargo cannot be run")?;
        if !output.status.success() {
            // What the linker says of each static program that looks up names is of interest then only.
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            bail!("the tests cannot be built as static programs for {}", architecture.name());
        }
        let messages = output.stdout.split(|&byte| byte == b'\n');
        Ok(messages.filter_map(|line| serde_json::from_slice::<Value>(line).ok()).collect())
    }
}

fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The folder of a `libelf.a` that programs can be linked with: one that wants nothing but zlib.
fn find_static_libraries() -> Result<String, Impossible> {
    let missing = || Impossible("there is no libelf: scripts/install-packages build installs it".to_owned());
    let wanted = pkg_config("--print-requires-private").ok_or_else(missing)?;
    match wanted.split_whitespace().find(|library| *library != "zlib") {
        None => pkg_config("--variable=libdir").ok_or_else(missing),
        Some(other) => {
            Err(Impossible(format!("the libelf.a of this system wants {other}; Debian 12's does not")))
        }
    }
}

/// What pkg-config says of libelf.
fn pkg_config(question: &str) -> Option<String> {
    let output = Command::new("pkg-config").args([question, "libelf"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
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
