//! `top -u`: a program with the setuid bit has two users. It is listed under the effective one, as in procps, alive and dead. Needs root.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::{fs, thread, time};

use serde_json::Value;

const NOBODY: u32 = 65534;
/// It lives into the second interval at least, and dies before the last.
const LIFE_S: &str = "1.2";
const INTERVALS: [&str; 4] = ["-n", "4", "-d", "0.6"];

/// `sleep` with the setuid bit of root.
struct Program(PathBuf);

impl Program {
    fn make() -> Program {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("setuid-{}", std::process::id()));
        fs::copy("/bin/sleep", &path).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).expect("it needs root");
        Program(path)
    }

    /// Run by the user nobody.
    fn start(&self) -> Child {
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let mut command = Command::new("setpriv");
        let child =
            command.args(user).arg(&self.0).arg(LIFE_S).spawn().expect("setpriv runs: install util-linux");
        let users = || {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            status.lines().any(|line| line == "Uid:\t65534\t0\t0\t0")
        };
        while !users() {
            thread::sleep(time::Duration::from_millis(1));
        }
        child
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Rows of such a process, living and dead, of the intervals in which it lives and dies.
fn rows_of_setuid(program: &Program, source: &str, options: &[&str]) -> [Vec<Value>; 2] {
    let mut top = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    top.args(["top", "--batch", "--all", "--format", "json", "--source", source])
        .args(INTERVALS)
        .args(options);
    let mut child = program.start();
    let output = top.stdin(Stdio::null()).output().expect("cpuledger runs");
    child.wait().expect("it is ours");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let intervals: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(intervals.len(), 4, "{source} {options:?}: {}", String::from_utf8_lossy(&output.stderr));
    ["processes", "exited"].map(|list| {
        let rows =
            intervals.iter().flat_map(|interval| interval[list].as_array().cloned().unwrap_or_default());
        rows.filter(|row| row["tid"] == child.id() || row["pid"] == child.id()).collect()
    })
}

#[test]
fn a_setuid_program_is_of_its_effective_user_alive_and_dead_root() {
    let program = Program::make();
    for source in ["ledger", "walk", "netlink", "procfs"] {
        let [living, dead] = rows_of_setuid(&program, source, &["-u", "root"]);
        assert!(!living.is_empty(), "{source}");
        assert!(living.iter().all(|row| row["euid"] == 0), "{source}: {living:?}");
        // Taskstats tell the real user alone: the effective one is unknown.
        let knows_dead = matches!(source, "ledger" | "walk");
        assert_eq!(dead.len(), usize::from(knows_dead), "{source}: {dead:?}");
        for row in &dead {
            assert_eq!((&row["uid"], &row["euid"]), (&NOBODY.into(), &0.into()), "{source}");
        }
        let of_nobody = rows_of_setuid(&program, source, &["-u", "65534"]);
        assert!(of_nobody.iter().all(Vec::is_empty), "{source}: {of_nobody:?}");
    }
    let [_, dead] = rows_of_setuid(&program, "netlink", &[]);
    assert_eq!((dead.len(), &dead[0]["uid"], &dead[0]["euid"]), (1, &NOBODY.into(), &Value::Null));
}
