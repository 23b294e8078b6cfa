//! Clients of ps from npm, which millions of programs use: each says the same of the same processes, whether `ps` is that
//! of procps or ours. The processes are those that such clients get wrong: one whose leader is dead, and one with
//! backslashes in its arguments. Needs npm, node and a network, once; it has not run where they are not.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use cpuledger_load::{Zoo, not_run};
use serde_json::Value;

/// The clients, each in one version.
const CLIENTS: [&str; 5] =
    ["ps-list@9.0.0", "pidtree@1.0.0", "pidusage@4.1.0", "systeminformation@5.33.23", "find-process@2.1.1"];

/// A second may begin between two listings.
const ATTEMPTS: usize = 3;

/// Arguments that a doubled or lost backslash would change.
const ARGUMENTS: [&str; 3] = [r"C:\dir\new", r"a\\b", r"\x1b[31m"];

fn starts(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Of what npm writes, what went wrong: neither its advice nor where its log is.
fn errors(said: &str) -> String {
    let errors = said.lines().filter_map(|line| line.strip_prefix("npm error "));
    errors.filter(|error| !error.starts_with("A complete log")).collect::<Vec<_>>().join("; ")
}

/// Where the clients are installed; a sentence where they cannot be.
fn install() -> Result<PathBuf, String> {
    if let Some(missing) = ["npm", "node"].iter().find(|program| !starts(program)) {
        return Err(format!("{missing} is missing"));
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("npm-clients");
    let installed = directory.join(format!("installed {}", CLIENTS.join(" ")));
    if installed.exists() {
        return Ok(directory);
    }
    fs::create_dir_all(&directory).expect("a directory for the clients");
    let output = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-save", "--prefix"])
        .arg(&directory)
        .args(CLIENTS)
        .output()
        .expect("npm starts");
    if !output.status.success() {
        return Err(format!("npm cannot install them: {}", errors(&String::from_utf8_lossy(&output.stderr))));
    }
    fs::write(installed, "").expect("a note of what is installed");
    Ok(directory)
}

/// Sleepers with arguments, ended when this is dropped.
struct Shell(Child);

impl Shell {
    fn start() -> Shell {
        let shell = Command::new("sh")
            .args(["-c", "sleep 3000; :"])
            .args(ARGUMENTS)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("sh starts");
        Shell(shell)
    }

    fn pid(&self) -> i32 {
        self.0.id() as i32
    }

    /// The sleeper, once it is one.
    fn child(&self) -> i32 {
        let begun = std::time::Instant::now();
        loop {
            let listed =
                fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.pid())).unwrap_or_default();
            let child: Option<i32> = listed.split_whitespace().next().and_then(|pid| pid.parse().ok());
            let is_sleeper = |pid: &i32| {
                fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == "sleep\n")
            };
            if let Some(child) = child.filter(is_sleeper) {
                return child;
            }
            assert!(begun.elapsed().as_secs() < 60, "the shell has no child");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if let Some(child) = rustix::process::Pid::from_raw(self.child()) {
            let _ = rustix::process::kill_process(child, rustix::process::Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// What the clients say with this first in `PATH`.
fn ask(clients: &Path, path: &str, pids: &[i32]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ps_npm/clients.mjs");
    let output: Output = Command::new("node")
        .arg(script)
        .arg(std::process::id().to_string())
        .args(pids.iter().map(i32::to_string))
        .current_dir(clients)
        .env("PATH", path)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("node starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "the clients fail with {path}: {stderr}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {stderr}"))
}

/// Before procps 4.0.5 the name of the dead did not say so. Clients see it cut.
fn without_mark(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((name, _)) = text.split_once(" <") {
                *text = name.to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_mark),
        Value::Object(members) => members.values_mut().for_each(without_mark),
        _ => {}
    }
}

#[test]
fn clients_from_npm_say_the_same_with_both() {
    let clients = match install() {
        Ok(clients) => clients,
        Err(reason) => return not_run(&reason),
    };
    let link = Path::new(env!("CARGO_TARGET_TMPDIR")).join("npm-ps");
    fs::create_dir_all(&link).expect("a directory for our ps");
    let ps = link.join("ps");
    let _ = fs::remove_file(&ps); // of an earlier run
    symlink(env!("CARGO_BIN_EXE_cpuledger"), &ps).expect("our ps");

    let zoo = Zoo::start_only(&["leader-exited", "sleeper"]).expect("the zoo starts");
    let shell = Shell::start();
    let mut pids: Vec<i32> = zoo.members().iter().map(|member| member.pid).collect();
    pids.extend([shell.pid(), shell.child()]);
    let usual = std::env::var("PATH").unwrap_or_default();
    let theirs = format!("/usr/bin:{usual}");
    let ours = format!("{}:{usual}", link.display());
    let mut said = (Value::Null, Value::Null);
    for _ in 0..ATTEMPTS {
        said = (ask(&clients, &theirs, &pids), ask(&clients, &ours, &pids));
        without_mark(&mut said.0);
        without_mark(&mut said.1);
        if said.0 == said.1 {
            break;
        }
    }
    let (theirs, ours) = said;
    for client in ["psList", "pidtree", "systeminformation"] {
        assert_eq!(
            theirs[client].as_array().map(Vec::len),
            Some(pids.len()),
            "{client} with procps: {theirs:#}"
        );
    }
    let shown = theirs.to_string();
    for argument in ARGUMENTS {
        assert!(shown.contains(&argument.replace('\\', r"\\")), "no client shows {argument}: {shown}");
    }
    for (client, theirs) in theirs.as_object().expect("an object") {
        assert_eq!(&ours[client], theirs, "{client}: ours, and with procps");
    }
}
