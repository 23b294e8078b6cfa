//! `cpuledger serve`: intervals that balance for each audience, listings, a reload, and an end that leaves nothing. Needs root.

mod service;

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use cpuledger::framing;
use cpuledger::{Field, Interval};
use cpuledger_load::scene::alone;
use cpuledger_load::{ForkingShells, become_user};
use cpuledger_model::frame::Frame;
use cpuledger_model::make;
use cpuledger_service::client::Client;
use cpuledger_service::ring::{Next, Reader};
use cpuledger_service::varlink::{List, Scope, Subscribe};
use service::{Service, TIMEOUT};

/// A user without privileges or processes.
const STRANGER: u32 = 65_534;

impl Service {
    /// A client of it.
    pub fn client(&self) -> Client {
        Client::connect(&self.socket(), TIMEOUT).expect("it listens")
    }

    /// Signals it.
    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal)
            .expect("it lives");
    }
}

/// Reads the next interval of a ring.
fn next(reader: &mut Reader) -> Interval {
    assert_eq!(reader.wait(TIMEOUT).expect("a futex"), Next::Frame);
    let mut bytes = Vec::new();
    let copied = reader.copy(&mut bytes).expect("a frame").expect("it is there");
    assert_eq!(copied.missed, 0);
    decoded(&bytes)
}

fn decoded(bytes: &[u8]) -> Interval {
    let mut interval = Interval::default();
    framing::read(&Frame::decode(bytes).expect("a frame"), &mut interval).expect("an interval");
    interval
}

fn assert_balance(interval: &Interval) {
    assert_eq!(interval.imbalance_ns(), Some(0));
    let sum: u64 = interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
    assert_eq!(sum, interval.attributed_ns, "the rows have all the time");
}

#[test]
fn intervals_of_each_audience_balance_and_follow_each_other_root() {
    let _alone = alone();
    let service = Service::start("");
    let _shells = ForkingShells::start(1).expect("shells");
    let mut client = service.client();
    let mut readers = ["all", "self"].map(|audience| {
        let wanted = make!(Subscribe { interval_ns: Some(100_000_000), audience: Some(audience.into()) });
        let (subscription, reader) = client.subscribe(&wanted).expect("root may have it");
        assert_eq!((subscription.audience.as_str(), subscription.interval_ns), (audience, 100_000_000));
        (reader, None)
    });
    for _ in 0..10 {
        for (reader, end_ns) in &mut readers {
            let interval = next(reader);
            assert_balance(&interval);
            assert!(end_ns.is_none_or(|end_ns| end_ns == interval.start_ns), "there is no gap");
            *end_ns = Some(interval.end_ns);
        }
    }
}

/// A process that is killed when this is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process of another user, which sleeps.
fn sleeper() -> Killed {
    Killed(Command::new("sleep").arg("600").uid(STRANGER).gid(STRANGER).spawn().expect("sleep runs"))
}

/// Connects as another user, in a thread that belongs to it, and looks.
fn as_stranger(service: &Service, look: impl FnOnce(Client) + Send) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            become_user(STRANGER).expect("root may");
            look(service.client());
        });
    });
}

#[test]
fn another_user_has_its_own_rows_and_the_rest_as_one_root() {
    let _alone = alone();
    let service = Service::start("[audiences]\neveryone = \"self\"\n");
    let (_shells, own) = (ForkingShells::start(1).expect("shells"), sleeper());
    as_stranger(&service, |mut client| {
        assert_eq!(client.info().expect("it answers").audiences, ["self"]);
        let (_, mut reader) = client.subscribe(&Subscribe::default()).expect("its own");
        for _ in 0..3 {
            let interval = next(&mut reader);
            assert_balance(&interval);
            let strangers: Vec<_> =
                interval.processes.iter().map(|row| &row.task).filter(|row| row.uid != STRANGER).collect();
            assert_eq!(strangers.len(), 1, "the others are one row: {strangers:?}");
            assert_eq!(strangers[0].comm.as_bytes(), cpuledger_model::audience::OTHERS);
            assert!(interval.tasks.iter().all(|row| row.task.uid == STRANGER));
            assert!(
                interval.exited.expect("the ledger knows").iter().all(|exited| exited.exit.uid == STRANGER)
            );
        }
        let list = List::new(Scope::Tasks, vec!["comm".into(), "uid".into()]);
        let (_, listing) = client.list(&list).expect("a listing");
        let interval = decoded(&listing);
        assert!(interval.processes.iter().chain(&interval.tasks).all(|row| row.task.uid == STRANGER));
        assert!(interval.processes.iter().any(|row| row.task.pid.0 == own.0.id().cast_signed()));
    });
}

#[test]
fn another_user_has_what_proc_shows_it_root() {
    let _alone = alone();
    let service = Service::start("");
    let _shells = ForkingShells::start(1).expect("shells");
    let hides = fs::read_to_string("/proc/self/mountinfo").expect("/proc").contains("hidepid=");
    as_stranger(&service, |mut client| {
        assert_eq!(client.info().expect("it answers").audiences, ["proc", "self"]);
        let (_, mut reader) = client.subscribe(&Subscribe::default()).expect("what /proc shows");
        let interval = next(&mut reader);
        assert_balance(&interval);
        assert!(
            hides
                || interval
                    .processes
                    .iter()
                    .any(|row| row.task.known.contains(Field::Comm) && row.task.uid == 0)
        );
        let strangers = interval
            .processes
            .iter()
            .chain(&interval.tasks)
            .map(|row| &row.task)
            .filter(|row| row.euid != STRANGER);
        strangers.for_each(|row| assert!(!row.known.contains(Field::ReadBytes), "{row:?}"));
    });
}

#[test]
fn nothing_is_refused_in_a_sentence_root() {
    let _alone = alone();
    let service = Service::start("[audiences]\neveryone = \"nothing\"\n");
    as_stranger(&service, |mut client| {
        let refused = client.subscribe(&Subscribe::default()).expect_err("it is not allowed").to_string();
        assert!(refused.contains("configuration") && refused.contains(&STRANGER.to_string()), "{refused}");
    });
}

#[test]
fn a_signal_reads_the_configuration_again_and_another_ends_it_root() {
    let _alone = alone();
    let mut service = Service::start("");
    let shortest = |service: &Service| service.client().info().expect("it answers").shortest_interval_ns;
    assert_eq!(shortest(&service), 100_000_000);
    let wait_for = |service: &Service, wanted: i64| {
        let begin = Instant::now();
        while shortest(service) != wanted {
            assert!(begin.elapsed() < TIMEOUT, "{} ns", shortest(service));
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let write = |text: &str| fs::write(service.folder.path().join("config.toml"), text).expect("a file");
    write("[service]\nshortest_interval = 0.15\n");
    service.signal(rustix::process::Signal::HUP);
    wait_for(&service, 150_000_000);
    // A wrong one changes nothing.
    write("[service]\nshortest_interval = \"soon\"\n");
    service.signal(rustix::process::Signal::HUP);
    std::thread::sleep(Duration::from_millis(100));
    wait_for(&service, 150_000_000);
    service.signal(rustix::process::Signal::TERM);
    assert_eq!(service.child.wait().expect("it ends").code(), Some(0));
    assert!(!service.socket().exists(), "the socket is removed");
}

#[test]
fn a_service_that_ends_leaves_the_socket_of_another_root() {
    let _alone = alone();
    let mut first = Service::start("");
    first.client().info().expect("it answers, and so waits for signals");
    fs::remove_file(first.socket()).expect("it is there");
    let _second = Killed(Service::command(&first.folder).spawn().expect("it starts"));
    first.wait();
    first.signal(rustix::process::Signal::TERM);
    assert_eq!(first.child.wait().expect("it ends").code(), Some(0));
    first.client().info().expect("the socket of the second is there");
}

#[test]
fn too_few_files_are_told_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("config.toml"), "").expect("a file");
    let script = "ulimit -n 64 && exec \"$0\" serve --config \"$1/config.toml\" --socket \"$1/socket\"";
    let mut limited = Command::new("sh");
    limited.args(["-c", script, env!("CARGO_BIN_EXE_cpuledger")]).arg(folder.path());
    let told = limited.output().expect("sh runs");
    let words = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(1), "{words}");
    assert!(words.contains("its limit is 64") && words.contains("ulimit -n"), "{words}");
}

#[test]
fn a_wrong_configuration_is_told_by_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    let check = |text: &str| {
        fs::write(&path, text).expect("a file");
        let told = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
            .args(["serve", "--check-config", "--config"])
            .arg(&path)
            .output()
            .expect("it runs");
        let words = String::from_utf8([told.stdout, told.stderr].concat()).expect("UTF-8");
        (told.status.code(), words)
    };
    let (code, words) = check("[service]\ninterval = 2\n");
    assert_eq!(code, Some(0), "{words}");
    assert!(words.contains("Intervals take 2 s"), "{words}");
    let (code, words) = check("[service]\n\ninterval = 0\n");
    assert_eq!(code, Some(2), "{words}");
    let (code, words) = check("[limits]\nconections = 5\n");
    assert!(code == Some(2) && words.contains("line 2: unknown field `conections`"), "{words}");
}
