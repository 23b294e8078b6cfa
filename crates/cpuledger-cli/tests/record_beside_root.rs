//! What a recording has beside the rows: paths of cgroups that are gone when it is read, and names of ancestors that slept. Needs root.

mod recorder;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cpuledger_load::{Cgroup, not_run};
use serde_json::Value;

use recorder::{LONG, cpuledger, record};

/// A process that is killed at the end of the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The shell under another name.
fn shell(folder: &Path, name: &str) -> String {
    let program = folder.join(name);
    std::fs::copy("/bin/sh", &program).expect("a copy of sh");
    program.display().to_string()
}

/// The rows of a report of what was recorded.
fn rows(books: &Path, options: &[&str]) -> Vec<Value> {
    let output = cpuledger()
        .args(["report", "--format", "json", "--top", "1000"])
        .arg(books)
        .args(options)
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["rows"].as_array().expect("a list").clone()
}

#[test]
fn cgroups_have_the_paths_that_they_had_and_ancestors_that_slept_have_names_root() {
    let folder = tempfile::tempdir().expect("a folder");
    let cgroup = match Cgroup::new("cpu") {
        Ok(cgroup) => cgroup,
        Err(error) => return not_run(&format!("no cgroup that CPU time is divided by can be made: {error}")),
    };
    let name = cgroup.path().file_name().expect("a name").to_string_lossy().into_owned();
    // The parent sleeps all the time, and its child is busy.
    let (parent, child) = (shell(folder.path(), "quiet"), shell(folder.path(), "busy"));
    let script = format!(
        "echo $$ > {}/cgroup.procs; {child} -c 'trap \"exit 0\" TERM; while :; do :; done' & \
         trap \"kill $!\" TERM; wait",
        cgroup.path().display()
    );
    let mut command = Command::new(&parent);
    let mut quiet = Killed(command.args(["-c", &script]).stdin(Stdio::null()).spawn().expect("sh starts"));
    std::thread::sleep(Duration::from_millis(300));
    let books = folder.path().join("books");
    let options = ["-d", "0.5", "--duration", "2", "--source", "ledger"];
    let output = record(&books, &options).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pid = rustix::process::Pid::from_child(&quiet.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it lives");
    quiet.0.wait().expect("it ends");
    let begin = Instant::now();
    while !cgroup.is_empty().expect("it is there") {
        assert!(begin.elapsed() < LONG, "it has members");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(cgroup);

    let by_cgroup = rows(&books, &["--by", "cgroup"]);
    let path = format!("/{name}");
    let own = by_cgroup.iter().find(|row| row["name"] == path.as_str());
    let own = own.unwrap_or_else(|| panic!("{path} is not in {by_cgroup:?}"));
    assert!(own["self_ns"].as_u64() > Some(500_000_000), "{own}");
    let by_ancestor = rows(&books, &["--by", "ancestor"]);
    let is_busy = |row: &&Value| row["name"] == "busy";
    let busy = by_ancestor.iter().find(is_busy).unwrap_or_else(|| panic!("no busy in {by_ancestor:?}"));
    let names: Vec<&str> =
        busy["path"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(names.ends_with(&["quiet", "busy"]), "{names:?}");
    // Everything above it has a name, too: up to the first process.
    let first = std::fs::read_to_string("/proc/1/comm").expect("there is one");
    assert_eq!(names.first(), Some(&first.trim_end()), "{names:?}");
    // Replay has the path.
    let output = cpuledger()
        .args(["top", "--batch", "--by", "cgroup", "--replay"])
        .arg(&books)
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains(&path), "{text}");
}
