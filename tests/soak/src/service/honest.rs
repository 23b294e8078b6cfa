//! The reader that does no harm, and a thread that only sleeps: what the machine itself makes late.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cpuledger::{Interval, Snapshot, frames, machine};
use cpuledger_frame::Frame;
use cpuledger_service::client::Client;
use cpuledger_service::ring::{Next, Reader};
use cpuledger_service::varlink::Subscribe;

use crate::Findings;

/// For a call, and for a frame: a reader that waits for longer has been harmed.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How often the sleeper wakes.
const SLEEP: Duration = Duration::from_millis(100);

/// What the honest reader has seen.
#[derive(Debug, Default)]
pub struct Honest {
    pub frames: u64,
    /// From the end of each interval to its arrival.
    delays_ns: Vec<u64>,
    /// By how much each interval was longer than the usual one.
    pub late_ns: Vec<u64>,
}

impl Honest {
    /// Reads each frame until it is over. One that is missed, a gap, and one that does not balance are findings.
    ///
    /// # Errors
    /// When the service does not serve it.
    pub fn read(
        socket: &Path,
        interval: Duration,
        is_over: &AtomicBool,
        findings: &Findings,
    ) -> Result<Honest> {
        let (mut _client, mut reader) = subscribe(socket)?;
        let mut honest = Honest::default();
        let (mut bytes, mut end_ns) = (Vec::new(), None);
        while !is_over.load(Ordering::SeqCst) {
            match reader.wait(TIMEOUT).context("wait for a frame")? {
                Next::Frame => {}
                Next::Moved => {
                    let at = reader.next_number();
                    (_client, reader) = subscribe(socket)?;
                    reader.resume_at(at);
                    continue;
                }
                Next::TimedOut => bail!("the honest reader got no frame in {} s", TIMEOUT.as_secs()),
            }
            let now_ns = machine::monotonic_ns();
            let frame = reader.copy(&mut bytes).context("copy a frame")?.context("the frame is gone")?;
            if frame.missed > 0 {
                findings.add(format!("the honest reader has missed {} frames", frame.missed));
            }
            let interval_ns = interval.as_nanos() as u64;
            end_ns = Some(honest.take(&bytes, now_ns, interval_ns, end_ns, findings)?);
        }
        Ok(honest)
    }

    /// Looks at a frame, and returns where it ends.
    fn take(
        &mut self,
        bytes: &[u8],
        now_ns: u64,
        interval_ns: u64,
        last_ns: Option<u64>,
        findings: &Findings,
    ) -> Result<u64> {
        let (mut snapshot, mut interval) = (Snapshot::default(), Interval::default());
        frames::read(&Frame::decode(bytes).context("decode a frame")?, &mut snapshot, &mut interval)?;
        look_at("the honest reader", &interval, last_ns, findings);
        self.frames += 1;
        self.delays_ns.push(now_ns.saturating_sub(interval.end_ns));
        self.late_ns.push((interval.end_ns - interval.start_ns).saturating_sub(interval_ns));
        Ok(interval.end_ns)
    }

    /// By how much each frame came later, or earlier, than it usually does after the end of an interval of the usual length.
    pub fn jitters_ns(&self) -> Vec<u64> {
        let usual_ns = Spread::of(&self.delays_ns).median_ns;
        let pairs = self.delays_ns.iter().zip(&self.late_ns);
        pairs.map(|(delay_ns, late_ns)| delay_ns.abs_diff(usual_ns) + late_ns).collect()
    }

    /// From the end of an interval to its arrival.
    pub fn delays(&self) -> Spread {
        Spread::of(&self.delays_ns)
    }
}

/// A ring, which has frames for as long as the connection is there.
fn subscribe(socket: &Path) -> Result<(Client, Reader)> {
    let mut client = Client::connect(socket, TIMEOUT)?;
    let (_, reader) = client.subscribe(&Subscribe::default()).context("subscribe")?;
    Ok((client, reader))
}

/// How long calls of `Info` take, one a second, each by a connection of its own.
///
/// # Errors
/// When one is not answered.
pub fn call_until(socket: &Path, is_over: &AtomicBool) -> Result<Vec<u64>> {
    let mut calls_ns = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        let begin = Instant::now();
        Client::connect(socket, TIMEOUT).and_then(|mut client| client.info()).context("call `Info`")?;
        calls_ns.push(begin.elapsed().as_nanos() as u64);
        sleep(Duration::from_secs(1));
    }
    Ok(calls_ns)
}

/// Whether an interval balances, and begins where the last one ended.
pub fn look_at(who: &str, interval: &Interval, last_ns: Option<u64>, findings: &Findings) {
    if interval.imbalance_ns() != Some(0) {
        findings.add(format!("{who}: an interval is out of balance by {:?} ns", interval.imbalance_ns()));
    }
    if last_ns.is_some_and(|last_ns| last_ns != interval.start_ns) {
        findings.add(format!(
            "{who}: an interval begins at {}, the last ended at {last_ns:?}",
            interval.start_ns
        ));
    }
}

/// How late a thread wakes that does nothing but sleep, each time beside its median.
pub fn sleep_until(is_over: &AtomicBool) -> Vec<u64> {
    let (begin, mut late_ns) = (Instant::now(), Vec::new());
    for round in 1.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let due = SLEEP * round;
        sleep(due.saturating_sub(begin.elapsed()));
        late_ns.push(begin.elapsed().saturating_sub(due).as_nanos() as u64);
    }
    let median_ns = Spread::of(&late_ns).median_ns;
    late_ns.iter().map(|late_ns| late_ns.abs_diff(median_ns)).collect()
}

/// Of a number of durations.
#[derive(Debug, Default, Clone, Copy, serde::Serialize)]
pub struct Spread {
    pub median_ns: u64,
    pub p99_ns: u64,
    pub most_ns: u64,
}

impl Spread {
    /// Of none it is 0.
    pub fn of(durations_ns: &[u64]) -> Spread {
        let mut sorted = durations_ns.to_vec();
        sorted.sort_unstable();
        let at = |percent: usize| sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default();
        Spread { median_ns: at(50), p99_ns: at(99), most_ns: sorted.last().copied().unwrap_or_default() }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [median, p99, most] = [self.median_ns, self.p99_ns, self.most_ns].map(|ns| ns as f64 / 1e6);
        write!(formatter, "median {median:.3} ms, p99 {p99:.3} ms, at most {most:.3} ms")
    }
}
