//! The loop.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

use super::connection::{Closed, Connection, thread_time};
use super::handler::{Answer, Gathering, Handler};
use super::limits::Limits;
use super::options;
use super::peer::Peer;
use super::unread::Unread;
use super::users::Users;
use crate::descriptors;
use crate::varlink::{Call, LedgerRequest, Refusal, Request};

/// The listening socket, as epoll names it. Connections have the numbers behind these.
const LISTENER: u64 = 0;
/// A descriptor that ends the loop, as epoll names it.
const WATCHED: u64 = 1;

/// Events that are taken at once.
const MAX_EVENTS: usize = 256;
/// Connections that are accepted before the others are looked at again.
const ACCEPTED_AT_ONCE: usize = 64;
/// Bytes that are taken of a connection at once.
const RECEIVED_AT_ONCE: usize = 16 << 10;
/// How long the listening socket is left alone when descriptors or memory run out.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a connection is not read at least, whose user has to wait.
const SHORTEST_HOLD: Duration = Duration::from_millis(50);

/// Why the loop has come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The deadline is over.
    Deadline,
    /// The descriptor of [`Server::watch`] is readable.
    Watched,
}

/// What epoll has told of.
#[derive(Debug, Default)]
struct Come {
    /// Callers that were accepted.
    callers: usize,
    /// Connections by which something has come.
    connections: usize,
    is_watched: bool,
}

/// Callers beyond the limits that get a sentence before they are closed. Its memory is that of this process for as long as they do not read
/// it, and nothing counts them.
const FAREWELLS: u32 = 16 << 10;
/// The time after which one more may get it.
const PER_FAREWELL: Duration = Duration::from_secs(10);

/// The connections of a listening socket.
#[derive(Debug)]
pub struct Server {
    epoll: OwnedFd,
    listener: OwnedFd,
    version: String,
    limits: Limits,
    users: Users,
    connections: HashMap<u64, Connection>,
    next_connection: u64,
    /// Connections that keep the service waiting: the only ones whose time is looked at.
    waiting: BTreeSet<u64>,
    /// Connections with calls that another turn has to answer.
    unfinished: BTreeSet<u64>,
    /// Connections that are not read until then, as their users have to wait.
    held: BTreeMap<u64, Instant>,
    /// Frames that were asked for and not read.
    unread: Unread,
    /// Connections that are left, and count until their peers have read what was sent.
    left: usize,
    /// Sentences for callers beyond the limits that are left, and when the last became one more.
    farewells: (u32, Instant),
    /// When the listening socket is looked at again.
    pause_until: Option<Instant>,
    /// How calls gather, for the next turn to answer them together.
    gathering: Option<Gathering>,
    buffer: Vec<u8>,
}

impl Server {
    /// Serves a listening socket: that of `listen`, or one of a service manager. `version` is what it says of itself.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn new(listener: OwnedFd, version: &str, limits: Limits) -> io::Result<Server> {
        rustix::io::ioctl_fionbio(&listener, true)?;
        options::refuse_descriptors(&listener);
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Server {
            epoll,
            listener,
            version: version.to_owned(),
            limits,
            users: Users::default(),
            connections: HashMap::new(),
            next_connection: WATCHED + 1,
            waiting: BTreeSet::new(),
            unfinished: BTreeSet::new(),
            held: BTreeMap::new(),
            unread: Unread::default(),
            left: 0,
            farewells: (FAREWELLS, Instant::now()),
            pause_until: None,
            gathering: None,
            buffer: vec![0; RECEIVED_AT_ONCE],
        })
    }

    /// Lets [`Server::serve_until`] come back when `fd` is readable, too: an eventfd, or one that tells of signals.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn watch(&mut self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(WATCHED), EventFlags::IN)?)
    }

    /// Connections that are served.
    pub fn connections(&self) -> usize {
        self.users.connections() - self.left
    }

    /// Serves until `deadline`, or until the watched descriptor is readable.
    ///
    /// # Errors
    /// When epoll itself fails. What a peer does is no error.
    pub fn serve_until(&mut self, deadline: Instant, handler: &mut impl Handler) -> io::Result<Ended> {
        loop {
            let is_watched = self.turn(deadline, handler)?;
            if is_watched {
                return Ok(Ended::Watched);
            }
            if Instant::now() >= deadline {
                return Ok(Ended::Deadline);
            }
        }
    }

    /// Waits for events, takes what has come by all of them, and answers then. Whether the watched descriptor is readable.
    fn turn(&mut self, deadline: Instant, handler: &mut impl Handler) -> io::Result<bool> {
        let timeout = self.timeout(deadline);
        let mut ready = std::mem::take(&mut self.unfinished);
        ready.extend(self.release(Instant::now()));
        let is_watched = self.gather(&mut ready, handler)? || self.collect(timeout, &mut ready, handler)?;
        for connection in ready {
            if self.answer(connection, handler).is_err() {
                self.close(connection, handler);
            }
        }
        self.gathering = handler.end_turn();
        self.end_what_is_late(handler)?;
        Ok(is_watched)
    }

    /// Lets calls gather, if they shall. Whether the watched descriptor is readable.
    fn gather(&mut self, ready: &mut BTreeSet<u64>, handler: &mut impl Handler) -> io::Result<bool> {
        let Some(Gathering { mut least, pause, longest }) = self.gathering.take() else { return Ok(false) };
        let begin = Instant::now();
        let end = begin + longest;
        let mut quiet_at = if least > 0 { begin } else { begin + pause };
        loop {
            let come =
                self.take_events(quiet_at.saturating_duration_since(Instant::now()), ready, handler)?;
            let now = Instant::now();
            if come.is_watched || now >= end {
                return Ok(come.is_watched);
            }
            if come.callers + come.connections >= least.max(1) {
                (least, quiet_at) = (1, (now + pause).min(end));
            } else if now >= quiet_at {
                return Ok(false);
            }
        }
    }

    /// Takes what comes within this time; if there are calls already, what is there. Whether the watched descriptor is readable.
    fn collect(
        &mut self,
        timeout: Duration,
        ready: &mut BTreeSet<u64>,
        handler: &mut impl Handler,
    ) -> io::Result<bool> {
        let timeout = if ready.is_empty() { timeout } else { Duration::ZERO };
        let come = self.take_events(timeout, ready, handler)?;
        if come.callers == 0 {
            return Ok(come.is_watched);
        }
        // Most callers that are accepted have sent their call already.
        Ok(self.take_events(Duration::ZERO, ready, handler)?.is_watched || come.is_watched)
    }

    /// Waits for events, and takes what has come by all of them.
    fn take_events(
        &mut self,
        timeout: Duration,
        ready: &mut BTreeSet<u64>,
        handler: &mut impl Handler,
    ) -> io::Result<Come> {
        let mut space = [MaybeUninit::<epoll::Event>::uninit(); MAX_EVENTS];
        let timeout = Timespec::try_from(timeout).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        let mut come = Come::default();
        let events = match epoll::wait(&self.epoll, &mut space, Some(&timeout)) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(come),
            Err(errno) => return Err(errno.into()),
        };
        let mut has_callers = false;
        for event in &*events {
            match event.data.u64() {
                LISTENER => has_callers = true,
                WATCHED => come.is_watched = true,
                connection => match self.take(connection, event.flags, handler) {
                    Err(Closed) => {
                        self.close(connection, handler);
                        ready.remove(&connection);
                    }
                    Ok(false) => {}
                    Ok(true) => {
                        let flags = event.flags;
                        come.connections += usize::from(flags.contains(EventFlags::IN));
                        ready.insert(connection);
                    }
                },
            }
        }
        if has_callers {
            come.callers = self.accept()?;
        }
        Ok(come)
    }

    /// How long epoll may wait.
    fn timeout(&self, deadline: Instant) -> Duration {
        let now = Instant::now();
        let late =
            self.waiting.iter().filter_map(|id| self.connections.get(id)?.deadline(&self.limits)).min();
        let held = self.held.values().copied().min();
        let until = [late, self.pause_until, held].into_iter().flatten().fold(deadline, Instant::min);
        if self.unfinished.is_empty() { until.saturating_duration_since(now) } else { Duration::ZERO }
    }

    /// Takes what has come by a connection, and sends what is left for it. One that its peer has closed cannot be answered, so it is
    /// closed at once: epoll would tell of it again and again while calls gather. Whether it may have a call to be answered.
    fn take(&mut self, id: u64, flags: EventFlags, handler: &mut impl Handler) -> Result<bool, Closed> {
        let Some(connection) = self.connections.get_mut(&id) else { return Ok(false) };
        if connection.is_left {
            return if connection.is_read() { Err(Closed) } else { Ok(false) };
        }
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            return Err(Closed);
        }
        if flags.contains(EventFlags::OUT) {
            connection.go_on()?;
            let used = connection.take_used();
            handler.has_used(&connection.peer, used);
            self.unfinished.extend(self.unread.count(id, connection));
        }
        let before = connection.pending();
        if flags.contains(EventFlags::IN) {
            connection.receive(&mut self.buffer)?;
        }
        look_at(&self.epoll, id, connection)?;
        let user = connection.peer.user();
        self.users.pend(user, before, connection.pending());
        if self.users.has_too_many_bytes(user, &self.limits) {
            return Err(Closed);
        }
        Ok(!connection.is_answering())
    }

    /// Answers the calls of a connection that are whole, as many as a turn may.
    fn answer(&mut self, id: u64, handler: &mut impl Handler) -> Result<(), Closed> {
        let Some(connection) = self.connections.get_mut(&id).filter(|connection| !connection.is_left) else {
            return Ok(());
        };
        let (user, before) = (connection.peer.user(), connection.pending());
        if before > 0
            && !connection.is_answering()
            && let Err(wait) = handler.may_call(&connection.peer)
        {
            connection.is_held = true;
            connection.begin_anew();
            self.waiting.remove(&id);
            self.held.insert(id, Instant::now() + wait.max(SHORTEST_HOLD));
            return look_at(&self.epoll, id, connection);
        }
        if before > 0 && !self.unread.holds_back(id, user, &self.limits) {
            let is_full = self.unread.is_full(&self.limits);
            let limit = self.limits.calls_of_turn;
            let outcome = answer_calls(connection, (&self.version, is_full), limit, handler);
            self.users.pend(user, before, connection.pending());
            self.unfinished.extend(self.unread.count(id, connection));
            if outcome? {
                self.unfinished.insert(id);
                return Ok(());
            }
        }
        if connection.settle(Instant::now())? {
            self.waiting.insert(id);
        } else {
            self.waiting.remove(&id);
        }
        look_at(&self.epoll, id, connection)
    }

    /// Connections whose users have waited long enough. They are read again.
    fn release(&mut self, now: Instant) -> Vec<u64> {
        let released: Vec<u64> =
            self.held.iter().filter(|(_, until)| **until <= now).map(|(id, _)| *id).collect();
        for id in &released {
            self.held.remove(id);
            if let Some(connection) = self.connections.get_mut(id) {
                connection.is_held = false;
            }
        }
        released
    }

    /// Accepts what waits at the listening socket. Returns how many those were.
    fn accept(&mut self) -> io::Result<usize> {
        let mut accepted = 0;
        for _ in 0..ACCEPTED_AT_ONCE {
            match accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(socket) => {
                    accepted += 1;
                    self.admit(socket);
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
                    self.pause_until = Some(Instant::now() + PAUSE);
                    self.look_at_listener(EventFlags::empty())?;
                    break;
                }
                // The peer has gone, or the kernel tells of an error of its connection.
                Err(_) => {}
            }
        }
        Ok(accepted)
    }

    fn look_at_listener(&self, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, &self.listener, EventData::new_u64(LISTENER), flags)?)
    }

    /// Takes a connection up, if the limits allow it.
    fn admit(&mut self, socket: OwnedFd) {
        let Ok(peer) = Peer::of(self.next_connection, &socket) else { return };
        let user = peer.user();
        if !self.users.connect(user, &self.limits) {
            if !self.may_bid_farewell(Instant::now()) {
                return;
            }
            let sentence = format!(
                "the service has {} connections, and gives a user at most {} of {}",
                self.users.connections(),
                self.limits.connections_of_user,
                self.limits.connections
            );
            // It is told as far as its socket takes it, and closed.
            let reply = Refusal::LimitReached { sentence }.to_reply().to_bytes();
            let _ = descriptors::send(&socket, [&reply, &[]], &[]);
            return;
        }
        let id = self.next_connection;
        self.next_connection += 1;
        if epoll::add(&self.epoll, &socket, EventData::new_u64(id), EventFlags::IN).is_err() {
            return self.users.disconnect(user, 0);
        }
        self.connections.insert(id, Connection::new(socket, peer));
    }

    /// Whether a caller beyond the limits gets a sentence.
    fn may_bid_farewell(&mut self, now: Instant) -> bool {
        let (left, since) = &mut self.farewells;
        let more = now.saturating_duration_since(*since).as_secs() / PER_FAREWELL.as_secs();
        if more > 0 {
            *left = left.saturating_add(u32::try_from(more).unwrap_or(u32::MAX)).min(FAREWELLS);
            *since = now;
        }
        let may = *left > 0;
        *left = left.saturating_sub(1);
        may
    }

    /// Closes the connections whose time is over, and ends a pause.
    fn end_what_is_late(&mut self, handler: &mut impl Handler) -> io::Result<()> {
        let now = Instant::now();
        if self.pause_until.is_some_and(|until| until <= now) {
            self.pause_until = None;
            self.look_at_listener(EventFlags::IN)?;
        }
        let is_late = |id: &u64| {
            let deadline = self.connections.get(id).and_then(|connection| connection.deadline(&self.limits));
            deadline.is_some_and(|deadline| deadline <= now)
        };
        let late: Vec<u64> = self.waiting.iter().copied().filter(is_late).collect();
        late.into_iter().for_each(|id| self.close(id, handler));
        Ok(())
    }

    /// Closes a connection. It is left, and counts for its user, while its peer has not read all that was sent.
    fn close(&mut self, id: u64, handler: &mut impl Handler) {
        self.waiting.remove(&id);
        self.unfinished.remove(&id);
        self.held.remove(&id);
        self.unread.end(id);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let user = connection.peer.user();
        let was_left = connection.is_left;
        if !was_left {
            self.users.pend(user, connection.pending(), 0);
            handler.closed(&connection.peer);
        }
        let is_read = connection.leave();
        self.unfinished.extend(self.unread.count(id, connection));
        if !is_read && look_at(&self.epoll, id, connection).is_ok() {
            self.left += usize::from(!was_left);
            return;
        }
        self.left -= usize::from(was_left);
        self.unfinished.extend(self.unread.forget(id));
        self.connections.remove(&id);
        self.users.disconnect(user, 0);
    }
}

/// For a loop of another kind: readable when there is something to do.
impl AsFd for Server {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Tells epoll what it is to look at of a connection, where that has changed.
fn look_at(epoll: &OwnedFd, id: u64, connection: &mut Connection) -> Result<(), Closed> {
    let wanted = connection.wanted();
    if wanted != connection.interest {
        connection.interest = wanted;
        epoll::modify(epoll, &*connection, EventData::new_u64(id), wanted).map_err(|_| Closed)?;
    }
    Ok(())
}

/// Answers at most `limit` calls. Whether there may be more.
fn answer_calls(
    connection: &mut Connection,
    (version, is_full): (&str, bool),
    limit: usize,
    handler: &mut impl Handler,
) -> Result<bool, Closed> {
    for _ in 0..limit {
        let begin = thread_time();
        let Some(message) = connection.next_call()? else { return Ok(false) };
        let call = Call::parse(&message).map_err(|_| Closed)?;
        let answer = answer_call(&connection.peer, &call, (version, is_full), handler);
        connection.begin_anew();
        if !call.oneway {
            connection.answer(answer)?;
        }
        // With that of its frame.
        connection.take_used();
        handler.has_called(&connection.peer, thread_time().saturating_sub(begin));
    }
    Ok(true)
}

fn answer_call(
    peer: &Peer,
    call: &Call,
    (version, is_full): (&str, bool),
    handler: &mut impl Handler,
) -> Answer {
    let answered = match Request::of(call) {
        Ok(Request::Service(request)) => request.reply(version).map(|reply| Answer { reply, ..Answer::default() }),
        Ok(Request::Ledger(LedgerRequest::List(_))) if is_full => Err(Refusal::LimitReached {
            sentence: "users have not read the listings that they have asked for, and there is no room for more: call again".into(),
        }),
        Ok(Request::Ledger(request)) => handler.answer(peer, request),
        Err(refusal) => Err(refusal),
    };
    answered.unwrap_or_else(|refusal| Answer { reply: refusal.to_reply(), ..Answer::default() })
}
