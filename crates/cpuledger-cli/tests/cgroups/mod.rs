#![allow(dead_code)] // each test has its own part of it
//! Cgroups for tests, in the hierarchy that CPU time is divided by.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Some CPU time a second, for ever.
pub const BURN: &str = "while :; do i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; sleep 0.1; done";

/// Where that hierarchy is mounted.
pub fn root() -> PathBuf {
    let unified = Path::new("/sys/fs/cgroup");
    let of_cpu = ["cpu,cpuacct", "cpu"].map(|name| unified.join(name));
    let all = of_cpu.into_iter().chain([unified.to_owned()]);
    all.into_iter().find(|root| root.join("cgroup.procs").exists()).expect("cgroups are mounted")
}

/// A cgroup, and those above it that were not there before. They are removed in the end.
pub struct Cgroup {
    /// Its folder.
    pub path: PathBuf,
    made: Vec<PathBuf>,
}

impl Cgroup {
    /// Makes the one at this path of the hierarchy.
    pub fn make(path: &str) -> Cgroup {
        let (mut at, mut made) = (root(), Vec::new());
        for name in path.split('/').filter(|name| !name.is_empty()) {
            at.push(name);
            if fs::create_dir(&at).is_ok() {
                made.push(at.clone());
            }
        }
        assert!(at.is_dir(), "{} cannot be made", at.display());
        Cgroup { path: at, made }
    }

    /// Starts a command that begins in it, and waits until it is in it.
    pub fn spawn(&self, words: &[&str]) -> Child {
        let script = "echo 0 > \"$1/cgroup.procs\" && shift && exec \"$@\"";
        let mut command = Command::new("sh");
        let child = command.args(["-c", script, "sh"]).arg(&self.path).args(words).spawn().expect("sh runs");
        let (begin, pid) = (Instant::now(), child.id().to_string());
        let is_in = || {
            fs::read_to_string(self.path.join("cgroup.procs"))
                .is_ok_and(|pids| pids.lines().any(|line| line == pid))
        };
        while !is_in() {
            assert!(begin.elapsed() < Duration::from_secs(30), "{pid} does not join {}", self.path.display());
            std::thread::sleep(Duration::from_millis(5));
        }
        child
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let begin = Instant::now();
        for path in self.made.iter().rev() {
            let below = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
            below.filter(|path| path.is_dir()).for_each(|path| drop(fs::remove_dir(path)));
            // What ran in it may be on its way out.
            while fs::remove_dir(path).is_err() && path.exists() && begin.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// Removes the cgroup at this path, and all below it, in all hierarchies. What ran there may be on its way out.
pub fn remove_everywhere(path: &str) {
    let unified = Path::new("/sys/fs/cgroup");
    let roots = fs::read_dir(unified).into_iter().flatten().flatten().map(|entry| entry.path());
    let begin = Instant::now();
    for cgroup in roots.chain([unified.to_owned()]).map(|root| root.join(path)) {
        while !remove(&cgroup) && begin.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Removes a cgroup and all below it. Returns whether it is gone.
pub fn remove(cgroup: &Path) -> bool {
    let below = fs::read_dir(cgroup).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in below.filter(|path| path.is_dir()) {
        remove(&path);
    }
    fs::remove_dir(cgroup).is_ok() || !cgroup.exists()
}
