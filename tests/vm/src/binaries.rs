//! Static builds of the tests, and the initramfs that is made of them and of what they call.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, bail, ensure};
use cpuledger_vm::protocol::{LISTED, Listed};
use cpuledger_vm::suite::{SUITES, Suite};
use serde_json::Value;

use crate::Impossible;
use crate::cpio::Archive;

/// Naming the target keeps build scripts and macros as they are: only what runs in the guest is static.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// What makes them small and quick to build; and libbpf is C, which under emulation wants to be optimised.
const SETTINGS: [(&str, &str); 4] = [
    ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "-C target-feature=+crt-static -C strip=symbols"),
    ("CFLAGS_x86_64_unknown_linux_gnu", "-O2"),
    ("CARGO_PROFILE_DEV_DEBUG", "0"),
    ("CARGO_INCREMENTAL", "0"),
];

/// Our own code, which computes, is optimised: emulation makes each instruction dear. Of others so little runs in a guest that it would
/// only take longer to build.
const OPTIMISED: [&str; 4] =
    ["--config", "profile.dev.opt-level = 1", "--config", "profile.dev.package.'*'.opt-level = 0"];

/// Programs that the tests call, besides our own; with the libraries that they load.
const PROGRAMS: &[&str] = &[
    "bpftool", "chrt", "dash", "env", "kill", "mount", "nice", "prlimit", "setpriv", "setsid", "sh", "sleep",
    "taskset", "true", "umount", "unshare",
];
/// Where they may lie.
const FOLDERS: [&str; 4] = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];

/// Where cargo builds.
pub fn target_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Whether programs can be linked here as the guests need them: x86_64, and with a libelf.a that wants nothing but zlib.
pub fn find_static_libraries() -> Result<(), Impossible> {
    if env::consts::ARCH != "x86_64" {
        return Err(Impossible(format!("this machine is {}, and the guests are x86_64", env::consts::ARCH)));
    }
    let missing = || Impossible("there is no libelf: scripts/install-packages build installs it".to_owned());
    let wanted = pkg_config("--print-requires-private").ok_or_else(missing)?;
    match wanted.split_whitespace().find(|library| *library != "zlib") {
        None => Ok(()),
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

/// The archive with all that a guest needs, for the suites whose name has `part` in it.
pub fn initramfs(part: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let suites: Vec<&Suite> =
        SUITES.iter().filter(|suite| part.is_none_or(|part| suite.name().contains(part))).collect();
    ensure!(!suites.is_empty(), "no suite has a name with `{}` in it", part.unwrap_or_default());
    // All at once: otherwise what the tests depend on, too, would be built once more with other features.
    let mut arguments = vec!["--bin", "cpuledger", "--bin", "cpuledger-load", "--bin", "cpuledger-vm-guest"];
    for package in ["cpuledger", "cpuledger-bpf", "cpuledger-cli", "cpuledger-load", "cpuledger-vm"] {
        arguments.extend(["--package", package]);
    }
    let targets: BTreeSet<&str> =
        suites.iter().map(|suite| suite.target).filter(|name| !name.is_empty()).collect();
    for target in targets {
        arguments.extend(["--test", target]);
    }
    let all = build(&arguments)?;

    let mut archive = Archive::default();
    for folder in ["/dev", "/proc", "/sys", "/tmp", "/run", "/var/tmp"] {
        archive.directory(Path::new(folder));
    }
    // As on Debian.
    for folder in ["/bin", "/sbin", "/lib", "/lib64"] {
        archive.link(Path::new(folder), &Path::new("/usr").join(&folder[1..]));
    }
    archive.device(Path::new("/dev/console"), (5, 1));
    archive.file(Path::new("/etc/passwd"), b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n");
    archive.file(Path::new("/etc/group"), b"root:x:0:\nnogroup:x:65534:\n");
    let mut listed = BTreeMap::new();
    for built in all {
        let is_it = |suite: &&&Suite| match suite.target {
            "" => built.package == suite.package && built.kind == "bin",
            target => built.package == suite.package && built.kind == "test" && built.name == target,
        };
        let suite = suites.iter().find(is_it).map(|suite| suite.name());
        // Tests know where cargo has put what they call; others of the same name are of no use.
        let mut place = built.path.clone();
        match (built.kind.as_str(), built.name.as_str()) {
            ("test", _) if suite.is_none() => continue,
            (_, "cpuledger-vm-guest") => place = PathBuf::from("/init"),
            ("bin", "cpuledger") => archive.link(Path::new("/usr/bin/cpuledger"), &built.path),
            _ => {}
        }
        let content =
            fs::read(&built.path).with_context(|| format!("cannot read {}", built.path.display()))?;
        archive.file(&place, &content);
        if let Some(suite) = suite {
            listed.insert(suite, Listed { path: place, tests: tests_of(&built.path)? });
        }
    }
    for suite in suites {
        ensure!(
            listed.contains_key(&suite.name()),
            "cargo has built nothing for the suite `{}`",
            suite.name()
        );
    }
    archive.file(Path::new(LISTED), &serde_json::to_vec(&listed)?);
    add_programs(&mut archive)?;
    Ok(archive.finish())
}

/// The tests of a test binary: here it lists them at once, in a guest it would take a tenth of a second.
fn tests_of(path: &Path) -> anyhow::Result<Vec<String>> {
    let output = Command::new(path).args(["--list", "--format", "terse"]).output();
    let output = output.with_context(|| format!("cannot run {}", path.display()))?;
    ensure!(output.status.success(), "{} does not list its tests", path.display());
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// An executable that cargo has built.
struct Built {
    package: String,
    name: String,
    kind: String,
    path: PathBuf,
}

fn build(arguments: &[&str]) -> anyhow::Result<Vec<Built>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let libraries = pkg_config("--variable=libdir").context("there is no libelf.a")?;
    let output = Command::new(cargo)
        .arg("build")
        .args(OPTIMISED)
        .args(["--locked", "--quiet", "--target", TARGET])
        .args(["--features", "cpuledger-bpf/static", "--message-format", "json-render-diagnostics"])
        .args(arguments)
        .envs(SETTINGS)
        .env("LIBBPF_SYS_LIBRARY_PATH", libraries)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be run")?;
    ensure!(output.status.success(), "the tests cannot be built as static programs");
    let messages = output.stdout.split(|&byte| byte == b'\n');
    let messages = messages.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    Ok(messages.filter_map(|message| built(&message)).collect())
}

fn built(message: &Value) -> Option<Built> {
    let path = PathBuf::from(message["executable"].as_str()?);
    let manifest = Path::new(message["manifest_path"].as_str()?);
    // Folders of packages are called as the packages are, but for those below tests/.
    let folder = manifest.parent()?.file_name()?.to_str()?;
    let package =
        if folder.starts_with("cpuledger") { folder.to_owned() } else { format!("cpuledger-{folder}") };
    let name = message["target"]["name"].as_str()?.to_owned();
    let kind = message["target"]["kind"][0].as_str()?.to_owned();
    Some(Built { package, name, kind, path })
}

/// Adds the programs of this machine that the tests call, and the libraries that these need.
fn add_programs(archive: &mut Archive) -> anyhow::Result<()> {
    let mut files = BTreeSet::new();
    for name in PROGRAMS {
        let path = FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file());
        let path =
            path.with_context(|| format!("{name} is missing: run scripts/install-packages test vm"))?;
        files.extend(libraries(&path)?);
        files.insert(path);
    }
    for path in files {
        let content = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let path = path.strip_prefix("/usr").or(path.strip_prefix("/")).expect("an absolute path");
        archive.file(&Path::new("/usr").join(path), &content);
    }
    Ok(())
}

/// What a program loads before it begins, its loader included, as that says itself.
fn libraries(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let output =
        Command::new("ldd").arg(path).output().context("ldd cannot be run: install the package libc-bin")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let is_static = [text.as_ref(), &String::from_utf8_lossy(&output.stderr)]
            .iter()
            .any(|text| text.contains("not a dynamic executable"));
        if is_static {
            return Ok(Vec::new());
        }
        bail!("ldd cannot tell what {} loads", path.display());
    }
    Ok(text.lines().filter_map(library).collect())
}

/// The path in a line like `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x7f…)`, or `/lib64/ld-linux….so.2 (0x…)`.
fn library(line: &str) -> Option<PathBuf> {
    let words = line.split_whitespace();
    words.map(Path::new).find(|word| word.is_absolute()).map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_libraries_that_its_loader_names() {
        assert_eq!(library("\tlinux-vdso.so.1 (0x00007ffe)"), None);
        assert_eq!(library("\tlibz.so.1 => /lib/libz.so.1 (0x00007f)"), Some("/lib/libz.so.1".into()));
        assert_eq!(
            library("\t/lib64/ld-linux-x86-64.so.2 (0x0)"),
            Some("/lib64/ld-linux-x86-64.so.2".into())
        );
        let own = env::current_exe().expect("a path");
        assert!(libraries(&own).expect("ldd").iter().any(|path| path.ends_with("libc.so.6")));
    }

    #[test]
    fn what_cargo_says_is_found_by_package() {
        let message = serde_json::json!({
            "executable": "/t/vm/deps/walk_root-1", "manifest_path": "/r/crates/cpuledger/Cargo.toml",
            "target": { "name": "walk_root", "kind": ["test"] },
        });
        let found = built(&message).expect("an executable");
        assert_eq!(
            (found.package.as_str(), found.name.as_str(), found.kind.as_str()),
            ("cpuledger", "walk_root", "test")
        );
        assert!(built(&serde_json::json!({ "executable": null })).is_none());
    }
}
