//! The reader that does no harm.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cpuledger::{Interval, framing, machine};
use cpuledger_model::frame::Frame;
use cpuledger_service::client::Client;
use cpuledger_service::ring::{Next, Reader};
use cpuledger_service::varlink::Subscribe;

use super::control::Waits;
use super::spread::Spread;
use crate::Findings;

/// For a call, and for a frame: a reader that waits for longer has been harmed.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What the honest reader has seen.
#[derive(Debug, Default)]
pub struct Honest {
    pub frames: u64,
    /// From the end of each interval to its arrival.
    delays_ns: Vec<u64>,
    /// What of that it has itself waited for a CPU, when it was woken.
    pub waits_ns: Vec<u64>,
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
        let waits = Waits::of_this_thread()?;
        while !is_over.load(Ordering::SeqCst) {
            let before_ns = waits.ns()?;
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
            honest.waits_ns.push(waits.ns()? - before_ns);
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
        let mut interval = Interval::default();
        framing::read(&Frame::decode(bytes).context("decode a frame")?, &mut interval)?;
        look_at("the honest reader", &interval, last_ns, findings);
        self.frames += 1;
        self.delays_ns.push(now_ns.saturating_sub(interval.end_ns));
        self.late_ns.push((interval.end_ns - interval.start_ns).saturating_sub(interval_ns));
        Ok(interval.end_ns)
    }

    /// By how much each frame came later, or earlier, than it usually does after the end of an interval of the usual length.
    pub fn jitters_ns(&self) -> Vec<u64> {
        self.jitters_of(&self.delays_ns)
    }

    /// The same without the time in which the reader itself waited for a CPU: what is the service's.
    pub fn own_jitters_ns(&self) -> Vec<u64> {
        let pairs = self.delays_ns.iter().zip(&self.waits_ns);
        let own_ns: Vec<u64> = pairs.map(|(delay_ns, waits_ns)| delay_ns.saturating_sub(*waits_ns)).collect();
        self.jitters_of(&own_ns)
    }

    fn jitters_of(&self, delays_ns: &[u64]) -> Vec<u64> {
        let usual_ns = Spread::of(delays_ns).median_ns;
        let pairs = delays_ns.iter().zip(&self.late_ns);
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
