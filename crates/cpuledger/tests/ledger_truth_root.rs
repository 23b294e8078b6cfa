//! What the ledger says of processes, beside what the kernel says that they used. Needs root.
//!
//! `cpu_ns` is time on a CPU. What the kernel says of each (clock_getcpuclockid(3), wait4(2)) is time in which it executed, and so is
//! what a cgroup is charged. These leave out what the hypervisor and interrupts took meanwhile, which the ledger tells as
//! `stolen_ns`. So `cpu_ns` − `stolen_ns` is compared with them. The heir of a dead task has no `stolen_ns` for it. There, what was
//! booked less the final runtime is what was stolen.

mod books;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use books::Books;
use cpuledger::{Field, TaskId};
use cpuledger_load::scene::{alone, missed, scene};
use cpuledger_load::{Cgroup, Kin, Kinsman, is_emulated, runtime_ns};
use nix::time::clock_getcpuclockid;

const ROLES: [&str; 4] = ["alone", "living-threads", "dead-threads", "dead-children"];
/// Two parts and the leader, but for the first.
const MEMBERS: usize = 10;

fn is_full() -> bool {
    std::env::var_os("CPULEDGER_TEST_FULL").is_some_and(|value| value == "1")
}

/// Between a switch and its hook an emulated CPU takes a part of each turn, and more of it on a busy host. So there the tests
/// compare which task had the time exactly, and how much only roughly.
const EMULATED_MILLIONTHS: i128 = 400_000;

/// Whether they differ by at most `millionths` parts of a million.
fn is_close(told: i128, truth: i128, millionths: i128) -> bool {
    let millionths = if is_emulated() { EMULATED_MILLIONTHS } else { millionths };
    (told - truth).abs() * 1_000_000 <= truth * millionths
}

/// The longest that a task runs, where others wait, from a switch that the kernel hid to the next one: a slice of the scheduler, 3 ms,
/// and a tick.
const HIDDEN_NS: i128 = 7_000_000;

/// Whether a task was on a CPU for at least as long as it executed, but for the time that hidden switches have moved.
fn is_possible(stolen: i128, booked: u64) -> bool {
    stolen >= -i128::from(missed()) * HIDDEN_NS
        || (is_emulated() && -stolen * 1_000_000 <= i128::from(booked) * EMULATED_MILLIONTHS)
}

fn percent(told: i128, truth: i128) -> f64 {
    (told - truth) as f64 * 100.0 / truth as f64
}

/// What a process with all its threads has executed, by the kernel.
fn process_cpu_ns(pid: i32) -> u64 {
    let clock = clock_getcpuclockid(nix::unistd::Pid::from_raw(pid)).expect("it lives");
    Duration::from(clock.now().expect("it lives")).as_nanos() as u64
}

/// What was booked for the dead of this parent, less what they executed.
fn stolen_from_children(books: &Books, parent: TaskId) -> i128 {
    let of_it = books.exited.iter().filter(|exited| {
        exited.exit.process != parent && exited.accounting_parent.is_some_and(|pid| pid.0 == parent.tid.0)
    });
    of_it.map(|exited| i128::from(books.tasks[&exited.exit.task]) - i128::from(exited.exit.runtime_ns)).sum()
}

/// Self, x and c of each process over all intervals, and what its children had in their own name while they lived.
#[test]
fn each_process_has_what_the_kernel_says_root() {
    scene(|| {
        let mut kin = Kin::start("sums", if is_full() { 5_000 } else { 1_000 }).expect("a family");
        let mut books = Books::open();
        kin.begin().expect("it begins");
        let hear = std::thread::spawn(move || (kin.burned(MEMBERS), kin));
        books.close_until(150_000_000, |_| hear.is_finished());
        let (members, _kin) = hear.join().expect("no panic");
        let members = members.expect("all have burned");
        // Until all are at rest: what is stolen from a task that runs at a cut is reported later.
        books.close(200_000_000);
        for role in ROLES {
            let of_role: Vec<&Kinsman> = members.iter().filter(|member| member.role == role).collect();
            let leader = of_role.last().expect("each role has burned");
            let process = books.process(leader.pid);
            let held = books.held[&process];
            let children: BTreeMap<i32, TaskId> = of_role
                .iter()
                // A child that was born and died between two cuts, as happens while the reader is held up, had no row.
                .filter(|member| member.pid != leader.pid && books.has_row(member.pid))
                .map(|member| (member.pid, books.process(member.pid)))
                .collect();
            let of_children: u64 = children.values().map(|child| books.held[child].cpu_ns()).sum();
            let stolen = i128::from(held.stolen_ns) + stolen_from_children(&books, process);
            let told = i128::from(held.cpu_ns() + of_children) - stolen;
            // Of a process with all its threads, and of a child that it has waited for: births and ends included.
            let of_dead = of_role.iter().filter(|member| member.pid != leader.pid).map(|member| member.ns);
            let truth = i128::from(of_dead.sum::<u64>() + process_cpu_ns(leader.pid));
            println!(
                "{role}: self {} x {} c {} of living children {of_children} stolen {stolen}: {told} ns, true {truth} ns, {:+.4} %",
                held.self_ns,
                held.exited_threads_ns,
                held.exited_children_ns,
                percent(told, truth)
            );
            assert!(is_close(told, truth, 1_000), "{role}: {told} ns told, {truth} ns true");
            assert!(is_possible(stolen, held.cpu_ns() + of_children) && held.self_ns > 0);
            assert_eq!(held.exited_threads_ns > 0, role == "dead-threads");
            assert_eq!(held.exited_children_ns > 0, role == "dead-children");
        }
    });
}

/// 2,000 (20,000) children of 1 to 3 ms that are not waited for: the kernel adds their time to no process, but to their cgroup.
#[test]
fn the_time_of_thousands_of_unwaited_children_is_their_parents_root() {
    scene(|| {
        let children = match (is_full(), is_emulated()) {
            (true, _) => 20_000,
            (false, true) => 200,
            (false, false) => 2_000,
        };
        let mut kin = Kin::start_with("brood", 0, children).expect("a family");
        let pid = kin.pid();
        let group = Cgroup::new("cpuacct").expect("a cgroup is made; it needs root");
        group.write("cgroup.procs", &pid.to_string()).expect("the family moves into it");
        // What the kernel charged to the group, less what its first process used itself.
        let charged = || {
            let own_ns = runtime_ns(pid).expect("it lives, and is at rest");
            i128::from(group.usage_ns().expect("the kernel says it")) - i128::from(own_ns)
        };
        let before = charged();
        let mut books = Books::open();
        kin.begin().expect("it begins");
        let hear = std::thread::spawn(move || (kin.brood(Duration::from_secs(1200)), kin));
        books.close_until(400_000_000, |_| hear.is_finished());
        let (brood, _kin) = hear.join().expect("no panic");
        let brood = brood.expect("they burned");
        let parent = books.process(pid);
        let truth = charged() - before;

        // A child that was alive at a cut has a row of its own, and only its last interval is in c.
        let records: Vec<_> = books.exited.iter().filter(|exited| exited.exit.ppid.0 == pid).collect();
        assert_eq!(records.len() as u64, children, "a record for each death");
        assert!(records.iter().all(|record| record.accounting_parent.is_some_and(|heir| heir.0 == pid)));
        let in_c: u64 = records.iter().map(|record| record.cpu_ns).sum();
        assert_eq!(
            books.held[&parent].exited_children_ns, in_c,
            "c is the sum of the records, to the nanosecond"
        );
        let booked: u64 = records.iter().map(|record| books.tasks[&record.exit.task]).sum();
        let stolen = stolen_from_children(&books, parent);
        assert!(is_possible(stolen, booked), "on a CPU for at least as long as it executed: {stolen} ns");

        let told = i128::from(booked) - stolen;
        println!(
            "{children} children, c {in_c} ns, {booked} ns booked, {stolen} ns stolen: {told} ns told, {truth} ns charged: \
         {:+.4} %; by their own words before their ends {} ns",
            percent(told, truth),
            brood.ns,
        );
        assert!(told >= i128::from(brood.ns), "each used more than it said before its end");
        // On an emulated CPU each takes a good part of an interval.
        assert!(
            in_c * 10 > booked * if is_emulated() { 1 } else { 9 },
            "nearly all live and die within an interval"
        );
        // By one clock of the kernel, whose reading of a cgroup may be rounded to microseconds.
        assert!((told - truth).abs() < 100_000, "{told} ns told, {truth} ns charged");
    });
}

/// A process that dies between the cut and the look at it has left its figures at its last switch: they are in its row.
#[test]
fn who_died_before_the_look_has_its_figures_root() {
    let _alone = alone();
    let (mut books, stop) = (Books::open(), AtomicBool::new(false));
    let mut found = 0;
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    Command::new("/bin/true").status().expect("it runs");
                }
            });
        }
        for _ in 0..2_000 {
            books.close(5_000_000);
            let rows = books.interval.processes.iter().map(|row| (&row.task, &row.usage));
            for (row, usage) in rows.filter(|(row, _)| !row.known.contains(Field::State)) {
                if usage.self_ns == 0 {
                    continue;
                }
                // It has folded no thread, so all of it is known.
                let growth = &usage.growth;
                let known = [Field::User, Field::System, Field::MinorFaults]
                    .map(|field| growth.known.contains(field));
                assert_eq!((known, usage.stolen_ns.is_some()), ([true; 3], true), "{row:?} {usage:?}");
                assert!(growth.user_ns + growth.system_ns > 0, "{row:?} {usage:?}");
                found += 1;
            }
            if found >= 5 {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(found >= 5, "{found} died in between");
}
