//! The account of blame, against loads whose truth is known. Needs root.
//!
//! A task that never sleeps waits whenever it has no CPU. While one of several such tasks on a CPU has it, all others wait because of it. What
//! else runs on the machine can only add to that.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cpuledger::clock::monotonic_ns;
use cpuledger::framing::{self, Circumstances};
use cpuledger::interval::Usage;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{Account, Accounts, FieldSet, Interval, Pid};
use cpuledger_load::{Cgroup, Storm, StormPlan, is_emulated, not_run, online_cpus};
use cpuledger_model::frame::Frame;
use cpuledger_model::make;
use cpuledger_model::pairs::{Party, WaitPairs};
use cpuledger_model::waits::WaitTotals;
use rustix::thread::{CpuSet, sched_setaffinity};

const BLAME: Accounts = Accounts::of(&[Account::Blame]);
const PAIRS: Accounts = Accounts::of(&[Account::Pairs]);
const INTERVAL_NS: u64 = 500_000_000;
/// Of an interval, by which a wait may be off: a signal or a page may come between.
const TOLERANCE_NS: u64 = INTERVAL_NS / 50;

/// One at a time: they keep CPUs busy.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A task that never sleeps, until it is dropped.
struct Spinner(Child);

impl Spinner {
    /// `how` is what it is started by: taskset(1), chrt(1), nice(1) and their arguments.
    fn start(how: &[&str]) -> Spinner {
        let mut command = Command::new(how[0]);
        let command = command.args(&how[1..]).args(["sh", "-c", "while :; do :; done"]);
        Spinner(command.stdin(Stdio::null()).spawn().expect("util-linux and coreutils are installed"))
    }

    fn pid(&self) -> Pid {
        Pid(self.0.id().cast_signed())
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        // Ours, and not waited for yet.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

type Outcome = Result<(), String>;

struct Books {
    ledger: Ledger,
    interval: Interval,
    /// Switches that the kernel has hidden, so far and up to the start of the last interval.
    missed: u64,
    missed_before_last: u64,
}

impl Books {
    fn open(accounts: Accounts) -> Books {
        let ledger = Ledger::open(make!(Options { accounts }));
        Books {
            ledger: ledger.expect("the ledger attaches; it needs root"),
            interval: Interval::default(),
            missed: 0,
            missed_before_last: 0,
        }
    }

    /// Closes an interval of this length. Each balances.
    fn close(&mut self, length_ns: u64) -> &Interval {
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
        let cut_ns = self.ledger.start_ns() + length_ns;
        self.ledger.close(cut_ns, &wanted, &mut self.interval).expect("an interval");
        self.missed_before_last = self.missed;
        self.missed += self.interval.missed_switches.expect("the ledger counts them");
        if self.ledger.kept().contains(Account::Blame) {
            check_balance(&self.interval);
            check_pairs(&self.interval);
        }
        &self.interval
    }

    /// Closes intervals until the hooks have seen each of these begin to wait: one that waits already when they are attached is known from its next turn on.
    fn settle(&mut self, spinners: &[&Spinner]) {
        for _ in 0..20 {
            let length_ns = self.close(INTERVAL_NS).length_ns();
            let is_known = |spinner: &&Spinner| {
                let row = self.interval.processes.iter().find(|row| row.task.pid == spinner.pid());
                row.is_some_and(|row| {
                    let told_ns = row.usage.cpu_ns + row.usage.growth.wait_suffered_ns;
                    told_ns.abs_diff(length_ns) < TOLERANCE_NS
                })
            };
            if spinners.iter().all(is_known) {
                return;
            }
        }
        panic!("in ten seconds not each of them has had a turn");
    }

    fn usage(&self, of: &Spinner) -> Usage {
        let row = self.interval.processes.iter().find(|row| row.task.pid == of.pid());
        row.expect("it waits or runs").usage
    }

    /// What the cgroup of a task is among those of pairs.
    fn party(&self, of: &Spinner) -> Party {
        let row = self.interval.processes.iter().find(|row| row.task.pid == of.pid()).expect("it has a row");
        Party::Cgroup((Some(row.task.cgroup_id), Some(row.task.cgroup_v1_cpu_id)))
    }

    /// Of a task that never sleeps: all that it had no CPU for is what it has waited.
    fn has_never_slept(&self, of: &Spinner) -> Outcome {
        let usage = self.usage(of);
        let without_ns = self.interval.length_ns() - usage.cpu_ns;
        let off_ns = without_ns.abs_diff(usage.growth.wait_suffered_ns);
        if off_ns < TOLERANCE_NS { Ok(()) } else { Err(format!("{without_ns} without a CPU: {usage:?}")) }
    }

    /// Of a task beside which this many others always wait: because of it, as long as it executes.
    fn has_caused(&self, of: &Spinner, waiters: u64) -> Outcome {
        let usage = self.usage(of);
        let executed_ns = usage.cpu_ns - usage.stolen_ns.unwrap_or(0);
        let is_right = usage.growth.wait_caused_ns + TOLERANCE_NS >= waiters * executed_ns;
        // Beside others an emulator may be too slow for a turn of each.
        let had_its_turn = usage.cpu_ns > 0 || is_emulated();
        if is_right && had_its_turn { Ok(()) } else { Err(format!("{waiters} waiters: {usage:?}")) }
    }

    /// Closes intervals of this length until that holds in so many of them. It may fail beside a switch that the kernel has hidden from the hooks:
    /// these find out at the next one.
    fn hold_in(&mut self, times: u32, length_ns: u64, check: impl Fn(&Books) -> Outcome) {
        let mut held = 0;
        for _ in 0..10 * times {
            let missed = self.missed_before_last;
            self.close(length_ns);
            let Err(error) = check(self) else {
                held += 1;
                if held == times {
                    return;
                }
                continue;
            };
            self.close(length_ns);
            assert!(self.missed > missed, "{error}");
        }
        not_run(&format!(
            "this kernel hides switches all the time: {held} intervals of {times} were seen whole"
        ));
    }
}

/// What was suffered is what was caused, and the rows have both.
fn check_balance(interval: &Interval) {
    let waits = &interval.waits;
    let Some(suffered_ns) = waits.suffered_ns else { return };
    assert_eq!(waits.imbalance_ns(), Some(0), "{waits:?}");
    let growths = || interval.processes.iter().map(|row| row.usage.growth);
    let caused_ns: u64 = growths().map(|growth| growth.wait_caused_ns).sum();
    assert_eq!(Some(caused_ns), waits.tasks_ns, "{waits:?}");
    let of_rows_ns: u64 = growths().map(|growth| growth.wait_suffered_ns).sum();
    assert_eq!(Some(suffered_ns - of_rows_ns), waits.unattributed_suffered_ns, "{waits:?}");
}

/// Pairs have the sums of blame: by cause, and all together.
fn check_pairs(interval: &Interval) {
    let Some(pairs) = &interval.pairs else { return };
    let waits = &interval.waits;
    assert_eq!(Some(pairs.sum_ns()), waits.suffered_ns, "{waits:?} {pairs:?}");
    let by_cause = [
        (Party::Idle, waits.idle_ns),
        (Party::Quota, waits.quota_ns),
        (Party::Interrupts, waits.interrupts_ns),
        (Party::Stolen, waits.stolen_ns),
    ];
    for (cause, ns) in by_cause {
        assert_eq!(
            pairs.sum_of(|pair| pair.by == cause),
            ns.unwrap_or(0),
            "{cause:?} of {waits:?} {pairs:?}"
        );
    }
}

/// A CPU, and another one. `None`: there are no two.
fn two_cpus() -> Option<[u32; 2]> {
    match online_cpus().expect("the kernel lists them")[..] {
        [one, other, ..] => Some([other, one]),
        _ => None,
    }
}

fn a_cpu() -> String {
    online_cpus().expect("the kernel lists them").last().expect("there is one").to_string()
}

#[test]
fn spinners_that_share_a_cpu_wait_because_of_each_other_root() {
    let _alone = alone();
    let cpu = a_cpu();
    // Those of the real-time class have the CPU for themselves, so their turns are long.
    let spinners = [(); 3].map(|()| Spinner::start(&["taskset", "-c", &cpu, "chrt", "-r", "10"]));
    let mut books = Books::open(BLAME);
    books.settle(&[&spinners[0], &spinners[1], &spinners[2]]);
    books.hold_in(3, INTERVAL_NS, |books| {
        spinners.iter().try_for_each(|spinner| {
            books.has_never_slept(spinner)?;
            books.has_caused(spinner, 2)
        })
    });
}

/// A loop that is ended in an interval has its part of the waits under its name, as far as the kernel's own count of its life says the same.
#[test]
fn the_dead_keep_what_they_waited_and_caused_root() {
    let _alone = alone();
    let cpu = a_cpu();
    let mut books = Books::open(BLAME);
    for _ in 0..10 {
        let missed = books.missed;
        let spinners = [(); 2].map(|()| Spinner::start(&["taskset", "-c", &cpu, "chrt", "-r", "10"]));
        books.settle(&[&spinners[0], &spinners[1]]);
        let [first, second] = spinners;
        let pid = first.pid();
        std::thread::sleep(Duration::from_millis(300));
        drop(first);
        books.close(INTERVAL_NS);
        drop(second);
        let exited = books.interval.exited.as_ref().expect("the ledger sees them");
        let dead = *exited.iter().find(|exited| exited.exit.process.tid.0 == pid.0).expect("it has died");
        let waited_ns = dead.states.expect("the ledger knows them").runqueue_wait_ns;
        let suffered_ns = dead.booked.wait_suffered_ns.expect("it is kept");
        let caused_ns = dead.booked.wait_caused_ns.expect("it is kept");
        let is_right = suffered_ns.abs_diff(waited_ns) < TOLERANCE_NS
            && caused_ns.abs_diff(dead.cpu_ns) < TOLERANCE_NS
            && suffered_ns > TOLERANCE_NS;
        if is_right {
            return;
        }
        books.close(INTERVAL_NS);
        assert!(books.missed > missed, "{waited_ns} waited: {dead:?}");
    }
    not_run("this kernel hides switches all the time");
}

/// What /proc/stat counts in.
const TICK_NS: u64 = 10_000_000;

/// What the hypervisor has taken of a CPU since the boot.
fn stolen_of_cpu_ns(cpu: &str) -> u64 {
    let stat = std::fs::read_to_string("/proc/stat").expect("procfs");
    let line = stat.lines().find_map(|line| line.strip_prefix(&format!("cpu{cpu} ")));
    let ticks = line.and_then(|line| line.split_whitespace().nth(7)).expect("it is told of each CPU");
    ticks.parse::<u64>().expect("a number") * TICK_NS
}

#[test]
fn nobody_is_to_blame_for_interrupts_and_the_hypervisor_root() {
    let _alone = alone();
    let cpu = a_cpu();
    let spinners = [(); 3].map(|()| Spinner::start(&["taskset", "-c", &cpu, "chrt", "-r", "10"]));
    let mut books = Books::open(BLAME);
    books.settle(&[&spinners[0], &spinners[1], &spinners[2]]);
    let mut totals = WaitTotals::NOTHING;
    let before_ns = stolen_of_cpu_ns(&cpu);
    for _ in 0..4 {
        let waits = books.close(INTERVAL_NS).waits;
        let add = |sum: Option<u64>, more: Option<u64>| Some(sum? + more?);
        totals.interrupts_ns = add(totals.interrupts_ns, waits.interrupts_ns);
        totals.stolen_ns = add(totals.stolen_ns, waits.stolen_ns);
        // By the runtimes that the kernel has measured.
        let usages = || spinners.iter().map(|spinner| books.usage(spinner));
        let stolen_ns: u64 = usages().map(|usage| usage.stolen_ns.unwrap_or(0)).sum();
        let taken_ns = waits.interrupts_ns.unwrap_or(0) + waits.stolen_ns.unwrap_or(0);
        let is_counted = waits.interrupts_ns.or(waits.stolen_ns).is_some();
        assert!(!is_counted || taken_ns + TOLERANCE_NS >= 2 * stolen_ns, "{stolen_ns}: {waits:?}");
    }
    // What was stolen of this CPU while two waited, but for a turn of the clock that it counts by, at either end.
    let stolen_ns = (stolen_of_cpu_ns(&cpu) - before_ns).saturating_sub(2 * TICK_NS);
    assert!(
        totals.stolen_ns.is_none_or(|ns| ns + TOLERANCE_NS >= 2 * stolen_ns),
        "{stolen_ns} were stolen: {totals:?}"
    );
    match (totals.interrupts_ns, totals.stolen_ns) {
        (Some(ns), _) => assert!(ns > 0, "the timer interrupts them a hundred times a second: {totals:?}"),
        (None, Some(ns)) => not_run(&format!(
            "this kernel has no CONFIG_IRQ_TIME_ACCOUNTING, so it counts no interrupts; {ns} ns were waited because \
             of the hypervisor, and {stolen_ns} ns of the CPU were stolen"
        )),
        (None, None) => not_run("this kernel counts neither the time of interrupts nor what is stolen"),
    }
}

/// A group for the cpu controller where there is one, and its number in that hierarchy: `None` is the unified one.
fn cgroup_of_cpu() -> Option<Cgroup> {
    Cgroup::new("cpu").inspect_err(|reason| not_run(&format!("it needs cgroups: {reason}"))).ok()
}

/// What the tasks of these cgroups have made each other wait, by cause and by sufferer.
fn between(pairs: &WaitPairs, by: Party, of: Party) -> u64 {
    pairs.sum_of(|pair| pair.by == by && pair.of == of)
}

#[test]
fn cgroups_that_share_a_cpu_make_each_other_wait_root() {
    let _alone = alone();
    let cpu = a_cpu();
    let Some(groups) = [(); 3].map(|()| cgroup_of_cpu()).into_iter().collect::<Option<Vec<_>>>() else {
        return;
    };
    let spinners: Vec<Spinner> = groups
        .iter()
        .map(|group| {
            let spinner = Spinner::start(&["taskset", "-c", &cpu]);
            group.write("cgroup.procs", &spinner.pid().0.to_string()).expect("it moves");
            spinner
        })
        .collect();
    let mut books = Books::open(PAIRS);
    books.settle(&spinners.iter().collect::<Vec<_>>());
    // Its class is the cgroup that it had when it began to wait.
    books.close(INTERVAL_NS);
    books.hold_in(3, 2 * INTERVAL_NS, |books| {
        let pairs = books.interval.pairs.as_ref().expect("pairs are kept");
        let parties: Vec<Party> = spinners.iter().map(|spinner| books.party(spinner)).collect();
        for (spinner, party) in spinners.iter().zip(&parties) {
            books.has_never_slept(spinner)?;
            // It is alone in its cgroup: what the cgroup has suffered and caused is what it has, to the nanosecond.
            let growth = books.usage(spinner).growth;
            let told = (pairs.sum_of(|pair| pair.of == *party), pairs.sum_of(|pair| pair.by == *party));
            if told != (growth.wait_suffered_ns, growth.wait_caused_ns) {
                return Err(format!("{told:?} of {party:?}: {growth:?} {pairs:?}"));
            }
            // The others have the same weight, so each is to blame for about half of it, but for what nobody of the three is.
            let by_others: Vec<u64> = parties
                .iter()
                .filter(|other| *other != party)
                .map(|other| between(pairs, *other, *party))
                .collect();
            let (least, most) = (by_others[0].min(by_others[1]), by_others[0].max(by_others[1]));
            if most - least > INTERVAL_NS / 5 || least < INTERVAL_NS / 5 || between(pairs, *party, *party) > 0
            {
                return Err(format!("{by_others:?} of {party:?}: {pairs:?}"));
            }
        }
        Ok(())
    });
}

#[test]
fn pairs_balance_under_storms_root() {
    let _alone = alone();
    for threads in [false, true] {
        let workers = 4;
        let storm = Storm::start(&StormPlan { workers, threads, ..StormPlan::default() }).expect("a storm");
        let mut books = Books::open(PAIRS);
        for length_ns in [INTERVAL_NS, 0, 1_000_000, 0, 30_000_000, INTERVAL_NS] {
            books.close(length_ns);
        }
        let suffered_ns = books.interval.pairs.as_ref().map(|pairs| pairs.sum_ns());
        assert!(suffered_ns > Some(least_suffered_ns(workers)), "{workers} workers: {suffered_ns:?}");
        drop(storm);
    }
}

#[test]
fn pairs_come_and_go_with_ledgers_that_take_over_root() {
    let _alone = alone();
    let mut books = Books::open(BLAME);
    let kept = |books: &mut Books| {
        let length_ns = monotonic_ns() - books.ledger.start_ns() + INTERVAL_NS / 10;
        let interval = books.close(length_ns);
        let told = (interval.waits.suffered_ns.is_some(), interval.pairs.is_some());
        (books.ledger.kept().contains(Account::Pairs), told)
    };
    assert_eq!(kept(&mut books), (false, (true, false)));
    books.ledger.keep(PAIRS);
    let told: Vec<_> = (0..3).map(|_| kept(&mut books)).collect();
    assert_eq!(told, [(false, (true, false)), (true, (true, false)), (true, (true, true))]);
    books.ledger.keep(Accounts::NONE);
    let told: Vec<_> = (0..3).map(|_| kept(&mut books)).collect();
    assert_eq!(told, [(true, (true, true)), (false, (true, true)), (false, (false, false))]);
}

#[test]
fn weights_change_who_waits_and_not_what_is_caused_in_a_second_on_the_cpu_root() {
    let _alone = alone();
    let cpu = a_cpu();
    let heavy = Spinner::start(&["taskset", "-c", &cpu, "nice", "-n", "0"]);
    let light = Spinner::start(&["taskset", "-c", &cpu, "nice", "-n", "10"]);
    let mut books = Books::open(BLAME);
    books.settle(&[&heavy, &light]);
    books.hold_in(3, 2 * INTERVAL_NS, |books| {
        for spinner in [&heavy, &light] {
            books.has_never_slept(spinner)?;
            books.has_caused(spinner, 1)?;
        }
        let [heavy, light] = [&heavy, &light].map(|spinner| books.usage(spinner).growth);
        let is_right =
            heavy.wait_caused_ns > light.wait_caused_ns && heavy.wait_suffered_ns < light.wait_suffered_ns;
        if is_right { Ok(()) } else { Err(format!("{heavy:?} {light:?}")) }
    });
}

#[test]
fn a_task_of_the_fair_class_waits_because_of_a_real_time_task_root() {
    let _alone = alone();
    let cpu = a_cpu();
    let victim = Spinner::start(&["taskset", "-c", &cpu]);
    let urgent = Spinner::start(&["taskset", "-c", &cpu, "chrt", "-f", "10"]);
    let mut books = Books::open(BLAME);
    books.settle(&[&victim, &urgent]);
    books.hold_in(2, INTERVAL_NS, |books| {
        books.has_never_slept(&victim)?;
        books.has_caused(&urgent, 1)?;
        let suffered_ns = books.usage(&victim).growth.wait_suffered_ns;
        // The kernel leaves it a part of the time.
        if suffered_ns > INTERVAL_NS / 2 { Ok(()) } else { Err(format!("it has waited {suffered_ns}")) }
    });
}

#[test]
fn a_task_whose_cgroup_has_used_up_its_quota_waits_because_of_that_root() {
    let _alone = alone();
    let group = match Cgroup::new("cpu") {
        Ok(group) => group,
        Err(reason) => return not_run(&format!("it limits the CPU time of a cgroup: {reason}")),
    };
    group.limit_cpu(4_000, 20_000).expect("the kernel limits CPU time of cgroups");
    let held_back = Spinner::start(&["nice", "-n", "0"]);
    group.write("cgroup.procs", &held_back.0.id().to_string()).expect("it moves");
    let mut books = Books::open(BLAME);
    books.settle(&[&held_back]);
    let begin = Instant::now();
    let before_ns = throttled_ns(&group);
    books.close(INTERVAL_NS);
    // Beside others an emulator lets a task of 7.3 run on for long after its group was held back.
    let throttled_ns = (throttled_ns(&group) - before_ns) * if is_emulated() { 3 } else { 4 } / 4;
    // The kernel is asked before the interval begins, and after it has ended.
    let beside_ns = (begin.elapsed().as_nanos() as u64).saturating_sub(books.interval.length_ns());
    books.has_never_slept(&held_back).unwrap_or_else(|error| assert!(books.missed > 0, "{error}"));
    // What is over by the end is all that the kernel tells.
    let (usage, waits) = (books.usage(&held_back), books.interval.waits);
    assert!(
        waits.quota_ns.expect("blame is kept") + beside_ns + TOLERANCE_NS > throttled_ns,
        "{throttled_ns}: {waits:?} {usage:?}"
    );
    assert!(throttled_ns > INTERVAL_NS / 20, "{throttled_ns}: {usage:?}");
    drop(held_back);
}

/// For how long the kernel says that it has held the tasks of a cgroup back.
fn throttled_ns(group: &Cgroup) -> u64 {
    let text = group.read("cpu.stat").expect("it is told of each");
    let of = |key| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
    of("throttled_time ").or_else(|| Some(of("throttled_usec ")? * 1_000)).expect("one of both")
}

/// Sends a process from one CPU to the other, again and again, until it is dropped.
struct Mover(Arc<AtomicBool>, Option<JoinHandle<u64>>);

impl Mover {
    fn start(pid: Pid, cpus: [u32; 2]) -> Mover {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let moving = std::thread::spawn(move || {
            let pid = rustix::process::Pid::from_raw(pid.0);
            let mut moves = 0;
            while !stopped.load(Ordering::Relaxed) {
                let mut only = CpuSet::new();
                only.set(cpus[moves as usize % 2] as usize);
                sched_setaffinity(pid, &only).expect("it lives, and the CPU is online");
                moves += 1;
                std::thread::sleep(Duration::from_millis(3));
            }
            moves
        });
        Mover(stop, Some(moving))
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let moves = self.1.take().map(|moving| moving.join().expect("it does not panic"));
        let few = if is_emulated() { 10 } else { 50 };
        assert!(moves > Some(few), "{moves:?}");
    }
}

#[test]
fn a_task_that_is_moved_while_it_waits_makes_no_difference_to_the_sums_root() {
    let _alone = alone();
    let Some(cpus) = two_cpus() else { return not_run("it moves a task: have two CPUs") };
    let spinners = cpus.map(|cpu| Spinner::start(&["taskset", "-c", &cpu.to_string()]));
    let victim = Spinner::start(&["taskset", "-c", &cpus[0].to_string()]);
    let mut books = Books::open(BLAME);
    let _mover = Mover::start(victim.pid(), cpus);
    books.settle(&[&victim, &spinners[0], &spinners[1]]);
    books.hold_in(3, INTERVAL_NS, |books| {
        books.has_never_slept(&victim)?;
        spinners.iter().try_for_each(|spinner| {
            books.has_never_slept(spinner)?;
            if books.usage(spinner).growth.wait_caused_ns > 0 {
                Ok(())
            } else {
                Err("nobody waited for it".to_owned())
            }
        })
    });
}

/// What is suffered in an interval under a storm, at least. Where each worker has a CPU, few wait, but some do: what is born waits for a switch.
fn least_suffered_ns(workers: usize) -> u64 {
    let cpus = std::thread::available_parallelism().expect("a number of CPUs").get();
    if workers > cpus { INTERVAL_NS } else { 0 }
}

#[test]
fn a_storm_of_forks_and_one_of_threads_balance_root() {
    let _alone = alone();
    for threads in [false, true] {
        let workers = 4;
        let storm = Storm::start(&StormPlan { workers, threads, ..StormPlan::default() }).expect("a storm");
        let mut books = Books::open(BLAME);
        for length_ns in [INTERVAL_NS, 0, 1_000_000, 0, 30_000_000, INTERVAL_NS] {
            books.close(length_ns);
        }
        let few = if is_emulated() { 2 } else { 100 };
        assert!(books.interval.exited.as_ref().map_or(0, Vec::len) > few, "a storm makes tasks that die");
        let suffered_ns = books.interval.waits.suffered_ns;
        assert!(suffered_ns > Some(least_suffered_ns(workers)), "{workers} workers: {suffered_ns:?}");
        drop(storm);
    }
}

#[test]
fn blame_begins_and_ends_while_the_ledger_goes_on_root() {
    let _alone = alone();
    let mut books = Books::open(Accounts::NONE);
    let kept = |books: &mut Books| {
        // Both ledgers can be cut at the same instant only if that lies ahead.
        let length_ns = monotonic_ns() - books.ledger.start_ns() + INTERVAL_NS / 10;
        let waits = books.close(length_ns).waits;
        assert_eq!(books.interval.imbalance_ns(), Some(0));
        (books.ledger.kept().contains(Account::Blame), waits.suffered_ns.is_some())
    };
    assert_eq!(kept(&mut books), (false, false));
    books.ledger.keep(BLAME);
    // A ledger with other hooks is attached after the first, and takes over after the second.
    let told: Vec<_> = (0..3).map(|_| kept(&mut books)).collect();
    assert_eq!(told, [(false, false), (true, false), (true, true)]);
    books.ledger.keep(Accounts::NONE);
    let told: Vec<_> = (0..3).map(|_| kept(&mut books)).collect();
    assert_eq!(told, [(true, true), (false, true), (false, false)]);
}

#[test]
fn frames_have_the_sums_and_merge_them_root() {
    let _alone = alone();
    let _spinners = [(); 3].map(|()| Spinner::start(&["taskset", "-c", &a_cpu()]));
    let mut books = Books::open(PAIRS);
    books.close(INTERVAL_NS / 5);
    let mut pairs = WaitPairs::default();
    let mut frames = Vec::new();
    let mut suffered_ns = 0;
    for _ in 0..2 {
        let interval = books.close(INTERVAL_NS / 5);
        suffered_ns += interval.waits.suffered_ns.expect("blame is kept");
        pairs = pairs.and(interval.pairs.as_ref().expect("pairs are kept"));
        let mut frame = Frame::new();
        framing::write(interval, &Circumstances::default(), &mut frame);
        frames.push(frame);
    }
    let merged = frames[0].merge(&frames[1]).expect("they follow each other");
    let mut read = Interval::default();
    framing::read(&merged, &mut read).expect("it is ours");
    assert_eq!(read.waits.suffered_ns, Some(suffered_ns));
    assert_eq!(read.pairs, Some(pairs));
    check_balance(&read);
    check_pairs(&read);
}
