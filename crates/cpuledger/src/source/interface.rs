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
//! | 3 | `tests/tidy/src/layers/table.rs` | Its place in the order, before `source/open`. | test (`cpuledger-tidy`) |
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

use cpuledger_client::families::{Families, Member};
use cpuledger_client::stop::Stop;
use cpuledger_model::exit::Exits;
use cpuledger_model::field::FieldSet;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;
use cpuledger_model::task::{Pid, Task};

use crate::error::Error;
use crate::machine;

/// What is done with a row.
pub type Visitor<'a> = &'a mut dyn FnMut(&Task) -> ControlFlow<()>;

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

/// What an interval shall hold besides the processes and tasks that ran in it.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Wanted<'a> {
    /// Fields that will be looked at.
    pub fields: FieldSet,
    /// Processes that are wanted even if they did not run.
    pub pids: &'a [Pid],
    /// All processes and tasks are wanted: that costs a walk.
    pub all: bool,
}

impl Wanted<'_> {
    /// Whether there is a row of this process though it did not run.
    pub(super) fn has(&self, pid: i32) -> bool {
        self.all || self.pids.contains(&Pid(pid))
    }
}

/// How often exits are read within an interval. Where a ring keeps them, it takes 4 MiB: at 88 bytes a record 200,000 exits a second.
const LONGEST_WITHOUT_EXITS_NS: u64 = 200_000_000;

/// Waits until then, or for a request to stop. Where exits are seen, `read` reads those that there are meanwhile.
pub(super) fn wait_reading(
    sees_exits: bool,
    deadline_ns: u64,
    stop: &Stop,
    mut read: impl FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    while sees_exits && !stop.is_requested() {
        let wake_ns = machine::monotonic_ns() + LONGEST_WITHOUT_EXITS_NS;
        if wake_ns >= deadline_ns {
            break;
        }
        stop.sleep_until(wake_ns);
        read()?;
    }
    stop.sleep_until(deadline_ns);
    Ok(())
}

/// What is said where [`Source::watch_exits`] has failed.
pub(super) fn blind(why: Error) -> String {
    format!("cannot see tasks that exit: {}", why.into_reason())
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
    Ok(families.check()?)
}
