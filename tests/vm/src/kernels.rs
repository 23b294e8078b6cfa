//! Which kernels the matrix has, and fetching them from Debian: through lists of packages of our own, so that those of the
//! system stay as they are. What was fetched is kept for later runs, and for times without a network.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use anyhow::{Context, ensure};
use cpuledger_vm::{Architecture, Series};

use crate::Impossible;
use crate::apt::{Apt, Site, run};

/// Which kernels of an architecture the matrix has.
struct Choice {
    architecture: Architecture,
    /// Series that have to be there; the newest that are to be had come on top.
    fixed: &'static [Series],
    /// How many of the newest.
    newest: usize,
    /// Where Debian keeps them.
    sites: &'static [Site],
    /// How the name of a package ends: the flavour for virtual machines, which is the smallest.
    flavour: &'static str,
}

const AMD64: Choice = Choice {
    architecture: Architecture::Amd64,
    fixed: &[Series(5, 10), Series(6, 1), Series(6, 12), Series(6, 18)],
    newest: 2,
    sites: &SITES,
    flavour: "-cloud-amd64",
};
const ARM64: Choice = Choice {
    architecture: Architecture::Arm64,
    fixed: &[Series(6, 12)],
    newest: 1,
    sites: &NEW_SITES,
    flavour: "-cloud-arm64",
};

const SITES: [Site; 5] = [
    Site { suite: "bullseye-security", ..SECURITY },
    Site { suite: "bookworm-security", ..SECURITY },
    Site { suite: "trixie-security", ..SECURITY },
    Site { suite: "trixie-backports", ..DEBIAN },
    Site { suite: "sid", ..DEBIAN },
];
const SECURITY: Site =
    Site { label: "Debian-Security", address: "http://deb.debian.org/debian-security", suite: "" };
const DEBIAN: Site = Site { label: "Debian", address: "http://deb.debian.org/debian", suite: "" };
/// Without those that have older kernels only.
const NEW_SITES: [Site; 3] = [SITES[2], SITES[3], SITES[4]];

/// A kernel that can be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// What it runs on.
    pub architecture: Architecture,
    /// Its series.
    pub series: Series,
    /// The package that it is from.
    pub package: String,
    /// The image.
    pub path: PathBuf,
}

/// All of the matrix.
#[derive(Debug)]
pub struct Fetched {
    /// Oldest first.
    pub kernels: Vec<Kernel>,
    /// What has to be known of how they were come by.
    pub notes: Vec<String>,
}

/// Finds the newest kernel of each series and fetches those that are not here.
pub fn fetch(architecture: Architecture, cache: &Path) -> anyhow::Result<Fetched> {
    match architecture {
        Architecture::Amd64 => AMD64.fetch(cache),
        Architecture::Arm64 => {
            let cache = cache.join(architecture.name());
            fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
            ARM64.fetch(&cache)
        }
    }
}

impl Choice {
    fn fetch(&self, cache: &Path) -> anyhow::Result<Fetched> {
        let apt = Apt::new(&cache.join("apt"), self.architecture, self.sites)?;
        let mut notes = Vec::new();
        let names = match apt.update() {
            Ok(()) => apt.names(&format!("^linux-(image|binary)-.*{}", &self.flavour[1..]))?,
            Err(error) => {
                let cached = cached(cache)?;
                if let Err(missing) = self.choose(&cached) {
                    let sentence = format!(
                        "Debian's lists cannot be fetched ({error:#}), and of earlier runs {missing}"
                    );
                    return Err(Impossible(sentence).into());
                }
                notes.push(format!("NO NETWORK, so these are the kernels of an earlier run: {error:#}"));
                cached
            }
        };
        let chosen = self.choose(&names).map_err(|missing| {
            anyhow::anyhow!(
                "Debian's lists were read, but {missing}: see what is chosen in tests/vm/src/kernels.rs"
            )
        })?;
        let mut kernels = Vec::new();
        for (series, package) in chosen {
            let path = cache.join(format!("{IMAGE}{package}"));
            if !path.exists() {
                let image = apt.download(&[&package], |files| kernel_of(&files[0]))?;
                let unfinished = path.with_extension("unfinished");
                fs::write(&unfinished, image)?;
                fs::rename(unfinished, &path)?;
                notes.push(format!("fetched {package}"));
            }
            kernels.push(Kernel { architecture: self.architecture, series, package, path });
        }
        forget_others(cache, &kernels)?;
        Ok(Fetched { kernels, notes })
    }

    /// The newest package of each series, or a sentence on the series that have none.
    fn choose(&self, names: &[String]) -> Result<BTreeMap<Series, String>, String> {
        let mut newest: BTreeMap<Series, (Vec<u32>, bool, &String)> = BTreeMap::new();
        for name in names {
            let Some((series, version, is_signed)) = self.image(name) else { continue };
            let candidate = (version, is_signed, name);
            newest
                .entry(series)
                .and_modify(|best| *best = best.clone().max(candidate.clone()))
                .or_insert(candidate);
        }
        let later: Vec<Series> =
            newest.keys().copied().filter(|series| !self.fixed.contains(series)).collect();
        let last_fixed = self.fixed[self.fixed.len() - 1];
        let later: Vec<Series> =
            later.into_iter().filter(|series| *series > last_fixed).rev().take(self.newest).collect();
        let missing: Vec<String> =
            self.fixed.iter().filter(|series| !newest.contains_key(series)).map(Series::to_string).collect();
        if !missing.is_empty() || later.len() < self.newest {
            let mut sentence = String::from("there is no package");
            if !missing.is_empty() {
                let _ = write!(sentence, " with a kernel {}", missing.join(", "));
            }
            if later.len() < self.newest {
                let joint = if missing.is_empty() { "" } else { ", nor" };
                let _ = write!(sentence, "{joint} of {} series after {last_fixed}", self.newest);
            }
            return Err(sentence);
        }
        let wanted = self.fixed.iter().copied().chain(later);
        Ok(wanted.map(|series| (series, newest[&series].2.clone())).collect())
    }

    /// Series, version and whether it is signed, if a package of this name has an image. Up to 6.18 it is in `linux-image-…`; later
    /// packages of that name only point to `linux-binary-…`.
    fn image(&self, package: &str) -> Option<(Series, Vec<u32>, bool)> {
        let (name, is_signed) = match package.strip_suffix("-unsigned") {
            Some(name) => (name, false),
            None => (package, true),
        };
        let name = name.strip_suffix(self.flavour)?;
        let (version, is_new, is_signed) = if let Some(version) = name.strip_prefix("linux-image-") {
            (version, false, is_signed)
        } else if let Some(version) = name.strip_prefix("linux-binary-unsigned-") {
            (version, true, false)
        } else {
            (name.strip_prefix("linux-binary-")?, true, true)
        };
        let numbers: Vec<u32> =
            version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
        // A name without a third number only points to others.
        let [major, minor, _, ..] = numbers[..] else { return None };
        let series = Series(major, minor);
        (is_new == (series >= Series(6, 19))).then_some((series, numbers, is_signed))
    }
}

/// How images are called in the cache, before the name of their package.
const IMAGE: &str = "vmlinuz-";

fn cached(cache: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(cache)?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.filter_map(|name| Some(name.strip_prefix(IMAGE)?.to_owned())).collect())
}

fn forget_others(cache: &Path, kernels: &[Kernel]) -> io::Result<()> {
    for package in cached(cache)? {
        if !kernels.iter().any(|kernel| kernel.package == package) {
            fs::remove_file(cache.join(format!("{IMAGE}{package}")))?;
        }
    }
    Ok(())
}

/// The image in a package: below boot/ in old ones, below usr/lib/modules/ in new ones.
fn kernel_of(package: &Path) -> anyhow::Result<Vec<u8>> {
    let mut unpacking =
        Command::new("dpkg-deb").arg("--fsys-tarfile").arg(package).stdout(Stdio::piped()).spawn()?;
    let archive = unpacking.stdout.take().context("a pipe was asked for")?;
    let mut command = Command::new("tar");
    let output = run(command
        .args(["--extract", "--to-stdout", "--wildcards", "*/vmlinuz*"])
        .stdin(Stdio::from(archive)));
    unpacking.wait()?;
    let image = output?.stdout;
    ensure!(!image.is_empty(), "the package holds no kernel");
    Ok(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    const LISTED: [&str; 13] = [
        "linux-image-5.10.0-46-cloud-amd64",
        "linux-image-5.10.0-46-cloud-amd64-unsigned",
        "linux-image-5.10.0-9-cloud-amd64",
        "linux-image-6.1.0-0.deb11.52-cloud-amd64",
        "linux-image-6.1.0-56-cloud-amd64",
        "linux-image-6.12-cloud-amd64",
        "linux-image-6.12.117+deb13-cloud-amd64",
        "linux-image-6.12.90+deb13.1-cloud-amd64",
        "linux-image-6.18.15+deb13-cloud-amd64",
        "linux-image-7.4.1+deb14-cloud-amd64",
        "linux-binary-7.2.13+deb14-cloud-amd64",
        "linux-binary-unsigned-7.3.4+deb13-cloud-amd64",
        "linux-binary-7.0.13+deb13-cloud-amd64",
    ];

    #[test]
    fn the_newest_of_each_series_is_chosen() {
        let chosen = AMD64.choose(&names(&LISTED)).expect("all are there");
        let chosen: Vec<&str> = chosen.values().map(String::as_str).collect();
        let expected = [0, 4, 6, 8, 10, 11].map(|index| LISTED[index]);
        assert_eq!(chosen, expected);
    }

    #[test]
    fn another_architecture_has_kernels_of_its_own() {
        let arm64 = ["linux-image-6.12.117+deb13-cloud-arm64", "linux-binary-7.3.4+deb13-cloud-arm64"];
        let chosen = ARM64.choose(&names(&[&LISTED[..], &arm64].concat())).expect("both are there");
        assert_eq!(chosen.into_values().collect::<Vec<_>>(), names(&arm64));
        let error = ARM64.choose(&names(&LISTED)).expect_err("these are all of another architecture");
        assert_eq!(error, "there is no package with a kernel 6.12, nor of 1 series after 6.12");
    }

    #[test]
    fn a_series_that_is_gone_is_named() {
        let without: Vec<&str> = LISTED.into_iter().filter(|name| !name.contains("-6.1.")).collect();
        assert_eq!(
            AMD64.choose(&names(&without)).expect_err("6.1 is gone"),
            "there is no package with a kernel 6.1"
        );
        let error =
            AMD64.choose(&names(&LISTED[3..11])).expect_err("5.10 is gone, and there is one new series");
        assert_eq!(error, "there is no package with a kernel 5.10, nor of 2 series after 6.18");
    }
}
