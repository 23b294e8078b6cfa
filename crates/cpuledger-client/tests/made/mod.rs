//! A service in a thread, whose books and answers are made up: late, refused, or none.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cpuledger_client::clock::monotonic_ns;
use cpuledger_model::field::FieldSet;
use cpuledger_model::frame::Frame;
use cpuledger_model::framing::{self, Circumstances};
use cpuledger_model::interval::Interval;
use cpuledger_model::make;
use cpuledger_model::snapshot::Snapshot;
use cpuledger_model::task::{Pid, Task, Tid};
use cpuledger_service::ring::{Ring, Size, VERSION};
use cpuledger_service::server::{Answer, Handler, Limits, Peer, Server, listen};
use cpuledger_service::varlink::{Info, LedgerRequest, Listing, Refusal, SourceFacts, Subscription};

pub const USUAL_NS: u64 = 1_000_000_000;
pub const SHORTEST_NS: u64 = 100_000_000;
/// For anything that does not take long.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// Longer than a reader waits for an answer, which is half a second.
pub const LATE: Duration = Duration::from_millis(600);

const SIZE: Size = Size { bytes: 1 << 16, frames: 64 };

/// What the service has, and how it answers.
pub struct State {
    ring: Ring,
    fd: Arc<OwnedFd>,
    /// Where the first frame began.
    pub start_ns: u64,
    /// Where the last frame ended.
    pub end_ns: u64,
    /// What each call of Subscribe has asked for.
    pub asked: Vec<u64>,
    /// What each connection asks for at present.
    pub requests: HashMap<u64, u64>,
    /// What another user asks for.
    pub of_another_ns: u64,
    /// The call after this number of others is answered late.
    pub late_after: Option<u32>,
    /// Whether calls of Subscribe are refused.
    pub refuses: bool,
    /// Whether they are, unless they ask for this length.
    pub refuses_all_but_ns: Option<u64>,
    /// Listings so far.
    pub listings: i32,
}

impl State {
    fn new() -> State {
        let ring = Ring::create("test", SIZE).expect("a ring");
        let fd = Arc::new(ring.fd().try_clone_to_owned().expect("a descriptor"));
        let now_ns = monotonic_ns();
        State {
            ring,
            fd,
            start_ns: now_ns,
            end_ns: now_ns,
            asked: Vec::new(),
            requests: HashMap::new(),
            of_another_ns: USUAL_NS,
            late_after: None,
            refuses: false,
            refuses_all_but_ns: None,
            listings: 0,
        }
    }

    /// Ends an interval now: one CPU was idle.
    pub fn publish(&mut self) {
        let (start_ns, end_ns) = (self.end_ns, monotonic_ns().max(self.end_ns + 1));
        let capacity_ns = end_ns - start_ns;
        let interval = make!(Interval {
            start_ns,
            end_ns,
            online_cpus: 1,
            capacity_ns,
            idle_ns: Some(capacity_ns),
            unattributed_ns: Some(0),
        });
        let (mut frame, mut bytes) = (Frame::new(), Vec::new());
        framing::write(&interval, &Circumstances::default(), &mut frame);
        frame.encode(&mut bytes).expect("a frame");
        self.ring.publish(&bytes).expect("it fits");
        self.end_ns = end_ns;
    }

    /// Another ring follows, which is empty.
    pub fn move_ring(&mut self) {
        let old = cpuledger_service::ring::Reader::open(&self.fd).expect("a ring");
        let next = Ring::successor("test", SIZE, &old).expect("a ring");
        self.fd = Arc::new(next.fd().try_clone_to_owned().expect("a descriptor"));
        drop(std::mem::replace(&mut self.ring, next));
    }

    fn refuses(&self, asked_ns: Option<i64>) -> bool {
        let asked_ns = asked_ns.map(i64::unsigned_abs);
        self.refuses || self.refuses_all_but_ns.is_some_and(|granted_ns| asked_ns != Some(granted_ns))
    }

    fn interval_ns(&self) -> u64 {
        self.requests.values().copied().fold(USUAL_NS.min(self.of_another_ns), u64::min)
    }

    fn list(&mut self) -> Result<Answer, Refusal> {
        self.listings += 1;
        let (pid, tid) = (Pid(self.listings), Tid(self.listings));
        let processes = vec![make!(Task { known: FieldSet::default(), pid, tid })];
        let (mut frame, mut bytes) = (Frame::new(), Vec::new());
        framing::write_listing(&make!(Snapshot { processes }), FieldSet::default(), &mut frame);
        frame.encode(&mut bytes).expect("a frame");
        let listing = make!(Listing { length: bytes.len() as u64, audience: "all".into() });
        Ok(make!(Answer { frame: Some(Arc::new(bytes)), ..Answer::new(&listing, Vec::new())? }))
    }
}

struct Made(Arc<Mutex<State>>);

impl Handler for Made {
    fn answer(&mut self, peer: &Peer, request: LedgerRequest) -> Result<Answer, Refusal> {
        let late_after = self.0.lock().expect("a state").late_after;
        if late_after == Some(0) {
            std::thread::sleep(LATE);
        }
        let mut state = self.0.lock().expect("a state");
        state.late_after = late_after.and_then(|calls| calls.checked_sub(1));
        match request {
            LedgerRequest::Info => Answer::new(&info(state.interval_ns()), Vec::new()),
            LedgerRequest::List(_) => state.list(),
            LedgerRequest::Describe => Err(Refusal::Unavailable { sentence: "nothing".into() }),
            LedgerRequest::Subscribe(wanted) if state.refuses(wanted.interval_ns) => {
                Err(Refusal::LimitReached { sentence: "a limit is reached".into() })
            }
            LedgerRequest::Subscribe(wanted) => {
                let asked_ns = wanted.interval_ns.map_or(USUAL_NS, i64::unsigned_abs);
                state.asked.push(asked_ns);
                state.requests.insert(peer.connection, asked_ns);
                if asked_ns == SHORTEST_NS {
                    state.publish();
                }
                let interval_ns = state.interval_ns().cast_signed();
                let (audience, accounts) = ("all".into(), Vec::new());
                let subscription =
                    make!(Subscription { ring: 0, layout: VERSION, audience, interval_ns, accounts });
                Answer::new(&subscription, vec![Arc::clone(&state.fd)])
            }
        }
    }

    fn closed(&mut self, peer: &Peer) {
        self.0.lock().expect("a state").requests.remove(&peer.connection);
    }
}

fn info(interval_ns: u64) -> Info {
    make!(Info {
        version: "0.0.0".into(),
        boot_id: "none".into(),
        interval_ns: interval_ns.cast_signed(),
        shortest_interval_ns: SHORTEST_NS.cast_signed(),
        recording: None,
        unbalanced_intervals: Some(0),
        accounts: Vec::new(),
        possible_accounts: Vec::new(),
        audiences: vec!["all".into()],
        source: make!(SourceFacts { source: "none".into(), attached_since_ns: None, unseen: Vec::new() }),
    })
}

/// The service, which ends with this value.
pub struct Service {
    state: Arc<Mutex<State>>,
    /// Whether it takes no call.
    is_silent: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    folder: tempfile::TempDir,
}

impl Service {
    pub fn start() -> Service {
        let folder = tempfile::tempdir().expect("a folder");
        let (listener, file) = listen(&folder.path().join("socket")).expect("a socket");
        let mut server = Server::new(listener, "0.0.0", Limits::default()).expect("a server");
        let state = Arc::new(Mutex::new(State::new()));
        let (is_silent, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (silent, over, mut made) =
            (Arc::clone(&is_silent), Arc::clone(&is_over), Made(Arc::clone(&state)));
        let serve = move || {
            let _file = file;
            while !over.load(Relaxed) {
                let turn = Duration::from_millis(5);
                if silent.load(Relaxed) {
                    std::thread::sleep(turn);
                } else {
                    server.serve_until(Instant::now() + turn, &mut made).expect("it serves");
                }
            }
        };
        let thread = Some(std::thread::spawn(serve));
        Service { state, is_silent, is_over, thread, folder }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a state")
    }

    /// Takes no more calls, as if it were stopped; or takes them again.
    pub fn be_silent(&self, is_silent: bool) {
        self.is_silent.store(is_silent, Relaxed);
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(matches!(ended, Some(Ok(()))) || std::thread::panicking(), "the service has panicked");
    }
}
