//! A ring for each audience: all, and each user that asks.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cpuledger::Interval;
use cpuledger::framing::{self, Circumstances};
use cpuledger_model::audience::{Strangers, Viewer};
use cpuledger_model::frame::Frame;
use cpuledger_model::make;
use cpuledger_service::ring::{Reader, Retired, Ring, RingError, Size};

use super::config::Limits;
use super::log::{log, log_of_reader};
use super::room::{FIRST_BYTES, Room, USERS_BYTES};
use crate::record::beside::tell_watched;

/// Frames that a ring holds at most: a reader that is further behind loses some.
const FRAMES: usize = 64;
/// How long a ring that was kept over a restart waits for its readers.
const RETURN: Duration = Duration::from_secs(60);
/// How long a ring of a user is there without readers. A reader that keeps the descriptor of one that has ended keeps about a kilobyte of
/// the service's memory with it, and makes a new one only after that time.
const LINGERING: Duration = Duration::from_secs(60);
/// How long the frames of a ring that has ended are there for readers that are on their way to the next one.
const GRACE: Duration = Duration::from_secs(1);

/// What a ring shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Those that see all.
    All,
    /// A user.
    User(Viewer),
}

impl Audience {
    /// The name by which its ring is kept over a restart.
    pub fn key(self) -> String {
        match self {
            Audience::All => "all".into(),
            Audience::User(Viewer { uid, gid, may_trace_own, strangers }) => {
                let strangers = match strangers {
                    Strangers::Shown => "shown",
                    Strangers::Summed => "summed",
                };
                let own = if may_trace_own { "traced" } else { "untraced" };
                format!("{uid}-{gid}-{own}-{strangers}")
            }
        }
    }

    /// The audience of such a name.
    pub fn by_key(key: &str) -> Option<Audience> {
        if key == "all" {
            return Some(Audience::All);
        }
        let mut numbers = key.split('-').map(str::parse);
        let (uid, gid) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        let of = |may_trace_own, strangers| Audience::User(Viewer { uid, gid, may_trace_own, strangers });
        let all =
            [true, false].map(|own| [Strangers::Shown, Strangers::Summed].map(|others| of(own, others)));
        all.into_iter().flatten().find(|audience| audience.key() == key)
    }
}

/// The rings, shared by the thread that publishes and the one that hands them out.
#[derive(Debug)]
pub struct Audiences {
    state: Mutex<State>,
    boot_id: Option<String>,
}

#[derive(Debug, Default)]
struct State {
    rings: HashMap<Audience, Published>,
    /// Rings that have ended, and when.
    retired: Vec<(Retired, Instant)>,
    /// The last interval, for a reader that comes now.
    last: Option<Last>,
    frame: Frame,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Published {
    ring: Ring,
    readers: usize,
    /// Until when it is there without readers.
    kept_until: Option<Instant>,
    /// It is published to meanwhile: the service was restarted, and its readers come back.
    is_awaited: bool,
    /// The last interval is not in it, as it had no reader then.
    is_behind: bool,
    room: Room,
}

impl Published {
    fn new(ring: Ring) -> Published {
        // It holds nothing yet.
        Published {
            ring,
            readers: 0,
            kept_until: None,
            is_awaited: false,
            is_behind: true,
            room: Room::default(),
        }
    }

    /// Whether it has readers, or may have some that are on their way back.
    fn is_read(&self, now: Instant) -> bool {
        self.readers > 0 || (self.is_awaited && self.kept_until.is_some_and(|until| now < until))
    }
}

/// An interval that was closed.
#[derive(Debug, Default)]
pub struct Last {
    pub interval: Interval,
    pub of: Circumstances<'static>,
}

impl Audiences {
    /// The ring of all rows, and those that go on where these of a service before have ended.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new(kept: Vec<(Audience, OwnedFd)>) -> Result<Audiences, RingError> {
        let kept_until = Some(Instant::now() + RETURN);
        let mut rings = HashMap::new();
        let mut retired = Vec::new();
        for (audience, file) in kept {
            let old = Reader::open(&file)?;
            let ring = Ring::successor(&memory_name(audience), old.size(), &old)?;
            rings.insert(audience, Published { kept_until, is_awaited: true, ..Published::new(ring) });
            retired.push((Retired::of(file), Instant::now()));
        }
        if let Entry::Vacant(all) = rings.entry(Audience::All) {
            all.insert(Published::new(create(Audience::All)?));
        }
        let state = State { rings, retired, ..State::default() };
        Ok(Audiences { state: Mutex::new(state), boot_id: cpuledger::machine::boot_id() })
    }

    /// All rings, for a service that follows this one.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn rings(&self) -> io::Result<Vec<(Audience, OwnedFd)>> {
        let state = self.lock();
        let rings = state.rings.iter();
        rings.map(|(audience, of)| Ok((*audience, of.ring.for_successor()?))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes an interval to each audience that has readers. Others get it when one subscribes, if it is still the last. Returns the
    /// interval before, whose memory can be reused, and whether it was published at all.
    pub fn publish(&self, mut last: Last) -> (Option<Last>, bool) {
        let (mut state, now) = (self.lock(), Instant::now());
        state.close_forsaken(now);
        let mut audiences: Vec<Audience> = Vec::new();
        for (audience, of) in &mut state.rings {
            of.is_behind = !of.is_read(now);
            if of.is_behind {
                of.ring.skip();
            } else {
                audiences.push(*audience);
            }
        }
        let is_published = !audiences.is_empty();
        if !audiences.iter().any(|audience| matches!(audience, Audience::User(_))) {
            // A storm may have made it large.
            state.frame = Frame::default();
        }
        for audience in audiences {
            if let Err(error) = state.publish(audience, &mut last, self.boot_id.as_deref()) {
                log(&format!("cannot publish to {}: {error}", name(audience)));
            }
        }
        (state.last.replace(last), is_published)
    }

    /// Shows the last interval, as it was closed.
    pub fn show_last(&self, look: impl FnOnce(&Last)) {
        if let Some(last) = &self.lock().last {
            look(last);
        }
    }

    /// Wakes readers that have not been woken by others. Returns how many there were.
    pub fn wake_rest(&self) -> usize {
        self.lock().rings.values().map(|published| published.ring.wake_rest()).sum()
    }

    /// The ring of an audience, for a reader that is new or has one already. `None`: there are as many as there may be.
    ///
    /// # Errors
    /// When there is no memory for a new ring.
    pub fn subscribe(
        &self,
        audience: Audience,
        is_new: bool,
        limits: &Limits,
    ) -> Result<Option<OwnedFd>, RingError> {
        let mut state = self.lock();
        let is_new_ring = !state.rings.contains_key(&audience);
        if is_new_ring {
            if !state.makes_room(audience, limits) {
                return Ok(None);
            }
            let ring = create(audience)?;
            state.rings.insert(audience, Published::new(ring));
            log_of_reader(&format!("opened the ring of {}", name(audience)));
        }
        // It shows the last interval at once.
        if state.rings.get(&audience).is_some_and(|of| of.is_behind)
            && let Some(mut last) = state.last.take()
        {
            let published = state.publish(audience, &mut last, self.boot_id.as_deref());
            state.last = Some(last);
            if published.is_err() && is_new_ring {
                state.close(audience);
            }
            published?;
        }
        let Some(published) = state.rings.get_mut(&audience) else { return Ok(None) };
        let ring = published
            .ring
            .fd()
            .try_clone_to_owned()
            .map_err(|_| RingError::NoRing("no descriptor is left"))?;
        published.readers += usize::from(is_new);
        published.kept_until = None;
        published.is_awaited = false;
        published.is_behind = false;
        Ok(Some(ring))
    }

    /// A reader has gone. The ring of a user goes when no reader has come for a while.
    pub fn unsubscribe(&self, audience: Audience) {
        let mut state = self.lock();
        let Some(published) = state.rings.get_mut(&audience) else { return };
        published.readers = published.readers.saturating_sub(1);
        if published.readers == 0 {
            published.kept_until = Some(Instant::now() + LINGERING);
        }
    }
}

impl State {
    /// Whether there may be one ring more, for this audience. That of all rows is always there. One without readers makes room for that of
    /// another user.
    fn makes_room(&mut self, audience: Audience, limits: &Limits) -> bool {
        let user = |audience: &Audience| match audience {
            Audience::All => None,
            Audience::User(viewer) => Some(viewer.uid),
        };
        let uid = user(&audience);
        let of_user = self.rings.keys().filter(|other| user(other) == uid).count();
        if of_user >= limits.rings_per_user {
            return false;
        }
        if self.rings.len() > limits.rings
            && let Some(left) = self.longest_left()
        {
            self.close(left);
        }
        self.rings.len() <= limits.rings
    }

    /// The ring of a user that has been without readers for the longest time.
    fn longest_left(&self) -> Option<Audience> {
        let left = self
            .rings
            .iter()
            .filter(|(audience, of)| **audience != Audience::All && of.readers == 0 && !of.is_awaited);
        left.min_by_key(|(_, of)| of.kept_until).map(|(audience, _)| *audience)
    }

    /// Ends a ring. Its memory is taken back later.
    fn close(&mut self, audience: Audience) {
        let Some(published) = self.rings.remove(&audience) else { return };
        self.retire(published.ring);
        log_of_reader(&format!("closed the ring of {}", name(audience)));
    }

    fn retire(&mut self, ring: Ring) {
        self.retired.push((ring.retire(), Instant::now()));
    }

    /// Closes the rings of users that have no readers, or whose readers have not come back after a restart.
    fn close_forsaken(&mut self, now: Instant) {
        let is_forsaken = |(audience, of): &(&Audience, &Published)| {
            **audience != Audience::All && of.kept_until.is_some_and(|until| until <= now)
        };
        let forsaken: Vec<Audience> =
            self.rings.iter().filter(is_forsaken).map(|(audience, _)| *audience).collect();
        forsaken.into_iter().for_each(|audience| self.close(audience));
        let is_over = |(_, since): &mut (Retired, Instant)| now.saturating_duration_since(*since) >= GRACE;
        for (retired, _) in self.retired.extract_if(.., is_over) {
            if let Err(error) = retired.free() {
                log(&format!("the memory of a ring stays for as long as readers keep it: {error}"));
            }
        }
    }

    fn publish(
        &mut self,
        audience: Audience,
        last: &mut Last,
        boot_id: Option<&str>,
    ) -> Result<(), RingError> {
        let of = make!(Circumstances { boot_id, ..last.of });
        let encoded = match audience {
            Audience::All => {
                // The recording has the same one. What was published before lends its memory.
                let frame = last.interval.frame.take().unwrap_or_else(|| {
                    let spare = self.last.as_mut().and_then(|before| before.interval.frame.take());
                    let mut frame = framing::write_shared(&last.interval, &of, spare.unwrap_or_default());
                    tell_watched(Arc::make_mut(&mut frame));
                    frame
                });
                last.interval.frame.insert(frame).encode(&mut self.bytes)
            }
            Audience::User(viewer) => {
                let (interval, of) = viewer.restrict(&last.interval, &of);
                framing::write(&interval, &of, &mut self.frame);
                self.frame.encode(&mut self.bytes)
            }
        };
        encoded.map_err(|_| RingError::NoRing("the frame is beyond the limits"))?;
        let others = self.bytes_of_users_but(audience);
        let Some(published) = self.rings.get_mut(&audience) else { return Ok(()) };
        let most = if audience == Audience::All { usize::MAX } else { USERS_BYTES.saturating_sub(others) };
        let size = published.room.of_ring(published.ring.size(), self.bytes.len(), most);
        let Some(bytes) = size else {
            published.ring.skip();
            return Err(RingError::TooLong { length: self.bytes.len(), longest: most / 2 });
        };
        if bytes != published.ring.size() {
            let old = Reader::open(published.ring.fd())?;
            let ring = Ring::successor(&memory_name(audience), Size { bytes, frames: FRAMES }, &old)?;
            let old = std::mem::replace(&mut published.ring, ring);
            self.retire(old);
            log(&format!("the ring of {} has {bytes} bytes from now on", name(audience)));
        }
        let Some(published) = self.rings.get_mut(&audience) else { return Ok(()) };
        published.ring.publish(&self.bytes).map(|_| ())
    }

    /// The bytes of the rings of users, but for this one.
    fn bytes_of_users_but(&self, audience: Audience) -> usize {
        let others = self.rings.iter().filter(|(other, _)| **other != audience && **other != Audience::All);
        others.map(|(_, of)| of.ring.size()).sum()
    }
}

fn create(audience: Audience) -> Result<Ring, RingError> {
    Ring::create(&memory_name(audience), Size { bytes: FIRST_BYTES, frames: FRAMES })
}

fn memory_name(audience: Audience) -> String {
    match audience {
        Audience::All => "cpuledger-all".into(),
        Audience::User(viewer) => format!("cpuledger-{}", viewer.uid),
    }
}

fn name(audience: Audience) -> String {
    match audience {
        Audience::All => "all".into(),
        Audience::User(viewer) => format!("user {}", viewer.uid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audience_is_known_by_its_key() {
        for strangers in [Strangers::Shown, Strangers::Summed] {
            for may_trace_own in [true, false] {
                let audience = Audience::User(Viewer { uid: 7, gid: 8, may_trace_own, strangers });
                assert_eq!(Audience::by_key(&audience.key()), Some(audience));
            }
        }
        assert_eq!(Audience::by_key(&Audience::All.key()), Some(Audience::All));
        for key in
            ["", "7", "7-8-traced", "7-8-9", "7-8-traced-shown-9", "-7-8-traced-shown", "7-8-shown-traced"]
        {
            assert_eq!(Audience::by_key(key), None, "{key}");
        }
    }
}
