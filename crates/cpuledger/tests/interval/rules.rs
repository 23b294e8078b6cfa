//! Each rule of the algebra by itself.

use cpuledger::attribution::difference::{CutFacts, bound_exits};
use cpuledger::interval::Row;
use cpuledger::source::{Birth, Death, Exit, Exits, Fold, SourceKind};
use cpuledger::task::State;
use cpuledger::{Books, Boottime, Comm, Field, FieldSet, Interval, Pid, Snapshot, Task, TaskId, Tid};
use cpuledger_model::make;

const SECOND: u64 = 1_000_000_000;
const WITH_EXITS: CutFacts = CutFacts::new(2, true);

/// Process and only task.
fn process(pid: i32, ppid: i32, start_time_ns: u64, runtime_ns: u64, state: u8) -> Task {
    make!(Task {
        known: FieldSet::ALL,
        tid: Tid(pid),
        pid: Pid(pid),
        ppid: Pid(ppid),
        start_time_ns: Boottime::from_ns(start_time_ns),
        runtime_ns,
        user_ns: runtime_ns,
        state: State(state),
    })
}

fn snapshot(source: SourceKind, begin_ns: u64, rows: &[Task]) -> Snapshot {
    let begin = Boottime::from_ns(begin_ns);
    let mut snapshot = make!(Snapshot { source, begin_ns, begin, end_ns: begin_ns + 1 });
    snapshot.processes.extend_from_slice(rows);
    snapshot.tasks.extend_from_slice(rows);
    snapshot
}

fn exit(pid: i32, ppid: i32, start_time_ns: u64, death_ns: u64, runtime_ns: u64) -> Exits {
    let task = TaskId { tid: Tid(pid), start_time_ns: Boottime::from_ns(start_time_ns) };
    let exit = make!(Exit {
        task,
        process: task,
        ppid: Pid(ppid),
        comm: Comm::new(b"dead"),
        uid: 0,
        euid: Some(0),
        exit_code: Some(0),
        runtime_ns,
        lifetime_ns: death_ns - start_time_ns,
        cgroup_id: None,
        cgroup_v1_cpu_id: None,
    });
    make!(Exits { exits: vec![make!(Death { exit, at: Boottime::from_ns(death_ns) })] })
}

/// Closes one interval after another and returns what each process used in the last: self, x and c.
fn close(
    books: &mut Books,
    cut: &CutFacts,
    snapshot: &Snapshot,
    mut exits: Exits,
) -> (Interval, Vec<(u64, u64, u64)>) {
    let mut interval = Interval::default();
    books.close(cut, snapshot, &mut exits, &mut interval);
    let parts = interval
        .processes
        .iter()
        .map(|Row { usage, .. }| {
            (usage.self_ns, usage.exited_threads_ns.unwrap_or(0), usage.exited_children_ns.unwrap_or(0))
        })
        .collect();
    (interval, parts)
}

fn walk(begin_ns: u64, rows: &[Task]) -> Snapshot {
    snapshot(SourceKind::Walk, begin_ns, rows)
}

#[test]
fn the_first_cut_closes_nothing_and_the_second_tells_lengths() {
    let mut books = Books::new(false);
    let mut interval = Interval::default();
    let rows = [process(1, 0, 0, 500, b'S')];
    assert!(!books.close(&WITH_EXITS, &walk(SECOND, &rows), &mut Exits::default(), &mut interval));
    assert_eq!(interval.attributed_ns, 0);
    assert!(books.close(&WITH_EXITS, &walk(3 * SECOND, &rows), &mut Exits::default(), &mut interval));
    assert_eq!((interval.start_ns, interval.end_ns, interval.length_ns()), (SECOND, 3 * SECOND, 2 * SECOND));
    assert_eq!((interval.capacity_ns, interval.idle_ns, interval.unattributed_ns), (4 * SECOND, None, None));
}

#[test]
fn a_zombie_is_counted_once_with_its_parent() {
    let mut books = Books::new(false);
    let parent = process(1, 0, 0, 0, b'S');
    close(&mut books, &WITH_EXITS, &walk(SECOND, &[parent, process(9, 1, 5, 100, b'R')]), Exits::default());
    let zombie = process(9, 1, 5, 140, b'Z');
    let exits = exit(9, 1, 5, SECOND + 500, 140);
    let (interval, parts) = close(&mut books, &WITH_EXITS, &walk(2 * SECOND, &[parent, zombie]), exits);
    assert_eq!(parts, [(0, 0, 40), (0, 0, 0)]);
    assert_eq!(interval.exited.expect("exits are seen")[0].cpu_ns, 40);
    for cut in 3..6 {
        let (_, parts) =
            close(&mut books, &WITH_EXITS, &walk(cut * SECOND, &[parent, zombie]), Exits::default());
        assert_eq!(parts, [(0, 0, 0), (0, 0, 0)]);
    }
}

#[test]
fn what_died_before_the_first_cut_inherits_nothing() {
    let mut books = Books::new(false);
    let (init, grandparent) = (process(1, 0, 0, 0, b'S'), process(2, 1, 3, 0, b'S'));
    let orphan = process(10, 1, 7, 30, b'S');
    let id = |pid, start| TaskId { tid: Tid(pid), start_time_ns: Boottime::from_ns(start) };
    let births = [((9, 5), (2, 3)), ((10, 7), (9, 5))];
    let births = births.map(|(child, parent)| {
        make!(Birth { process: id(child.0, child.1), parent: id(parent.0, parent.1) })
    });
    let exits = make!(Exits { births: births.to_vec(), ..exit(9, 2, 5, 9, 20) });
    let (interval, _) = close(&mut books, &WITH_EXITS, &walk(SECOND, &[init, grandparent, orphan]), exits);
    assert_eq!(interval.exited.map(|exited| exited.len()), Some(0), "no interval ends here");
    let exits = exit(10, 1, 7, SECOND + 5, 35);
    let (_, parts) = close(&mut books, &WITH_EXITS, &walk(2 * SECOND, &[init, grandparent]), exits);
    assert_eq!(parts, [(0, 0, 0), (0, 0, 5)], "the parent is dead: it goes to the parent of that");
}

#[test]
fn a_death_after_the_cut_belongs_to_the_next_interval() {
    let mut books = Books::new(false);
    let parent = process(1, 0, 0, 0, b'S');
    let rows = [parent, process(9, 1, 5, 100, b'R')];
    close(&mut books, &WITH_EXITS, &walk(SECOND, &rows), Exits::default());
    let rows = [parent, process(9, 1, 5, 130, b'R')];
    let exits = exit(9, 1, 5, 2 * SECOND + 7, 150);
    let (interval, parts) = close(&mut books, &WITH_EXITS, &walk(2 * SECOND, &rows), exits);
    assert_eq!(parts, [(0, 0, 0), (30, 0, 0)]);
    assert!(interval.exited.is_some_and(|exited| exited.is_empty()));
    let (_, parts) = close(&mut books, &WITH_EXITS, &walk(3 * SECOND, &[parent]), Exits::default());
    assert_eq!(parts, [(0, 0, 20)]);
}

/// A walk on a machine that has been suspended for this time.
fn walk_after(suspended_ns: u64, begin_ns: u64, rows: &[Task]) -> Snapshot {
    make!(Snapshot { begin: Boottime::from_ns(begin_ns + suspended_ns), ..walk(begin_ns, rows) })
}

#[test]
fn starts_are_told_by_the_clock_that_runs_in_suspension() {
    let mut books = Books::new(false);
    let parent = process(1, 0, 0, 0, b'S');
    close(&mut books, &WITH_EXITS, &walk_after(100 * SECOND, SECOND, &[parent]), Exits::default());
    let exits = exit(9, 1, 101 * SECOND + 5, 101 * SECOND + 9, 3);
    let (interval, parts) =
        close(&mut books, &WITH_EXITS, &walk_after(100 * SECOND, 2 * SECOND, &[parent]), exits);
    assert_eq!(parts, [(0, 0, 3)]);
    assert_eq!(interval.length_ns(), SECOND, "no time passes in suspension");
}

#[test]
fn a_life_with_a_suspension_in_it_is_not_billed_again() {
    // A leader that an exec by a thread may have replaced stays listed while it dies, with 5 s of runtime. The machine was
    // suspended for 1,000 s of its life, which its lifetime does not count.
    let suspended_ns = 1_000 * SECOND;
    let mut books = Books::new(false);
    let parent = process(1, 0, 0, 0, b'S');
    let rows = |runtime_ns| [parent, process(9, 1, 7, runtime_ns, b'R')];
    close(
        &mut books,
        &WITH_EXITS,
        &walk_after(suspended_ns, 10 * SECOND, &rows(5 * SECOND)),
        Exits::default(),
    );
    let cut_ns = 11 * SECOND;
    let mut exits = exit(9, 1, 7, cut_ns + suspended_ns - 1_000, 5 * SECOND + 30);
    exits.exits[0].exit.lifetime_ns = cut_ns - 1_000 - 7;
    let (_, parts) =
        close(&mut books, &WITH_EXITS, &walk_after(suspended_ns, cut_ns, &rows(5 * SECOND + 20)), exits);
    assert_eq!(parts, [(0, 0, 30), (0, 0, 0)], "what it used since the last cut, and no more");
}

#[test]
fn tasks_without_rows_are_counted() {
    for by_task in [false, true] {
        let mut books = Books::new(by_task);
        let rows = [process(1, 0, 0, 10, b'S'), process(7, 1, 3, 10, b'R'), process(8, 1, 3, 10, b't')];
        let (interval, _) = close(&mut books, &WITH_EXITS, &walk(SECOND, &rows), Exits::default());
        let counts = interval.listed_tasks.map(|counts| [counts.total, counts.running, counts.stopped]);
        assert_eq!(counts, (!by_task).then_some([3, 1, 1]));
        assert_eq!(interval.tasks.len(), if by_task { 3 } else { 0 });
    }
}

#[test]
fn of_a_task_older_than_the_books_and_never_seen_nothing_is_known() {
    let mut books = Books::new(false);
    close(&mut books, &WITH_EXITS, &walk(SECOND, &[]), Exits::default());
    let rows = [process(7, 1, SECOND - 1, 900, b'S'), process(8, 1, SECOND + 1, 30, b'S')];
    let (interval, parts) = close(&mut books, &WITH_EXITS, &walk(2 * SECOND, &rows), Exits::default());
    assert_eq!(parts, [(0, 0, 0), (30, 0, 0)]);
    assert_eq!(interval.processes[0].value(Field::User), cpuledger::Value::Absent);
    assert_eq!(interval.processes[1].value(Field::User), cpuledger::Value::Unsigned(30));
}

fn folds(fold: Fold) -> Exits {
    make!(Exits { folds: vec![fold] })
}

#[test]
fn a_fold_gives_its_time_without_what_was_counted_before() {
    let mut books = Books::new(false);
    let parent = process(5, 1, 0, 0, b'S');
    close(&mut books, &WITH_EXITS, &walk(SECOND, &[parent, process(9, 5, 5, 100, b'R')]), Exits::default());
    // 9 has vanished without a record; with it died two that no cut has seen.
    let exits = folds(make!(Fold { ppid: Pid(5), exits: 3, runtime_ns: 160 }));
    let (interval, parts) = close(&mut books, &WITH_EXITS, &walk(2 * SECOND, &[parent]), exits);
    assert_eq!(parts, [(0, 0, 60)]);
    assert_eq!((interval.unidentified_exits, interval.attributed_ns), (Some(3), 60));
}

#[test]
fn a_zombie_hidden_in_a_fold_is_counted_once() {
    let mut books = Books::new(false);
    let parent = process(5, 1, 0, 0, b'S');
    close(&mut books, &WITH_EXITS, &walk(SECOND, &[parent, process(9, 5, 5, 100, b'R')]), Exits::default());
    let rows = [parent, process(9, 5, 5, 130, b'Z')];
    let exits = folds(make!(Fold { ppid: Pid(5), exits: 1, runtime_ns: 130 }));
    let (interval, parts) = close(&mut books, &WITH_EXITS, &walk(2 * SECOND, &rows), exits);
    assert_eq!(parts, [(0, 0, 30), (0, 0, 0)]);
    assert_eq!(interval.attributed_ns, 30);
    let (interval, _) = close(&mut books, &WITH_EXITS, &walk(3 * SECOND, &rows), Exits::default());
    assert_eq!(interval.attributed_ns, 0);
}

#[test]
fn time_that_a_parent_has_learned_hides_no_death() {
    let mut books = Books::new(false);
    let parent = process(5, 1, 0, 0, b'S');
    close(&mut books, &WITH_EXITS, &walk(SECOND, &[parent, process(9, 5, 5, 100, b'R')]), Exits::default());
    // 9 is a zombie whose record comes later; 40 ns are of others that 5 has waited for.
    let rows = [parent, process(9, 5, 5, 130, b'Z')];
    let exits = folds(make!(Fold { ppid: Pid(5), exits: 0, runtime_ns: 40 }));
    let (interval, parts) = close(&mut books, &WITH_EXITS, &walk(2 * SECOND, &rows), exits);
    assert_eq!(parts, [(0, 0, 70), (0, 0, 0)]);
    assert_eq!((interval.unidentified_exits, interval.attributed_ns), (Some(0), 70));
}

#[test]
fn unreported_deaths_are_of_the_interval_that_hears_of_them() {
    let mut books = Books::new(false);
    let missed = |missed| make!(Exits { missed });
    let rows = [process(5, 1, 0, 0, b'S')];
    let counts = [9, 7, 0].map(|count| {
        let (interval, _) = close(&mut books, &WITH_EXITS, &walk(SECOND, &rows), missed(count));
        interval.missed_exits
    });
    assert_eq!(counts, [0, 7, 0], "those before the first cut are of none");
}

#[test]
fn without_the_exit_hook_the_dead_are_not_known() {
    let cut = make!(CutFacts { sees_exits: false, ..WITH_EXITS });
    let mut books = Books::new(false);
    close(&mut books, &cut, &walk(SECOND, &[process(1, 0, 0, 10, b'S')]), Exits::default());
    let rows = [process(1, 0, 0, 25, b'S')];
    let (interval, _) = close(&mut books, &cut, &walk(2 * SECOND, &rows), Exits::default());
    let usage = &interval.processes[0].usage;
    assert_eq!((usage.cpu_ns, usage.exited_threads_ns, usage.exited_children_ns), (15, None, None));
    assert!(interval.exited.is_none());
}

#[test]
fn files_of_proc_give_user_and_system_time_and_no_deaths() {
    let cut = make!(CutFacts { sees_exits: false, ..WITH_EXITS });
    let mut books = Books::new(true);
    let procfs = |begin_ns, rows: &[Task]| snapshot(SourceKind::Procfs, begin_ns, rows);
    let before = [process(1, 0, 0, 10_000_000, b'S'), process(7, 1, 3, 10_000_000, b'S')];
    close(&mut books, &cut, &procfs(SECOND, &before), Exits::default());
    let mut after = [
        process(1, 0, 0, 40_000_000, b'S'),
        process(7, 1, 2 * SECOND, 10_000_000, b'S'), // the pid is used again
        process(8, 1, 4, 70_000_000, b'S'),          // was not to be seen
    ];
    after[0].system_ns = 20_000_000;
    let (interval, parts) = close(&mut books, &cut, &procfs(3 * SECOND, &after), Exits::default());
    assert_eq!(parts, [(50_000_000, 0, 0), (10_000_000, 0, 0), (0, 0, 0)]);
    assert_eq!(interval.attributed_ns, 60_000_000);
    let tasks: Vec<u64> = interval.tasks.iter().map(|row| row.usage.cpu_ns).collect();
    assert_eq!(tasks, [50_000_000, 10_000_000, 0]);
    assert!(interval.exited.is_none() && interval.processes[0].usage.exited_children_ns.is_none());
}

#[test]
fn without_tasks_the_growth_of_a_process_is_its_own() {
    let mut books = Books::new(false);
    let cut = CutFacts::new(2, false);
    for (begin_ns, used_ns) in [(SECOND, 20_000_000), (2 * SECOND, 50_000_000)] {
        let rows = [process(1, 0, 0, 0, b'S'), process(7, 1, 5, used_ns, b'R')];
        let mut snapshot = snapshot(SourceKind::Procfs, begin_ns, &rows);
        snapshot.tasks.clear();
        let (interval, parts) = close(&mut books, &cut, &snapshot, Exits::default());
        if begin_ns > SECOND {
            assert_eq!(parts, [(0, 0, 0), (30_000_000, 0, 0)]);
            assert_eq!(interval.attributed_ns, 30_000_000);
        }
    }
}

#[test]
fn exits_beyond_the_limit_lose_their_identity_but_not_their_time() {
    let mut books = Books::new(false);
    let parent = process(5, 1, 0, 0, b'S');
    close(&mut books, &WITH_EXITS, &walk(SECOND, &[parent, process(9, 5, 5, 100, b'R')]), Exits::default());
    let mut exits = exit(8, 5, SECOND + 1, SECOND + 2, 7);
    for (pid, start_time_ns, runtime_ns) in [(9, 5, 130), (10, SECOND + 3, 11), (11, SECOND + 4, 13)] {
        exits.exits.append(&mut exit(pid, 5, start_time_ns, SECOND + 9, runtime_ns).exits);
    }
    bound_exits(&mut exits, 1);
    assert_eq!(exits.exits.len(), 1);
    assert_eq!(exits.folds, [make!(Fold { ppid: Pid(5), exits: 3, runtime_ns: 154 })]);
    let (interval, parts) = close(&mut books, &WITH_EXITS, &walk(2 * SECOND, &[parent]), exits);
    assert_eq!(parts, [(0, 0, 7 + 30 + 11 + 13)]);
    assert_eq!(interval.unidentified_exits, Some(3));
}

#[test]
fn what_all_have_used_since_they_began_is_an_interval_since_boot() {
    let row = |pid, runtime_ns| {
        make!(Task {
            known: FieldSet::of(&[Field::Tid, Field::Pid, Field::Runtime]),
            tid: Tid(pid),
            pid: Pid(pid),
            runtime_ns,
        })
    };
    let snapshot = make!(Snapshot { begin_ns: 5_000, processes: vec![row(1, 30), row(2, 400)] });
    let interval = Interval::since_boot(&snapshot, 2);
    assert!(interval.is_since_boot());
    assert_eq!((interval.length_ns(), interval.capacity_ns, interval.attributed_ns), (5_000, 10_000, 430));
    assert_eq!((interval.idle_ns, interval.unattributed_ns), (None, None), "they are unknown");
    assert_eq!(interval.processes.iter().map(|row| row.usage.cpu_ns).collect::<Vec<_>>(), [30, 400]);
    // What follows is not, be it in the same memory and from the first instant of the clock on.
    let (mut interval, mut books, mut exits) = (interval, Books::new(false), Exits::default());
    for begin_ns in [0, 5_000] {
        let snapshot = make!(Snapshot { begin_ns });
        books.close(&WITH_EXITS, &snapshot, &mut exits, &mut interval);
    }
    assert_eq!((interval.start_ns, interval.is_since_boot()), (0, false));
}
