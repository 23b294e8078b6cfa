//! `cpuledger doctor` as root, and as users who may do less. Needs root, to become them.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{MutexGuard, OnceLock};

use cpuledger_load::is_emulated;
use cpuledger_load::scene::alone;
use serde_json::Value;

/// The binary where the user nobody may execute it, whatever the folder of the build allows; gone when dropped. One at a time: a
/// child that another test starts during the copy would hold the file open for writing, and then it is not executed.
struct Copied {
    path: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Copied {
    fn new(test: &str) -> Copied {
        let alone = alone();
        let path = std::env::temp_dir().join(format!("cpuledger-doctor-{test}-{}", std::process::id()));
        std::fs::copy(env!("CARGO_BIN_EXE_cpuledger"), &path).expect("a copy");
        Copied { path, _alone: alone }
    }

    /// Runs doctor, by way of these words.
    fn run(&self, before: &[&str], arguments: &[&str]) -> Output {
        let mut command = Command::new(before[0]);
        command.args(&before[1..]).arg(&self.path).arg("doctor").args(arguments);
        command.output().expect("it runs: install the package util-linux")
    }

    fn report(&self, before: &[&str]) -> Value {
        let output = self.run(before, &["--format", "json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What root is told.
fn report_of_root() -> &'static Value {
    static REPORT: OnceLock<Value> = OnceLock::new();
    REPORT.get_or_init(|| Copied::new("root").report(&["env"]))
}

const NOBODY: &[&str] = &[
    "setpriv",
    "--reuid",
    "65534",
    "--regid",
    "65534",
    "--clear-groups",
    "--inh-caps=-all",
    "--bounding-set=-all",
];

fn source<'a>(report: &'a Value, name: &str) -> &'a Value {
    let sources = report["sources"].as_array().expect("sources");
    sources.iter().find(|source| source["source"] == name).expect("it is listed")
}

fn fact<'a>(source: &'a Value, name: &str) -> &'a Value {
    let facts = source["facts"].as_array().expect("facts");
    &facts.iter().find(|fact| fact["name"] == name).expect("it is looked at")["holds"]
}

#[test]
fn a_machine_without_others_hides_nothing_root() {
    if !is_emulated() {
        return cpuledger_load::not_run(
            "it wants a machine on which nothing else happens: `make vm` runs it in its guests",
        );
    }
    let report = report_of_root();
    for name in ["walk", "netlink", "procfs"] {
        assert_eq!(source(report, name)["usable"], true, "{}", source(report, name));
        assert_eq!(source(report, name)["hidden_pids"], Value::Array(Vec::new()), "nothing is hidden here");
    }
    let ledger = source(report, "ledger");
    let has_atomics = fact(ledger, "bpf_atomics") == &Value::Bool(true);
    assert_eq!(ledger["usable"], has_atomics, "{ledger}");
    if has_atomics {
        assert_eq!(ledger["ledger"]["imbalance_ns"], 0, "{ledger}");
    } else {
        let reason = ledger["reason"].as_str().expect("a sentence");
        assert!(reason.contains("no BPF atomics"), "{reason}");
        assert!(ledger["remedy"].as_str().is_some_and(|remedy| remedy.contains("5.12")), "{ledger}");
    }
    // Nothing happens on this machine, so the ledger costs nothing.
    assert_eq!(report["auto"], if has_atomics { "ledger" } else { "walk" }, "{}", report["costs"]);
}

#[test]
fn root_has_the_ledger_and_the_walk_root() {
    let report = report_of_root();
    let ledger = source(report, "ledger");
    assert_eq!(ledger["usable"], true, "{ledger}");
    assert_eq!(ledger["ledger"]["imbalance_ns"], 0);
    assert!(ledger["ledger"]["locked_bytes"].as_u64().is_some_and(|bytes| bytes < 16 << 20), "{ledger}");
    let costs = &report["costs"];
    let number = |key: &str| costs[key].as_u64().unwrap_or_else(|| panic!("{key} of {costs}"));
    assert!(number("switches_per_s") > 0 && number("tasks") > 0 && number("interval_ns") > 0, "{costs}");
    // The rule: a machine that does nothing but switch has the walk.
    let may_cost = number("walk_ns_per_s") + number("ledger_may_exceed_ns_per_s");
    let is_dear = number("ledger_ns_per_s") > may_cost;
    assert_eq!(report["auto"], if is_dear { "walk" } else { "ledger" }, "{costs}");
    let walk = source(report, "walk");
    assert_eq!(walk["usable"], true, "{walk}");
    assert_eq!(walk["remedy"], Value::Null);
    let mechanism = walk["attempt"]["mechanism"].as_str().expect("a mechanism");
    assert!(["one_call", "iterator"].contains(&mechanism));
    assert!(walk["attempt"]["tasks"].as_u64() >= walk["attempt"]["processes"].as_u64());
    assert_eq!(fact(walk, "btf"), true);
}

#[test]
fn the_user_nobody_has_procfs_and_is_told_why_root() {
    let report = Copied::new("nobody").report(NOBODY);
    let walk = source(&report, "walk");
    assert_eq!(walk["usable"], false, "{walk}");
    assert_eq!(walk["reason"], "loading BPF programs is not permitted: CAP_BPF is missing");
    assert!(walk["remedy"].as_str().is_some_and(|remedy| remedy.contains("setcap cap_bpf,cap_perfmon=ep /")));
    assert_eq!(fact(walk, "cap_bpf"), false);
    let procfs = source(&report, "procfs");
    assert_eq!(procfs["usable"], true, "{procfs}");
    assert_eq!(fact(procfs, "cap_sys_ptrace"), false);
    assert_eq!((&report["auto"], &report["costs"]), (&Value::from("procfs"), &Value::Null));
}

#[test]
fn another_pid_namespace_is_named_root() {
    let report = Copied::new("namespace").report(&["unshare", "--pid", "--fork", "--mount-proc"]);
    let walk = source(&report, "walk");
    assert!(walk["reason"].as_str().is_some_and(|reason| reason.contains("PID namespace")), "{walk}");
    assert!(walk["remedy"].as_str().is_some_and(|remedy| remedy.contains("host")), "{walk}");
    assert_eq!(fact(walk, "initial_pid_namespace"), false);
    assert_eq!(report["auto"], "procfs");
}

#[test]
fn another_user_namespace_is_named_root() {
    let report = Copied::new("user").report(&["unshare", "--user", "--map-root-user"]);
    let walk = source(&report, "walk");
    assert_eq!(fact(walk, "cap_bpf"), true, "it is root there");
    assert!(walk["reason"].as_str().is_some_and(|reason| reason.contains("user namespace")), "{walk}");
    assert_eq!(report["auto"], "procfs");
}

#[test]
fn hidden_processes_are_told_root() {
    let script = "mount -t proc -o hidepid=2 proc /proc && exec \"$@\"";
    let before = [&["unshare", "--mount", "sh", "-c", script, "sh"][..], NOBODY].concat();
    let all = source(report_of_root(), "procfs")["attempt"]["processes"].as_u64();
    let report = Copied::new("hidden").report(&before);
    let procfs = source(&report, "procfs");
    assert_eq!(fact(procfs, "shows_every_process"), false);
    assert!(procfs["remedy"].as_str().is_some_and(|remedy| remedy.contains("hidepid=0")), "{procfs}");
    assert!(procfs["sees"].as_str().is_some_and(|sees| sees.contains("this user")), "{procfs}");
    assert!(procfs["attempt"]["processes"].as_u64() < all, "{procfs}");
}

#[test]
fn without_any_source_the_exit_code_is_3_root() {
    let script = "umount -l /proc && exec \"$@\"";
    let before = [&["unshare", "--mount", "sh", "-c", script, "sh"][..], NOBODY].concat();
    let output = Copied::new("none").run(&before, &[]);
    let text = String::from_utf8(output.stdout).expect("ASCII");
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert_eq!(output.stderr, b"cpuledger: no source is usable\n");
    assert!(
        text.contains("no procfs is mounted on /proc") && text.contains("mount -t proc proc /proc"),
        "{text}"
    );
    assert!(text.ends_with("auto has no usable source\n"), "{text}");
}
