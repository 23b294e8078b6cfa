//! Tasks that want to be taken for something else: names and arguments of escape sequences, of JSON, of 32 MiB; pids that come
//! around again and again. Needs root.

mod hostile;

use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use cpuledger_load::names::{HOSTILE, foul};
use cpuledger_load::{LongArguments, Zoo};
use hostile::{Machine, error_of};
use serde_json::Value;

/// A busy process of that name, which is its argument too.
struct Named {
    child: Child,
    program: PathBuf,
}

impl Named {
    fn start(name: &[u8], number: usize) -> Named {
        let folder = std::env::temp_dir().join(format!("cpuledger-named-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let program = folder.join(std::ffi::OsStr::from_bytes(name));
        let copied = Command::new("cp").arg("/bin/sh").arg(&program).status().expect("cp runs");
        assert!(copied.success());
        let mut command = Command::new(&program);
        command.arg0(std::ffi::OsStr::from_bytes(name)).args(["-c", "while :; do :; done"]);
        Named { child: command.stdin(Stdio::null()).spawn().expect("a shell"), program }
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.program.parent().map(std::fs::remove_dir_all);
    }
}

/// Everything that shows names: text for people, JSON, CSV.
const SHOWING: &[&str] = &[
    "ps -e -o pid,comm,args,ucmd,cmd",
    "ps axuf",
    "ps -eLf",
    "ps -e -o pid,comm,args --source walk",
    "ps -e -o pid,comm,args --source netlink",
    "ps axe",
    "ps -e -o pid,args --format json",
    "ps -e -o pid,comm,args --format csv",
    "top --batch -n 2 -d 0.1",
    "top --batch -n 2 -d 0.1 -c -H",
    "top --batch -n 2 -d 0.1 --source procfs -c",
    "top --batch -n 2 -d 0.1 --format json -H",
    "top --batch -n 2 -d 0.1 --format csv",
];

/// Those of the hostile names that forge most, so that few processes are busy.
const FORGED: [&[u8]; 6] =
    [HOSTILE[0].0, HOSTILE[3].0, HOSTILE[4].0, HOSTILE[7].0, HOSTILE[14].0, HOSTILE[15].0];

#[test]
fn no_name_reaches_a_terminal_or_a_parser_root() {
    let _named: Vec<Named> = (0..).zip(FORGED).map(|(number, name)| Named::start(name, number)).collect();
    let _zoo =
        Zoo::start_only(&["comm-escape", "comm-newline", "arguments-escapes", "zombie"]).expect("a zoo");
    let machine = Machine::new(&["env", "COLUMNS=4000"]);
    let mut mentions = 0;
    for line in SHOWING {
        let output = machine.run(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", error_of(&output));
        let text = String::from_utf8(output.stdout).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(foul(&text), None, "{line}: {:?}", text.lines().find(|line| foul(line).is_some()));
        // Behind `\x1b`, or `?` as procps has it.
        mentions += usize::from(text.contains("x1b]0;owned") || text.contains("?]0;owned"));
        if line.contains("json") {
            for object in text.lines() {
                serde_json::from_str::<Value>(object)
                    .unwrap_or_else(|error| panic!("{line}: {error}: {object}"));
            }
        }
        // No task has forged a line of its own.
        assert!(!text.lines().any(|line| line.starts_with("lines")), "{line}: {text}");
    }
    assert!(mentions >= SHOWING.len() - 1, "the names are there, escaped: {mentions}");
}

/// `status` hands on the kernel's own text, byte for byte, and so only what the kernel escapes.
#[test]
fn status_is_as_the_kernel_writes_it_root() {
    let named = Named::start(b"\x1b[31mred", 100);
    let pid = named.child.id();
    let output = Machine::new(&["env"]).run(&format!("status {pid}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("Name:\t\\33[31mred\n") || text.starts_with("Name:\t\x1b[31mred\n"), "{text:?}");
    let kernel = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    assert_eq!(text.lines().next(), kernel.lines().next());
}

#[test]
fn thirty_two_mebibytes_of_arguments_root() {
    const MIB: usize = 32;
    let long = LongArguments::start(MIB).expect("arguments of any length");
    let pid = long.pid();
    let whole = std::fs::read(format!("/proc/{pid}/cmdline")).expect("it lives");
    assert_eq!(whole.len(), MIB << 20, "the kernel shows them all");
    let machine = Machine::new(&["env"]);
    for line in [
        format!("ps -p {pid} -o pid,args"),
        format!("ps -ww -p {pid} -o args,pid"),
        format!("ps -f -p {pid} --source walk"),
        format!("ps -p {pid} -o args --format json"),
        format!("top --batch -n 1 -d 0.05 -c --all -p {pid}"),
        format!("status {pid}"),
    ] {
        let output = machine.run(&line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", error_of(&output));
        assert!(
            output.stdout.iter().all(|byte| (b' '..=b'~').contains(byte) || matches!(byte, b'\n' | b'\t')),
            "{line}"
        );
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(&pid.to_string()) || line.contains("json"), "{line}");
        assert!(output.stdout.len() < 1 << 20, "{line} writes {} bytes", output.stdout.len());
    }
}

/// Since Linux 6.14 each PID namespace has its own limit: the machine's stays as it is.
#[test]
fn pids_that_come_around_root() {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let numbers: Vec<u32> = release.split(['.', '-']).map_while(|number| number.parse().ok()).collect();
    if numbers < vec![6, 14] {
        return cpuledger_load::not_run(&format!(
            "on Linux {release} the largest pid is that of the whole machine (own from 6.14 on)"
        ));
    }
    let storm = "echo 400 > /proc/sys/kernel/pid_max; \
                 while :; do /bin/true; done & first=$!; \
                 while :; do /bin/true; done & second=$!; \
                 \"$@\"; code=$?; kill $first $second; \
                 i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i + 1)); done; exit $code";
    let machine = Machine::new(&["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", storm, "sh"]);
    for line in [
        "ps -ef",
        "ps -eLo pid,tid,ppid,comm,time",
        "top --batch -n 5 -d 0.1 --format json",
        "top --batch -n 5 -d 0.1 -H",
        "status --all -H",
        "doctor",
    ] {
        let output = machine.run(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", error_of(&output));
        if line.contains("json") {
            assert_figures_are_possible(&output.stdout);
        }
    }
    // Programs beside this one may raise it.
    assert_ne!(std::fs::read_to_string("/proc/sys/kernel/pid_max").expect("a limit"), "400\n");
}

/// A process that reuses the pid of a dead one does not get its time: no process can have used more than the capacity.
fn assert_figures_are_possible(intervals: &[u8]) {
    let text = str::from_utf8(intervals).expect("UTF-8");
    assert_eq!(text.lines().count(), 5);
    for line in text.lines() {
        let interval: Value = serde_json::from_str(line).expect("JSON");
        let length =
            interval["end_ns"].as_u64().zip(interval["start_ns"].as_u64()).map(|(end, start)| end - start);
        let cpus = interval["online_cpus"].as_u64().expect("a number");
        // Times of files are in ticks of 10 ms, two of them a row.
        let most = length.expect("two numbers") * cpus + 20_000_000;
        for row in interval["processes"].as_array().expect("a list") {
            // Null, not more, is that of a process that the kernel keeps from programs.
            let cpu = row["cpu_ns"].as_u64().or(row["cpu_ns"].as_null().map(|()| 0));
            assert!(cpu.is_some_and(|cpu| cpu <= most), "{row} in {most}");
        }
    }
}

/// The account of a command whose processes have hostile names: each has one row, by its name alone.
#[test]
fn run_tells_hostile_names_apart_root() {
    let folder = tempfile::tempdir().expect("a folder");
    let programs = folder.path().join("programs");
    std::fs::create_dir(&programs).expect("a folder");
    for (name, _) in HOSTILE {
        let program = programs.join(std::ffi::OsStr::from_bytes(name));
        std::fs::copy("/bin/sleep", program).expect("a copy of sleep");
    }
    let script = "for program in \"$1\"/*; do \"$program\" 0; done";
    let account = |format: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
            .args(["run", "--source", "ledger", "--format", format, "--", "sh", "-c", script, "sh"])
            .arg(&programs)
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(foul(&text), None, "{text:?}");
        text
    };
    let json = account("json");
    let json = json.lines().find(|line| line.starts_with('{')).expect("an account");
    let json: Value = serde_json::from_str(json).expect("JSON");
    let commands = json["commands"].as_array().expect("rows");
    for (_, name) in HOSTILE {
        let rows: Vec<&Value> = commands.iter().filter(|row| row["name"] == name).collect();
        assert!(rows.len() == 1 && rows[0]["processes"] == 1, "{name}: {rows:?}");
    }
    assert!(account("text").contains("more names)"));
}
