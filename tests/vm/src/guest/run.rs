//! Running the tests, each in a process of its own.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cpuledger_vm::Feature;
use cpuledger_vm::protocol::{Event, Outcome, PATHS};
use cpuledger_vm::suite::{SUITES, Suite};
use rustix::process::{Pid, Signal, kill_process_group};

/// So long may a test take; under emulation everything is slow.
const TEST_LIMIT: Duration = Duration::from_secs(100);
/// How often it is looked whether a test has ended.
const PAUSE: Duration = Duration::from_millis(15);
/// The most that is told of what a test printed: its end.
const OUTPUT_LIMIT: usize = 8000;

/// Finds out what the kernel has, runs all tests whose paths are known, and says that all is done.
pub fn run() {
    say(&Event::Kernel(rustix::system::uname().release().to_string_lossy().into_owned()));
    let btf = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let mut features = HashMap::new();
    for feature in Feature::ALL {
        let is_here = feature.is_here(&btf);
        say(&Event::Feature(feature, is_here));
        features.insert(feature, is_here);
    }
    let paths = fs::read(PATHS).expect("the initramfs has this file");
    let paths: HashMap<String, PathBuf> = serde_json::from_slice(&paths).expect("the host wrote it");
    for suite in SUITES {
        if let Some(path) = paths.get(&suite.name()) {
            run_suite(suite, path, |feature| features[&feature]);
        }
    }
    say(&Event::Done);
}

pub fn say(event: &Event) {
    println!("{}", event.line());
}

fn run_suite(suite: &Suite, path: &Path, has: impl Fn(Feature) -> bool) {
    let listed = Command::new(path).args(["--list", "--format", "terse"]).output().expect("a static program");
    let listed = String::from_utf8_lossy(&listed.stdout);
    let tests = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    for name in tests.filter(|name| suite.runs(name)) {
        let (outcome, milliseconds, output) = match suite.lacks(name, &has) {
            Some(feature) => (Outcome::Lacks(feature), 0, String::new()),
            None => {
                say(&Event::Begins(format!("{}: {name}", suite.name())));
                run_test(path, name)
            }
        };
        say(&Event::Test { suite: suite.name(), name: name.to_owned(), outcome, milliseconds, output });
    }
}

/// What became of a test, how long it took, and what it printed; what is an event of its own goes on as it is.
fn run_test(path: &Path, name: &str) -> (Outcome, u64, String) {
    const OUTPUT: &str = "/tmp/output-of-test";
    let file = File::create(OUTPUT).expect("a tmpfs with room");
    let begin = Instant::now();
    let child = Command::new(path)
        .args(["--exact", name, "--nocapture"])
        .stdin(Stdio::null())
        .stderr(file.try_clone().expect("a descriptor"))
        .stdout(file)
        .process_group(0)
        .spawn();
    let status = child.map(|mut child| {
        loop {
            match child.try_wait().expect("it is our child") {
                Some(status) => break Some(status),
                None if begin.elapsed() > TEST_LIMIT => {
                    let group = Pid::from_raw(child.id().cast_signed()).expect("a child's pid is not 0");
                    // Whoever is left is the group that we made.
                    let _ = kill_process_group(group, Signal::KILL);
                    let _ = child.wait();
                    break None;
                }
                None => sleep(PAUSE),
            }
        }
    });
    let milliseconds = begin.elapsed().as_millis() as u64;
    let printed = fs::read(OUTPUT).unwrap_or_default();
    let printed = String::from_utf8_lossy(&printed[printed.len().saturating_sub(OUTPUT_LIMIT)..]);
    for event in printed.lines().filter_map(Event::parse) {
        say(&event);
    }
    let outcome = match status {
        Ok(Some(status)) if ExitStatus::success(&status) => {
            return (Outcome::Passed, milliseconds, String::new());
        }
        Ok(Some(_)) => Outcome::Failed,
        Ok(None) => Outcome::Late,
        Err(error) => return (Outcome::Failed, milliseconds, format!("it cannot be started: {error}")),
    };
    (outcome, milliseconds, printed.into_owned())
}
