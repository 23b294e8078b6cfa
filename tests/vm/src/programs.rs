//! The programs that the tests call, besides our own, with the libraries that they load: those of this machine, or of Debian's
//! packages for another architecture.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use cpuledger_vm::Architecture;

use crate::Impossible;
use crate::apt::{Apt, Site, run};
use crate::cpio::Archive;

/// What they are called.
const PROGRAMS: &[&str] = &[
    "bpftool", "chrt", "dash", "env", "kill", "mount", "nice", "prlimit", "setpriv", "setsid", "sh", "sleep",
    "taskset", "true", "umount", "unshare",
];
/// The packages that have them.
const PACKAGES: &[&str] = &["bpftool", "coreutils", "dash", "mount", "procps", "util-linux"];
/// Where those of another architecture come from: a release, which does not change.
const SITES: [Site; 1] = [Site { label: "Debian", address: "http://deb.debian.org/debian", suite: "trixie" }];
/// Where they may lie.
const FOLDERS: [&str; 4] = ["usr/bin", "usr/sbin", "bin", "sbin"];
/// Where the libraries of arm64 lie, and what loads them.
const LIBRARIES: &str = "usr/lib/aarch64-linux-gnu";
const LOADER: &str = "usr/lib/ld-linux-aarch64.so.1";

/// Where programs are, and what they load.
pub struct Programs {
    /// The folder below which they lie as on the machine that they are of.
    root: PathBuf,
    architecture: Architecture,
}

impl Programs {
    /// Those of an architecture; fetched into `cache`, if they are not this machine's.
    ///
    /// # Errors
    /// A sentence, where they are not here and cannot be fetched.
    pub fn find(architecture: Architecture, cache: &Path) -> anyhow::Result<Programs> {
        if architecture == Architecture::Amd64 {
            return Ok(Programs { root: "/".into(), architecture });
        }
        let root = cache.join(architecture.name()).join("programs");
        if !root.exists() {
            fetch(architecture, &root, cache)
                .map_err(|error| Impossible(format!("programs for arm64 cannot be had: {error:#}")))?;
        }
        Ok(Programs { root, architecture })
    }

    /// Adds all of them, and the libraries that they and `others` need.
    pub fn add_to(&self, archive: &mut Archive, others: &[PathBuf]) -> anyhow::Result<()> {
        let mut files = BTreeSet::new();
        for path in others {
            files.extend(self.libraries(path)?);
        }
        for name in PROGRAMS {
            let mut places = FOLDERS.iter().map(|folder| self.root.join(folder).join(name));
            let path = places
                .find(|path| path.is_file())
                .with_context(|| format!("{name} is missing: run scripts/install-packages test vm"))?;
            files.extend(self.libraries(&path)?);
            files.insert(path);
        }
        for path in files {
            let content = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let path = path.strip_prefix(&self.root).expect("it was found there");
            let path = path.strip_prefix("usr").unwrap_or(path);
            archive.file(&Path::new("/usr").join(path), &content);
        }
        Ok(())
    }

    /// What a program loads before it begins, its loader included.
    fn libraries(&self, path: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
        if self.architecture == Architecture::Amd64 {
            return loaded_here(path);
        }
        let mut found = BTreeSet::from([self.root.join(LOADER)]);
        let mut waiting = vec![path.to_path_buf()];
        while let Some(path) = waiting.pop() {
            for name in needed(&path)? {
                let library = self.root.join(LIBRARIES).join(name);
                if found.insert(library.clone()) {
                    waiting.push(library);
                }
            }
        }
        Ok(found)
    }
}

/// Unpacks them below `root`, with all that they need, or nothing.
fn fetch(architecture: Architecture, root: &Path, cache: &Path) -> anyhow::Result<()> {
    let apt = Apt::new(&cache.join(architecture.name()).join("apt-programs"), architecture, &SITES)?;
    apt.update()?;
    apt.unpack(PACKAGES, root)
}

/// The names of the libraries that a program or a library of whatever architecture needs.
fn needed(path: &Path) -> anyhow::Result<Vec<String>> {
    let output = run(Command::new("readelf").arg("--dynamic").arg("--wide").arg(path).env("LC_ALL", "C"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(needed_name).map(str::to_owned).collect())
}

/// The name in a line like ` 0x0000000000000001 (NEEDED)  Shared library: [libc.so.6]`.
fn needed_name(line: &str) -> Option<&str> {
    let (_, name) = line.split_once("(NEEDED)")?.1.split_once('[')?;
    name.strip_suffix(']')
}

/// What a program of this machine loads, as its loader says itself.
fn loaded_here(path: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let output =
        Command::new("ldd").arg(path).output().context("ldd cannot be run: install the package libc-bin")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let is_static = [text.as_ref(), &String::from_utf8_lossy(&output.stderr)]
            .iter()
            .any(|text| text.contains("not a dynamic executable"));
        if is_static {
            return Ok(BTreeSet::new());
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
        let own = std::env::current_exe().expect("a path");
        assert!(loaded_here(&own).expect("ldd").iter().any(|path| path.ends_with("libc.so.6")));
    }

    #[test]
    fn a_program_of_whatever_architecture_says_what_it_needs() {
        let line = " 0x0000000000000001 (NEEDED)             Shared library: [libtinfo.so.6]";
        assert_eq!(needed_name(line), Some("libtinfo.so.6"));
        assert_eq!(needed_name(" 0x000000000000000e (SONAME)  Library soname: [libc.so.6]"), None);
        let own = std::env::current_exe().expect("a path");
        assert!(needed(&own).expect("readelf").contains(&"libc.so.6".to_owned()));
    }
}
