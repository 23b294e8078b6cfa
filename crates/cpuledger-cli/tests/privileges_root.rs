//! What each source needs, one claim after another, and what `top` keeps. Needs root, to take it away.

mod hostile;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};

use cpuledger::support::privilege;
use cpuledger::{SourceKind, support::privilege::Need};
use cpuledger_load::Sleepers;
use hostile::{Machine, error_of};
use serde_json::Value;

/// Nobody, with these capabilities and no way to others.
fn nobody_with(capabilities: &[&str]) -> Machine {
    let list = capabilities.iter().fold("-all".to_owned(), |list, name| {
        format!("{list},+{}", name.trim_start_matches("CAP_").to_ascii_lowercase())
    });
    let sets = ["inh-caps", "ambient-caps", "bounding-set"].map(|set| format!("--{set}={list}"));
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    Machine::new(&user).and(&sets.each_ref().map(String::as_str)).for_everybody()
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
    for kind in SourceKind::ALL {
        let names: Vec<&str> = needed(kind).iter().map(|need| need.name).collect();
        let output = nobody_with(&names).run(&top(kind));
        assert_eq!(output.status.code(), Some(0), "{kind} with {names:?}: {}", error_of(&output));
        for missing in &names {
            let rest: Vec<&str> = names.iter().copied().filter(|name| name != missing).collect();
            let machine = nobody_with(&rest);
            let output = machine.run(&top(kind));
            assert_eq!(output.status.code(), Some(3), "{kind} without {missing}: {}", error_of(&output));
            let error = error_of(&output);
            assert!(error.contains(missing), "{kind} without {missing}: {error}");
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
        command.args(["top", "--batch", "-n", "100000", "-d", "0.05", "--format", "json"]);
        command.args(["--source", kind.name()]).env_remove("SUDO_UID").env_remove("SUDO_GID");
        command.envs(variables.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("cpuledger runs");
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

fn value<'a>(status: &'a str, name: &str) -> &'a str {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_else(|| panic!("{name} in {status}"))
        .trim()
}

fn capabilities(status: &str, set: &str) -> u64 {
    u64::from_str_radix(value(status, set), 16).expect("hexadecimal digits")
}

#[test]
fn sudo_leads_back_to_the_caller_root() {
    for kind in SourceKind::ALL {
        let mut top = Top::start(kind, &[("SUDO_UID", "65534"), ("SUDO_GID", "65533")]);
        let kept = privilege::kept(kind).bits();
        for status in top.statuses() {
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
    let administrator = rustix::thread::CapabilitySet::KILL | rustix::thread::CapabilitySet::SYS_NICE;
    for status in top.statuses() {
        let kept = privilege::kept(SourceKind::Ledger) | administrator;
        assert_eq!(capabilities(&status, "CapPrm:"), kept.bits());
        assert_eq!(value(&status, "Uid:").split('\t').next(), Some("0"));
    }
}

/// The capabilities of the file, for a user who has none.
#[test]
fn capabilities_of_the_file_root() {
    let machine = nobody_with(&[]);
    let set = |list: &str| {
        let status = Command::new("setcap").arg(list).arg(machine.binary()).status();
        assert!(status.expect("setcap runs: install libcap2-bin").success(), "{list}");
    };
    // The bounding set of `nobody_with` would take them away again.
    let run = |line: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(machine.binary());
        command.args(line.split(' ')).output().expect("setpriv runs: install util-linux")
    };
    for kind in SourceKind::ALL.into_iter().filter(|kind| !needed(*kind).is_empty()) {
        let names: Vec<String> = needed(kind).iter().map(|need| need.name.to_ascii_lowercase()).collect();
        set(&format!("{}=ep", names.join(",")));
        let output = run(&top(kind));
        assert_eq!(output.status.code(), Some(0), "{kind}: {}", error_of(&output));
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
            assert!(error_of(&output).starts_with("cpuledger: it must not be setuid or setgid; "), "{line}");
        }
    }
}
