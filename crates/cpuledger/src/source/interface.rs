//! What every source offers: snapshots, rows one after the other, and deaths.

use std::ops::ControlFlow;

use crate::error::Error;
use crate::exit::Exits;
use crate::field::FieldSet;
use crate::snapshot::{Request, Scope, Snapshot};
use crate::source_kind::SourceKind;
use crate::task::{Pid, Task};

/// What is done with a row.
pub type Visitor<'a> = &'a mut dyn FnMut(&Task) -> ControlFlow<()>;

/// A row of a listing of processes with their tasks.
#[derive(Debug, Clone, Copy)]
pub enum Member<'a> {
    /// A process with its totals. Its tasks follow.
    Process(&'a Task),
    /// The process whose other tasks were in the part before.
    Rest(&'a Task),
    /// A task.
    Task(&'a Task),
}

/// What is done with a process or a task.
pub type FamilyVisitor<'a> = &'a mut dyn FnMut(Member<'_>) -> ControlFlow<()>;

/// Each process, followed by its tasks, cut into parts of about as many tasks, for threads that take them at the same
/// time.
pub trait Families: Sync {
    /// How many parts there are.
    fn parts(&self) -> usize;

    /// Hands out a part of them, until told to stop.
    fn visit(&self, part: usize, each: FamilyVisitor<'_>) -> ControlFlow<()>;
}

/// Those of a snapshot, in one part.
impl Families for &Snapshot {
    fn parts(&self) -> usize {
        1
    }

    fn visit(&self, _: usize, each: FamilyVisitor<'_>) -> ControlFlow<()> {
        // Both are in the order of pids.
        let mut tasks = self.tasks.iter().peekable();
        for process in &self.processes {
            each(Member::Process(process))?;
            // Of a process that came while the snapshot was made there may be tasks alone.
            while tasks.next_if(|task| task.pid < process.pid).is_some() {}
            while let Some(task) = tasks.next_if(|task| task.pid == process.pid) {
                each(Member::Task(task))?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Something that can tell of the machine's tasks.
pub trait Source {
    /// Which one it is.
    fn kind(&self) -> SourceKind;

    /// The fields it can give on this machine; a single task may lack some of them.
    fn fields(&self) -> FieldSet;

    /// Reads what is asked for into `into`, whose old content is replaced and whose memory is reused.
    ///
    /// # Errors
    /// When nothing can be read. A task that dies meanwhile is not an error.
    fn snapshot(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Error>;

    /// Hands out one row after the other, tasks where the scope is [`crate::Scope::Tasks`] and processes else, in the
    /// order of a snapshot, until told to stop. A source that need not keep them uses no memory for them; `room` is for
    /// one that has to.
    ///
    /// # Errors
    /// As [`Source::snapshot`].
    fn visit(&mut self, request: &Request, room: &mut Snapshot, each: Visitor<'_>) -> Result<(), Error> {
        self.snapshot(request, room)?;
        hand_out(room, request.scope, each);
        Ok(())
    }

    /// Reads the same for scopes that have tasks: each process with its tasks.
    ///
    /// # Errors
    /// As [`Source::snapshot`].
    fn families<'a>(
        &'a mut self,
        request: &Request,
        room: &'a mut Snapshot,
    ) -> Result<Box<dyn Families + 'a>, Error> {
        self.snapshot(request, room)?;
        Ok(Box::new(&*room))
    }

    /// Processes that the kernel kept from the source when that looked last: their rows are from /proc.
    fn unseen(&self) -> &[Pid] {
        &[]
    }

    /// Whether it sees tasks that die between two snapshots.
    fn sees_exits(&self) -> bool {
        false
    }

    /// Starts to see exits, where it can; from then on [`Source::exits`] is to be called often enough.
    ///
    /// # Errors
    /// When the hook cannot be attached.
    fn watch_exits(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Appends the deaths since the last call.
    ///
    /// # Errors
    /// When the kernel refuses to tell.
    fn exits(&mut self, _into: &mut Exits) -> Result<(), Error> {
        Ok(())
    }
}

/// The rows of a snapshot, as [`Source::visit`] hands them out.
pub(super) fn hand_out(snapshot: &Snapshot, scope: Scope, each: Visitor<'_>) {
    let rows = if scope == Scope::Tasks { &snapshot.tasks } else { &snapshot.processes };
    // A visitor that has enough is no error.
    let _ = rows.iter().try_for_each(each);
}
