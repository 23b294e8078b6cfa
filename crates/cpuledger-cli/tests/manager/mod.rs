//! A small service manager for tests: it has the socket, keeps descriptors, and starts the service with both, as systemd does.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal, kill_process};

/// For anything that does not take long.
pub const TIMEOUT: Duration = Duration::from_secs(120);
/// The first descriptor of a service: SD_LISTEN_FDS_START.
const FIRST: i32 = 3;
/// Where descriptors are before they get the numbers of the protocol.
const AWAY: i32 = 400;

/// What a service has given to keep, by name.
pub type Kept = Vec<(String, OwnedFd)>;

/// What the service has told.
#[derive(Debug, Default)]
struct Told {
    /// What it has given to keep.
    kept: Kept,
    /// How often it was ready.
    ready: u32,
    /// What it has said on standard error.
    said: Vec<String>,
}

/// The manager, and the service.
pub struct Manager {
    child: Child,
    folder: tempfile::TempDir,
    listener: OwnedFd,
    told: Arc<Mutex<Told>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    starts: u32,
    /// What stands before the command.
    prefix: &'static str,
}

impl Manager {
    /// Starts the service, and waits until it is ready.
    pub fn start() -> Manager {
        Manager::start_by("")
    }

    /// The same by a command that executes it, like setpriv(1).
    pub fn start_by(prefix: &'static str) -> Manager {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("config.toml"), "").expect("a file");
        let listener = UnixListener::bind(folder.path().join("socket")).expect("a socket");
        let notified = UnixDatagram::bind(folder.path().join("notify")).expect("a socket");
        // Other users reach both.
        for (name, mode) in [("", 0o755), ("config.toml", 0o644), ("socket", 0o666), ("notify", 0o666)] {
            fs::set_permissions(folder.path().join(name), Permissions::from_mode(mode)).expect("it is ours");
        }
        notified.set_read_timeout(Some(Duration::from_millis(100))).expect("a socket");
        let (told, is_over) = (Arc::new(Mutex::new(Told::default())), Arc::new(AtomicBool::new(false)));
        let (for_thread, ends) = (Arc::clone(&told), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            while !ends.load(Ordering::SeqCst) {
                read(&notified, &for_thread);
            }
        });
        let listener = listener.into();
        let child = spawn(prefix, &folder, &listener, &told);
        let thread = Some(thread);
        let mut manager = Manager { child, folder, listener, told, is_over, thread, starts: 1, prefix };
        manager.wait_until_ready();
        manager
    }

    /// The socket of the service.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// The pid of the service.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the service by this signal, and waits for it.
    pub fn end(&mut self, signal: Signal) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), signal).expect("it lives");
        self.child.wait().expect("it is ours")
    }

    /// Starts it again, with what it has left.
    pub fn begin(&mut self) {
        self.child = spawn(self.prefix, &self.folder, &self.listener, &self.told);
        self.starts += 1;
        self.wait_until_ready();
    }

    /// The names of what is kept.
    pub fn kept(&self) -> Vec<String> {
        self.told().kept.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Changes what is kept.
    pub fn change_kept(&self, change: impl FnOnce(&mut Kept)) {
        change(&mut self.told().kept);
    }

    /// What the service has said since the last call.
    pub fn said(&self) -> String {
        std::mem::take(&mut self.told().said).join("\n")
    }

    /// The same, once this is in it: another thread reads it.
    pub fn said_with(&self, sentence: &str) -> String {
        let (begin, mut said) = (Instant::now(), self.said());
        while !said.contains(sentence) {
            assert!(begin.elapsed() < TIMEOUT, "it has not said {sentence:?}, but {said}");
            std::thread::sleep(Duration::from_millis(2));
            said = format!("{said}\n{}", self.said());
        }
        said
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().expect("no thread has panicked")
    }

    fn wait_until_ready(&mut self) {
        let begin = Instant::now();
        while self.told().ready < self.starts {
            let ended = self.child.try_wait().expect("it is ours");
            assert!(ended.is_none() && begin.elapsed() < TIMEOUT, "it is not ready: {}", self.said());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts the service with the socket, and all that is kept.
fn spawn(prefix: &str, folder: &tempfile::TempDir, listener: &OwnedFd, told: &Arc<Mutex<Told>>) -> Child {
    let away = |fd: &OwnedFd| fcntl_dupfd_cloexec(fd, AWAY).expect("a descriptor");
    let (mut names, mut descriptors) = (vec!["varlink".to_owned()], vec![away(listener)]);
    for (name, fd) in &told.lock().expect("no thread has panicked").kept {
        names.push(name.clone());
        descriptors.push(away(fd));
    }
    // The shell knows its pid, which the program keeps.
    let script = format!("LISTEN_PID=$$ exec {prefix} \"$0\" serve --interval 0.2 --config \"$1\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_cpuledger")]).arg(folder.path().join("config.toml"));
    command
        .env("LISTEN_FDS", names.len().to_string())
        .env("LISTEN_FDNAMES", names.join(":"))
        .env("NOTIFY_SOCKET", folder.path().join("notify"))
        .env("FDSTORE", "512")
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let numbers: Vec<i32> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let place = move || {
        for (number, to) in numbers.iter().zip(FIRST..) {
            // SAFETY: in the child, where nothing else uses these numbers from here to the exec.
            let placed = unsafe { nix::unistd::dup2_raw(std::os::fd::BorrowedFd::borrow_raw(*number), to) }?;
            let _ = placed.into_raw_fd();
        }
        Ok(())
    };
    // SAFETY: it allocates nothing, and calls nothing but dup2(2).
    let command = unsafe { command.pre_exec(place) };
    let mut child = command.spawn().expect("it starts");
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let told = Arc::clone(told);
    std::thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            told.lock().expect("no thread has panicked").said.push(line);
        }
    });
    child
}

/// Reads one message of the service, and does what it says: sd_notify(3).
fn read(notified: &UnixDatagram, told: &Mutex<Told>) {
    let mut bytes = [0; 4096];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let Ok(message) =
        recvmsg(notified, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    else {
        return;
    };
    let descriptors: Vec<OwnedFd> = ancillary
        .drain()
        .flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
            _ => Vec::new(),
        })
        .collect();
    let text = String::from_utf8_lossy(&bytes[..message.bytes]).into_owned();
    let has = |line: &str| text.lines().any(|own| own == line);
    let name = text.lines().find_map(|line| line.strip_prefix("FDNAME=")).unwrap_or("stored").to_owned();
    let mut told = told.lock().expect("no thread has panicked");
    told.ready += u32::from(has("READY=1"));
    if has("FDSTOREREMOVE=1") {
        told.kept.retain(|(of, _)| *of != name);
    } else if has("FDSTORE=1") {
        told.kept.extend(descriptors.into_iter().map(|fd| (name.clone(), fd)));
    }
    // Those of BARRIER=1 are closed here.
}
