#![allow(dead_code)] // each test has its own part of it
//! A service for tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cpuledger_load::{Storm, StormPlan};
use cpuledger_service::client::Client;

/// For anything that does not take long.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// A service in a folder of its own.
pub struct Service {
    /// Its process.
    pub child: Child,
    /// Of its socket and its configuration.
    pub folder: tempfile::TempDir,
}

impl Service {
    /// Starts it, and waits until it listens.
    pub fn start(configuration: &str) -> Service {
        Service::start_as(configuration, |mut command| {
            command.stderr(Stdio::piped());
            command
        })
    }

    /// The same with intervals of that many seconds.
    pub fn start_with_intervals(seconds: &str) -> Service {
        Service::start_as("", |quick| {
            let mut command = Command::new(quick.get_program());
            command.args(quick.get_args().map(|word| if word == "0.2" { seconds.as_ref() } else { word }));
            command.env_remove("NOTIFY_SOCKET").stderr(Stdio::piped());
            command
        })
    }

    /// The same with a command that is changed before.
    pub fn start_as(configuration: &str, change: impl FnOnce(Command) -> Command) -> Service {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("config.toml"), configuration).expect("a file");
        // Other users reach the socket.
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("its owner may");
        let child = change(Service::command(&folder)).spawn().expect("it starts");
        let service = Service { child, folder };
        service.wait();
        service
    }

    /// What starts one in that folder.
    pub fn command(folder: &tempfile::TempDir) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        command
            .args(["serve", "--interval", "0.2", "--config"])
            .arg(folder.path().join("config.toml"))
            .arg("--socket")
            .arg(folder.path().join("socket"))
            .env_remove("NOTIFY_SOCKET");
        command
    }

    /// Waits until it answers: it listens before its ledger stands, and commands wait half a second for an answer.
    pub fn wait(&self) {
        self.wait_at(&self.socket());
        let answers = || Client::connect(&self.socket(), TIMEOUT).and_then(|mut client| client.info());
        answers().expect("it answers");
    }

    /// Waits until it listens there.
    pub fn wait_at(&self, socket: &Path) {
        let begin = Instant::now();
        while Client::connect(socket, TIMEOUT).is_err() {
            assert!(begin.elapsed() < TIMEOUT, "it does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Gives a service and a recording of it, in which a storm of `/bin/true` blew that long.
pub fn with_recorded_storm(length: Duration, look: impl FnOnce(&Service, &Path)) {
    let service = Service::start("");
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
        .args(["record", "--interval", "0.2", "--min-free", "0"])
        .arg(&recording)
        .env("CPULEDGER_SOCKET", service.socket())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let storm = StormPlan { exec: Some("/bin/true".into()), ..StormPlan::default() };
    let storm = Storm::start(&storm).expect("it starts");
    std::thread::sleep(length);
    storm.stop().expect("it ends");
    let pid = rustix::process::Pid::from_child(&recorder);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is ours");
    recorder.wait().expect("it ends");
    look(&service, &recording);
}
