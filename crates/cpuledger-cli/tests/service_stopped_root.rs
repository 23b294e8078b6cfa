//! A service that is stopped while it is read: `top` soon goes on with the next source, and with the service when that is back. Needs root.

mod service;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use service::{Service, TIMEOUT};

/// Until the end of the interval, then half a second, and what a busy machine takes. It was 3.4 s and that.
const SOON: Duration = Duration::from_millis(2500);

#[test]
fn top_goes_on_without_a_service_that_is_stopped_root() {
    let service = Service::start("");
    let mut top = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
        .args(["top", "-b", "-d", "0.2", "--format", "json", "--socket"])
        .arg(service.socket())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let (sender, said) = mpsc::channel();
    let stderr = BufReader::new(top.stderr.take().expect("a pipe"));
    std::thread::spawn(move || {
        stderr.lines().map_while(Result::ok).for_each(|line| drop(sender.send((Instant::now(), line))));
    });
    let (sender, intervals) = mpsc::channel();
    let stdout = BufReader::new(top.stdout.take().expect("a pipe"));
    std::thread::spawn(move || {
        stdout.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
    });
    let wait_for = |part: &str| loop {
        let (when, line) = said.recv_timeout(TIMEOUT).expect("it says so");
        if line.contains(part) {
            break (when, line);
        }
    };
    (0..3).for_each(|_| drop(intervals.recv_timeout(TIMEOUT).expect("an interval")));
    let pid = Pid::from_child(&service.child);
    let stopped = Instant::now();
    kill_process(pid, Signal::STOP).expect("it is our child");
    let (when, line) = wait_for("the service is gone");
    assert!(when - stopped < SOON, "{line}: after {:?}", when - stopped);
    assert!(line.contains("it is stopped") && line.contains("going on with"), "{line}");
    kill_process(pid, Signal::CONT).expect("it is our child");
    wait_for("the service is back");
    top.kill().expect("it is our child");
    top.wait().expect("it is our child");
    // No time is missing in between.
    let mut end_ns = None;
    for line in intervals.iter() {
        let Ok(interval) = serde_json::from_str::<serde_json::Value>(&line) else { continue };
        let start_ns = interval["start_ns"].as_u64();
        assert!(end_ns.is_none() || end_ns == start_ns, "{end_ns:?} and {start_ns:?}");
        end_ns = interval["end_ns"].as_u64();
    }
}
