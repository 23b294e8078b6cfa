//! A service and its clients, honest and hostile, in processes of their own.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use cpuledger_model::make;
use cpuledger_service::client::{Client, ClientError};
use cpuledger_service::ring::Next;
use cpuledger_service::varlink::{Call, List, Refusal, Scope, Subscribe};

mod served;

use served::{CONNECTIONS_OF_USER, PATIENCE, Service, limit_files, role};

/// How soon a client is answered while others are hostile. Without other load these are milliseconds, which the tests print; a service that
/// waits for the others does so for ever, or for the time that they may take.
const SOON: Duration = Duration::from_secs(30);
/// Memory that hostile clients may take of the service, in KiB: the limit of pending bytes, twice, and what connections take.
const MOST_MEMORY_KIB: u64 = 24 << 10;

#[test]
fn role_of_a_service() {
    served::play_service();
}

#[test]
fn calls_are_answered_with_descriptors() {
    let service = Service::start(None);
    let mut client = service.client();
    let info = client.info().expect("an answer");
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    assert_eq!(info.audiences, [format!("{} {} {}", std::process::id(), uid.as_raw(), gid.as_raw())]);

    let (subscription, mut reader) = client.subscribe(&Subscribe::default()).expect("a ring");
    assert_eq!((subscription.audience.as_str(), subscription.interval_ns), ("all", 1_000_000_000));
    let mut frame = Vec::new();
    reader.latest(&mut frame).expect("honest").expect("a frame");
    assert_eq!(frame, b"a frame");
    service.client().subscribe(&Subscribe::default()).expect("another publishes");
    assert_eq!(reader.wait(PATIENCE).expect("a wait"), Next::Frame);

    let fields = vec!["pid".to_owned(), "comm".to_owned()];
    let (listing, frame) = client.list(&List::new(Scope::Tasks, fields)).expect("a listing");
    assert_eq!((listing.length, frame), (8000, "pid comm".repeat(1000).into_bytes()));
    assert_eq!(
        client.describe().expect("fields").fields[0].key,
        "pid",
        "behind the bytes come messages again"
    );
    let call = Call::new("io.cpuledger.Ledger.List", &serde_json::json!({ "scope": "tasks", "fields": [] }));
    let refused = client.call_raw(&call.expect("a call")).expect_err("no bytes may follow");
    assert!(matches!(refused, ClientError::Refused(Refusal::UpgradeNeeded)), "{refused}");

    let refused = client.subscribe(&make!(Subscribe { interval_ns: Some(1) })).expect_err("too short");
    assert!(
        matches!(
            &refused,
            ClientError::Refused(Refusal::IntervalTooShort { shortest_interval_ns: 100_000_000 })
        ),
        "{refused}"
    );
    let call = Call::new("io.cpuledger.Ledger.Destroy", &serde_json::json!({})).expect("a call");
    let refused = client.call_raw(&call).expect_err("no such method");
    assert_eq!(refused.to_string(), "the service has no method 'io.cpuledger.Ledger.Destroy'");

    assert!(client.is_connected(), "a refusal is an answer");
    drop(service);
    assert!(!client.is_connected());
    assert!(matches!(client.info(), Err(ClientError::Closed)));
}

#[test]
fn calls_may_come_together_in_pieces_or_before_the_end() {
    let service = Service::start(None);
    let mut socket = UnixStream::connect(service.path()).expect("it listens");
    let mut calls = Vec::new();
    for _ in 0..30 {
        calls.extend(
            Call::new("org.varlink.service.GetInfo", &serde_json::json!({})).expect("a call").to_bytes(),
        );
    }
    let once = br#"{"method":"io.cpuledger.Ledger.Describe","oneway":true}"#;
    calls.extend(once.iter().chain(b"\0"));
    for piece in calls.chunks(37) {
        socket.write_all(piece).expect("it reads");
    }
    socket.shutdown(std::net::Shutdown::Write).expect("shut");
    let mut replies = String::new();
    socket.read_to_string(&mut replies).expect("replies, and the end");
    assert_eq!(replies.matches('\0').count(), 30);
    assert_eq!(replies.matches(r#""interfaces":["org.varlink.service","io.cpuledger.Ledger"]"#).count(), 30);
}

/// A service that does not answer, or does not even accept, keeps no client waiting for long.
#[test]
fn a_client_does_not_wait_for_a_silent_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let timeout = Duration::from_millis(200);
    let error = Client::connect(&path, timeout).expect_err("nothing is there");
    assert!(matches!(error, ClientError::NoService { .. }), "{error}");
    let (listener, _file) = cpuledger_service::server::listen(&path).expect("a socket");
    let begin = Instant::now();
    let mut client = Client::connect(&path, timeout).expect("it waits to be accepted");
    assert!(client.is_connected());
    assert!(matches!(client.info(), Err(ClientError::TimedOut(_))));
    // The answer may come later, and is none to what is asked then.
    assert!(!client.is_connected() && !client.has_ended());
    assert!(matches!(client.info(), Err(ClientError::OutOfStep)));
    rustix::net::listen(&listener, 0).expect("a short queue");
    let error = Client::connect(&path, timeout).expect_err("the queue is full");
    assert!(matches!(error, ClientError::TimedOut(_)), "{error}");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
}

/// Others fill the queue all the time: a client that waits gets its turn.
#[test]
fn a_queue_that_others_fill_lets_each_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
    rustix::net::listen(&listener, 2).expect("a short queue");
    listener.set_nonblocking(true).expect("a socket");
    let (is_over, others) = (AtomicBool::new(false), AtomicUsize::new(8));
    std::thread::scope(|scope| {
        for _ in 0..others.load(Relaxed) {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    drop(UnixStream::connect(&path));
                }
                others.fetch_sub(1, Relaxed);
            });
        }
        scope.spawn(|| {
            while others.load(Relaxed) > 0 {
                drop(listener.accept());
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let refused = (0..20).filter(|_| Client::connect(&path, Duration::from_millis(500)).is_err()).count();
        is_over.store(true, Relaxed);
        assert_eq!(refused, 0, "of 20");
    });
}

/// Garbage of several kinds, 1 GB in all: each closes its connection, and nothing else happens.
#[test]
fn garbage_closes_its_connection_only() {
    let service = Service::start(None);
    let before = service.memory_kib();
    let mut first = service.client();
    first.info().expect("an answer");
    let kinds: [&[u8]; 4] =
        [b"{", &[0xff; 4096], b"{\"method\":\"a.B\",\"parameters\":{\"a\":[[[[[[[[", b"\0"];
    let (mut sent, mut connections, mut slowest) = (0_usize, 0, Duration::ZERO);
    while sent < 1 << 30 {
        let piece = kinds[connections % kinds.len()]
            .repeat(1 << 20 >> kinds[connections % kinds.len()].len().ilog2());
        let mut socket = UnixStream::connect(service.path()).expect("it listens");
        while let Ok(count) = socket.write(&piece) {
            sent += count;
        }
        connections += 1;
        if connections % 64 == 0 {
            slowest = slowest.max(service.answers_within());
        }
    }
    first.info().expect("a connection that was there goes on");
    let after = service.memory_kib();
    println!(
        "{sent} bytes in {connections} connections: {before} KiB before, {after} KiB after, answered in {slowest:?}"
    );
    assert!(after < before + MOST_MEMORY_KIB, "{before} KiB before, {after} KiB after");
    assert!(slowest < SOON, "answered after {slowest:?}");
}

/// Calls that do not end take no more memory than all of one user may, and are closed in time.
#[test]
fn calls_that_do_not_end_are_closed() {
    let service = Service::start_hasty();
    let before = service.memory_kib();
    let half = [b"{\"method\":\"".as_slice(), &[b'a'; 60 << 10]].concat();
    let mut halves: Vec<UnixStream> = Vec::new();
    for _ in 0..400 {
        let mut socket = UnixStream::connect(service.path()).expect("it listens");
        drop(socket.write(&half));
        halves.push(socket);
    }
    let soon = service.answers_within();
    let after = service.memory_kib();
    println!("{before} KiB before, {after} KiB with 400 halves of 60 KiB, answered in {soon:?}");
    assert!(after < before + MOST_MEMORY_KIB, "{before} KiB before, {after} KiB after");
    for mut socket in halves {
        socket.set_read_timeout(Some(PATIENCE)).expect("set");
        let closed = socket.read(&mut [0]);
        assert!(
            closed.as_ref().is_ok_and(|count| *count == 0)
                || closed.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset),
            "{closed:?}"
        );
    }
    service.wait_for_few_files();
}

/// The variable with the path of the socket, for the role below.
const READ: &str = "CPULEDGER_TEST_READ";

/// Subscribes, and reads the ring until it is killed.
#[test]
fn role_of_a_reader() {
    let Some(path) = std::env::var_os(READ) else { return };
    let mut client = Client::connect(&PathBuf::from(path), PATIENCE).expect("it listens");
    let (_, mut reader) = client.subscribe(&Subscribe::default()).expect("a ring");
    println!("\nsubscribed");
    while client.is_connected() {
        let _ = reader.wait(Duration::from_secs(1)).expect("a wait");
        while reader.copy(&mut Vec::new()).expect("honest").is_some() {}
    }
}

/// Readers that are stopped while they wait, and one that goes on: it has each frame.
#[test]
fn stopped_readers_delay_no_other() {
    use rustix::process::{Pid, Signal, kill_process};

    let service = Service::start(None);
    let mut stopped: Vec<_> = (0..16)
        .map(|_| {
            let mut command = role("role_of_a_reader");
            let mut process =
                command.env(READ, service.path()).stdout(Stdio::piped()).spawn().expect("it starts");
            let (mut output, mut said) = (process.stdout.take().expect("piped"), String::new());
            while !said.contains("subscribed") {
                let mut bytes = [0; 64];
                let count = output.read(&mut bytes).expect("it says");
                assert!(count > 0, "it ended: {said}");
                said.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
            std::thread::sleep(Duration::from_millis(5)); // most wait by then
            kill_process(Pid::from_child(&process), Signal::STOP).expect("it lives");
            process
        })
        .collect();
    let mut client = service.client();
    let (_, mut reader) = client.subscribe(&Subscribe::default()).expect("a ring");
    for _ in 0..20 {
        service.client().subscribe(&Subscribe::default()).expect("it publishes");
        assert_eq!(reader.wait(Duration::from_secs(60)).expect("a wait"), Next::Frame);
        assert_eq!(reader.copy(&mut Vec::new()).expect("honest").expect("a frame").missed, 0);
    }
    for process in &mut stopped {
        process.kill().expect("it lives");
        process.wait().expect("it ends");
    }
    assert!(service.answers_within() < SOON);
}

/// As a client does that is stopped: the service keeps one reply for it, reads no more of it, and closes it in time. What it has sent is its
/// own memory until the client reads, so it remembers the connection until then.
#[test]
fn a_client_that_does_not_read_is_closed() {
    let service = Service::start_hasty();
    let before = service.memory_kib();
    let call = Call::new("io.cpuledger.Ledger.Describe", &serde_json::json!({})).expect("a call").to_bytes();
    let many = call.repeat(1000);
    let silent: Vec<UnixStream> = (0..100)
        .map(|_| {
            let mut socket = UnixStream::connect(service.path()).expect("it listens");
            socket.set_write_timeout(Some(Duration::from_millis(1))).expect("set");
            while socket.write(&many).is_ok() {}
            socket
        })
        .collect();
    let soon = service.answers_within();
    let after = service.memory_kib();
    println!("{before} KiB before, {after} KiB beside 100 that do not read, answered in {soon:?}");
    assert!(soon < SOON, "answered after {soon:?}");
    assert!(after < before + MOST_MEMORY_KIB, "{before} KiB before, {after} KiB after");
    for mut socket in silent {
        let begin = Instant::now();
        while socket.write(&many).err().is_none_or(|error| error.kind() != std::io::ErrorKind::BrokenPipe) {
            assert!(begin.elapsed() < PATIENCE, "it is not closed");
        }
        // What was sent before, and the end.
        socket.set_read_timeout(Some(PATIENCE)).expect("set");
        match socket.read_to_end(&mut Vec::new()) {
            Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => panic!("{error}"),
            _ => {}
        }
    }
    service.wait_for_few_files();
}

/// The variable with the path of the socket, for the role below.
const FLOODED: &str = "CPULEDGER_TEST_FLOODED";

#[test]
fn role_of_a_flood() {
    let Some(path) = std::env::var_os(FLOODED) else { return };
    let path = PathBuf::from(path);
    let timeout = PATIENCE;
    let mut clients: Vec<Client> =
        (0..10_000).map(|_| Client::connect(&path, timeout).expect("it listens")).collect();
    let answers: Vec<_> = clients.iter_mut().map(Client::info).collect();
    let answered = answers.iter().filter(|answer| answer.is_ok()).count();
    println!("\n{answered} answered; {}", answers[9_999].as_ref().expect_err("beyond the limit"));
    // The test ends it.
    drop(std::io::stdin().read(&mut [0]));
}

/// 10,000 connections of one user: it gets its limit, and others are answered.
#[test]
fn ten_thousand_connections_leave_room_for_others_root() {
    if !rustix::process::geteuid().is_root() {
        return cpuledger_load::not_run("it takes root to be two users: run it as root");
    }
    limit_files(20_000);
    let service = Service::start(Some(20_000));
    let before = service.memory_kib();
    let mut flood = role("role_of_a_flood")
        .env(FLOODED, service.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .uid(65534)
        .gid(65534)
        .spawn()
        .expect("it starts");
    let mut said = String::new();
    let mut output = flood.stdout.take().expect("piped");
    while !said.contains("answered;") {
        let mut bytes = [0; 256];
        let count = output.read(&mut bytes).expect("it says");
        assert!(count > 0, "it ended: {said}");
        said.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    let soon = service.answers_within();
    let after = service.memory_kib();
    println!("{said}\n{before} KiB before, {after} KiB after, answered in {soon:?}");
    let expected = format!("{CONNECTIONS_OF_USER} answered; the service has");
    assert!(said.contains(&expected) && said.contains("gives a user at most 2048"), "{said}");
    assert!(soon < SOON, "answered after {soon:?}");
    assert!(after < before + MOST_MEMORY_KIB, "{before} KiB before, {after} KiB after");
    drop(flood.stdin.take());
    flood.wait().expect("it ends");
}

/// A service that may open no more files waits, and takes up again what was left.
#[test]
fn a_service_without_descriptors_does_not_spin() {
    let service = Service::start(Some(24));
    let held: Vec<UnixStream> =
        (0..100).map(|_| UnixStream::connect(service.path()).expect("the queue has room")).collect();
    std::thread::sleep(Duration::from_millis(200));
    let (begin, before) = (Instant::now(), service.cpu_time());
    std::thread::sleep(Duration::from_secs(1));
    let share = (service.cpu_time() - before).as_secs_f64() / begin.elapsed().as_secs_f64();
    println!("{:.3} % of a CPU without descriptors", 100.0 * share);
    assert!(share < 0.05, "{:.1} % of a CPU", 100.0 * share);
    drop(held);
    assert!(service.answers_within() < SOON);
}
