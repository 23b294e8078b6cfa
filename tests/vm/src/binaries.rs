//! Static builds of the tests, and the initramfs that is made of them and of what they call.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use cpuledger_vm::extent::Chosen;
use cpuledger_vm::progress::tests_of;
use cpuledger_vm::protocol::{LISTED, Listed};
use cpuledger_vm::suite::Suite;
use serde_json::Value;

use crate::cpio::Archive;
use crate::programs::Programs;
use crate::toolchain::Toolchain;

/// The archive with all that guests of an architecture need, for these suites.
pub fn initramfs(toolchain: &Toolchain, programs: &Programs, suites: Chosen) -> anyhow::Result<Vec<u8>> {
    let suites: Vec<&Suite> = suites.suites().collect();
    ensure!(!suites.is_empty(), "no suite has such a name");
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
    let messages = toolchain.build(&arguments)?;

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
    for built in messages.iter().filter_map(built) {
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
        let here = toolchain.place_here(&built.path);
        let content = fs::read(&here).with_context(|| format!("cannot read {}", here.display()))?;
        archive.file(&place, &content);
        if let Some(suite) = suite {
            // Here they are listed at once, in a guest it takes a tenth of a second.
            listed.insert(
                suite,
                Listed { path: place, tests: toolchain.runs_here().then(|| tests_of(&here)).transpose()? },
            );
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
    programs.add_to(&mut archive)?;
    Ok(archive.finish())
}

/// An executable that cargo has built.
struct Built {
    package: String,
    name: String,
    kind: String,
    path: PathBuf,
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

#[cfg(test)]
mod tests {
    use super::*;

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
