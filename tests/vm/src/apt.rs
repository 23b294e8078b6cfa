//! apt with folders, sources and a list of installed packages of our own: those of the system stay as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use cpuledger_vm::Architecture;

/// It has the keys of all of Debian's suites.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Lists younger than this are not fetched again.
const LISTS_ARE_GOOD_FOR: Duration = Duration::from_secs(24 * 3600);

/// Where packages come from.
#[derive(Debug, Clone, Copy)]
pub struct Site {
    /// Its label.
    pub label: &'static str,
    /// Its address, where the system names none of that label.
    pub address: &'static str,
    /// The suite.
    pub suite: &'static str,
}

/// apt in a folder of its own. No package is installed as far as it knows.
pub struct Apt {
    folder: PathBuf,
}

impl Apt {
    /// In `folder`, for packages of that architecture from these sites.
    pub fn new(folder: &Path, architecture: Architecture, sites: &[Site]) -> anyhow::Result<Apt> {
        for part in ["lists/partial", "cache/archives/partial"] {
            let path = folder.join(part);
            fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        let architecture = architecture.name();
        let source = |site: &Site| {
            let address = address_of_system(site.label).unwrap_or_else(|| site.address.to_owned());
            format!("deb [signed-by={KEYRING} arch={architecture}] {address} {} main\n", site.suite)
        };
        fs::write(folder.join("sources.list"), sites.iter().map(source).collect::<String>())?;
        fs::write(folder.join("status"), "")?;
        let own = folder.display();
        let configuration = format!(
            "#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n\
             Dir::State::Lists \"{own}/lists\";\nDir::State::status \"{own}/status\";\nDir::Cache \"{own}/cache\";\n\
             Dir::Etc::SourceList \"{own}/sources.list\";\nDir::Etc::SourceParts \"/dev/null\";\n\
             Dir::Etc::Preferences \"/dev/null\";\nDir::Etc::PreferencesParts \"/dev/null\";\nAPT::Architecture \"{architecture}\";\n\
             APT::Architectures {{ \"{architecture}\"; }};\nAPT::Sandbox::User \"root\";\nAPT::Install-Recommends \"false\";\n\
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
    pub fn update(&self) -> anyhow::Result<()> {
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

    /// The names of all packages that match an expression.
    pub fn names(&self, expression: &str) -> anyhow::Result<Vec<String>> {
        let mut command = self.command("apt-cache");
        let output = run(command.args(["search", "--names-only", expression]))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| Some(line.split_once(" - ")?.0.to_owned())).collect())
    }

    /// The names of packages and of all that they need.
    pub fn with_dependencies(&self, packages: &[&str]) -> anyhow::Result<Vec<String>> {
        let mut command = self.command("apt-get");
        let output = run(command.args(["install", "--simulate", "--quiet"]).args(packages))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names = text.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next());
        Ok(names.map(str::to_owned).collect())
    }

    /// Fetches packages, hands their files to `work`, and removes them.
    pub fn download<T>(
        &self,
        packages: &[&str],
        work: impl FnOnce(&[PathBuf]) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let folder = self.folder.join(format!("packages-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let mut command = self.command("apt-get");
        let fetched =
            run(command.args(["download", "--quiet", "--quiet"]).args(packages).current_dir(&folder));
        let worked = fetched.and_then(|_| {
            let files: Vec<PathBuf> = fs::read_dir(&folder)?.flatten().map(|entry| entry.path()).collect();
            anyhow::ensure!(!files.is_empty(), "apt-get has fetched no file");
            work(&files)
        });
        fs::remove_dir_all(&folder)?;
        worked.with_context(|| format!("{} is in Debian's lists but cannot be had", packages[0]))
    }

    /// Unpacks packages and all that they need into a new folder, or nothing.
    pub fn unpack(&self, packages: &[&str], root: &Path) -> anyhow::Result<()> {
        let packages = self.with_dependencies(packages)?;
        let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
        let unfinished = root.with_extension(std::process::id().to_string());
        let unpacked = self.download(&packages, |files| {
            files.iter().try_for_each(|file| {
                run(Command::new("dpkg-deb").arg("--extract").arg(file).arg(&unfinished)).map(drop)
            })
        });
        let kept = unpacked.and_then(|()| Ok(fs::rename(&unfinished, root)?));
        if kept.is_err() {
            let _ = fs::remove_dir_all(&unfinished);
        }
        kept
    }
}

/// The address of the mirror that this system uses for what has this label.
fn address_of_system(label: &str) -> Option<String> {
    let only = format!("Label: {label}");
    let output = Command::new("apt-get")
        .args(["indextargets", "--format", "$(SITE)", "Created-By: Packages", &only])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().filter(|line| !line.is_empty()).map(str::to_owned)
}

/// Runs a command to its end; what it says when it fails is the error.
pub fn run(command: &mut Command) -> anyhow::Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{program} cannot be run"))?;
    if output.status.success() {
        return Ok(output);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let error = errors.lines().find(|line| line.starts_with("E:")).or(errors.lines().next());
    bail!("{program}: {}", error.unwrap_or("it failed without a word"))
}
