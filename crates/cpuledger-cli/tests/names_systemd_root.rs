//! Names of units, slices and scopes below a systemd that has booted: process 1 of a container, with managers of users. Needs root and systemd.

mod cgroups;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cgroups::remove;
use cpuledger_load::not_run;

const SYSTEMD: &str = "/usr/lib/systemd/systemd";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Some CPU time a second, for ever. The service says its pid in a file.
const BURN: &str = "#!/bin/sh
echo started > \"$1\"
while :; do i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; sleep 0.1; done
";

/// Boots systemd in namespaces of its own, with hierarchies that begin where the container does. Nothing of the machine can be written to.
const BOOT: &str = "set -e
if [ -e /sys/fs/cgroup/cgroup.procs ]; then
    mount -t cgroup2 none /sys/fs/cgroup
else
    mount -t tmpfs none /sys/fs/cgroup
    mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
    mount -t cgroup -o none,name=systemd none /sys/fs/cgroup/systemd
    mount -t cgroup2 none /sys/fs/cgroup/unified
fi
mount --bind \"$1/run\" /run
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount -o remount,bind,ro /
export container=test
exec /usr/lib/systemd/systemd --system --unit=names.target --log-target=console --log-level=warning --show-status=no
";

/// Each unit that burns: its name, its slice, and what its file says beside that.
const UNITS: [(&str, &str, &str); 3] = [
    ("plain.service", "system.slice", ""),
    ("web@1.service", "system-web.slice", ""),
    ("a\\x2db.service", "shop-front.slice", "Slice=shop-front.slice"),
];

/// The container: its process 1, its cgroups, and the folder that is its /run.
struct Booted {
    unshare: Child,
    cgroups: Vec<PathBuf>,
    folder: tempfile::TempDir,
}

impl Booted {
    fn boot() -> Result<Booted, String> {
        if !Path::new(SYSTEMD).exists() {
            return Err(format!("systemd is not installed: {SYSTEMD} is missing"));
        }
        let folder = tempfile::tempdir().expect("a folder");
        write_units(folder.path());
        // A slice, as what is above the tree of a manager has to be one for the names of units.
        let name = format!("cpuledgertest{}.slice", std::process::id());
        let root = Path::new("/sys/fs/cgroup");
        let roots = [root.to_owned(), root.join("systemd"), root.join("unified")];
        let roots = roots.into_iter().filter(|root| root.join("cgroup.procs").exists());
        let cgroups: Vec<PathBuf> = roots.map(|root| root.join(&name)).collect();
        if cgroups.is_empty() {
            return Err("systemd's hierarchy is not mounted below /sys/fs/cgroup".into());
        }
        let mut enter = String::new();
        for cgroup in &cgroups {
            fs::create_dir(cgroup).map_err(|error| format!("{}: {error}", cgroup.display()))?;
            enter += &format!("echo $$ > {}/cgroup.procs && ", cgroup.display());
        }
        let names =
            "--mount --propagation private --pid --fork --kill-child --mount-proc --cgroup --ipc --uts";
        let script = format!("{enter} exec unshare {names} sh -c \"$1\" sh \"$2\"");
        let log = fs::File::create(folder.path().join("log")).expect("a file");
        let unshare = Command::new("sh")
            .args(["-c", &script, "sh", BOOT])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a descriptor"))
            .stderr(log)
            .spawn()
            .expect("sh runs");
        Ok(Booted { unshare, cgroups, folder })
    }

    /// The pid of what burns in a unit, once it does: the first process whose cgroup ends like that.
    fn pid(&mut self, unit: &str) -> u32 {
        let begin = Instant::now();
        let end = format!("/{unit}");
        loop {
            let found = processes().into_iter().find(|(_, cgroup, comm)| {
                cgroup.lines().any(|line| line.ends_with(&end) && line.contains("cpuledgertest"))
                    && comm == "burn\n"
            });
            if let Some((pid, ..)) = found {
                return pid;
            }
            let ended = self.unshare.try_wait().expect("it is ours");
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(ended.is_none() && begin.elapsed() < TIMEOUT, "{unit} does not run: {ended:?} {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Booted {
    fn drop(&mut self) {
        // All in the PID namespace end with its first process, which ends with unshare(1).
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
        let begin = Instant::now();
        while self.cgroups.iter().any(|cgroup| !remove(cgroup)) && begin.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Pids with their cgroups and names.
fn processes() -> Vec<(u32, String, String)> {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let read = |pid: u32, file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
    pids.filter_map(|pid| Some((pid, read(pid, "cgroup")?, read(pid, "comm")?))).collect()
}

/// Writes the units of the system, those of a user, and what they run.
fn write_units(folder: &Path) {
    let system = folder.join("run/systemd/system");
    let user = folder.join("run/user/65534/config/systemd/user");
    for folder in [&system, &user] {
        fs::create_dir_all(folder).expect("a folder");
    }
    let burn = folder.join("run/burn");
    fs::write(&burn, BURN).expect("a file");
    fs::set_permissions(&burn, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let write = |folder: &Path, name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
    let wants: Vec<&str> = UNITS.iter().map(|unit| unit.0).collect();
    let target = |wants: &str| format!("[Unit]\nDefaultDependencies=no\nWants={wants}\n");
    write(&system, "names.target", &target(&format!("{} job.service user@65534.service", wants.join(" "))));
    write(&user, "names.target", &target("own.service"));
    let service = |more: &str, command: &str| {
        format!("[Unit]\nDefaultDependencies=no\n[Service]\n{more}\nExecStart={command}\n")
    };
    for (name, _, more) in UNITS {
        let file = name.replace("@1", "@");
        write(&system, &file, &service(more, "/run/burn /dev/null"));
    }
    write(
        &system,
        "job.service",
        &service("", "systemd-run --scope --unit=job --slice=jobs.slice /run/burn /dev/null"),
    );
    let manager = "User=nobody\nType=notify\nDelegate=yes\nSlice=user-65534.slice\n\
        Environment=XDG_RUNTIME_DIR=/run/user/65534 XDG_CONFIG_HOME=/run/user/65534/config HOME=/run/user/65534";
    write(&system, "user@65534.service", &service(manager, &format!("{SYSTEMD} --user --unit=names.target")));
    write(&user, "own.service", &service("", "/run/burn /dev/null"));
    let own = Command::new("chown").args(["-R", "nobody"]).arg(folder.join("run/user/65534")).status();
    assert!(own.expect("chown runs").success());
    // Others reach it through the folder of the test.
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
}

fn cpuledger(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_cpuledger")).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn units_slices_scopes_and_units_of_users_are_named_root() {
    let mut booted = match Booted::boot() {
        Ok(booted) => booted,
        Err(reason) => return not_run(&reason),
    };
    let mut expected: Vec<(String, [&str; 3])> = Vec::new();
    let all = UNITS.iter().map(|(unit, slice, _)| (*unit, [*unit, *slice, "-"]));
    let more = [
        ("job.scope", ["job.scope", "jobs.slice", "-"]),
        ("own.service", ["user@65534.service", "user-65534.slice", "own.service"]),
    ];
    for (unit, names) in all.chain(more) {
        expected.push((booted.pid(unit).to_string(), names));
    }
    for (pid, names) in &expected {
        let told = cpuledger(&["ps", "-o", "unit=,slice=,uunit=", "-p", pid]);
        assert_eq!(told.split_whitespace().collect::<Vec<_>>(), names, "{told}");
    }
    let page = cpuledger(&["top", "--source", "ledger", "-b", "-n", "1", "-d", "2", "--by", "unit"]);
    let shown = |unit: &str| unit.replace('\\', "\\\\");
    for (_, [unit, ..]) in &expected {
        let is_there = page.lines().any(|line| line.split_whitespace().any(|word| word == shown(unit)));
        assert!(is_there, "{unit}: {page}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording").display().to_string();
    cpuledger(&["record", &recording, "--source", "ledger", "--duration", "3", "--interval", "1"]);
    // The units are gone when somebody asks.
    drop(booted);
    let report = cpuledger(&["report", &recording, "--by", "unit", "--top", "100000", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    for (_, [unit, ..]) in &expected {
        let row = rows.iter().find(|row| row["name"] == shown(unit).as_str());
        assert!(row.is_some_and(|row| row["self_ns"].as_u64() > Some(0)), "{unit}: {report}");
    }
}
