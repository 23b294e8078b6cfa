//! A ring for each audience: all, and each user that asks.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cpuledger::audience::{Strangers, Viewer};
use cpuledger::frames::{self, Circumstances};
use cpuledger::{Interval, Snapshot};
use cpuledger_frame::Frame;
use cpuledger_service::ring::{Reader, Ring, RingError, Size};

use super::config::Limits;
use super::log::{log, log_of_reader};

/// Frames that a ring holds at most: a reader that is further behind loses some.
const FRAMES: usize = 64;
/// The data area of a new ring; where frames are longer, a larger ring follows it.
const FIRST_BYTES: usize = 1 << 20;
/// How many times the longest frame a ring that follows has room for.
const FRAMES_OF_ROOM: usize = 4;
/// How long a ring that was kept over a restart waits for its readers.
const RETURN: Duration = Duration::from_secs(60);

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
        let mut parts = key.split('-');
        let (uid, gid) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let may_trace_own = match parts.next()? {
            "traced" => true,
            "untraced" => false,
            _ => return None,
        };
        let strangers = match parts.next()? {
            "shown" => Strangers::Shown,
            "summed" => Strangers::Summed,
            _ => return None,
        };
        parts.next().is_none().then_some(Audience::User(Viewer { uid, gid, may_trace_own, strangers }))
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
    /// The last interval, for a reader that comes now.
    last: Option<Last>,
    frame: Frame,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Published {
    ring: Ring,
    readers: usize,
    /// Until when it is there without readers: the service was restarted, and they may come back.
    kept_until: Option<Instant>,
    /// The last interval is not in it, as it had no reader then.
    is_behind: bool,
}

impl Published {
    fn new(ring: Ring) -> Published {
        // It holds nothing yet.
        Published { ring, readers: 0, kept_until: None, is_behind: true }
    }

    /// Whether it has readers, or may have some that are on their way back.
    fn is_read(&self, now: Instant) -> bool {
        self.readers > 0 || self.kept_until.is_some_and(|until| now < until)
    }
}

/// An interval that was closed.
#[derive(Debug, Default)]
pub struct Last {
    pub snapshot: Snapshot,
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
        for (audience, old) in kept {
            let old = Reader::open(old)?;
            let ring = Ring::successor(&memory_name(audience), old.size(), &old)?;
            rings.insert(audience, Published { kept_until, ..Published::new(ring) });
        }
        if let Entry::Vacant(all) = rings.entry(Audience::All) {
            all.insert(Published::new(create(Audience::All, FIRST_BYTES)?));
        }
        let state = State { rings, ..State::default() };
        Ok(Audiences { state: Mutex::new(state), boot_id: cpuledger::machine::boot_id() })
    }

    /// All rings, for a service that follows this one.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn rings(&self) -> io::Result<Vec<(Audience, OwnedFd)>> {
        let state = self.lock();
        let rings = state.rings.iter();
        rings.map(|(audience, of)| Ok((*audience, of.ring.fd().try_clone_to_owned()?))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes an interval to each audience that has readers. Others get it when one subscribes, if it is still the last. Returns the
    /// interval before, whose memory can be reused, and whether it was published at all.
    pub fn publish(&self, last: Last) -> (Option<Last>, bool) {
        let (mut state, now) = (self.lock(), Instant::now());
        state.close_forsaken(now);
        let mut audiences: Vec<Audience> = Vec::new();
        for (audience, of) in &mut state.rings {
            of.is_behind = !of.is_read(now);
            if !of.is_behind {
                audiences.push(*audience);
            }
        }
        let is_published = !audiences.is_empty();
        for audience in audiences {
            if let Err(error) = state.publish(audience, &last, self.boot_id.as_deref()) {
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

    /// The ring of an audience, for one reader more. `None`: there are as many as there may be.
    ///
    /// # Errors
    /// When there is no memory for a new ring.
    pub fn subscribe(&self, audience: Audience, limits: &Limits) -> Result<Option<OwnedFd>, RingError> {
        let mut state = self.lock();
        if !state.rings.contains_key(&audience) {
            if !state.has_room(audience, limits) {
                return Ok(None);
            }
            let ring = create(audience, FIRST_BYTES)?;
            state.rings.insert(audience, Published::new(ring));
            log_of_reader(&format!("opened the ring of {}", name(audience)));
        }
        // It shows the last interval at once.
        if state.rings.get(&audience).is_some_and(|of| of.is_behind)
            && let Some(last) = state.last.take()
        {
            let published = state.publish(audience, &last, self.boot_id.as_deref());
            state.last = Some(last);
            published?;
        }
        let Some(published) = state.rings.get_mut(&audience) else { return Ok(None) };
        let ring = published
            .ring
            .fd()
            .try_clone_to_owned()
            .map_err(|_| RingError::NoRing("no descriptor is left"))?;
        published.readers += 1;
        published.kept_until = None;
        published.is_behind = false;
        Ok(Some(ring))
    }

    /// A reader has gone. The ring of a user goes when the next interval is published, if no reader has come by then. To make one each time
    /// that a reader comes and goes would keep the intervals of others waiting.
    pub fn unsubscribe(&self, audience: Audience) {
        let mut state = self.lock();
        let Some(published) = state.rings.get_mut(&audience) else { return };
        published.readers = published.readers.saturating_sub(1);
        if published.readers == 0 {
            published.kept_until = Some(Instant::now());
        }
    }
}

impl State {
    /// Whether there may be one ring more, for this audience. That of all rows is always there.
    fn has_room(&self, audience: Audience, limits: &Limits) -> bool {
        let user = |audience: &Audience| match audience {
            Audience::All => None,
            Audience::User(viewer) => Some(viewer.uid),
        };
        let uid = user(&audience);
        let of_user = self.rings.keys().filter(|other| user(other) == uid).count();
        self.rings.len() <= limits.rings && of_user < limits.rings_per_user
    }

    /// Closes the rings of users that have no readers, or whose readers have not come back after a restart.
    fn close_forsaken(&mut self, now: Instant) {
        self.rings.retain(|audience, of| {
            let is_kept = *audience == Audience::All || of.kept_until.is_none_or(|until| now < until);
            if !is_kept {
                log_of_reader(&format!("closed the ring of {}", name(*audience)));
            }
            is_kept
        });
    }

    fn publish(&mut self, audience: Audience, last: &Last, boot_id: Option<&str>) -> Result<(), RingError> {
        let of = Circumstances { boot_id, ..last.of };
        match audience {
            Audience::All => frames::write(&last.snapshot, &last.interval, &of, &mut self.frame),
            Audience::User(viewer) => {
                let (snapshot, interval, of) = viewer.restrict(&last.snapshot, &last.interval, &of);
                frames::write(&snapshot, &interval, &of, &mut self.frame);
            }
        }
        self.frame
            .encode(&mut self.bytes)
            .map_err(|_| RingError::NoRing("the frame is beyond the limits"))?;
        let Some(published) = self.rings.get_mut(&audience) else { return Ok(()) };
        if self.bytes.len() > published.ring.longest() {
            let size = (FRAMES_OF_ROOM * self.bytes.len()).next_power_of_two();
            let old = Reader::open(published.ring.fd())?;
            published.ring =
                Ring::successor(&memory_name(audience), Size { bytes: size, frames: FRAMES }, &old)?;
            log(&format!("the ring of {} has {size} bytes from now on", name(audience)));
        }
        published.ring.publish(&self.bytes).map(|_| ())
    }
}

fn create(audience: Audience, bytes: usize) -> Result<Ring, RingError> {
    Ring::create(&memory_name(audience), Size { bytes, frames: FRAMES })
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
