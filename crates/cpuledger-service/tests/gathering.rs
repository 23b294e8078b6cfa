//! How a service waits for calls that shall be answered together.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use cpuledger_model::make;
use cpuledger_service::server::{Answer, Gathering, Handler, Limits, Peer, Server, listen};
use cpuledger_service::varlink::{LedgerRequest, Refusal};
use rustix::time::{ClockId, clock_gettime};

const PAUSE: Duration = Duration::from_millis(500);
/// What the turn may use. One that is told of an ended connection again and again uses as much as it waits: 2 s.
const MOST_CPU_TIME: Duration = Duration::from_millis(100);
const CALL: &[u8] = b"{\"method\":\"io.cpuledger.Ledger.Info\"}\0";

/// Refuses each call, and lets the next ones gather.
#[derive(Default)]
struct Refusing {
    calls: usize,
}

impl Handler for Refusing {
    fn end_turn(&mut self) -> Option<Gathering> {
        Some(make!(Gathering { least: 0, pause: PAUSE, longest: 4 * PAUSE }))
    }

    fn answer(&mut self, _: &Peer, _: LedgerRequest) -> Result<Answer, Refusal> {
        self.calls += 1;
        Err(Refusal::Unavailable { sentence: "this is a test".into() })
    }
}

/// While calls gather, some clients close, others end their half or stop in the middle of a call. The service waits for calls, asleep.
#[test]
fn ended_connections_do_not_keep_a_gathering_awake() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let (listener, _file) = listen(&path).expect("a socket");
    let mut server = Server::new(listener, "0.0.0", Limits::default()).expect("it serves");
    let mut handler = Refusing::default();
    let caller = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(&path).expect("it listens");
        stream.write_all(bytes).expect("it is read");
        stream
    };
    let closed = caller(CALL);
    server.serve_until(Instant::now(), &mut handler).expect("a turn");
    assert_eq!(handler.calls, 1);

    drop(closed);
    drop(caller(CALL));
    let stopped = caller(&CALL[..9]);
    stopped.shutdown(Shutdown::Write).expect("it is open");
    let ended = caller(CALL);
    ended.shutdown(Shutdown::Write).expect("it is open");
    let before = cpu_time();
    server.serve_until(Instant::now(), &mut handler).expect("a turn");
    let used = cpu_time() - before;
    println!("the gathering used {} us", used.as_micros());
    assert!(used < MOST_CPU_TIME, "the gathering used {used:?}");
    assert_eq!(handler.calls, 2, "the client that only ended its half is answered");
    assert_eq!(server.connections(), 0, "all have ended");
}

/// Refuses no call, and lets those after the first two wait.
#[derive(Default)]
struct Holding {
    used: Vec<Duration>,
    is_held: bool,
}

impl Handler for Holding {
    fn answer(&mut self, _: &Peer, _: LedgerRequest) -> Result<Answer, Refusal> {
        Ok(Answer::default())
    }

    fn may_call(&mut self, _: &Peer) -> Result<(), Duration> {
        if self.is_held { Err(PAUSE) } else { Ok(()) }
    }

    fn has_called(&mut self, _: &Peer, time: Duration) {
        self.used.push(time);
        self.is_held = self.used.len() >= 2;
    }
}

/// Calls that no handler sees are charged, too, and a user that has to wait is not read meanwhile.
#[test]
fn calls_of_any_kind_are_charged_and_wait_asleep() {
    const GET_INFO: &[u8] = b"{\"method\":\"org.varlink.service.GetInfo\"}\0";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let (listener, _file) = listen(&path).expect("a socket");
    let limits = make!(Limits { call_time: PAUSE / 5, calls_of_turn: 1 });
    let mut server = Server::new(listener, "0.0.0", limits).expect("it serves");
    let mut handler = Holding::default();
    let mut caller = UnixStream::connect(&path).expect("it listens");
    caller.write_all(&GET_INFO.repeat(5)).expect("it is read");
    let (begin, before) = (Instant::now(), cpu_time());
    server.serve_until(begin + PAUSE / 2, &mut handler).expect("it serves");
    assert_eq!(handler.used.len(), 2, "the others wait");
    assert!(handler.used.iter().all(|used| !used.is_zero()), "{:?}", handler.used);
    assert!(cpu_time() - before < MOST_CPU_TIME, "it waits asleep");
    assert_eq!(server.connections(), 1, "its calls are not late");
    handler.is_held = false;
    while handler.used.len() < 3 {
        assert!(begin.elapsed() < 100 * PAUSE, "it is read again");
        server.serve_until(Instant::now() + PAUSE / 5, &mut handler).expect("it serves");
    }
    assert!(begin.elapsed() >= PAUSE);
    drop(caller);
    server.serve_until(Instant::now() + PAUSE / 5, &mut handler).expect("it serves");
    assert_eq!(server.connections(), 0, "its end is seen while it is held");
}

fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("not negative")
}
