//! What cgroups send and receive on the wire, against packets whose length is known, and against what a device counts. Needs root.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::MutexGuard;
use std::thread;
use std::time::{Duration, Instant};

use cpuledger::framing::{self, Circumstances};
use cpuledger::source::ledger::{Ledger, Options, Wanted, lacks_of_network, tell_cgroups_apart, wire_root};
use cpuledger::{Account, Accounts, Boottime, FieldSet, Interval};
use cpuledger_load::{not_run, scene};
use cpuledger_model::frame::Frame;
use cpuledger_model::make;
use cpuledger_model::wire::WireUse;
use libbpf_rs::query::ProgInfoIter;
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, capabilities, move_into_link_name_space, set_capabilities,
};

const NETWORK: Accounts = Accounts::of(&[Account::Network]);

/// Headers of IP and UDP.
const UDP_HEADERS: u64 = 20 + 8;

/// That of Ethernet, which /proc/net/dev counts.
const ETHERNET: u64 = 14;

/// Tests of this process move it from cgroup to cgroup, so one runs at a time.
fn alone() -> Option<MutexGuard<'static, ()>> {
    let [_, of_wire] = lacks_of_network();
    if let Some(error) = of_wire {
        not_run(&error.to_string());
        return None;
    }
    Some(scene::alone())
}

/// A cgroup of a test. Sockets are of the cgroup in which they were made.
struct Cgroup {
    path: PathBuf,
    id: u64,
}

impl Cgroup {
    fn new(name: &str) -> Cgroup {
        let root = wire_root().expect("it was looked for");
        let path = root.join(format!("cpuledger-wire-{}-{name}", std::process::id()));
        fs::create_dir(&path).expect("a cgroup; it needs root");
        let id = fs::metadata(&path).expect("it is there").ino();
        Cgroup { path, id }
    }

    /// Makes sockets of this cgroup.
    fn make<S>(&self, make: impl FnOnce() -> S) -> S {
        let before = own_cgroup();
        enter(&self.path);
        let made = make();
        enter(&before);
        made
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}

fn own_cgroup() -> PathBuf {
    let text = fs::read_to_string("/proc/self/cgroup").expect("we live");
    let path = text.lines().find_map(|line| line.strip_prefix("0::/")).expect("of version 2");
    wire_root().expect("it was looked for").join(path)
}

fn enter(cgroup: &Path) {
    fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string()).expect("root may");
}

struct Books {
    ledger: Ledger,
    interval: Interval,
}

impl Books {
    /// With an interval that is whole from now on.
    fn open(accounts: Accounts) -> Books {
        let ledger = Ledger::open(make!(Options { accounts })).expect("the ledger attaches; it needs root");
        let mut books = Books { ledger, interval: Interval::default() };
        books.close();
        books
    }

    fn close(&mut self) -> &Interval {
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
        self.ledger.close(0, &wanted, &mut self.interval).expect("an interval");
        &self.interval
    }

    /// What a cgroup sent and received in the last interval; `None` is all others.
    fn of(&self, id: Option<u64>) -> WireUse {
        let wire = self.interval.wire.as_ref().expect("it is kept");
        wire.iter().find(|cgroup| cgroup.id == id).map_or_else(WireUse::default, |cgroup| cgroup.used)
    }
}

fn udp_pair() -> (UdpSocket, UdpSocket) {
    let [one, other] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a port"));
    one.connect(other.local_addr().expect("it is bound")).expect("it is there");
    (one, other)
}

fn pass(pair: &(UdpSocket, UdpSocket), bytes: usize) {
    pair.0.send(&vec![7; bytes]).expect("there is room");
    assert_eq!(pair.1.recv(&mut [0; 1 << 16]).expect("it comes"), bytes);
}

fn frame(interval: &Interval) -> Frame {
    let mut frame = Frame::new();
    let of = make!(Circumstances {
        end: Some(Boottime::from_ns(interval.end_ns + cpuledger::clock::suspended_ns())),
    });
    framing::write(interval, &of, &mut frame);
    frame
}

#[test]
fn each_datagram_is_its_payload_and_28_bytes_root() {
    let Some(_alone) = alone() else { return };
    let cgroup = Cgroup::new("udp");
    let mut books = Books::open(NETWORK);
    let pair = cgroup.make(udp_pair);
    books.close();
    let sizes = [0, 1, 1_400, 1_400, 30_000];
    sizes.into_iter().for_each(|bytes| pass(&pair, bytes));
    let earlier = frame(books.close());
    let payload: usize = sizes.iter().sum();
    let bytes = payload as u64 + sizes.len() as u64 * UDP_HEADERS;
    let expected = [bytes, sizes.len() as u64, bytes, sizes.len() as u64];
    assert_eq!(books.of(Some(cgroup.id)).figures(), expected);
    let wire = books.interval.wire.clone().expect("it is kept");
    let told = wire.iter().find(|told| told.id == Some(cgroup.id)).expect("it has sent");
    let name = cgroup.path.file_name().expect("it has a name").to_string_lossy();
    assert_eq!(String::from_utf8_lossy(&told.path), format!("/{name}"));
    // Nothing of it is in the next interval; both as one have it, and what a frame told.
    pass(&pair, 100);
    let later = frame(books.close());
    assert_eq!(books.of(Some(cgroup.id)).figures(), [128, 1, 128, 1]);
    let merged = earlier.merge(&later).expect("they are neighbours");
    framing::read(&merged, &mut books.interval).expect("it is an interval");
    assert_eq!(books.of(Some(cgroup.id)).sent_bytes, bytes + 128);
    assert_eq!(merged.wire(), wire.and(&later.wire()));
}

#[test]
fn sockets_of_a_cgroup_that_is_gone_count_and_so_do_more_cgroups_than_are_told_apart_root() {
    // Of 1,024 numbers, one of those that a cgroup may have.
    const FREE_IN: u32 = 16;
    const TOLD: usize = 64;
    const CGROUPS: usize = 150;
    let Some(_alone) = alone() else { return };
    tell_cgroups_apart(FREE_IN);
    let mut books = Books::open(NETWORK);
    tell_cgroups_apart(1);
    let cgroups: Vec<Cgroup> = (0..CGROUPS).map(|number| Cgroup::new(&format!("many-{number}"))).collect();
    let ids: Vec<u64> = cgroups.iter().map(|cgroup| cgroup.id).collect();
    let pairs: Vec<_> = cgroups.iter().map(|cgroup| cgroup.make(udp_pair)).collect();
    drop(cgroups);
    let check = |books: &mut Books, used: usize| {
        books.close();
        pairs[..used].iter().for_each(|pair| pass(pair, 1_000));
        books.close();
        let told = ids.iter().filter(|id| books.of(Some(**id)) != WireUse::default()).count();
        for id in &ids {
            let of = books.of(Some(*id)).figures();
            assert!([[0; 4], [1_028, 1, 1_028, 1]].contains(&of), "{of:?}");
        }
        // The rest of this machine may be among the others.
        let (others, rest) = (books.of(None), (used - told) as u64);
        assert!(
            others.sent_bytes >= 1_028 * rest && others.received_packets >= rest,
            "{others:?}, {told} told"
        );
        told
    };
    for _ in 0..2 {
        let told = check(&mut books, CGROUPS);
        assert!((20..=TOLD).contains(&told), "{told}");
    }
    // A number that nobody uses is free again, after some time: those that had none before get one.
    let was_told: Vec<bool> = ids.iter().map(|id| books.of(Some(*id)) != WireUse::default()).collect();
    for _ in 0..70 {
        books.close();
    }
    let newly = || (0..CGROUPS).filter(|place| !was_told[*place]);
    newly().take(20).for_each(|place| pass(&pairs[place], 1_000));
    books.close();
    let told = newly().filter(|place| books.of(Some(ids[*place])).figures() == [1_028, 1, 1_028, 1]).count();
    assert!(told >= 10, "{told} of 20");
}

/// Runs `ip`, whose words are parted by blanks.
fn ip(words: &str) -> bool {
    Command::new("ip").args(words.split(' ')).status().is_ok_and(|status| status.success())
}

/// Two network namespaces with a cable between them, whose ends cut no packets: the kernel does.
struct Cable([String; 2]);

impl Cable {
    fn new() -> Option<Cable> {
        let names = ["a", "b"].map(|side| format!("cpuledger-wire-{}-{side}", std::process::id()));
        let [a, b] = &names;
        let is_made = ip(&format!("netns add {a}"))
            && ip(&format!("netns add {b}"))
            && ip(&format!(
                "-n {a} link add up0 address 02:00:00:00:00:0a type veth peer name up0 netns {b} address 02:00:00:00:00:0b"
            ));
        let cable = Cable(names);
        is_made.then_some(())?;
        let [a, b] = &cable.0;
        for (side, own, other, mac) in [(a, "10.9.8.1", "10.9.8.2", "0b"), (b, "10.9.8.2", "10.9.8.1", "0a")]
        {
            // Nothing but what we send is on it.
            let quiet = "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6";
            let quiet = Command::new("ip").args(["netns", "exec", side, "sh", "-c", quiet]).status();
            assert!(quiet.is_ok());
            assert!(ip(&format!("-n {side} addr add {own}/24 dev up0")));
            assert!(ip(&format!("-n {side} link set up0 up")));
            assert!(ip(&format!(
                "-n {side} neigh replace {other} lladdr 02:00:00:00:00:{mac} dev up0 nud permanent"
            )));
        }
        Some(cable)
    }

    /// Does this in one of them.
    fn inside<R: Send>(&self, side: usize, does: impl FnOnce() -> R + Send) -> R {
        let file = fs::File::open(Path::new("/run/netns").join(&self.0[side])).expect("ip has made it");
        let run = || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("root may");
            does()
        };
        thread::scope(|scope| scope.spawn(run).join().expect("it does not panic"))
    }

    /// What both ends have sent: bytes without the header of Ethernet, and packets.
    fn sent(&self) -> [u64; 2] {
        let of = |side| {
            let text =
                self.inside(side, || fs::read_to_string("/proc/thread-self/net/dev").expect("it is there"));
            let line = text.lines().find_map(|line| line.trim().strip_prefix("up0:")).expect("the cable");
            let words: Vec<u64> =
                line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
            [words[8], words[9]]
        };
        let [a, b] = [of(0), of(1)];
        let packets = a[1] + b[1];
        [a[0] + b[0] - ETHERNET * packets, packets]
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.0 {
            ip(&format!("netns del {name}"));
        }
    }
}

/// Has a device send no packet that is longer than it may be: by ETHTOOL_STSO, ETHTOOL_SGRO.
const CUT: &str = "
import array, fcntl, socket, struct
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for command in 0x1f, 0x2c:
    value = array.array('B', struct.pack('II', command, 0))
    fcntl.ioctl(own, 0x8946, struct.pack('16sP', b'up0', value.buffer_info()[0]))
";

#[test]
fn a_device_counts_the_same_packets_and_bytes_of_tcp_root() {
    const BYTES: usize = 3_000_000;
    let Some(_alone) = alone() else { return };
    let Some(cable) = Cable::new() else { return not_run("no network namespaces: ip netns, veth") };
    let is_cut = cable.0.iter().all(|side| {
        Command::new("ip")
            .args(["netns", "exec", side, "python3", "-c", CUT])
            .status()
            .is_ok_and(|status| status.success())
    });
    if !is_cut {
        return not_run("python3, to have a device cut nothing");
    }
    let cgroup = Cgroup::new("tcp");
    let mut books = Books::open(NETWORK);
    let before = cable.sent();
    let (mut client, mut server) = cgroup.make(|| {
        let listener = cable.inside(1, || TcpListener::bind("10.9.8.2:0").expect("a port"));
        let address = listener.local_addr().expect("it is bound");
        let client = cable.inside(0, || TcpStream::connect(address).expect("it listens"));
        (client, listener.accept().expect("it has come").0)
    });
    thread::scope(|scope| {
        scope.spawn(|| client.write_all(&vec![7; BYTES]).expect("it takes it"));
        server.read_exact(&mut vec![0; BYTES]).expect("it comes");
    });
    // The last acknowledgement.
    let limit = Instant::now() + Duration::from_secs(10);
    let (mut last, mut same) = (cable.sent(), 0);
    while same < 5 && Instant::now() < limit {
        thread::sleep(Duration::from_millis(100));
        let now = cable.sent();
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    books.close();
    let used = books.of(Some(cgroup.id));
    let [bytes, packets] = [last[0] - before[0], last[1] - before[1]];
    assert!(bytes > BYTES as u64 && packets > BYTES as u64 / 1_448, "{bytes} in {packets} packets");
    assert_eq!(used.figures(), [bytes, packets, bytes, packets], "sent and received by the same cgroup");
}

#[test]
fn hooks_go_with_the_account_root() {
    let Some(_alone) = alone() else { return };
    let hooks = || {
        let is_own = |name: &str| ["on_egress", "on_ingress"].contains(&name);
        ProgInfoIter::default().filter(|program| is_own(&program.name.to_string_lossy())).count()
    };
    let before = hooks();
    let mut books = Books::open(Accounts::NONE);
    assert!(books.close().wire.is_none());
    assert_eq!(hooks(), before, "nobody has asked");
    books.ledger.keep(NETWORK);
    assert_eq!(hooks(), before + 2);
    assert!(books.close().wire.is_none(), "it has not seen the begin of this interval");
    assert!(books.close().wire.is_some());
    books.ledger.keep(Accounts::NONE);
    assert!(books.close().wire.is_none());
    let limit = Instant::now() + Duration::from_secs(10);
    while hooks() > before && Instant::now() < limit {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(hooks(), before);
}

#[test]
fn without_the_right_tasks_are_counted_and_cgroups_are_not_known_root() {
    let Some(_alone) = alone() else { return };
    if let [Some(error), _] = lacks_of_network() {
        return not_run(&error.to_string());
    }
    let run = || {
        let mut sets = capabilities(None).expect("our own");
        for set in [&mut sets.effective, &mut sets.permitted] {
            set.remove(CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN);
        }
        set_capabilities(None, sets).expect("we may give up");
        let mut books = Books::open(NETWORK);
        let said = books.ledger.take_refused();
        assert_eq!(books.ledger.kept(), NETWORK);
        assert!(said.len() == 1 && said[0].contains("CAP_NET_ADMIN is missing"), "{said:?}");
        pass(&udp_pair(), 100);
        let interval = books.close();
        assert!(interval.network.sent_bytes >= Some(100) && interval.wire.is_none());
    };
    thread::spawn(run).join().expect("it does not panic");
}
