//! A restart without a gap: what the service leaves with the service manager when it ends, and takes back when it begins.
//!
//! It leaves descriptors: the maps and links of the ledger, what is remembered beside them in sealed memory, and the ring of each audience.
//! Nothing reads the ledger meanwhile. Its hooks go on, and the interval that is running becomes longer. When the service is back, nothing is
//! left with the manager, so that a service that is killed leaves nothing attached.

use std::os::fd::{AsFd, OwnedFd};

use anyhow::{Context, anyhow};
use bytemuck::{Pod, Zeroable};
use cpuledger::clock;
use cpuledger::source::ledger::{self, Ledger};
use cpuledger_service::Inherited;
use cpuledger_service::ring::Retired;
use cpuledger_service::sealed::{Sealed, seal};

use super::audiences::{Audience, Audiences};
use super::log::log;
use super::manager::Talk;

/// Before the name of a map or link.
const PART: &str = "ledger-";
/// The name of what is remembered.
const MEMORY: &str = "memory";
/// Before the name of an audience.
const RING: &str = "ring-";
/// Maximum length of what is remembered.
const MAX_MEMORY_BYTES: u64 = 1 << 30;

/// The books, wherever they are: with the ledger that keeps them, and what their intervals need.
pub struct Keeping {
    pub ledger: Ledger,
    pub course: Course,
    /// Whether it is only begun.
    pub is_new: bool,
}

/// Where the books are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Course {
    /// Intervals so far.
    pub sequence: u64,
    /// How long the machine was suspended, when the last of them ended.
    pub suspended_ns: u64,
    /// Since when they are kept, CLOCK_MONOTONIC.
    pub attached_ns: u64,
}

impl Course {
    /// From the bytes, and what follows them.
    fn split(bytes: &[u8]) -> Option<(Course, &[u8])> {
        let (own, rest) = bytes.split_at_checked(size_of::<Course>())?;
        Some((bytemuck::pod_read_unaligned(own), rest))
    }
}

/// What the service manager has handed over.
#[derive(Debug, Default)]
pub struct Left {
    /// Sockets that listen.
    pub sockets: Vec<OwnedFd>,
    parts: Vec<Inherited>,
    memory: Option<OwnedFd>,
    rings: Vec<(Audience, OwnedFd)>,
    /// Names of what was stored.
    names: Vec<String>,
}

impl Left {
    /// Sorts them by their names.
    pub fn of(inherited: Vec<Inherited>) -> Left {
        let mut left = Left::default();
        for Inherited { name, fd } in inherited {
            let ring = name.strip_prefix(RING).and_then(Audience::by_key);
            if let Some(audience) = ring {
                left.rings.push((audience, fd));
            } else if let Some(part) = name.strip_prefix(PART) {
                left.parts.push(Inherited { name: part.into(), fd });
            } else if name == MEMORY {
                left.memory = Some(fd);
            } else {
                left.sockets.push(fd);
                continue;
            }
            left.names.push(name);
        }
        left
    }

    /// The books that were left, with their rings. If there are none, or they cannot be gone on with, it says why and begins new ones.
    ///
    /// # Errors
    /// When no ledger can be attached.
    pub fn take_up(self) -> anyhow::Result<(Keeping, Vec<(Audience, OwnedFd)>)> {
        let Left { parts, memory, rings, names, .. } = self;
        if names.is_empty() {
            return Ok((begin()?, Vec::new()));
        }
        let adopted =
            memory.ok_or_else(|| anyhow!("{MEMORY} is missing")).and_then(|memory| adopt(&memory, parts));
        // From here on they are of this process alone, or of none.
        Talk::begin().forget(&names);
        match adopted {
            Ok(keeping) => Ok((keeping, rings)),
            Err(error) => {
                log(&format!("cannot go on with the ledger that was kept: {error:#}; begins anew"));
                // If its memory cannot be taken back, it stays for as long as readers keep it.
                rings.into_iter().for_each(|(_, file)| drop(Retired::of(file).free()));
                Ok((begin()?, Vec::new()))
            }
        }
    }
}

fn begin() -> anyhow::Result<Keeping> {
    let ledger = Ledger::open(ledger::Options::default()).context("the service needs the ledger")?;
    log(&format!("attached the ledger, {} slots", ledger.slots()));
    let course = Course { sequence: 0, suspended_ns: clock::suspended_ns(), attached_ns: ledger.start_ns() };
    Ok(Keeping { ledger, course, is_new: true })
}

fn adopt(memory: &OwnedFd, parts: Vec<Inherited>) -> anyhow::Result<Keeping> {
    let memory = Sealed::open(memory, MAX_MEMORY_BYTES)?;
    let (course, memory) = Course::split(&memory).context("it is too short")?;
    let mut parts: Vec<_> = parts.into_iter().map(Some).collect();
    let ledger = Ledger::adopt(memory, |name| {
        let found = parts.iter_mut().find(|part| part.as_ref().is_some_and(|part| part.name == name));
        found.and_then(Option::take).map(|part| part.fd)
    })?;
    let ago_ns = clock::monotonic_ns().saturating_sub(ledger.start_ns());
    log(&format!(
        "goes on with the ledger that was kept, {} slots, after interval {}, which ended {} ms ago",
        ledger.slots(),
        course.sequence,
        ago_ns / 1_000_000
    ));
    Ok(Keeping { ledger, course, is_new: false })
}

/// Leaves all with the service manager. Afterwards nothing may read the ledger any more, or write to a ring.
///
/// # Errors
/// When there is none, or a step fails. Then what it has got is incomplete, and the next service begins anew.
pub fn leave(keeping: Keeping, audiences: &Audiences) -> anyhow::Result<()> {
    let Keeping { ledger, course, .. } = keeping;
    let memory = ledger.memory().context("the ledger could not close an interval")?;
    let bytes = [bytemuck::bytes_of(&course), memory.as_slice()].concat();
    let talk = Talk::begin();
    let mut count = 0;
    let mut store = |name: &str, fd: &dyn AsFd| {
        count += 1;
        talk.store(name, fd.as_fd()).with_context(|| format!("cannot store {name}"))
    };
    for (audience, ring) in audiences.rings()? {
        store(&format!("{RING}{}", audience.key()), &ring)?;
    }
    for (name, fd) in ledger.parts() {
        store(&format!("{PART}{name}"), &fd)?;
    }
    // Last: without it the others are of no use.
    store(MEMORY, &seal("cpuledger-memory", &bytes)?)?;
    talk.wait_until_read()?;
    log(&format!("leaves the ledger with the service manager: {count} descriptors, {} bytes", bytes.len()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_books_are_survives() {
        let course = Course { sequence: 7, suspended_ns: 1 << 40, attached_ns: 3 };
        let bytes = [bytemuck::bytes_of(&course), b"rest"].concat();
        assert_eq!(Course::split(&bytes), Some((course, &b"rest"[..])));
        assert_eq!(Course::split(&bytes[..23]), None);
    }

    #[test]
    fn descriptors_are_told_apart_by_their_names() {
        let named = |name: &str| Inherited {
            name: name.into(),
            fd: std::fs::File::open("/dev/null").expect("it is there").into(),
        };
        let names =
            ["varlink", "ledger-slots", "memory", "ring-all", "ring-1000-100-traced-shown", "ring-what"];
        let left = Left::of(names.map(named).into());
        assert_eq!((left.sockets.len(), left.parts.len(), left.rings.len()), (2, 1, 2));
        assert_eq!(left.parts[0].name, "slots");
        assert_eq!(left.names, ["ledger-slots", "memory", "ring-all", "ring-1000-100-traced-shown"]);
    }
}
