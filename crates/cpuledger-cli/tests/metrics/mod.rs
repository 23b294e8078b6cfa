#![allow(dead_code)] // each test has its own part of it
//! A metrics server for tests, and what scrapers do.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cpuledger_load::with_net;

/// For anything that does not take long.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// `cpuledger metrics` on a port of its own.
pub struct Metrics {
    /// Its process.
    pub child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    /// What it says after that.
    pub words: BufReader<std::process::ChildStderr>,
}

impl Metrics {
    /// Starts it as a reader of the service at that socket.
    pub fn start(socket: &Path, options: &[&str]) -> Metrics {
        let mut command = Command::new(with_net(env!("CARGO_BIN_EXE_cpuledger")));
        command.args(["metrics", "--listen", "127.0.0.1:0", "--socket"]).arg(socket).args(options);
        Metrics::of(command)
    }

    /// Runs such a command.
    pub fn of(mut command: Command) -> Metrics {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut words = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        while !line.contains("metrics are at http") {
            line.clear();
            assert!(words.read_line(&mut line).expect("UTF-8") > 0, "it has ended");
        }
        let address = line.trim().rsplit("://").next().and_then(|text| text.parse().ok());
        Metrics { child, address: address.expect("an address"), words }
    }

    /// The answer to a request with these lines of its head: its head and its body.
    pub fn ask(&self, lines: &str) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        let request = format!("{lines}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it is taken");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
        let body = answer.split_off(end + 4);
        (String::from_utf8(answer).expect("UTF-8"), body)
    }

    /// What a scraper of that name reads.
    pub fn scrape(&self, scraper: &str) -> Samples {
        let (head, body) =
            self.ask(&format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {scraper}"));
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        Samples::parse(&String::from_utf8(body).expect("UTF-8"))
    }

    /// Likewise, when it has an interval that began after this call.
    pub fn scrape_later(&self, scraper: &str) -> Samples {
        let intervals = |samples: &Samples| samples.sum("cpuledger_intervals_total", "") / 1_000_000_000;
        let (first, begin) = (intervals(&self.scrape(scraper)), Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let samples = self.scrape(scraper);
            // The next may have begun before, and the service may not have told one that has ended.
            if intervals(&samples) >= first + 3 {
                return samples;
            }
            assert!(begin.elapsed() < TIMEOUT, "there are no intervals");
        }
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Values by their series, in billionths: nanoseconds where the unit is a second.
#[derive(Debug, Clone, Default)]
pub struct Samples(pub BTreeMap<String, u128>);

impl Samples {
    /// Of a text.
    pub fn parse(text: &str) -> Samples {
        let mut samples = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (series, value) = line.rsplit_once(' ').expect("a series and a value");
            let (whole, part) = value.split_once('.').unwrap_or((value, "0"));
            let billionths = format!("{whole}{part:0<9}").parse().expect("a number");
            let twice = samples.insert(series.to_owned(), billionths);
            assert_eq!(twice, None, "{series} is there twice");
        }
        Samples(samples)
    }

    /// Those of a family whose labels have this in them.
    pub fn of<'a>(&'a self, family: &'a str, label: &'a str) -> impl Iterator<Item = (&'a str, u128)> {
        self.0.iter().filter_map(move |(series, value)| {
            let labels =
                series.strip_prefix(family).filter(|rest| rest.is_empty() || rest.starts_with('{'))?;
            labels.contains(label).then_some((series.as_str(), *value))
        })
    }

    /// Their sum.
    pub fn sum(&self, family: &str, label: &str) -> u128 {
        self.of(family, label).map(|(_, value)| value).sum()
    }

    /// For each dimension, all series, idle and unattributed time add up to the capacity.
    pub fn assert_balance(&self, dimensions: &[&str]) {
        let capacity = self.sum("cpuledger_capacity_seconds_total", "");
        let rest = self.sum("cpuledger_idle_seconds_total", "")
            + self.sum("cpuledger_unattributed_seconds_total", "");
        for by in dimensions {
            let label = format!("by=\"{by}\"");
            let used = self.sum("cpuledger_cpu_seconds_total", &label)
                + self.sum("cpuledger_departed_cpu_seconds", &label);
            assert_eq!(used + rest, capacity, "by {by}");
        }
    }

    /// No counter is less than before.
    pub fn assert_follows(&self, before: &Samples) {
        for (series, old) in &before.0 {
            let is_counter = series.split('{').next().is_some_and(|name| name.ends_with("_total"));
            if let Some(new) = self.0.get(series).filter(|_| is_counter) {
                assert!(new >= old, "{series} fell from {old} to {new}");
            }
        }
    }

    /// What a database takes for the growth of these: a series that is new has not grown yet.
    pub fn growth(&self, before: &Samples, family: &str, label: &str) -> u128 {
        self.of(family, label).filter_map(|(series, new)| Some(new - before.0.get(series)?)).sum()
    }
}
