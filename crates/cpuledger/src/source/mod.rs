//! Where numbers come from. Each source fills the same [`Snapshot`] and leaves unknown what it cannot give.

use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

use crate::clock::Boottime;
use crate::error::Error;
use crate::field::FieldSet;
use crate::snapshot::{Request, Scope, Snapshot};
use crate::task::{Pid, Task};

pub mod choose;
pub mod cost;
mod families;
pub(crate) mod io_access;
pub mod ledger;
pub mod netlink;
pub mod procfs;
pub(crate) mod records;
pub mod status;
mod unseen;
pub mod walk;

/// Names of the sources, as options and output spell them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SourceKind {
    /// Every switch of every CPU, booked in the kernel.
    Ledger,
    /// One pass over the kernel's task list.
    Walk,
    /// Taskstats over generic netlink.
    Netlink,
    /// Files of /proc.
    #[default]
    Procfs,
}

impl SourceKind {
    /// Every source, best first.
    pub const ALL: [SourceKind; 4] =
        [SourceKind::Ledger, SourceKind::Walk, SourceKind::Netlink, SourceKind::Procfs];
    /// Those that can tell what is at one instant, best first; the ledger tells what was between two.
    pub const OF_SNAPSHOTS: [SourceKind; 3] = [SourceKind::Walk, SourceKind::Netlink, SourceKind::Procfs];

    /// Whether it tells the runtime of each task, and of each that died: then intervals are kept by task.
    pub(crate) fn tells_runtimes(self) -> bool {
        matches!(self, SourceKind::Walk | SourceKind::Netlink)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SourceKind::Ledger => "ledger",
            SourceKind::Walk => "walk",
            SourceKind::Netlink => "netlink",
            SourceKind::Procfs => "procfs",
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for SourceKind {
    type Err = String;

    fn from_str(name: &str) -> Result<SourceKind, String> {
        SourceKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            format!("there is no source `{name}`; there are `ledger`, `walk`, `netlink`, `procfs` and `auto`")
        })
    }
}

/// A task that has died, with its final figures.
#[derive(Debug, Clone, Copy)]
pub struct Exit {
    /// Which task.
    pub task: crate::task::TaskId,
    /// Its process.
    pub process: crate::task::TaskId,
    /// The process of its parent when it died; 0: the kernel had let go of it, and nobody can tell ([`Exit::known_ppid`]).
    pub ppid: crate::task::Pid,
    /// Its name.
    pub comm: crate::task::Comm,
    /// Its real user.
    pub uid: u32,
    /// Its effective user, which it is listed under while it lives; `None` where the source does not know it.
    pub euid: Option<u32>,
    /// As wait(2) returns it.
    pub exit_code: i32,
    /// CPU time of its life.
    pub runtime_ns: u64,
    /// From its start to its last switch, suspension not counted.
    pub lifetime_ns: u64,
}

impl Exit {
    /// The process of its parent when it died, where the kernel could tell.
    pub fn known_ppid(&self) -> Option<crate::task::Pid> {
        Some(self.ppid).filter(|pid| pid.0 != 0)
    }
}

/// A death of which an interval needs to know when it was.
#[derive(Debug, Clone, Copy)]
pub struct Death {
    /// Whose.
    pub exit: Exit,
    /// When its last figures were told: at its last switch, where the source sees that.
    pub at: Boottime,
}

/// Exits whose identity was lost because a list was full; their time was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold {
    /// The process of the parent; 0 where that was lost too.
    pub ppid: crate::task::Pid,
    /// How many tasks.
    pub exits: u64,
    /// CPU time of their lives.
    pub runtime_ns: u64,
}

/// Every death since the last time.
#[derive(Debug, Default)]
pub struct Exits {
    /// With their identity.
    pub exits: Vec<Death>,
    /// Without it.
    pub folds: Vec<Fold>,
    /// Exits that were not told at all, because nobody read in time.
    pub missed: u64,
}

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
fn hand_out(snapshot: &Snapshot, scope: Scope, each: Visitor<'_>) {
    let rows = if scope == Scope::Tasks { &snapshot.tasks } else { &snapshot.processes };
    // A visitor that has enough is no error.
    let _ = rows.iter().try_for_each(each);
}

/// Opens one source of snapshots.
///
/// # Errors
/// When it cannot be used on this machine or by this user, and for the ledger, which has no snapshots.
pub fn open(kind: SourceKind) -> Result<Box<dyn Source>, Error> {
    Ok(match kind {
        SourceKind::Ledger => {
            let reason = "it tells what ran between two instants, not what is at one; for a listing take \
                          `walk` or `procfs`";
            return Err(Error::Unusable { source_kind: kind, reason: reason.to_owned() });
        }
        SourceKind::Walk => Box::new(walk::Walk::open_whole(FieldSet::ALL, None)?),
        SourceKind::Netlink => Box::new(netlink::Netlink::open()?),
        SourceKind::Procfs => Box::new(procfs::Procfs::open()?),
    })
}

/// A source, and why each better one could not be used.
pub type Best = (Box<dyn Source>, Vec<(SourceKind, Error)>);

/// Opens the best source of snapshots that works, and says why the better ones do not.
///
/// # Errors
/// When none works: that of the last.
pub fn open_best() -> Result<Best, Error> {
    let mut refused = Vec::new();
    for kind in SourceKind::OF_SNAPSHOTS {
        match open(kind) {
            Ok(source) => return Ok((source, refused)),
            Err(error) => refused.push((kind, error)),
        }
    }
    Err(refused.pop().map_or(Error::NoSource, |(_, error)| error))
}
