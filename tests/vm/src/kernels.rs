//! Which kernels the matrix has, and fetching them from Debian: through lists of packages of our own, so that those of the
//! system stay as they are. What was fetched is kept for later runs, and for times without a network.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context, bail, ensure};
use cpuledger_vm::Series;

use crate::Impossible;

/// Series that have to be there; the newest that are to be had come on top.
const FIXED: [Series; 4] = [Series(5, 10), Series(6, 1), Series(6, 12), Series(6, 18)];
/// So many of the newest.
const NEWEST: usize = 2;

/// Where Debian keeps them: the label of the site, what it is where the system names none, and the suite.
const SUITES: [(&str, &str, &str); 5] = [
    ("Debian-Security", "http://deb.debian.org/debian-security", "bullseye-security"),
    ("Debian-Security", "http://deb.debian.org/debian-security", "bookworm-security"),
    ("Debian-Security", "http://deb.debian.org/debian-security", "trixie-security"),
    ("Debian", "http://deb.debian.org/debian", "trixie-backports"),
    ("Debian", "http://deb.debian.org/debian", "sid"),
];
/// It has the keys of all these suites.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The flavour for virtual machines: the smallest.
const FLAVOUR: &str = "-cloud-amd64";
/// Lists younger than this are not fetched again.
const LISTS_ARE_GOOD_FOR: Duration = Duration::from_secs(24 * 3600);

/// A kernel that can be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
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
pub fn fetch(cache: &Path) -> anyhow::Result<Fetched> {
    let apt = Apt::new(&cache.join("apt"))?;
    let mut notes = Vec::new();
    let names = match apt.update() {
        Ok(()) => apt.names()?,
        Err(error) => {
            let cached = cached(cache)?;
            if let Err(missing) = choose(&cached) {
                let sentence =
                    format!("Debian's lists cannot be fetched ({error:#}), and of earlier runs {missing}");
                return Err(Impossible(sentence).into());
            }
            notes.push(format!("NO NETWORK, so these are the kernels of an earlier run: {error:#}"));
            cached
        }
    };
    let chosen = choose(&names).map_err(|missing| {
        anyhow::anyhow!(
            "Debian's lists were read, but {missing}: see FIXED and SUITES in tests/vm/src/kernels.rs"
        )
    })?;
    let mut kernels = Vec::new();
    for (series, package) in chosen {
        let path = cache.join(format!("{IMAGE}{package}"));
        if !path.exists() {
            apt.extract(&package, &path)?;
            notes.push(format!("fetched {package}"));
        }
        kernels.push(Kernel { series, package, path });
    }
    forget_others(cache, &kernels)?;
    Ok(Fetched { kernels, notes })
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

/// The newest package of each series, or a sentence on the series that have none.
fn choose(names: &[String]) -> Result<BTreeMap<Series, String>, String> {
    let mut newest: BTreeMap<Series, (Vec<u32>, bool, &String)> = BTreeMap::new();
    for name in names {
        let Some((series, version, is_signed)) = image(name) else { continue };
        let candidate = (version, is_signed, name);
        newest
            .entry(series)
            .and_modify(|best| *best = best.clone().max(candidate.clone()))
            .or_insert(candidate);
    }
    let later: Vec<Series> = newest.keys().copied().filter(|series| !FIXED.contains(series)).collect();
    let last_fixed = FIXED[FIXED.len() - 1];
    let later: Vec<Series> =
        later.into_iter().filter(|series| *series > last_fixed).rev().take(NEWEST).collect();
    let missing: Vec<String> =
        FIXED.iter().filter(|series| !newest.contains_key(series)).map(Series::to_string).collect();
    if !missing.is_empty() || later.len() < NEWEST {
        let mut sentence = String::from("there is no package");
        if !missing.is_empty() {
            let _ = write!(sentence, " with a kernel {}", missing.join(", "));
        }
        if later.len() < NEWEST {
            let joint = if missing.is_empty() { "" } else { ", nor" };
            let _ = write!(sentence, "{joint} of {NEWEST} series after {last_fixed}");
        }
        return Err(sentence);
    }
    let wanted = FIXED.into_iter().chain(later);
    Ok(wanted.map(|series| (series, newest[&series].2.clone())).collect())
}

/// Series, version and whether it is signed, if a package of this name has an image. Up to 6.18 it is in `linux-image-…`; later
/// packages of that name only point to `linux-binary-…`.
fn image(package: &str) -> Option<(Series, Vec<u32>, bool)> {
    let (name, is_signed) = match package.strip_suffix("-unsigned") {
        Some(name) => (name, false),
        None => (package, true),
    };
    let name = name.strip_suffix(FLAVOUR)?;
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

/// apt, with folders and sources of our own.
struct Apt {
    folder: PathBuf,
}

impl Apt {
    fn new(folder: &Path) -> anyhow::Result<Apt> {
        for part in ["lists/partial", "cache/archives/partial"] {
            let path = folder.join(part);
            fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        let sources: String = SUITES
            .iter()
            .map(|(label, site, suite)| {
                let site = site_of_system(label).unwrap_or_else(|| (*site).to_owned());
                format!("deb [signed-by={KEYRING} arch=amd64] {site} {suite} main\n")
            })
            .collect();
        fs::write(folder.join("sources.list"), sources)?;
        let own = folder.display();
        let configuration = format!(
            "#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n\
             Dir::State::Lists \"{own}/lists\";\nDir::Cache \"{own}/cache\";\nDir::Etc::SourceList \"{own}/sources.list\";\n\
             Dir::Etc::SourceParts \"/dev/null\";\nAPT::Architecture \"amd64\";\nAPT::Sandbox::User \"root\";\n\
             Acquire::Languages \"none\";\nAcquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n\
             Acquire::Retries \"2\";\nAcquire::http::Timeout \"20\";\n"
        );
        fs::write(folder.join("apt.conf"), configuration)?;
        Ok(Apt { folder: folder.to_path_buf() })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.arg("-c").arg(self.folder.join("apt.conf")).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// Fetches the lists, unless they are young.
    fn update(&self) -> anyhow::Result<()> {
        let stamp = self.folder.join("updated");
        let sources = fs::read(self.folder.join("sources.list"))?;
        let age = fs::metadata(&stamp)
            .and_then(|metadata| metadata.modified())
            .ok()
            .and_then(|time| time.elapsed().ok());
        let is_of_these = fs::read(&stamp).is_ok_and(|of| of == sources);
        if is_of_these && age.is_some_and(|age| age < LISTS_ARE_GOOD_FOR) {
            return Ok(());
        }
        let mut command = self.command("apt-get");
        run(command.args(["update", "--quiet", "--quiet", "--error-on=any"]))?;
        fs::write(stamp, sources)?;
        Ok(())
    }

    /// The names of all packages that may have a kernel.
    fn names(&self) -> anyhow::Result<Vec<String>> {
        let mut command = self.command("apt-cache");
        let output = run(command.args(["search", "--names-only", "^linux-(image|binary)-.*cloud-amd64"]))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| Some(line.split_once(" - ")?.0.to_owned())).collect())
    }

    /// Fetches a package and writes the kernel in it to `path`.
    fn extract(&self, package: &str, path: &Path) -> anyhow::Result<()> {
        let folder = self.folder.join(format!("package-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let fetched = run(self
            .command("apt-get")
            .args(["download", "--quiet", "--quiet", package])
            .current_dir(&folder));
        let extracted = fetched.and_then(|_| {
            let file = fs::read_dir(&folder)?.flatten().next().context("apt-get has fetched no file")?;
            kernel_of(&file.path())
        });
        fs::remove_dir_all(&folder)?;
        let image = extracted.with_context(|| format!("{package} is in Debian's lists but cannot be had"))?;
        let unfinished = path.with_extension("unfinished");
        fs::write(&unfinished, image)?;
        Ok(fs::rename(unfinished, path)?)
    }
}

/// The mirror that this system uses for what has this label.
fn site_of_system(label: &str) -> Option<String> {
    let only = format!("Label: {label}");
    let output = Command::new("apt-get")
        .args(["indextargets", "--format", "$(SITE)", "Created-By: Packages", &only])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().filter(|line| !line.is_empty()).map(str::to_owned)
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

/// Runs a command to its end; what it says when it fails is the error.
fn run(command: &mut Command) -> anyhow::Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{program} cannot be run"))?;
    if output.status.success() {
        return Ok(output);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let error = errors.lines().find(|line| line.starts_with("E:")).or(errors.lines().next());
    bail!("{program}: {}", error.unwrap_or("it failed without a word"))
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
        let chosen = choose(&names(&LISTED)).expect("all are there");
        let chosen: Vec<&str> = chosen.values().map(String::as_str).collect();
        let expected = [0, 4, 6, 8, 10, 11].map(|index| LISTED[index]);
        assert_eq!(chosen, expected);
    }

    #[test]
    fn a_series_that_is_gone_is_named() {
        let without: Vec<&str> = LISTED.into_iter().filter(|name| !name.contains("-6.1.")).collect();
        assert_eq!(
            choose(&names(&without)).expect_err("6.1 is gone"),
            "there is no package with a kernel 6.1"
        );
        let error = choose(&names(&LISTED[3..11])).expect_err("5.10 is gone, and there is one new series");
        assert_eq!(error, "there is no package with a kernel 5.10, nor of 2 series after 6.18");
    }
}
