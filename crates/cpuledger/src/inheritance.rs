//! Who inherits the time of a dead process, where the accounting parent is known from the fork on. Pure algebra, no kernel.
//!
//! Each process has one accounting parent for its whole life, whatever the kernel makes its parent later. When a process
//! dies, its time of the interval and what comes late go to its *heir*: the accounting parent if that lives, else the
//! heir of that one. Neither init nor a subreaper inherits unless it is the ancestor.
//!
//! A dead process is remembered as long as a living one descends from it; chains of dead ones are shortened when they are
//! walked, so that memory follows the living.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::task::{Comm, TaskId};

/// A dead process without known children is remembered so long: a child may have been forked and not have run yet.
const MOURNING_NS: u64 = 30_000_000_000;

/// More are not remembered for that reason: the oldest are forgotten.
const MOURNED_LIMIT: usize = 1 << 16;

/// What one task, alive or dead, has booked in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booked {
    /// Its process.
    pub process: TaskId,
    /// The accounting parent of that; looked at when the process is seen first.
    pub parent: TaskId,
    /// On a CPU.
    pub own_ns: u64,
    /// Of threads of its process whose identity was lost.
    pub folded_threads_ns: u64,
    /// Of processes it inherits from whose identity was lost.
    pub folded_children_ns: u64,
    /// Whether the task died in the interval.
    pub has_died: bool,
    /// Whether no thread of its process is left alive.
    pub process_is_dead: bool,
}

/// The CPU time of a process in an interval, by whose it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    /// Of its living tasks.
    pub own_ns: u64,
    /// Of its threads that died in the interval.
    pub exited_threads_ns: u64,
    /// Of the dead processes it inherits from.
    pub exited_children_ns: u64,
}

impl Parts {
    /// The sum.
    pub fn total_ns(&self) -> u64 {
        self.own_ns + self.exited_threads_ns + self.exited_children_ns
    }
}

/// A process that lives, or from which a living one descends.
#[derive(Debug, Clone, Copy, Default)]
struct Member {
    /// `None`: nothing is known of it but that it is somebody's accounting parent.
    parent: Option<TaskId>,
    /// Members whose accounting parent it is.
    children: u32,
    /// Its last known name.
    comm: Option<Comm>,
    is_dead: bool,
    /// Whether the grace period is over in which a child that has not run may still appear.
    is_grace_over: bool,
}

/// All processes with their accounting parents.
#[derive(Debug, Default)]
pub struct Inheritance {
    members: FxHashMap<TaskId, Member>,
    mourned: VecDeque<(u64, TaskId)>,
}

impl Inheritance {
    /// Makes a process known. It keeps the accounting parent it was first seen with.
    pub fn add(&mut self, process: TaskId, parent: TaskId) {
        let member = self.members.entry(process).or_default();
        if member.parent.is_some() || process == parent {
            return;
        }
        member.parent = Some(parent);
        self.members.entry(parent).or_default().children += 1;
    }

    /// Notes the name of a process that is known, as that of its leader. `of_thread`: it is the name of another of its tasks, and
    /// counts only as long as there is no other.
    pub fn name(&mut self, process: TaskId, comm: Comm, of_thread: bool) {
        if let Some(member) = self.members.get_mut(&process)
            && !(of_thread && member.comm.is_some())
        {
            member.comm = Some(comm);
        }
    }

    /// The last name of a process that was noted; it outlives the process as long as that is remembered.
    pub fn name_of(&self, process: TaskId) -> Option<Comm> {
        self.members.get(&process)?.comm
    }

    /// Takes what all tasks have booked in the interval that ends at `now_ns`, and gives every nanosecond to a process
    /// that lives.
    pub fn settle(&mut self, now_ns: u64, booked: &[Booked], accounts: &mut FxHashMap<TaskId, Parts>) {
        accounts.clear();
        for entry in booked {
            self.add(entry.process, entry.parent);
        }
        for entry in booked.iter().filter(|entry| entry.process_is_dead) {
            self.bury(entry.process, now_ns);
        }
        for entry in booked {
            if self.is_dead(entry.process) {
                let total_ns = entry.own_ns + entry.folded_threads_ns + entry.folded_children_ns;
                if total_ns > 0 {
                    accounts.entry(self.heir(entry.process)).or_default().exited_children_ns += total_ns;
                }
                continue;
            }
            let account = accounts.entry(entry.process).or_default();
            let own = if entry.has_died { &mut account.exited_threads_ns } else { &mut account.own_ns };
            *own += entry.own_ns;
            account.exited_threads_ns += entry.folded_threads_ns;
            account.exited_children_ns += entry.folded_children_ns;
        }
    }

    /// To be called when all that is wanted of the dead of an interval was asked.
    pub fn forget(&mut self, now_ns: u64) {
        while let Some(&(died_ns, process)) = self.mourned.front() {
            if died_ns + MOURNING_NS > now_ns && self.mourned.len() <= MOURNED_LIMIT {
                break;
            }
            self.mourned.pop_front();
            if let Some(member) = self.members.get_mut(&process) {
                member.is_grace_over = true;
            }
            self.release(process);
        }
    }

    /// Buries processes whose death was not told.
    pub fn keep_living(&mut self, now_ns: u64, mut lives: impl FnMut(TaskId) -> bool) {
        let vanished: Vec<TaskId> = self
            .members
            .iter()
            .filter(|(id, member)| !member.is_dead && member.parent.is_some() && !lives(**id))
            .map(|(id, _)| *id)
            .collect();
        vanished.into_iter().for_each(|process| self.bury(process, now_ns));
    }

    /// Who inherits from a process: its accounting parent, or the first one above that lives.
    pub fn heir(&mut self, process: TaskId) -> TaskId {
        let Some(parent) = self.members.get(&process).and_then(|member| member.parent) else {
            return process; // nothing is known of it
        };
        let mut heir = parent;
        // As many steps as there are members would be a circle.
        for _ in 0..self.members.len() {
            match self.members.get(&heir) {
                Some(Member { is_dead: true, parent: Some(next), .. }) => heir = *next,
                _ => break,
            }
        }
        if heir != parent {
            self.members.entry(heir).or_default().children += 1;
            if let Some(member) = self.members.get_mut(&process) {
                member.parent = Some(heir);
            }
            if let Some(former) = self.members.get_mut(&parent) {
                former.children -= 1;
            }
            self.release(parent);
        }
        heir
    }

    /// Whether it is known and no thread of it is alive.
    pub fn is_dead(&self, process: TaskId) -> bool {
        self.members.get(&process).is_some_and(|member| member.is_dead)
    }

    /// Processes that are remembered, the dead ones included.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Those that nothing but a death makes forgotten: without the dead of the last seconds.
    pub fn lasting(&self) -> usize {
        self.members.len() - self.mourned.len()
    }

    /// Whether no process is known.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn bury(&mut self, process: TaskId, now_ns: u64) {
        let Some(member) = self.members.get_mut(&process) else { return };
        if !std::mem::replace(&mut member.is_dead, true) {
            self.mourned.push_back((now_ns, process));
        }
    }

    /// Forgets a process that nobody needs: dead, without children, no longer mourned; then its parent, if that is one.
    fn release(&mut self, mut process: TaskId) {
        while let Some(member) = self.members.get(&process) {
            let is_shadow = member.parent.is_none();
            if member.children > 0 || !(is_shadow || (member.is_dead && member.is_grace_over)) {
                return;
            }
            let parent = member.parent;
            self.members.remove(&process);
            let Some(parent) = parent else { return };
            if let Some(member) = self.members.get_mut(&parent) {
                member.children -= 1;
            }
            process = parent;
        }
    }
}
