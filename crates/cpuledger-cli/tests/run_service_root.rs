//! `cpuledger run` through the service, by a user without privileges, and what keys of a terminal do to it. Needs root, for the service.

mod commands;
mod service;
mod tmux;

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use commands::{BURN, CASES, Cgroup, ns};
use cpuledger_load::scene::{alone, scene, were_missed};
use cpuledger_load::{BpfHeld, not_run};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use service::{Service, TIMEOUT};
use tmux::Terminal;

/// A user without privileges or processes.
const STRANGER: u32 = 65_534;

/// Folders with programs that every user may search.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A folder that another user may write to.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("its owner may");
    folder
}

/// `cpuledger run` by another user, through the service.
fn as_stranger(service: &Service, options: &[&str], command: &[&str]) -> Command {
    // A test that hangs ends.
    let mut run = Command::new("timeout");
    run.args(["120", env!("CARGO_BIN_EXE_cpuledger"), "run", "--socket"]).arg(service.socket());
    run.args(options).arg("--").args(command).current_dir("/").stdin(Stdio::null());
    // Where each folder may be searched, what is not found is not there.
    run.uid(STRANGER).gid(STRANGER).env("PATH", PATH);
    run
}

/// The account of a command as JSON, and its output.
fn account(service: &Service, folder: &Path, command: &[&str]) -> (Value, Output) {
    let file = folder.join("account.json");
    let path = file.to_str().expect("a text");
    // What outlives the command has standard error open, too: it is no pipe, whose end would be waited for.
    let said = folder.join("said");
    let stderr = fs::File::create(&said).expect("a file");
    let mut run = as_stranger(service, &["--format", "json", "--output", path], command);
    let status = run.stdout(Stdio::null()).stderr(stderr).status().expect("cpuledger starts");
    let output = Output { status, stdout: Vec::new(), stderr: fs::read(&said).expect("a file") };
    let text = fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("no account ({error}): {}", String::from_utf8_lossy(&output.stderr)));
    let account: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(account["source"], "service");
    were_missed(ns(&account, "missed_switches"));
    (account, output)
}

/// A tree of short-lived processes, most of which nothing waits for, and which takes a second or two.
const TREE: &str = "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n\
    reader, writer = os.pipe()\nfor n in range(40):\n    if os.fork() == 0:\n        if n % 2: os.setsid()\n        \
    for m in range(3):\n            if os.fork() == 0:\n                \
    while time.process_time() < 0.02: pass\n                os._exit(0)\n        os._exit(0)\n\
    os.close(writer)\nos.read(reader, 1)\ntime.sleep(0.1)\n";

#[test]
fn another_user_has_the_time_that_the_kernel_has_for_the_commands_cgroup_root() {
    scene(tree_in_cgroup);
}

fn tree_in_cgroup() {
    let cgroup = match Cgroup::make() {
        Ok(cgroup) => cgroup,
        Err(error) => return not_run(&format!("no cgroup that counts CPU time can be made: {error}")),
    };
    // The user may move its own processes into the command's cgroup, from one that is its own too.
    let inside = cgroup.within("command").expect("a cgroup");
    let outside = cgroup.within("caller").expect("a cgroup");
    for path in [&cgroup.0, &inside.0, &outside.0] {
        chown(path.join("cgroup.procs"), Some(STRANGER), Some(STRANGER)).expect("root may");
    }
    let service = Service::start("");
    let folder = folder();
    let script = folder.path().join("tree.py");
    fs::write(&script, TREE).expect("a file");
    let enter = format!("echo $$ > {}/cgroup.procs", inside.0.display());
    let command = format!("{enter} && exec python3 {}", script.display());
    let said = folder.path().join("account.json");
    let program = as_stranger(
        &service,
        &["--format", "json", "--output", said.to_str().expect("a text")],
        &["sh", "-c", &command],
    );
    // Root puts the caller into its cgroup, and then it is another user.
    let words = std::iter::once(program.get_program()).chain(program.get_args());
    let mut caller = Command::new("sh");
    let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", outside.0.display());
    caller.args(["-c", &enter, "sh", "setpriv"]);
    caller.args([format!("--reuid={STRANGER}"), format!("--regid={STRANGER}"), "--clear-groups".into()]);
    let output = caller.args(words).stdin(Stdio::null()).output().expect("sh starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let account: Value = serde_json::from_str(&fs::read_to_string(&said).expect("an account")).expect("JSON");
    were_missed(ns(&account, "missed_switches"));
    let kernel_ns = inside.usage_ns();
    // The kernel does not count what was stolen. The shell was not in the cgroup from its begin.
    let ours_ns = ns(&account, "cpu_ns") - ns(&account, "stolen_ns");
    println!("{ours_ns} ns, the kernel {kernel_ns} ns, {} processes", ns(&account, "processes"));
    assert!(kernel_ns > 2_000_000_000, "{kernel_ns} ns are too few to compare");
    assert!(ours_ns.abs_diff(kernel_ns) <= kernel_ns / 1000 + 5_000_000, "{ours_ns}, kernel {kernel_ns}");
    assert_eq!((ns(&account, "processes"), ns(&account, "unidentified_ns")), (1 + 40 + 120, 0), "{account}");
    assert_eq!(
        (&account["source"], &account["still_running"]),
        (&"service".into(), &Value::Array(Vec::new()))
    );
}

#[test]
fn another_user_misses_nothing_that_its_command_starts_root() {
    scene(all_that_is_started);
}

fn all_that_is_started() {
    let (service, folder) = (Service::start(""), folder());
    for (case, _, code) in CASES {
        let script = format!("{BURN}{code}\n");
        let (account, output) = account(&service, folder.path(), &["python3", "-c", &script]);
        assert!(output.status.success(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
        assert!((500_000_000..3_000_000_000).contains(&ns(&account, "cpu_ns")), "{case}: {account}");
        let running = account["still_running"].as_array().expect("a list");
        if case == "daemon" {
            // Its time so far: the kernel has that too.
            assert_eq!(running.len(), 1, "{account}");
            let pid = running[0]["pid"].as_i64().expect("a pid");
            let stat = fs::read_to_string(format!("/proc/{pid}/schedstat")).expect("it lives");
            let kernel_ns: u64 = stat.split(' ').next().and_then(|ns| ns.parse().ok()).expect("a number");
            let ours_ns = ns(&running[0], "cpu_ns");
            assert!(
                ours_ns >= 450_000_000 && ours_ns.abs_diff(kernel_ns) < kernel_ns / 5,
                "{account}: {kernel_ns}"
            );
            let status = Command::new("kill").arg(pid.to_string()).status().expect("kill starts");
            assert!(status.success());
        } else {
            assert!(running.is_empty(), "{case}: {account}");
        }
    }
}

#[test]
fn through_the_service_the_exit_code_is_that_of_the_command_root() {
    let _alone = alone();
    let (service, folder) = (Service::start(""), folder());
    for (command, code) in [
        (&["true"][..], 0),
        (&["sh", "-c", "exit 42"], 42),
        (&["sh", "-c", "kill -KILL $$"], 137),
        (&["/nowhere/to/be/found"], 127),
        (&["no-such-command"], 127),
        (&["/etc/passwd"], 126),
        (&["/etc"], 126),
    ] {
        let (account, output) = account(&service, folder.path(), command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{command:?}: {said}");
        assert_eq!(ns(&account, "exit_code"), code as u64, "{command:?}");
        let is_told = said.contains(&format!("cannot run '{}'", command[0]));
        assert_eq!(
            (is_told, said.lines().count()),
            (code == 126 || code == 127, usize::from(is_told)),
            "{said}"
        );
    }
}

/// What cannot be executed has no account but a sentence, and a wrong option begins nothing.
#[test]
fn what_cannot_be_run_is_told_in_one_sentence_root() {
    let _alone = alone();
    let (service, folder) = (Service::start(""), folder());
    let script = folder.path().join("script");
    fs::write(&script, "#!/nowhere/interpreter\n").expect("a file");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its owner may");
    let script = script.to_str().expect("a text");
    for (options, words, code, sentence) in [
        (
            &[][..],
            &["no-such-command"][..],
            127,
            "cannot run 'no-such-command': there is no such command in PATH\n",
        ),
        (&[], &["/nowhere/at/all"], 127, "cannot run '/nowhere/at/all': No such file or directory"),
        (&[], &[script], 127, "/script': its interpreter is missing\n"),
        (&[], &["/etc"], 126, "cannot run '/etc': Permission denied"),
        (
            &["--output", "/nowhere/account"],
            &["true"],
            1,
            "the account cannot be written to /nowhere/account: ",
        ),
    ] {
        let output = as_stranger(&service, options, words).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.lines().count()), (Some(code), 1), "{words:?}: {said}");
        assert!(said.contains(sentence), "{said}");
    }
    let run = |words: &[&str]| {
        let mut run = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        let output =
            run.args(["run", "--socket"]).arg(service.socket()).args(words).output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run(&["--frmat", "json", "true"]);
    assert_eq!(
        (code, &*said),
        (Some(2), "cpuledger: run has no option `--frmat`; a command that begins with - comes after --\n")
    );
    assert_eq!(run(&["--", "--frmat"]).0, Some(127), "behind -- it is a command");
    assert_eq!(run(&["sh", "-c", "exit 3", "--", "-x"]).0, Some(3), "words of the command are its own");
}

/// A shell in a terminal, and what it types to run a command.
fn in_terminal(name: &str, service: Option<&Service>) -> (Terminal, String) {
    let terminal = Terminal::open(name, 120, 40);
    let source = match service {
        Some(service) => {
            let user = format!("setpriv --reuid={STRANGER} --regid={STRANGER} --clear-groups");
            format!("{user} {} run --socket {}", env!("CARGO_BIN_EXE_cpuledger"), service.socket().display())
        }
        None => format!("{} run --source ledger", env!("CARGO_BIN_EXE_cpuledger")),
    };
    (terminal, source)
}

/// Ctrl-C ends the command, and its account is printed; the terminal is as it was.
fn assert_interrupts(name: &str, service: Option<&Service>) {
    let (terminal, run) = in_terminal(name, service);
    let modes = terminal.modes();
    terminal.line(&format!("clear; {run} -- sh -c 'echo GO; while :; do :; done'; echo CODE$?"));
    terminal.wait(|text| text.lines().any(|line| line.trim_end() == "GO"));
    let held = BpfHeld::by(terminal.pid().cast_unsigned());
    assert_eq!(held.programs.is_empty(), service.is_some(), "{held:?}");
    std::thread::sleep(Duration::from_millis(500));
    terminal.press(&["C-c"]);
    let text = terminal.wait_for("CODE130");
    assert!((0.2..20.0).contains(&seconds(&text, "cpu ")), "{text}");
    assert!(text.lines().any(|line| line.trim_end().ends_with("100.0%") || line.contains(" sh")), "{text}");
    assert!(!text.contains("still running"), "{text}");
    terminal.assert_restored(&modes);
    let left = held.left_after(TIMEOUT).expect("bpftool lists");
    assert_eq!(left, BpfHeld::default(), "still there");
}

#[test]
fn an_interrupted_command_has_its_account_and_nothing_stays_attached_root() {
    let _alone = alone();
    assert_interrupts("run-interrupt", None);
}

#[test]
fn an_interrupted_command_has_its_account_through_the_service_root() {
    let _alone = alone();
    assert_interrupts("run-interrupt-service", Some(&Service::start("")));
}

/// A command that handles SIGINT goes on, and its own code counts.
#[test]
fn a_command_that_handles_the_interrupt_ends_as_it_likes_root() {
    let _alone = alone();
    let service = Service::start("");
    let (terminal, run) = in_terminal("run-handles", Some(&service));
    terminal.line(&format!(
        "clear; {run} -- sh -c 'trap \"echo HANDLED; exit 7\" INT; echo GO; while :; do sleep 0.1; done'; echo CODE$?"
    ));
    terminal.wait(|text| text.lines().any(|line| line.trim_end() == "GO"));
    terminal.press(&["C-c"]);
    let text = terminal.wait_for("CODE7");
    assert!(text.contains("HANDLED") && text.contains("real "), "{text}");
}

/// Ctrl-Z stops both, and the shell has the terminal; `fg` goes on, and the account has all of it.
fn assert_stops(name: &str, service: Option<&Service>) {
    let (terminal, run) = in_terminal(name, service);
    let modes = terminal.modes();
    let script = "import time\nprint(\"GO\", flush=True)\nwhile time.process_time() < 1.5: pass";
    fs::write(terminal.folder().join("burn.py"), script).expect("a file");
    fs::set_permissions(terminal.folder(), fs::Permissions::from_mode(0o755)).expect("its owner may");
    terminal.line(&format!("clear; {run} -- python3 burn.py; echo CODE$?"));
    terminal.wait(|text| text.lines().any(|line| line.trim_end() == "GO"));
    terminal.press(&["C-z"]);
    let text = terminal.wait_for("CODE148");
    assert!(text.contains("Stopped") && !text.contains("real "), "{text}");
    assert_eq!(terminal.modes(), modes, "the modes of the terminal");
    let state = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    let held = BpfHeld::by(terminal.pid().cast_unsigned());
    assert_eq!(state(terminal.pid()), Some('T'));
    // Meanwhile nothing is used; it takes longer than an interval.
    std::thread::sleep(Duration::from_millis(2500));
    terminal.line("clear; fg; echo CODE$?");
    let text = terminal.wait(|text| text.contains("CODE0") && text.contains("real "));
    assert!((1.4..6.0).contains(&seconds(&text, "cpu ")), "{text}");
    assert!(seconds(&text, "real ") > 3.5, "the time in which it was stopped is in it: {text}");
    terminal.assert_restored(&modes);
    let left = held.left_after(TIMEOUT).expect("bpftool lists");
    assert_eq!(left, BpfHeld::default(), "still there");
}

#[test]
fn a_stopped_command_goes_on_and_its_account_is_whole_root() {
    let _alone = alone();
    assert_stops("run-stop", None);
}

#[test]
fn a_stopped_command_goes_on_through_the_service_root() {
    let _alone = alone();
    assert_stops("run-stop-service", Some(&Service::start("")));
}

/// Neither is a command begun whose account cannot be had.
#[test]
fn without_a_service_or_privileges_a_sentence_says_so_root() {
    let _alone = alone();
    let folder = folder();
    let ran = folder.path().join("ran");
    for (options, words) in [
        (&["--socket", "/nowhere"][..], "the source `service` cannot be used here: no service at /nowhere"),
        (&["--source", "service"], "no service at /nowhere/at/all"),
        (&["--source", "ledger"], "leave out --source"),
        (&[], "start the service, `cpuledger serve`, for all users of this machine, run cpuledger as root"),
    ] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        run.arg("run")
            .args(options)
            .args(["--", "touch"])
            .arg(&ran)
            .env("CPULEDGER_SOCKET", "/nowhere/at/all");
        let output = run.uid(STRANGER).gid(STRANGER).stdin(Stdio::null()).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.lines().count()), (Some(3), 1), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!ran.exists(), "the command has not begun");
    }
}

/// A service that has stopped for longer than any interval loses nothing, if it goes on before the command ends: its books do not stop.
#[test]
fn a_service_that_is_late_is_waited_for_root() {
    scene(stopped_for_long);
}

fn stopped_for_long() {
    let (service, folder) = (Service::start(""), folder());
    let script = format!("{BURN}print('GO', flush=True)\nburn()\ntime.sleep(8)\n");
    let file = folder.path().join("account.json");
    let path = file.to_str().expect("a text");
    let mut run = as_stranger(&service, &["--format", "json", "--output", path], &["python3", "-c", &script]);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("it starts");
    let mut go = [0; 2];
    run.stdout.as_mut().expect("a pipe").read_exact(&mut go).expect("it begins");
    signal(&service, Signal::STOP);
    std::thread::sleep(Duration::from_secs(6));
    signal(&service, Signal::CONT);
    assert!(run.wait().expect("it ends").success());
    let account: Value = serde_json::from_str(&fs::read_to_string(&file).expect("a file")).expect("JSON");
    were_missed(ns(&account, "missed_switches"));
    assert!((500_000_000..3_000_000_000).contains(&ns(&account, "cpu_ns")), "{account}");
}

/// One that is still stopped when the command ends is not waited for: it was, for a minute.
#[test]
fn a_service_that_is_stopped_when_the_command_ends_delays_no_account_root() {
    let _alone = alone();
    let service = Service::start("");
    let command = ["sh", "-c", "echo GO; sleep 1; echo END; exit 7"];
    let mut run = as_stranger(&service, &[], &command);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdout = run.stdout.take().expect("a pipe");
    stdout.read_exact(&mut [0; 3]).expect("it begins");
    signal(&service, Signal::STOP);
    stdout.read_exact(&mut [0; 4]).expect("it ends");
    let end = Instant::now();
    let output = run.wait_with_output().expect("it ends");
    let took = end.elapsed();
    let said = String::from_utf8_lossy(&output.stderr);
    // Half a second, and what a busy machine takes.
    assert!(took < Duration::from_secs(6), "{took:?}: {said}");
    assert!(said.contains("the account ends before the command") && said.contains("it is stopped"), "{said}");
    assert_eq!(output.status.code(), Some(7), "the command's: {said}");
}

/// A service that ends for good in the second of five runs: the first counts, and no other begins.
#[test]
fn no_run_begins_without_books_root() {
    let _alone = alone();
    let mut service = Service::start("");
    let mut run = as_stranger(&service, &["--repeat", "5"], &["sh", "-c", "echo GO; sleep 1"]);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    run.stdout.as_mut().expect("a pipe").read_exact(&mut [0; 6]).expect("the second begins");
    service.child.kill().expect("it lives");
    service.child.wait().expect("it ends");
    let output = run.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]), "{said}");
    assert!(said.contains("the account ends before the command"), "{said}");
    assert!(said.contains("1 run ") && said.contains("only 1 of 5 runs: the account of the last"), "{said}");
}

/// Sends it to the service.
fn signal(service: &Service, signal: Signal) {
    kill_process(Pid::from_child(&service.child), signal).expect("it lives");
}

/// The figure of a line such as `real 3.52 s`.
fn seconds(text: &str, key: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key)).expect("a line");
    line.trim().trim_end_matches(" s").parse().expect("a number")
}
