//! Readers of a service that answers late, refuses, or does not answer.

use std::time::{Duration, Instant};

use cpuledger_client::service::ServiceLedger;
use cpuledger_client::{Client, Measurement, Next};
use cpuledger_model::field::FieldSet;
use cpuledger_model::interval::Interval;
use cpuledger_model::snapshot::{Request, Scope};
use cpuledger_model::task::{Pid, Tid};

mod made;

use made::{LATE, SHORTEST_NS, Service, TIMEOUT, USUAL_NS};

#[test]
fn a_reader_never_asks_for_what_another_has_asked_for() {
    let service = Service::start();
    service.state().of_another_ns = SHORTEST_NS;
    let mut ledger = ServiceLedger::open_without_thread(&service.path(), USUAL_NS).expect("a service");
    ledger.cut().expect("it is there");
    assert_eq!(service.state().asked, [USUAL_NS, SHORTEST_NS, USUAL_NS]);
    service.state().move_ring();
    service.state().publish();
    ledger.take(false, &mut Interval::default()).expect("it is there");
    assert_eq!(service.state().asked, [USUAL_NS, SHORTEST_NS, USUAL_NS, USUAL_NS]);
}

/// CPU time of the threads of this name.
fn cpu_time_of(name: &str) -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").expect("procfs").filter_map(Result::ok);
    let is_named = |path: &std::path::PathBuf| {
        std::fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim_end() == name)
    };
    let of = |path: std::path::PathBuf| std::fs::read_to_string(path.join("schedstat")).ok();
    let times = threads.map(|thread| thread.path()).filter(is_named).filter_map(of);
    times.map(|text| Duration::from_nanos(text.split(' ').next().unwrap_or("").parse().unwrap_or(0))).sum()
}

#[test]
fn an_answer_that_comes_too_late_is_taken_for_no_other() {
    let service = Service::start();
    let mut ledger = ServiceLedger::open_without_thread(&service.path(), USUAL_NS).expect("a service");
    ledger.set_timeout(TIMEOUT);
    service.state().late_after = Some(0);
    ledger.cut().expect("a caller with patience waits");
    while ledger.take_gathered(&mut Interval::default()).expect("an interval") {}
    ledger.take(false, &mut Interval::default()).expect("it is there");
    let begin = Instant::now();
    // The connection that has asked for the shortest is closed.
    while service.state().requests.values().copied().collect::<Vec<_>>() != [USUAL_NS] {
        assert!(begin.elapsed() < TIMEOUT, "{:?}", service.state().requests);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(service.state().asked, [USUAL_NS, SHORTEST_NS, USUAL_NS]);
    service.state().publish();
    let mut interval = Interval::default();
    ledger.cut().expect("it answers");
    assert!(ledger.take_gathered(&mut interval).expect("an interval"));
    assert_eq!((interval.unattributed_ns, interval.end_ns), (Some(0), service.state().end_ns));
}

#[test]
fn an_answer_that_comes_too_late_keeps_no_thread_busy() {
    let service = Service::start();
    service.state().late_after = Some(2);
    let measurement = Measurement::begin_at(&service.path(), Pid(1)).expect("it waits");
    let background = measurement.in_background().expect("a thread");
    std::thread::sleep(Duration::from_secs(1));
    let used = cpu_time_of("measurement");
    assert!(used < Duration::from_millis(300), "{used:?} of a second");
    background.end().expect("it is there");
}

/// Two seconds are wanted, and the service has books of less.
fn reader_with_some_books(service: &Service) -> Client {
    let mut client = Client::service_at(&service.path(), Duration::from_secs(2)).expect("a service");
    (0..3).for_each(|_| service.state().publish());
    assert_eq!(client.next_within(Some(Duration::ZERO)).expect("no error"), Next::Nothing);
    client
}

/// Whether this has books, and ends there.
fn has_books_until(interval: &Interval, end_ns: u64) -> bool {
    interval.unattributed_ns == Some(0) && interval.end_ns == end_ns
}

#[test]
fn a_cut_that_is_refused_waits_for_the_interval_and_loses_nothing() {
    let service = Service::start();
    let mut client = reader_with_some_books(&service);
    let start_ns = service.state().start_ns;
    service.state().refuses = true;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            service.state().publish();
        });
        assert_eq!(client.cut().expect("no error"), Next::Interval);
    });
    let interval = client.interval();
    assert!(has_books_until(interval, service.state().end_ns), "{interval:?}");
    assert_eq!((interval.start_ns, client.ended().is_none()), (start_ns, true));
}

#[test]
fn a_length_that_is_refused_is_asked_for_again() {
    let service = Service::start();
    let mut ledger = ServiceLedger::open_without_thread(&service.path(), USUAL_NS).expect("a service");
    service.state().refuses_all_but_ns = Some(SHORTEST_NS);
    ledger.cut().expect("it has ended the interval");
    assert!(ledger.take_gathered(&mut Interval::default()).expect("an interval"), "it was not lost");
    service.state().refuses_all_but_ns = None;
    ledger.take(false, &mut Interval::default()).expect("it is there");
    assert_eq!(service.state().asked, [USUAL_NS, SHORTEST_NS, USUAL_NS]);
}

#[test]
fn books_that_have_come_are_told_before_the_service_is_given_up_and_those_of_its_ring_after() {
    let service = Service::start();
    let mut client = reader_with_some_books(&service);
    let start_ns = service.state().start_ns;
    let end_ns = service.state().end_ns;
    service.be_silent(true);
    assert_eq!(client.next_within(Some(TIMEOUT)).expect("no error"), Next::Interval);
    assert!(has_books_until(client.interval(), end_ns), "{:?}", client.interval());
    assert_eq!(client.interval().start_ns, start_ns);
    // The client has not seen yet that it is back.
    service.state().publish();
    service.be_silent(false);
    if client.next_within(Some(Duration::ZERO)).expect("no error") == Next::Nothing {
        client.cut().expect("no error");
    }
    let interval = client.interval();
    assert!(interval.start_ns == end_ns && interval.unattributed_ns == Some(0), "{interval:?}");
}

#[test]
fn a_listing_that_comes_too_late_is_taken_for_no_other() {
    let service = Service::start();
    let mut ledger = ServiceLedger::open_without_thread(&service.path(), USUAL_NS).expect("a service");
    ledger.prepare_listing().expect("it is there");
    let request = Request::new(Scope::Processes, FieldSet::default());
    let mut listed = || -> Result<Vec<Tid>, cpuledger_client::Error> {
        let mut interval = Interval::default();
        ledger.add_idle(&request, |_| true, &mut interval)?;
        Ok(interval.processes.iter().map(|row| row.task.tid).collect())
    };
    // The service counts its listings.
    assert_eq!(listed().expect("a listing"), [Tid(1)]);
    service.state().late_after = Some(0);
    let error = listed().expect_err("it is late").to_string();
    assert!(error.contains("has not answered within 500 ms"), "{error}");
    std::thread::sleep(LATE);
    for count in [3, 4] {
        assert_eq!(listed().expect("a listing"), [Tid(count)], "each answer is that of its call");
    }
}

#[test]
fn a_service_that_does_not_answer_keeps_a_caller_that_only_looks_waiting_now_and_then() {
    let service = Service::start();
    let mut client = reader_with_some_books(&service);
    service.be_silent(true);
    let begin = Instant::now();
    while client.ended().is_none() {
        assert!(begin.elapsed() < TIMEOUT, "it has ended");
        client.next_within(Some(Duration::from_millis(20))).expect("no error");
    }
    let (begin, mut looks, mut calls) = (Instant::now(), 0, 0);
    while begin.elapsed() < Duration::from_secs(3) {
        let call = Instant::now();
        client.next_within(Some(Duration::ZERO)).expect("no error");
        looks += u32::from(call.elapsed() > Duration::from_millis(400));
        calls += 1;
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(looks <= 2 && calls > 40, "{looks} of {calls} calls have waited");
    service.be_silent(false);
    let begin = Instant::now();
    while client.ended().is_some() {
        assert!(begin.elapsed() < TIMEOUT, "it is back");
        client.next_within(Some(Duration::from_millis(20))).expect("no error");
    }
}
