//! The initramfs that is made of the tests and of what they call.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::ensure;
use cpuledger_vm::extent::Chosen;
use cpuledger_vm::progress::tests_of;
use cpuledger_vm::protocol::{LISTED, Listed};
use cpuledger_vm::suite::Suite;
use serde_json::Value;

use crate::cpio::Archive;
use crate::programs::Programs;
use crate::toolchain::Toolchain;

/// The first process of a guest.
const GUEST: &str = "cpuledger-vm-guest";
/// What tests call.
const PROGRAMS: [&str; 4] = ["cpuledger", "cpuledger-export", "cpuledger-load", GUEST];

/// The archive with all that guests of an architecture need, for these suites.
pub fn initramfs(toolchain: &Toolchain, programs: &Programs, suites: Chosen) -> anyhow::Result<Vec<u8>> {
    let suites: Vec<&Suite> = suites.suites().collect();
    ensure!(!suites.is_empty(), "no suite has such a name");
    let packages =
        ["cpuledger", "cpuledger-bpf", "cpuledger-cli", "cpuledger-export", "cpuledger-load", "cpuledger-vm"];
    let targets: BTreeSet<&str> =
        suites.iter().map(|suite| suite.target).filter(|name| !name.is_empty()).collect();
    let messages = toolchain.build(&packages, &targets)?;

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
    let (mut listed, mut dynamic) = (BTreeMap::new(), Vec::new());
    for built in messages.iter().filter_map(built) {
        let is_it = |suite: &&&Suite| match suite.target {
            "" => built.name == GUEST,
            target => built.package == suite.package && built.is_test && built.name == target,
        };
        let suite = suites.iter().find(is_it).map(|suite| suite.name());
        // Tests know where cargo has put what they call.
        let mut place = built.path.clone();
        match built.name.as_str() {
            _ if built.is_test && suite.is_none() => continue,
            GUEST => place = PathBuf::from("/init"),
            "cpuledger" if !built.is_test => archive.link(Path::new("/usr/bin/cpuledger"), &built.path),
            _ => {}
        }
        let here = toolchain.place_here(&built.path);
        archive.file(&place, &toolchain.stripped(&here)?);
        if let Some(suite) = suite {
            // Here they are listed at once, in a guest it takes a tenth of a second.
            listed.insert(
                suite,
                Listed { path: place, tests: toolchain.runs_here().then(|| tests_of(&here)).transpose()? },
            );
        }
        dynamic.extend(toolchain.runs_here().then_some(here));
    }
    for suite in suites {
        ensure!(
            listed.contains_key(&suite.name()),
            "cargo has built nothing for the suite `{}`",
            suite.name()
        );
    }
    archive.file(Path::new(LISTED), &serde_json::to_vec(&listed)?);
    programs.add_to(&mut archive, &dynamic)?;
    Ok(archive.finish())
}

/// An executable that cargo has built and that guests may need.
struct Built {
    package: String,
    name: String,
    is_test: bool,
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
    let is_test = message["target"]["kind"][0] == "test";
    // Those with `test` and another kind hold the unit tests of a library or a program.
    let is_wanted = is_test || message["profile"]["test"] == false && PROGRAMS.contains(&name.as_str());
    is_wanted.then_some(Built { package, name, is_test, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_says_is_found_by_package() {
        let message = serde_json::json!({
            "executable": "/t/vm/deps/walk_root-1", "manifest_path": "/r/crates/cpuledger/Cargo.toml",
            "target": { "name": "walk_root", "kind": ["test"] }, "profile": { "test": true },
        });
        let found = built(&message).expect("an executable");
        assert_eq!(
            (found.package.as_str(), found.name.as_str(), found.is_test),
            ("cpuledger", "walk_root", true)
        );
        let mut program = serde_json::json!({
            "executable": "/t/vm/deps/cpuledger-1", "manifest_path": "/r/crates/cpuledger-cli/Cargo.toml",
            "target": { "name": "cpuledger", "kind": ["bin"] }, "profile": { "test": true },
        });
        assert!(built(&program).is_none(), "its unit tests are no program");
        program["profile"]["test"] = false.into();
        assert!(built(&program).is_some_and(|found| !found.is_test));
        assert!(built(&serde_json::json!({ "executable": null })).is_none());
    }
}
