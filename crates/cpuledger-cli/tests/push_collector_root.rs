//! What a real collector of OpenTelemetry makes of a push: it is stopped, started again, paused and killed. Needs root, Go, and once a network:
//! so it runs with `CPULEDGER_TEST_CLIENTS=1`.

mod push;
mod service;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use cpuledger_load::{Storm, StormPlan, not_run};
use push::{Published, Push, Received, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use service::Service;

/// The program of the collector, or why there is none.
fn program() -> Result<PathBuf, String> {
    if std::env::var_os("CPULEDGER_TEST_CLIENTS").is_none() {
        return Err("the collector of OpenTelemetry is built only with CPULEDGER_TEST_CLIENTS=1".into());
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("otel-collector");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/otel-collector");
    let output = Command::new(script).arg(&folder).output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(folder.join("otelcol")),
        false => Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned()),
    }
}

/// A collector that writes to a file.
struct Collector {
    child: Child,
    port: u16,
}

impl Collector {
    fn start(program: &Path, folder: &Path, port: u16) -> Collector {
        let config = folder.join("collector.yaml");
        let text = format!(
            "receivers:\n  otlp:\n    protocols:\n      http:\n        endpoint: 127.0.0.1:{port}\nexporters:\n  \
             file:\n    path: {}\n    append: true\nservice:\n  telemetry:\n    metrics:\n      level: none\n    \
             logs:\n      level: error\n  pipelines:\n    metrics:\n      receivers: [otlp]\n      exporters: [file]\n",
            folder.join("received.json").display()
        );
        fs::write(&config, text).expect("a file");
        let child = Command::new(program)
            .arg(format!("--config={}", config.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        wait_for("the collector", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Collector { child, port }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is ours");
    }

    /// Ends it in order: what it has received is written.
    fn end(mut self) {
        self.signal(Signal::TERM);
        self.child.wait().expect("it ends");
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Attributes as `{key=value,key=value}`.
fn attributes(value: &Value) -> String {
    let pairs = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = pairs.iter().map(|pair| {
        let value = &pair["value"];
        let value = value["stringValue"].as_str().or_else(|| value["intValue"].as_str());
        format!("{}={}", pair["key"].as_str().expect("a key"), value.expect("text or a number"))
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { String::new() } else { format!("{{{}}}", texts.join(",")) }
}

/// A list that is left out where it is empty.
fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What the file of the collector has.
fn received(file: &Path) -> Received {
    let mut received = Received::default();
    let text = fs::read_to_string(file).expect("it has received something");
    for line in text.lines() {
        let request: Value = serde_json::from_str(line).expect("JSON");
        for of_resource in list(&request["resourceMetrics"]) {
            let resource = attributes(&of_resource["resource"]["attributes"]);
            let scopes = list(&of_resource["scopeMetrics"]).iter();
            for metric in scopes.flat_map(|scope| list(&scope["metrics"])) {
                let name = metric["name"].as_str().expect("a name");
                let sum = &metric["sum"];
                if !sum.is_null() {
                    assert_eq!(
                        (sum["aggregationTemporality"].as_i64(), sum["isMonotonic"].as_bool()),
                        (Some(2), Some(true))
                    );
                }
                for point in list(&sum["dataPoints"]).iter().chain(list(&metric["gauge"]["dataPoints"])) {
                    let number =
                        |key: &str| point[key].as_str().and_then(|text| text.parse().ok()).unwrap_or(0_u64);
                    let value = match point["asInt"].as_str() {
                        Some(text) => text.parse().expect("a number"),
                        None => (point["asDouble"].as_f64().expect("a number") * 1e9).round() as i128,
                    };
                    let own = attributes(&point["attributes"]);
                    received.add(
                        &resource,
                        name,
                        &own,
                        number("startTimeUnixNano"),
                        number("timeUnixNano"),
                        value,
                    );
                }
            }
        }
    }
    received
}

#[test]
fn a_real_collector_that_is_stopped_paused_and_killed_has_each_nanosecond_once_root() {
    let program = match program() {
        Ok(program) => program,
        Err(reason) => return not_run(&reason),
    };
    let service = Service::start("");
    let published = Published::follow(&service.socket());
    let folder = tempfile::tempdir().expect("a folder");
    let queue = folder.path().join("queue");
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let url = format!("http://127.0.0.1:{port}");
    let options = ["--queue", queue.to_str().expect("UTF-8"), "--series", "20"];
    let storm = StormPlan { exec: Some("/bin/true".into()), ..StormPlan::default() };
    let storm = Storm::start(&storm).expect("it starts");

    let collector = Collector::start(&program, folder.path(), port);
    let push = Push::start(&service.socket(), &url, &options);
    thread::sleep(Duration::from_secs(5));
    // It takes a request, and answers too late.
    collector.signal(Signal::STOP);
    thread::sleep(Duration::from_secs(4));
    collector.signal(Signal::CONT);
    thread::sleep(Duration::from_secs(5));
    collector.end();
    thread::sleep(Duration::from_secs(4));
    // The reader is killed meanwhile, and its queue is on disk.
    drop(push);
    let push = Push::start(&service.socket(), &url, &options);
    thread::sleep(Duration::from_secs(3));
    let collector = Collector::start(&program, folder.path(), port);
    assert_eq!(collector.port, port);
    let waiting = || {
        let files = fs::read_dir(&queue).into_iter().flatten().flatten();
        files.filter(|file| file.file_name().to_string_lossy().ends_with(".gz")).count()
    };
    wait_for("the backlog", || waiting() == 0);
    thread::sleep(Duration::from_secs(3));
    let (resident, storms) = (push.resident_bytes(), storm.stop().expect("it ends"));
    push.end();
    collector.end();

    let received = received(&folder.path().join("received.json"));
    received.assert_balance();
    assert_eq!(received.runs().len(), 2, "one of each run");
    published.assert_is(&received);
    assert!(resident < 64 << 20, "{resident} bytes");
    println!(
        "{storms:?}: {} ns attributed of {} ns; {} points came twice; {resident} bytes",
        received.total("cpuledger.attributed.time"),
        received.total("cpuledger.capacity.time"),
        received.repeated
    );
}
