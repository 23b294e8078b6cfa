//! A service in a process of its own, whose answers are made up: `role_of_a_service` of each test binary.

#![allow(dead_code, reason = "not every test binary looks at all of it")]

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpuledger_model::make;
use cpuledger_service::client::Client;
use cpuledger_service::ring::{Ring, Size, VERSION};
use cpuledger_service::server::{Answer, Ended, Handler, Limits, Peer, Server, listen};
use cpuledger_service::varlink::{
    Described, Description, Info, LedgerRequest, Listing, Refusal, SourceFacts, Subscription,
};

/// The variable with the path of the socket, for the role.
const SOCKET: &str = "CPULEDGER_TEST_SERVED";
/// The variable with the limit of open files, for the role.
const FILES: &str = "CPULEDGER_TEST_FILES";
/// The variable with the time of a call in milliseconds, for the role.
const CALL_MS: &str = "CPULEDGER_TEST_CALL_MS";

/// Shortened, so that tests of what is late do not wait.
const SHORT_CALL: Duration = Duration::from_millis(700);
/// No honest client is later than this, however busy the machine is.
const LONG_CALL: Duration = Duration::from_secs(600);
/// For anything that does not take long.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// What one user may have.
pub const CONNECTIONS_OF_USER: usize = 2048;

/// Answers everything, with a ring whose only frame is the peer's uid.
struct Made {
    ring: Ring,
    fd: Arc<OwnedFd>,
}

impl Handler for Made {
    fn answer(&mut self, peer: &Peer, request: LedgerRequest) -> Result<Answer, Refusal> {
        match request {
            LedgerRequest::Info => Answer::new(
                &make!(Info {
                    version: "0.0.0".into(),
                    boot_id: "none".into(),
                    interval_ns: 1_000_000_000,
                    shortest_interval_ns: 100_000_000,
                    recording: None,
                    unbalanced_intervals: Some(0),
                    accounts: Vec::new(),
                    possible_accounts: Vec::new(),
                    audiences: vec![format!("{} {} {}", peer.pid, peer.uid, peer.gid)],
                    source: make!(SourceFacts {
                        source: "none".into(),
                        attached_since_ns: None,
                        unseen: Vec::new(),
                    }),
                }),
                Vec::new(),
            ),
            LedgerRequest::Subscribe(wanted) => {
                let interval_ns = wanted.interval_ns.unwrap_or(1_000_000_000);
                if interval_ns < 100_000_000 {
                    return Err(Refusal::IntervalTooShort { shortest_interval_ns: 100_000_000 });
                }
                self.ring.publish(b"a frame").expect("it fits");
                let audience = wanted.audience.unwrap_or_else(|| "all".into());
                let accounts = Vec::new();
                let subscription =
                    make!(Subscription { ring: 0, layout: VERSION, audience, interval_ns, accounts });
                Answer::new(&subscription, vec![Arc::clone(&self.fd)])
            }
            LedgerRequest::List(wanted) => {
                let frame = wanted.fields.join(" ").repeat(1000).into_bytes();
                let listing = make!(Listing { length: frame.len() as u64, audience: "all".into() });
                Ok(make!(Answer { frame: Some(Arc::new(frame)), ..Answer::new(&listing, Vec::new())? }))
            }
            LedgerRequest::Describe => {
                let field = make!(Described { key: "pid".into(), unit: "id".into(), help: "x".repeat(4000) });
                Answer::new(&make!(Description { fields: vec![field] }), Vec::new())
            }
        }
    }
}

/// Serves until standard input ends, where it is asked to. To be called by a test of that name.
pub fn play_service() {
    let Some(path) = std::env::var_os(SOCKET) else { return };
    if let Ok(files) = std::env::var(FILES) {
        limit_files(files.parse().expect("a number"));
    }
    let call_ms = std::env::var(CALL_MS).expect("it is told").parse().expect("a number");
    let call_time = Duration::from_millis(call_ms);
    let limits = make!(Limits { call_time, reply_time: call_time, connections_of_user: CONNECTIONS_OF_USER });
    let (listener, _file) = listen(Path::new(&path)).expect("a socket");
    let mut server = Server::new(listener, "0.0.0", limits).expect("a server");
    server.watch(std::io::stdin()).expect("standard input is a pipe");
    let ring = Ring::create("test", Size { bytes: 4096, frames: 4 }).expect("a ring");
    let fd = Arc::new(ring.fd().try_clone_to_owned().expect("a descriptor"));
    let mut made = Made { ring, fd };
    while server.serve_until(Instant::now() + Duration::from_secs(1), &mut made).expect("it serves")
        == Ended::Deadline
    {}
}

/// Sets how many files this process may have open.
pub fn limit_files(files: u64) {
    let limit = rustix::process::Rlimit { current: Some(files), maximum: Some(files) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).expect("root may raise it");
}

/// A service in a process of its own, which ends with this value.
pub struct Service {
    process: Child,
    input: Option<ChildStdin>,
    folder: tempfile::TempDir,
}

impl Service {
    /// Starts it. `files`: how many it may have open.
    pub fn start(files: Option<u64>) -> Service {
        Service::start_with(files, LONG_CALL)
    }

    /// Starts one that closes the connections of clients that take long.
    pub fn start_hasty() -> Service {
        Service::start_with(None, SHORT_CALL)
    }

    fn start_with(files: Option<u64>, call_time: Duration) -> Service {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("ours");
        let mut command = role("role_of_a_service");
        command.env(SOCKET, folder.path().join("socket")).stdin(Stdio::piped());
        command.env(CALL_MS, call_time.as_millis().to_string());
        if let Some(files) = files {
            command.env(FILES, files.to_string());
        }
        let mut process = command.stdout(Stdio::null()).spawn().expect("it starts");
        let input = process.stdin.take();
        let service = Service { process, input, folder };
        let begin = Instant::now();
        while Client::connect(&service.path(), Duration::from_secs(1)).is_err() {
            assert!(begin.elapsed() < PATIENCE, "the service does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        service
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.path(), PATIENCE).expect("it listens")
    }

    /// Memory that it has, in KiB.
    pub fn memory_kib(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("it lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// CPU time that it has taken.
    pub fn cpu_time(&self) -> Duration {
        let text =
            std::fs::read_to_string(format!("/proc/{}/schedstat", self.process.id())).expect("it lives");
        Duration::from_nanos(text.split(' ').next().expect("a figure").parse().expect("a number"))
    }

    /// How many files it has open.
    pub fn files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).expect("it lives").count()
    }

    /// Waits until it has less than 20 files open: those of clients are closed.
    pub fn wait_for_few_files(&self) {
        let begin = Instant::now();
        while self.files() >= 20 {
            assert!(begin.elapsed() < PATIENCE, "{} files are open", self.files());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether it answers, and how soon.
    pub fn answers_within(&self) -> Duration {
        let begin = Instant::now();
        let info = self.client().info().expect("it answers");
        assert_eq!(info.source.source, "none");
        begin.elapsed()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.input.take());
        let ended = self.process.wait().expect("it ends");
        assert!(ended.success() || std::thread::panicking(), "{ended}");
    }
}

/// This test binary, as another process that plays only the test `name`.
pub fn role(name: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).current_dir("/");
    // It ends when the test is killed.
    command.arg0(name);
    command
}
