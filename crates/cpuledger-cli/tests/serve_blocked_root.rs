//! `cpuledger serve` beside those that do not read what it writes: its manager, its journal. It serves, and ends when it is asked to. And a
//! configuration that is lost does not open what it had closed. Needs root.

mod service;

use std::fs;
use std::io::{ErrorKind, PipeReader, Write};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cpuledger_load::scene::alone;
use cpuledger_service::client::Client;
use cpuledger_service::varlink::Subscribe;
use rustix::process::{Pid, Signal, kill_process};
use service::{Service, TIMEOUT};

/// A service that is not blocked answers at once. One that is never does.
const ANSWER: Duration = Duration::from_secs(20);
/// Messages of a socket that are not read: the kernel's limit is /proc/sys/net/unix/max_dgram_qlen.
const MESSAGES: usize = 1 << 12;

/// It answers and publishes, and a signal ends it.
fn assert_serves(mut service: Service) {
    for _ in 0..3 {
        let mut client = Client::connect(&service.socket(), ANSWER).expect("it listens");
        client.info().expect("it answers");
        let (_, reader) = client.subscribe(&Subscribe::default()).expect("a ring");
        reader.wait(ANSWER).expect("an interval");
    }
    kill_process(Pid::from_child(&service.child), Signal::TERM).expect("it lives");
    let begin = Instant::now();
    while service.child.try_wait().expect("it is ours").is_none() {
        assert!(begin.elapsed() < ANSWER, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_manager_that_does_not_read_keeps_no_reader_waiting_root() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    // No message has room.
    let filler = UnixDatagram::unbound().expect("a socket");
    filler.set_nonblocking(true).expect("a socket");
    let full = (0..MESSAGES).find_map(|_| filler.send_to(b"STATUS=other", &path).err());
    assert_eq!(full.expect("it is full").kind(), ErrorKind::WouldBlock);
    let service = Service::start_as("", |mut command| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "30000").stderr(Stdio::null());
        command
    });
    std::thread::sleep(Duration::from_millis(300));
    Client::connect(&service.socket(), ANSWER).expect("it listens").info().expect("it answers");
    // When it reads at last, it learns that the service is ready.
    manager.set_read_timeout(Some(ANSWER)).expect("a socket");
    let mut bytes = [0; 4096];
    let mut is_told = false;
    for _ in 0..MESSAGES {
        let count = manager.recv(&mut bytes).expect("messages come");
        is_told |= String::from_utf8_lossy(&bytes[..count]).lines().any(|line| line == "READY=1");
        if is_told {
            break;
        }
    }
    assert!(is_told, "READY=1 was lost");
    assert_serves(service);
}

/// A full pipe that no process reads.
fn full_pipe() -> (PipeReader, Stdio) {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    rustix::io::ioctl_fionbio(&writer, true).expect("a pipe");
    while writer.write(b"x").is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).expect("a pipe");
    (reader, writer.into())
}

#[test]
fn a_journal_that_does_not_read_keeps_no_reader_waiting_root() {
    let _alone = alone();
    assert_serves(Service::start(""));
    let (_reader, stderr) = full_pipe();
    assert_serves(Service::start_as("", |mut command| {
        command.stderr(stderr);
        command
    }));
}

/// What a stranger may see.
fn audiences(service: &Service) -> Vec<String> {
    let answer = std::thread::scope(|scope| {
        let ask = || {
            let id = 65_534;
            let (uid, gid) = (rustix::process::Uid::from_raw(id), rustix::process::Gid::from_raw(id));
            rustix::thread::set_thread_res_gid(gid, gid, gid).expect("root may");
            rustix::thread::set_thread_res_uid(uid, uid, uid).expect("root may");
            Client::connect(&service.socket(), TIMEOUT).expect("it listens").info()
        };
        scope.spawn(ask).join().expect("it asks")
    });
    answer.expect("it answers").audiences
}

/// Starts a service whose /etc is this folder, with the configuration of the machine there.
fn start_in(etc: &Path) -> Service {
    let script = "mount --bind \"$1\" /etc && exec \"$2\" serve --interval 0.2 --socket \"$3\"";
    Service::start_as("", |usual| {
        let mut command = Command::new("unshare");
        let socket = usual.get_args().last().expect("a socket");
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(etc).arg(env!("CARGO_BIN_EXE_cpuledger"));
        command.arg(socket).env_remove("NOTIFY_SOCKET").stderr(Stdio::piped());
        command
    })
}

/// Waits until the service has said that.
fn wait_for(said: &mut impl std::io::BufRead, words: &str) -> String {
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert!(said.read_line(&mut line).expect("a line") > 0, "it ends, and has not said {words:?}");
    }
    line
}

#[test]
fn a_configuration_that_is_lost_opens_nothing_root() {
    let _alone = alone();
    let etc = tempfile::tempdir().expect("a folder");
    let folder = etc.path().join("cpuledger");
    let file = folder.join("config.toml");
    fs::create_dir(&folder).expect("a folder");
    let closed = "[audiences]\neveryone = \"nothing\"\n";
    fs::write(&file, closed).expect("a file");
    let mut service = start_in(etc.path());
    let mut said = std::io::BufReader::new(service.child.stderr.take().expect("a pipe"));
    assert!(audiences(&service).is_empty());
    let away = folder.join("away");
    let (lose, fill, link, pipe) = (
        || fs::rename(&file, &away).expect("it is there"),
        || fs::write(&file, "").expect("a file"),
        || std::os::unix::fs::symlink("nowhere", &file).expect("a link"),
        || assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo runs").success()),
    );
    let directory = || fs::create_dir(&file).expect("a folder");
    let losses: [(&dyn Fn(), &str); 5] = [
        (&|| (), "is gone"),
        (&fill, "is empty now"),
        (&link, "is gone"),
        (&directory, "directory"),
        (&pipe, "is a pipe"),
    ];
    for (replace, words) in losses {
        lose();
        replace();
        kill_process(Pid::from_child(&service.child), Signal::HUP).expect("it lives");
        let line = wait_for(&mut said, "old configuration");
        assert!(line.contains(words), "{line}");
        assert!(audiences(&service).is_empty(), "{words}");
        let _ = fs::remove_file(&file);
        let _ = fs::remove_dir(&file);
        fs::rename(&away, &file).expect("it is back");
    }
    // What is meant to open it does.
    fs::write(&file, "# all as usual\n").expect("a file");
    kill_process(Pid::from_child(&service.child), Signal::HUP).expect("it lives");
    wait_for(&mut said, "has read its configuration again");
    assert_eq!(audiences(&service), ["proc", "self"]);
}
