//! The books as metrics, beside a service and real work. Needs root.

mod intervals;
mod metrics;
mod service;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use cpuledger_load::{Cgroup, Storm, StormPlan, not_run, online_cpus};
use cpuledger_model::frame::Frame;
use cpuledger_service::client::Client;
use cpuledger_service::varlink::Subscribe;
use intervals::Killed;
use metrics::{Metrics, Samples, TIMEOUT};
use rustix::process::{Pid, Signal, kill_process};
use service::Service;

const DIMENSIONS: [&str; 4] = ["command", "user", "unit", "container"];

/// Scrapes until something holds.
fn wait_for(metrics: &Metrics, mut holds: impl FnMut(&Samples) -> bool) -> Samples {
    let begin = Instant::now();
    loop {
        let samples = metrics.scrape("waits");
        if holds(&samples) {
            return samples;
        }
        assert!(begin.elapsed() < TIMEOUT, "{samples:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn count(samples: &Samples, family: &str) -> u128 {
    samples.sum(family, "") / 1_000_000_000
}

#[test]
fn every_scrape_balances_and_a_storm_has_its_name_root() {
    let service = Service::start("");
    let metrics = Metrics::start(&service.socket(), &[]);
    let storm = StormPlan { exec: Some("/bin/true".into()), ..StormPlan::default() };
    let storm = Storm::start(&storm).expect("it starts");
    let mut before = metrics.scrape("test");
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(400));
        before = metrics.scrape("test");
    }
    let first = before.clone();
    let mut grown_ns = 0;
    for _ in 0..12 {
        std::thread::sleep(Duration::from_millis(250));
        let samples = metrics.scrape("test");
        samples.assert_balance(&DIMENSIONS);
        samples.assert_follows(&before);
        for by in DIMENSIONS {
            let label = format!("by=\"{by}\"");
            let grown = samples.growth(&before, "cpuledger_cpu_seconds_total", &label);
            let attributed = samples.growth(&before, "cpuledger_attributed_seconds_total", "");
            assert_eq!(grown, attributed, "by {by}");
        }
        grown_ns += samples.growth(&before, "cpuledger_attributed_seconds_total", "");
        before = samples;
    }
    storm.stop().expect("it ends");
    assert!(grown_ns > 1_000_000_000, "the storm alone uses that");
    let of_true = "by=\"command\",name=\"true\"";
    let part = "by=\"command\",name=\"true\",part=\"exited_children\"";
    let ended_ns = before.growth(&first, "cpuledger_cpu_seconds_total", part);
    assert!(ended_ns > 100_000_000, "{ended_ns} ns of processes named true that ended");
    assert!(before.growth(&first, "cpuledger_exits_total", of_true) > 100_000_000_000, "more than 100 ended");
    assert!(count(&before, "cpuledger_up") == 1);
    assert!(before.sum("cpuledger_service_cpu_seconds_total", "") > 0, "the service is seen");
}

#[test]
fn every_scrape_balances_while_series_come_and_go_root() {
    let service = Service::start("");
    let metrics = Metrics::start(&service.socket(), &["--series", "1"]);
    let folder = tempfile::tempdir().expect("a folder");
    let mut before = metrics.scrape("test");
    let label = "by=\"command\"";
    let mut seen = BTreeSet::new();
    for number in 0..4_u32 {
        let program = folder.path().join(format!("name{number}"));
        fs::copy("/bin/true", &program).expect("a copy");
        // Each uses twice as long as the one before, so it takes the only series from it.
        let seconds = Some(1 << number);
        let plan = StormPlan { exec: Some(program), seconds, ..StormPlan::default() };
        let storm = Storm::start(&plan).expect("it starts");
        for scrape in 0..(10 << number) {
            std::thread::sleep(Duration::from_millis(110));
            let samples = metrics.scrape("test");
            samples.assert_balance(&DIMENSIONS);
            samples.assert_follows(&before);
            if number > 0 || scrape > 3 {
                let grown = samples.growth(&before, "cpuledger_cpu_seconds_total", label);
                let attributed = samples.growth(&before, "cpuledger_attributed_seconds_total", "");
                assert_eq!(grown, attributed);
            }
            let counted = samples.of("cpuledger_cpu_seconds_total", label).filter(|(_, value)| *value > 0);
            seen.extend(counted.map(|(series, _)| series.to_owned()));
            before = samples;
        }
        storm.stop().expect("it ends");
    }
    // Beside programs of others that use more, none of ours has had the series.
    let has_left = seen.iter().any(|series| !before.0.contains_key(series));
    assert_eq!(before.sum("cpuledger_departed_cpu_seconds", label) > 0, has_left, "{seen:?}");
    assert_eq!(before.sum("cpuledger_unbalanced_intervals_total", ""), 0);
}

/// For how long tasks waited by the pairs of each interval that the service still has.
fn waits_of_frames(service: &Service) -> Vec<u64> {
    let mut client = Client::connect(&service.socket(), TIMEOUT).expect("it listens");
    let (_, mut reader) = client.subscribe(&Subscribe::default()).expect("root sees all");
    reader.resume_at(1);
    let (mut bytes, mut frame, mut waits) = (Vec::new(), Frame::new(), Vec::new());
    while reader.copy(&mut bytes).expect("a frame").is_some() {
        frame.decode_from(&bytes).expect("a frame");
        waits.push(frame.pairs().sum_ns());
    }
    waits
}

/// Two that want one CPU: who made whom wait is there by cgroup, and all pairs are what the intervals say, to the nanosecond.
#[test]
fn every_scrape_has_all_waits_of_pairs_root() {
    let cpu = online_cpus().expect("sysfs").pop().expect("a CPU").to_string();
    let groups = [(); 2].map(|()| Cgroup::new("cpu").expect("a cgroup"));
    let _running = groups.each_ref().map(|group| {
        let mut command = Command::new("taskset");
        Killed(
            command.args(["-c", &cpu, "sh", "-c", &group.spin()]).spawn().expect("util-linux is installed"),
        )
    });
    let service = Service::start("[ledger]\naccounts = [\"pairs\"]\n");
    let mut client = Client::connect(&service.socket(), TIMEOUT).expect("it listens");
    if client.info().expect("it answers").accounts != ["pairs"] {
        not_run("this kernel does not have what the account of pairs needs");
        return;
    }
    let metrics = Metrics::start(&service.socket(), &["--by", "cgroup", "--by", "unit", "--series", "16"]);
    let (each, all) = ("cpuledger_wait_pair_seconds_total", "cpuledger_paired_wait_seconds_total");
    let first = wait_for(&metrics, |samples| samples.sum(all, "") > 0);
    let (mut before, mut recent) = (first.clone(), first);
    for scrape in 0..15 {
        std::thread::sleep(Duration::from_millis(250));
        let samples = metrics.scrape("waits");
        // The service keeps the last intervals alone.
        if scrape == 10 {
            recent = samples.clone();
        }
        samples.assert_follows(&before);
        for by in ["by=\"cgroup\"", "by=\"unit\""] {
            let shown_ns = samples.sum(each, by) + samples.sum("cpuledger_departed_wait_pair_seconds", by);
            assert_eq!(shown_ns, samples.sum(all, ""), "{by}: {samples:?}");
            assert!(samples.of(each, by).count() <= 17, "{samples:?}");
        }
        before = samples;
    }
    assert_eq!(before.sum("cpuledger_unbalanced_intervals_total", ""), 0);
    let grown_ns = before.sum(all, "") - recent.sum(all, "");
    let intervals = count(&before, "cpuledger_intervals_total") - count(&recent, "cpuledger_intervals_total");
    let waits = waits_of_frames(&service);
    let is_there = waits
        .windows(intervals as usize)
        .any(|own| own.iter().map(|ns| u128::from(*ns)).sum::<u128>() == grown_ns);
    assert!(is_there, "{grown_ns} ns of {intervals} intervals: {waits:?}");
    // Either waits while the other runs.
    let [one, other] = groups
        .each_ref()
        .map(|group| group.path().file_name().and_then(|name| name.to_str()).expect("a name").to_owned());
    for (victim, culprit) in [(&one, &other), (&other, &one)] {
        let is_meant = |series: &str| {
            series.contains(&format!("{victim}\",caused_by=")) && series.contains(&format!("{culprit}\"}}"))
        };
        let found = before.of(each, "by=\"cgroup\"").find(|(series, _)| is_meant(series));
        let (_, ns) = found.unwrap_or_else(|| panic!("{culprit} makes {victim} wait: {before:?}"));
        assert!(ns > 100_000_000, "{ns} ns: {before:?}");
    }
}

#[test]
fn time_without_a_service_is_unattributed_and_no_counter_falls_root() {
    let mut service = Service::start("");
    let metrics = Metrics::start(&service.socket(), &[]);
    let before = wait_for(&metrics, |samples| count(samples, "cpuledger_intervals_total") >= 3);
    service.child.kill().expect("it is ours");
    service.child.wait().expect("it ends");
    wait_for(&metrics, |samples| count(samples, "cpuledger_up") == 0);
    service.child = Service::command(&service.folder).spawn().expect("it starts again");
    let intervals = count(&before, "cpuledger_intervals_total");
    let after = wait_for(&metrics, |samples| {
        samples.assert_balance(&DIMENSIONS);
        samples.assert_follows(&before);
        count(samples, "cpuledger_up") == 1 && count(samples, "cpuledger_intervals_total") > intervals + 3
    });
    let missing_ns = after.sum("cpuledger_unattributed_seconds_total", "reason=\"not_read\"");
    assert!(missing_ns > 0, "nobody kept books meanwhile");
    assert!(count(&after, "cpuledger_gaps_total") >= 1);
}

#[test]
fn formats_are_negotiated_and_foreign_requests_refused_root() {
    let service = Service::start("");
    let mut metrics = Metrics::start(&service.socket(), &["--by", "command", "--series", "3"]);
    let samples = wait_for(&metrics, |samples| count(samples, "cpuledger_intervals_total") >= 1);
    assert!(samples.of("cpuledger_cpu_seconds_total", "part=\"self\"").count() <= 4, "{samples:?}");
    let get = |host: &str, more: &str| metrics.ask(&format!("GET /metrics HTTP/1.1\r\nHost: {host}{more}"));
    let (head, body) = get("localhost", "\r\nAccept: application/openmetrics-text; version=1.0.0");
    assert!(
        head.to_lowercase().contains("content-type: application/openmetrics-text; version=1.0.0"),
        "{head}"
    );
    assert!(body.ends_with(b"# EOF\n"));
    let (head, body) = get("127.0.0.1", "\r\nAccept-Encoding: gzip");
    assert!(head.to_lowercase().contains("content-encoding: gzip"), "{head}");
    assert_eq!(body[..2], [0x1f, 0x8b]);
    for (head, status) in [
        (get("evil.example", "").0, "421"),
        (get("localhost", "\r\nSec-Fetch-Site: cross-site").0, "421"),
        (metrics.ask("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0").0, "405"),
        (metrics.ask("GET /../../etc/passwd HTTP/1.1\r\nHost: localhost").0, "404"),
        (metrics.ask(&format!("GET /{} HTTP/1.1\r\nHost: localhost", "a".repeat(1 << 20))).0, "4"),
        (metrics.ask("GET / HTTP/1.1\r\nHost: localhost").0, "200"),
    ] {
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
    }
    let pid = Pid::from_child(&metrics.child);
    kill_process(pid, Signal::TERM).expect("it is ours");
    assert!(metrics.child.wait().expect("it ends").success(), "a signal ends it in order");
}

#[test]
fn slow_and_many_callers_hold_nobody_up_root() {
    let service = Service::start("");
    let metrics = Metrics::start(&service.socket(), &[]);
    // They ask, and never read the answer.
    let deaf: Vec<TcpStream> = (0..300)
        .map(|number| {
            let mut stream = TcpStream::connect(metrics.address).expect("it listens");
            let request = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {number}\r\n\r\n");
            let _ = stream.write_all(request.repeat(20).as_bytes());
            stream
        })
        .collect();
    let slow: Vec<TcpStream> = (0..600)
        .map(|_| {
            let mut stream = TcpStream::connect(metrics.address).expect("it listens");
            // The end of a head that never comes. The server may have closed it already.
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-");
            stream
        })
        .collect();
    metrics.scrape("honest").assert_balance(&DIMENSIONS);
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let address = metrics.address;
            std::thread::spawn(move || {
                for _ in 0..125 {
                    let mut stream = TcpStream::connect(address).expect("it listens");
                    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
                    stream.write_all(request).expect("it is taken");
                    let mut answer = Vec::new();
                    stream.read_to_end(&mut answer).expect("an answer");
                    assert!(answer.starts_with(b"HTTP/1.1 200 "));
                }
            })
        })
        .collect();
    callers.into_iter().for_each(|caller| caller.join().expect("all are answered"));
    drop((deaf, slow));
    let samples = metrics.scrape("honest");
    samples.assert_balance(&DIMENSIONS);
    let resident = samples.sum("process_resident_memory_bytes", "") / 1_000_000_000;
    assert!(resident < 64 << 20, "{resident} bytes");
}

/// A certificate and its key for 127.0.0.1, made by openssl(1).
fn make_certificate(folder: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args(["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .current_dir(folder)
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{made:?}");
}

#[test]
fn tls_and_passwords_are_those_of_the_file_and_change_with_it_root() {
    let service = Service::start("");
    let folder = tempfile::tempdir().expect("a folder");
    make_certificate(folder.path());
    let config = folder.path().join("web.yml");
    let tls = "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n";
    // The passwords are `right` and `other`.
    let users = |hash: &str| format!("{tls}basic_auth_users:\n  scraper: {hash}\n");
    fs::write(&config, users(RIGHT)).expect("a file");
    let metrics = Metrics::start(&service.socket(), &["--web-config", config.to_str().expect("UTF-8")]);
    let status = |credentials: Option<&str>| {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--cacert"]);
        curl.arg(folder.path().join("cert.pem"));
        credentials.map(|credentials| curl.args(["--user", credentials]));
        let output = curl.arg(format!("https://{}/metrics", metrics.address)).output().expect("curl runs");
        String::from_utf8(output.stdout).expect("a number")
    };
    assert_eq!(status(Some("scraper:right")), "200");
    assert_eq!(status(Some("scraper:wrong")), "401");
    assert_eq!(status(Some("nobody:right")), "401");
    assert_eq!(status(None), "401");
    fs::write(&config, users(OTHER)).expect("a file");
    assert_eq!(status(Some("scraper:right")), "401", "the old password");
    assert_eq!(status(Some("scraper:other")), "200");
    fs::write(&config, "tls_server_config: nonsense\n").expect("a file");
    assert_eq!(status(Some("scraper:other")), "200", "what is wrong changes nothing");
    for less in ["", tls, &users(OTHER)[tls.len()..]] {
        fs::write(&config, less).expect("a file");
        assert_eq!(status(None), "401", "what would let everybody read does not come into force: {less}");
        assert_eq!(status(Some("scraper:other")), "200", "{less}");
    }
    // Half a handshake holds nobody up.
    let _half: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(metrics.address).expect("it listens")).collect();
    assert_eq!(status(Some("scraper:other")), "200");
}

/// bcrypt of `right` and of `other`.
const RIGHT: &str = "$2b$04$abcdefghijklmnopqrstuuFmEfrkTQnczNzw475xE2VhDrK1uwJiC";
const OTHER: &str = "$2b$04$abcdefghijklmnopqrstuu0HtfOlPbTiymk5tcV.3TsFPDd3SYZqu";

#[test]
fn what_is_wrong_is_said_in_one_sentence_root() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("web.yml");
    let run = |options: &[&str]| {
        let mut command = Command::new(cpuledger_load::with_net(env!("CARGO_BIN_EXE_cpuledger")));
        let output = command.arg("metrics").args(options).output().expect("it runs");
        let words = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(words.lines().count(), 1, "{words}");
        (output.status.code(), words)
    };
    let nowhere = ["--socket", "/nowhere/socket"];
    let (code, words) = run(&nowhere);
    assert_eq!(code, Some(3), "{words}");
    assert!(words.contains("/nowhere/socket"), "{words}");
    let file = config.to_str().expect("UTF-8");
    let with_config = ["--web-config", file];
    for (text, expected) in [
        (": [", "is not YAML"),
        ("tls_server_config:\n  cert_file: a\n", "needs `key_file`"),
        ("tls_server_config:\n  cert_file: a\n  key_file: b\n", "cannot read"),
        (
            "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_ca_file: c\n",
            "client_ca_file needs `client_auth_type`",
        ),
        ("basic_auth_users:\n  me: secret\n", "the password of `me` is not a bcrypt hash"),
        ("http_server_config:\n  http2: true\n", "`http_server_config` is not supported"),
        ("- 1\n", "is not a mapping"),
    ] {
        fs::write(&config, text).expect("a file");
        let (code, words) = run(&with_config);
        assert_eq!(code, Some(1), "{words}");
        assert!(words.contains(expected) && !words.contains("secret"), "{words}");
    }
    let service = Service::start("");
    let socket = service.socket();
    let socket = socket.to_str().expect("UTF-8");
    let (code, words) = run(&["--socket", socket, "--listen", "localhost"]);
    assert_eq!(code, Some(2), "{words}");
    let (code, words) = run(&["--socket", socket, "--listen", "192.0.2.1:1"]);
    assert_eq!(code, Some(1), "{words}");
    assert!(words.contains("cannot listen at 192.0.2.1:1"), "{words}");
}
