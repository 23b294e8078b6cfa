//! The emulators: the one that this machine has, and one that keeps its promises with a thread a CPU.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use cpuledger_vm::Architecture;

use crate::Impossible;
use crate::apt::{Apt, Site, run};

/// The first version that is stable with a thread a CPU: 7.2 failed 3 of 39 boots of Linux 6.18 and later, 10.0 none of 30.
const CONCURRENT_SINCE: u32 = 10;
/// Where such a one is to be had. It comes with all that it loads, so the system that runs it may be another.
const SITES: [Site; 1] = [Site { label: "Debian", address: "http://deb.debian.org/debian", suite: "trixie" }];
const PACKAGE: &str = "qemu-system-x86";

/// How an emulator is called.
#[derive(Debug, Clone)]
pub struct Emulator {
    /// A program and its first arguments.
    words: Vec<OsString>,
    /// As it says itself.
    pub version: String,
}

impl Emulator {
    /// The words that come before all options of the emulator.
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// The emulator of an architecture that this machine has.
    ///
    /// # Errors
    /// Without one no guest can be started.
    pub fn of_system(architecture: Architecture) -> Result<Emulator, Impossible> {
        let name = architecture.emulator();
        Emulator::called(vec![name.into()])
            .map_err(|_| Impossible(format!("{name} cannot be run: scripts/install-packages vm installs it")))
    }

    /// One that is stable with a thread a CPU: that of this machine, if it is new enough, else one that is fetched into `cache`, with
    /// what it needs, and installed nowhere.
    ///
    /// # Errors
    /// A sentence, where it is not here and cannot be fetched.
    pub fn concurrent(cache: &Path, system: &Emulator) -> anyhow::Result<Emulator> {
        if system.major() >= Some(CONCURRENT_SINCE) {
            return Ok(system.clone());
        }
        let root = cache.join("emulator");
        if !root.exists() {
            fetch(cache, &root).context("no emulator that is stable with a thread a CPU")?;
        }
        let emulator = Emulator::called(words(&root))?;
        ensure!(emulator.major() >= Some(CONCURRENT_SINCE), "{} is {}", root.display(), emulator.version);
        Ok(emulator)
    }

    fn called(words: Vec<OsString>) -> anyhow::Result<Emulator> {
        let output = run(Command::new(&words[0]).args(&words[1..]).arg("--version"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version =
            version(&text).with_context(|| format!("{} does not say its version", words[0].display()))?;
        Ok(Emulator { words, version: version.to_owned() })
    }

    fn major(&self) -> Option<u32> {
        self.version.split('.').next()?.parse().ok()
    }
}

/// As in `QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)`.
fn version(text: &str) -> Option<&str> {
    text.lines().next()?.split_once("version ")?.1.split(' ').next()
}

/// The emulator below `root`, started by the loader that is there: its libraries are of another release than the system's.
fn words(root: &Path) -> Vec<OsString> {
    let place = |path: &str| root.join(path).into_os_string();
    vec![
        place("usr/lib64/ld-linux-x86-64.so.2"),
        "--library-path".into(),
        place("usr/lib/x86_64-linux-gnu"),
        place("usr/bin/qemu-system-x86_64"),
        "-L".into(),
        place("usr/share/qemu"),
        "-L".into(),
        place("usr/share/seabios"),
    ]
}

/// Unpacks the emulator and all that it needs below `root`, or nothing.
fn fetch(cache: &Path, root: &Path) -> anyhow::Result<()> {
    let apt = Apt::new(&cache.join("apt-emulator"), Architecture::Amd64, &SITES)?;
    apt.update()?;
    apt.unpack(&[PACKAGE], root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let text = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\nCopyright (c) 2003-2022\n";
        let of = |version: &str| Emulator { words: Vec::new(), version: version.to_owned() };
        assert_eq!(version(text), Some("7.2.22"));
        assert!(
            of("7.2.22").major() < Some(CONCURRENT_SINCE) && of("10.0.2").major() >= Some(CONCURRENT_SINCE)
        );
        assert_eq!(version("qemu"), None);
    }
}
