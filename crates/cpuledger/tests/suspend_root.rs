//! A machine that sleeps: one of the clocks stands still meanwhile, and what the sources tell afterwards is told by the other one
//! where it has to be. Needs root, and suspends the machine to memory until an alarm of its clock wakes it: only where
//! `CPULEDGER_TEST_MAY_SUSPEND` allows it, as in the guests of `make vm`.

use std::fs;
use std::io::ErrorKind;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cpuledger::attribution::difference::CutFacts;
use cpuledger::clock::{monotonic_ns, suspended_ns};
use cpuledger::interval::Row;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::source::netlink::Netlink;
use cpuledger::source::walk::Walk;
use cpuledger::source::{Exits, Source};
use cpuledger::{Books, Field, FieldSet, Interval, Request, Scope, Snapshot, SourceKind, Task, machine};
use cpuledger_model::make;
use nix::sys::signal::{Signal, kill};

/// How long the machine shall sleep, in whole seconds of its clock: up to one of them has passed already when it is told.
const SLEEP_S: u64 = 4;
/// CPU time of each worker before the machine sleeps: more than a CPU has in any interval here.
const WORK_TICKS: u64 = 150;
/// For how long the kernel may refuse to sleep, because something is busy.
const BUSY_LIMIT: Duration = Duration::from_secs(20);
/// Between two cuts.
const INTERVAL: Duration = Duration::from_millis(200);
/// What a worker uses at most when it is killed: on an emulated CPU of a busy host much, and half of what it has worked.
const DEATH_NS: u64 = WORK_TICKS * 10_000_000 / 2;
/// By how much a figure of a walk may be off at a cut: a tick, of an emulated CPU.
const SLACK_NS: u64 = 50_000_000;
/// What the task that suspends the machine has on top: the scheduler's clock stops later than CLOCK_MONOTONIC, and starts earlier. On an
/// emulated CPU of a busy host the difference was 230 ms.
const SUSPENDER_SLACK_NS: u64 = 1_000_000_000;

/// A process that has worked and was stopped then. It dies when dropped.
struct Worker(Child);

impl Worker {
    fn start() -> Worker {
        let child = Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        Worker(child.expect("sh runs"))
    }

    fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }

    fn stop_after_work(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while stat(self.pid(), 13) < Some(WORK_TICKS) {
            assert!(Instant::now() < deadline, "a worker has no CPU");
            sleep(Duration::from_millis(20));
        }
        kill(nix::unistd::Pid::from_raw(self.pid()), Signal::SIGSTOP).expect("it is ours");
    }

    fn die(mut self) {
        self.0.kill().expect("it is ours");
        self.0.wait().expect("it is ours");
    }
}

/// A number of /proc/PID/stat, counted from 0; `None`: it is gone.
fn stat(pid: i32, index: usize) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit(") ").next()?.split(' ').nth(index - 2)?.parse().ok()
}

/// Suspends the machine; returns for how long.
fn suspend() -> u64 {
    const ALARM: &str = "/sys/class/rtc/rtc0/wakealarm";
    let before_ns = suspended_ns();
    let begin = Instant::now();
    loop {
        fs::write(ALARM, "0").expect("a clock that can wake the machine");
        fs::write(ALARM, format!("+{SLEEP_S}")).expect("an alarm");
        match fs::write("/sys/power/state", "mem") {
            Ok(()) => return suspended_ns() - before_ns,
            // A CPU that a deadline task has used a moment ago is not let go at once.
            Err(error) if error.kind() == ErrorKind::ResourceBusy && begin.elapsed() < BUSY_LIMIT => {
                sleep(INTERVAL)
            }
            Err(error) => panic!("the machine does not sleep: {error}"),
        }
    }
}

/// Intervals of a source of snapshots.
struct Cuts {
    source: Box<dyn Source>,
    books: Books,
    exits: Exits,
    snapshot: Snapshot,
    interval: Interval,
}

impl Cuts {
    fn begin(mut source: Box<dyn Source>) -> Cuts {
        source.watch_exits().expect("it sees exits");
        let mut cuts = Cuts {
            source,
            books: Books::new(true),
            exits: Exits::default(),
            snapshot: Snapshot::default(),
            interval: Interval::default(),
        };
        cuts.cut(|| ());
        cuts
    }

    /// Cuts; what is done between the snapshot and the reading of the exits is of the next interval.
    fn cut(&mut self, after_snapshot: impl FnOnce()) {
        let request = Request::new(Scope::Tasks, FieldSet::ALL);
        self.source.snapshot(&request, &mut self.snapshot).expect("a snapshot");
        after_snapshot();
        self.source.exits(&mut self.exits).expect("exits");
        let cut = CutFacts::new(machine::online_cpus(), true);
        self.books.close(&cut, &self.snapshot, &mut self.exits, &mut self.interval);
        check(&self.interval, &self.snapshot);
    }
}

/// No task has used more than there was.
fn check(interval: &Interval, snapshot: &Snapshot) {
    let kind = interval.source;
    // A snapshot takes its time: what is read last is of its end.
    let length_ns = interval.length_ns() + (snapshot.end_ns - snapshot.begin_ns);
    let room_ns = length_ns * u64::from(interval.online_cpus) + SLACK_NS;
    let suspender = std::process::id().cast_signed();
    for Row { task: row, usage, .. } in &interval.processes {
        let room_ns = if row.pid.0 == suspender { room_ns + SUSPENDER_SLACK_NS } else { room_ns };
        assert!(usage.cpu_ns <= room_ns, "{kind}: {row:?} has used {usage:?} of {room_ns} ns");
    }
    let all_ns = interval.attributed_ns;
    assert!(all_ns <= room_ns + SUSPENDER_SLACK_NS, "{kind}: {all_ns} of {room_ns} ns");
    let exited = interval.exited.as_ref().expect("exits are seen");
    for exited in exited {
        assert!(exited.cpu_ns <= room_ns, "{kind}: {exited:?} of {room_ns} ns");
        assert!(exited.exit.lifetime_ns <= monotonic_ns(), "{kind}: {exited:?} has not lived in the sleep");
    }
}

/// The CPU time that the record of a death has, once it has come.
fn exited_ns(interval: &Interval, pid: i32) -> Option<u64> {
    let mut exited = interval.exited.iter().flatten();
    Some(exited.find(|exited| exited.exit.task.tid.0 == pid)?.cpu_ns)
}

/// The starts of rows are those in /proc; returns how many there were.
fn check_starts(kind: SourceKind, rows: &[Task]) -> usize {
    let starts = rows.iter().filter_map(|row| Some((row, stat(row.tid.0, 21)?)));
    let checked = starts.map(|(row, ticks)| {
        assert!(row.known.contains(Field::StartTime), "{kind}: {row:?}");
        assert_eq!(row.start_time_ns.ticks(10_000_000), ticks, "{kind}: {row:?}");
    });
    checked.count()
}

struct Sleeper {
    ledger: Option<Ledger>,
    snapshot: Snapshot,
    interval: Interval,
}

impl Sleeper {
    fn begin() -> Sleeper {
        let has_atomics = cpuledger_bpf::has_atomics().expect("root may ask");
        let ledger = has_atomics.then(|| Ledger::open(Options::default()).expect("a ledger"));
        Sleeper { ledger, snapshot: Snapshot::default(), interval: Interval::default() }
    }

    fn cut(&mut self) {
        let Some(ledger) = &mut self.ledger else { return };
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: true });
        ledger.close(0, &wanted, &mut self.interval).expect("a cut");
        assert_eq!(self.interval.imbalance_ns(), Some(0), "{:?}", self.interval);
        check(&self.interval, &self.snapshot);
    }
}

#[test]
fn no_task_works_while_the_machine_sleeps_root() {
    if std::env::var_os("CPULEDGER_TEST_MAY_SUSPEND").is_none() {
        return cpuledger_load::not_run(
            "it suspends the machine for some seconds; CPULEDGER_TEST_MAY_SUSPEND=1 allows it",
        );
    }
    let workers = [(); 3].map(|()| Worker::start());
    workers.iter().for_each(Worker::stop_after_work);
    let begin = Instant::now();
    let mut sleeper = Sleeper::begin();
    let mut cuts: [Cuts; 2] = [
        Box::new(Walk::open().expect("a walk")) as Box<dyn Source>,
        Box::new(Netlink::open().expect("taskstats")),
    ]
    .map(Cuts::begin);
    let begin_ns = sleeper.ledger.as_ref().map(Ledger::start_ns);
    let slept_ns = suspend();
    println!("slept for {slept_ns} ns");
    assert!(slept_ns > 1_000_000_000, "the machine has not slept");
    sleeper.cut();
    cuts.iter_mut().for_each(|cuts| cuts.cut(|| ()));
    // Sources that are opened after the sleep do not know how long it was.
    let mut fresh = Snapshot::default();
    let request = Request::new(Scope::Tasks, FieldSet::ALL);
    Netlink::open().expect("taskstats").snapshot(&request, &mut fresh).expect("a snapshot");
    for (kind, rows) in cuts
        .iter()
        .map(|cuts| (cuts.interval.source, &cuts.snapshot.tasks))
        .chain([(SourceKind::Netlink, &fresh.tasks)])
    {
        assert!(check_starts(kind, rows) > 20, "{kind}: {} rows", rows.len());
    }
    sleep(INTERVAL);
    // Each source has its own death, just after the cut where that can be chosen: still listed alive, and told dead.
    let pids: Vec<i32> = workers.iter().map(Worker::pid).collect();
    let mut workers = workers.into_iter();
    for (cuts, worker) in cuts.iter_mut().zip(&mut workers) {
        cuts.cut(|| worker.die());
    }
    workers.for_each(Worker::die);
    sleep(INTERVAL);
    cuts.iter_mut().for_each(|cuts| cuts.cut(|| ()));
    sleeper.cut();
    // What a worker that is killed uses is not what it has used in its life.
    for (cuts, pid) in cuts.iter().zip(&pids) {
        let used_ns = exited_ns(&cuts.interval, *pid).expect("its record");
        assert!(used_ns < DEATH_NS, "{}: {used_ns} ns", cuts.interval.source);
    }
    if let Some(begin_ns) = begin_ns {
        let used_ns = exited_ns(&sleeper.interval, pids[2]).expect("its record");
        assert!(used_ns < DEATH_NS, "{used_ns} ns");
        let told_ns = sleeper.interval.end_ns - begin_ns;
        assert!(told_ns <= begin.elapsed().as_nanos() as u64, "{told_ns} ns told, and less has passed");
    }
}
