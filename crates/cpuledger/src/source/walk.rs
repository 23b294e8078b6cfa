//! Source `walk`: one pass over the kernel's task list, decoded from mapped records.

use cpuledger_bpf::ledger::Watch;
use cpuledger_bpf::{ExitHook, Mechanism, Walked, Walker, abi};
use cpuledger_client::families::Families;
use cpuledger_client::namespace::check_namespace;
use cpuledger_model::boottime::Boottime;
use cpuledger_model::exit::{Exits, Fold};
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::make;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;
use cpuledger_model::task::Pid;

use crate::error::Error;
use crate::machine;
use crate::source::Source;
use crate::source::families::RecordedFamilies;
use crate::source::io_access::IoAccess;
use crate::source::procfs::Procfs;
use crate::source::records::{Decoder, decode_birth, decode_death, groups, lacking, not_loaded};
use crate::source::totals::{Totals, has_steady};
use crate::source::unseen::{Leader, Unseen};

/// The loaded walk, and the exit hook once it is asked for.
pub struct Walk {
    walker: Walker,
    fields: FieldSet,
    exit_hook: Option<ExitHook>,
    drained: cpuledger_bpf::Drained,
    /// Sums of threads, where the kernel half cannot sum them.
    sums: Vec<abi::cpuledger_counters>,
    /// The tasks that are hidden from programs, where that is wanted.
    unseen: Option<Unseen>,
    /// Those of the last walk over all threads, and their records, where a ledger tells since when they hold.
    totals: Option<Totals>,
}

/// Every process, and nothing of it but how many threads it has.
const CENSUS: cpuledger_bpf::Request =
    cpuledger_bpf::Request { scope: abi::CPULEDGER_WALK_LEADERS, groups: 0, only_pid: None };

impl Walk {
    /// Loads the walk into the kernel.
    ///
    /// # Errors
    /// Without privilege or BTF, when the kernel refuses it, and outside the initial PID namespace.
    pub fn open() -> Result<Walk, Error> {
        Walk::open_for(FieldSet::ALL)
    }

    /// As [`Walk::open`], for requests of no other fields than these: for few of them loading is cheaper.
    ///
    /// # Errors
    /// As [`Walk::open`].
    pub fn open_for(fields: FieldSet) -> Result<Walk, Error> {
        Walk::with(load_for(&Request::new(Scope::Tasks, fields))?, None)
    }

    /// As [`Walk::open_for`], and it lacks no task: those that the kernel hides from programs, and /proc shows, are read
    /// from there. `procfs` is one that is open already. `first` has all fields of later requests; if those record more tasks, the
    /// walk is loaded anew.
    ///
    /// # Errors
    /// As [`Walk::open`], and when /proc cannot be read.
    pub fn open_whole(first: &Request, procfs: Option<Procfs>) -> Result<Walk, Error> {
        Walk::with(load_for(first)?, Some(Unseen::new(procfs)))
    }

    /// As [`Walk::open`], but with this form of the walk.
    ///
    /// # Errors
    /// As [`Walk::open`], and where the kernel lacks what the form needs.
    pub fn open_mechanism(mechanism: Mechanism) -> Result<Walk, Error> {
        check_namespace(SourceKind::Walk)?;
        Walk::with(Walker::load_mechanism(mechanism)?, None)
    }

    fn with(mut walker: Walker, mut unseen: Option<Unseen>) -> Result<Walk, Error> {
        let lacks = match &mut unseen {
            Some(unseen) => take_census(&mut walker, unseen)?,
            None => walker.walk(&CENSUS)?.lacks,
        };
        let fields = FieldSet::ALL.without(lacking(lacks)).without(not_loaded(walker.groups()));
        Ok(Walk {
            walker,
            fields,
            exit_hook: None,
            drained: Default::default(),
            sums: Vec::new(),
            unseen,
            totals: None,
        })
    }

    /// Whether the records of tasks come in the order of output: each leader followed by its threads.
    fn comes_in_order(&self, request: &Request) -> bool {
        request.scope == Scope::Tasks && self.walker.mechanism() == Mechanism::OneCall
    }

    /// The request without what the loaded programs cannot read.
    fn possible(&self, request: &Request) -> Request {
        make!(Request { fields: request.fields.intersection(self.fields), ..*request })
    }

    /// Spares it the threads of processes that have not run since the last snapshot, as long as the watched ledger is there.
    pub fn watch(&mut self, watch: Watch) {
        self.totals = Some(Totals::new(watch)).filter(|_| self.walker.mechanism() == Mechanism::OneCall);
    }

    /// Whether it watches a ledger. `true`, too, where that is of no use.
    pub fn is_watching(&self) -> bool {
        self.walker.mechanism() != Mechanism::OneCall
            || self.totals.as_ref().is_some_and(|totals| !totals.is_over())
    }

    /// Which form of the walk the kernel took.
    pub fn mechanism(&self) -> Mechanism {
        self.walker.mechanism()
    }
}

impl Source for Walk {
    fn kind(&self) -> SourceKind {
        SourceKind::Walk
    }

    fn fields(&self) -> FieldSet {
        self.fields
    }

    fn snapshot(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Error> {
        let possible = &self.possible(request);
        let Walk { walker, unseen, sums, totals, .. } = self;
        totals.take_if(|totals| totals.is_over());
        let before = unseen.as_mut().and_then(Unseen::count);
        let mut is_by_totals =
            possible.scope == Scope::Processes && !possible.fields.contains(Field::RunqueueWait);
        let walked = match totals.as_mut().filter(|_| is_by_totals) {
            Some(totals) => totals.walk(walker, &in_kernel(possible))?,
            None => {
                is_by_totals = false;
                walker.walk(&in_kernel(possible))?
            }
        };
        into.clear();
        // Before the others: the pid of a hidden task is likely to be the lowest.
        let is_all = match unseen {
            Some(unseen) => {
                let (bracket, is_fresh) = ([before, unseen.count()], unseen.take_fresh());
                unseen.fetch(request, &walked, bracket, into)? || is_fresh
            }
            None => true,
        };
        tell_instant(into, &walked);
        Decoder::new(walked, possible, IoAccess::of_caller()).decode(sums, into);
        if is_by_totals {
            // It changes for a thread that waits, too, when it is moved to another CPU.
            into.processes.iter_mut().for_each(|row| {
                row.known = row.known.without(FieldSet::of(&[Field::RunqueueWait]));
            });
        }
        if let Some(unseen) = unseen
            && !is_all
        {
            take_census(walker, unseen)?;
            // It is not about this snapshot alone.
            unseen.take_fresh();
            unseen.add_to(request, into)?;
        }
        Ok(())
    }

    fn unseen(&self) -> &[Pid] {
        self.unseen.as_ref().map_or(&[], Unseen::pids)
    }

    /// Rows of 100,000 tasks are 36 MB, whose pages alone take 15 ms to get and to give back: where the records come in
    /// the order of output, no row is kept.
    ///
    /// When the walk was made, `room` tells afterwards, and which tasks are from /proc.
    fn families<'a>(
        &'a mut self,
        request: &Request,
        room: &'a mut Snapshot,
    ) -> Result<Box<dyn Families + 'a>, Error> {
        if !self.comes_in_order(request) {
            self.snapshot(request, room)?;
            return Ok(Box::new(&*room));
        }
        let possible = &self.possible(request);
        let Walk { walker, unseen, totals, .. } = self;
        totals.take_if(|totals| totals.is_over());
        let totals = totals.as_mut().filter(|_| has_steady(possible.fields));
        room.clear();
        let Some(unseen) = unseen else {
            let walked = walk_tasks(walker, totals, possible)?;
            tell_instant(room, &walked);
            return Ok(Box::new(RecordedFamilies::new(walked, possible, room)));
        };
        // The records of this walk have to stay, so that there is none after it.
        if !unseen.take_fresh() {
            take_census(walker, unseen)?;
            unseen.take_fresh();
        }
        let before = unseen.count();
        let walked = walk_tasks(walker, totals, possible)?;
        let bracket = [before, unseen.count()];
        unseen.fetch(request, &walked, bracket, room)?;
        tell_instant(room, &walked);
        Ok(Box::new(RecordedFamilies::new(walked, possible, room)))
    }

    fn sees_exits(&self) -> bool {
        self.exit_hook.is_some()
    }

    fn watch_exits(&mut self) -> Result<(), Error> {
        if self.exit_hook.is_none() {
            self.exit_hook = Some(ExitHook::attach()?);
        }
        Ok(())
    }

    fn exits(&mut self, into: &mut Exits) -> Result<(), Error> {
        let Some(hook) = &mut self.exit_hook else { return Ok(()) };
        hook.drain(&mut self.drained)?;
        into.exits.extend(self.drained.exits.iter().map(decode_death));
        into.births.extend(self.drained.births.iter().map(decode_birth));
        into.folds.extend(self.drained.folds.iter().map(|(parent, fold)| {
            make!(Fold { ppid: Pid(*parent), exits: fold.exits, runtime_ns: fold.runtime_ns })
        }));
        Ok(())
    }
}

/// Walks over all threads; with what is kept, if it can be used.
fn walk_tasks<'a>(
    walker: &'a mut Walker,
    totals: Option<&'a mut Totals>,
    request: &Request,
) -> Result<Walked<'a>, Error> {
    match totals {
        Some(totals) if request.scope == Scope::Tasks => totals.walk_tasks(walker, &in_kernel(request)),
        _ => Ok(walker.walk(&in_kernel(request))?),
    }
}

/// When the walk was made.
fn tell_instant(snapshot: &mut Snapshot, walked: &Walked<'_>) {
    snapshot.source = SourceKind::Walk;
    snapshot.begin_ns = walked.begin_ns;
    snapshot.begin = Boottime::from_ns(walked.begin_boottime_ns);
    snapshot.end_ns = walked.end_ns;
}

/// A walk for this request, with room for what it records on this machine.
fn load_for(request: &Request) -> Result<Walker, Error> {
    check_namespace(SourceKind::Walk)?;
    let (tasks, processes) = room(request.scope);
    Ok(Walker::load_for(tasks, processes, groups(request.fields))?)
}

/// Finds the tasks that are hidden from programs. Returns what the kernel lacks.
fn take_census(walker: &mut Walker, unseen: &mut Unseen) -> Result<u32, Error> {
    unseen.take_census(&mut |leaders| {
        let walked = walker.walk(&CENSUS)?;
        leaders.extend(walked.processes.iter().map(Leader::of));
        Ok(walked.lacks)
    })
}

/// How many tasks and processes are recorded about now, to size the first buffers: the kernel has to clear them, which takes longer than
/// a visit. Wrong by any amount does no harm.
fn room(scope: Scope) -> (u32, u32) {
    let tasks = machine::tasks().unwrap_or(0);
    let processes = machine::processes().unwrap_or(tasks).min(tasks);
    let recorded = match scope {
        Scope::Leaders | Scope::Processes => processes,
        Scope::Tasks => tasks,
        // A census of all leaders comes before it.
        Scope::Process(pid) => machine::threads(pid).max(processes).min(tasks),
    };
    (recorded, processes)
}

/// The request as the kernel half understands it.
fn in_kernel(request: &Request) -> cpuledger_bpf::Request {
    cpuledger_bpf::Request {
        scope: match request.scope {
            Scope::Leaders => abi::CPULEDGER_WALK_LEADERS,
            Scope::Processes => abi::CPULEDGER_WALK_PROCESSES,
            Scope::Tasks | Scope::Process(_) => abi::CPULEDGER_WALK_TASKS,
        },
        groups: groups(request.fields),
        only_pid: match request.scope {
            Scope::Process(pid) => Some(pid.0),
            _ => None,
        },
    }
}
