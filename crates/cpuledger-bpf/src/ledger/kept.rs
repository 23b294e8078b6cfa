//! A ledger that outlives the process that reads it. Another process that gets its maps and its links, and what the reader remembers
//! between two cuts, goes on with the interval that is running. The hooks do not notice.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::offset_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use crate::abi;
use crate::cpus;
use crate::error::Error;

use super::attach::{HOTPLUG_HOOK, OBJECT, SharedMaps, hooks, maps};
use super::cut::Book;
use super::online::Online;
use super::parts::{find, unattachable};
use super::{Ledger, Memory, Options};

/// A number that tells programs and layouts apart: a ledger goes on only with a reader for which it is the same. A program that was built by
/// other tools may have another number, although it is made of the same source.
pub fn layout() -> u64 {
    let mut hasher = DefaultHasher::new();
    OBJECT.hash(&mut hasher);
    hasher.finish()
}

impl Ledger {
    /// Its maps and links. As long as any process has all of them, its hooks go on.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, BorrowedFd<'_>)> {
        self.parts.iter().map(|(name, fd)| (*name, fd.as_fd()))
    }

    /// What another reader needs to go on. `None`: this one could not close an interval.
    pub fn memory(&self) -> Option<Memory> {
        (!self.is_poisoned).then(|| Memory {
            written: self.books.iter().map(|book| book.written()).collect(),
            waiters: self.blame.as_ref().map_or_else(Vec::new, |blame| blame.waiters.clone()),
            ..self.memory.clone()
        })
    }

    /// Goes on with a ledger of the same [`layout`] that another process has read, by its parts. That process does not read it any more.
    ///
    /// # Errors
    /// When a part is missing, when what it remembers is not what the shared records say, or the kernel refuses to map them.
    pub fn adopt(mut memory: Memory, mut part: impl FnMut(&str) -> Option<OwnedFd>) -> Result<Ledger, Error> {
        let (written, waiters) = (std::mem::take(&mut memory.written), std::mem::take(&mut memory.waiters));
        let (options, start_ns) = (memory.options, memory.start_ns);
        let cpus = cpus::cpu_ids()?;
        if !Options::possible_slots().contains(&options.slots) || written.len() != cpus as usize {
            return Err(unattachable("it was made for another machine"));
        }
        let hotplug = memory.is_watching_cpus.then_some(HOTPLUG_HOOK);
        let names = maps(options).chain(hooks(options)).chain(hotplug);
        let parts: Vec<_> = names.filter_map(|name| Some((name, part(name)?))).collect();
        hooks(options).chain(hotplug).try_for_each(|name| find(&parts, name).map(drop))?;
        let mut ledger = Ledger::of(SharedMaps::of(&parts, options, cpus)?, memory, cpus, Online::open());
        let Memory { interval, freed, .. } = &ledger.memory;
        let running = ledger.control.word(0, offset_of!(abi::cpuledger_control, interval));
        let slots = ledger.control.half(0, offset_of!(abi::cpuledger_control, slots));
        let found = (running.load(Ordering::Acquire), slots.load(Ordering::Relaxed));
        if found != (*interval, options.slots)
            || freed.iter().chain(&waiters).any(|slot| *slot >= options.slots)
        {
            return Err(unattachable("another process has read it since"));
        }
        ledger.parts = parts;
        ledger.books.extend(written.into_iter().map(Book::resume));
        if let Some(blame) = &mut ledger.blame {
            blame.waiters = waiters;
        }
        ledger.check_clock(start_ns)?;
        // Their hooks have gone with the other process.
        ledger.keep(options.accounts);
        Ok(ledger)
    }
}
