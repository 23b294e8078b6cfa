//! `cpuledger-client` beside a real service: intervals without a thread, a service that goes and comes back, and measurements. Needs root.

mod service;

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cpuledger_client::{Client, Measured, Measurement, Next};
use cpuledger_load::ForkingShells;
use cpuledger_load::scene::{alone, were_missed};
use cpuledger_model::{Interval, Pid, Request, Scope, Snapshot, field::FieldSet};
use service::{Service, TIMEOUT};

const LENGTH: Duration = Duration::from_millis(400);

/// What nobody waits for: its parent ignores SIGCHLD, so getrusage(2) does not have it.
const UNWAITED: &str = "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n\
    reader, writer = os.pipe()\nfor n in range(20):\n    if os.fork() == 0:\n        \
    while time.process_time() < 0.02: pass\n        os._exit(0)\n\
    os.close(writer)\nos.read(reader, 1)\ntime.sleep(0.05)\n";
/// CPU time of the children of [`UNWAITED`].
const UNWAITED_NS: u64 = 20 * 20_000_000;

fn assert_balance(interval: &Interval) {
    assert_eq!(interval.fault(), None, "{interval:?}");
    assert!(interval.capacity_ns > 0);
}

/// An interval without books.
fn is_gap(interval: &Interval) -> bool {
    interval.unattributed_by.not_attached_ns == interval.capacity_ns && interval.processes.is_empty()
}

fn threads_named(name: &str) -> usize {
    let threads = fs::read_dir("/proc/self/task").expect("procfs");
    let names = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.filter(|comm| comm.trim_end() == name).count()
}

#[test]
fn intervals_follow_each_other_without_a_thread_root() {
    let _alone = alone();
    // A thread of a test before this one looks every two seconds whether it is still needed.
    let begin = Instant::now();
    while threads_named("ring") > 0 {
        assert!(begin.elapsed() < TIMEOUT, "a thread outlives its client");
        std::thread::sleep(Duration::from_millis(50));
    }
    let service = Service::start("");
    let _shells = ForkingShells::start(1).expect("shells");
    let mut client = Client::service_at(&service.socket(), LENGTH).expect("a service");
    assert_eq!(client.next_within(Some(Duration::ZERO)).expect("it is there"), Next::Nothing);
    let (mut end_ns, mut with_books) = (None, 0);
    while with_books < 4 {
        assert_eq!(client.next_within(Some(TIMEOUT)).expect("it is there"), Next::Interval);
        let interval = client.interval();
        assert_balance(interval);
        assert!(end_ns.is_none_or(|end_ns| end_ns == interval.start_ns), "{interval:?}");
        end_ns = Some(interval.end_ns);
        // A busy machine may read too late.
        with_books += usize::from(!is_gap(interval));
        assert!(client.circumstances().end_realtime_ns.is_some());
    }
    let now_ns = cpuledger_client::clock::monotonic_ns();
    let mut cut = client.cut().expect("it is there");
    while client.interval().end_ns < now_ns {
        cut = client.next_within(Some(TIMEOUT)).expect("it is there");
    }
    assert_eq!((cut, threads_named("ring")), (Next::Interval, 0));
    assert_balance(client.interval());
    let request = Request::new(Scope::Tasks, FieldSet::ALL);
    let mut listing = Snapshot::default();
    client.listing(&request, &mut listing).expect("a listing");
    let own = Pid(std::process::id().cast_signed());
    assert!(listing.processes.iter().any(|row| row.pid == own) && listing.tasks.len() > 1);
}

#[test]
fn time_without_the_service_is_told_as_such_root() {
    let _alone = alone();
    let mut service = Service::start("");
    let mut client = Client::service_at(&service.socket(), LENGTH).expect("a service");
    let first = client.next().expect("no end").expect("it is there");
    service.child.kill().expect("it is there");
    service.child.wait().expect("it is there");
    let mut end_ns = first.end_ns;
    let mut next = |client: &mut Client| {
        let interval = client.next().expect("no end").expect("no error");
        assert_balance(&interval);
        assert_eq!(interval.start_ns, std::mem::replace(&mut end_ns, interval.end_ns), "no time is left out");
        interval
    };
    while !is_gap(&next(&mut client)) {}
    assert!(client.ended().is_some(), "it says why");
    service.child = Service::command(&service.folder).stderr(Stdio::null()).spawn().expect("it starts");
    service.wait();
    let begin = Instant::now();
    while is_gap(&next(&mut client)) {
        assert!(begin.elapsed() < TIMEOUT, "it is back");
    }
    assert!(client.ended().is_none());
}

/// Attempts until no interval was lost: on a busy machine the test may read too late.
const ATTEMPTS: usize = 20;

/// Runs what nobody waits for, and compares.
fn assert_measured(run: impl Fn() -> Measured) {
    let mut attempts = (0..ATTEMPTS).map(|_| run());
    let measured =
        attempts.find(|measured| measured.without_books_ns == 0).expect("not all of them are late");
    let tree = &measured.tree;
    were_missed(tree.missed_switches.unwrap_or_else(|| panic!("root sees all: {measured:?}")));
    // The service and what other tests start descend from this process, too.
    let used = tree.sums.by_name.get(&Some("python3".to_owned())).expect("it ran");
    assert_eq!(used.processes, 21, "{measured:?}");
    assert!(used.cpu_ns >= UNWAITED_NS && tree.booked_ns >= used.cpu_ns, "{measured:?}");
    let capacity_ns =
        (measured.end_ns - measured.start_ns) * u64::from(cpuledger_client::cpus::online_cpus());
    assert!(tree.booked_ns + tree.own_ns + measured.unattributed_ns <= capacity_ns, "{measured:?}");
}

fn unwaited() -> Command {
    let mut python = Command::new("python3");
    python.args(["-c", UNWAITED]).stdin(Stdio::null());
    python
}

#[test]
fn a_measurement_has_what_nobody_waits_for_root() {
    let _alone = alone();
    let service = Service::start("");
    let own = Pid(std::process::id().cast_signed());
    assert_measured(|| {
        let mut measurement = Measurement::begin_at(&service.socket(), own).expect("a service");
        let mut child = unwaited().spawn().expect("python3 is there");
        while child.try_wait().expect("it can be waited for").is_none() {
            measurement.collect().expect("it is there");
            std::thread::sleep(Duration::from_millis(20));
        }
        measurement.end().expect("it is there")
    });
    assert_measured(|| {
        let measurement = Measurement::begin_at(&service.socket(), own).expect("a service");
        let measurement = measurement.in_background().expect("a thread");
        assert!(unwaited().status().expect("python3 is there").success());
        measurement.end().expect("it is there")
    });
}

#[test]
fn a_measurement_without_its_service_is_an_error_root() {
    let _alone = alone();
    let mut service = Service::start("");
    let own = Pid(std::process::id().cast_signed());
    let measurement = Measurement::begin_at(&service.socket(), own).expect("a service");
    service.child.kill().expect("it is there");
    service.child.wait().expect("it is there");
    let error = measurement.end().expect_err("it is lost").to_string();
    assert!(error.contains("the measurement is lost"), "{error}");
    let error = Client::service_at(&service.socket(), LENGTH).expect_err("there is none").to_string();
    assert!(error.contains("no service at"), "{error}");
}
