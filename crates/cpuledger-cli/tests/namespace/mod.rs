#![allow(dead_code)] // each test has its own part of it
//! A mount namespace for tests, in which folders of the machine are hidden behind empty ones.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A process that stays in it, so that others can enter.
pub struct Namespace(Child);

impl Namespace {
    /// Makes it. All of these folders are empty in it, and can be written to.
    ///
    /// # Errors
    /// A sentence, where no file system can be mounted.
    pub fn hiding(folders: &[&str]) -> Result<Namespace, String> {
        let script = "set -e; for folder in \"$@\"; do mount -t tmpfs none \"$folder\"; done; echo ready; exec sleep infinity";
        let mut holder = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"])
            .args(folders)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("unshare(1): {error}"))?;
        let mut line = String::new();
        let mut told = BufReader::new(holder.stdout.take().expect("a pipe"));
        told.read_line(&mut line).expect("UTF-8");
        let namespace = Namespace(holder);
        if line.trim() == "ready" {
            Ok(namespace)
        } else {
            Err("no file system can be mounted in a namespace".into())
        }
    }

    /// Such a command, in this namespace.
    pub fn within(&self, command: &Command) -> Command {
        let mut within = Command::new("nsenter");
        within.arg(format!("--mount=/proc/{}/ns/mnt", self.0.id())).arg("--");
        within.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => within.env(name, value),
                None => within.env_remove(name),
            };
        }
        within
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
