//! Source `ledger`: every nanosecond between two cuts, attributed to the task that had the CPU, at a cost that follows what
//! ran and not what exists.
//!
//! The kernel half books the time. Here it is given to processes ([`crate::attribution`]). One call at the cut reads the figures of
//! the tasks that ran (`detail`), and [`crate::attribution::difference`] says what they grew by.
//!
//! # From booked times to rows
//!
//! The ledger delivers increments as they are: what each slot has booked, and the accounting parent that its fork hook has seen.
//! `source/ledger` turns what the reader has gathered into an `Interval`; all of it costs what ran.
//!
//! - **Deaths that may not have been reported.** If slots ran low, or if more is remembered than twice what lives and 65,536, a walk says what
//!   lives. The next interval may still report a death, so a task is forgotten only when a second walk does not list it either.
//! - **Memory follows the interval, not the largest one.** Lists and maps are used again, and keep room for at most four times what they hold (`buffer.rs`). The
//!   list of a walk is dropped with its interval, its program after 10 s without another walk, and the object of libbpf once the hooks are attached.
//!   Long-running commands map large blocks one by one, and return what is free each 30 s (`memory.rs` of the binary).
//! - **Detail** (`detail.rs`). The tasks that ran, and the leaders of their processes, are inspected some 100 µs after the cut. If the kernel
//!   cannot do that, a walk does it. What has died since the cut is looked up in its slot, which has its final figures (`Interval::final_figures`).
//!   Where one task of a process cannot be looked at, counters of the process are unknown in that interval, not a partial sum.
//! - **Growth** (`attribution/difference/lives.rs`). A slot begins with the figures that its task has then. After that, each interval has the
//!   difference to the last look. Those of a process are the sum over its tasks that ran, so no sleeping thread is visited. Totals of a
//!   process begin with what it shows when it is first active. If it has several threads and is older than the ledger, /proc is read once.
//!   User and system time follow the kernel's rule, and never fall.
//! - **Stolen** is the time on a CPU that the kernel does not count as runtime, because the hypervisor or an interrupt took it. For a task that
//!   is running at the cut, the kernel's figure may be a tick old, so 10 ms are allowed for. A task may seem to have run for less than its runtime. So
//!   these differences keep their sign until they are summed, by process, and of the dead by heir. A row has no negative figure, and none above its
//!   CPU time: what is left is for the next interval (`tell_stolen`).
//! - **A ledger that fails** (`supervisor.rs`). A CPU that stays in a hook for more than 5 s, as a paused virtual one does, leaves an interval
//!   that cannot be closed. A new ledger is attached at once or, where that fails, after 0.1 s, twice as long each time, up to 10 s. What
//!   passes meanwhile is an interval of its own without rows, all of it unattributed (`not_attached_ns`). In the interval after it the
//!   figures besides CPU time hold what they grew by in the gap too.
//! - **A successor.** When three quarters of the slots are taken, or will be if the need rises as it did last, a larger ledger is attached beside it.
//!   It has room for what the interval needed, also for those that found no slot. (It has the same size if most slots belong to tasks that ran only once.) Both are cut at the same instant. After that the successor keeps the books, up to 64 MiB. If threads
//!   need more slots in one interval than there are, they have no rows of their own in it; processes are unattributed. Execs, orphans and
//!   threads without end cost an interval of minutes no slot for good (`no_going_back_root`: 800,000 deaths in 150 s, 0 ns unattributed).
//!   But tasks that died before slots ran low keep theirs until the cut, so there is room for only 1/8 as many living ones.

mod accounts;
mod along;
mod blocked;
mod detail;
mod disk_names;
mod ends;
mod hidden;
mod kept;
mod limits;
mod options;
mod resting;
mod rows;
mod slot;
mod supervisor;
mod wire_names;

use std::time::Duration;

use cpuledger_bpf::ledger as kernel;
use cpuledger_client::balance;
use cpuledger_client::clock;
use cpuledger_client::gap::tell_gap;
use cpuledger_client::namespace::check_namespace;
use cpuledger_model::accounts::{Account, Accounts};
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::interval::Interval;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;

use serde::{Deserialize, Serialize};

use crate::caller::caller;
use crate::error::Error;
use crate::machine::{self, spawn_scoped};
use crate::source::Source;
use crate::source::walk::Walk;

use detail::Detail;
use rows::RowBuilder;
use rows::idle::Idle;
use supervisor::{Backoff, Supervised};

pub use super::interface::Wanted;
pub use kernel::{Lost, Watch, lacks, lacks_of_network, wire_root};
#[cfg(feature = "testing")]
pub use kernel::{tell_cgroups_apart, tell_devices_apart};
pub use limits::slots_of_caller;
pub use options::{MOST_GROWN_SLOTS, Options};

/// How long before a cut the ledger wants to be told of it, so that every CPU has it in time: a reader calls [`Ledger::close`] that early.
pub const LEAD_NS: u64 = 1_000_000;

/// The attached ledger. Dropping it, or the death of this process, detaches it.
pub struct Ledger {
    /// None while one that failed could not be attached anew.
    kernel: Supervised<kernel::Ledger>,
    /// The size of it, or of the one that is wanted.
    size: kernel::Options,
    /// Attached in the running interval, to take over at its end.
    successor: Option<kernel::Ledger>,
    /// When a successor may be tried again, where one could not be attached.
    growth_backoff: Backoff,
    may_grow: bool,
    /// The size up to which it grows.
    most_slots: u32,
    rows: RowBuilder,
    /// When more is remembered, a walk says what lives: deaths that were not reported leave something behind.
    remembered_limit: usize,
    /// How many walks are due, because deaths were not reported. They wait until slots suffice.
    due_walks: u32,
    /// Whether the next of them has to find the tasks that are blocked.
    is_blocked_due: bool,
    /// Of the running ledger.
    lost: Lost,
    /// Of those that it took over from.
    lost_before: Lost,
    /// For those that did not run; loaded when it is needed.
    walk: Option<Walk>,
    others: Snapshot,
    /// When the last walk ended, CLOCK_MONOTONIC.
    walked_ns: u64,
    finds_blocked: bool,
    /// How many slots the interval before the running one needed.
    last_need: u64,
}

/// Small figures beside what is remembered of tasks.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Rest {
    may_grow: bool,
    finds_blocked: bool,
    remembered_limit: u64,
    lost: kernel::Lost,
}

/// How many more processes may be remembered than twice those alive.
const REMEMBERED_SLACK: usize = 1 << 16;

/// How much may be remembered of one task that lives: itself as a process with its figures, what it owes, and what it does off the CPU.
const MOST_REMEMBERED: usize = 4;

/// How many tasks may be remembered of which some do not live.
const FEW_TASKS: usize = 1 << 12;

/// After deaths were not reported: the second walk forgets what the first one missed, unless it is reported in between.
const WALKS_FOR_DEATHS: u32 = 2;

/// For how long after a walk its program is kept for the next one.
const WALK_KEPT_NS: u64 = 10_000_000_000;

/// When fewer than 1/4 of the slots are free, a successor is attached.
const LOW_SHARE: u32 = 4;

impl Ledger {
    /// Attaches the hooks and makes the first cut: from then on every nanosecond is in the books.
    ///
    /// # Errors
    /// Without privilege, BTF or BPF atomics (Linux 5.12), outside the initial PID namespace, and for an impossible number of
    /// slots. Also for a user other than root that asks for a second ledger, or for one larger than the default.
    pub fn open(options: Options) -> Result<Ledger, Error> {
        check_namespace(SourceKind::Ledger)?;
        let caller = caller();
        limits::check_size(&caller, &options)?;
        limits::wait_for_none(&caller)?;
        let before = clock::boottime();
        let (kernel, inspector) = std::thread::scope(|scope| {
            // Both wait for the kernel to verify their programs; where no thread can be had, one after the other.
            let beside = spawn_scoped(scope, detail::load_inspector);
            let Options { slots, states: off, accounts, may_grow: _ } = options;
            let kernel = kernel::Ledger::attach(kernel::Options { slots, off, accounts });
            let inspector = beside.map_or_else(
                |_| detail::load_inspector(),
                |beside| beside.join().expect("loading does not panic"),
            );
            (kernel, inspector)
        });
        let kernel = kernel?;
        limits::check_only(&caller, &kernel)?;
        let rows = RowBuilder::new(Detail::open(inspector)?, before, clock::boottime())?;
        let rest = Rest {
            may_grow: options.may_grow,
            finds_blocked: false,
            remembered_limit: REMEMBERED_SLACK as u64,
            lost: kernel.lost(),
        };
        Ok(Ledger::of(kernel, rows, rest))
    }

    /// One that reads these hooks.
    fn of(kernel: kernel::Ledger, rows: RowBuilder, rest: Rest) -> Ledger {
        Ledger {
            size: kernel.options(),
            kernel: Supervised::new(kernel),
            successor: None,
            growth_backoff: Backoff::default(),
            may_grow: rest.may_grow,
            most_slots: limits::most_slots(&caller()),
            rows,
            remembered_limit: usize::try_from(rest.remembered_limit).unwrap_or(usize::MAX),
            due_walks: 0,
            is_blocked_due: false,
            last_need: 0,
            lost: rest.lost,
            lost_before: Lost::default(),
            walk: None,
            others: Snapshot::default(),
            walked_ns: 0,
            finds_blocked: rest.finds_blocked,
        }
    }

    /// Finds the tasks that are blocked, stopped or wait for a CPU already, by one walk. From now on the states of their processes include
    /// them, although they have not run since the ledger was attached. [`Interval::blocked`] has those that are blocked, and those that wait have rows.
    ///
    /// # Errors
    /// When there cannot be a walk.
    pub fn find_blocked(&mut self) -> Result<(), Error> {
        self.finds_blocked = true;
        let fields = FieldSet::of(&[
            Field::Tid,
            Field::Pid,
            Field::StartTime,
            Field::Comm,
            Field::State,
            Field::Euid,
            Field::Runtime,
        ]);
        self.walk(Scope::Tasks, fields)?;
        let start_ns = self.start_ns();
        self.rows.resting.find(&self.others, start_ns);
        Ok(())
    }

    /// What tells another thread which processes have run. It ends when another ledger takes over, or this one fails. `None`: there is no
    /// ledger at the moment, or no memory for it.
    pub fn watch(&self) -> Option<Watch> {
        self.kernel.get()?.watch().ok()
    }

    /// When the running interval began, CLOCK_MONOTONIC.
    pub fn start_ns(&self) -> u64 {
        let since_ns = self.kernel.since_ns();
        since_ns.unwrap_or_else(|| self.kernel.get().map_or(0, kernel::Ledger::start_ns))
    }

    /// Its size.
    pub fn slots(&self) -> u32 {
        self.size.slots
    }

    /// Kernel memory that its shared records lock.
    pub fn locked_bytes(&self) -> u64 {
        self.kernel.get().map_or(0, kernel::Ledger::locked_bytes)
    }

    /// Keeps these accounts from the next interval on, and no others: also in a ledger that takes over. A reader asks at the begin of an interval.
    /// [`Account::Blame`] and [`Account::Pairs`] come and go with a ledger that takes over, an interval later.
    pub fn keep(&mut self, wanted: Accounts) {
        if self.size.accounts == wanted {
            return;
        }
        self.size.accounts = wanted;
        self.kernel.get_mut().into_iter().chain(&mut self.successor).for_each(|ledger| ledger.keep(wanted));
    }

    /// The accounts that it keeps.
    pub fn kept(&self) -> Accounts {
        self.kernel.get().map_or(Accounts::NONE, kernel::Ledger::kept)
    }

    /// Which accounts it was to keep since the last call and cannot: a sentence each, without a full stop.
    pub fn take_refused(&mut self) -> Vec<String> {
        let refused = self.kernel.get_mut().map(kernel::Ledger::take_refused).unwrap_or_default();
        refused.into_iter().map(|(_, error)| error.to_string()).collect()
    }

    /// What was lost since it was attached, or taken over from another process.
    pub fn lost(&self) -> Lost {
        self.lost_before.plus(&self.lost)
    }

    /// Whether the detail of active tasks costs a walk over all tasks, because the kernel does not let a program
    /// look tasks up (before Linux 6.7).
    pub fn walks_for_detail(&self) -> bool {
        self.rows.detail.is_walk()
    }

    /// Sleeps until the cut at `cut_ns` (CLOCK_MONOTONIC; as soon as possible if that is past), and closes the interval there.
    /// `into` gets a row for each process with time in the interval and for each living task that ran.
    ///
    /// Where the interval cannot be closed, because a CPU was held up in a hook for seconds, a new ledger is attached, now or as soon
    /// as possible. What passes until then is told as an interval without rows, all of it unattributed for that reason.
    ///
    /// # Errors
    /// When the kernel refuses to tell the detail; then the ledger is of no use any more.
    pub fn close(&mut self, cut_ns: u64, wanted: &Wanted<'_>, into: &mut Interval) -> Result<(), Error> {
        self.close_or_bridge(cut_ns, wanted, into)?;
        self.end_walk(wanted.all);
        balance::check(into);
        Ok(())
    }

    fn close_or_bridge(
        &mut self,
        cut_ns: u64,
        wanted: &Wanted<'_>,
        into: &mut Interval,
    ) -> Result<(), Error> {
        if self.kernel.get().is_some() {
            let start_ns = self.start_ns();
            match self.close_books(cut_ns, wanted, into) {
                Err(Error::Bpf(cpuledger_bpf::Error::Poisoned { .. })) => {
                    self.successor = None;
                    self.kernel.fail(start_ns);
                }
                closed => return closed,
            }
        }
        self.bridge(cut_ns, into)
    }

    /// Makes the next interval fail, as one does in which a CPU is held up for too long. For tests.
    #[cfg(feature = "testing")]
    pub fn fail_next(&mut self) {
        if let Some(kernel) = self.kernel.get_mut() {
            kernel.fail_next();
        }
    }

    /// Waits until there is a ledger again, or until `cut_ns`, and tells the time without one.
    fn bridge(&mut self, cut_ns: u64, into: &mut Interval) -> Result<(), Error> {
        let start_ns = self.start_ns();
        let (size, caller) = (self.size, caller());
        let attach = || {
            let ledger = kernel::Ledger::attach(size).ok()?;
            limits::check_only(&caller, &ledger).ok()?;
            Some(ledger)
        };
        while !self.kernel.reattach(machine::monotonic_ns, attach) {
            let until_ns = self.kernel.due_ns().min(cut_ns);
            match until_ns.checked_sub(machine::monotonic_ns()) {
                Some(rest_ns) if rest_ns > 0 => std::thread::sleep(Duration::from_nanos(rest_ns)),
                _ if until_ns >= cut_ns => {
                    self.kernel.go_on_without(machine::monotonic_ns());
                    break;
                }
                _ => {}
            }
        }
        tell_gap(SourceKind::Ledger, [start_ns, self.start_ns()], into);
        if let Some(kernel) = self.kernel.get() {
            self.lost_before = self.lost();
            self.lost = kernel.lost();
            self.rows.resume_after_gap(clock::boottime());
            // Deaths in the gap were not told.
            self.due_walks = WALKS_FOR_DEATHS;
            self.is_blocked_due = self.finds_blocked;
            self.walk_for_deaths();
        }
        Ok(())
    }

    /// Closes the interval of the ledger that is attached.
    fn close_books(&mut self, cut_ns: u64, wanted: &Wanted<'_>, into: &mut Interval) -> Result<(), Error> {
        let (cut_ns, is_handed_over) = self.publish(cut_ns)?;
        let Some(kernel) = self.kernel.get_mut() else { return Ok(()) };
        let detail = &mut self.rows.detail;
        let closed = kernel.close_interval_beside(cut_ns, || detail.waiting())?;
        let (free_slots, active) = (closed.free_slots, closed.tasks.len());
        self.rows.take(&closed, wanted, into)?;
        kernel.release_tasks();
        let unidentified = self.tell_lost(into);
        let need = active as u64 + unidentified;
        // Until now it has booked the same time as its predecessor. If it cannot be cut, the books go on without it.
        if let Some(successor) = &mut self.successor {
            match successor.close_interval(cut_ns).map(drop) {
                Ok(()) => successor.release_tasks(),
                Err(_) => self.successor = None,
            }
        }
        if is_handed_over {
            self.hand_over();
        } else if self.successor.is_none()
            && let Some(slots) = self.successor_size(free_slots, need)
        {
            self.attach_successor(slots);
        }
        self.last_need = need;
        if wanted.all {
            self.add_others(wanted.fields, into)?;
        }
        Ok(())
    }

    /// Chooses now when the running interval ends: at `cut_ns` (CLOCK_MONOTONIC), or as soon as possible. Returns when, and it stays so. Then
    /// one wake-up an interval is enough, at its end; [`Ledger::close`] alone needs one before the cut, too. `None`: it cannot be chosen
    /// ahead now.
    pub fn choose_cut(&mut self, cut_ns: u64) -> Option<u64> {
        let (cut_ns, _) = self.publish(cut_ns).ok()?;
        self.kernel.get_mut()?.publish(cut_ns).ok()
    }

    /// Chooses the cut. Returns it, and whether the successor is cut at the same instant.
    fn publish(&mut self, cut_ns: u64) -> Result<(u64, bool), Error> {
        let Some(successor) = &mut self.successor else { return Ok((cut_ns, false)) };
        let Ok(common_ns) = successor.publish(cut_ns) else {
            self.successor = None;
            return Ok((cut_ns, false));
        };
        let Some(kernel) = self.kernel.get_mut() else { return Ok((cut_ns, false)) };
        let own_ns = kernel.publish(common_ns)?;
        Ok((own_ns, own_ns == common_ns))
    }

    /// Whether its hooks are others than are wanted: blame and pairs are in those of a switch, so that only a successor begins or ceases to keep them.
    fn lacks_hooks(&self) -> bool {
        const OF_SWITCH: Accounts = Accounts::of(&[Account::Blame, Account::Pairs]);
        let wanted = self.size.accounts.whole().intersection(OF_SWITCH);
        self.kernel.get().is_some_and(|kernel| kernel.kept().intersection(OF_SWITCH) != wanted)
    }

    /// How many slots a successor shall have; `None`: there is no need for one, or no use. `need` is how many the interval needed: for those
    /// that ran or died, also where they found none. The next one is expected to need as many more as this one did.
    fn successor_size(&self, free_slots: u64, need: u64) -> Option<u32> {
        let slots = self.slots();
        if self.lacks_hooks() {
            return Some(slots);
        }
        let expected = need + need.saturating_sub(self.last_need);
        // The slots of those that died in the interval are free again, but they were needed.
        let is_short = |taken: u64| taken > u64::from(slots - slots / LOW_SHARE);
        if !self.may_grow || !is_short((u64::from(slots) - free_slots).max(expected)) {
            return None;
        }
        // Where most slots belong to tasks that have only run once, a new ledger of the same size has room.
        let is_busy = expected > u64::from(slots / LOW_SHARE);
        let size = if is_busy { grown(slots, expected).min(self.most_slots.max(slots)) } else { slots };
        (size > slots || !is_busy).then_some(size)
    }

    /// A successor that cannot be attached (memory, say) is no reason to stop: the books go on with what there is, and it is tried
    /// again later.
    fn attach_successor(&mut self, slots: u32) {
        let attach = || kernel::Ledger::attach(kernel::Options { slots, ..self.size }).ok();
        self.successor = self.growth_backoff.attempt(machine::monotonic_ns, attach);
    }

    /// From this cut on the successor keeps the books.
    fn hand_over(&mut self) {
        let Some(successor) = self.successor.take() else { return };
        self.lost_before = self.lost().minus(&successor.lost());
        self.lost = successor.lost();
        self.size = kernel::Options { accounts: self.size.accounts, ..successor.options() };
        self.kernel.replace(successor);
        self.rows.hand_over();
        // The two read their clocks one after the other: of a switch at the cut itself, neither may have told.
        self.due_walks = WALKS_FOR_DEATHS;
    }

    /// What was lost in the interval. If slots ran out, deaths may not have been reported: a walk says what lives, as soon as slots suffice.
    /// A walk for each interval of a storm would cost what the machine holds, at the worst time. Returns how many deaths were not reported.
    fn tell_lost(&mut self, into: &mut Interval) -> u64 {
        let Some(kernel) = self.kernel.get() else { return 0 };
        let lost = kernel.lost();
        let before = std::mem::replace(&mut self.lost, lost);
        let unidentified = lost.unidentified_exits() - before.unidentified_exits();
        into.unidentified_exits = Some(unidentified);
        into.missed_switches = Some(lost.missed - before.missed);
        let hides_runs = |lost: &Lost| lost.no_slot + lost.no_entry + lost.unidentified_exits();
        let has_hidden = hides_runs(&lost) > hides_runs(&before);
        if has_hidden {
            // What was blocked may have run and died.
            self.rows.resting.forget_blocked();
            (self.due_walks, self.is_blocked_due) = (WALKS_FOR_DEATHS, self.finds_blocked);
        }
        if has_hidden || self.is_blocked_due {
            (into.blocked, into.blocked_tasks, into.blocked_without_row) = (None, 0, 0);
        }
        let is_quiet_again = !has_hidden && self.due_walks > 0;
        if is_quiet_again || self.remembers_dead() {
            self.walk_for_deaths();
        }
        unidentified
    }

    /// Whether more is remembered than what lives explains. How many tasks live is asked first: that costs a file, and a walk a visit of each.
    fn remembers_dead(&mut self) -> bool {
        let remembered = self.rows.remembered();
        if remembered > self.remembered_limit {
            let living = machine::tasks().map_or(0, |tasks| tasks as usize);
            self.remembered_limit = self.remembered_limit.max(living * MOST_REMEMBERED + REMEMBERED_SLACK);
        }
        remembered > self.remembered_limit
    }

    /// Forgets what does not live, and finds what is blocked, if that is due.
    fn walk_for_deaths(&mut self) {
        self.due_walks = self.due_walks.saturating_sub(1);
        if std::mem::take(&mut self.is_blocked_due) {
            // Without a walk those are told that are blocked from now on.
            let _ = self.find_blocked();
        }
        self.forget_dead();
    }

    /// Forgets what does not live, by a walk. If that fails (for lack of memory, say), the books go on, and the next cut tries again.
    fn forget_dead(&mut self) {
        const IDENTITY: FieldSet = FieldSet::of(&[Field::Tid, Field::Pid, Field::StartTime]);
        // Where few tasks are remembered, those that are no more may wait for the end of their process.
        let is_long = self.rows.lives.tasks() > FEW_TASKS;
        let scope = if is_long { Scope::Tasks } else { Scope::Leaders };
        if self.walk(scope, IDENTITY).is_err() {
            self.remembered_limit = 0;
            return;
        }
        self.rows.keep_living(&self.others);
        self.remembered_limit = 2 * self.rows.remembered() + REMEMBERED_SLACK;
    }

    /// Adds a row without use for each process and task that did not run.
    fn add_others(&mut self, fields: FieldSet, into: &mut Interval) -> Result<(), Error> {
        self.walk(Scope::Tasks, fields)?;
        let Snapshot { processes, tasks, from_procfs, .. } = &self.others;
        self.rows.add_idle_processes(processes, from_procfs, into);
        into.blocked_without_row = 0;
        let idle = Idle { others: tasks, from_procfs, time: self.rows.idle_time(into), are_processes: false };
        self.rows.add_idle(&idle, &mut into.tasks);
        into.add_from_procfs(from_procfs.iter().copied());
        self.rows.resting.find_waiting(&self.others);
        self.rows.tell_nothing(into);
        Ok(())
    }

    /// Gives back what a walk takes, for that follows the population. Its program stays for a while: the kernel needs time to verify one.
    fn end_walk(&mut self, is_listing: bool) {
        if !is_listing {
            self.others = Snapshot::default();
        }
        if self.walked_ns + WALK_KEPT_NS < machine::monotonic_ns() {
            self.walk = None;
        }
    }

    fn walk(&mut self, scope: Scope, fields: FieldSet) -> Result<(), Error> {
        let walk = match &mut self.walk {
            Some(walk) => walk,
            None => self.walk.insert(Walk::open_whole(&Request::new(scope, FieldSet::ALL), None)?),
        };
        walk.snapshot(&Request::new(scope, fields), &mut self.others)?;
        self.walked_ns = machine::monotonic_ns();
        Ok(())
    }
}

/// The size of a ledger that had this many slots: twice as many, and again until those that are expected leave room.
fn grown(slots: u32, expected: u64) -> u32 {
    let mut size = slots.saturating_mul(2);
    while u64::from(size - size / LOW_SHARE) < expected && size < u32::MAX / 2 {
        size *= 2;
    }
    size
}
