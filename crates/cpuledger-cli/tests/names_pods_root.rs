//! Names of pods by the state of containerd and of CRI-O, laid out as both lay it out, of real processes in real cgroups: as root, after sudo, and from a
//! service with and without the right to read that state. Needs root.

mod cgroups;
mod metrics;
mod namespace;
mod service;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cgroups::{BURN, Cgroup};
use cpuledger_load::not_run;
use metrics::{Metrics, Samples};
use namespace::Namespace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use service::{Service, TIMEOUT};

const NOBODY: u32 = 65_534;
/// The bit of CAP_DAC_READ_SEARCH.
const READ_SEARCH: u64 = 1 << 2;

/// A container with one process.
struct Container {
    id: String,
    child: Child,
    cgroup: Cgroup,
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two pods of one name, in two namespaces: that of `prod` is containerd's, that of `test` CRI-O's. Each has a sandbox and a container.
struct Pods {
    containers: Vec<Container>,
    namespace: Namespace,
}

/// Its name, and whether it is of CRI-O.
const CONTAINERS: [(&str, bool); 4] = [("", false), ("web", false), ("POD", true), ("db", true)];

/// What the runtime writes into the bundle of a container.
fn annotations(name: &str, is_crio: bool) -> Value {
    let is_sandbox = matches!(name, "" | "POD");
    let kind = if is_sandbox { "sandbox" } else { "container" };
    if is_crio {
        return json!({
            "io.container.manager": "cri-o",
            "io.kubernetes.container.name": name,
            "io.kubernetes.cri-o.ContainerType": kind,
            "io.kubernetes.cri-o.ImageName": "quay.io/postgres:16",
            "io.kubernetes.pod.name": "shop-7d4",
            "io.kubernetes.pod.namespace": "test",
        });
    }
    let mut annotations = json!({
        "io.kubernetes.cri.container-type": kind,
        "io.kubernetes.cri.sandbox-name": "shop-7d4",
        "io.kubernetes.cri.sandbox-namespace": "prod",
    });
    if !is_sandbox {
        annotations["io.kubernetes.cri.container-name"] = json!(name);
        annotations["io.kubernetes.cri.image-name"] = json!("docker.io/library/nginx:1.27");
    }
    annotations
}

impl Pods {
    fn start() -> Result<Pods, String> {
        // Tests of one process have cgroups of their own.
        static SCENES: AtomicU32 = AtomicU32::new(0);
        let scene = SCENES.fetch_add(1, Ordering::Relaxed);
        let folder = tempfile::tempdir().expect("a folder");
        let namespace = Namespace::hiding(&["/run"])?;
        let mut containers = Vec::new();
        for (number, (name, is_crio)) in CONTAINERS.into_iter().enumerate() {
            let id = format!("{:08x}{scene:04x}{number:052x}", std::process::id());
            let uid =
                format!("{:08x}_{scene:04x}_4000_8000_00000000000{}", std::process::id(), u32::from(is_crio));
            let slice = format!("kubepods-burstable-pod{uid}.slice");
            let (scope, runtime) = if is_crio {
                (format!("crio-{id}.scope"), "crio")
            } else {
                (format!("cri-containerd-{id}.scope"), "cri-containerd")
            };
            let bundle = json!({
                "annotations": annotations(name, is_crio),
                "linux": {"cgroupsPath": format!("{slice}:{runtime}:{id}")},
            });
            let file = folder.path().join("config.json");
            fs::write(&file, bundle.to_string()).expect("a file");
            let place = match is_crio {
                true => format!("/run/containers/storage/overlay-containers/{id}/userdata"),
                false => format!("/run/containerd/io.containerd.runtime.v2.task/k8s.io/{id}"),
            };
            // Before the cgroup, as runtimes do.
            let script = "umask 077; mkdir -p \"$2\" && cp \"$1\" \"$2/config.json\"";
            let mut write = Command::new("sh");
            write.args(["-c", script, "sh"]).arg(&file).arg(&place);
            assert!(namespace.within(&write).status().expect("nsenter runs").success());
            let cgroup = Cgroup::make(&format!("/kubepods.slice/kubepods-burstable.slice/{slice}/{scope}"));
            let child = cgroup.spawn(&["sh", "-c", BURN]);
            containers.push(Container { id, child, cgroup });
        }
        // Those above the first were there when the others were made: they go last.
        containers.reverse();
        Ok(Pods { containers, namespace })
    }

    fn of(&self, name: &str) -> &Container {
        let place = CONTAINERS.iter().rev().position(|(own, _)| *own == name).expect("it is one of them");
        &self.containers[place]
    }

    fn cpuledger(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        command.args(arguments);
        self.namespace.within(&command)
    }

    fn told(&self, arguments: &[&str]) -> String {
        told(&mut self.cpuledger(arguments))
    }

    /// A service as this user, with these capabilities.
    fn service(&self, capabilities: &str) -> Service {
        Service::start_as("", |command| {
            let mut user = Command::new("setpriv");
            let sets = ["inh-caps", "ambient-caps"].map(|set| format!("--{set}=-all,{capabilities}"));
            user.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(sets);
            user.arg(command.get_program()).args(command.get_args());
            for argument in command.get_args().filter(|argument| Path::new(argument).ends_with("socket")) {
                let folder = Path::new(argument).parent().expect("a folder");
                std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY)).expect("root may");
            }
            let mut command = self.namespace.within(&user);
            command.stderr(Stdio::null());
            command
        })
    }

    fn metrics(&self, service: &Service) -> Metrics {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        command.args(["metrics", "--listen", "127.0.0.1:0", "--by", "container,pod,image"]);
        command.args(["--compat", "cadvisor", "--socket"]);
        Metrics::of(self.namespace.within(command.arg(service.socket())))
    }
}

impl Pods {
    /// Each container has its series under the labels of cAdvisor, whose growth is what the kernel says of its cgroup.
    fn assert_cadvisor(&self, metrics: &Metrics) {
        const FAMILY: &str = "container_cpu_usage_seconds_total";
        for (name, image, namespace) in [
            ("web", "docker.io/library/nginx:1.27", "prod"),
            ("db", "quay.io/postgres:16", "test"),
            ("", "", "prod"),
        ] {
            let container = self.of(name);
            let id = container.cgroup.path.strip_prefix(cgroups::root()).expect("it is below").display();
            let beside = format!(
                "id=\"/{id}\",image=\"{image}\",name=\"{}\",namespace=\"{namespace}\",pod=\"shop-7d4\"",
                container.id
            );
            let series = format!("{{container=\"{name}\",cpu=\"total\",{beside}}}");
            let modes = format!("{{container=\"{name}\",{beside}}}");
            let begin = Instant::now();
            while metrics.scrape("test").sum(FAMILY, &series) == 0 {
                assert!(begin.elapsed() < TIMEOUT, "{series}: {:?}", metrics.scrape("test"));
                std::thread::sleep(Duration::from_millis(100));
            }
            // While it is stopped, what both say is of one instant.
            let read = || {
                container.signal(Signal::STOP);
                let (samples, used_ns) = (metrics.scrape_later("test"), container.used_ns());
                container.signal(Signal::CONT);
                (used_ns, samples.sum(FAMILY, &series), samples)
            };
            let (before, first, _) = read();
            std::thread::sleep(Duration::from_secs(2));
            let (after, last, samples) = read();
            let (used, grown) = (after - before, last - first);
            // Each of four times is cut to a tick, before and after.
            assert!(grown > 0 && grown.abs_diff(used) <= 50_000_000, "{series}: {grown} ns, not {used} ns");
            let of_mode = |mode: &str| samples.sum(&format!("container_cpu_{mode}_seconds_total"), &modes);
            assert_eq!(of_mode("user") + of_mode("system"), last, "{series}");
        }
    }
}

impl Container {
    /// CPU time of its process and of the children of that, by the kernel.
    fn used_ns(&self) -> u128 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it lives");
        let (_, fields) = stat.rsplit_once(") ").expect("a name");
        let ticks = fields.split(' ').skip(11).take(4).map(|ticks| ticks.parse::<u128>().expect("a number"));
        ticks.sum::<u128>() * 10_000_000
    }

    /// That of its pod, as the path of its cgroup has it.
    fn pod_id(&self) -> String {
        let path = self.cgroup.path.to_str().expect("UTF-8");
        let (_, from) = path.split_once("-pod").expect("a pod");
        from.split_once(".slice").expect("a slice").0.replace('_', "-")
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is ours");
    }
}

fn told(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Scrapes until each of these series counts.
fn wait_for(metrics: &Metrics, wanted: &[(&str, &str)]) -> Samples {
    let begin = Instant::now();
    loop {
        let samples = metrics.scrape("test");
        samples.assert_balance(&["container", "pod", "image"]);
        let counts = |(by, name): &(&str, &str)| {
            samples.sum("cpuledger_cpu_seconds_total", &format!("by=\"{by}\",name=\"{name}\"")) > 0
        };
        if wanted.iter().all(counts) {
            return samples;
        }
        assert!(begin.elapsed() < TIMEOUT, "{wanted:?}: {samples:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The threads of a process by name, with their users and effective capabilities.
fn threads(pid: u32) -> Vec<(String, String, u64)> {
    let folders = fs::read_dir(format!("/proc/{pid}/task")).expect("it lives").flatten();
    let read = |folder: PathBuf| {
        let status = fs::read_to_string(folder.join("status")).ok()?;
        let value =
            |key: &str| status.lines().find_map(|line| Some(line.strip_prefix(key)?.trim().to_owned()));
        let uids = value("Uid:")?.split_whitespace().collect::<Vec<_>>().join(" ");
        Some((value("Name:")?, uids, u64::from_str_radix(&value("CapEff:")?, 16).ok()?))
    };
    folders.filter_map(|entry| read(entry.path())).collect()
}

/// Only the thread that looks at cgroups may read files of others.
fn assert_only_cgroups_may_read(pid: u32) {
    let threads = threads(pid);
    for (name, uids, capabilities) in &threads {
        let expected = if name == "cgroups" { READ_SEARCH } else { 0 };
        assert_eq!(capabilities & READ_SEARCH, expected, "{name}: {threads:?}");
        assert!(name != "cgroups" || *capabilities == READ_SEARCH, "{threads:?}");
        assert_eq!(uids, "65534 65534 65534 65534", "{threads:?}");
    }
    assert!(threads.iter().any(|(name, ..)| name == "cgroups"), "{threads:?}");
}

#[test]
fn pods_of_two_namespaces_are_two_everywhere_root() {
    let pods = match Pods::start() {
        Ok(pods) => pods,
        Err(reason) => return not_run(&reason),
    };
    for (name, names) in [
        ("web", ["web", "docker.io/library/nginx:1.27", "shop-7d4", "prod"]),
        ("db", ["db", "quay.io/postgres:16", "shop-7d4", "test"]),
        ("", ["(sandbox)", "-", "shop-7d4", "prod"]),
        ("POD", ["(sandbox)", "quay.io/postgres:16", "shop-7d4", "test"]),
    ] {
        let pid = pods.of(name).child.id().to_string();
        let line = pods.told(&["ps", "-o", "container=,image=,pod=,namespace=", "-p", &pid]);
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), names);
    }
    let both = ["prod/shop-7d4", "test/shop-7d4"];
    let page = pods.told(&["top", "--source", "ledger", "-b", "-n", "1", "-d", "2", "--by", "pod"]);
    let has =
        |page: &str, name: &str| page.lines().any(|line| line.split_whitespace().any(|word| word == name));
    assert!(both.iter().all(|name| has(&page, name)) && !has(&page, "shop-7d4"), "{page}");

    let service = Service::start_as("", |command| pods.namespace.within(&command));
    let metrics = pods.metrics(&service);
    let samples = wait_for(&metrics, &both.map(|name| ("pod", name)));
    assert_eq!(samples.of("cpuledger_cpu_seconds_total", "name=\"shop-7d4\"").next(), None);
    pods.assert_cadvisor(&metrics);
    drop(metrics);

    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording").display().to_string();
    pods.told(&["record", &recording, "--source", "ledger", "--duration", "3", "--interval", "1"]);
    // They are gone when somebody asks.
    drop(pods);
    let mut report = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    report.args(["report", &recording, "--by", "pod", "--top", "100000", "--format", "json"]);
    let report: Value = serde_json::from_str(&told(&mut report)).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    for name in both {
        let self_ns = rows.iter().find(|row| row["name"] == name).and_then(|row| row["self_ns"].as_u64());
        assert!(self_ns > Some(0), "{name}: {report}");
    }
}

#[test]
fn after_sudo_names_are_there_and_one_thread_alone_may_read_them_root() {
    let pods = match Pods::start() {
        Ok(pods) => pods,
        Err(reason) => return not_run(&reason),
    };
    let sudo = |arguments: &[&str]| {
        let mut command = pods.cpuledger(arguments);
        command.env("SUDO_UID", NOBODY.to_string()).env("SUDO_GID", NOBODY.to_string());
        command
    };
    let page =
        told(&mut sudo(&["top", "--source", "ledger", "-b", "-n", "1", "-d", "2", "--by", "container"]));
    for name in ["web", "db", "(sandbox)"] {
        assert!(page.lines().any(|line| line.split_whitespace().any(|word| word == name)), "{name}: {page}");
    }
    let mut top = sudo(&["top", "--source", "ledger", "-b", "-n", "100", "-d", "0.2", "--by", "container"]);
    let mut top = top.stdout(Stdio::null()).spawn().expect("it runs");
    let begin = Instant::now();
    // Until the ledger is attached, it is root.
    while !threads(top.id()).iter().all(|(_, uids, _)| uids.starts_with("65534")) {
        assert!(begin.elapsed() < TIMEOUT, "{:?}", threads(top.id()));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_only_cgroups_may_read(top.id());
    top.kill().expect("it is ours");
    top.wait().expect("it ends");
}

#[test]
fn the_service_has_names_if_its_unit_lets_it_and_says_why_not_root() {
    const OF_UNIT: &str = "+bpf,+perfmon,+sys_ptrace";
    let pods = match Pods::start() {
        Ok(pods) => pods,
        Err(reason) => return not_run(&reason),
    };
    let doctor = |service: &Service| -> Value {
        let socket = service.socket();
        let socket = socket.to_str().expect("UTF-8");
        serde_json::from_str(&pods.told(&["doctor", "--format", "json", "--socket", socket])).expect("JSON")
    };
    let service = pods.service(OF_UNIT);
    let web = pods.of("web");
    // The path has the ids of the container and the pod, and not the image.
    let samples = wait_for(
        &pods.metrics(&service),
        &[("container", &web.id[..12]), ("pod", &web.pod_id()), ("image", "unknown")],
    );
    assert_eq!(samples.of("cpuledger_cpu_seconds_total", "name=\"web\"").next(), None);
    let report = doctor(&service);
    assert!(report["names"]["service"]["nameless"]["denied"].as_u64() > Some(0), "{report}");
    let socket = service.socket();
    let page = pods.told(&["doctor", "--socket", socket.to_str().expect("UTF-8")]);
    assert!(page.contains("docs/names.md says how its unit lets it read that"), "{page}");
    drop(service);

    let service = pods.service(&format!("{OF_UNIT},+dac_read_search"));
    wait_for(
        &pods.metrics(&service),
        &[("container", "web"), ("pod", "prod/shop-7d4"), ("pod", "test/shop-7d4")],
    );
    let report = doctor(&service);
    assert_eq!(report["names"]["service"]["nameless"]["denied"], Value::Null, "{report}");
    assert_only_cgroups_may_read(service.child.id());
}
