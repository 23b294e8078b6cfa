//! The words that others choose, in the journal of the service and in what `doctor` says. Needs root.

mod service;

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cpuledger_load::names::{HOSTILE, foul};
use rustix::process::{Pid, Signal, kill_process};
use service::Service;

/// A folder below it whose path has all of these names.
fn below(folder: &Path, names: &[(&[u8], &str)]) -> PathBuf {
    let path = names.iter().fold(folder.to_owned(), |path, (name, _)| path.join(OsStr::from_bytes(name)));
    fs::create_dir_all(&path).expect("a folder");
    path
}

fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    assert_eq!(foul(&text), None, "{text:?}");
    text
}

#[test]
fn a_line_of_the_journal_is_a_sentence_and_no_output_obeys_a_path_root() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = below(folder.path(), &HOSTILE).join("config.toml");
    fs::write(&config, "[audiences]\neveryone = \"proc\"\n").expect("a file");
    // The path of a socket is short.
    let socket = below(folder.path(), &HOSTILE[..4]).join("socket");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.args(["serve", "--interval", "0.2", "--config"]).arg(&config).arg("--socket").arg(&socket);
    let child = command.env_remove("NOTIFY_SOCKET").stderr(Stdio::piped()).spawn().expect("it starts");
    let mut service = Service { child, folder };
    service.wait_at(&socket);
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    let said = doctor.args(["doctor", "--socket"]).arg(&socket).stdin(Stdio::null()).output();
    let said = said.expect("it runs");
    let said = clean(&said.stdout) + &clean(&said.stderr);
    assert!(said.contains("service"), "{said}");
    // It is asked to read its configuration again, and that is gone.
    fs::remove_file(&config).expect("it is ours");
    let pid = Pid::from_child(&service.child);
    kill_process(pid, Signal::HUP).expect("it runs");
    std::thread::sleep(Duration::from_millis(300));
    kill_process(pid, Signal::TERM).expect("it runs");
    let mut journal = Vec::new();
    let pipe = service.child.stderr.as_mut().expect("a pipe");
    pipe.read_to_end(&mut journal).expect("it can be read");
    let journal = clean(&journal);
    for word in ["listens at", "old configuration", r"two\nlines"] {
        assert!(journal.contains(word), "{word}: {journal}");
    }
    assert!(journal.lines().all(|line| line.starts_with("cpuledger: ")), "{journal}");
}
