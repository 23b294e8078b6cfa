//! What `cpuledger web` answers to whom, and hostile visitors. Needs root.

mod honest;
mod service;
mod web;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cpuledger_load::scene::alone;
use cpuledger_load::{not_run, with_net};
use cpuledger_model::make;
use cpuledger_service::client::{Client, ClientError};
use cpuledger_service::varlink::{Refusal, Subscribe};
use honest::Honest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use service::{Service, with_recorded_storm};
use web::{TIMEOUT, Web};

/// Whatever visitors do, it takes no more than the unit allows.
const MOST_BYTES: u64 = 128 << 20;

fn sheet(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn ns(value: &Value) -> u128 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value} is no number"))
}

/// All rows, the others, and what is outside, idle or unattributed are the capacity.
fn assert_adds_up(sheet: &Value) {
    let rows = sheet["rows"].as_array().expect("rows").iter();
    let used: u128 = rows.chain([&sheet["other"]]).map(|row| ns(&row["values"][0])).sum();
    assert_eq!(used + ns(&sheet["outside_ns"]), ns(&sheet["attributed_ns"]), "{sheet}");
    let parts = ["attributed_ns", "idle_ns", "unattributed_ns", "untold_ns"].map(|key| ns(&sheet[key]));
    assert_eq!(parts.iter().sum::<u128>(), ns(&sheet["capacity_ns"]), "{sheet}");
}

#[test]
fn spans_add_up_by_each_dimension_and_within_each_name_root() {
    with_recorded_storm(Duration::from_secs(3), |service, recording| {
        let web = Web::start(&service.socket(), recording, &[]);
        let get = |query: &str| {
            let (head, body) = web.get(&format!("/history?{query}"));
            assert!(head.starts_with("HTTP/1.1 200 "), "{query}: {head} {body}");
            sheet(&body)
        };
        for source in ["service", "recording"] {
            for by in ["command", "user", "unit", "container", "process"] {
                let whole = get(&format!("by={by}&source={source}&rows=5&buckets=20"));
                assert_adds_up(&whole);
                let buckets = whole["line"]["buckets"].as_array().expect("a time line");
                let attributed: u128 = buckets.iter().map(|bucket| ns(&bucket[1])).sum();
                assert_eq!(attributed, ns(&whole["attributed_ns"]), "by {by}");
                if by == "process" || source == "service" {
                    continue;
                }
                // What is within a name is what that name has.
                for row in whole["rows"].as_array().expect("rows").iter().take(2) {
                    let id = row["id"].as_str().expect("an id");
                    let id: String = id.bytes().map(|byte| format!("%{byte:02x}")).collect();
                    let within = get(&format!("by=process&source={source}&rows=1000&within={by}:{id}"));
                    assert_adds_up(&within);
                    let inside = ns(&within["attributed_ns"]) - ns(&within["outside_ns"]);
                    assert_eq!(inside, ns(&row["values"][0]), "{by} {row}");
                }
            }
        }
        let storm = get("source=recording&within=command:%3Dtrue");
        let places = storm["figures"].as_array().expect("names");
        let deaths = places.iter().position(|name| name == "deaths").expect("it is there");
        assert!(ns(&storm["rows"][0]["values"][deaths]) > 100, "{storm}");
        let (head, body) = web.get("/history?from=-1s&to=-3s");
        assert!(head.starts_with("HTTP/1.1 400 ") && body.contains("ends before it begins"), "{body}");
        let (head, body) = web.get("/history?from=@1&to=@2");
        assert!(head.starts_with("HTTP/1.1 404 ") && body.contains("nothing is recorded"), "{body}");
    });
}

#[test]
fn a_service_without_an_interval_is_no_error_root() {
    let service = Service::start_with_intervals("600");
    let web = Web::start(&service.socket(), Path::new("/nowhere"), &[]);
    let (head, body) = web.get("/history?from=-5m");
    assert!(head.starts_with("HTTP/1.1 204 ") && body.is_empty(), "{head}{body}");
}

#[test]
fn intervals_come_as_events_and_add_up_root() {
    let service = Service::start("");
    let web = Web::start(&service.socket(), Path::new("/nowhere"), &[]);
    let (status, stream) = web.visit("by=command&rows=3");
    assert!(status.starts_with("HTTP/1.1 200 "), "{status}");
    let events =
        stream.lines().map_while(Result::ok).filter_map(|line| Some(line.strip_prefix("data: ")?.to_owned()));
    let mut end = None;
    for event in events.take(8) {
        let sheet = sheet(&event);
        assert_adds_up(&sheet);
        let start = ns(&sheet["start_ns"]);
        assert!(end.is_none_or(|end: u128| start.abs_diff(end) < 1_000_000), "there is no gap");
        end = Some(ns(&sheet["end_ns"]));
    }
}

#[test]
fn pages_of_other_sites_read_nothing_root() {
    let service = Service::start("");
    let web = Web::start(&service.socket(), Path::new("/nowhere"), &[]);
    let visit = "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document";
    let port = web.address.port();
    let own =
        format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}\r\nSec-Fetch-Site: same-origin");
    for (path, lines, status) in [
        ("/", "Host: localhost", "200"),
        ("/about", own.as_str(), "200"),
        // A name that another site has pointed at this machine.
        ("/", "Host: evil.example", "421"),
        ("/about", "Host: localhost.evil.example", "421"),
        ("/live", "Host: evil.example:10912", "421"),
        // Requests of its pages, and of those of another port.
        ("/about", "Host: localhost\r\nOrigin: https://evil.example", "403"),
        ("/live", "Host: localhost\r\nOrigin: null", "403"),
        ("/history", "Host: localhost:1\r\nOrigin: http://localhost:2", "403"),
        ("/live", "Host: localhost\r\nSec-Fetch-Site: cross-site", "403"),
        (
            "/",
            "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: iframe\r\nSec-Fetch-Mode: navigate",
            "403",
        ),
        ("/about", visit, "403"),
        // A link leads to the page.
        ("/", visit, "200"),
        ("/../../etc/passwd", "Host: localhost", "404"),
        ("/%2e%2e/%2e%2e/etc/passwd", "Host: localhost", "404"),
        ("/history?from=../../etc", "Host: localhost", "400"),
    ] {
        let (head, body) = web.ask(path, lines);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {lines}: {head}");
        assert!(!body.contains("root:x:"));
        assert!(!head.to_lowercase().contains("access-control-"), "{head}");
    }
    let mut stream = web
        .say("POST /history HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    let (head, page) = web.get("/");
    let head = head.to_lowercase();
    for part in [
        "default-src 'none'",
        "script-src 'sha256-",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "x-frame-options: deny",
        "nosniff",
        "no-store",
    ] {
        assert!(head.contains(part), "{part}: {head}");
    }
    assert!(!head.contains("unsafe") && page.len() < 300_000);
}

#[test]
fn other_machines_need_a_certificate_and_a_password_root() {
    let service = Service::start("");
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("web.yml");
    // A password alone would go over the network as it is.
    let hash = "$2b$04$abcdefghijklmnopqrstuuFmEfrkTQnczNzw475xE2VhDrK1uwJiC";
    std::fs::write(&config, format!("basic_auth_users:\n  me: {hash}\n")).expect("a file");
    let config = config.to_str().expect("UTF-8");
    for options in [
        &["--listen", "0.0.0.0:0"][..],
        &["--listen", ":0"],
        &["--listen", "0.0.0.0:0", "--web-config", config],
    ] {
        let output =
            Web::command(&service.socket(), Path::new("/nowhere"), options).output().expect("it runs");
        let words = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(words.contains("--web-config"), "{words}");
    }
    let web = Web::start(&service.socket(), Path::new("/nowhere"), &["--web-config", config]);
    assert!(web.get("/about").0.starts_with("HTTP/1.1 401 "));
    assert!(web.get("/live").0.starts_with("HTTP/1.1 401 "));
    let right = "Host: localhost\r\nAuthorization: Basic bWU6cmlnaHQ=";
    assert!(web.ask("/about", right).0.starts_with("HTTP/1.1 200 "));
}

/// The intervals of the service stay as they are, and the memory of the server bounded.
fn beside_an_honest_reader(service: &Service, web: &Web, attack: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    let honest = std::thread::scope(|scope| {
        let honest = scope.spawn(|| Honest::read(&service.socket(), &is_over));
        let begin = Instant::now();
        attack();
        std::thread::sleep(Duration::from_secs(2).saturating_sub(begin.elapsed()));
        is_over.store(true, Ordering::SeqCst);
        honest.join().expect("no frame is missed")
    });
    println!(
        "{} frames, latest cut {:.1} ms, {} MiB",
        honest.frames,
        honest.most_late_ns as f64 / 1e6,
        web.memory_bytes() >> 20
    );
    assert!(honest.frames >= 5, "{honest:?}");
    assert!(honest.most_late_ns < 10_000_000_000, "a cut came {} ns late", honest.most_late_ns);
    assert!(web.memory_bytes() < MOST_BYTES, "{} bytes", web.memory_bytes());
}

#[test]
fn a_thousand_visitors_and_slow_ones_hold_nobody_up_root() {
    let service = Service::start("");
    let web = Web::start(&service.socket(), Path::new("/nowhere"), &[]);
    beside_an_honest_reader(&service, &web, || {
        // Heads whose end never comes.
        let slow: Vec<TcpStream> =
            (0..400).map(|_| web.say("GET / HTTP/1.1\r\nHost: localhost\r\nX-")).collect();
        assert!(web.get("/-/healthy").0.starts_with("HTTP/1.1 200 "), "beside slow ones");
        drop(slow);
        // They all stay, and none reads.
        let visitors: Vec<(String, BufReader<TcpStream>)> =
            (0..1000).map(|_| web.visit("rows=1000")).collect();
        let welcome = visitors.iter().filter(|(status, _)| status.starts_with("HTTP/1.1 200 ")).count();
        let refused = visitors.iter().filter(|(status, _)| status.starts_with("HTTP/1.1 503 ")).count();
        assert!((200..=256).contains(&welcome) && refused > 500, "{welcome} welcome, {refused} refused");
        let (head, page) = web.get("/");
        assert!(head.starts_with("HTTP/1.1 200 ") && page.contains("</html>"), "others still see the page");
        std::thread::sleep(Duration::from_secs(1));
        assert!(web.memory_bytes() < MOST_BYTES, "{} bytes", web.memory_bytes());
    });
    // There is room again, and intervals come.
    let begin = Instant::now();
    let (_, stream) = loop {
        let visit = web.visit("rows=3");
        if visit.0.starts_with("HTTP/1.1 200 ") {
            break visit;
        }
        assert!(begin.elapsed() < TIMEOUT, "{}", visit.0);
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(stream.lines().map_while(Result::ok).any(|line| line.starts_with("data: ")));
}

#[test]
fn large_and_many_questions_are_bounded_root() {
    with_recorded_storm(Duration::from_secs(2), |service, recording| {
        let web = Web::start(&service.socket(), recording, &[]);
        beside_an_honest_reader(service, &web, || {
            for (query, status) in [
                ("from=@0&to=@9999999999&by=process&rows=1000&buckets=120", "200"),
                ("rows=1000&buckets=600", "400"),
                ("rows=100000", "400"),
                ("from=99999999999999999999999", "400"),
                (&"within=user:a&".repeat(500), "400"),
            ] {
                let (head, body) = web.get(&format!("/history?{query}"));
                assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{query}: {head}");
                assert!(body.len() < 8 << 20);
            }
            let (head, _) = web.get(&format!("/history?{}", "a".repeat(1 << 20)));
            assert!(head.starts_with("HTTP/1.1 4"), "{head}");
            // Questions whose answers nobody waits for.
            for _ in 0..300 {
                drop(web.say("GET /history?by=process&rows=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n"));
            }
            let asked: Vec<TcpStream> = (0..60)
                .map(|_| web.say("GET /history?by=process&rows=1000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
                .collect();
            for stream in asked {
                let mut status = String::new();
                let _ = BufReader::new(stream).read_line(&mut status);
                let is_answer =
                    ["HTTP/1.1 200 ", "HTTP/1.1 503 ", ""].iter().any(|own| status.starts_with(own));
                assert!(is_answer, "{status}");
            }
        });
        let begin = Instant::now();
        while !web.get("/history?rows=3").0.starts_with("HTTP/1.1 200 ") {
            assert!(begin.elapsed() < TIMEOUT, "it answers again");
        }
    });
}

/// What the service keeps besides CPU time.
fn kept(service: &Service) -> Vec<String> {
    let mut client = Client::connect(&service.socket(), TIMEOUT).expect("it listens");
    client.info().expect("an answer").accounts
}

#[test]
fn an_account_is_kept_while_a_visitor_looks_at_its_view_root() {
    let _alone = alone();
    let service = Service::start("");
    let mut client = Client::connect(&service.socket(), TIMEOUT).expect("it listens");
    let asking = make!(Subscribe { accounts: Some(vec!["blame".to_owned()]) });
    match client.subscribe(&asking) {
        Err(ClientError::Refused(Refusal::Unavailable { sentence })) => return not_run(&sentence),
        subscribed => drop(subscribed.expect("root may")),
    }
    drop(client);
    let web = Web::start(&service.socket(), Path::new("/nowhere"), &[]);
    let (_, plain) = web.visit("rows=3");
    let (_, asking) = web.visit("rows=3&accounts=blame");
    let mut lines = asking.lines().map_while(Result::ok);
    let knows = |line: &String| {
        let Some(text) = line.strip_prefix("data: ") else { return false };
        let sheet = sheet(text);
        let place =
            sheet["figures"].as_array().expect("names").iter().position(|name| name == "wait_caused_ns");
        !sheet["other"]["values"][place.expect("it is there")].is_null()
    };
    let begin = Instant::now();
    let found = lines.find(knows);
    assert!(found.is_some() && begin.elapsed() < TIMEOUT, "the service keeps {:?}", kept(&service));
    assert_eq!(kept(&service), ["blame"]);
    drop(lines);
    while !kept(&service).is_empty() {
        assert!(begin.elapsed() < TIMEOUT, "nobody looks at it any more");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(plain.lines().map_while(Result::ok).any(|line| line.starts_with("data: ")), "others still do");
    let (head, _) = web.get("/live?accounts=colour");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
}

#[test]
fn it_ends_when_nobody_visits_a_socket_that_was_handed_over_root() {
    let service = Service::start("");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut command = Command::new(with_net(env!("CARGO_BIN_EXE_cpuledger")));
    command.args(["web", "/nowhere", "--idle", "1", "--socket"]).arg(service.socket());
    // As a service manager hands over a socket: the number of the process is known only in it.
    let line = "exec 3<&0; export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$0\" \"$@\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).arg(command.get_program()).args(command.get_args());
    shell.stdin(std::os::fd::OwnedFd::from(listener)).process_group(0);
    let mut child = shell.spawn().expect("sh");
    let mut stream = TcpStream::connect(address).expect("it listens");
    std::io::Write::write_all(&mut stream, b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("it is taken");
    let mut lines = BufReader::new(stream.try_clone().expect("a copy")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("data: ")));
    std::thread::sleep(Duration::from_secs(2));
    assert!(child.try_wait().expect("it is ours").is_none(), "a visitor is there");
    drop((lines, stream));
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            break status;
        }
        if begin.elapsed() > TIMEOUT {
            kill_process(Pid::from_child(&child), Signal::KILL).expect("it is ours");
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(status.success(), "{status}");
}
