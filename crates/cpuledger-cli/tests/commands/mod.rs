//! Commands whose account is taken, and the kernel's account of a cgroup.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A process that needs half a second of CPU time, with what it does around that.
pub const CASES: [(&str, &str, &str); 4] = [
    ("waited", "a child that is waited for", "if os.fork() == 0: burn(); os._exit(0)\nos.wait()"),
    (
        "ignored",
        "a child whose parent ignores SIGCHLD",
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nreader, writer = os.pipe()\n\
         if os.fork() == 0: burn(); os._exit(0)\nos.close(writer); os.read(reader, 1); time.sleep(0.1)",
    ),
    (
        "orphan",
        "a double fork: the parent dies first",
        "reader, writer = os.pipe()\nif os.fork() == 0:\n    if os.fork() == 0: burn(); os._exit(0)\n    os._exit(0)\n\
         os.wait(); os.close(writer); os.read(reader, 1)",
    ),
    (
        "daemon",
        "a daemon that outlives the command",
        "reader, writer = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        \
         burn(); os.write(writer, b'x'); time.sleep(4); os._exit(0)\n    os._exit(0)\nos.wait(); os.read(reader, 1)",
    ),
];

/// A function that needs half a second of CPU time.
pub const BURN: &str = "import os, signal, time\ndef burn():\n    while time.process_time() < 0.5: pass\n";

/// A figure of an account.
pub fn ns(account: &Value, key: &str) -> u64 {
    account[key].as_u64().unwrap_or_else(|| panic!("no {key} in {account}"))
}

/// A cgroup, removed when it is dropped.
pub struct Cgroup(pub PathBuf);

impl Cgroup {
    /// A new one.
    pub fn make() -> std::io::Result<Cgroup> {
        let name = format!("cpuledger-run-{}", std::process::id());
        let unified = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
        let root = Path::new(if unified { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/cpuacct" });
        let path = root.join(name);
        fs::create_dir(&path)?;
        Ok(Cgroup(path))
    }

    /// One below it; it is to be dropped first.
    pub fn within(&self, name: &str) -> std::io::Result<Cgroup> {
        let path = self.0.join(name);
        fs::create_dir(&path)?;
        Ok(Cgroup(path))
    }

    /// What the kernel has counted: in nanoseconds with cgroup 1, in microseconds with cgroup 2.
    pub fn usage_ns(&self) -> u64 {
        if let Ok(text) = fs::read_to_string(self.0.join("cpuacct.usage")) {
            return text.trim().parse().expect("cpuacct.usage");
        }
        let text = fs::read_to_string(self.0.join("cpu.stat")).expect("cpu.stat");
        let line = text.lines().find_map(|line| line.strip_prefix("usage_usec "));
        line.and_then(|us| us.parse::<u64>().ok()).expect("usage_usec") * 1000
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
