//! A service that listens and does not answer, because it is stopped for example: each command soon takes the next source.

use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A command takes half a second for the service, and its own time. One that waits longer for each call takes 10 s.
const SOON: Duration = Duration::from_secs(6);

#[test]
fn no_command_waits_long_for_a_service_that_does_not_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("socket");
    // The kernel takes connections, and no process does.
    let _listener = UnixListener::bind(&socket).expect("a socket");
    for line in [
        "ps -e",
        "ps -eLf",
        "ps -o pid,unit -e",
        "top -b -n 1 -d 0.1",
        "top -b -n 1 -d 0.1 --all",
        "top --procps -b -n 1",
        "doctor",
        "status --all",
        "run true",
    ] {
        let begin = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        command.args(line.split(' ')).env("CPULEDGER_SOCKET", &socket).stdin(Stdio::null());
        let output = command.output().expect("cpuledger runs");
        let (took, said) = (begin.elapsed(), String::from_utf8_lossy(&output.stderr).into_owned());
        println!("{line}: {took:?}");
        assert!(took < SOON, "{line} took {took:?}: {said}");
        // A user without privileges has no next source for `run`.
        assert!(output.status.success() || line.starts_with("run"), "{line}: {said}");
    }
    for line in ["ps -e --source service", "top -b -n 1 --source service"] {
        let begin = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        command.args(line.split(' ')).env("CPULEDGER_SOCKET", &socket).stdin(Stdio::null());
        let output = command.output().expect("cpuledger runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{line}: {said}");
        assert!(said.contains("has not answered within 500 ms") && begin.elapsed() < SOON, "{line}: {said}");
    }
}
