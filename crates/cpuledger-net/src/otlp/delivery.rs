//! Sends what is in the queue, for as long as the program runs.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger_program::output::warn;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use prost::Message as _;
use rustls::crypto::ring;
use ureq::Agent;
use ureq::http::StatusCode;
use ureq::tls::{RootCerts, TlsConfig};

use crate::otlp::messages::Response;
use crate::otlp::queue::{Entry, Kept, Queue};
use crate::otlp::snapshot::PushFigure;
use crate::otlp::target::Target;

/// Between two attempts: doubled each time, up to the second, and a random part less.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];
/// A receiver that wants more time does not get it.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(600);
/// No more is read of an answer, and no more is told of what it says.
const ANSWER_BYTES: u64 = 64 << 10;
const TOLD_CHARACTERS: usize = 200;

/// The queue, and what became of requests.
pub struct Outbox {
    queue: Mutex<Queue>,
    changed: Condvar,
    taken: AtomicU64,
    retries: AtomicU64,
    refused: AtomicU64,
    rejected_points: AtomicU64,
    is_disk_broken: Mutex<bool>,
}

impl Outbox {
    /// Of this queue.
    pub fn new(queue: Queue) -> Outbox {
        Outbox {
            queue: Mutex::new(queue),
            changed: Condvar::new(),
            taken: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            rejected_points: AtomicU64::new(0),
            is_disk_broken: Mutex::new(false),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Earlier rounds whose series the next push has to have again.
    pub fn owed(&self) -> Vec<u64> {
        self.queue().pushes().owed()
    }

    /// Adds the requests of a push: of this round, and of these earlier ones.
    pub fn push_all(&self, round: u64, again: &[u64], bodies: Vec<Vec<u8>>) {
        self.queue().pushes().begin(round, again, bodies.len());
        bodies.into_iter().for_each(|body| self.push(body));
    }

    /// Adds a request.
    fn push(&self, body: Vec<u8>) {
        let kept = self.queue().push(body);
        self.changed.notify_all();
        let mut is_broken = self.is_disk_broken.lock().unwrap_or_else(PoisonError::into_inner);
        match kept {
            Kept::InMemory(error) if !*is_broken => {
                warn(&format!(
                    "cannot write to the queue ({error}); requests stay in memory until that works again"
                ));
                *is_broken = true;
            }
            Kept::Whole if *is_broken => {
                warn("requests are written to the queue again");
                *is_broken = false;
            }
            _ => {}
        }
    }

    /// The oldest request. Waits until there is one.
    fn first(&self) -> (Entry, Arc<[u8]>) {
        let mut queue = self.queue();
        loop {
            if let Some(first) = queue.first() {
                return first;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A request is taken, or refused for good.
    fn settle(&self, entry: &Entry, is_taken: bool) {
        self.queue().settle(entry, is_taken);
        let count = if is_taken { &self.taken } else { &self.refused };
        count.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// The oldest request if there is one, which is taken or refused.
    #[cfg(test)]
    pub fn settle_first(&self, is_taken: bool) -> Option<Arc<[u8]>> {
        let (entry, body) = self.queue().first()?;
        self.settle(&entry, is_taken);
        Some(body)
    }

    /// Waits until all is sent, but no longer than this.
    pub fn drain(&self, patience: Duration) {
        let end = Instant::now() + patience;
        let mut queue = self.queue();
        while !queue.is_empty()
            && let left = end.saturating_duration_since(Instant::now())
            && !left.is_zero()
        {
            queue = self.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What the push says of itself.
    pub fn figures(&self) -> [PushFigure; 7] {
        let (length, bytes, dropped) = {
            let queue = self.queue();
            (queue.len() as u64, queue.bytes(), queue.dropped())
        };
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counter = |name, help, value| PushFigure { name, help, unit: "", is_counter: true, value };
        let gauge = |name, help, unit, value| PushFigure { name, help, unit, is_counter: false, value };
        [
            counter("cpuledger.push.requests", "Requests that the receiver has taken.", of(&self.taken)),
            counter(
                "cpuledger.push.retries",
                "Requests that were not taken and stayed in the queue.",
                of(&self.retries),
            ),
            counter(
                "cpuledger.push.refused",
                "Requests that the receiver has refused for good.",
                of(&self.refused),
            ),
            counter(
                "cpuledger.push.rejected_points",
                "Points that the receiver has not taken of requests that it took.",
                of(&self.rejected_points),
            ),
            counter(
                "cpuledger.push.dropped",
                "Requests that were dropped, as the queue was full. The next ones have their amounts.",
                dropped,
            ),
            gauge("cpuledger.push.queue.requests", "Requests that wait.", "", length),
            gauge("cpuledger.push.queue.size", "Size of these.", "By", bytes),
        ]
    }
}

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    /// It is taken, but for so many points, for this reason.
    Taken(u64, String),
    /// It is wrong, and stays wrong.
    Refused(String),
    /// It may be taken later, and not before this time has passed.
    Later(Option<Duration>, String),
}

/// Starts the thread that sends.
///
/// # Errors
/// Where there is no thread to be had.
pub fn start(outbox: Arc<Outbox>, target: Target) -> io::Result<()> {
    thread::Builder::new().name("push".into()).spawn(move || deliver(&outbox, &target)).map(drop)
}

fn deliver(outbox: &Outbox, target: &Target) {
    let agent = agent(target);
    let [mut pause, longest] = PAUSES;
    let mut said = String::new();
    // Of several of a kind, one is told.
    let mut say = |sentence: String| {
        if said != sentence {
            warn(&sentence);
            said = sentence;
        }
    };
    let mut is_late = false;
    loop {
        let (entry, body) = outbox.first();
        match send(&agent, target, &body) {
            Outcome::Taken(rejected, reason) => {
                outbox.settle(&entry, true);
                if rejected > 0 {
                    outbox.rejected_points.fetch_add(rejected, Ordering::Relaxed);
                    say(format!("{target} has not taken some points: {reason}"));
                } else if is_late {
                    say(format!("{target} takes requests again"));
                }
                (pause, is_late) = (PAUSES[0], false);
            }
            Outcome::Refused(reason) => {
                outbox.settle(&entry, false);
                say(format!("{target} refuses requests ({reason}): they are dropped"));
                (pause, is_late) = (PAUSES[0], true);
            }
            Outcome::Later(after, reason) => {
                outbox.retries.fetch_add(1, Ordering::Relaxed);
                if !is_late {
                    say(format!("{target} takes no requests ({reason}): they are kept and sent later"));
                }
                is_late = true;
                thread::sleep(pause_of(pause, after, random()));
                pause = (pause * 2).min(longest);
            }
        }
    }
}

/// How long to wait: at least as long as the receiver wants, else between half of `pause` and all of it.
fn pause_of(pause: Duration, after: Option<Duration>, random: u64) -> Duration {
    let half = pause / 2;
    let share = random % (half.as_nanos().max(1) as u64);
    let jitter = Duration::from_nanos(share);
    match after {
        // All clients of a receiver that was overloaded shall not come back at once.
        Some(after) => after.min(LONGEST_RETRY_AFTER) + jitter.min(PAUSES[0]),
        None => half + jitter,
    }
}

/// A number that nobody can foretell; the hash maps of the standard library have the same need.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(Instant::now())
}

fn agent(target: &Target) -> Agent {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&target.certificates))
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    Agent::config_builder()
        .http_status_as_error(false)
        // A password is for the receiver that was named.
        .max_redirects(0)
        .timeout_global(Some(target.timeout))
        .user_agent(concat!("cpuledger/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
        .build()
        .new_agent()
}

fn send(agent: &Agent, target: &Target, body: &[u8]) -> Outcome {
    let mut request = agent
        .post(target.uri.clone())
        .header("Content-Type", "application/x-protobuf")
        .header("Content-Encoding", "gzip");
    for (name, value) in &target.headers {
        request = request.header(name, value);
    }
    let mut answer = match request.send(body) {
        Ok(answer) => answer,
        Err(error) => return Outcome::Later(None, error.to_string()),
    };
    let status = answer.status();
    let after = answer.headers().get("Retry-After").and_then(|value| value.to_str().ok());
    let after = after.and_then(|text| retry_after(text, Timestamp::now()));
    let text = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec().unwrap_or_default();
    outcome(status, after, &text)
}

/// What the specification makes of an answer.
fn outcome(status: StatusCode, after: Option<Duration>, body: &[u8]) -> Outcome {
    match status.as_u16() {
        // An answer that is no protobuf comes from something that takes all; it has said that it has.
        200..=299 => match Response::decode(body).unwrap_or_default().partial_success {
            Some(partial) => Outcome::Taken(
                u64::try_from(partial.rejected_data_points).unwrap_or_default(),
                partial.error_message.chars().take(TOLD_CHARACTERS).collect(),
            ),
            None => Outcome::Taken(0, String::new()),
        },
        429 | 502 | 503 | 504 => Outcome::Later(after, format!("HTTP {status}")),
        _ => Outcome::Refused(format!("HTTP {status}")),
    }
}

/// Seconds, or a date.
fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    match text.trim().parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let when = rfc2822::parse(text.trim()).ok()?.timestamp();
            Some(Duration::try_from(when.duration_since(now)).unwrap_or(Duration::ZERO))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::messages::PartialSuccess;

    #[test]
    fn answers_are_taken_as_the_specification_says() {
        let of =
            |status: u16, body: &[u8]| outcome(StatusCode::from_u16(status).expect("a status"), None, body);
        let taken = Outcome::Taken(0, String::new());
        assert_eq!(of(200, b""), taken);
        assert_eq!(of(202, b"{}"), taken, "JSON of a receiver that takes all");
        let partial = PartialSuccess { rejected_data_points: 3, error_message: "old".into() };
        let body = Response { partial_success: Some(partial) }.encode_to_vec();
        assert_eq!(of(200, &body), Outcome::Taken(3, "old".into()));
        for status in [429, 502, 503, 504] {
            assert!(matches!(of(status, b""), Outcome::Later(..)), "{status}");
        }
        for status in [301, 307, 400, 401, 403, 404, 413, 500, 501] {
            assert!(matches!(of(status, b""), Outcome::Refused(_)), "{status}");
        }
    }

    #[test]
    fn the_receiver_says_when_by_seconds_or_by_a_date() {
        let now: Timestamp = "2015-10-21T07:27:30Z".parse().expect("a time");
        for (text, expected) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Wed, 21 Oct 2015 07:28:00 GMT", Some(30)),
            ("Wed, 21 Oct 2015 07:00:00 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
        ] {
            assert_eq!(retry_after(text, now), expected.map(Duration::from_secs), "{text}");
        }
    }

    #[test]
    fn pauses_are_bounded_and_no_shorter_than_asked() {
        for random in [0, 1, u64::MAX / 3, u64::MAX] {
            let pause = pause_of(Duration::from_secs(8), None, random);
            assert!((Duration::from_secs(4)..=Duration::from_secs(8)).contains(&pause), "{pause:?}");
            let asked = pause_of(Duration::from_secs(1), Some(Duration::from_secs(30)), random);
            assert!((Duration::from_secs(30)..=Duration::from_secs(31)).contains(&asked), "{asked:?}");
            let long = pause_of(Duration::from_secs(1), Some(Duration::from_secs(u64::MAX)), random);
            assert!(long <= LONGEST_RETRY_AFTER + PAUSES[0], "{long:?}");
        }
    }
}
