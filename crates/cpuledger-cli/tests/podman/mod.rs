#![allow(dead_code)] // each test has its own part of it
//! Podman for tests, with a storage of its own: what the machine's Podman has is neither seen nor changed.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::cgroups::remove_everywhere;
use super::namespace::Namespace;

/// The image of all containers: a shell and sleep(1) of this machine, and nothing else.
pub const IMAGE: &str = "localhost/shop:1";

/// A mount namespace with a Podman of its own. What runs in it is ended in the end.
pub struct Podman {
    /// Where it has its storage.
    pub namespace: Namespace,
    /// What cgroups of its containers begin with.
    parent: String,
}

impl Podman {
    /// Makes it, with an image.
    ///
    /// # Errors
    /// A sentence, where there is no Podman, or it cannot work here.
    pub fn start(folder: &Path) -> Result<Podman, String> {
        let is_there =
            Command::new("podman").arg("--version").output().is_ok_and(|output| output.status.success());
        if !is_there {
            return Err("podman is not installed: apt-get install --no-install-recommends podman crun".into());
        }
        fs::create_dir_all("/var/lib/containers").map_err(|error| format!("/var/lib/containers: {error}"))?;
        let namespace = Namespace::hiding(&["/run", "/dev/shm", "/var/lib/containers"])?;
        let podman = Podman { namespace, parent: format!("cpuledger-test-{}", std::process::id()) };
        let archive = folder.join("root.tar");
        archive_of_shell(&archive);
        let archive = archive.to_str().expect("UTF-8");
        let made = podman.podman(&["import", "--quiet", archive, IMAGE]);
        if !made.status.success() {
            return Err(format!(
                "podman cannot make an image here: {}",
                String::from_utf8_lossy(&made.stderr)
            ));
        }
        Ok(podman)
    }

    /// Such a command of podman(1). Its runtime does not take hybrid hierarchies, so it does not see the unified one beside others.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let script = "umount /sys/fs/cgroup/unified 2>/dev/null; exec podman \"$@\"";
        let mut command = Command::new("unshare");
        command.args([
            "--mount",
            "sh",
            "-c",
            script,
            "podman",
            "--cgroup-manager=cgroupfs",
            "--events-backend=none",
        ]);
        command.args(["--storage-driver=vfs", "--runtime=crun"]).args(arguments);
        self.namespace.within(&command)
    }

    /// Runs it.
    pub fn podman(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().expect("nsenter runs")
    }

    /// Runs it, and returns what it says.
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self.podman(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
    }

    /// The words of `podman run` for a container with this name, before those that say what it runs.
    pub fn options<'a>(&'a self, name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let parent = ["--cgroup-parent", &*self.parent];
        // No more than this test itself may have.
        let limits = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"];
        let own = ["run", "--name", name, "--network=none", "--log-driver=none"];
        [&own[..], &parent, &limits, more, &[IMAGE]].concat()
    }

    /// Makes a pod.
    pub fn make_pod(&self, name: &str) {
        self.run(&["pod", "create", "--infra=false", "--cgroup-parent", &self.parent, "--name", name]);
    }

    /// Starts a container that runs a script of the shell in the background.
    pub fn start_container(&self, name: &str, more: &[&str], script: &str) -> i32 {
        let arguments =
            [&self.options(name, &[&["--detach"], more].concat())[..], &["/bin/sh", "-c", script]].concat();
        self.run(&arguments);
        self.run(&["inspect", "--format", "{{.State.Pid}}", name]).parse().expect("a pid")
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = self.podman(&["pod", "rm", "--all", "--force", "--time=0"]);
        let _ = self.podman(&["rm", "--all", "--force", "--time=0"]);
        // Podman leaves the cgroups above its containers.
        remove_everywhere(&self.parent);
    }
}

/// An archive with the shell, sleep(1) and the libraries of both.
fn archive_of_shell(archive: &Path) {
    let mut files: Vec<String> = vec!["bin/sh".into(), "bin/sleep".into()];
    for program in ["/bin/sh", "/bin/sleep"] {
        let output = Command::new("ldd").arg(program).output().expect("ldd runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        files.extend(text.split_whitespace().filter_map(|word| word.strip_prefix('/')).map(str::to_owned));
    }
    files.sort();
    files.dedup();
    let made =
        Command::new("tar").args(["--dereference", "-C", "/", "-cf"]).arg(archive).args(&files).status();
    assert!(made.expect("tar runs").success(), "{files:?}");
}
