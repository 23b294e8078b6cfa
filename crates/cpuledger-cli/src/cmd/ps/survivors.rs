//! Threads whose leader is dead: they have the memory that it has let go of. Sources that read the memory of a process
//! from its leader do not know it; the files of a thread do.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use cpuledger::source::Source;
use cpuledger::source::procfs::Procfs;
use cpuledger::task::{Pid, Task};
use cpuledger::{Field, FieldSet, Request, Scope, Snapshot};

const MEMORY: FieldSet = FieldSet::of(&[Field::Vsize, Field::Rss, Field::Shared, Field::Swap, Field::Locked]);

/// What was found out about such threads, a process each.
#[derive(Debug)]
pub struct Survivors {
    wanted: FieldSet,
    found: Mutex<HashMap<Pid, Option<Task>>>,
}

impl Survivors {
    /// None yet. `fields`: those of the listing.
    pub fn new(fields: FieldSet) -> Survivors {
        Survivors { wanted: MEMORY.intersection(fields), found: Mutex::default() }
    }

    /// The row, and that of a thread that lacks its memory with it.
    pub fn completed<'r>(&self, row: &'r Task) -> Cow<'r, Task> {
        let is_whole = self.wanted.without(row.known) == FieldSet::EMPTY;
        if is_whole || row.is_leader() || row.threads < 2 || row.is_kernel_thread() {
            return Cow::Borrowed(row);
        }
        self.with_memory(row).map_or(Cow::Borrowed(row), Cow::Owned)
    }

    fn with_memory(&self, row: &Task) -> Option<Task> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = *found.entry(row.pid).or_insert_with(|| read(row.pid, self.wanted));
        let (thread, mut row) = (thread?, *row);
        row.vsize_bytes = thread.vsize_bytes;
        row.rss_bytes = thread.rss_bytes;
        row.shared_bytes = thread.shared_bytes;
        row.swap_bytes = thread.swap_bytes;
        row.locked_bytes = thread.locked_bytes;
        row.known = row.known.union(thread.known.intersection(MEMORY));
        Some(row)
    }
}

/// A thread that has memory still.
fn read(pid: Pid, fields: FieldSet) -> Option<Task> {
    let mut room = Snapshot::default();
    Procfs::open().ok()?.snapshot(&Request::new(Scope::Process(pid), fields), &mut room).ok()?;
    room.tasks.into_iter().find(|task| !task.is_leader() && fields.without(task.known) == FieldSet::EMPTY)
}
