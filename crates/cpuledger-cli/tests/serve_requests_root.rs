//! Intervals that readers request shorter: whose request lasts for how long, and what all of them may cost. Needs root.

mod service;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use cpuledger_load::become_user;
use cpuledger_load::scene::alone;
use cpuledger_model::make;
use cpuledger_service::client::Client;
use cpuledger_service::ring::{Next, Reader};
use cpuledger_service::varlink::Subscribe;
use service::{Service, TIMEOUT};

const MS: i64 = 1_000_000;
/// Users without privileges.
const ONE: u32 = 40_000_301;
const OTHER: u32 = 40_000_302;

fn client(service: &Service) -> Client {
    Client::connect(&service.socket(), TIMEOUT).expect("it listens")
}

fn request(interval_ns: Option<i64>, audience: &str) -> Subscribe {
    make!(Subscribe { interval_ns, audience: Some(audience.into()) })
}

/// Acts in a thread that belongs to that user.
fn as_user<T: Send>(uid: u32, act: impl FnOnce() -> T + Send) -> T {
    let as_it = || {
        become_user(uid).expect("root may");
        act()
    };
    std::thread::scope(|scope| scope.spawn(as_it).join().expect("it does not panic"))
}

#[test]
fn another_subscription_of_a_connection_leaves_its_request_root() {
    let _alone = alone();
    let service = Service::start("");
    let (mut client, mut other) = (client(&service), client(&service));
    let mut interval_ns = || other.info().expect("it answers").interval_ns;
    assert_eq!(interval_ns(), 200 * MS);
    let mut subscribe = |wanted| drop(client.subscribe(&wanted).expect("root may"));
    subscribe(request(Some(100 * MS), "all"));
    for (interval, audience) in [(None, "all"), (None, "self"), (Some(200 * MS), "self"), (None, "proc")] {
        subscribe(request(interval, audience));
        assert_eq!(interval_ns(), 100 * MS, "{interval:?} for {audience}");
    }
    // A number for the same audience is another request, any number of times: a screen whose user changes the interval has one connection.
    for _ in 0..20 {
        subscribe(request(Some(200 * MS), "all"));
        assert_eq!(interval_ns(), 200 * MS);
        subscribe(request(Some(100 * MS), "all"));
        assert_eq!(interval_ns(), 100 * MS);
    }
    drop(client);
    let begin = Instant::now();
    while interval_ns() != 200 * MS {
        assert!(begin.elapsed() < TIMEOUT, "the request has not ended with its connection");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// CPU time of the thread that closes the intervals.
fn spent(service: &Service) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{}/task", service.child.id())).expect("it lives");
    let read =
        |task: &fs::DirEntry, file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
    let tasks = tasks.flatten().filter(|task| read(task, "comm") == "books\n");
    let times = tasks.filter_map(|task| read(&task, "schedstat").split(' ').next()?.parse::<u64>().ok());
    Duration::from_nanos(times.sum())
}

/// What a user may use at once that has requested nothing for that time.
const SAVED_UP: Duration = Duration::from_secs(4);

/// A service that grants short intervals, and this part of a CPU for them.
fn hurried(percent: u32) -> Service {
    Service::start(&format!(
        "[service]\nshortest_interval = 0.01\n[limits]\ncpu_percent_of_intervals = {percent}\n"
    ))
}

/// Reads for 8 s. Fails if intervals beyond the usual ones take more than their budget, or usual ones do not go on. Returns how often the ring
/// has moved: frames are longer on a machine that is busy.
fn assert_budget(service: &Service, percent: u32, (client, reader): &mut (Client, Reader)) -> u32 {
    let (begin, at_begin, mut frames, mut moves) = (Instant::now(), spent(service), 0, 0);
    while begin.elapsed() < Duration::from_secs(8) {
        match reader.wait(TIMEOUT).expect("a futex") {
            Next::Frame => {}
            Next::Moved => {
                moves += 1;
                let at = reader.next_number();
                *reader = client.subscribe(&request(Some(10 * MS), "proc")).expect("it has one").1;
                reader.resume_at(at);
                continue;
            }
            Next::TimedOut => panic!("no frame in {TIMEOUT:?}"),
        }
        let mut bytes = Vec::new();
        let copied = reader.copy(&mut bytes).expect("a frame");
        frames += 1 + copied.map_or(0, |copied| copied.missed);
    }
    let (length, spent) = (begin.elapsed(), spent(service) - at_begin);
    // Five intervals a second are usual.
    let usual = length.as_secs_f64() * 5.0;
    let beyond = spent.as_secs_f64() * (1.0 - usual / frames as f64).max(0.0);
    let budget = f64::from(percent) / 100.0 * (length + SAVED_UP).as_secs_f64();
    println!("{frames} frames, {spent:?} of CPU time, {beyond:.3} s beyond usual, of {budget:.3} s");
    // Long intervals cost more than the mean that is taken of all here. Without a budget it is five times as much.
    assert!(beyond < 2.0 * budget, "{beyond:.3} s of {budget:.3} s for {frames} frames");
    assert!(frames as f64 > usual * 0.5, "usual intervals go on: {frames}");
    moves
}

#[test]
fn short_intervals_take_no_more_than_their_budget_root() {
    let _alone = alone();
    let service = hurried(1);
    as_user(ONE, || {
        let mut client = client(&service);
        let (_, reader) = client.subscribe(&request(Some(10 * MS), "proc")).expect("it may");
        assert_eq!(assert_budget(&service, 1, &mut (client, reader)), 0, "each wait ends with a frame");
    });
}

#[test]
fn those_of_64_users_take_no_more_than_one_budget_and_the_next_user_is_refused_root() {
    const USERS: u32 = 64;
    let _alone = alone();
    // Rings of that many cost much at a time.
    let service = hurried(5);
    let subscribe = |user: u32| {
        as_user(ONE + user, || {
            let mut client = client(&service);
            let subscribed = client.subscribe(&request(Some(10 * MS), "proc"));
            subscribed.map(|(_, reader)| (client, reader)).map_err(|error| error.to_string())
        })
    };
    let mut readers: Vec<_> =
        (0..USERS).map(|user| subscribe(user).expect("there is a ring for it")).collect();
    assert_budget(&service, 5, &mut readers[0]);
    let refused = subscribe(USERS).expect_err("there are as many as there may be");
    assert!(
        refused.contains("as many rings as its configuration allows: 4 of a user, 64 in all"),
        "{refused}"
    );
}

#[test]
fn doctor_says_that_no_ring_is_left_root() {
    let _alone = alone();
    let service = Service::start("[limits]\nrings = 1\n");
    let binary = service.folder.path().join("cpuledger");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_cpuledger")).arg(&binary).status();
    assert!(copied.expect("cp runs").success());
    let doctor = |uid: u32| {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={uid}"), format!("--regid={uid}"), "--clear-groups".into()]);
        command.arg(&binary).args(["doctor", "--socket"]).arg(service.socket());
        String::from_utf8(command.output().expect("setpriv runs").stdout).expect("UTF-8")
    };
    let mut holder = as_user(ONE, || {
        let mut client = client(&service);
        client.subscribe(&Subscribe::default()).expect("the only ring");
        client
    });
    holder.info().expect("it holds the ring");
    let (of_holder, of_other) = (doctor(ONE), doctor(OTHER));
    assert!(of_holder.contains("\nservice      usable\n"), "{of_holder}");
    assert_eq!(holder.info().expect("it answers").unbalanced_intervals, Some(0));
    assert!(of_holder.contains("; all of its intervals have balanced\n"), "{of_holder}");
    assert!(of_other.contains("\nservice      not usable\n"), "{of_other}");
    assert!(
        of_other.contains("as many rings as its configuration allows: 4 of a user, 1 in all"),
        "{of_other}"
    );
}
