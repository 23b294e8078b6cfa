//! Running the tests, those of a suite one after another in one process, so that they can share what is dear to make. Whatever ends that
//! process is the doing of the test that was running; those behind it run in another.

use std::collections::HashMap;
use std::fs;
use std::io::{self, PipeReader, Read, pipe};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use cpuledger_load::not_run;
use cpuledger_vm::extent::Chosen;
use cpuledger_vm::progress::{Progress, Step, tests_of};
use cpuledger_vm::protocol::{Event, LISTED, Listed, Outcome};
use cpuledger_vm::suite::Suite;
use cpuledger_vm::{Feature, Machine};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// Timeout of a test; under emulation everything is slow.
const TEST_LIMIT: Duration = Duration::from_secs(300);
/// The most that is told of what a test printed: its end.
const OUTPUT_LIMIT: usize = 8000;

/// Finds out what the kernel has, runs all tests whose paths are known, and says that all is done.
pub fn run(machine: Machine, chosen: Chosen) {
    let uptime = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    say(&Event::Uptime(uptime.tv_sec.cast_unsigned() * 1000 + uptime.tv_nsec.cast_unsigned() / 1_000_000));
    say(&Event::Kernel(rustix::system::uname().release().to_string_lossy().into_owned()));
    let btf = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let mut features = HashMap::new();
    for feature in Feature::ALL {
        let is_here = feature.is_here(&btf);
        say(&Event::Feature(feature, is_here));
        features.insert(feature, is_here);
    }
    drop(btf);
    let listed = fs::read(LISTED).expect("the initramfs has this file");
    let listed: HashMap<String, Listed> = serde_json::from_slice(&listed).expect("the host wrote it");
    for suite in chosen.suites() {
        if let Some(listed) = listed.get(&suite.name()) {
            run_suite(suite, machine, listed, |feature| features[&feature]);
        }
    }
    say(&Event::Done);
}

fn say(event: &Event) {
    println!("{}", event.line());
}

fn run_suite(suite: &Suite, machine: Machine, listed: &Listed, has: impl Fn(Feature) -> bool) {
    let mut waiting = Vec::new();
    let tests = listed.tests.clone().unwrap_or_else(|| {
        tests_of(&listed.path).unwrap_or_else(|error| panic!("{}: {error}", listed.path.display()))
    });
    for name in tests.into_iter().filter(|name| suite.runs(name, machine)) {
        match suite.lacks(&name, &has) {
            Some(feature) => tell(suite, &name, Outcome::Lacks(feature), Duration::ZERO, ""),
            None => waiting.push(name),
        }
    }
    while !waiting.is_empty() {
        waiting = run_process(suite, &listed.path, waiting);
    }
}

fn tell(suite: &Suite, name: &str, outcome: Outcome, took: Duration, printed: &str) {
    let (suite, name, milliseconds) = (suite.name(), name.to_owned(), took.as_millis() as u64);
    let not_run = printed.lines().find_map(not_run::reason);
    let (outcome, told) = match (outcome, not_run) {
        (Outcome::Passed, Some(reason)) => (Outcome::NotRun, reason),
        (Outcome::Passed, None) => (outcome, ""),
        _ => (outcome, printed),
    };
    let end = told.len().saturating_sub(OUTPUT_LIMIT);
    let output = String::from_utf8_lossy(&told.as_bytes()[end..]).into_owned();
    say(&Event::Test { suite, name, outcome, milliseconds, output });
}

/// A process that runs tests, and all that it and its children print.
struct Running {
    child: Child,
    ended: OwnedFd,
    /// Until its other end is closed: children that are left may hold it for longer than the process lives.
    printed: Option<PipeReader>,
}

/// What came of listening.
enum Heard {
    Text(String),
    Ended,
    Nothing,
}

impl Running {
    fn start(path: &Path, tests: &[String]) -> io::Result<Running> {
        let (printed, output) = pipe()?;
        let child = Command::new(path)
            .args(["--test-threads=1", "--nocapture", "--exact"])
            .args(tests)
            .stdin(Stdio::null())
            .stderr(output.try_clone()?)
            .stdout(output)
            .process_group(0)
            .spawn()?;
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        Ok(Running { child, ended, printed: Some(printed) })
    }

    /// What was printed next; that it has ended, once all is read; or that neither was so before `deadline`.
    fn hear(&mut self, deadline: Instant) -> io::Result<Heard> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Heard::Nothing);
        }
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        let mut fds = vec![PollFd::new(&self.ended, PollFlags::IN)];
        fds.extend(self.printed.as_ref().map(|printed| PollFd::new(printed, PollFlags::IN)));
        poll(&mut fds, Some(&left))?;
        let has_come = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let (has_ended, is_readable) = (has_come(&fds[0]), fds.get(1).is_some_and(has_come));
        if let Some(printed) = self.printed.as_mut().filter(|_| is_readable) {
            let mut bytes = [0; 1 << 16];
            let count = printed.read(&mut bytes)?;
            if count == 0 {
                self.printed = None;
            }
            return Ok(Heard::Text(String::from_utf8_lossy(&bytes[..count]).into_owned()));
        }
        Ok(if has_ended { Heard::Ended } else { Heard::Nothing })
    }

    /// Its status; `None`: it had not ended, and was killed with its group.
    fn end(mut self) -> io::Result<Option<ExitStatus>> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(Some(status));
        }
        // All that is left is in the group that we made.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        self.child.wait()?;
        Ok(None)
    }
}

/// Runs these tests in one process until it ends, and returns those that have not had a turn: at least one has.
fn run_process(suite: &Suite, path: &Path, tests: Vec<String>) -> Vec<String> {
    let started = Running::start(path, &tests);
    let mut progress = Progress::of(tests);
    let mut running = match started {
        Ok(running) => running,
        Err(error) => {
            return told_at_end(suite, progress, Duration::ZERO, Outcome::Failed, &error.to_string());
        }
    };
    let mut begin = Instant::now();
    while let Ok(Heard::Text(text)) = running.hear(begin + TEST_LIMIT) {
        for step in progress.hear(&text) {
            match step {
                Step::Begun(name) => say(&Event::Begins(format!("{}: {name}", suite.name()))),
                Step::Ended { name, passed, printed } => {
                    let outcome = if passed { Outcome::Passed } else { Outcome::Failed };
                    tell_all(suite, &name, outcome, begin.elapsed(), &printed);
                    begin = Instant::now();
                }
            }
        }
    }
    match running.end() {
        Ok(Some(status)) if status.success() => {
            told_at_end(suite, progress, begin.elapsed(), Outcome::Passed, "")
        }
        Ok(Some(status)) => {
            let signal = status.signal().map(|signal| format!("it was ended by signal {signal}"));
            told_at_end(suite, progress, begin.elapsed(), Outcome::Failed, &signal.unwrap_or_default())
        }
        Ok(None) => told_at_end(suite, progress, begin.elapsed(), Outcome::Late, ""),
        Err(error) => told_at_end(suite, progress, begin.elapsed(), Outcome::Failed, &error.to_string()),
    }
}

/// Tells what became of the test that a process was at when it ended so, and returns those behind it.
fn told_at_end(suite: &Suite, progress: Progress, took: Duration, end: Outcome, why: &str) -> Vec<String> {
    let (last, waiting) = progress.end(end == Outcome::Passed);
    if let Some(Step::Ended { name, passed, printed }) = last {
        let outcome = if passed { Outcome::Passed } else { end };
        tell_all(suite, &name, outcome, took, &format!("{printed}{why}\n"));
    }
    waiting
}

/// Tells what became of a test, what it found out for the table of what the verifier pays, and what it has for the next boot.
fn tell_all(suite: &Suite, name: &str, outcome: Outcome, took: Duration, printed: &str) {
    for line in printed.lines() {
        if let Some(event) = Event::of_verifier(line).or_else(|| Event::of_carried(&suite.name(), line)) {
            say(&event);
        }
    }
    tell(suite, name, outcome, took, printed);
}
