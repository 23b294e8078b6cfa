//! Source `ledger`: every nanosecond between two cuts, attributed to the task that had the CPU, at a cost that follows what
//! ran and not what exists.
//!
//! The kernel half books the time; here it is given to processes ([`crate::inheritance`]) and gets its detail: the figures of
//! the tasks that ran, read at the cut by one call ([`detail`]), and what they grew by ([`growth`]).

mod detail;
mod growth;
mod keeper;

use cpuledger_bpf::ledger as kernel;

use crate::error::Error;
use crate::field::{Field, FieldSet};
use crate::interval::Interval;
use crate::machine::{self, spawn_scoped};
use crate::snapshot::{Request, Scope, Snapshot};
use crate::source::walk::{self, Walk};
use crate::source::{Source, SourceKind};
use crate::task::Pid;

use detail::Detail;
use keeper::Keeper;

pub use kernel::Lost;

/// How large a ledger shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Tasks that can be told apart: those that have run since it was attached and are alive, and those that died in the
    /// running interval.
    pub slots: u32,
    /// Whether it is replaced by a larger one, at a cut, when slots run low: up to [`MOST_GROWN_SLOTS`].
    pub may_grow: bool,
}

/// A ledger that grows by itself stays below 64 MiB of locked memory; while one takes over from another, both are there.
pub const MOST_GROWN_SLOTS: u32 = 196_608;

impl Default for Options {
    fn default() -> Options {
        Options { slots: kernel::Options::default().slots, may_grow: true }
    }
}

impl Options {
    /// The numbers of slots that a ledger can have.
    pub fn possible_slots() -> std::ops::RangeInclusive<u32> {
        kernel::Options::possible_slots()
    }
}

/// What an interval shall hold besides the processes and tasks that ran in it.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Fields that will be looked at.
    pub fields: FieldSet,
    /// Processes that are wanted even if they did not run.
    pub pids: &'a [Pid],
    /// All processes and tasks are wanted: that costs a walk.
    pub all: bool,
}

/// The attached ledger. Dropping it, or the death of this process, detaches it.
pub struct Ledger {
    kernel: kernel::Ledger,
    /// Attached in the running interval, to take over at its end.
    successor: Option<kernel::Ledger>,
    may_grow: bool,
    keeper: Keeper,
    /// When more is remembered, a walk says who lives: deaths that were not told leave something behind.
    remembered_limit: usize,
    lost: Lost,
    /// For those that did not run; loaded when it is first needed, for its buffers follow the population.
    walk: Option<Walk>,
    others: Snapshot,
}

/// So much may be remembered beyond twice what lives.
const REMEMBERED_SLACK: usize = 1 << 16;

/// Below one free slot in so many, a successor is attached.
const LOW_SHARE: u32 = 4;

impl Ledger {
    /// Attaches the hooks and makes the first cut: from then on every nanosecond is in the books.
    ///
    /// # Errors
    /// Without privilege, BTF or BPF atomics (Linux 5.12), outside the initial PID namespace, and for a number of slots that
    /// is not possible.
    pub fn open(options: Options) -> Result<Ledger, Error> {
        walk::check_namespace(SourceKind::Ledger)?;
        let before_ns = machine::boottime_ns();
        let (kernel, inspector) = std::thread::scope(|scope| {
            // Both wait for the kernel to verify their programs; where no thread can be had, one after the other.
            let beside = spawn_scoped(scope, detail::load_inspector);
            let kernel = kernel::Ledger::attach(kernel::Options { slots: options.slots });
            let inspector = beside.map_or_else(
                |_| detail::load_inspector(),
                |beside| beside.join().expect("loading does not panic"),
            );
            (kernel, inspector)
        });
        let kernel = kernel?;
        let keeper = Keeper::new(Detail::open(inspector)?, before_ns, machine::boottime_ns())?;
        let lost = kernel.lost();
        Ok(Ledger {
            kernel,
            successor: None,
            may_grow: options.may_grow,
            keeper,
            remembered_limit: REMEMBERED_SLACK,
            lost,
            walk: None,
            others: Snapshot::default(),
        })
    }

    /// When the running interval began, CLOCK_MONOTONIC.
    pub fn start_ns(&self) -> u64 {
        self.kernel.start_ns()
    }

    /// Its size.
    pub fn slots(&self) -> u32 {
        self.kernel.options().slots
    }

    /// Kernel memory that its shared records lock.
    pub fn locked_bytes(&self) -> u64 {
        self.kernel.locked_bytes()
    }

    /// What was lost since it was attached or, where another took over, since that one was.
    pub fn lost(&self) -> Lost {
        self.lost
    }

    /// Whether the detail of active tasks costs a walk over all tasks, because the kernel does not let a program
    /// look tasks up (before Linux 6.7).
    pub fn walks_for_detail(&self) -> bool {
        self.keeper.detail.is_walk()
    }

    /// Sleeps until the cut at `cut_ns` (CLOCK_MONOTONIC; as soon as possible if that is past), closes the interval there,
    /// and tells it: `snapshot` gets a row for each process with time in the interval and for each living task that ran,
    /// `into` what each of them used.
    ///
    /// # Errors
    /// When a cut cannot be taken, or the kernel refuses to tell the detail; then the ledger is of no use any more.
    pub fn close(
        &mut self,
        cut_ns: u64,
        wanted: &Wanted<'_>,
        snapshot: &mut Snapshot,
        into: &mut Interval,
    ) -> Result<(), Error> {
        let (cut_ns, is_handed_over) = self.publish(cut_ns)?;
        let closed = self.kernel.close_interval(cut_ns)?;
        let (free_slots, active) = (closed.free_slots, closed.tasks.len());
        self.keeper.take(&closed, wanted, snapshot, into)?;
        self.tell_lost(into)?;
        // Until now it has booked the same time as its predecessor. If it cannot be cut, the books go on without it.
        if self.successor.as_mut().is_some_and(|successor| successor.close_interval(cut_ns).is_err()) {
            self.successor = None;
        }
        if is_handed_over {
            self.hand_over();
        } else if self.successor.is_none()
            && let Some(slots) = self.successor_size(free_slots, active)
        {
            self.attach_successor(slots);
        }
        if wanted.all {
            self.add_others(wanted.fields, snapshot, into)?;
        }
        Ok(())
    }

    /// Chooses the cut. Returns it, and whether the successor is cut at the same instant.
    fn publish(&mut self, cut_ns: u64) -> Result<(u64, bool), Error> {
        let Some(successor) = &mut self.successor else { return Ok((cut_ns, false)) };
        let Ok(common_ns) = successor.publish(cut_ns) else {
            self.successor = None;
            return Ok((cut_ns, false));
        };
        let own_ns = self.kernel.publish(common_ns)?;
        Ok((own_ns, own_ns == common_ns))
    }

    /// How many slots a successor shall have; `None`: there is no need for one, or no use.
    fn successor_size(&self, free_slots: u64, active: usize) -> Option<u32> {
        let slots = self.slots();
        // The slots of those that died in the interval are free again, but they were needed.
        let is_short = |taken: u64| taken > u64::from(slots - slots / LOW_SHARE);
        let active = active as u64;
        if !self.may_grow || !is_short((u64::from(slots) - free_slots).max(active)) {
            return None;
        }
        // Where most slots belong to tasks that have only run once, a new ledger of the same size has room.
        let is_busy = active > u64::from(slots / LOW_SHARE);
        let size = if is_busy { slots.saturating_mul(2).min(MOST_GROWN_SLOTS.max(slots)) } else { slots };
        (size > slots || !is_busy).then_some(size)
    }

    /// A successor that cannot be attached (memory, say) is no reason to stop: the books go on with what there is.
    fn attach_successor(&mut self, slots: u32) {
        self.successor = kernel::Ledger::attach(kernel::Options { slots }).ok();
        self.may_grow = self.successor.is_some();
    }

    /// From this cut on the successor keeps the books.
    fn hand_over(&mut self) {
        let Some(successor) = self.successor.take() else { return };
        self.kernel = successor;
        self.lost = self.kernel.lost();
        self.keeper.hand_over();
    }

    /// What was lost in the interval. Where slots ran out deaths may not have been told: a walk says who lives.
    fn tell_lost(&mut self, into: &mut Interval) -> Result<(), Error> {
        let lost = self.kernel.lost();
        let before = std::mem::replace(&mut self.lost, lost);
        let folded = |lost: &Lost| lost.folded_threads + lost.folded_processes;
        into.unidentified_exits = folded(&lost) - folded(&before);
        into.missed_switches = lost.missed - before.missed;
        let hides_deaths = |lost: &Lost| lost.no_slot + lost.no_entry + lost.folded_processes;
        if hides_deaths(&lost) > hides_deaths(&before) || self.keeper.remembered() > self.remembered_limit {
            const IDENTITY: FieldSet = FieldSet::of(&[Field::Tid, Field::Pid, Field::StartTime]);
            self.walk(Scope::Leaders, IDENTITY)?;
            self.keeper.keep_living(&self.others);
            self.remembered_limit = 2 * self.keeper.remembered() + REMEMBERED_SLACK;
        }
        Ok(())
    }

    /// Adds a row without use for each process and task that did not run.
    fn add_others(
        &mut self,
        fields: FieldSet,
        snapshot: &mut Snapshot,
        into: &mut Interval,
    ) -> Result<(), Error> {
        self.walk(Scope::Tasks, fields)?;
        self.keeper.add_idle_processes(&self.others.processes, snapshot, into);
        self.keeper.add_idle(&self.others.tasks, &mut snapshot.tasks, &mut into.tasks);
        Ok(())
    }

    fn walk(&mut self, scope: Scope, fields: FieldSet) -> Result<(), Error> {
        let walk = match &mut self.walk {
            Some(walk) => walk,
            None => self.walk.insert(Walk::open()?),
        };
        walk.snapshot(&Request { scope, fields }, &mut self.others)
    }
}
