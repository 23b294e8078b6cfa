//! The totals of processes in listings of the service: it does not visit threads again that have not run, and still tells what the kernel
//! would tell at the time of the call. Needs root.

mod service;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use cpuledger::task::{Pid, Task};
use cpuledger::{Field, FieldSet, Snapshot, framing};
use cpuledger_load::scene::{alone, scene};
use cpuledger_load::{RaisedLimits, Sleepers};
use cpuledger_model::frame::Frame;
use cpuledger_service::client::Client;
use cpuledger_service::varlink::{List, Scope};
use nix::time::{clock_getcpuclockid, clock_gettime};
use service::{Service, TIMEOUT};

/// Says that this program shall be the family, and no test.
const FAMILY: &str = "CPULEDGER_TEST_FAMILY";
/// How old the runtime of a task that runs may be in the kernel: it is counted at each tick.
const TICKS_NS: u64 = 30_000_000;
/// Threads of a family at its begin.
const THREADS: usize = 8;

/// A process whose threads run when they are told to.
struct Family {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Family {
    fn start() -> Family {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "family", "--nocapture", "--test-threads", "1"])
            .env(FAMILY, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let orders = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut family = Family { child, orders, answers };
        family.wait();
        family
    }

    /// Waits for an answer, which comes in a line of its own, and until the threads sleep.
    fn wait(&mut self) {
        let mut line = String::new();
        while !line.trim_end().ends_with("ready") {
            line.clear();
            assert!(self.answers.read_line(&mut line).expect("a line") > 0, "the family has ended");
        }
        std::thread::sleep(Duration::from_millis(30));
    }

    fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("it listens");
        self.wait();
    }

    fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// What the kernel says that its threads have run, the dead included.
    fn runtime_ns(&self) -> u64 {
        let clock = clock_getcpuclockid(nix::unistd::Pid::from_raw(self.pid())).expect("its clock");
        let time = clock_gettime(clock).expect("it lives");
        time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned()
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A thread of the family: it burns as long as it is told to, for ever with 0, and ends with its channel.
fn member(done: &Sender<()>) -> Sender<u64> {
    let (orders, told) = channel::<u64>();
    let done = done.clone();
    std::thread::spawn(move || {
        for ms in told {
            let begin = Instant::now();
            if ms == 0 {
                done.send(()).expect("it is awaited");
            }
            while ms == 0 || begin.elapsed() < Duration::from_millis(ms) {
                std::hint::black_box(0);
            }
            done.send(()).expect("it is awaited");
        }
    });
    orders
}

/// What the family does: it is a program of its own, in which nothing runs but by order.
#[test]
fn family() {
    if std::env::var_os(FAMILY).is_none() {
        return;
    }
    let (done, is_done) = channel();
    let mut members: Vec<_> = (0..THREADS).map(|_| member(&done)).collect();
    println!("ready");
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["burn", index, ms] => {
                let index: usize = index.parse().expect("a number");
                members[index].send(ms.parse().expect("a number")).expect("it lives");
                is_done.recv().expect("it burns");
            }
            ["new"] => members.push(member(&done)),
            ["end"] => drop(members.remove(0)),
            ["name", name] => {
                std::fs::write("/proc/thread-self/comm", name).expect("its own name");
                let task = std::fs::read_dir("/proc/self/task").expect("its threads").flatten().last();
                std::fs::write(task.expect("one").path().join("comm"), name).expect("one of its threads");
            }
            ["exec"] => {
                let error = Command::new(std::env::current_exe().expect("this program"))
                    .args(["--exact", "family", "--nocapture", "--test-threads", "1"])
                    .exec();
                panic!("{error}");
            }
            _ => panic!("{line}"),
        }
        println!("ready");
    }
    // The harness would wait for those that burn.
    std::process::exit(0);
}

/// The rows of processes.
fn list(service: &Service, fields: FieldSet) -> Vec<Task> {
    listed(service, Scope::Processes, fields).processes
}

fn listed(service: &Service, scope: Scope, fields: FieldSet) -> Snapshot {
    let mut client = Client::connect(&service.socket(), TIMEOUT).expect("it listens");
    let keys = cpuledger::field::FIELDS.iter().filter(|info| fields.contains(info.field));
    let fields = keys.map(|info| info.key.to_owned()).collect();
    let (_, bytes) = client.list(&List::new(scope, fields)).expect("it lists");
    let mut snapshot = Snapshot::default();
    framing::read_listing(&Frame::decode(&bytes).expect("a frame"), &mut snapshot).expect("a listing");
    snapshot
}

/// The runtime of the family in a listing is what the kernel says at that time. What runs is counted by the tick.
fn assert_exact(service: &Service, family: &Family, what: &str, slack_ns: u64) {
    let fields = FieldSet::of(&[Field::Runtime, Field::User, Field::System]);
    let before_ns = family.runtime_ns();
    let rows = list(service, fields);
    let after_ns = family.runtime_ns();
    let row = rows.iter().find(|row| row.pid == Pid(family.pid())).expect("its row");
    let told_ns = row.runtime_ns;
    assert!(
        (before_ns.saturating_sub(slack_ns)..=after_ns).contains(&told_ns),
        "{what}: {told_ns} ns are told, {before_ns} to {after_ns} by its clock"
    );
    assert_eq!(row.user_ns + row.system_ns, told_ns, "{what}: /proc shows these");
}

#[test]
fn a_total_is_never_older_than_the_call_root() {
    scene(|| {
        let service = Service::start("");
        let mut family = Family::start();
        let mut other = Family::start();
        assert_exact(&service, &family, "at the begin", 0);
        let orders =
            ["burn 3 20", "burn 3 5", "burn 5 1", "new", "burn 8 10", "end", "burn 0 7", "end", "burn 2 1"];
        for order in orders {
            family.order(order);
            for again in 0..3 {
                assert_exact(&service, &family, &format!("{order}, {again}"), 0);
            }
            // Intervals end in between, or do not.
            if order.starts_with("burn 3") {
                std::thread::sleep(Duration::from_millis(700));
                assert_exact(&service, &family, "later", 0);
            }
            other.order("burn 1 3");
            assert_exact(&service, &other, order, 0);
        }
        family.order("exec");
        assert_exact(&service, &family, "after an exec", 0);
        family.order("burn 6 3");
        assert_exact(&service, &family, "after it", 0);
        family.order("burn 4 0");
        for _ in 0..20 {
            assert_exact(&service, &family, "one that never leaves its CPU", TICKS_NS);
            std::thread::sleep(Duration::from_millis(25));
        }
    });
}

/// The threads of a family by a listing of all threads of the machine: tid, name, state, and runtime.
fn threads(service: &Service, family: &Family) -> Vec<(i32, String, u8, u64)> {
    let fields =
        [Field::Tid, Field::Pid, Field::Comm, Field::State, Field::User, Field::System, Field::Runtime];
    let snapshot = listed(service, Scope::Tasks, FieldSet::of(&fields));
    let rows = snapshot.tasks.iter().filter(|row| row.pid == Pid(family.pid()));
    let mut rows: Vec<_> = rows
        .map(|row| {
            (
                row.tid.0,
                String::from_utf8_lossy(row.comm.as_bytes()).into_owned(),
                row.state.0,
                row.runtime_ns,
            )
        })
        .collect();
    rows.sort();
    rows
}

/// The same by /proc. The runtime of what runs is counted by the tick there, too.
fn threads_of_proc(family: &Family) -> Vec<(i32, String, u8, u64)> {
    let folder = format!("/proc/{}/task", family.pid());
    let read =
        |tid: &str, name: &str| std::fs::read_to_string(format!("{folder}/{tid}/{name}")).expect("it lives");
    let mut rows: Vec<_> = std::fs::read_dir(&folder)
        .expect("it lives")
        .map(|entry| {
            let tid = entry.expect("an entry").file_name().into_string().expect("a number");
            let stat = read(&tid, "stat");
            let state = stat.as_bytes()[stat.rfind(')').expect("a name") + 2];
            let runtime = read(&tid, "schedstat").split(' ').next().and_then(|ns| ns.parse().ok());
            (
                tid.parse().expect("a number"),
                read(&tid, "comm").trim_end().to_owned(),
                state,
                runtime.expect("ns"),
            )
        })
        .collect();
    rows.sort();
    rows
}

/// A machine on which threads are kept: each listing tells of a family what /proc tells at that time.
#[test]
fn threads_are_never_older_than_the_call_root() {
    scene(|| {
        let _limits = RaisedLimits::for_threads(KEPT).expect("limits that can be raised");
        let _sleepers = Sleepers::start(KEPT, 4).expect("room for them");
        let service = Service::start("");
        let mut family = Family::start();
        for order in [
            "burn 3 20",
            "burn 3 5",
            "new",
            "burn 8 10",
            "name 2",
            "end",
            "burn 0 7",
            "end",
            "exec",
            "burn 6 3",
        ] {
            family.order(order);
            for again in 0..3 {
                assert_eq!(threads(&service, &family), threads_of_proc(&family), "{order}, {again}");
                // Until intervals end in which it has not run, so that it is kept.
                std::thread::sleep(Duration::from_millis(if again == 0 { 0 } else { 1_300 }));
            }
        }
        family.order("burn 4 0");
        for _ in 0..20 {
            let running = threads(&service, &family).iter().filter(|(_, _, state, _)| *state == b'R').count();
            assert_eq!(running, 1, "one that never leaves its CPU");
            std::thread::sleep(Duration::from_millis(25));
        }
        // What is stopped is woken for it, and so is what is told to go on.
        let pid = rustix::process::Pid::from_child(&family.child);
        let states = |expected: &str| {
            std::thread::sleep(Duration::from_millis(30));
            let rows = threads(&service, &family);
            assert!(
                rows.iter().all(|(_, _, state, _)| expected.as_bytes().contains(state)),
                "{expected}: {rows:?}"
            );
        };
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("it lives");
        states("T");
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).expect("it lives");
        states("SR");
    });
}

/// What the service has run so far.
fn cpu_ns(service: &Service) -> u64 {
    let clock = clock_getcpuclockid(nix::unistd::Pid::from_raw(service.child.id().cast_signed()));
    let time = clock_gettime(clock.expect("its clock")).expect("it lives");
    time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned()
}

/// Threads that sleep: they make a visit of all several times as expensive as all else that a call takes.
const SLEEPERS: usize = 100_000;
/// Threads enough for the service to keep them.
const KEPT: usize = 10_000;
/// Calls of each kind, in turn: if the machine becomes slower or faster, it does so for both.
const CALLS: usize = 31;

/// There is no count of visits to be had from outside the service, and so this compares CPU times: the least of many calls. A visit of all
/// threads takes several times as long as none, and if the marks are ignored, the times are equal. So the limit, 5 to 4, is far from both.
#[test]
fn threads_that_sleep_are_not_visited_again_root() {
    let _alone = alone();
    let _limits = RaisedLimits::for_threads(SLEEPERS).expect("limits that can be raised");
    let _sleepers = Sleepers::start(SLEEPERS, 4).expect("room for them");
    let service = Service::start("");
    let cost_ns = |field| {
        let before_ns = cpu_ns(&service);
        list(&service, FieldSet::of(&[Field::Runtime, field]));
        cpu_ns(&service) - before_ns
    };
    // The wait for a CPU is not kept.
    let costs_ns = (0..CALLS).map(|_| (cost_ns(Field::User), cost_ns(Field::RunqueueWait)));
    let (kept_ns, visited_ns) =
        costs_ns.reduce(|one, other| (one.0.min(other.0), one.1.min(other.1))).expect("several");
    println!("{kept_ns} ns, and {visited_ns} ns with a visit of all threads");
    assert!(5 * kept_ns < 4 * visited_ns, "{kept_ns} ns, and {visited_ns} ns with a visit of all threads");
    let cost_ns = |field| {
        let before_ns = cpu_ns(&service);
        listed(
            &service,
            Scope::Tasks,
            FieldSet::of(&[Field::Tid, Field::Pid, Field::Comm, Field::User, field]),
        );
        cpu_ns(&service) - before_ns
    };
    // A nice value is changed from outside.
    let costs_ns = (0..CALLS).map(|_| (cost_ns(Field::System), cost_ns(Field::Nice)));
    let (kept_ns, visited_ns) =
        costs_ns.reduce(|one, other| (one.0.min(other.0), one.1.min(other.1))).expect("several");
    println!("threads: {kept_ns} ns, and {visited_ns} ns with a visit of all");
    assert!(5 * kept_ns < 4 * visited_ns, "threads: {kept_ns} ns, and {visited_ns} ns with a visit of all");
}
