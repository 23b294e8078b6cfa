//! The account of the network, against programs that know what they have sent and received. Needs root and Linux 6.3.

use std::io::{ErrorKind, Read, Seek, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::MutexGuard;
use std::time::Duration;

use cpuledger::counters::Counters;
use cpuledger::framing::{self, Circumstances};
use cpuledger::source::ledger::{Ledger, Options, Wanted, lacks_of_network};
use cpuledger::{Account, Accounts, Boottime, FieldSet, Interval, Pid};
use cpuledger_load::{not_run, scene};
use cpuledger_model::frame::Frame;
use cpuledger_model::make;
use libbpf_rs::query::ProgInfoIter;

const NETWORK: Accounts = Accounts::of(&[Account::Network]);
/// What a child sends, and where to: an address of UDP.
const CHILD: &str = "CPULEDGER_TEST_SENDS_TO";
const SENT_BY_CHILD: u64 = 1_234;

/// Tests of this process count what the others do, so one runs at a time.
fn alone() -> Option<MutexGuard<'static, ()>> {
    let [of_tasks, _] = lacks_of_network();
    if let Some(error) = of_tasks {
        not_run(&error.to_string());
        return None;
    }
    Some(scene::alone())
}

struct Books {
    ledger: Ledger,
    interval: Interval,
}

impl Books {
    fn open(options: Options) -> Books {
        let ledger = Ledger::open(options).expect("the ledger attaches; it needs root");
        Books { ledger, interval: Interval::default() }
    }

    /// Closes the interval now. What its rows have and what has no row is what the hooks have counted.
    fn close(&mut self) -> &Interval {
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
        self.ledger.close(0, &wanted, &mut self.interval).expect("an interval");
        if self.ledger.kept().contains(Account::Network) {
            check_balance(&self.interval);
        }
        &self.interval
    }

    /// What this process has sent and received in the last interval.
    fn own(&self) -> Counters {
        let own = Pid(std::process::id().cast_signed());
        let row = self.interval.processes.iter().find(|row| row.task.pid == own);
        row.expect("it has run").usage.growth
    }
}

fn check_balance(interval: &Interval) {
    let Some(sent_bytes) = interval.network.sent_bytes else { return };
    let sum = |of: fn(&Counters) -> u64| -> u64 {
        interval.processes.iter().map(|row| of(&row.usage.growth)).sum()
    };
    let of_rows = [
        sum(|growth| growth.network_sent_bytes + growth.unix_sent_bytes),
        sum(|growth| growth.network_received_bytes + growth.unix_received_bytes),
    ];
    let told = [
        (sent_bytes, interval.network.unattributed_sent_bytes),
        (interval.network.received_bytes.expect("both"), interval.network.unattributed_received_bytes),
    ];
    let told = told.map(|(all, unattributed)| all - unattributed.expect("both"));
    assert_eq!(of_rows, told, "{:?}", interval.network);
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Both {
    sent: u64,
    sends: u64,
    received: u64,
    receives: u64,
}

impl Both {
    /// Sends that many bytes, and receives them.
    fn pass(&mut self, bytes: usize, mut send: impl Write, mut receive: impl Read) {
        let mut left = bytes;
        send.write_all(&vec![7; bytes]).expect("there is room");
        (self.sent, self.sends) = (self.sent + bytes as u64, self.sends + 1);
        while left > 0 {
            let count = receive.read(&mut [0; 4096]).expect("it comes");
            (self.received, self.receives) = (self.received + count as u64, self.receives + 1);
            left -= count;
        }
    }
}

fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let client = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
    (client, listener.accept().expect("it has come").0)
}

fn udp_pair() -> (UdpSocket, UdpSocket) {
    let [one, other] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a port"));
    one.connect(other.local_addr().expect("it is bound")).expect("it is there");
    (one, other)
}

/// Passes bytes by TCP, one time with each of what is not counted.
fn use_tcp() -> Both {
    let (client, server) = tcp_pair();
    let mut tcp = Both::default();
    for bytes in [1, 1_000, 1_000, 40_000] {
        tcp.pass(bytes, &client, &server);
    }
    // What is looked at stays, and is counted when it is taken.
    (&client).write_all(b"four").expect("there is room");
    assert_eq!(server.peek(&mut [0; 64]).expect("it is there"), 4);
    (&server).read_exact(&mut [0; 4]).expect("it is there");
    server.set_nonblocking(true).expect("it can be");
    let failed = (&server).read(&mut [0; 64]).expect_err("nothing is there");
    assert_eq!(failed.kind(), ErrorKind::WouldBlock);
    drop(server);
    let _ = (&client).write(b"answered by a reset").expect("it is not known yet");
    assert!((&client).write(b"fails").is_err(), "it is known now");
    Both {
        sent: tcp.sent + 4 + 19,
        sends: tcp.sends + 2,
        received: tcp.received + 4,
        receives: tcp.receives + 1,
    }
}

fn use_udp() -> Both {
    let (one, other) = udp_pair();
    let sizes = [0, 1, 1_400, 30_000];
    for bytes in sizes {
        assert_eq!(one.send(&vec![1; bytes]).expect("there is room"), bytes);
        assert_eq!(other.peek(&mut [0; 1 << 16]).expect("it comes"), bytes);
        assert_eq!(other.recv(&mut [0; 1 << 16]).expect("it comes"), bytes);
    }
    let (bytes, calls) = (sizes.iter().sum::<usize>() as u64, sizes.len() as u64);
    Both { sent: bytes, sends: calls, received: bytes, receives: calls }
}

fn use_unix() -> Both {
    let mut unix = Both::default();
    let (one, other) = UnixStream::pair().expect("sockets");
    for bytes in [5, 10_000] {
        unix.pass(bytes, &one, &other);
    }
    let (one, other) = UnixDatagram::pair().expect("sockets");
    one.send(&[0; 77]).expect("there is room");
    other.recv(&mut [0; 100]).expect("it is there");
    Both {
        sent: unix.sent + 77,
        sends: unix.sends + 1,
        received: unix.received + 77,
        receives: unix.receives + 1,
    }
}

#[test]
fn bytes_and_calls_are_counted_by_kind_of_socket_root() {
    let Some(_alone) = alone() else { return };
    let mut books = Books::open(make!(Options { accounts: NETWORK }));
    books.close();
    let used = (use_tcp(), use_udp(), use_unix());
    books.close();
    let own = books.own();
    let both = |sent, sends, received, receives| Both { sent, sends, received, receives };
    let told = (
        both(own.tcp_sent_bytes, own.tcp_sends, own.tcp_received_bytes, own.tcp_receives),
        both(own.udp_sent_bytes, own.udp_sends, own.udp_received_bytes, own.udp_receives),
        both(own.unix_sent_bytes, own.unix_sends, own.unix_received_bytes, own.unix_receives),
    );
    assert_eq!(told, used);
    assert_eq!(own.network_sent_bytes, own.tcp_sent_bytes + own.udp_sent_bytes);
    assert_eq!(own.network_receives, own.tcp_receives + own.udp_receives);
    // Nothing of it is in the next interval.
    books.close();
    assert_eq!(books.own().network_sent_bytes + books.own().unix_received_bytes, 0);
}

#[test]
fn a_file_that_the_kernel_sends_is_counted_and_what_it_splices_to_a_pipe_is_not_root() {
    const BYTES: usize = 300_000;
    let Some(_alone) = alone() else { return };
    let mut books = Books::open(make!(Options { accounts: NETWORK }));
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(&vec![3; BYTES]).expect("there is room");
    file.rewind().expect("a file");
    books.close();
    let (client, server) = tcp_pair();
    let reader = std::thread::spawn(move || {
        let (pipe, into) = rustix::pipe::pipe().expect("a pipe");
        let mut left = BYTES;
        while left > 0 {
            let flags = rustix::pipe::SpliceFlags::empty();
            let count =
                rustix::pipe::splice(&server, None, &into, None, left.min(4096), flags).expect("it comes");
            left -= count;
            let mut taken = vec![0; count];
            std::fs::File::from(pipe.try_clone().expect("a pipe"))
                .read_exact(&mut taken)
                .expect("it is there");
        }
    });
    let mut sent = 0;
    while sent < BYTES {
        sent +=
            rustix::fs::sendfile(client.as_fd(), file.as_fd(), None, BYTES - sent).expect("there is room");
    }
    reader.join().expect("it has read all");
    books.close();
    // Since 6.5, 2dc334f1a63a, sendfile(2) and splice(2) send as sendmsg(2) does. No tracepoint tells what leaves a socket by splice(2).
    assert_eq!(books.own().tcp_sent_bytes, BYTES as u64);
    assert_eq!(books.own().tcp_received_bytes, 0);
}

/// No test, but what the children of the next ones do.
#[test]
fn sends_and_dies() {
    let Ok(to) = std::env::var(CHILD) else { return };
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let mut bytes = [0; SENT_BY_CHILD as usize];
    // In two intervals, if it is told when to go on.
    socket.send_to(&bytes[..1_000], &to).expect("there is room");
    std::io::stdin().read_exact(&mut bytes[..1]).expect("it is told");
    socket.send_to(&bytes[1_000..], &to).expect("there is room");
}

fn child(to: &UdpSocket) -> Child {
    Command::new(std::env::current_exe().expect("this test is a file"))
        .args(["--exact", "sends_and_dies"])
        .env(CHILD, to.local_addr().expect("it is bound").to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("it begins")
}

/// Its call has returned: what it has sent may be received before that.
fn has_sent(child: &Child) {
    let is_asleep = |task: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(task.expect("a task").path().join("stat")).expect("it lives");
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
    };
    let tasks = || std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("it lives");
    while !tasks().all(is_asleep) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn let_go(mut child: Child) {
    child.stdin.take().expect("a pipe").write_all(b"!").expect("it reads");
    assert!(child.wait().expect("it is ours").success());
}

#[test]
fn the_dead_keep_their_bytes_and_their_heir_has_them_too_root() {
    const CHILDREN: usize = 8;
    let Some(_alone) = alone() else { return };
    let mut books = Books::open(make!(Options { accounts: NETWORK }));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    books.close();
    let children: Vec<Child> = (0..CHILDREN).map(|_| child(&socket)).collect();
    for _ in 0..CHILDREN {
        assert_eq!(socket.recv(&mut [0; 2_000]).expect("it comes"), 1_000);
    }
    children.iter().for_each(has_sent);
    let earlier = frame(books.close());
    let pids: Vec<i32> = children.iter().map(|child| child.id().cast_signed()).collect();
    let sent_by = |pid: i32| {
        let row = books.interval.processes.iter().find(|row| row.task.pid == Pid(pid));
        row.expect("it has run").usage.growth.udp_sent_bytes
    };
    let sent: Vec<u64> = pids.iter().map(|pid| sent_by(*pid)).collect();
    let network = books.interval.network;
    children.into_iter().for_each(let_go);
    let later = frame(books.close());
    // Where a hook may be preempted, the kernel skips it for a task that calls meanwhile on the same CPU, and counts that.
    if skipped_hooks() > 0 {
        return not_run(&format!("the kernel has skipped {} hooks: {network:?}", skipped_hooks()));
    }
    assert!(sent.iter().all(|bytes| *bytes == 1_000), "{sent:?}: {network:?}");
    let rest = SENT_BY_CHILD - 1_000;
    check_dead(&books.interval, &pids, rest);
    assert_eq!(books.own().udp_sent_bytes, CHILDREN as u64 * rest, "it is their heir");
    // Both as one interval: all of it is with the dead, and with their heir.
    let merged = earlier.merge(&later).expect("they are neighbours");
    framing::read(&merged, &mut books.interval).expect("it is an interval");
    check_balance(&books.interval);
    check_dead(&books.interval, &pids, SENT_BY_CHILD);
    assert_eq!(books.own().udp_sent_bytes, CHILDREN as u64 * SENT_BY_CHILD);
}

fn check_dead(interval: &Interval, pids: &[i32], bytes: u64) {
    let exited = interval.exited.as_ref().expect("the ledger sees them");
    for pid in pids {
        let of_process = exited.iter().filter(|exited| exited.exit.process.tid.0 == *pid);
        let told: u64 = of_process.filter_map(|exited| exited.booked.network_sent_bytes).sum();
        assert_eq!(told, bytes, "{pid}: {:?}, {} hooks skipped", interval.network, skipped_hooks());
    }
}

fn frame(interval: &Interval) -> Frame {
    let of = make!(Circumstances {
        end: Some(Boottime::from_ns(interval.end_ns + cpuledger::clock::suspended_ns())),
    });
    let mut frame = Frame::new();
    framing::write(interval, &of, &mut frame);
    frame
}

#[test]
fn no_byte_is_lost_where_slots_run_out_root() {
    let Some(_alone) = alone() else { return };
    let mut books = Books::open(make!(Options { slots: 64, may_grow: false, accounts: NETWORK }));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    books.close();
    let (mut sent_bytes, mut received_bytes) = (0, 0);
    for _ in 0..3 {
        for child in (0..40).map(|_| child(&socket)).collect::<Vec<_>>() {
            let_go(child);
            sent_bytes += SENT_BY_CHILD;
            received_bytes +=
                [(); 2].iter().map(|()| socket.recv(&mut [0; 2_000]).expect("it comes")).sum::<usize>();
        }
        let network = books.close().network;
        // Where a hook may be preempted, the kernel skips it for a task that calls meanwhile on the same CPU, and counts that.
        assert!(
            network.sent_bytes >= Some(40 * SENT_BY_CHILD) || skipped_hooks() > 0,
            "{network:?}, {} hooks skipped",
            skipped_hooks()
        );
    }
    assert_eq!(received_bytes as u64, sent_bytes);
}

/// How often the kernel has not run the hooks of the account, as they ran already on that CPU.
fn skipped_hooks() -> u64 {
    let hooks = ProgInfoIter::default()
        .filter(|program| ["on_send", "on_receive"].contains(&&*program.name.to_string_lossy()));
    hooks.map(|program| program.recursion_misses).sum()
}

#[test]
fn what_is_not_kept_is_absent_root() {
    let Some(_alone) = alone() else { return };
    let mut books = Books::open(Options::default());
    let (client, server) = tcp_pair();
    let knows = |books: &mut Books| {
        let mut passed = Both::default();
        passed.pass(100, &client, &server);
        let is_told = books.close().network.sent_bytes.is_some();
        let own = books.own();
        assert_eq!(own.known.intersects(NETWORK.fields()), is_told);
        let network = books.interval.network;
        assert!(
            !is_told || own.tcp_sent_bytes == 100,
            "{network:?}, {} hooks skipped; {own:?}",
            skipped_hooks()
        );
        is_told
    };
    assert!(!knows(&mut books), "nobody has asked");
    books.ledger.keep(NETWORK);
    assert_eq!(books.ledger.kept(), NETWORK);
    assert!(!knows(&mut books), "it has not seen the begin of this interval");
    assert!(knows(&mut books) && knows(&mut books));
    books.ledger.keep(Accounts::NONE);
    assert!(books.ledger.kept().is_empty());
    assert!(!knows(&mut books) && !knows(&mut books));
    books.ledger.keep(NETWORK.union(Accounts::of(&[Account::Disk])));
    assert!(!knows(&mut books));
    assert!(knows(&mut books), "another one does not hinder it");
}
