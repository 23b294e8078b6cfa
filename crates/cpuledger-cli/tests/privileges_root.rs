//! What each source needs, one claim after another, and what `top` keeps. Needs root, to take it away.

mod hostile;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};

use cpuledger::field::{FIELDS, FieldInfo, GUARDED, Group};
use cpuledger::support::privilege;
use cpuledger::{SourceKind, support::privilege::Need};
use cpuledger_load::Sleepers;
use cpuledger_proc::task::stat::parse_stat;
use hostile::{Machine, error_of};
use rustix::thread::CapabilitySet;
use serde_json::Value;

/// Sources that need nothing else but privileges.
const OWN: [SourceKind; 4] = [SourceKind::Ledger, SourceKind::Walk, SourceKind::Netlink, SourceKind::Procfs];

/// Nobody, with these capabilities and no way to others.
fn nobody_with(capabilities: &[&str]) -> Machine {
    let list = capabilities.iter().fold("-all".to_owned(), |list, name| {
        format!("{list},+{}", name.trim_start_matches("CAP_").to_ascii_lowercase())
    });
    let sets = ["inh-caps", "ambient-caps", "bounding-set"].map(|set| format!("--{set}={list}"));
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    Machine::new(&user).and(&sets.each_ref().map(String::as_str)).for_every_user()
}

fn needed(kind: SourceKind) -> Vec<&'static Need> {
    privilege::needs(kind).iter().filter(|need| need.is_needed).collect()
}

fn top(kind: SourceKind) -> String {
    format!("top --batch -n 2 -d 0.05 --format json --source {kind}")
}

/// Every row of the table: with what is needed it works, and without any one of them it does not.
#[test]
fn each_need_is_one_root() {
    for kind in OWN {
        let names: Vec<&str> = needed(kind).iter().map(|need| need.name).collect();
        let output = nobody_with(&names).run(&top(kind));
        assert_eq!(output.status.code(), Some(0), "{kind} with {names:?}: {}", error_of(&output));
        for missing in &names {
            let rest: Vec<&str> = names.iter().copied().filter(|name| name != missing).collect();
            let machine = nobody_with(&rest);
            let output = machine.run(&top(kind));
            assert_eq!(output.status.code(), Some(3), "{kind} without {missing}: {}", error_of(&output));
            let error = error_of(&output);
            for part in [
                &format!("the source `{kind}` cannot be used here"),
                &format!("permitted: {missing} is missing"),
            ] {
                assert!(error.contains(part.as_str()), "{kind} without {missing}: {error}");
            }
        }
    }
}

/// What the files of /proc need to tell more: block I/O of others is behind both.
#[test]
fn block_io_of_others_needs_two_root() {
    let sees = |capabilities: &[&str]| {
        // Of this process, which is root's.
        let line = format!("ps -p {} -o pid,read_bytes --source procfs --format json", std::process::id());
        let output = nobody_with(capabilities).run(&line);
        let row: Value = serde_json::from_slice(&output.stdout).expect("a row of this process");
        !row["read_bytes"].is_null()
    };
    let names: Vec<&str> = privilege::needs(SourceKind::Procfs).iter().map(|need| need.name).collect();
    assert!(sees(&names), "{names:?}");
    for missing in &names {
        let rest: Vec<&str> = names.iter().copied().filter(|name| name != missing).collect();
        assert!(!sees(&rest), "without {missing}");
    }
}

/// More than the headroom of buffers made for an ordinary machine.
const MORE_THREADS: usize = 3000;

/// A running `top`, and what /proc says of it when its second interval is there.
struct Top {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Top {
    fn start(kind: SourceKind, variables: &[(&str, &str)]) -> Top {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        command.args(["top", "--batch", "-n", "100000", "-d", "0.2", "--format", "json"]);
        command.args(["--source", kind.name()]).env_remove("SUDO_UID").env_remove("SUDO_GID");
        command.envs(variables.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped());
        Top::of(command.spawn().expect("cpuledger runs"))
    }

    /// One that runs already, when its first interval is there.
    fn of(mut child: Child) -> Top {
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut top = Top { child, lines };
        top.interval();
        top
    }

    fn interval(&mut self) -> Value {
        let line = self.lines.next().expect("another interval").expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Of each of its tasks.
    fn statuses(&self) -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("it runs");
        let status = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("status"));
        tasks.flatten().map(|task| status(task).expect("its status")).collect()
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Beside thousands of runnable tasks it would cut seconds late.
#[test]
fn what_closes_the_intervals_of_a_ledger_comes_before_others_root() {
    let urgency = |child: &Child| {
        let stat = std::fs::read(format!("/proc/{}/stat", child.id())).expect("it runs");
        let stat = parse_stat(&stat).expect("a line");
        (stat.nice, stat.policy, stat.rt_priority)
    };
    for (kind, expected) in [(SourceKind::Ledger, (-20, 2, 1)), (SourceKind::Walk, (0, 0, 0))] {
        assert_eq!(urgency(&Top::start(kind, &[]).child), expected, "{kind}");
    }
    // One that its user has made wait stays so. SCHED_RR is 2.
    for (words, expected) in [(&["nice", "-n", "5"][..], (5, 0, 0)), (&["env"], (-20, 2, 1))] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(env!("CARGO_BIN_EXE_cpuledger")).args(["record", "--source", "ledger"]);
        let mut child = command.arg(folder.path()).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let line = lines.next().expect("a line").expect("a line");
        assert!(line.contains("recording to"), "{line}");
        let found = urgency(&child);
        let _ = child.kill();
        let _ = child.wait();
        assert_eq!(found, expected, "{words:?}");
    }
}

fn value<'a>(status: &'a str, name: &str) -> &'a str {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_else(|| panic!("{name} in {status}"))
        .trim()
}

/// Whether it is the thread that looks up names of containers: it has other privileges than the rest.
fn looks_at_cgroups(status: &str) -> bool {
    value(status, "Name:") == "cgroups"
}

fn capabilities(status: &str, set: &str) -> u64 {
    u64::from_str_radix(value(status, set), 16).expect("hexadecimal digits")
}

#[test]
fn sudo_leads_back_to_the_caller_root() {
    for kind in OWN {
        let mut top = Top::start(kind, &[("SUDO_UID", "65534"), ("SUDO_GID", "65533")]);
        for status in top.statuses() {
            let kept = match looks_at_cgroups(&status) {
                true => CapabilitySet::DAC_READ_SEARCH.bits(),
                false => privilege::kept(kind).bits(),
            };
            let ids = |name| value(&status, name).split('\t').collect::<BTreeSet<_>>();
            assert_eq!(ids("Uid:"), BTreeSet::from(["65534"]), "{kind}");
            assert_eq!(ids("Gid:"), BTreeSet::from(["65533"]), "{kind}");
            assert_eq!(value(&status, "Groups:"), "65533", "{kind}");
            assert_eq!(value(&status, "NoNewPrivs:"), "1", "{kind}");
            for set in ["CapPrm:", "CapEff:"] {
                assert_eq!(capabilities(&status, set), kept, "{kind}: {set}");
            }
            for set in ["CapInh:", "CapAmb:"] {
                assert_eq!(capabilities(&status, set), 0, "{kind}: {set}");
            }
            assert_eq!(capabilities(&status, "CapBnd:") & !kept, 0, "{kind}: no way back");
        }
        // And it goes on, with every row of the others, also where there are more than its first buffers hold.
        let _sleepers = Sleepers::start(MORE_THREADS, 1).expect("threads that sleep");
        for _ in 0..4 {
            let interval = top.interval();
            assert!(interval["processes"].is_array());
            if kind == SourceKind::Ledger {
                let of = |key: &str| interval[key].as_u64().expect("a number");
                assert_eq!(of("attributed_ns") + of("idle_ns") + of("unattributed_ns"), of("capacity_ns"));
            }
        }
    }
}

#[test]
fn root_keeps_killing_and_renicing_root() {
    let top = Top::start(SourceKind::Ledger, &[]);
    let administrator = CapabilitySet::KILL | CapabilitySet::SYS_NICE;
    for status in top.statuses() {
        // Root owns what that thread reads.
        let kept = match looks_at_cgroups(&status) {
            true => CapabilitySet::empty(),
            false => privilege::kept(SourceKind::Ledger) | administrator,
        };
        assert_eq!(capabilities(&status, "CapPrm:"), kept.bits());
        assert_eq!(value(&status, "Uid:").split('\t').next(), Some("0"));
    }
}

/// A copy of the binary with capabilities of its file, and a user who has none.
struct Given {
    machine: Machine,
    user: u32,
}

impl Given {
    /// Users are told apart, as each may have one ledger, and tests run side by side.
    fn new(capabilities: &str, user: u32) -> Given {
        let given = Given { machine: nobody_with(&[]), user };
        given.set(capabilities);
        given
    }

    fn set(&self, list: &str) {
        let status = Command::new("setcap").arg(list).arg(self.machine.binary()).status();
        assert!(status.expect("setcap runs: install libcap2-bin").success(), "{list}");
    }

    /// As that user; the bounding set of `nobody_with` would take the capabilities away again.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("setpriv");
        let ids = ["--reuid", "--regid"].map(|option| format!("{option}={}", self.user));
        command.args(ids).arg("--clear-groups").arg(self.machine.binary());
        command.args(line.split(' ')).stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str) -> std::process::Output {
        self.command(line).output().expect("setpriv runs: install util-linux")
    }
}

/// The capabilities of the file, for a user who has none.
#[test]
fn capabilities_of_the_file_root() {
    let given = Given::new("=", 64_001);
    for kind in SourceKind::ALL.into_iter().filter(|kind| !needed(*kind).is_empty()) {
        let names: Vec<String> = needed(kind).iter().map(|need| need.name.to_ascii_lowercase()).collect();
        given.set(&format!("{}=ep", names.join(",")));
        let output = given.run(&top(kind));
        assert_eq!(output.status.code(), Some(0), "{kind}: {}", error_of(&output));
    }
}

/// For the ledger and the walk.
const OF_BPF: &str = "cap_bpf,cap_perfmon=ep";

/// A ledger that keeps running, from its first interval on.
fn running(given: &Given) -> Top {
    let mut command = given.command("top --batch -n 100000 -d 0.05 --format json --source ledger");
    Top::of(command.stdout(Stdio::piped()).spawn().expect("setpriv runs"))
}

#[test]
fn a_user_without_root_has_one_ledger_root() {
    let given = Given::new(OF_BPF, 64_002);
    let first = running(&given);
    let output = given.run(&top(SourceKind::Ledger));
    assert_eq!(output.status.code(), Some(3), "{}", error_of(&output));
    assert!(output.stdout.is_empty());
    let error = error_of(&output);
    assert!(error.contains("user 64002 has a ledger already") && error.contains("`walk`"), "{error}");
    // Another copy of the binary is no way around it; `auto` takes what there is.
    let copy = Given::new(OF_BPF, 64_002);
    assert_eq!(copy.run(&top(SourceKind::Ledger)).status.code(), Some(3));
    let output = given.run("top --batch -n 1 -d 0.05 --format json");
    let interval: Value = serde_json::from_slice(&output.stdout).expect("an interval");
    assert_eq!(interval["source"], "walk", "{}", error_of(&output));
    // It is in no other user's way, and root has as many as before.
    let other = Given::new(OF_BPF, 64_003);
    assert_eq!(other.run(&top(SourceKind::Ledger)).status.code(), Some(0));
    let [one, two] = [(); 2].map(|()| Top::start(SourceKind::Ledger, &[]));
    drop((one, two));
    // Killed, it leaves nothing behind.
    drop(first);
    let output = given.run(&top(SourceKind::Ledger));
    assert_eq!(output.status.code(), Some(0), "{}", error_of(&output));
}

#[test]
fn of_ledgers_that_start_at_once_one_stays_root() {
    let given = Given::new(OF_BPF, 64_004);
    let start = |_| {
        let mut command = given.command("top --batch -n 30 -d 0.1 --source ledger");
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("setpriv runs")
    };
    let children: Vec<Child> = (0..6).map(start).collect();
    let codes = children.into_iter().map(|child| child.wait_with_output().expect("it ends").status.code());
    let mut codes: Vec<Option<i32>> = codes.collect();
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(3), Some(3), Some(3), Some(3), Some(3)]);
}

#[test]
fn a_user_without_root_has_the_default_slots_root() {
    let given = Given::new(OF_BPF, 64_005);
    let line = |slots: u32| format!("top --batch -n 1 -d 0.05 --slots {slots}");
    let most = cpuledger::source::ledger::Options::default().slots;
    let output = given.run(&line(most + 1));
    assert_eq!(output.status.code(), Some(2), "{}", error_of(&output));
    assert!(error_of(&output).contains(&format!("--slots can be at most {most} without root")));
    let output = given.run(&line(8_388_608));
    assert_eq!(output.status.code(), Some(2), "{}", error_of(&output));
    assert_eq!(given.run(&line(most)).status.code(), Some(0));
    given.set("cap_sys_admin=ep");
    assert_eq!(given.run(&line(most + 1)).status.code(), Some(0));
}

/// A process of this user that has written to a disk, or read from one, for all that /proc shows to root.
fn writer(user: u32) -> Child {
    let mut command = Command::new("setpriv");
    let ids = ["--reuid", "--regid"].map(|option| format!("{option}={user}"));
    command.args(ids).args(["--clear-groups", "sh", "-c", "echo; while :; do :; done"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("setpriv runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it runs");
    child
}

/// What /proc/PID/io guards is not told by other ways: neither of root nor of another user, and of one's own it is.
#[test]
fn block_io_of_others_is_not_told_root() {
    let is_told = |info: &&FieldInfo| GUARDED.contains(info.field) && info.group == Group::Activity;
    let keys: Vec<&str> = FIELDS.iter().filter(is_told).map(|info| info.key).collect();
    assert!(keys.contains(&"read_bytes") && keys.len() >= 3);
    let given = Given::new("cap_bpf,cap_perfmon,cap_net_admin=ep", 64_006);
    let mut children = [writer(64_006), writer(64_007), writer(0)];
    let pids = children.each_ref().map(Child::id);
    let told = |row: &Value| keys.iter().any(|key| !row[key].is_null());
    let of = |rows: &Value, pid: u32| -> bool {
        let row = rows.as_array().expect("rows").iter().find(|row| row["pid"] == pid);
        told(row.unwrap_or_else(|| panic!("a row of {pid}")))
    };
    let mut seen = Vec::new();
    for source in ["ledger", "walk", "netlink"] {
        let output = given.run(&format!("top --batch -H -n 2 -d 0.3 --format json --source {source}"));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = text.lines().last().unwrap_or_else(|| panic!("{source}: {}", error_of(&output)));
        let interval: Value = serde_json::from_str(last).expect("JSON");
        for rows in ["processes", "tasks"] {
            seen.push((source, rows, pids.map(|pid| of(&interval[rows], pid))));
        }
    }
    for source in ["walk", "netlink"] {
        let list = pids.map(|pid| pid.to_string()).join(",");
        for threads in ["-p", "-Lp"] {
            let keys = keys.join(",");
            let line = format!("ps {threads} {list} -o pid,{keys} --format json --source {source}");
            let text = String::from_utf8_lossy(&given.run(&line).stdout).into_owned();
            let rows = text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
            let rows = Value::Array(rows);
            seen.push((source, "ps", pids.map(|pid| of(&rows, pid))));
        }
    }
    for child in &mut children {
        child.kill().and_then(|()| child.wait()).expect("our child");
    }
    for (source, rows, told) in seen {
        assert_eq!(told, [true, false, false], "{source}: {rows}");
    }
}

#[test]
fn setuid_is_refused_root() {
    for mode in [0o4755, 0o2755] {
        let machine = nobody_with(&[]);
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(machine.binary(), permissions).expect("the mode");
        assert_eq!(std::fs::metadata(machine.binary()).expect("a file").mode() & 0o7777, mode);
        for line in ["ps -ef", "doctor", "top --batch -n 1", "status 1"] {
            let output = machine.run(line);
            assert_eq!(output.status.code(), Some(2), "{line}");
            assert!(output.stdout.is_empty());
            assert!(
                error_of(&output).starts_with("cpuledger: the program must not be setuid or setgid; "),
                "{line}"
            );
        }
    }
}
