//! Raw results: one JSON object a line, in a folder named by date and machine.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;

/// One measured subject at one population.
#[derive(Debug, Serialize)]
pub struct Row<'a> {
    /// Name of the subject.
    pub subject: &'a str,
    /// Sleeping threads beside what the machine runs anyway.
    pub sleeping_threads: usize,
    /// Every counted run.
    pub durations_ns: Vec<u128>,
}

impl<'a> Row<'a> {
    /// A row of these durations.
    pub fn new(subject: &'a str, sleeping_threads: usize, durations: &[Duration]) -> Row<'a> {
        Row { subject, sleeping_threads, durations_ns: durations.iter().map(Duration::as_nanos).collect() }
    }
}

/// The end of the name of a folder with results of the short form, which are kept apart.
pub const QUICK: &str = "-quick";

static IS_QUICK: AtomicBool = AtomicBool::new(false);

/// From now on results are those of the short form.
pub fn be_quick() {
    IS_QUICK.store(true, Ordering::Relaxed);
}

/// Where all results are.
pub fn folders() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("results")
}

/// The file the rows of one run go to.
pub struct Results {
    path: PathBuf,
    file: File,
    machine: String,
}

impl Results {
    /// Creates the file and writes what the run was made on: kernel, CPUs, versions of the peers.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn create(name: &str, peers: &[&str]) -> anyhow::Result<Results> {
        let uname = rustix::system::uname();
        let date = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
        let cpus = std::thread::available_parallelism()?.get();
        let form = if IS_QUICK.load(Ordering::Relaxed) { QUICK } else { "" };
        let folder = folders().join(format!("{date}-{}-{cpus}cpu{form}", uname.machine().to_string_lossy()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let path = folder.join(format!("{name}.jsonl"));
        let mut file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        let versions: Vec<String> = peers.iter().map(|peer| version(peer)).collect();
        let kernel = series(&uname.release().to_string_lossy());
        let described = [format!("{cpus} CPUs, Linux {kernel}")].into_iter().chain(versions.iter().cloned());
        let machine = serde_json::json!({
            "date": date,
            "kernel": kernel,
            "cpus": cpus,
            "cpuledger": env!("CARGO_PKG_VERSION"),
            "peers": versions,
        });
        writeln!(file, "{machine}")?;
        let machine = described.chain([date]).collect::<Vec<_>>().join(", ");
        Ok(Results { path, file, machine })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, row: &Row<'_>) -> anyhow::Result<()> {
        self.add_any(row)
    }

    /// Appends a row of another shape.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add_any(&mut self, row: &impl Serialize) -> anyhow::Result<()> {
        writeln!(self.file, "{}", serde_json::to_string(row)?)?;
        Ok(())
    }

    /// What the run was made on, in one line.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// Where the rows are.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// `6.18` of `6.18.44-cloud-amd64`: what matters, and no name of a private build.
fn series(release: &str) -> String {
    release.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// A program and its version: the first word of what it says of itself that has digits and a point.
fn version(program: &str) -> String {
    let word = ["-V", "--version"].into_iter().find_map(|option| {
        let output = Command::new(program).arg(option).output().ok()?;
        version_in(&String::from_utf8_lossy(&output.stdout))
    });
    format!("{program} {}", word.as_deref().unwrap_or("of unknown version"))
}

fn version_in(text: &str) -> Option<String> {
    let words = text.split_whitespace().map(|word| word.trim_start_matches('v'));
    { words }
        .find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found() {
        for (text, version) in [
            ("top from procps-ng 4.0.2\n", Some("4.0.2")),
            ("bpftrace v0.17.0\n", Some("0.17.0")),
            ("perf version 6.1.192\n", Some("6.1.192")),
            ("", None),
        ] {
            assert_eq!(version_in(text).as_deref(), version, "{text}");
        }
    }
}
