//! A ring for each audience: all, and each user that asks.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cpuledger::audience::Viewer;
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

/// What a ring shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Those that see all.
    All,
    /// A user.
    User(Viewer),
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
}

/// An interval that was closed.
#[derive(Debug, Default)]
pub struct Last {
    pub snapshot: Snapshot,
    pub interval: Interval,
    pub sequence: u64,
    pub end: cpuledger::Boottime,
    pub end_realtime_ns: u64,
    pub suspended_ns: u64,
}

impl Audiences {
    /// No ring but that of all rows.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new() -> Result<Audiences, RingError> {
        let all = Published { ring: create(Audience::All, FIRST_BYTES)?, readers: 0 };
        let state = State { rings: HashMap::from([(Audience::All, all)]), ..State::default() };
        Ok(Audiences { state: Mutex::new(state), boot_id: cpuledger::machine::boot_id() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes an interval to each audience. Returns the interval before, whose memory can be reused.
    pub fn publish(&self, last: Last) -> Option<Last> {
        let mut state = self.lock();
        let audiences: Vec<Audience> = state.rings.keys().copied().collect();
        for audience in audiences {
            if let Err(error) = state.publish(audience, &last, self.boot_id.as_deref()) {
                log(&format!("cannot publish to {}: {error}", name(audience)));
            }
        }
        state.last.replace(last)
    }

    /// Wakes the readers that have not been woken by others.
    pub fn wake_rest(&self) {
        self.lock().rings.values().for_each(|published| published.ring.wake_rest());
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
            state.rings.insert(audience, Published { ring, readers: 0 });
            log_of_reader(&format!("opened the ring of {}", name(audience)));
            // It shows the last interval at once.
            if let Some(last) = state.last.take() {
                let published = state.publish(audience, &last, self.boot_id.as_deref());
                state.last = Some(last);
                published?;
            }
        }
        let Some(published) = state.rings.get_mut(&audience) else { return Ok(None) };
        let ring = published
            .ring
            .fd()
            .try_clone_to_owned()
            .map_err(|_| RingError::NoRing("no descriptor is left"))?;
        published.readers += 1;
        Ok(Some(ring))
    }

    /// A reader has gone. The ring of a user goes with its last reader.
    pub fn unsubscribe(&self, audience: Audience) {
        let mut state = self.lock();
        let Some(published) = state.rings.get_mut(&audience) else { return };
        published.readers = published.readers.saturating_sub(1);
        if published.readers == 0 && audience != Audience::All {
            state.rings.remove(&audience);
            log_of_reader(&format!("closed the ring of {}", name(audience)));
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

    fn publish(&mut self, audience: Audience, last: &Last, boot_id: Option<&str>) -> Result<(), RingError> {
        let of = Circumstances {
            boot_id,
            sequence: Some(last.sequence),
            end: Some(last.end),
            end_realtime_ns: Some(last.end_realtime_ns),
            suspended_ns: Some(last.suspended_ns),
        };
        match audience {
            Audience::All => frames::write(&last.snapshot, &last.interval, &of, &mut self.frame),
            Audience::User(viewer) => {
                let (mut snapshot, mut interval) = (last.snapshot.clone(), last.interval.clone());
                viewer.restrict(&mut snapshot, &mut interval);
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
