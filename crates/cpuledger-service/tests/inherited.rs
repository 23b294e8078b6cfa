//! Descriptors as a service manager hands them over, in a process of its own.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use cpuledger_service::inherited;

/// The variable that asks for the role below.
const ASKED: &str = "CPULEDGER_TEST_INHERITS";

#[test]
fn role_of_a_started_service() {
    if std::env::var_os(ASKED).is_none() {
        return; // It is a test only when the one below starts it.
    }
    let found = inherited().expect("they are open");
    let mut said = Vec::new();
    for inherited in found {
        let flags = rustix::io::fcntl_getfd(&inherited.fd).expect("it is open");
        let mut text = String::new();
        std::fs::File::from(inherited.fd).read_to_string(&mut text).expect("a file");
        said.push((inherited.name, text, flags.contains(rustix::io::FdFlags::CLOEXEC)));
    }
    assert!(inherited().expect("none").is_empty());
    println!("{said:?}");
}

/// What the role says with these variables, which a shell sets, because it knows the pid, and with descriptors 3 and 4.
fn told(variables: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["three", "four"] {
        std::fs::write(folder.path().join(name), name).expect("a file");
    }
    let program = std::env::current_exe().expect("this test");
    let script =
        format!("{variables} exec \"$0\" --exact role_of_a_started_service --nocapture 3<three 4<four");
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(script)
        .arg(program)
        .env(ASKED, "1")
        .env_remove("LISTEN_PID")
        .current_dir(folder.path());
    let output = shell.arg0("sh").stdin(Stdio::null()).output().expect("it starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn descriptors_come_with_their_names_and_only_to_their_process() {
    let both = told("LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=socket:ring");
    assert!(both.contains(r#"[("socket", "three", true), ("ring", "four", true)]"#), "{both}");
    for none in ["", "LISTEN_PID=1 LISTEN_FDS=2", "LISTEN_PID=$$ LISTEN_FDS=0"] {
        let said = told(none);
        assert!(said.contains("[]"), "{none}: {said}");
    }
    let closed = told("LISTEN_PID=$$ LISTEN_FDS=90");
    assert!(closed.contains("FAILED"), "{closed}");
}
