//! `cpuledger run` beside the kernel's account of a cgroup, and beside what getrusage(2), time(1) and perf(1) tell.

mod commands;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use commands::{BURN, CASES, Cgroup, ns};
use cpuledger_load::not_run;
use cpuledger_load::scene::{scene, were_missed};
use serde_json::Value;

/// Files of the C project, and functions in each: some seconds of CPU time.
const FILES: usize = 24;
const FUNCTIONS: usize = 60;

fn cpuledger(arguments: &[&str]) -> Command {
    // A test that hangs ends.
    let mut command = Command::new("timeout");
    command.args(["120", env!("CARGO_BIN_EXE_cpuledger")]);
    command.args(["run", "--source", "ledger"]).args(arguments);
    command
}

/// The account of a command as JSON, and its output.
fn account(folder: &Path, command: &[&str]) -> (Value, Output) {
    let file = folder.join("account.json");
    let path = file.to_str().expect("a text");
    let arguments = [&["--format", "json", "--output", path, "--"], command].concat();
    // What outlives the command has these open, too: they are no pipes, whose end would be waited for.
    let said = folder.join("said");
    let stderr = fs::File::create(&said).expect("a file");
    let status =
        cpuledger(&arguments).stdout(Stdio::null()).stderr(stderr).status().expect("cpuledger starts");
    let output = Output { status, stdout: Vec::new(), stderr: fs::read(&said).expect("a file") };
    let text = fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("no account ({error}): {}", String::from_utf8_lossy(&output.stderr)));
    let account: Value = serde_json::from_str(&text).expect("JSON");
    were_missed(ns(&account, "missed_switches"));
    (account, output)
}

/// A C project that takes some seconds to build.
fn project(folder: &Path) {
    let mut objects = String::new();
    for file in 0..FILES {
        let mut text = String::from("#include <stdio.h>\n");
        for function in 0..FUNCTIONS {
            text += &format!(
                "int f{file}_{function}(int *p, int n) {{ int s = {function}; for (int i = 0; i < n; i++) \
                 {{ s += p[i] * {file}; p[i] ^= s >> (i & 7); }} return s; }}\n"
            );
        }
        fs::write(folder.join(format!("f{file}.c")), text).expect("a file");
        objects += &format!(" f{file}.o");
    }
    fs::write(folder.join("main.c"), "int main(void) { return 0; }\n").expect("a file");
    let rules = format!("CFLAGS = -O2\nprogram: main.o{objects}\n\t$(CC) -o $@ $^\n");
    fs::write(folder.join("Makefile"), rules).expect("a file");
}

#[test]
fn a_build_has_the_time_that_the_kernel_has_for_its_cgroup() {
    scene(build_in_cgroup);
}

fn build_in_cgroup() {
    let cgroup = match Cgroup::make() {
        Ok(cgroup) => cgroup,
        Err(error) => return not_run(&format!("no cgroup that counts CPU time can be made: {error}")),
    };
    let folder = tempfile::tempdir().expect("a folder");
    project(folder.path());
    let script = format!(
        "echo $$ > {}/cgroup.procs && exec make -s -j4 -C {}",
        cgroup.0.display(),
        folder.path().display()
    );
    let (account, output) = account(folder.path(), &["sh", "-c", &script]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let kernel_ns = cgroup.usage_ns();
    let cpu_ns = ns(&account, "cpu_ns");
    // The kernel does not count what was stolen. The shell was not in the cgroup from its begin.
    let ours_ns = cpu_ns - ns(&account, "stolen_ns");
    println!("build: {ours_ns} ns, cpu.stat {kernel_ns} ns, {} processes", ns(&account, "processes"));
    assert!(kernel_ns > 1_000_000_000, "{kernel_ns} ns are too few to compare");
    assert!(ours_ns.abs_diff(kernel_ns) <= kernel_ns / 1000 + 5_000_000, "{ours_ns}, kernel {kernel_ns}");
    // Nothing is lost between the sum and its parts.
    let commands = account["commands"].as_array().expect("a list");
    let sum: u64 = commands.iter().map(|row| ns(row, "cpu_ns")).sum();
    assert_eq!(sum + ns(&account, "unidentified_ns"), cpu_ns);
    let lines: u64 =
        account["ancestry"].as_array().expect("a list").iter().map(|row| ns(row, "cpu_ns")).sum();
    assert_eq!(lines, sum);
    let cc1 = commands.iter().find(|row| row["name"] == "cc1").expect("the compiler");
    assert_eq!(cc1["processes"], FILES as u64 + 1);
    assert_eq!(account["still_running"], Value::Array(Vec::new()));
}

/// What another program tells of user and system time, in seconds; `None`: it cannot be run.
fn told_by(program: &[&str], script: &str) -> Option<f64> {
    let output =
        Command::new(program[0]).args(&program[1..]).args(["python3", "-c", script]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let number = |line: &str| line.split([' ', ',']).find_map(|word| word.parse::<f64>().ok());
    let figures: Vec<f64> = text
        .lines()
        .filter(|line| line.contains("time (seconds)") || line.contains("task-clock"))
        .filter_map(|line| match line.split_once("seconds):") {
            Some((_, value)) => value.trim().parse().ok(),
            None => number(line.trim_start()).map(|ms| ms / 1000.0),
        })
        .collect();
    (!figures.is_empty()).then(|| figures.iter().sum())
}

#[test]
fn nothing_that_a_command_starts_is_missed() {
    scene(all_that_is_started);
}

fn all_that_is_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = String::from(
        "| half a second of CPU time in | `cpuledger run` | `/usr/bin/time -v` | `perf stat` |\n|---|---|---|---|\n",
    );
    for (case, what, code) in CASES {
        let script = format!("{BURN}{code}\n");
        let (account, output) = account(folder.path(), &["python3", "-c", &script]);
        assert!(output.status.success(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
        let cpu_ns = ns(&account, "cpu_ns");
        assert!((500_000_000..3_000_000_000).contains(&cpu_ns), "{case}: {account}");
        let running = account["still_running"].as_array().expect("a list");
        if case == "daemon" {
            assert!(running.len() == 1 && ns(&running[0], "cpu_ns") >= 450_000_000, "{account}");
            let pid = running[0]["pid"].as_i64().expect("a pid");
            let status = Command::new("kill").arg(pid.to_string()).status().expect("kill starts");
            assert!(status.success());
        } else {
            assert!(running.is_empty(), "{case}: {account}");
        }
        let seconds = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2} s"));
        table += &format!(
            "| {what} | {:.2} s | {} | {} |\n",
            cpu_ns as f64 / 1e9,
            seconds(told_by(&["/usr/bin/time", "-v"], &script)),
            seconds(told_by(&["perf", "stat", "-e", "task-clock"], &script))
        );
    }
    println!("{table}");
    if std::env::var_os("CPULEDGER_WRITE_DOCS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run.md");
        let text = fs::read_to_string(&path).expect("docs/run.md");
        let (begin, end) = ("<!-- begin missed -->\n", "<!-- end missed -->");
        let (head, rest) = text.split_once(begin).expect("the mark of the begin");
        let (_, tail) = rest.split_once(end).expect("the mark of the end");
        fs::write(&path, format!("{head}{begin}{table}{end}{tail}")).expect("it can be written");
    }
}

/// A thread that uses a tenth of a second of CPU time, execs, and uses as much again.
const EXEC_BY_THREAD: &str = "import os, sys, threading, time
def burn():
    end = time.thread_time() + 0.1
    while time.thread_time() < end: pass
if len(sys.argv) > 1:
    burn()
    sys.exit(0)
def run():
    burn()
    os.execv(sys.executable, [sys.executable, sys.argv[0], 'again'])
threading.Thread(target=run).start()
time.sleep(60)
";

#[test]
fn what_a_thread_used_before_its_exec_has_a_name() {
    scene(exec_by_thread);
}

fn exec_by_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("exec.py");
    fs::write(&script, EXEC_BY_THREAD).expect("a file");
    // It may take longer than an interval on a busy machine.
    for _ in 0..5 {
        let (account, output) = account(folder.path(), &["python3", script.to_str().expect("a text")]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(ns(&account, "cpu_ns") >= 200_000_000, "{account}");
        assert_eq!(ns(&account, "unidentified_ns"), 0, "{account}");
    }
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    for (command, code) in [
        (&["true"][..], 0),
        (&["sh", "-c", "exit 42"], 42),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["/nowhere/to/be/found"], 127),
        (&["/etc/passwd"], 126),
    ] {
        let output = cpuledger(&[&["--"], command].concat()).output().expect("cpuledger starts");
        assert_eq!(
            output.status.code(),
            Some(code),
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn the_command_has_what_the_caller_has() {
    // Limits, signals, descriptors and users, as a shell's child has them.
    let script = "ulimit -Sn; id -u; grep -E '^Sig(Blk|Ign|Cgt)|^Cap(Eff|Bnd)|^NoNewPrivs' /proc/self/status; ls /proc/self/fd";
    let direct = Command::new("sh").args(["-c", script]).output().expect("sh starts");
    let run = cpuledger(&["--", "sh", "-c", script]).output().expect("cpuledger starts");
    assert_eq!(String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&direct.stdout));
}

/// What the kernel says of the signals of a command.
fn signals(command: &mut Command) -> Vec<String> {
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter(|line| line.starts_with("Sig")).map(str::to_owned).collect::<Vec<_>>();
    assert!(!lines.is_empty(), "{output:?}");
    lines
}

#[test]
fn the_command_has_the_signals_of_the_caller() {
    let look = "grep -E Sig(Blk|Ign) /proc/self/status";
    let words: Vec<&str> = look.split(' ').collect();
    // A shell forks, so that nothing is between.
    let plain = signals(Command::new("sh").args(["-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status; true"]));
    let run = format!("timeout 120 {} run --source ledger -- \"$@\"; true", env!("CARGO_BIN_EXE_cpuledger"));
    let through = signals(Command::new("sh").args(["-c", &run, "sh"]).args(&words));
    assert_eq!(through, plain);
}

#[test]
fn an_account_that_cannot_be_written_does_not_hide_the_exit_code() {
    let code = |arguments: &[&str], stderr: Stdio| {
        cpuledger(arguments).stderr(stderr).status().expect("cpuledger starts").code()
    };
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
    let to_file = ["--output", "/dev/full", "--", "sh", "-c"];
    assert_eq!(code(&[&to_file[..], &["exit 7"]].concat(), Stdio::null()), Some(7));
    assert_eq!(code(&[&to_file[..], &["exit 0"]].concat(), Stdio::null()), Some(1));
    assert_eq!(code(&["sh", "-c", "exit 7"], full().into()), Some(7));
    assert_eq!(code(&["true"], full().into()), Some(1), "an account that is lost is no success");
}

#[test]
fn user_and_system_time_are_parts_of_the_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..5 {
        let (account, _) =
            account(folder.path(), &["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"]);
        let [cpu_ns, user_ns, system_ns, stolen_ns] =
            ["cpu_ns", "user_ns", "system_ns", "stolen_ns"].map(|key| ns(&account, key));
        assert!(user_ns + system_ns + stolen_ns <= cpu_ns, "{account}");
    }
}

/// A process of 64 MiB at least, and one that waits for the disk.
const LARGE: &str = "import os, sys
room = bytearray(64 << 20)
room[::4096] = b'x' * len(room[::4096])
with open(sys.argv[1], 'wb') as file:
    file.write(room[:1 << 20])
    os.fsync(file.fileno())
";

#[test]
fn size_faults_and_switches_are_those_of_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("written");
    let (account, output) = account(folder.path(), &["python3", "-c", LARGE, file.to_str().expect("a text")]);
    assert!(output.status.success(), "{output:?}");
    let size = ns(&account, "max_rss_bytes");
    assert!((64 << 20..256 << 20).contains(&size), "{account}");
    assert!(ns(&account, "minor_faults") > 1000, "{account}");
    assert!(ns(&account, "voluntary_switches") > 0, "{account}");
    assert!(ns(&account, "io_wait_ns") <= ns(&account, "blocked_ns"), "{account}");
    // What it used is not that of the process that waits for it, which is smaller.
    let (small, _) = self::account(folder.path(), &["true"]);
    assert!(small["max_rss_bytes"].is_null(), "{small}");
}

#[test]
fn several_runs_have_an_account_each_and_end_with_the_first_that_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let count = folder.path().join("count");
    let script = format!(
        "echo >> {0}; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; [ $(wc -l < {0}) -lt 5 ]",
        count.display()
    );
    let run = |repeat: &str| {
        let output = cpuledger(&["--format", "json", "--repeat", repeat, "--", "sh", "-c", &script]).output();
        let output = output.expect("cpuledger starts");
        let runs: Value =
            serde_json::from_slice(&output.stderr).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (runs, output.status.code())
    };
    let (runs, code) = run("3");
    assert_eq!((&runs["schema"], code), (&"cpuledger.runs/1".into(), Some(0)));
    let accounts = runs["runs"].as_array().expect("a list");
    assert_eq!(accounts.len(), 3, "{runs}");
    for figure in runs["figures"].as_array().expect("a list") {
        let key = figure["key"].as_str().expect("a key");
        let mut values: Vec<u64> = accounts.iter().map(|account| ns(account, key)).collect();
        values.sort_unstable();
        assert_eq!(["least_ns", "median_ns", "most_ns"].map(|key| ns(figure, key)).to_vec(), values, "{key}");
    }
    assert!(accounts.iter().all(|account| ns(account, "cpu_ns") > 0 && ns(account, "processes") >= 1));
    // Two more succeed and fail; eight would follow.
    let (runs, code) = run("10");
    assert_eq!((runs["runs"].as_array().map(Vec::len), code), (Some(2), Some(1)), "{runs}");
}
