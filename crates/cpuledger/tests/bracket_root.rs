//! Every field of every kind of task, between two readings of /proc: procfs ≤ ours ≤ procfs for what grows, equality for
//! what stands still. Needs root: the kinds include other users, PID namespaces and real-time policies.

#[path = "bracket/oracle.rs"]
mod oracle;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use cpuledger::field::{DELAYS, FIELDS, Group, OF_ACCOUNTS};
use cpuledger::source::netlink::Netlink;
use cpuledger::source::procfs::Procfs;
use cpuledger::source::walk::Walk;
use cpuledger::task::State;
use cpuledger::{Field, FieldSet, Request, Scope, Snapshot, Source, Task, Value};
use cpuledger_bpf::Mechanism;
use cpuledger_load::{Zoo, is_emulated};
use oracle::{Expected, Oracle, Subject, observed};

/// Maximum number of looks at a task before a difference counts: a timer may run a sleeping one.
const ATTEMPTS: usize = 20;
/// The daemon that makes kernel threads.
const KTHREADD: i32 = 2;
/// What kernel threads are called among the kinds.
const KERNEL_THREAD: &str = "kernel thread";

/// One zoo for all tests, as its members do nothing; it ends with this process.
fn members() -> Vec<(String, i32, Vec<i32>)> {
    static ZOO: OnceLock<Zoo> = OnceLock::new();
    let zoo = ZOO.get_or_init(|| Zoo::start().expect("the zoo starts; it needs root"));
    let mut members: Vec<(String, i32, Vec<i32>)> =
        zoo.members().iter().map(|member| (member.kind.clone(), member.pid, member.tids.clone())).collect();
    members.extend(kernel_threads().into_iter().map(|pid| (KERNEL_THREAD.to_owned(), pid, vec![pid])));
    members
}

/// Kernel threads, among them the daemon that makes them, and some that are named beyond 15 characters.
fn kernel_threads() -> Vec<i32> {
    let names = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let all: Vec<i32> = std::fs::read_dir("/proc")
        .expect("procfs")
        .filter_map(|entry| entry.ok()?.file_name().to_string_lossy().parse().ok())
        .filter(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/status"))
                .is_ok_and(|status| status.contains("Kthread:\t1") || status.contains("PPid:\t2\n"))
        })
        .filter(|pid| !names(pid).starts_with("kworker") || names(pid).contains("kworker/R"))
        .collect();
    let uname = rustix::system::uname();
    let mut release = uname.release().to_str().expect("a release").split('.').map(|part| part.parse::<u32>());
    let (Some(Ok(major)), Some(Ok(minor))) = (release.next(), release.next()) else { panic!("{uname:?}") };
    if (major, minor) >= (5, 17) {
        assert!(
            all.iter().any(|pid| names(pid).len() > 16),
            "this kernel has kernel threads with long names"
        );
    }
    // All files of all of them are many for an emulated CPU.
    let is_taken = |(index, pid): &(usize, i32)| {
        !is_emulated() || *pid == KTHREADD || index % 4 == 0 || (index % 2 == 0 && names(pid).len() > 16)
    };
    all.into_iter().enumerate().filter(is_taken).map(|(_, pid)| pid).collect()
}

/// One comparison that failed.
struct Difference {
    text: String,
    /// The task has run between the two readings, or is about to: what stands still while it sleeps may have been anything.
    has_moved: bool,
}

fn differs(
    field: Field,
    row: &Task,
    before: &Oracle,
    after: &Oracle,
    compared: &mut BTreeSet<Field>,
) -> Option<Difference> {
    let (first, last) = (before.expected(field), after.expected(field));
    let ours = observed(field, row, &first)?;
    if matches!(first, Expected::Unsaid(_)) {
        return None;
    }
    let is_cumulative = field.info().cumulative;
    let holds = match (&first, &ours, &last) {
        (Expected::Number(first), Expected::Number(ours), Expected::Number(last))
        | (Expected::Coarse(_, first), Expected::Coarse(_, ours), Expected::Coarse(_, last))
            if is_cumulative =>
        {
            first <= ours && ours <= last
        }
        (first, ours, last) => first == ours && ours == last,
    };
    if holds {
        compared.insert(field);
        return None;
    }
    Some(Difference {
        text: format!("{}: {first:?} then ours {ours:?} then {last:?}", field.info().key),
        has_moved: !is_cumulative && (first != last || before.switches() != after.switches()),
    })
}

/// Compares each member, its process and its tasks, and returns the fields that were compared.
fn bracket(source: &mut dyn Source) -> (BTreeSet<Field>, BTreeSet<Field>) {
    bracket_but(source, |_, _| false)
}

/// As [`bracket`], but for these fields of these kinds.
fn bracket_but(
    source: &mut dyn Source,
    is_apart: fn(&str, Field) -> bool,
) -> (BTreeSet<Field>, BTreeSet<Field>) {
    let members = members();
    let mut compared = (BTreeSet::new(), BTreeSet::new());
    let mut snapshot = Snapshot::default();
    let mut subjects: Vec<(String, Subject)> = members
        .iter()
        .flat_map(|(kind, pid, tids)| {
            let tasks = tids.iter().map(|tid| (kind.clone(), Subject::Task(*pid, *tid)));
            std::iter::once((kind.clone(), Subject::Process(*pid))).chain(tasks).collect::<Vec<_>>()
        })
        .collect();
    // Of those that have not agreed in any attempt, how they differed in the last one. Only these are looked at again.
    let mut failures: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for _ in 0..ATTEMPTS {
        let read_all = || subjects.iter().map(|(_, subject)| Oracle::read(*subject)).collect::<Vec<_>>();
        let before = read_all();
        source.snapshot(&Request::new(Scope::Tasks, FieldSet::ALL), &mut snapshot).expect("a snapshot");
        let after = read_all();
        let mut differing = Vec::new();
        failures.clear();
        for (((kind, subject), before), after) in subjects.iter().zip(&before).zip(&after) {
            let (rows, compared) = match subject {
                Subject::Process(_) => (&snapshot.processes, &mut compared.0),
                Subject::Task(..) => (&snapshot.tasks, &mut compared.1),
            };
            let (Subject::Process(tid) | Subject::Task(_, tid)) = *subject;
            let Some(row) = rows.iter().find(|row| row.tid.0 == tid) else {
                failures.insert(format!("{kind} {subject:?}"), vec!["missing".to_owned()]);
                differing.push((kind.clone(), *subject));
                continue;
            };
            let (before, after) = (before.as_ref().expect("alive"), after.as_ref().expect("alive"));
            let wrong: Vec<Difference> = FIELDS
                .iter()
                .map(|info| info.field)
                .filter(|&field| !is_apart(kind, field))
                .filter_map(|field| differs(field, row, before, after, compared))
                .collect();
            if wrong.is_empty() {
                continue;
            }
            differing.push((kind.clone(), *subject));
            // Some tasks work whenever we do, such as those of RCU: they may never stand still while we look.
            if kind != KERNEL_THREAD || wrong.iter().any(|difference| !difference.has_moved) {
                let texts = wrong.into_iter().map(|difference| difference.text).collect();
                failures.insert(format!("{kind} {subject:?}"), texts);
            }
        }
        if differing.is_empty() {
            break;
        }
        subjects = differing;
    }
    assert!(failures.is_empty(), "{} rows differ: {failures:#?}", failures.len());
    compared
}

fn keys(fields: &BTreeSet<Field>) -> Vec<&'static str> {
    fields.iter().map(|field| field.info().key).collect()
}

/// Fields of the table that no row of this kind had.
fn missing(compared: &BTreeSet<Field>) -> Vec<&'static str> {
    keys(&FieldSet::ALL.iter().filter(|field| !compared.contains(field)).collect())
}

/// What no walk tells, and what /proc does not tell (`Unsaid` in the oracle).
fn not_compared() -> Vec<&'static str> {
    keys(&DELAYS.union(OF_ACCOUNTS).iter().collect())
}

#[test]
fn walk_in_one_call_agrees_with_procfs_root() {
    let mut walk =
        Walk::open_mechanism(Mechanism::OneCall).expect("the walk loads; it needs root and Linux 6.7");
    let (processes, tasks) = bracket(&mut walk);
    assert_eq!(
        missing(&processes),
        not_compared(),
        "every other field of the table is compared for processes"
    );
    assert_eq!(missing(&tasks), not_compared(), "every other field of the table is compared for tasks");
}

#[test]
fn walk_by_iterator_agrees_with_procfs_root() {
    let mut walk =
        Walk::open_mechanism(Mechanism::Iterator).expect("the iterator loads; it needs root and Linux 5.8");
    let (processes, tasks) = bracket(&mut walk);
    assert_eq!(
        missing(&processes),
        not_compared(),
        "every other field of the table is compared for processes"
    );
    assert_eq!(missing(&tasks), not_compared(), "every other field of the table is compared for tasks");
}

#[test]
fn procfs_agrees_with_procfs_root() {
    let mut procfs = Procfs::open().expect("procfs");
    let (processes, tasks) = bracket(&mut procfs);
    let claimed: BTreeSet<Field> = procfs.fields().iter().collect();
    assert_eq!(keys(&tasks), keys(&claimed), "every field that the source claims is compared");
    assert!(processes.is_subset(&claimed));
}

#[test]
fn netlink_agrees_with_procfs_root() {
    let mut netlink = Netlink::open().expect("taskstats; it needs root and the initial namespaces");
    // Only /proc names kernel workers after what they work on. No message has the user and system time that the kernel has
    // already shown, below which it never goes. A start is told by the age at some instant during the query, which on a busy
    // machine may take longer than a tick.
    const ESTIMATES: FieldSet = FieldSet::of(&[Field::User, Field::System, Field::StartTime]);
    let (processes, tasks) = bracket_but(&mut netlink, |kind, field| {
        ESTIMATES.contains(field) || (field == Field::Comm && kind == KERNEL_THREAD)
    });
    let claimed = netlink.fields().without(DELAYS).without(ESTIMATES);
    let claimed: BTreeSet<Field> = claimed.iter().collect();
    assert_eq!(keys(&tasks), keys(&claimed), "every field that the source claims is compared");
    assert!(processes.is_subset(&claimed));
}

/// What a process has the sum of over its threads: the dead ones too, where the kernel keeps their sum. User and system time are of the sum of the ticks, and no sum of theirs.
fn is_summed(field: Field) -> bool {
    let is_of_process = matches!(
        field,
        Field::User
            | Field::System
            | Field::ChildrenUser
            | Field::ChildrenSystem
            | Field::ChildrenMinorFaults
            | Field::ChildrenMajorFaults
    );
    field.info().cumulative && !is_of_process
}

/// What no task may have where nothing reads or writes a block device.
const OF_BLOCK_DEVICES: FieldSet =
    FieldSet::of(&[Field::MajorFaults, Field::ReadBytes, Field::WriteBytes, Field::CancelledWriteBytes]);

fn number(field: Field, row: &Task) -> u64 {
    match field.value(row) {
        Value::Unsigned(number) => number,
        other => panic!("{} of {}: {other:?}", field.info().key, row.tid),
    }
}

/// What shows that a task has run.
fn traces(row: &Task) -> (i32, u64, u64, u64, State) {
    (row.tid.0, row.runtime_ns, row.voluntary_switches, row.involuntary_switches, row.state)
}

/// Each process of the first of these snapshots with its tasks, if none of them has run between these snapshots of all tasks.
fn still<'a>(snapshots: &'a [&Snapshot]) -> impl Iterator<Item = (&'a Task, &'a [Task])> {
    let tasks_of = |snapshot: &'a Snapshot, pid| {
        let first = snapshot.tasks.partition_point(|row| row.pid < pid);
        let end = snapshot.tasks.partition_point(|row| row.pid <= pid);
        &snapshot.tasks[first..end]
    };
    let is_still = move |pid| {
        let mut all = snapshots.iter().map(|snapshot| tasks_of(snapshot, pid).iter().map(traces));
        let first: Vec<_> = all.next().expect("there are snapshots").collect();
        first.iter().all(|task| task.4 != State(b'R')) && all.all(|other| other.eq(first.iter().copied()))
    };
    let processes = snapshots[0].processes.iter().filter(move |row| is_still(row.pid));
    processes.map(move |row| (row, tasks_of(snapshots[0], row.pid)))
}

fn snapshot_of(source: &mut dyn Source, fields: FieldSet) -> Snapshot {
    let mut snapshot = Snapshot::default();
    source.snapshot(&Request::new(Scope::Tasks, fields), &mut snapshot).expect("a snapshot");
    snapshot
}

/// The totals of processes that stand still are at least the sums over their tasks, and are the same in each walk into the same records.
fn check_totals(walk: &mut Walk) {
    members(); // of them some have done what others do not
    let [first, middle, last] = [(); 3].map(|()| snapshot_of(walk, FieldSet::ALL));
    let snapshots = [&middle, &first, &last];
    let mut nonzero = BTreeSet::new();
    let mut checked = 0;
    for (process, tasks) in still(&snapshots) {
        checked += 1;
        for field in walk.fields().iter().filter(|&field| is_summed(field)) {
            let (key, pid) = (field.info().key, process.pid);
            let sum: u64 = tasks.iter().map(|row| number(field, row)).sum();
            let total = number(field, process);
            assert!(
                total >= sum,
                "{key} of {pid} is {total}, of its tasks {sum}: `add_thread` of read_task.bpf.h adds it up"
            );
            for other in [&first, &last] {
                let row = other.processes.iter().find(|row| row.pid == pid).expect("it has tasks");
                let again = number(field, row);
                assert_eq!(
                    again, total,
                    "{key} of {pid} between walks: `read_dead_threads` of read_task.bpf.h sets it"
                );
            }
            if sum > 0 {
                nonzero.insert(field);
            }
        }
    }
    let expected = walk.fields().without(OF_BLOCK_DEVICES).iter().filter(|&field| is_summed(field));
    let zero: Vec<&str> =
        expected.filter(|field| !nonzero.contains(field)).map(|field| field.info().key).collect();
    assert!(
        zero.is_empty(),
        "{zero:?} are 0 in {checked} processes: the walk says that it knows them, and does not read them"
    );
}

#[test]
fn walk_in_one_call_sums_threads_root() {
    check_totals(
        &mut Walk::open_mechanism(Mechanism::OneCall).expect("the walk loads; it needs root and Linux 6.7"),
    );
}

#[test]
fn walk_by_iterator_sums_threads_root() {
    check_totals(
        &mut Walk::open_mechanism(Mechanism::Iterator)
            .expect("the iterator loads; it needs root and Linux 5.8"),
    );
}

/// A walk that is loaded for one group, and asked for it, tells of it what a whole walk tells.
#[test]
fn walk_of_one_group_reads_its_fields_root() {
    members();
    let mut whole = Walk::open().expect("the walk loads; it needs root");
    let groups: Vec<Group> = FIELDS.iter().map(|info| info.group).fold(Vec::new(), |mut groups, group| {
        if !groups.contains(&group) {
            groups.push(group);
        }
        groups
    });
    for group in groups {
        let fields = FieldSet::of_group(group).intersection(whole.fields());
        let mut narrow = Walk::open_for(fields).expect("it loads as the whole does");
        let before = snapshot_of(&mut whole, FieldSet::ALL);
        let between = snapshot_of(&mut narrow, fields);
        let after = snapshot_of(&mut whole, FieldSet::ALL);
        let mut compared = 0;
        for (process, tasks) in still(&[&before, &after]) {
            let pairs = [(process, &between.processes)].into_iter();
            for (row, rows) in pairs.chain(tasks.iter().map(|row| (row, &between.tasks))) {
                let Some(ours) = rows.iter().find(|other| other.tid == row.tid) else { continue };
                compared += 1;
                for field in fields.iter() {
                    let (key, tid) = (field.info().key, row.tid);
                    assert_eq!(
                        field.value(ours),
                        field.value(row),
                        "{key} of {tid}: it is not read with its group {group:?}"
                    );
                }
            }
        }
        assert!(compared > 0, "everything runs");
    }
}

#[test]
fn leaders_leave_totals_of_several_threads_unknown_root() {
    let members = members();
    let mut walk = Walk::open().expect("the walk loads; it needs root");
    let mut snapshot = Snapshot::default();
    walk.snapshot(&Request::new(Scope::Leaders, FieldSet::ALL), &mut snapshot).expect("a snapshot");
    let mut seen = (0, 0);
    let of_threads = |field: &Field| is_summed(*field) || matches!(field, Field::User | Field::System);
    for (kind, pid, tids) in &members {
        let row = snapshot.processes.iter().find(|row| row.pid.0 == *pid).expect(kind);
        for field in walk.fields().iter().filter(of_threads) {
            let is_absent = field.value(row) == Value::Absent;
            assert_eq!(
                is_absent,
                tids.len() > 1,
                "{} of {kind}: `WALK_TOTALS` of records.rs has it",
                field.info().key
            );
        }
        *(if tids.len() > 1 { &mut seen.0 } else { &mut seen.1 }) += 1;
    }
    assert!(seen.0 > 0 && seen.1 > 0, "{seen:?}");
}
