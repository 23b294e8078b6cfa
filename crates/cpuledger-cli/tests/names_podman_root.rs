//! Names of Podman's containers, pods and images, in everything that shows them. Needs root and Podman.

mod cgroups;
mod metrics;
mod namespace;
mod podman;
mod service;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cgroups::{BURN, Cgroup};
use cpuledger_load::not_run;
use metrics::Metrics;
use podman::{IMAGE, Podman};
use serde_json::Value;
use service::Service;

/// For anything that does not take long.
const TIMEOUT: Duration = Duration::from_secs(60);
const NOBODY: u32 = 65_534;

/// Some 50 ms of it.
const SHORT: &str = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";

/// What is there: a container, one in a cgroup of its own within that, and a pod with two.
struct Scene {
    nested: Child,
    /// That of the nested process.
    _cgroup: Cgroup,
    podman: Podman,
    folder: tempfile::TempDir,
    /// The process of the first.
    web: i32,
}

impl Scene {
    fn start() -> Result<Scene, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let podman = Podman::start(folder.path())?;
        let web = podman.start_container("web", &[], BURN);
        podman.make_pod("shop-pod");
        for name in ["db", "cache"] {
            podman.start_container(name, &["--pod", "shop-pod"], BURN);
        }
        let cgroup = cgroup_below(web);
        // It has a cgroup namespace of its own, as a runtime within the container would give it.
        let nested = cgroup.spawn(&["unshare", "--cgroup", "sh", "-c", BURN]);
        Ok(Scene { nested, _cgroup: cgroup, podman, folder, web })
    }

    fn cpuledger(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        command.args(arguments);
        self.podman.namespace.within(&command)
    }

    fn told(&self, arguments: &[&str]) -> String {
        told(&mut self.cpuledger(arguments))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.told(arguments)).expect("JSON")
    }

    /// The CPU time of each name in a report on a recording.
    fn report(&self, recording: &str, by: &str) -> Vec<(String, u64)> {
        let report = self.json(&["report", recording, "--by", by, "--top", "100000", "--format", "json"]);
        let rows = report["rows"].as_array().expect("rows").iter();
        let named = rows.filter_map(|row| Some((row["name"].as_str()?.to_owned(), row["self_ns"].as_u64()?)));
        named.collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.nested.kill();
        let _ = self.nested.wait();
    }
}

/// A cgroup below that of the process.
fn cgroup_below(pid: i32) -> Cgroup {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("it lives");
    let lines = || text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let of_cpu = lines().find(|(controllers, _)| controllers.split(',').any(|one| one == "cpu"));
    let (_, path) =
        of_cpu.or_else(|| lines().find(|(controllers, _)| controllers.is_empty())).expect("a path");
    Cgroup::make(&format!("{path}/inner"))
}

fn told(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn has(names: &[(String, u64)], name: &str) -> bool {
    names.iter().any(|(own, ns)| own == name && *ns > 0)
}

/// `ps`, `top` and `doctor`, as root and as somebody who may not read the state.
fn check_living(scene: &Scene) {
    let listed = |pid: u32, uid: u32| {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={uid}"), format!("--regid={uid}"), "--clear-groups".into()]);
        command.arg(env!("CARGO_BIN_EXE_cpuledger"));
        command.args(["ps", "-o", "container=,image=,pod=", "-p", &pid.to_string()]);
        let text = told(&mut scene.podman.namespace.within(&command));
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let web = scene.web.unsigned_abs();
    assert_eq!(listed(web, 0), ["web", IMAGE, "-"]);
    assert_eq!(listed(scene.nested.id(), 0), ["web", IMAGE, "-"]);
    let unknown = listed(web, NOBODY);
    assert!(unknown[0].len() == 12 && unknown[1] == "-", "{unknown:?}");
    for (by, names) in
        [("container", &["web", "db", "cache"][..]), ("image", &[IMAGE][..]), ("pod", &["shop-pod"][..])]
    {
        let page = scene.told(&["top", "--source", "ledger", "-b", "-n", "1", "-d", "2", "--by", by]);
        let is_there =
            |name: &&str| page.lines().any(|line| line.split_whitespace().any(|word| word == *name));
        assert!(names.iter().all(is_there), "by {by}: {page}");
    }
    let mut doctor = Command::new("setpriv");
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_cpuledger")];
    doctor.args(user).args(["doctor", "--format", "json"]);
    let report: Value =
        serde_json::from_str(&told(&mut scene.podman.namespace.within(&doctor))).expect("JSON");
    assert!(report["names"]["nameless"]["denied"].as_u64() >= Some(3), "{report}");
    let report = scene.json(&["doctor", "--format", "json"]);
    assert_eq!(report["names"]["nameless"]["denied"], Value::Null, "{report}");
}

/// The service, its readers and what is recorded by it.
fn check_service(scene: &Scene) {
    let service = Service::start_as("", |command| {
        let mut command = scene.podman.namespace.within(&command);
        command.stderr(Stdio::null());
        command
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.args(["metrics", "--listen", "127.0.0.1:0", "--by", "container,image,pod", "--socket"]);
    command.arg(service.socket());
    let metrics = Metrics::of(scene.podman.namespace.within(&command));
    let wanted = [
        ("container", "web"),
        ("container", "db"),
        ("container", "cache"),
        ("image", IMAGE),
        ("pod", "shop-pod"),
    ];
    let begin = Instant::now();
    loop {
        let samples = metrics.scrape("test");
        samples.assert_balance(&["container", "image", "pod"]);
        let counts = |(by, name): &(&str, &str)| {
            samples.sum("cpuledger_cpu_seconds_total", &format!("by=\"{by}\",name=\"{name}\"")) > 0
        };
        if wanted.iter().all(counts) {
            break;
        }
        assert!(begin.elapsed() < TIMEOUT, "{samples:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
    // What a command runs in a container counts there.
    let file = scene.folder.path().join("account.json");
    let account = file.to_str().expect("UTF-8");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command
        .args(["run", "--format", "json", "--output", account, "--socket"])
        .arg(service.socket())
        .arg("--");
    let inner = scene
        .podman
        .command(&[&scene.podman.options("built", &["--rm"])[..], &["/bin/sh", "-c", SHORT]].concat());
    command.arg(inner.get_program()).args(inner.get_args());
    told(&mut scene.podman.namespace.within(&command));
    let account: Value = serde_json::from_slice(&fs::read(&file).expect("an account")).expect("JSON");
    let built = account["containers"].as_array().expect("a list").iter().find(|row| row["name"] == "built");
    assert!(built.is_some_and(|row| row["cpu_ns"].as_u64() > Some(10_000_000)), "{account}");
}

#[test]
fn podman_is_named_in_everything_that_shows_it_and_in_an_old_recording_root() {
    let scene = match Scene::start() {
        Ok(scene) => scene,
        Err(reason) => return not_run(&reason),
    };
    check_living(&scene);
    check_service(&scene);

    let recording = scene.folder.path().join("recording");
    let recording = recording.to_str().expect("UTF-8");
    let mut record =
        scene.cpuledger(&["record", recording, "--source", "ledger", "--duration", "6", "--interval", "1"]);
    let mut record = record.stderr(Stdio::null()).spawn().expect("it runs");
    std::thread::sleep(Duration::from_millis(2500));
    // It is gone long before anybody asks.
    let blink = [&scene.podman.options("blink", &["--rm"])[..], &["/bin/sh", "-c", SHORT]].concat();
    scene.podman.run(&blink);
    assert!(record.wait().expect("it ends").success());
    let id = scene.podman.run(&["inspect", "--format", "{{.Id}}", "web"]);
    scene.podman.run(&["pod", "rm", "--force", "--time=0", "shop-pod"]);
    let images = scene.report(recording, "image");
    let pods = scene.report(recording, "pod");
    let containers = scene.report(recording, "container");
    assert!(["web", "db", "cache", "blink"].iter().all(|name| has(&containers, name)), "{containers:?}");
    assert!(has(&images, IMAGE), "{images:?}");
    assert!(has(&pods, "shop-pod"), "{pods:?}");
    let of_id = containers.iter().find(|(name, _)| name.contains(&id[..12]));
    assert_eq!(of_id, None, "{containers:?}");
    // What is in the nested cgroup is of the container around it.
    let cgroups = scene.report(recording, "cgroup");
    let sum = |names: &[(String, u64)], is_of: &dyn Fn(&str) -> bool| -> u64 {
        names.iter().filter(|(name, _)| is_of(name)).map(|(_, ns)| ns).sum()
    };
    let web_ns = sum(&containers, &|name| name == "web");
    assert_eq!(web_ns, sum(&cgroups, &|path| path.contains(&*id) && !path.contains("conmon")), "{cgroups:?}");
}
