//! Which process inherits the time of a dead one: the one place that decides it. Only where there was no room and identities were
//! lost, others have decided (`fold_slot` of the ledger, `fold` of lifecycle.bpf.c, `bound_exits`). Pure algebra, no kernel.
//!
//! Each process has one accounting parent for its whole life, whatever the kernel makes its parent later. When a process dies, its *heir* gets its
//! time, that of the interval and what is reported later. The heir is the accounting parent if that lives, else the heir of that one.
//!
//! # How it decides
//!
//! A process is dead when no thread of it is left. The ledger learns this at a task's last switch (`retire` in `ledger.bpf.c`), and
//! `source/ledger/rows.rs` passes it on. The books of snapshots learn it from the list at the cut (`books.rs`). A death at the cut or after it
//! belongs to the next interval.
//!
//! The engine walks from the dead process up to its heir (`settle` and `heir`), and makes all of the dead on that way point to the heir. So memory
//! follows the living, each is passed once, and an interval costs what died in it, whatever the shape of 100,000 forks:
//! `crates/cpuledger/tests/heirs.rs` counts the steps, and `cargo bench -p cpuledger --bench heirs` measures the time.
//!
//! Where there is no room, identities are lost, and the kernel half decides first whose the time is:
//!
//! - **Walk**: where the ring of exits is full, `fold` of `lifecycle.bpf.c` adds the dead up by the parent that the kernel names at the exit. It
//!   does so for threads too. Their time is *exited children* of that parent, even if their process lives.
//! - **Ledger**: where slots are low, `fold_slot` adds a dead thread to a slot of its process, and a dead process to a slot of its heir
//!   (`cpuledger_bpf::ledger`). The time of a living thread without a slot is *exited threads* of its process.
//! - **Snapshots**: beyond 262,144 exits in an interval, `bound_exits` (`attribution/difference/deaths.rs`) adds the rest up as the walk does.
//!
//! A process keeps the accounting parent that was reported first:
//!
//! - With the ledger and the walk it is the parent at the fork, which their hooks see.
//! - For processes that are older than the hooks, and with netlink, it is the first parent that a list or an exit names.
//! - For a child forked with `CLONE_PARENT`, or whose birth found the ring full, the walk takes the first parent that a list or an exit names.
//!
//! Init and subreapers inherit only as ancestors. The exception is for snapshots: where a link of the chain is lost, init gets the time. If init
//! is not listed, the first listed process does (`last_resort` in `attribution/difference/numbers.rs`).
//! `accounting_ppid` is the pid of the heir. With the walk it is null unless each link is a fork that was seen. With netlink it is null, except on a
//! kernel that keeps accounts (`attribution/difference/kernel_accounts`).
//!
//! A dead process is remembered as long as a living one descends from it: it is a tombstone. Without living descendants the tombstone stays for a
//! grace period of 30 s; at most 65,536 stay for that reason. A child may have been forked and not have run yet. If such a child runs and dies
//! after the grace period, the ledger shows its time in a row that has only the pid of its dead parent. With snapshots it goes to init.
//!
//! Two tests hold this together. `crates/cpuledger/tests/interval` runs random histories (forks, execs by threads, suspension, reused pids)
//! through both ways, increments and snapshots, and compares the books with a naive reference. `crates/cpuledger/tests/attribution.rs`
//! compares the engine with a reference when identities were lost and deaths not reported.

use std::borrow::Borrow;
use std::collections::VecDeque;

use cpuledger_model::buffer::{Trim, empty};
use cpuledger_model::task::{Comm, TaskId};
use rustc_hash::FxHashMap;

use super::members::{Link, Members, NOBODY};

/// For how long a dead process without known children keeps its tombstone: a child may have been forked and not have run yet.
const GRACE_PERIOD_NS: u64 = 30_000_000_000;

/// Maximum number of tombstones that are kept for that reason only. Beyond it the oldest go.
const GRACE_LIMIT: usize = 1 << 16;

/// What one task, alive or dead, used in an interval; or all living tasks of a process together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Increment {
    /// Its process.
    pub process: TaskId,
    /// The accounting parent of that process, where the source reports it with each increment. Only the first report counts.
    pub parent: Option<TaskId>,
    /// On a CPU.
    pub cpu_ns: u64,
    /// Of threads of its process whose identity was lost: dead ones, and living ones that found no slot.
    pub folded_threads_ns: u64,
    /// Of processes it inherits from whose identity was lost.
    pub folded_children_ns: u64,
    /// Its name, where the source reports it with each increment, and whether it is that of a thread: see [`Attribution::name`].
    pub comm: Option<(Comm, bool)>,
    /// Whether the task died in the interval.
    pub has_died: bool,
    /// Whether no thread of its process is left alive.
    pub process_is_dead: bool,
}

impl Increment {
    /// Of a process, no time yet.
    pub fn of(process: TaskId) -> Increment {
        Increment { process, ..Increment::default() }
    }

    /// All of its time.
    pub fn total_ns(&self) -> u64 {
        self.cpu_ns + self.folded_threads_ns + self.folded_children_ns
    }
}

/// The CPU time of a process in an interval, by whose it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parts {
    /// Of its living tasks.
    pub self_ns: u64,
    /// Of its threads that died in the interval, and of living ones without a slot.
    pub exited_threads_ns: u64,
    /// Of the dead processes it inherits from.
    pub exited_children_ns: u64,
}

impl Parts {
    /// Adds what another share holds.
    pub fn add(&mut self, other: &Parts) {
        self.self_ns += other.self_ns;
        self.exited_threads_ns += other.exited_threads_ns;
        self.exited_children_ns += other.exited_children_ns;
    }

    /// The sum.
    pub fn total_ns(&self) -> u64 {
        self.self_ns + self.exited_threads_ns + self.exited_children_ns
    }
}

/// All processes with their accounting parents.
#[derive(Debug, Default)]
pub struct Attribution {
    pub(super) members: Members,
    /// Their last known names; those that die in the interval in which they are met first need none.
    pub(super) names: FxHashMap<TaskId, Comm>,
    /// Tombstones in their grace period, with the time of the death. Of one that has been revived, it is not that of its death.
    pub(super) in_grace: VecDeque<(u64, u32)>,
    /// For [`Attribution::settled_heir`]: one for each increment.
    heirs: Vec<u32>,
    /// The dead from one that is asked for up to its heir. Memory is reused.
    way: Vec<u32>,
    /// Members that were visited to find heirs, and to forget the dead.
    steps: u64,
}

impl Attribution {
    pub(super) fn of(
        members: Members,
        names: FxHashMap<TaskId, Comm>,
        in_grace: VecDeque<(u64, u32)>,
    ) -> Attribution {
        Attribution { members, names, in_grace, ..Attribution::default() }
    }

    /// Makes a process known whose accounting parent a source told: the parent at its fork, or an ancestor that inherits from that. It
    /// keeps the accounting parent it was first seen with.
    pub fn add(&mut self, process: TaskId, parent: TaskId) {
        self.add_first(process, parent, true);
    }

    /// As [`Attribution::add`], where the fork was not seen: this is the parent that the kernel names now.
    pub fn add_listed(&mut self, process: TaskId, parent: TaskId) {
        self.add_first(process, parent, false);
    }

    fn add_first(&mut self, process: TaskId, parent: TaskId, is_from_fork: bool) -> u32 {
        let number = self.members.find_or_add(process);
        if self.members.link(number).parent != NOBODY || process == parent {
            return number;
        }
        let parent = self.members.find_or_add(parent);
        let link = self.members.link_mut(number);
        (link.parent, link.is_from_fork) = (parent, is_from_fork);
        self.members.link_mut(parent).children += 1;
        number
    }

    /// Notes the name of a process that is known, as that of its leader. `of_thread`: it is the name of another of its tasks, and
    /// counts only as long as there is no other.
    pub fn name(&mut self, process: TaskId, comm: Comm, of_thread: bool) {
        if let Some(number) = self.members.find(process) {
            self.members.link_mut(number).has_name = true;
            let name = self.names.entry(process).or_insert(comm);
            if !of_thread {
                *name = comm;
            }
        }
    }

    /// The last name of a process that was noted; it outlives the process as long as that is remembered.
    pub fn name_of(&self, process: TaskId) -> Option<Comm> {
        self.names.get(&process).copied()
    }

    /// Takes what all tasks used in the interval that ends at `now_ns`, and gives every nanosecond to a process that lives.
    pub fn settle<I>(&mut self, now_ns: u64, increments: I, accounts: &mut FxHashMap<TaskId, Parts>)
    where
        I: IntoIterator<Item: Borrow<Increment>> + Clone,
    {
        accounts.trim();
        accounts.clear();
        let mut heirs = std::mem::take(&mut self.heirs);
        empty(&mut heirs);
        // First the number of the process of each.
        heirs.extend(increments.clone().into_iter().map(|entry| self.meet(entry.borrow(), now_ns)));
        for (entry, heir) in increments.into_iter().zip(&mut heirs) {
            let entry = entry.borrow();
            // It may have become known after this increment.
            let number = Some(*heir).filter(|number| *number != NOBODY);
            let number = number.or_else(|| self.members.find(entry.process));
            *heir = match number.filter(|number| self.members.link(*number).is_dead) {
                Some(dead) => self.heir_of(dead),
                None => NOBODY,
            };
            if *heir != NOBODY {
                if entry.total_ns() > 0 {
                    let account = accounts.entry(self.members.id(*heir)).or_default();
                    account.exited_children_ns += entry.total_ns();
                }
                continue;
            }
            let account = accounts.entry(entry.process).or_default();
            let part = if entry.has_died { &mut account.exited_threads_ns } else { &mut account.self_ns };
            *part += entry.cpu_ns;
            account.exited_threads_ns += entry.folded_threads_ns;
            account.exited_children_ns += entry.folded_children_ns;
        }
        self.heirs = heirs;
    }

    /// The heir of the process of the increment at this place in the last call of [`Attribution::settle`], until the next one of
    /// [`Attribution::forget`]; `None`: that process lives.
    pub fn settled_heir(&self, place: usize) -> Option<TaskId> {
        self.heirs.get(place).filter(|heir| **heir != NOBODY).map(|heir| self.members.id(*heir))
    }

    /// Makes the process of an increment known, with its name if it lives, and ends it if it is dead. Returns its number.
    fn meet(&mut self, entry: &Increment, now_ns: u64) -> u32 {
        let number = match entry.parent {
            Some(parent) => self.add_first(entry.process, parent, true),
            None => self.members.find(entry.process).unwrap_or(NOBODY),
        };
        if number == NOBODY {
            return NOBODY;
        }
        if entry.process_is_dead {
            self.end_number(number, now_ns);
        } else if let Some((comm, of_thread)) = entry.comm {
            self.name(entry.process, comm, of_thread);
        }
        number
    }

    /// Drops the tombstones that nothing needs any more. To be called at the end of an interval, after the last question about its dead.
    pub fn forget(&mut self, now_ns: u64) {
        while let Some(&(died_ns, number)) = self.in_grace.front() {
            if died_ns + GRACE_PERIOD_NS > now_ns && self.in_grace.len() <= GRACE_LIMIT {
                break;
            }
            self.in_grace.pop_front();
            if self.members.died_ns(number) == died_ns {
                self.members.link_mut(number).is_grace_over = true;
                self.release(number);
            }
        }
        empty(&mut self.heirs);
        if let Some(moved) = self.members.trim() {
            // Those that were revived and are forgotten have no number.
            self.in_grace.iter_mut().for_each(|(_, number)| *number = moved[*number as usize]);
            self.in_grace.retain(|(_, number)| *number != NOBODY);
        }
        self.names.trim();
        self.in_grace.trim();
    }

    /// Ends the processes whose death was not told: all but those that live.
    pub fn keep_living(&mut self, now_ns: u64, mut lives: impl FnMut(TaskId) -> bool) {
        let is_told = |link: Link| link.is_dead || link.parent == NOBODY;
        let untold = self.members.numbers().filter(|number| !is_told(self.members.link(*number)));
        let vanished: Vec<u32> = untold.filter(|number| !lives(self.members.id(*number))).collect();
        vanished.into_iter().for_each(|number| self.end_number(number, now_ns));
    }

    /// The heir of a process: its accounting parent, or the first one above that lives. All of the dead on the way there point to it
    /// from then on, so that a chain of them is walked once, whichever of them is asked for.
    pub fn heir(&mut self, process: TaskId) -> TaskId {
        let Some(number) = self.members.find(process) else {
            return process; // nothing is known of it
        };
        let heir = self.heir_of(number);
        self.members.id(heir)
    }

    fn heir_of(&mut self, number: u32) -> u32 {
        let mut heir = self.members.link(number).parent;
        if heir == NOBODY {
            return number;
        }
        let mut way = std::mem::take(&mut self.way);
        empty(&mut way);
        way.push(number);
        while let Link { is_dead: true, parent, .. } = self.members.link(heir)
            && parent != NOBODY
        {
            if way.len() > self.members.len() {
                self.cut_off(heir);
                // Each circle is walked once.
                return self.heir_of(number);
            }
            way.push(heir);
            heir = parent;
        }
        self.steps += way.len() as u64;
        self.shorten(&way, heir);
        self.way = way;
        heir
    }

    /// Makes a way of the dead, each the accounting parent of the one before, point to the heir of the last.
    fn shorten(&mut self, way: &[u32], heir: u32) {
        let Some((last, below)) = way.split_last().filter(|(_, below)| !below.is_empty()) else { return };
        let mut is_from_fork = self.members.link(*last).is_from_fork;
        for number in below.iter().rev() {
            let link = self.members.link_mut(*number);
            is_from_fork &= link.is_from_fork;
            (link.parent, link.is_from_fork) = (heir, is_from_fork);
        }
        self.members.link_mut(heir).children += below.len() as u32;
        for former in &way[1..] {
            self.members.link_mut(*former).children -= 1;
            self.release(*former);
        }
    }

    /// Takes its accounting parent from one of a circle of the dead.
    fn cut_off(&mut self, number: u32) {
        let parent = std::mem::replace(&mut self.members.link_mut(number).parent, NOBODY);
        if parent != NOBODY {
            self.members.link_mut(parent).children -= 1;
        }
    }

    /// As [`Attribution::heir`], if each link up to it is one from a fork. Otherwise the heir may be another one.
    pub fn known_heir(&mut self, process: TaskId) -> Option<TaskId> {
        let number = self.members.find(process)?;
        let heir = self.heir_of(number);
        (self.members.link(number).is_from_fork && heir != number).then(|| self.members.id(heir))
    }

    /// Whether it is known and no thread of it is alive.
    pub fn is_dead(&self, process: TaskId) -> bool {
        self.members.find(process).is_some_and(|number| self.members.link(number).is_dead)
    }

    /// Processes that are remembered, the dead ones included.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Those that nothing but a death makes forgotten: without the dead of the last seconds.
    pub fn lasting(&self) -> usize {
        self.members.len().saturating_sub(self.in_grace.len())
    }

    /// How many members were visited so far to find heirs and to forget the dead: what that costs, whatever the machine. For tests.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether no process is known.
    pub fn is_empty(&self) -> bool {
        self.members.len() == 0
    }

    /// No thread of this process is left: from now on its heir gets what it used.
    pub fn end(&mut self, process: TaskId, now_ns: u64) {
        if let Some(number) = self.members.find(process) {
            self.end_number(number, now_ns);
        }
    }

    fn end_number(&mut self, number: u32, now_ns: u64) {
        let link = self.members.link_mut(number);
        if !std::mem::replace(&mut link.is_dead, true) {
            link.is_grace_over = false;
            self.members.set_died_ns(number, now_ns);
            self.in_grace.push_back((now_ns, number));
        }
    }

    /// A process that was missing from a list and taken for dead is listed again.
    pub fn revive(&mut self, process: TaskId) {
        let Some(number) = self.members.find(process) else { return };
        if std::mem::replace(&mut self.members.link_mut(number).is_dead, false) {
            self.members.set_died_ns(number, 0);
        }
    }

    /// Drops the tombstone of a process that nothing needs: dead, without children, its grace period over; then that of its
    /// parent, if it is one.
    fn release(&mut self, mut number: u32) {
        while number != NOBODY {
            self.steps += 1;
            let Link { parent, children, is_dead, is_grace_over, has_name, .. } = self.members.link(number);
            let is_needed = if is_dead { !is_grace_over } else { parent != NOBODY };
            if children > 0 || is_needed {
                return;
            }
            if has_name {
                self.names.remove(&self.members.id(number));
            }
            self.members.remove(number);
            if parent != NOBODY {
                self.members.link_mut(parent).children -= 1;
            }
            number = parent;
        }
    }
}
