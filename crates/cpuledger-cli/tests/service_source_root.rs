//! The source `service`: what the commands show of the books of `cpuledger serve`, without privileges, and when it ends and comes back. Needs root.

mod service;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use cpuledger_load::ForkingShells;
use cpuledger_load::scene::alone;
use serde_json::Value;
use service::Service;

/// The most intervals of a `top` until another source has taken over, or the service is back: a busy machine takes its time.
const MOST_INTERVALS: usize = 300;
/// Intervals that end after the service is gone and are not of the next source: the last one of the service, which it had published, and
/// the time without books.
const WITHOUT: usize = 2;
/// A user without privileges or processes.
const STRANGER: u32 = 65_534;

/// A command that finds the service.
fn command(service: &Service, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.args(words).env("CPULEDGER_SOCKET", service.socket()).stdin(Stdio::null());
    command
}

/// What it prints for another user.
fn as_stranger(service: &Service, words: &[&str]) -> String {
    let mut command = command(service, words);
    // The folder that it is built in may not be open to others.
    let output = command.uid(STRANGER).gid(STRANGER).output().expect("it starts");
    printed(&output)
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn intervals(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn number(interval: &Value, key: &str) -> u64 {
    interval[key].as_u64().unwrap_or_else(|| panic!("{key} of {interval}"))
}

fn assert_balance(interval: &Value) {
    let booked: u64 =
        ["attributed_ns", "idle_ns", "unattributed_ns"].map(|key| number(interval, key)).iter().sum();
    assert_eq!(number(interval, "capacity_ns"), booked);
    let rows = interval["processes"].as_array().expect("rows");
    // What did not run and is hidden from programs has no figure.
    let sum: u64 = rows.iter().map(|row| row["cpu_ns"].as_u64().unwrap_or(0)).sum();
    assert_eq!(sum, number(interval, "attributed_ns"));
}

#[test]
fn another_user_has_exact_intervals_root() {
    let _alone = alone();
    let service = Service::start("");
    let _shells = ForkingShells::start(1).expect("shells");
    let top = ["top", "--batch", "-n", "5", "-d", "0.6", "--format", "json"];
    let told = intervals(&as_stranger(&service, &top));
    assert_eq!(told.len(), 5);
    let mut shortest_ns = u64::MAX;
    for interval in &told {
        assert_eq!(interval["source"], "service");
        assert_balance(interval);
        let length_ns = number(interval, "end_ns") - number(interval, "start_ns");
        assert!(length_ns >= 500_000_000, "three frames: {length_ns}");
        shortest_ns = shortest_ns.min(length_ns);
        assert!(!interval["exited"].as_array().expect("it sees exits").is_empty());
    }
    // A service that has no CPU is late, but not each time by that much.
    assert!(shortest_ns < 1_000_000_000, "three frames: {shortest_ns}");
    for pair in told.windows(2) {
        assert_eq!(pair[0]["end_ns"], pair[1]["start_ns"], "there is no gap");
    }
    // Without privileges no other source can tell these.
    let text = as_stranger(&service, &["top", "-b", "-n", "1", "-d", "0.2", "--by", "wait"]);
    assert!(text.contains("source service") && text.contains("unattributed 0 ns"), "{text}");
}

/// Processes that sleep.
struct Sleepers(Vec<Child>);

impl Sleepers {
    /// Starts them, and waits until they sleep.
    fn start(uid: u32) -> Sleepers {
        let start = |_| Command::new("sleep").arg("600").uid(uid).gid(uid).spawn().expect("sleep runs");
        let sleepers = Sleepers((0..20).map(start).collect());
        for child in &sleepers.0 {
            let stat = format!("/proc/{}/stat", child.id());
            while !std::fs::read_to_string(&stat).expect("it lives").contains("(sleep) S ") {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        sleepers
    }

    fn pids(&self) -> Vec<String> {
        self.0.iter().map(|child| child.id().to_string()).collect()
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn listings_are_the_same_with_and_without_it_root() {
    let _alone = alone();
    let service = Service::start("");
    let sleepers = [Sleepers::start(0), Sleepers::start(STRANGER)];
    let pids: Vec<String> = sleepers.iter().flat_map(Sleepers::pids).collect();
    let lines = |text: String| -> Vec<String> {
        let is_ours = |line: &&str| line.split_whitespace().any(|word| pids.iter().any(|pid| pid == word));
        text.lines().filter(is_ours).filter(|line| line.contains("sleep")).map(str::to_owned).collect()
    };
    for options in [&["-e"][..], &["aux"], &["-eLf"], &["-eo", "pid,ppid,lstart,stat,rss,maj_flt,comm"]] {
        let words = [&["ps"], options].concat();
        let with = |source: &str| {
            let mut words = words.clone();
            words.extend(["--source", source]);
            printed(&command(&service, &words).output().expect("it starts"))
        };
        let of_service = lines(with("service"));
        assert_eq!(of_service.len(), pids.len(), "{words:?}: {of_service:?}");
        assert_eq!(of_service, lines(with("walk")), "{words:?}");
        assert_eq!(of_service, lines(as_stranger(&service, &words)), "{words:?} of another user");
    }
}

#[test]
fn what_did_not_run_is_listed_with_all_root() {
    let _alone = alone();
    let service = Service::start("");
    let sleepers = Sleepers::start(STRANGER);
    let pid = sleepers.0[0].id();
    let of_pid = |options: &[&str]| {
        let words = [&["top", "-b", "-n", "1", "-d", "0.2", "--format", "json"], options].concat();
        let listed = || {
            let interval = intervals(&as_stranger(&service, &words)).remove(0);
            assert_eq!(interval["source"], "service");
            let rows = interval["processes"].as_array().expect("rows").clone();
            rows.into_iter().find(|row| row["pid"] == pid).expect("it lives")
        };
        // The interval that was running when they started may be the first.
        let row = (0..20).map(|_| listed()).find(|row| number(row, "cpu_ns") == 0);
        assert_eq!(row.expect("it sleeps")["comm"], "sleep");
    };
    of_pid(&["--all"]);
    of_pid(&["--all", "-H"]);
    of_pid(&["-p", &pid.to_string(), "--all"]);
}

/// Ends a child, whatever happens.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn another_source_takes_over_until_it_is_back_root() {
    let _alone = alone();
    let mut service = Service::start("");
    let top = ["top", "--batch", "-d", "0.3", "--format", "json"];
    let mut top = command(&service, &top);
    let top = top.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut top = Reaped(top);
    let mut lines = BufReader::new(top.0.stdout.take().expect("a pipe")).lines();
    let mut end_ns = None;
    let mut next = || {
        let line = lines.next().expect("it goes on").expect("UTF-8");
        let interval: Value = serde_json::from_str(&line).expect("JSON");
        assert_balance(&interval);
        // No time is left out: that without books is told.
        let (start, end) = (number(&interval, "start_ns"), number(&interval, "end_ns"));
        assert!(end_ns.is_none_or(|end_ns| end_ns == start), "{end_ns:?} and {start}");
        end_ns = Some(end);
        (interval["source"].as_str().expect("a name").to_owned(), end)
    };
    assert_eq!((next().0, next().0), ("service".into(), "service".into()));
    let killed_ns = cpuledger::clock::monotonic_ns();
    service.child.kill().expect("it is ours");
    service.child.wait().expect("it is ours");
    // The ends of the intervals before the first one of that source.
    let mut until = |wanted: &str| {
        let mut others = Vec::new();
        while others.len() < MOST_INTERVALS {
            match next() {
                (source, _) if source == wanted => return others,
                (_, end_ns) => others.push(end_ns),
            }
        }
        panic!("no interval is of {wanted}");
    };
    let others = until("ledger");
    // It takes over within an interval, however long that has become.
    let without = others.iter().filter(|end_ns| **end_ns > killed_ns).count();
    assert!(without <= WITHOUT, "{others:?} after {killed_ns}");
    service.child = Service::command(&service.folder).spawn().expect("it starts");
    service.wait();
    until("service");
    rustix::process::kill_process(rustix::process::Pid::from_child(&top.0), rustix::process::Signal::INT)
        .expect("it lives");
    let mut words = String::new();
    top.0.stderr.take().expect("a pipe").read_to_string(&mut words).expect("UTF-8");
    // On a busy machine it may say other things, too: of tasks for which there was no room.
    let said: Vec<&str> = words.lines().filter(|line| line.contains("the service is")).collect();
    assert_eq!(said.len(), 2, "{words}");
    assert!(said[0].contains("the service is gone") && said[0].contains("source ledger"), "{words}");
    assert!(said[1].contains("the service is back"), "{words}");
}

#[test]
fn a_service_that_is_asked_for_is_not_replaced_root() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    for words in [&["top", "-b", "-n", "1", "--source", "service"][..], &["ps", "--source", "service"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        command.args(words).env("CPULEDGER_SOCKET", folder.path().join("socket"));
        let output = command.output().expect("it starts");
        assert_eq!(output.status.code(), Some(3));
        let sentence = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(sentence.contains("`service`") && sentence.contains("no service at"), "{sentence}");
    }
}
