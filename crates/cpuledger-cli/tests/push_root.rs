//! The books for OpenTelemetry, and a receiver that misbehaves. Needs root.

mod push;
mod service;

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use cpuledger_load::{Storm, StormPlan, with_net};
use flate2::read::GzDecoder;
use push::wire::receive;
use push::{Published, Push, Received, wait_for};
use service::Service;

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Status(u16, &'static str),
    /// It is taken, and the answer comes too late.
    Late,
    /// It is taken, and the connection ends without an answer.
    None,
}

const GOOD: Answer = Answer::Status(200, "");

/// What a server has seen.
#[derive(Default)]
struct Seen {
    answers: VecDeque<Answer>,
    /// What answers were given, in their order.
    given: Vec<Answer>,
    received: Received,
    heads: Vec<String>,
}

/// A receiver that answers as it is told, and then well.
struct Server {
    url: String,
    seen: Arc<Mutex<Seen>>,
}

impl Server {
    fn start(answers: &[Answer]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen =
            Arc::new(Mutex::new(Seen { answers: answers.iter().copied().collect(), ..Seen::default() }));
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || speak(&stream.expect("a connection"), &shared));
            }
        });
        Server { url, seen }
    }

    fn seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().expect("no panic"))
    }
}

/// Reads requests of a connection, and answers them.
fn speak(stream: &TcpStream, seen: &Mutex<Seen>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let head = head.to_lowercase();
        let length = head.split("content-length: ").nth(1)?.split('\r').next()?.parse().ok()?;
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let answer = {
            let mut seen = seen.lock().ok()?;
            let answer = seen.answers.pop_front().unwrap_or(GOOD);
            if matches!(answer, Answer::Status(200, _) | Answer::Late | Answer::None) {
                let mut request = Vec::new();
                GzDecoder::new(&body[..]).read_to_end(&mut request).expect("gzip");
                receive(&mut seen.received, &request);
            }
            seen.given.push(answer);
            seen.heads.push(head);
            answer
        };
        let mut stream = stream;
        match answer {
            Answer::None => return None,
            Answer::Late => {
                thread::sleep(Duration::from_secs(3));
                return None;
            }
            Answer::Status(status, more) => {
                write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: 0\r\n{more}\r\n").ok()?;
            }
        }
    }
}

#[test]
fn whatever_the_receiver_answers_nothing_is_lost_and_nothing_counts_twice_root() {
    let service = Service::start("");
    let published = Published::follow(&service.socket());
    let answers = [
        GOOD,
        Answer::Status(429, "Retry-After: 1\r\n"),
        Answer::Status(503, "Retry-After: 2\r\n"),
        Answer::None,
        Answer::Late,
        Answer::Status(400, ""),
        GOOD,
        Answer::Status(504, ""),
    ];
    let server = Server::start(&answers);
    let storm = StormPlan { exec: Some("/bin/true".into()), ..StormPlan::default() };
    let storm = Storm::start(&storm).expect("it starts");
    let options = ["--header", "X-Scope: tenant one", "--processes", "10"];
    let push = Push::start(&service.socket(), &server.url, &options);
    wait_for("all answers", || server.seen(|seen| seen.given.len() > answers.len() + 3));
    storm.stop().expect("it ends");
    // What was late is sent, so the figures that come are of now.
    let total = |figure: &str| server.seen(|seen| seen.received.total(&format!("cpuledger.push.{figure}")));
    wait_for("the backlog", || total("retries") >= 4 && total("queue.requests") == 0);
    assert!(push.resident_bytes() < 64 << 20, "{} bytes", push.resident_bytes());
    push.end();
    server.seen(|seen| {
        seen.received.assert_balance();
        assert!(seen.received.repeated > 0, "two requests came twice");
        published.assert_is(&seen.received);
        let counts =
            ["refused", "dropped"].map(|name| seen.received.total(&format!("cpuledger.push.{name}")));
        assert_eq!(counts, [1, 0]);
        let ended = "cpuledger.command.cpu.time{cpuledger.command=true,cpuledger.part=exited_children}";
        assert!(seen.received.total(ended) > 100_000_000, "the storm has its name");
        assert!(seen.received.total("cpuledger.service_cpu.time") > 0, "the service is seen");
        for word in
            ["post /v1/metrics http/1.1", "x-scope: tenant one", "content-type: application/x-protobuf"]
        {
            assert!(seen.heads.iter().all(|head| head.contains(word)), "{word}: {:?}", seen.heads);
        }
    });
}

#[test]
fn a_queue_on_disk_outlives_a_push_that_is_killed_root() {
    let service = Service::start("");
    let published = Published::follow(&service.socket());
    let folder = tempfile::tempdir().expect("a folder");
    let queue = folder.path().join("queue");
    let options = ["--queue", queue.to_str().expect("UTF-8")];
    // Nobody listens at this port any more.
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let push = Push::start(&service.socket(), &format!("http://127.0.0.1:{port}"), &options);
    let waiting = || {
        let files = std::fs::read_dir(&queue).into_iter().flatten().flatten();
        files.filter(|file| file.file_name().to_string_lossy().ends_with(".gz")).count()
    };
    wait_for("a queue", || waiting() >= 3);
    drop(push);
    let left = waiting();
    let server = Server::start(&[]);
    let push = Push::start(&service.socket(), &server.url, &options);
    wait_for("all requests", || server.seen(|seen| seen.given.len() > left + 2));
    push.end();
    assert_eq!(waiting(), 0);
    server.seen(|seen| {
        seen.received.assert_balance();
        assert_eq!(seen.received.runs().len(), 2, "one of each run");
        published.assert_is(&seen.received);
    });
}

#[test]
fn time_without_a_service_is_unattributed_in_a_push_too_root() {
    let mut service = Service::start("");
    let server = Server::start(&[]);
    let push = Push::start(&service.socket(), &server.url, &[]);
    let last = |metric: &str| {
        server.seen(|seen| {
            let when = seen.received.times(metric).last().copied();
            when.map_or(-1, |when| seen.received.sum(metric, when))
        })
    };
    wait_for("a point", || last("cpuledger.up") == 1);
    service.child.kill().expect("it is ours");
    service.child.wait().expect("it ends");
    wait_for("the end of the service", || last("cpuledger.up") == 0);
    service.child = Service::command(&service.folder).spawn().expect("it starts again");
    wait_for("the service", || last("cpuledger.up") == 1 && last("cpuledger.gaps") >= 1);
    push.end();
    server.seen(|seen| seen.received.assert_balance());
    let reason = "cpuledger.unattributed.time{cpuledger.reason=not_read}";
    assert!(server.seen(|seen| seen.received.total(reason)) > 0, "nobody kept books meanwhile");
}

#[test]
fn what_is_wrong_with_a_push_is_said_in_one_sentence_root() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::start("");
    let socket = service.socket();
    let socket = socket.to_str().expect("UTF-8");
    let run = |options: &[&str], variable: (&str, &str)| -> (Option<i32>, String) {
        let mut command = Command::new(with_net(env!("CARGO_BIN_EXE_cpuledger")));
        command.arg("push").args(options).env(variable.0, variable.1);
        let Output { status, stderr, .. } = command.output().expect("it runs");
        let words = String::from_utf8(stderr).expect("UTF-8");
        assert_eq!(words.lines().count(), 1, "{words}");
        assert!(!words.contains("secret"), "{words}");
        (status.code(), words)
    };
    let nothing = ("OTEL_EXPORTER_OTLP_HEADERS", "");
    let (code, words) = run(&["--socket", "/nowhere/socket"], nothing);
    assert!(code == Some(3) && words.contains("/nowhere/socket"), "{words}");
    let with = |more: [&'static str; 2]| [["--socket", socket], more].concat();
    for (options, variable, expected, words_expected) in [
        (with(["--otlp", "localhost:4318"]), nothing, 2, "is no URL of http or https"),
        (with(["--header", "secret"]), nothing, 2, "is not `NAME: VALUE`"),
        (with(["--every", "5"]), ("OTEL_EXPORTER_OTLP_HEADERS", "secret"), 2, "write NAME=VALUE"),
        (with(["--every", "5"]), ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"), 2, "no number of milliseconds"),
        (with(["--queue", "/proc/nowhere"]), nothing, 1, "cannot keep the queue in /proc/nowhere"),
    ] {
        let (code, words) = run(&options, variable);
        assert!(code == Some(expected) && words.contains(words_expected), "{code:?} {words}");
    }
    let file = folder.path().join("empty.pem");
    std::fs::write(&file, "").expect("a file");
    let file = file.to_str().expect("UTF-8");
    let options = ["--socket", socket, "--otlp", "https://localhost", "--certificate", file];
    let (code, words) = run(&options, nothing);
    assert!(code == Some(1) && words.contains("has no certificate in PEM"), "{words}");
}
