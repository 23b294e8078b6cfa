//! Names of real containers, which crun runs with the annotations of containerd and of CRI-O. Needs root and crun.

mod cgroups;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cgroups::remove_everywhere;
use cpuledger_load::not_run;
use serde_json::{Value, json};

const NOBODY: u32 = 65_534;

/// A container of crun. It is deleted in the end.
struct Container {
    id: String,
    bundle: PathBuf,
    path: String,
}

impl Container {
    /// One with this id, cgroup and annotations, that runs a script of the shell.
    fn new(folder: &Path, id: &str, path: &str, annotations: Value, script: &str) -> Container {
        let bundle = folder.join(id);
        fs::create_dir_all(bundle.join("rootfs")).expect("a folder");
        let spec = Command::new("crun").arg("spec").current_dir(&bundle).output().expect("crun runs");
        assert!(spec.status.success(), "{spec:?}");
        let file = bundle.join("config.json");
        let mut config: Value = serde_json::from_slice(&fs::read(&file).expect("a bundle")).expect("JSON");
        config["process"]["terminal"] = json!(false);
        config["process"]["args"] = json!(["/bin/sh", "-c", script]);
        config["root"]["readonly"] = json!(false);
        config["annotations"] = annotations;
        config["linux"]["cgroupsPath"] = json!(path);
        let mounts = config["mounts"].as_array_mut().expect("a list");
        for folder in
            ["/bin", "/lib", "/lib64", "/usr"].into_iter().filter(|folder| Path::new(folder).exists())
        {
            let options = json!(["rbind", "ro"]);
            mounts.push(json!({"destination": folder, "type": "bind", "source": folder, "options": options}));
        }
        fs::write(&file, config.to_string()).expect("it can be written");
        Container { id: id.to_owned(), bundle, path: path.to_owned() }
    }

    /// Runs it. crun does not take hybrid hierarchies, so it does not see the unified one beside others.
    fn start(&self) -> Child {
        let script = "umount /sys/fs/cgroup/unified 2>/dev/null; exec crun run --bundle \"$1\" \"$2\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(&self.bundle).arg(&self.id);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it runs")
    }

    /// The process of it, once it runs.
    fn pid(&self) -> i32 {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(30) {
            let state = Command::new("crun").args(["state", &self.id]).output().expect("crun runs");
            let state: Option<Value> = serde_json::from_slice(&state.stdout).ok();
            if let Some(state) = state.filter(|state| state["status"] == "running") {
                return state["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).expect("a pid");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{} does not run", self.path)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = Command::new("crun").args(["delete", "--force", &self.id]).output();
    }
}

/// Whether crun can run a container here.
fn has_crun() -> bool {
    Command::new("crun").arg("--version").output().is_ok_and(|output| output.status.success())
}

fn cpuledger(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_cpuledger")).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// An id of 64 digits that no other test has.
fn id(number: u32) -> String {
    format!("{:08x}{number:056x}", std::process::id())
}

fn containerd(name: &str) -> Value {
    json!({
        "io.kubernetes.cri.container-name": name,
        "io.kubernetes.cri.container-type": "container",
        "io.kubernetes.cri.image-name": "docker.io/library/nginx:1.27",
        "io.kubernetes.cri.sandbox-name": "shop-7d4",
        "io.kubernetes.cri.sandbox-namespace": "prod",
    })
}

fn cri_o(name: &str) -> Value {
    json!({
        "io.kubernetes.container.name": name,
        "io.kubernetes.cri-o.ContainerType": "container",
        "io.kubernetes.cri-o.ImageName": "quay.io/postgres:16",
        "io.kubernetes.pod.name": "shop-7d4",
        "io.kubernetes.pod.namespace": "prod",
    })
}

/// Some 50 ms of CPU time.
const SHORT: &str = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";

/// Whether reports give that much CPU time to the container that has died, and add up.
fn check_reports(recording: &str, cpu_ns: u64) {
    for (by, name) in [("container", "db"), ("image", "quay.io/postgres:16"), ("pod", "prod/shop-7d4")] {
        let report = cpuledger(&["report", recording, "--by", by, "--top", "100000", "--format", "json"]);
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        let rows = report["rows"].as_array().expect("rows");
        let self_ns = rows.iter().find(|row| row["name"] == name).and_then(|row| row["self_ns"].as_u64());
        assert!(cpu_ns > 0 && self_ns.is_some_and(|self_ns| self_ns >= cpu_ns), "{by}: {cpu_ns} of {report}");
        if by != "pod" {
            assert_eq!(self_ns, Some(cpu_ns), "{by}");
        }
        let sum: u64 = rows.iter().chain([&report["other"]]).filter_map(|row| row["self_ns"].as_u64()).sum();
        let [attributed, hidden] =
            ["attributed_ns", "hidden_ns"].map(|key| report[key].as_u64().unwrap_or_default());
        assert!(sum == attributed || sum == attributed + hidden, "{by}: {report}");
    }
}

#[test]
fn containers_are_named_in_top_ps_and_recordings_even_if_they_lived_shortly_root() {
    if !has_crun() {
        return not_run("crun is not installed: scripts/install-packages test");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let pod = format!("/kubepods/burstable/pod{:08x}-0000-4000-8000-000000000000", std::process::id());
    let (outer_id, short_id, inner_id) = (id(1), id(2), id(3));
    let outer_path = format!("{pod}/{outer_id}");
    let outer = Container::new(folder.path(), &outer_id, &outer_path, containerd("web"), "exec sleep 1000");
    let short =
        Container::new(folder.path(), &short_id, &format!("{pod}/crio-{short_id}"), cri_o("db"), SHORT);
    // As a runtime within the first one would place it.
    let inner_path = format!("{outer_path}/docker/{inner_id}");
    let inner = Container::new(folder.path(), &inner_id, &inner_path, json!({}), "exec sleep 1000");
    let mut running = outer.start();
    let pid = outer.pid();
    let mut nested = inner.start();
    let inner_pid = inner.pid();

    let listed = |pid: i32, uid: Option<u32>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        command.args(["ps", "-o", "container=,image=,pod=,namespace=", "-p", &pid.to_string()]);
        uid.into_iter().for_each(|uid| {
            command.uid(uid).gid(uid);
        });
        let output = command.output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(listed(pid, None), ["web", "docker.io/library/nginx:1.27", "shop-7d4", "prod"]);
    assert_eq!(listed(inner_pid, None)[0], format!("web/{}", &inner_id[..12]));
    // Without permission the path tells the id, and the uid of the pod.
    let unknown = listed(pid, Some(NOBODY));
    assert_eq!((&*unknown[0], &*unknown[1], &*unknown[3]), (&outer_id[..12], "-", "-"), "{unknown:?}");

    let recording = folder.path().join("recording").display().to_string();
    let mut top = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
        .args(["top", "--source", "ledger", "--format", "json", "-n", "4", "-d", "1", "--record", &recording])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut told = BufReader::new(top.stdout.take().expect("it is piped"));
    let mut text = String::new();
    told.read_line(&mut text).expect("an interval");
    // In the middle of an interval.
    std::thread::sleep(Duration::from_millis(300));
    let ran = short.start().wait_with_output().expect("it ends");
    assert!(ran.status.success(), "{ran:?}");
    told.read_to_string(&mut text).expect("the other intervals");
    assert!(top.wait().expect("it ends").success());
    let intervals: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let dead = intervals.iter().flat_map(|interval| interval["exited"].as_array().expect("a list"));
    let dead: Vec<&Value> = dead.filter(|row| row["container_id"] == short_id.as_str()).collect();
    let names =
        ["container", "image", "pod", "namespace"].map(|key| dead.first().map(|row| row[key].clone()));
    assert_eq!(
        names,
        ["db", "quay.io/postgres:16", "shop-7d4", "prod"].map(|name| Some(json!(name))),
        "{dead:?}"
    );

    let cpu_ns: u64 = dead.iter().filter_map(|row| row["cpu_ns"].as_u64()).sum();
    check_reports(&recording, cpu_ns);
    drop((outer, inner));
    let _ = (running.wait(), nested.wait());
    remove_everywhere(&pod[1..]);
}
