//! A service to be measured.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cpuledger_service::client::Client;

use crate::measure::cpu_ns;

/// A user without privileges or processes.
pub const STRANGER: u32 = 65_534;
/// Longer than a service takes to listen, or to answer.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of a block, as stat(2) counts them.
const BLOCK: u64 = 512;

/// `cpuledger serve` with a socket in a folder of its own, which is open to other users. It ends when this is dropped.
pub struct Daemon {
    child: Child,
    folder: PathBuf,
}

/// What a service holds of the machine's memory, in bytes.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Memory {
    /// Pages of its own.
    pub own: u64,
    /// Pages of files, its program above all.
    pub files: u64,
    /// Rings and listings.
    pub rings: u64,
    /// Maps and programs in the kernel.
    pub kernel: u64,
}

impl Memory {
    /// All of it. What is mapped from the kernel may count twice.
    pub fn sum(self) -> u64 {
        self.own + self.files + self.rings + self.kernel
    }
}

impl Daemon {
    /// Starts it, and waits until it answers.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(interval_s: f64) -> anyhow::Result<Daemon> {
        Daemon::of(&std::env::current_exe()?.with_file_name("cpuledger"), "service", interval_s)
    }

    /// Starts that of a build, in a folder of this name.
    ///
    /// # Errors
    /// When it does not start.
    pub fn of(build: &Path, name: &str, interval_s: f64) -> anyhow::Result<Daemon> {
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder)?;
        for path in [&folder, folder.parent().unwrap_or(&folder)] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        }
        // Below a folder that other users can enter, whatever that of the build is.
        let binary = folder.join("cpuledger");
        fs::copy(build, &binary).with_context(|| format!("there is no {}; build it", build.display()))?;
        let child = Command::new(&binary)
            .args(["serve", "--interval", &interval_s.to_string(), "--socket"])
            .arg(folder.join("socket"))
            .env_remove("NOTIFY_SOCKET")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot run cpuledger serve")?;
        let daemon = Daemon { child, folder };
        let begin = Instant::now();
        while Client::connect(&daemon.socket(), PATIENCE).and_then(|mut client| client.info()).is_err() {
            ensure!(begin.elapsed() < PATIENCE, "the service does not answer");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(daemon)
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// The program, where every user may run it.
    pub fn binary(&self) -> PathBuf {
        self.folder.join("cpuledger")
    }

    /// CPU time of all its threads so far.
    ///
    /// # Errors
    /// When it has ended.
    pub fn cpu_ns(&self) -> anyhow::Result<u64> {
        cpu_ns(self.child.id())
    }

    /// The memory that it holds.
    ///
    /// # Errors
    /// When it has ended.
    pub fn memory(&self) -> anyhow::Result<Memory> {
        let process = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(process.join("status"))?;
        let kib = |key: &str| -> anyhow::Result<u64> { number(&status, key).map(|kib| kib * 1024) };
        let (mut seen, mut rings, mut kernel) = (HashSet::new(), 0, 0);
        for entry in fs::read_dir(process.join("fd"))? {
            let path = entry?.path();
            let Ok(target) = fs::read_link(&path) else { continue };
            let file = fs::metadata(&path)?;
            if target.to_string_lossy().starts_with("/memfd:") && seen.insert(file.ino().to_string()) {
                rings += file.blocks() * BLOCK;
            }
            kernel += in_kernel(&process, &path, &mut seen)?;
        }
        Ok(Memory { own: kib("RssAnon:")?, files: kib("RssFile:")?, rings, kernel })
    }
}

/// What a descriptor of a map or a program stands for, if no other one did.
fn in_kernel(process: &Path, descriptor: &Path, seen: &mut HashSet<String>) -> anyhow::Result<u64> {
    let name = descriptor.file_name().context("a descriptor without a number")?;
    let Ok(info) = fs::read_to_string(process.join("fdinfo").join(name)) else { return Ok(0) };
    let id = info.lines().find(|line| line.starts_with("map_id:") || line.starts_with("prog_id:"));
    match id {
        Some(id) if info.contains("memlock:") && seen.insert(id.to_owned()) => number(&info, "memlock:"),
        _ => Ok(0),
    }
}

/// The number behind a key at the beginning of a line.
fn number(text: &str, key: &str) -> anyhow::Result<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let word = line.and_then(|rest| rest.split_whitespace().next());
    Ok(word.with_context(|| format!("there is no {key}"))?.parse()?)
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that asks this service, as a user without privileges.
pub fn as_stranger(program: &Path, socket: &Path) -> Command {
    let mut command = Command::new(program);
    command.uid(STRANGER).gid(STRANGER).env("CPULEDGER_SOCKET", socket).stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_behind_their_keys() {
        let text = "Name:\tx\nRssAnon:\t     120 kB\nmemlock:\t4096\n";
        assert_eq!((number(text, "RssAnon:").ok(), number(text, "memlock:").ok()), (Some(120), Some(4096)));
        assert!(number(text, "RssFile:").is_err());
    }
}
