#![allow(dead_code)] // each test has its own part of it
//! A push for tests, what a receiver makes of it, and what the service has published meanwhile.

pub mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger_load::with_net;
use cpuledger_model::frame::{Column, Frame};
use cpuledger_service::client::Client;
use cpuledger_service::ring::Next;
use cpuledger_service::varlink::Subscribe;
use rustix::process::{Pid, Signal, kill_process};

/// For anything that does not take long.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until something holds.
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < TIMEOUT, "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// `cpuledger push`, once a second.
pub struct Push(pub Child);

impl Push {
    /// Starts it as a reader of the service at that socket.
    pub fn start(socket: &Path, to: &str, options: &[&str]) -> Push {
        let mut command = Command::new(with_net(env!("CARGO_BIN_EXE_cpuledger")));
        command.args(["push", "--every", "1", "--otlp", to, "--socket"]).arg(socket).args(options);
        command.env("OTEL_EXPORTER_OTLP_TIMEOUT", "1000").stderr(Stdio::null());
        Push(command.spawn().expect("it starts"))
    }

    /// Asks it to end, and waits until it has.
    pub fn end(mut self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("it is ours");
        assert!(self.0.wait().expect("it ends").success(), "a signal ends it in order");
    }

    /// Its resident memory.
    pub fn resident_bytes(&self) -> usize {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", self.0.id())).expect("it lives");
        let pages: usize = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
        pages * rustix::param::page_size()
    }
}

impl Drop for Push {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A series: its resource, its metric and its attributes, and when it began.
type Series = (String, String, u64);

/// What a receiver has taken: values by time. Whole numbers are as they are, and seconds are nanoseconds.
#[derive(Debug, Default)]
pub struct Received {
    series: BTreeMap<Series, BTreeMap<u64, i128>>,
    /// How many points came a second time.
    pub repeated: usize,
}

impl Received {
    /// Adds a point of a metric: where it is of, its name, its attributes, its start, its time and its value.
    ///
    /// # Panics
    /// When the same point was there with another value.
    pub fn add(
        &mut self,
        resource: &str,
        metric: &str,
        attributes: &str,
        since: u64,
        when: u64,
        value: i128,
    ) {
        let series = (resource.to_owned(), format!("{metric}{attributes}"), since);
        let old = self.series.entry(series.clone()).or_default().insert(when, value);
        assert!(old.is_none_or(|old| old == value), "{series:?} at {when}: {old:?} and {value}");
        self.repeated += usize::from(old.is_some());
    }

    /// Series whose metric and attributes begin so.
    fn of<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = (&'a Series, &'a BTreeMap<u64, i128>)> {
        self.series.iter().filter(move |((_, own, _), _)| {
            own.strip_prefix(metric).is_some_and(|rest| rest.is_empty() || rest.starts_with('{'))
        })
    }

    /// When there are points of a metric.
    pub fn times(&self, metric: &str) -> BTreeSet<u64> {
        self.of(metric).flat_map(|(_, points)| points.keys().copied()).collect()
    }

    /// What a database has of a metric at a time: the last value of each series, added up. A series that has left keeps its value.
    pub fn sum(&self, metric: &str, when: u64) -> i128 {
        self.of(metric)
            .filter_map(|(_, points)| points.range(..=when).next_back())
            .map(|(_, value)| value)
            .sum()
    }

    /// Likewise at the end.
    pub fn total(&self, metric: &str) -> i128 {
        self.sum(metric, u64::MAX)
    }

    /// From when to when the books of each run of the push are: those of its last point.
    pub fn runs(&self) -> Vec<(u64, u64)> {
        let last =
            |(series, points): (&Series, &BTreeMap<u64, i128>)| Some((series.2, *points.keys().next_back()?));
        self.of("cpuledger.capacity.time").filter_map(last).collect()
    }

    /// No sum falls, and at each time each dimension has all of the time once.
    pub fn assert_balance(&self) {
        for (series, points) in &self.series {
            let is_sum = series.2 > 0;
            let values: Vec<i128> = points.values().copied().collect();
            assert!(!is_sum || values.is_sorted(), "{series:?} falls: {points:?}");
            assert!(points.keys().all(|when| *when >= series.2), "{series:?} is before its start");
        }
        let times = self.times("cpuledger.capacity.time");
        assert!(!times.is_empty(), "nothing has come");
        for when in times {
            let sum = |metric: &str| self.sum(metric, when);
            let attributed = sum("cpuledger.attributed.time");
            for by in ["command", "user", "unit", "container", "pod"] {
                assert_eq!(sum(&format!("cpuledger.{by}.cpu.time")), attributed, "by {by} at {when}");
            }
            let capacity = sum("cpuledger.capacity.time");
            let rest = sum("cpuledger.idle.time") + sum("cpuledger.unattributed.time");
            assert_eq!(attributed + rest, capacity, "at {when}");
            // Seconds have 53 bits, six times.
            assert!((sum("system.cpu.time") - capacity).abs() < 1000, "modes at {when}");
            assert!(sum("process.cpu.time") <= attributed, "processes at {when}");
        }
    }
}

/// CLOCK_REALTIME and CLOCK_MONOTONIC, read one after the other, differ by less from one interval to the next.
const CLOCKS_NS: u64 = 1_000_000;

/// Capacity, attributed and idle time of an interval, in nanoseconds.
type Times = [u64; 3];

/// What the service has published since a start, read by the test itself.
pub struct Published {
    /// By the end of the interval, CLOCK_REALTIME: its length and its times.
    intervals: Arc<Mutex<BTreeMap<u64, (u64, Times)>>>,
    is_over: Arc<AtomicBool>,
}

impl Published {
    /// From now on.
    pub fn follow(socket: &Path) -> Published {
        let published = Published { intervals: Arc::default(), is_over: Arc::default() };
        let (intervals, is_over) = (Arc::clone(&published.intervals), Arc::clone(&published.is_over));
        let mut client = Client::connect(socket, TIMEOUT).expect("it answers");
        let asked = Subscribe::default();
        let (_, mut reader) = client.subscribe(&asked).expect("a ring");
        thread::spawn(move || {
            let (mut bytes, mut frame) = (Vec::new(), Frame::new());
            while !is_over.load(Ordering::Relaxed) {
                match reader.wait(Duration::from_millis(200)) {
                    Ok(Next::Frame) => {}
                    Ok(Next::Moved) => {
                        // The next ring begins with the frames of this one.
                        (_, reader) = client.subscribe(&asked).expect("another ring");
                        reader.resume_at(1);
                        continue;
                    }
                    Ok(Next::TimedOut) | Err(_) => continue,
                }
                if reader.copy(&mut bytes).expect("a whole ring").is_none() {
                    continue;
                }
                frame.decode_from(&bytes).expect("a frame");
                let figure = |column| frame.figure(column).expect("the ledger has it");
                let times = [Column::CAPACITY_NS, Column::ATTRIBUTED_NS, Column::IDLE_NS].map(figure);
                let length = frame.length_ns().expect("it has a length");
                let end = figure(Column::END_REALTIME_NS);
                intervals.lock().expect("no panic").insert(end, (length, times));
            }
        });
        published
    }

    /// Capacity, attributed and idle time from the begin of an interval to the end of one.
    pub fn between(&self, since: u64, until: u64) -> [i128; 3] {
        let mut sums = [0; 3];
        let intervals = self.intervals.lock().expect("no panic");
        let first = intervals.range(since + CLOCKS_NS..).next().map(|(end, (length, _))| end - length);
        assert!(first.is_some_and(|first| first.abs_diff(since) < CLOCKS_NS), "{first:?} is not {since}");
        assert!(intervals.contains_key(&until), "no interval ends at {until}");
        for (_, (_, times)) in intervals.range(since + CLOCKS_NS..=until) {
            sums.iter_mut().zip(times).for_each(|(sum, ns)| *sum += i128::from(*ns));
        }
        sums
    }

    /// What was received is what was published, to the nanosecond.
    pub fn assert_is(&self, received: &Received) {
        let mut expected = [0; 3];
        for (since, until) in received.runs() {
            let run = self.between(since, until);
            expected.iter_mut().zip(run).for_each(|(sum, ns)| *sum += ns);
        }
        let names = ["cpuledger.capacity.time", "cpuledger.attributed.time", "cpuledger.idle.time"];
        assert_eq!(names.map(|name| received.total(name)), expected);
        assert_eq!(received.total("cpuledger.user.cpu.time"), expected[1]);
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
