//! Hostile readers on the real service: its memory stays bounded, and others get each frame in time. Needs root.

mod honest;
mod service;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cpuledger_load::scene::alone;
use cpuledger_service::client::{Client, ClientError};
use cpuledger_service::ring::Reader;
use cpuledger_service::varlink::{Call, INTERFACE, List, Refusal, Scope as Tasks, Subscribe};
use honest::{Honest, as_user};
use nix::fcntl::{FallocateFlags, OFlag, SealFlag, fallocate, fcntl, open};
use nix::sys::stat::Mode;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use service::{Service, TIMEOUT};

/// The one that reads and does no harm, and the one that does.
const HONEST: u32 = 40_000_201;
const HOSTILE: u32 = 40_000_202;

/// A reader or a cut that is later than this has waited for the attack.
const LATE: Duration = Duration::from_secs(10);
/// What the service may take at most, beside its rings: those are as long as the intervals of the machine need it.
const MOST_MEMORY_KB: u64 = 128 << 10;
/// A gigabyte of garbage, and how much of it at once.
const GARBAGE_BYTES: usize = 1 << 30;
const CHUNK: usize = 60 << 10;
/// Connections that are tried and held.
const CONNECTIONS: usize = 10_000;

/// The resident memory of a process, without what it shares.
fn memory_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("it has memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Attacks while an honest reader reads; prints what that one has seen, and the memory of the service.
fn under(name: &str, service: &Service, attack: impl FnOnce() + Send) {
    let is_over = AtomicBool::new(false);
    let mut most_kb = memory_kb(service.child.id());
    let mut honest = std::thread::scope(|scope| {
        let honest = as_user(scope, HONEST, || Honest::read(&service.socket(), &is_over));
        let attacker = as_user(scope, HOSTILE, attack);
        let begin = Instant::now();
        while !attacker.is_finished() || begin.elapsed() < Duration::from_secs(2) {
            most_kb = most_kb.max(memory_kb(service.child.id()));
            std::thread::sleep(Duration::from_millis(20));
        }
        attacker.join().expect("the attack was as planned");
        is_over.store(true, Ordering::SeqCst);
        honest.join().expect("the honest reader gets what it should")
    });
    let p99 = honest.p99();
    println!(
        "{name}: {} frames, p99 of their delay {:.1} ms, latest cut {:.1} ms, slowest call {:.1} ms, memory {} MiB",
        honest.frames,
        p99.as_secs_f64() * 1e3,
        honest.most_late_ns as f64 / 1e6,
        honest.slowest_call.as_secs_f64() * 1e3,
        most_kb >> 10
    );
    assert!(honest.frames >= 5, "{honest:?}");
    // Where the machine is idle these are some milliseconds, which the line above tells. It may be busy with other work, and a service that
    // an attack holds up is late for as long as that lasts, or for ever.
    assert!(p99 < LATE, "{p99:?}");
    assert!(honest.most_late_ns < LATE.as_nanos() as u64, "a cut came {} ns late", honest.most_late_ns);
    assert!(honest.slowest_call < TIMEOUT / 4, "{:?}", honest.slowest_call);
    assert!(most_kb < MOST_MEMORY_KB, "{most_kb} KiB");
}

/// A copy of the binary that every user may execute.
fn binary_for_all(service: &Service) -> PathBuf {
    let copy = service.folder.path().join("cpuledger");
    // By another program: a descriptor open for writing, inherited by a child, would forbid the exec.
    let status = Command::new("cp").arg(env!("CARGO_BIN_EXE_cpuledger")).arg(&copy).status();
    assert!(status.expect("cp runs").success());
    copy
}

/// A reader of the hostile user, in a process of its own.
struct Top(Child);

impl Top {
    fn start(binary: &Path, socket: &Path) -> Top {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={HOSTILE}"), format!("--regid={HOSTILE}"), "--clear-groups".into()]);
        command.arg(binary).args(["top", "--batch", "-d", "0.2", "--format", "json", "--socket"]).arg(socket);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Top(command.spawn().expect("setpriv runs"))
    }

    fn signal(&self, signal: Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), signal).expect("it lives");
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn readers_that_stop_or_die_change_nothing_for_others_root() {
    let _alone = alone();
    let service = Service::start("");
    under("nothing", &service, || ());
    let (binary, socket) = (binary_for_all(&service), service.socket());
    let tops: Vec<Top> = (0..12).map(|_| Top::start(&binary, &socket)).collect();
    std::thread::sleep(Duration::from_secs(1));
    tops.iter().take(6).for_each(|top| top.signal(Signal::STOP));
    under("stopped and killed readers", &service, || ());
    tops.iter().skip(6).for_each(|top| top.signal(Signal::KILL));
    under("killed readers", &service, || ());
}

#[test]
fn what_is_sent_changes_nothing_for_others_root() {
    let _alone = alone();
    let service = Service::start("");
    let socket = service.socket();
    under("handshakes that end half-way", &service, || {
        let call = Call::new(&format!("{INTERFACE}.Subscribe"), &Subscribe::default()).expect("a call");
        let call = call.to_bytes();
        for round in 0..2_000 {
            let Ok(mut stream) = UnixStream::connect(&socket) else { continue };
            // Half a call; a whole one, whose reply is not read; and nothing.
            let length = [call.len() / 2, call.len(), 0][round % 3];
            let _ = stream.write_all(&call[..length]);
        }
    });
    under("a gigabyte of garbage", &service, || {
        let (garbage, mut sent) = (vec![b'x'; CHUNK], 0);
        while sent < GARBAGE_BYTES {
            let Ok(mut stream) = UnixStream::connect(&socket) else { continue };
            // Until it is closed, as a call is longer than any may be.
            while let Ok(count) = stream.write(&garbage) {
                sent += count;
            }
        }
    });
}

#[test]
fn connections_and_calls_without_end_change_nothing_for_others_root() {
    let _alone = alone();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("it may be raised");
    let service = Service::start("[limits]\ncpu_percent_per_user = 4\n");
    let socket = service.socket();
    under("10,000 connections", &service, || {
        let mut held = Vec::new();
        for _ in 0..CONNECTIONS {
            match UnixStream::connect(&socket) {
                Ok(stream) => held.push(stream),
                // This process has no descriptors left: so it holds as many as it can.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => println!("after {} connections: {error}", held.len()),
            }
        }
        let refused = Client::connect(&socket, TIMEOUT).expect("it listens").info().expect_err("the limit");
        let refused = refused.to_string();
        assert!(refused.contains("at most 1024 of 4096") || refused.contains("closed"), "{refused}");
        std::thread::sleep(Duration::from_secs(2));
    });
    under("listings without end", &service, || {
        let mut client = Client::connect(&socket, TIMEOUT).expect("it listens");
        let wanted = List::new(Tasks::Tasks, vec!["comm".into(), "rss_bytes".into()]);
        let begin = Instant::now();
        let mut refusal = None;
        while refusal.is_none() && begin.elapsed() < TIMEOUT {
            match client.list(&wanted) {
                Ok(_) => {}
                Err(ClientError::Refused(Refusal::LimitReached { sentence })) => refusal = Some(sentence),
                Err(error) => panic!("{error}"),
            }
        }
        let sentence = refusal.expect("a user has a limit");
        assert!(sentence.contains("4 % of a CPU") && sentence.contains("call again in"), "{sentence}");
    });
    under("subscriptions that are not read", &service, || {
        let call = Call::new(&format!("{INTERFACE}.Subscribe"), &Subscribe::default()).expect("a call");
        let streams: Vec<UnixStream> = (0..500)
            .filter_map(|_| {
                let mut stream = UnixStream::connect(&socket).ok()?;
                stream.set_nonblocking(true).ok()?;
                for _ in 0..200 {
                    stream.write_all(&call.to_bytes()).ok()?;
                }
                Some(stream)
            })
            .collect();
        std::thread::sleep(Duration::from_secs(1));
        drop(streams);
    });
}

/// CPU time of a process.
fn cpu_time(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("it lives").filter_map(Result::ok);
    let figure = |text: String| text.split(' ').next().and_then(|figure| figure.parse().ok()).unwrap_or(0);
    let times = threads.filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
    Duration::from_nanos(times.map(figure).sum())
}

/// How long a user asks for nothing of the ledger.
const FLOOD: Duration = Duration::from_secs(5);

#[test]
fn calls_that_ask_for_nothing_have_a_limit_root() {
    let _alone = alone();
    let service = Service::start("");
    let socket = service.socket();
    let before = cpu_time(service.child.id());
    under("calls of org.varlink.service", &service, || {
        // As many as a turn answers: what comes beyond that is kept for a while, and has a limit.
        let calls = b"{\"method\":\"org.varlink.service.GetInfo\"}\0".repeat(8);
        let connect = |_| UnixStream::connect(&socket).expect("it listens");
        let mut streams: Vec<UnixStream> = (0..64).map(connect).collect();
        for stream in &mut streams {
            stream.set_nonblocking(true).expect("a socket");
            stream.write_all(&calls).expect("there is room");
        }
        let (begin, mut replies) = (Instant::now(), vec![0; 1 << 16]);
        while begin.elapsed() < FLOOD {
            for stream in &mut streams {
                if stream.read(&mut replies).is_ok_and(|count| replies[..count].ends_with(b"\0")) {
                    let _ = stream.write(&calls);
                }
            }
        }
    });
    let used = cpu_time(service.child.id()) - before;
    println!("the service has used {used:?} in {FLOOD:?}");
    // Saved up are 0.4 s, 0.5 s come to it, and the books of the machine take some.
    assert!(used < FLOOD * 2 / 5, "{used:?}");
}

/// The ring as a descriptor.
fn ring_of(client: &mut Client) -> OwnedFd {
    let call = Call::new(&format!("{INTERFACE}.Subscribe"), &Subscribe::default()).expect("a call");
    let (_, mut descriptors) = client.call_raw(&call).expect("a ring");
    descriptors.remove(0)
}

/// Tries to change the ring. Root may open it again for writing, but not change its length.
fn assert_unchangeable(ring: &OwnedFd, may_open: bool) {
    let punch = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    let seal = || fcntl(ring, nix::fcntl::FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_WRITE));
    assert_eq!(rustix::io::write(ring, b"x"), Err(Errno::BADF));
    assert!(nix::unistd::ftruncate(ring, 0).is_err());
    assert!(fallocate(ring, punch, 0, 4096).is_err());
    assert!(seal().is_err());
    let path = format!("/proc/self/fd/{}", ring.as_raw_fd());
    match open(&*path, OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty()) {
        Ok(file) => {
            assert!(may_open, "it could be opened for writing");
            assert_eq!(nix::unistd::ftruncate(&file, 0), Err(nix::Error::EPERM));
            assert_eq!(nix::unistd::ftruncate(&file, 1 << 30), Err(nix::Error::EPERM));
            assert_eq!(fallocate(&file, FallocateFlags::empty(), 0, 1 << 30), Err(nix::Error::EPERM));
            let seal = fcntl(&file, nix::fcntl::FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_WRITE));
            assert_eq!(seal, Err(nix::Error::EPERM));
        }
        Err(error) => assert!(!may_open && error == nix::Error::EACCES, "{error}"),
    }
}

#[test]
fn a_ring_that_is_held_and_attacked_stays_as_it_is_root() {
    let _alone = alone();
    let service = Service::start("");
    let socket = service.socket();
    let mut held = Vec::new();
    under("attempts to change the ring", &service, || {
        let mut client = Client::connect(&socket, TIMEOUT).expect("it listens");
        let ring = ring_of(&mut client);
        assert_unchangeable(&ring, false);
        // It stays mapped when the connection has ended.
        held.push(Reader::open(&ring).expect("a ring"));
    });
    assert_unchangeable(&ring_of(&mut Client::connect(&socket, TIMEOUT).expect("it listens")), true);
    under("a ring that is held", &service, || {
        for _ in 0..200 {
            let mut client = Client::connect(&socket, TIMEOUT).expect("it listens");
            let (_, reader) = client.subscribe(&Subscribe::default()).expect("a ring");
            held.push(reader);
        }
    });
}
