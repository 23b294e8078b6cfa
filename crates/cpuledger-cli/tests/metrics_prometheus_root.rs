//! What a real Prometheus makes of the metrics. Needs root, and once a network, from which the package of Debian is unpacked below `target/`.
//!
//! It scrapes every second beside a storm of processes: for 30 s, or for 20 minutes with `CPULEDGER_TEST_FULL=1`.

mod metrics;
#[allow(dead_code)]
#[path = "../../cpuledger-export/tests/python/mod.rs"]
mod python;
mod service;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cpuledger_load::{Storm, StormPlan, not_run};
use metrics::Metrics;
use serde_json::Value;
use service::Service;

/// The folder with the programs of Prometheus, or why there is none.
fn programs() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prometheus");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/unpack-debian");
    let output = Command::new(script)
        .arg(&folder)
        .args(["usr/bin/promtool", "prometheus"])
        .output()
        .map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(folder.join("usr/bin")),
        false => Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned()),
    }
}

/// A server of Prometheus that scrapes one target each second.
struct Prometheus {
    child: Child,
    port: u16,
}

impl Prometheus {
    fn start(programs: &Path, folder: &Path, target: &str) -> Prometheus {
        // It is free now, and nobody else in this network namespace takes ports of this range as quickly.
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
        let config = folder.join("prometheus.yml");
        let text = format!(
            "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n  - job_name: cpuledger\n    \
             static_configs:\n      - targets: ['{target}']\n"
        );
        fs::write(&config, text).expect("a file");
        let child = Command::new(programs.join("prometheus"))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .args(["--log.level=error"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        Prometheus { child, port }
    }

    /// The result of a query, or nothing while it does not answer.
    fn query(&self, query: &str) -> Option<Vec<Value>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        write!(stream, "GET /api/v1/query?query={encoded} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        let mut value: Value = serde_json::from_str(body).ok()?;
        serde_json::from_value(value["data"]["result"].take()).ok()
    }

    /// How much the series of a selector have grown, until that time, each from the first value that was scraped. None ever falls.
    fn growth(&self, selector: &str, (at, minutes): (u64, u64)) -> (f64, usize) {
        let mut growth = 0.0;
        let all = self.query(&format!("{selector}[{minutes}m] @ {at}")).expect("an answer");
        for series in &all {
            let values: Vec<f64> = series["values"]
                .as_array()
                .expect("values")
                .iter()
                .map(|pair| pair[1].as_str().and_then(|text| text.parse().ok()).expect("a number"))
                .collect();
            assert!(values.is_sorted(), "{} fell", series["metric"]);
            growth += values.last().unwrap_or(&0.0) - values.first().unwrap_or(&0.0);
        }
        (growth, all.len())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `promtool check metrics` finds nothing wrong with the format.
fn check_by_promtool(programs: &Path, metrics: &Metrics) {
    let (_, body) = metrics.ask("GET /metrics HTTP/1.1\r\nHost: localhost");
    let mut promtool = Command::new(programs.join("promtool"))
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    promtool.stdin.take().expect("a pipe").write_all(&body).expect("it is read");
    let output = promtool.wait_with_output().expect("it ends");
    assert!(output.status.success() && output.stderr.is_empty() && output.stdout.is_empty(), "{output:?}");
}

/// Reads an OpenMetrics text with the parser of Prometheus' own Python client, and counts its samples.
const PARSER: &str = "import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
print(sum(len(family.samples) for family in text_string_to_metric_families(sys.stdin.read())))
";

#[test]
fn the_reference_parser_takes_openmetrics_with_any_names_root() {
    let python = match python::environment("prometheus-client", &["prometheus-client==0.*"]) {
        Ok(python) => python,
        Err(reason) => return not_run(&format!("no parser of OpenMetrics: {reason}")),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::start("");
    // Room for these beside the names of another test.
    let options = ["--series", "5000", "--compat", "process-exporter,cadvisor"];
    let metrics = Metrics::start(&service.socket(), &options);
    // A name has any 15 bytes but 0 and, as it is of a file here, no slash.
    let foul: [&[u8]; 5] =
        [b"a\"} 1\nb", b"\xff\xfe\"", b"back\\slash\\", b"# EOF", "\u{202e}ltr".as_bytes()];
    for name in foul {
        let path = folder.path().join(std::ffi::OsStr::from_bytes(name));
        fs::copy("/bin/true", &path).expect("a copy");
        for _ in 0..50 {
            assert!(Command::new(&path).status().expect("it runs").success());
        }
    }
    std::thread::sleep(Duration::from_secs(1));
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text";
    metrics.ask(request);
    let (_, body) = metrics.ask(request);
    let text = String::from_utf8(body).expect("UTF-8");
    for name in
        [r#"name="a\"} 1\\nb""#, r#"name="\\xff\\xfe\"""#, r#"name="back\\\\slash\\\\""#, r##"name="# EOF""##]
    {
        assert!(text.contains(name), "{name} in {text}");
    }
    let mut parser = Command::new(python)
        .args(["-c", PARSER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    parser.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it is read");
    let output = parser.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let samples = text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), samples.to_string());
}

fn packaging(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(file)
}

/// Each query of the dashboard is one that Prometheus takes, and all but the one about gaps find something.
fn check_dashboard(prometheus: &Prometheus) {
    let text = fs::read(packaging("grafana/cpuledger.json")).expect("the dashboard");
    let dashboard: Value = serde_json::from_slice(&text).expect("JSON");
    let mut queries = 0;
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let query = target["expr"].as_str().expect("a query");
            let query =
                query.replace("$instance", ".*").replace("$by", "command").replace("$__rate_interval", "20s");
            let result = prometheus.query(&query);
            assert!(result.is_some_and(|result| !result.is_empty()), "{}: {query}", panel["title"]);
            queries += 1;
        }
    }
    assert!(queries > 10, "{queries}");
}

#[test]
fn the_rules_say_what_they_should() {
    let programs = match programs() {
        Ok(programs) => programs,
        Err(reason) => return not_run(&format!("no Prometheus: {reason}")),
    };
    for (verb, file) in [("check", "rules.yml"), ("test", "rules-test.yml")] {
        let mut promtool = Command::new(programs.join("promtool"));
        let output = promtool.args([verb, "rules", file]).current_dir(packaging("prometheus")).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{verb} {file}: {output:?}");
    }
}

/// As many processes as the argument says, of ten thousand names.
const NAMES: &str = "for my $number (1..$ARGV[0]) {
    my $pid = fork() // die;
    if (!$pid) { $0 = 'name ' . $number % 10000; exit }
    waitpid $pid, 0;
}";

#[test]
fn a_real_prometheus_finds_every_nanosecond_root() {
    let programs = match programs() {
        Ok(programs) => programs,
        Err(reason) => return not_run(&format!("no Prometheus: {reason}")),
    };
    let is_full = std::env::var_os("CPULEDGER_TEST_FULL").is_some();
    let length = Duration::from_secs(if is_full { 1200 } else { 30 });
    let service = Service::start("");
    let metrics = Metrics::start(&service.socket(), &["--series", "10"]);
    check_by_promtool(&programs, &metrics);
    let folder = tempfile::tempdir().expect("a folder");
    let prometheus = Prometheus::start(&programs, folder.path(), &metrics.address.to_string());
    let begin = Instant::now();
    while prometheus.query("cpuledger_up").is_none_or(|result| result.is_empty()) {
        assert!(begin.elapsed() < metrics::TIMEOUT, "Prometheus does not scrape");
        std::thread::sleep(Duration::from_millis(100));
    }
    // Many more names than series: each process names itself, and ends.
    let many = Command::new("perl").args(["-e", NAMES, if is_full { "500000" } else { "20000" }]).spawn();
    let mut many = many.expect("it starts");
    // Programs with names: copies of one.
    let names: Vec<PathBuf> = (0..40).map(|number| folder.path().join(format!("name{number}"))).collect();
    for name in &names {
        fs::copy("/bin/true", name).expect("a copy");
    }
    let begin = Instant::now();
    let mut storms = 0;
    while begin.elapsed() < length {
        let plan = StormPlan {
            exec: Some(names[storms % names.len()].clone()),
            seconds: Some(2),
            ..StormPlan::default()
        };
        let storm = Storm::start(&plan).expect("it starts");
        std::thread::sleep(Duration::from_secs(2));
        storm.stop().expect("it ends");
        storms += 1;
    }
    assert!(many.wait().expect("it ends").success());
    std::thread::sleep(Duration::from_secs(2));
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
    // All queries are of the same scrapes, whatever time they take.
    let span = (since_1970 - 1, begin.elapsed().as_secs() / 60 + 2);
    // Series of one moment in the text begin at 0, so all of them together grow by what was attributed.
    let (attributed, _) = prometheus.growth("cpuledger_attributed_seconds_total", span);
    let (capacity, _) = prometheus.growth("cpuledger_capacity_seconds_total", span);
    let (rest, _) = prometheus.growth("{__name__=~\"cpuledger_(idle|unattributed)_seconds_total\"}", span);
    assert!(attributed > length.as_secs_f64() / 4.0, "{attributed} s of a storm of {length:?}");
    let is_near = |one: f64, other: f64| (one - other).abs() <= 1e-6 * other;
    assert!(is_near(attributed + rest, capacity), "{attributed} + {rest} of {capacity}");
    let mut counts = BTreeMap::new();
    for by in ["command", "user", "unit", "container"] {
        let (grown, count) = prometheus.growth(&format!("cpuledger_cpu_seconds_total{{by=\"{by}\"}}"), span);
        assert!(is_near(grown, attributed), "by {by}: {grown} of {attributed}");
        counts.insert(by, count);
    }
    // At each instant there are at most ten and `other`, in three parts.
    let at_once =
        prometheus.query("max_over_time(count(cpuledger_cpu_seconds_total{by=\"command\"})[1h:1s])");
    let most = at_once.and_then(|result| result[0]["value"][1].as_str()?.parse::<u32>().ok());
    assert!(most.is_some_and(|most| (6..=33).contains(&most)), "{most:?} series at once");
    check_by_promtool(&programs, &metrics);
    check_dashboard(&prometheus);
    println!("{storms} storms, {attributed} s attributed of {capacity} s, series by dimension: {counts:?}");
}
