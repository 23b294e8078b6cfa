//! What every source offers: snapshots, rows one after the other, and deaths.
//!
//! # To add a source
//!
//! A source of snapshots, such as `procfs`, is a type that implements `Source` (`crates/cpuledger/src/source/interface.rs`). The ledger is no
//! `Source`: it delivers intervals. The service is one for listings, and has intervals beside. A source reports figures since the start of a task, not since it was opened; the engine takes differences. The table is
//! in the order of work. Paths without a crate are in `crates/cpuledger/src/`.
//!
//! | | where | what | asked by |
//! |---|---|---|---|
//! | 1 | `crates/cpuledger-proc/` | Parsers of the text it reads. Binary records are decoded in a file of their own, as in `source/netlink/layout.rs`. A system call that rustix and nix do not have: `crates/cpuledger-bpf`, with `libc`, as `perf_event_open` in `ledger/entry.rs`; its file needs a place in row 3, too. | compiler |
//! | 2 | `source/NAME.rs`, `source/mod.rs` | The source. `snapshot` sets `source`, `begin`, `begin_ns` and `end_ns` itself, and sorts rows by pid, the leader first. If it sees deaths: `watch_exits`, `sees_exits` and `exits`. If it has I/O bytes: `IoAccess::hold_back`. It calls `check_namespace` if its pids are those of the initial PID namespace. | order: `debug_assert`; else nothing |
//! | 3 | `tests/tidy/src/layers.rs` | Its place in the order, before `source/open`. | test (`cpuledger-tidy`) |
//! | 4 | `source_kind.rs` | Its row: `auto` and `doctor` try the sources in this order, and tests of the best source know it. Then `has_snapshots`; `is_of_ledger`; `is_booked_by_task`: whether its books are kept by task and not by process; `start_rounding_ns`. Rows 2 and 4 compile together. | compiler |
//! | 5 | `source_kind.rs` | The names in the sentence of `from_str`. | nothing |
//! | 6 | `source/open.rs` | How it is opened. | compiler |
//! | 7 | `source/namespace.rs`, `source/status.rs` | What hinders it in a namespace; whether it gives status texts. | compiler |
//! | 8 | `source/choose.rs`, `error.rs` | When a listing takes it, if it does. An error of its own, if what it needs can be missing. | nothing |
//! | 9 | `facts.rs` | The names of what it depends on, and `of_NAME()`. | nothing |
//! | 10 | `support.rs` | How `doctor` tries it, its `Mechanism`, and the sentence in `success`. | compiler |
//! | 11 | `support/rules.rs`, `support/privilege.rs` | Why it does not work and what helps; what it sees and misses; what privileges it needs. An error for want of one contains the two parts that `privileges_root.rs` asks for; `naming` in `choose.rs` may reword one of `cpuledger-bpf`. | compiler |
//! | 12 | `crates/cpuledger-view/src/{interval,json}.rs` | What `top` says that it does not see, whether it has states, and what it can lose. The help of `self_ns` in `column/interval.rs` names sources whose books are not kept by task. | compiler; the help: nothing |
//! | 13 | `crates/cpuledger-cli/src/recorded/machine.rs`, `tui/state.rs` | `Sight::of`: what it knows: exits, idle, unattributed and stolen time, states, heirs. `subscription`: whether the screen may always ask for all fields. | compiler |
//! | 14 | `crates/cpuledger-cli/src/cmd/status.rs` | If it gives status texts: its name. | nothing |
//! | 15 | `crates/cpuledger-cli/src/cmd/{top,top/options,top/procps/options,ps/flags}.rs` | Help, and the sentence of `set_source`. | nothing |
//! | 16 | `fuzz/` | If it decodes bytes: a function, its row of `TARGETS`, a file in `fuzz_targets/`, a `[[bin]]`, a folder in `corpus/`. The decoder is public, or in `crates/cpuledger/src/fuzzing.rs`. | nothing, until its row is in `TARGETS`; then a test |
//! | 17 | `crates/cpuledger/tests/bracket_root.rs` | A test that it agrees with /proc. | nothing |
//! | 18 | `tests/vm/src/suite.rs`, `docs/kernels.md` | What its tests need of a kernel. `make vm` writes the document. | nothing; the document: test (`cpuledger-vm`) |
//! | 19 | `docs/privileges.md` | Its rows: `CPULEDGER_WRITE_DOCS=1 cargo test -p cpuledger-view` writes them. | test |
//! | 20 | `README.md`, `docs/{accuracy,json}.md`, `CHANGELOG.md`, the figure in `ARCHITECTURE.md` | What it sees and does not. | nothing |
//!
//! Go through the hits of `grep -rnE '"(netlink|procfs)"|(Netlink|Procfs)\b' --include=*.rs crates tests bench fuzz`: the table leaves out tests that list the
//! sources, benchmarks and the soak. At the end run the `pages` test and `make record`, as for a column.

use std::ops::ControlFlow;

use cpuledger_model::exit::Exits;
use cpuledger_model::field::FieldSet;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;
use cpuledger_model::task::{Pid, Task};

use crate::error::Error;

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

    /// Whether all that was visited was handed out.
    ///
    /// # Errors
    /// When rows could not be read: those of their part are missing.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Tasks of a part: their lines stay in the writer's cache.
pub(super) const PART_TASKS: usize = 2048;

/// Tasks in the order of pids.
pub(super) trait TaskList {
    /// How many there are.
    fn len(&self) -> usize;

    /// The process of one of them.
    fn pid(&self, index: usize) -> Pid;

    /// Hands out one of them, which may be decoded into `room`.
    fn hand_out(&self, index: usize, room: &mut Task, each: FamilyVisitor<'_>) -> ControlFlow<()>;
}

impl TaskList for [Task] {
    fn len(&self) -> usize {
        self.len()
    }

    fn pid(&self, index: usize) -> Pid {
        self[index].pid
    }

    fn hand_out(&self, index: usize, _: &mut Task, each: FamilyVisitor<'_>) -> ControlFlow<()> {
        each(Member::Task(&self[index]))
    }
}

/// How many parts [`Families`] of this number of tasks have.
pub(super) fn parts_of(tasks: usize) -> usize {
    tasks.div_ceil(PART_TASKS).max(1)
}

/// Hands out a part of processes and their tasks, both of which are in the order of pids.
pub(super) fn visit_part(
    processes: &[Task],
    tasks: &(impl TaskList + ?Sized),
    part: usize,
    each: FamilyVisitor<'_>,
) -> ControlFlow<()> {
    // One for all of them: to make and to move a row takes as long as to decode one.
    let mut room = Task::default();
    let mut next = part * PART_TASKS;
    let end = tasks.len().min(next + PART_TASKS);
    let is_last = end == tasks.len();
    // The process of the last task before this part, and of the last one in it.
    let before = next.checked_sub(1).map(|index| tasks.pid(index));
    let last = end.checked_sub(1).map(|index| tasks.pid(index));
    let first = before.map_or(0, |pid| processes.partition_point(|row| row.pid < pid));
    for process in &processes[first..] {
        if before == Some(process.pid) {
            if next == end || tasks.pid(next) != process.pid {
                continue;
            }
            each(Member::Rest(process))?;
        } else if is_last || last.is_some_and(|last| process.pid <= last) {
            each(Member::Process(process))?;
        } else {
            break;
        }
        // Of a process that came while the rows were read there may be tasks alone.
        while next < end && tasks.pid(next) < process.pid {
            next += 1;
        }
        while next < end && tasks.pid(next) == process.pid {
            tasks.hand_out(next, &mut room, each)?;
            next += 1;
        }
    }
    ControlFlow::Continue(())
}

impl Families for &Snapshot {
    fn parts(&self) -> usize {
        parts_of(self.tasks.len())
    }

    fn visit(&self, part: usize, each: FamilyVisitor<'_>) -> ControlFlow<()> {
        visit_part(&self.processes, self.tasks.as_slice(), part, each)
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

/// Hands out one row after the other, tasks where the scope is [`Scope::Tasks`] and processes else, by pid, until told to stop. A source that
/// need not keep tasks uses no memory for them.
///
/// # Errors
/// As [`Source::snapshot`].
pub fn visit(source: &mut dyn Source, request: &Request, each: Visitor<'_>) -> Result<(), Error> {
    let mut room = Snapshot::default();
    // A visitor that has enough is no error.
    if request.scope != Scope::Tasks {
        source.snapshot(request, &mut room)?;
        let _ = room.processes.iter().try_for_each(each);
        return Ok(());
    }
    let families = source.families(request, &mut room)?;
    let _ = (0..families.parts()).try_for_each(|part| {
        families.visit(part, &mut |member| match member {
            Member::Process(_) | Member::Rest(_) => ControlFlow::Continue(()),
            Member::Task(row) => each(row),
        })
    });
    families.check()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::task::Tid;

    #[test]
    fn parts_of_a_snapshot_are_all_of_it_in_order() {
        let row =
            |pid: usize, tid: usize| Task { pid: Pid(pid as i32), tid: Tid(tid as i32), ..Task::default() };
        for sizes in [vec![1, 3, 0, 2], vec![0], vec![5000, 0, 1], vec![2048, 2048, 0, 1], vec![0, 9000, 0]] {
            let mut snapshot = Snapshot::default();
            for (at, &size) in sizes.iter().enumerate() {
                let pid = 10_000 * (at + 1);
                snapshot.processes.push(row(pid, pid));
                snapshot.tasks.extend((0..size).map(|thread| row(pid, pid + thread)));
            }
            let (mut processes, mut tasks, mut rests) = (Vec::new(), Vec::new(), 0);
            let families = &snapshot;
            for part in 0..families.parts() {
                let mut current = None;
                let _ = families.visit(part, &mut |member| {
                    match member {
                        Member::Process(row) => processes.push(row.pid),
                        Member::Rest(_) => rests += 1,
                        Member::Task(row) => {
                            assert_eq!(current, Some(row.pid), "{sizes:?}: its process comes before it");
                            tasks.push(row.tid);
                        }
                    }
                    if let Member::Process(row) | Member::Rest(row) = member {
                        current = Some(row.pid);
                    }
                    ControlFlow::Continue(())
                });
            }
            assert_eq!(processes, snapshot.processes.iter().map(|row| row.pid).collect::<Vec<_>>());
            assert_eq!(tasks, snapshot.tasks.iter().map(|row| row.tid).collect::<Vec<_>>());
            assert_eq!(rests > 0, sizes.iter().any(|size| *size > PART_TASKS), "{sizes:?}");
        }
    }
}
