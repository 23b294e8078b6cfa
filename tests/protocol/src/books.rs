//! What really happened, beside what the reader has found. Kept outside of the model's memory: no step of the protocol
//! sees it, and writing it adds no interleavings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whose time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The idle task of this CPU.
    Idle(usize),
    /// Tasks on this CPU that found no slot.
    NoSlot(usize),
    /// What ran on this CPU while no hook saw it.
    Uncovered(usize),
    /// This task.
    Task(u64),
    /// A slot that was folded and belongs to no task.
    Stray,
}

/// Nanoseconds by owner.
pub type Account = BTreeMap<Owner, u64>;

/// One stay of one owner on one CPU.
#[derive(Clone, Copy, Debug)]
struct Stay {
    owner: Owner,
    /// Whether the reader has to know of it at a cut.
    is_told: bool,
    cpu: usize,
    begin: u64,
    /// Or until the CPU left the books.
    end: u64,
    left_cpu: u64,
}

/// One closed interval as the reader has found it.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// The cut that ended it.
    pub end: u64,
    /// Time that the CPUs were online.
    pub capacity: u64,
    /// Time by owner.
    pub found: Account,
    /// Tasks that were on a CPU at the cut.
    pub running: BTreeSet<Owner>,
    /// Tasks that were listed as dead.
    pub dead: Vec<u64>,
}

impl Interval {
    /// Adds to what is found for this owner.
    pub fn add(&mut self, owner: Owner, ns: u64) {
        if ns > 0 {
            *self.found.entry(owner).or_default() += ns;
        }
    }
}

/// When a CPU has left the books.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// Since when no hook has seen what ran.
    unseen: u64,
    /// From when on it was offline.
    offline: u64,
}

#[derive(Default)]
struct Inner {
    stays: Vec<Stay>,
    deaths: Vec<(u64, u64)>,
    folded: BTreeSet<u64>,
    used: BTreeSet<u64>,
    left: BTreeMap<usize, Left>,
    intervals: Vec<Interval>,
    faults: Vec<String>,
}

/// The truth and the reader's findings.
#[derive(Default)]
pub struct Books(Mutex<Inner>);

impl Books {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is true that this owner had this CPU from `begin` to `end`. The CPU is in the books from then on.
    pub fn stay(&self, (owner, is_told): (Owner, bool), cpu: usize, begin: u64, end: u64) {
        let mut inner = self.inner();
        let whole = Left { unseen: end, offline: end };
        let left = inner.left.remove(&cpu).unwrap_or(whole);
        let (unseen, offline) = (left.unseen.clamp(begin, end), left.offline.clamp(begin, end));
        if unseen > begin {
            inner.stays.push(Stay { owner, is_told, cpu, begin, end: unseen, left_cpu: end });
        }
        if offline > unseen {
            let owner = Owner::Uncovered(cpu);
            let stay = Stay { owner, is_told: false, cpu, begin: unseen, end: offline, left_cpu: end };
            inner.stays.push(stay);
        }
    }

    /// It is true that no hook sees what this CPU runs from `unseen` on, and that it is offline from `offline` on.
    pub fn leave(&self, cpu: usize, unseen: u64, offline: u64) {
        self.inner().left.insert(cpu, Left { unseen, offline });
    }

    /// It is true that this task died then.
    pub fn die(&self, task: u64, when: u64) {
        self.inner().deaths.push((task, when));
    }

    /// The death of this task has left no record.
    pub fn fold(&self, task: u64) {
        self.inner().folded.insert(task);
    }

    /// A slot goes to a task.
    pub fn take(&self, slot: u64) {
        if !self.inner().used.insert(slot) {
            self.fault(format!("slot {slot} is taken while in use"));
        }
    }

    /// A slot is given back.
    pub fn give(&self, slot: u64) {
        if !self.inner().used.remove(&slot) {
            self.fault(format!("slot {slot} is freed twice"));
        }
    }

    /// Whether a slot is in use.
    pub fn uses(&self, slot: u64) -> bool {
        self.inner().used.contains(&slot)
    }

    /// The reader has closed an interval.
    pub fn close(&self, interval: Interval) {
        self.inner().intervals.push(interval);
    }

    /// Something was seen that must not be.
    pub fn fault(&self, fault: String) {
        self.inner().faults.push(fault);
    }

    /// The difference, or 0 and a fault if it is negative.
    pub fn difference(&self, what: &str, end: u64, begin: u64) -> u64 {
        end.checked_sub(begin).unwrap_or_else(|| {
            self.fault(format!("negative: {what} from {begin} to {end}"));
            0
        })
    }

    /// Compares. Call it when everything that ran has been entered, and all of it lies before the last cut.
    ///
    /// # Panics
    /// If the reader's findings are not the truth; the message begins with "books:".
    pub fn check(&self, cpus: usize) {
        let inner = self.inner();
        let mut report = inner.faults.iter().fold(String::new(), |text, fault| text + fault + "\n");
        for cpu in 0..cpus {
            assert_in_order(inner.stays.iter().filter(|stay| stay.cpu == cpu));
        }
        let mut begin = 0;
        for (number, interval) in inner.intervals.iter().enumerate() {
            if let Err(difference) = inner.compare(begin, interval) {
                let _ = writeln!(report, "interval {number}, {begin} to {}: {difference}", interval.end);
            }
            begin = interval.end;
        }
        if !report.is_empty() {
            let _ = writeln!(report, "what ran: {:?}", inner.stays);
            drop(inner);
            panic!("books: {report}");
        }
    }
}

impl Inner {
    /// One interval with the truth.
    fn compare(&self, begin: u64, interval: &Interval) -> Result<(), String> {
        let truth = truth(&self.stays, begin, interval.end);
        let capacity: u64 = truth.values().sum();
        let sum: u64 = interval.found.values().sum();
        if sum != interval.capacity || sum != capacity {
            return Err(format!("balance: {sum} of {}, true is {capacity}", interval.capacity));
        }
        if interval.found != truth {
            return Err(format!("tasks: {:?}, true is {truth:?}", interval.found));
        }
        let cut = interval.end;
        let ran =
            |stay: &&Stay| (stay.begin + 1..stay.left_cpu).contains(&cut) && stay.end >= cut && stay.is_told;
        let running: BTreeSet<Owner> = self.stays.iter().filter(ran).map(|stay| stay.owner).collect();
        if interval.running != running {
            return Err(format!("at the cut: {:?}, true is {running:?}", interval.running));
        }
        let is_here = |(task, when): &&(u64, u64)| {
            (begin + 1..=interval.end).contains(when) && !self.folded.contains(task)
        };
        let mut deaths: Vec<u64> = self.deaths.iter().filter(is_here).map(|(task, _)| *task).collect();
        let mut dead = interval.dead.clone();
        deaths.sort_unstable();
        dead.sort_unstable();
        if dead != deaths {
            return Err(format!("deaths: {dead:?}, true is {deaths:?}"));
        }
        Ok(())
    }
}

/// The stays on one CPU follow each other, or the model itself is wrong. A gap is a time out of the books.
fn assert_in_order<'a>(stays: impl Iterator<Item = &'a Stay>) {
    let mut end = 0;
    for stay in stays {
        assert!(stay.begin >= end, "a stay begins before the one before it ends");
        end = stay.end;
    }
}

/// How long each owner ran between `begin` and `end`.
fn truth(stays: &[Stay], begin: u64, end: u64) -> Account {
    let mut account = Account::new();
    for stay in stays {
        let ns = stay.end.min(end).saturating_sub(stay.begin.max(begin));
        if ns > 0 {
            *account.entry(stay.owner).or_default() += ns;
        }
    }
    account
}
