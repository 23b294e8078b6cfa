//! What clients leave unread is memory of the service. It stays bounded, and costs no other user.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpuledger_model::make;
use cpuledger_service::server::{Answer, Handler, Limits, Peer, Server, SocketFile, listen};
use cpuledger_service::varlink::{LedgerRequest, Listing, Refusal};
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, set_socket_recv_buffer_size};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

const LIST: &[u8] = b"{\"method\":\"io.cpuledger.Ledger.List\",\"upgrade\":true,\"parameters\":{\"scope\":\"tasks\",\"fields\":[]}}\0";
const INFO: &[u8] = b"{\"method\":\"io.cpuledger.Ledger.Info\"}\0";
/// Longer than the kernel holds of it.
const FRAME_BYTES: usize = 1 << 20;

/// Makes a frame of its own for each listing, and refuses the rest with a long sentence.
#[derive(Default)]
struct Made {
    listings: usize,
    ended: usize,
}

impl Handler for Made {
    fn answer(&mut self, _: &Peer, request: LedgerRequest) -> Result<Answer, Refusal> {
        let LedgerRequest::List(_) = request else {
            return Err(Refusal::Unavailable { sentence: "no ".repeat(500) });
        };
        self.listings += 1;
        let frame = vec![self.listings as u8; FRAME_BYTES];
        let listing = make!(Listing { length: frame.len() as u64, audience: "all".into() });
        Ok(make!(Answer { frame: Some(Arc::new(frame)), ..Answer::new(&listing, Vec::new())? }))
    }

    fn closed(&mut self, _: &Peer) {
        self.ended += 1;
    }
}

/// A server in this thread.
struct Served {
    server: Server,
    made: Made,
    path: PathBuf,
    _file: SocketFile,
    _folder: tempfile::TempDir,
}

impl Served {
    fn new(limits: Limits) -> Served {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let (listener, _file) = listen(&path).expect("a socket");
        let server = Server::new(listener, "0.0.0", limits).expect("it serves");
        Served { server, made: Made::default(), path, _file, _folder: folder }
    }

    fn call(&self, bytes: &[u8]) -> UnixStream {
        let mut stream = UnixStream::connect(&self.path).expect("it listens");
        stream.write_all(bytes).expect("it is read");
        stream.set_nonblocking(true).expect("set");
        stream
    }

    /// Serves until nothing comes any more.
    fn serve(&mut self) {
        self.server.serve_until(Instant::now() + Duration::from_millis(50), &mut self.made).expect("a turn");
    }

    /// Reads while the server sends, until there is a pause. Returns what came, and whether that was the end.
    fn read(&mut self, stream: &mut UnixStream) -> (Vec<u8>, bool) {
        let (mut bytes, mut piece) = (Vec::new(), vec![0; FRAME_BYTES]);
        let mut pauses = 0;
        while pauses < 3 {
            match stream.read(&mut piece) {
                Ok(0) => return (bytes, true),
                Ok(count) => {
                    bytes.extend_from_slice(&piece[..count]);
                    pauses = 0;
                }
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return (bytes, true),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    pauses += 1;
                    self.serve();
                }
                Err(error) => panic!("{error}"),
            }
        }
        (bytes, false)
    }
}

#[test]
fn calls_of_a_user_wait_until_it_has_read_its_listings() {
    let limits = make!(Limits { unread_bytes_of_user: 3 * FRAME_BYTES });
    let mut served = Served::new(limits);
    let mut callers: Vec<UnixStream> = (0..6).map(|_| served.call(LIST)).collect();
    served.serve();
    assert_eq!(served.made.listings, 3, "each is more than a megabyte");
    let (reply, _) = served.read(&mut callers[0]);
    let frame = &reply[reply.iter().position(|byte| *byte == 0).expect("a reply") + 1..];
    assert!(frame.len() == FRAME_BYTES && frame.iter().all(|byte| *byte == 1), "{}", frame.len());
    assert_eq!(served.made.listings, 4, "there is room for one more");
    drop(callers.split_off(1));
    served.serve();
    callers.push(served.call(LIST));
    served.serve();
    assert_eq!(served.made.listings, 5, "what is closed is not answered, and holds nothing");
}

#[test]
fn listings_that_all_together_have_not_read_are_bounded() {
    let mut served = Served::new(make!(Limits { unread_bytes: 2 * FRAME_BYTES }));
    let mut callers: Vec<UnixStream> = (0..3).map(|_| served.call(LIST)).collect();
    served.serve();
    assert_eq!(served.made.listings, 2);
    let (refused, _) = served.read(&mut callers[2]);
    let refused = String::from_utf8_lossy(&refused);
    assert!(refused.contains("io.cpuledger.Ledger.LimitReached"), "{refused}");
}

#[test]
fn a_listing_that_is_not_read_is_dropped_in_time() {
    let reply_time = Duration::from_millis(100);
    let limits = make!(Limits { reply_time, unread_bytes_of_user: FRAME_BYTES });
    let mut served = Served::new(limits);
    let mut stopped = served.call(LIST);
    served.serve();
    let begin = Instant::now();
    while served.made.ended == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "it is not dropped");
        served.serve();
    }
    let _other = served.call(LIST);
    served.serve();
    assert_eq!(served.made.listings, 2, "there is room again");
    let (bytes, is_over) = served.read(&mut stopped);
    assert!(is_over && bytes.len() < FRAME_BYTES / 2, "{} bytes", bytes.len());
}

/// The kernel keeps what was sent until the peer reads, and charges it to the service, whether that has closed or not.
#[test]
fn a_closed_connection_counts_until_its_peer_has_read() {
    let mut served = Served::new(make!(Limits { connections_of_user: 2 }));
    let closed: Vec<UnixStream> = (0..2).map(|_| served.call(&[INFO, b"garbage\0"].concat())).collect();
    served.serve();
    assert_eq!((served.made.ended, served.server.connections()), (2, 0));
    let mut refused = served.call(INFO);
    let (said, is_over) = served.read(&mut refused);
    assert!(String::from_utf8_lossy(&said).contains("LimitReached") && is_over);
    for mut stream in closed {
        let (said, is_over) = served.read(&mut stream);
        assert!(String::from_utf8_lossy(&said).contains("Unavailable") && is_over);
    }
    served.serve();
    let mut answered = served.call(INFO);
    let (said, is_over) = served.read(&mut answered);
    assert!(String::from_utf8_lossy(&said).contains("Unavailable") && !is_over);
}

/// The last descriptor of a TCP socket that lingers keeps the process that closes it waiting: here for 20 s.
#[test]
fn descriptors_that_come_with_a_call_keep_no_other_waiting() {
    let mut served = Served::new(Limits::default());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let peer = std::net::TcpStream::connect(listener.local_addr().expect("its own")).expect("it listens");
    set_socket_recv_buffer_size(&peer, 4096).expect("set");
    let (mut lingering, _) = listener.accept().expect("it has come");
    set_socket_linger(&lingering, Some(Duration::from_secs(20))).expect("set");
    lingering.set_nonblocking(true).expect("set");
    while lingering.write(&[0; 65_536]).is_ok() {}

    let caller = UnixStream::connect(&served.path).expect("it listens");
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [lingering.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let bytes = [std::io::IoSlice::new(INFO)];
    let sent = sendmsg(&caller, &bytes, &mut control, SendFlags::empty());
    assert!(sent == Err(Errno::PERM) || sent == Ok(INFO.len()), "{sent:?}");
    if sent.is_err() {
        set_socket_linger(&lingering, None).expect("set");
    }
    drop(lingering);
    let mut other = served.call(INFO);
    let begin = Instant::now();
    let (said, _) = served.read(&mut other);
    assert!(String::from_utf8_lossy(&said).contains("Unavailable"));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    drop(peer);
}
