//! From a plan to lines: which rows are read, in which order, and which lines each has.

use std::borrow::Cow;
use std::ops::ControlFlow;

use cpuledger::TICK_NS;
use cpuledger::source::choose::{open_for_listing, scope_of_listing};
use cpuledger::source::{self, Member, Source, Visitor};
use cpuledger::task::{Pid, Task};
use cpuledger::{Error, Field, FieldSet, Request, Scope, Snapshot};
#[cfg(test)]
use cpuledger_names::row::Surroundings;
use cpuledger_view::layout::{Chosen, Part, sort};
use cpuledger_view::tree::{self, Drawing};

use super::matcher::{self, Matcher};
use super::page::Page;
use super::parallel;
use super::plan::{Plan, Threads};
use super::survivors::Survivors;

/// Writes the listing.
///
/// # Errors
/// No source, nothing matched, output that cannot be written.
pub fn list(plan: &Plan) -> anyhow::Result<()> {
    let listing = Listing::new(plan);
    let mut page = Page::new(plan);
    match (plan.threads, plan.options.tree) {
        (Threads::Below, _) => listing.list_families(&mut page)?,
        (_, Some(drawing)) => listing.list_trees(&listing.rows()?, drawing, &mut page)?,
        _ if plan.criteria.is_empty() => listing.list_as_they_come(&mut page)?,
        _ => listing.list_sorted(&listing.rows()?, &mut page)?,
    }
    page.finish()
}

/// The lines of rows that were read before, in the surroundings that `settle` makes.
#[cfg(test)]
pub fn lines_of(plan: &Plan, rows: &Snapshot, settle: impl Fn(&mut Surroundings)) -> anyhow::Result<Vec<u8>> {
    let listing = Listing::new(plan);
    let mut page = Page::new(plan);
    settle(page.around_mut());
    listing.matcher.settle(&settle);
    let accepted =
        |rows: &[Task]| -> Vec<Task> { rows.iter().filter(|row| listing.accepts(row)).copied().collect() };
    match (plan.threads, plan.options.tree) {
        (Threads::Below, _) => listing.list_families_of(rows, &mut page)?,
        (_, Some(drawing)) => listing.list_trees(&accepted(&rows.processes), drawing, &mut page)?,
        (Threads::Instead, _) => listing.list_sorted(&accepted(&rows.tasks), &mut page)?,
        (Threads::Hidden, _) => listing.list_sorted(&accepted(&rows.processes), &mut page)?,
    }
    Ok(page.exchange(Vec::new()))
}

struct Listing<'a> {
    plan: &'a Plan,
    survivors: Survivors,
    matcher: Matcher<'a>,
}

impl<'a> Listing<'a> {
    fn new(plan: &'a Plan) -> Listing<'a> {
        let matcher = Matcher::new(&plan.options.filter);
        Listing { plan, survivors: Survivors::new(fields(plan)), matcher }
    }
}

impl Listing<'_> {
    /// Rows are written while they are read: nothing is kept.
    fn list_as_they_come(&self, page: &mut Page) -> anyhow::Result<()> {
        let request = self.request();
        if self.plan.options.quick.is_none() && self.shows_threads() && request.scope == Scope::Tasks {
            return self.list_all_families(&request, page);
        }
        let mut outcome = Ok(());
        self.visit(&mut |row| match page.add(&self.summed(row), b"", Part::Whole) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        })?;
        outcome
    }

    fn list_trees(&self, rows: &[Task], drawing: Drawing, page: &mut Page) -> anyhow::Result<()> {
        let mut sorted = self.sorted(rows, page);
        if self.plan.criteria.is_empty() {
            tree::sort_by_start(&mut sorted);
        }
        tree::sort_by_parent(&mut sorted);
        tree::visit(&sorted, drawing, &mut |row, prefix| page.add(&self.summed(row), prefix, Part::Whole))
    }

    /// In the order of the plan.
    fn list_sorted(&self, rows: &[Task], page: &mut Page) -> anyhow::Result<()> {
        let mut sorted = self.sorted(rows, page).into_iter();
        sorted.try_for_each(|row| page.add(&self.summed(row), b"", Part::Whole))
    }

    /// Each process, and below it its threads.
    fn list_families(&self, page: &mut Page) -> anyhow::Result<()> {
        if self.plan.criteria.is_empty() && self.plan.options.quick.is_none() {
            return self.list_all_families(&self.request(), page);
        }
        let mut outcome = Ok(());
        self.visit_snapshots(&mut |room| {
            outcome = self.list_families_of(room, page);
            outcome.is_ok()
        })?;
        outcome
    }

    /// Processes with their threads, or these alone, while they are read.
    fn list_all_families(&self, request: &Request, page: &mut Page) -> anyhow::Result<()> {
        let mut source = open_for_listing(self.plan.options.source, request)?;
        let mut room = Snapshot::default();
        let families = source.families(request, &mut room)?;
        parallel::add(families.as_ref(), page, &|part, each| {
            let mut is_shown = false;
            // Whether the visitor goes on is for it to say.
            let _ = families.visit(part, &mut |member| match (member, self.plan.threads) {
                (Member::Process(row), Threads::Below) => {
                    is_shown = self.accepts(row);
                    if is_shown { each(&self.summed(row), Part::Process) } else { ControlFlow::Continue(()) }
                }
                (Member::Rest(row), Threads::Below) => {
                    is_shown = self.accepts(row);
                    ControlFlow::Continue(())
                }
                (Member::Task(row), Threads::Below) if is_shown => each(row, Part::Thread),
                (Member::Task(row), Threads::Instead) if self.accepts(row) => {
                    each(&self.summed(&self.survivors.completed(row)), Part::Whole)
                }
                _ => ControlFlow::Continue(()),
            });
        })
    }

    fn shows_threads(&self) -> bool {
        self.plan.threads != Threads::Hidden
    }

    /// What is asked of a source.
    fn request(&self) -> Request {
        let fields = fields(self.plan);
        let scope = scope_of_listing(self.shows_threads(), self.plan.selection.only_process(), fields);
        Request::new(scope, fields)
    }

    fn list_families_of(&self, room: &Snapshot, page: &mut Page) -> anyhow::Result<()> {
        let processes: Vec<Task> = room.processes.iter().filter(|row| self.accepts(row)).copied().collect();
        for process in self.sorted(&processes, page) {
            page.add(&self.summed(process), b"", Part::Process)?;
            let first = room.tasks.partition_point(|task| task.pid < process.pid);
            let threads = room.tasks[first..].iter().take_while(|task| task.pid == process.pid).collect();
            for thread in self.sorted_rows(threads, page) {
                page.add(thread, b"", Part::Thread)?;
            }
        }
        Ok(())
    }

    fn rows(&self) -> Result<Vec<Task>, Error> {
        let mut rows = Vec::new();
        self.visit(&mut |row| {
            rows.push(*row);
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    fn sorted<'a>(&self, rows: &'a [Task], page: &mut Page) -> Vec<&'a Task> {
        self.sorted_rows(rows.iter().collect(), page)
    }

    fn sorted_rows<'a>(&self, mut rows: Vec<&'a Task>, page: &mut Page) -> Vec<&'a Task> {
        if !self.plan.criteria.is_empty() {
            page.look_up(&rows);
            sort(&mut rows, &self.plan.criteria, page.around());
        }
        rows
    }

    fn accepts(&self, row: &Task) -> bool {
        self.plan.selection.accepts_if(row, &self.plan.caller, |row| self.matcher.matches(row))
    }

    /// With what `S` adds, which the order knows nothing of.
    fn summed<'r>(&self, row: &'r Task) -> Cow<'r, Task> {
        let is_sum = self.plan.options.with_children && row.is_leader();
        if is_sum { Cow::Owned(with_children(row)) } else { Cow::Borrowed(row) }
    }

    /// Hands out the rows that are shown: by pid, or in the order of `-q`.
    fn visit(&self, each: Visitor<'_>) -> Result<(), Error> {
        let (request, shows_threads) = (self.request(), self.shows_threads());
        let mut each = |row: &Task| match self.accepts(row) {
            true if shows_threads => each(&self.survivors.completed(row)),
            true => each(row),
            false => ControlFlow::Continue(()),
        };
        if self.plan.options.quick.is_some() || shows_threads && request.scope != Scope::Tasks {
            // Of one process there are both kinds of rows.
            return self.visit_snapshots(&mut |room| {
                let rows = if shows_threads { &room.tasks } else { &room.processes };
                rows.iter().try_for_each(&mut each).is_continue()
            });
        }
        let mut source = open_for_listing(self.plan.options.source, &request)?;
        source::visit(source.as_mut(), &request, &mut each)
    }

    /// Hands out the snapshot, or one for each process of `-q`, until told to stop.
    fn visit_snapshots(&self, each: &mut dyn FnMut(&Snapshot) -> bool) -> Result<(), Error> {
        let fields = fields(self.plan);
        let mut room = Snapshot::default();
        let mut read = |source: &mut dyn Source, scope| -> Result<bool, Error> {
            source.snapshot(&Request::new(scope, fields), &mut room)?;
            Ok(each(&room))
        };
        let Some(pids) = &self.plan.options.quick else {
            let scope = scope_of_listing(true, self.plan.selection.only_process(), fields);
            let mut source = open_for_listing(self.plan.options.source, &Request::new(scope, fields))?;
            return read(source.as_mut(), scope).map(drop);
        };
        let scopes = pids.iter().map(|&pid| Scope::Process(Pid(pid)));
        let Some(first) = scopes.clone().next() else { return Ok(()) };
        let mut source = open_for_listing(self.plan.options.source, &Request::new(first, fields))?;
        for scope in scopes {
            if !read(source.as_mut(), scope)? {
                break;
            }
        }
        Ok(())
    }
}

/// Everything that columns, order and selection look at.
fn fields(plan: &Plan) -> FieldSet {
    let mut fields = plan.chosen().map(Chosen::fields).fold(plan.selection.fields(), FieldSet::union);
    fields = fields.union(matcher::fields(&plan.options.filter));
    if plan.options.tree.is_some() {
        fields = fields.union(FieldSet::of(&[Field::Pid, Field::Ppid, Field::StartTime]));
    }
    for (field, of_children) in CHILDREN {
        if plan.options.with_children && fields.contains(field) {
            fields = fields.union(FieldSet::of(&[of_children]));
        }
    }
    fields
}

/// What a dead child has left, by what it adds to.
const CHILDREN: [(Field, Field); 4] = [
    (Field::User, Field::ChildrenUser),
    (Field::System, Field::ChildrenSystem),
    (Field::MinorFaults, Field::ChildrenMinorFaults),
    (Field::MajorFaults, Field::ChildrenMajorFaults),
];

/// The row with the time and faults of waited-for children, where both are known.
fn with_children(row: &Task) -> Task {
    let mut sum = *row;
    let known =
        |(field, of_children): (Field, Field)| row.known.contains(field) && row.known.contains(of_children);
    // Parts are rounded down to ticks of /proc/PID/stat before they are added.
    let ticks = |ns: u64| ns / TICK_NS * TICK_NS;
    let [user, system, minor, major] = CHILDREN.map(known);
    if user {
        sum.user_ns = ticks(row.user_ns) + ticks(row.children_user_ns);
    }
    if system {
        sum.system_ns = ticks(row.system_ns) + ticks(row.children_system_ns);
    }
    if minor {
        sum.minor_faults += row.children_minor_faults;
    }
    if major {
        sum.major_faults += row.children_major_faults;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::make;

    #[test]
    fn children_are_added_in_whole_ticks_where_they_are_known() {
        let row = make!(Task {
            known: FieldSet::ALL,
            user_ns: 19_999_999,
            children_user_ns: 19_999_999,
            minor_faults: 3,
            children_minor_faults: 4,
        });
        let sum = with_children(&row);
        assert_eq!((sum.user_ns, sum.minor_faults), (20_000_000, 7));
        let unknown = make!(Task { known: FieldSet::of(&[Field::User]), ..row });
        assert_eq!(with_children(&unknown).user_ns, 19_999_999);
    }
}
