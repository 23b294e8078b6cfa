//! What readers cost the service, and themselves.
//!
//! With 1,000 threads on the machine, the frames have 1,000 rows. So what a reader costs is measured by one that is alone, too.
//!
//! The machine does the same in both of the other phases: in one a thousand threads read, in the other one of them does, and the rest wake up by their
//! own timers as often. Else the service would have more rows to tell with a thousand readers than with one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use cpuledger::machine::monotonic_ns;
use cpuledger_model::frame::{Column, Frame};
use cpuledger_service::client::Client;
use cpuledger_service::ring::{Next, Reader, Ring, Size};
use cpuledger_service::varlink::Subscribe;
use rustix::thread::futex::{self, Flags};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::daemon::{Daemon, PATIENCE};
use crate::measure::median;
use crate::results::Results;
use crate::table::{Table, digits, thousands};

/// Length of an interval.
const INTERVAL: Duration = Duration::from_secs(1);
/// Intervals after the start of a phase that do not count.
const SETTLING: u32 = 3;
/// A thousand stacks of the usual size would be memory for nothing.
const STACK_BYTES: usize = 128 << 10;

/// What a phase has measured.
#[derive(Debug, Default, Serialize)]
struct Phase {
    readers: usize,
    /// Those that read, and those that wake up as often.
    threads: usize,
    /// Length of the frames in bytes.
    lengths: Vec<usize>,
    /// CPU time of the service, an interval.
    service_ns: Vec<u64>,
    /// CPU time of a reader for a frame.
    reading: Vec<Duration>,
    /// From the cut until a reader has the frame.
    arriving: Vec<Duration>,
    /// CPU time of a thread that sleeps and is woken by a futex, by itself.
    waking: Vec<Duration>,
}

/// Measures with one reader and with many, alternately.
///
/// # Errors
/// When the service or a reader fails.
pub fn measure(
    readers: usize,
    rounds: usize,
    intervals: u32,
    results: &mut Results,
    table: &mut Table,
) -> anyhow::Result<()> {
    let daemon = Daemon::start(INTERVAL.as_secs_f64())?;
    let mut phases = [(1, 1), (1, readers), (readers, readers)].map(|(reading, threads)| Phase {
        readers: reading,
        threads,
        ..Phase::default()
    });
    for _ in 0..rounds {
        for phase in &mut phases {
            phase.run(&daemon, intervals)?;
        }
    }
    for phase in &phases {
        results.add_any(phase)?;
    }
    let us = |time: Duration| digits(time.as_secs_f64() * 1e6);
    let [_, one_ns, many_ns] = phases.each_ref().map(|phase| middle(&phase.service_ns) as f64);
    let others = thousands(readers - 1);
    let (few, many) =
        (format!("with one reader beside {others} threads"), format!("with {} readers", thousands(readers)));
    table.row([format!("its CPU time an interval, {few}"), format!("{} µs", digits(one_ns / 1e3))]);
    table.row([
        format!("the same {many}"),
        format!("{} µs = {} times", digits(many_ns / 1e3), digits(many_ns / one_ns)),
    ]);
    for (phase, beside) in phases.iter().zip(["with one reader", &few, &many]) {
        let (reading, waking) = (median(&phase.reading), median(&phase.waking));
        let length = phase.lengths.get(phase.lengths.len() / 2).copied().unwrap_or(0);
        table.row([
            format!("a reader's CPU time for a frame, {beside}"),
            format!(
                "{} µs: {} more than a bare wait, for {} KiB",
                us(reading),
                us(reading.saturating_sub(waking)),
                digits(length as f64 / 1024.0)
            ),
        ]);
        let [middle, late] = [500, 990].map(|part| part_of(&phase.arriving, part));
        table.row([
            format!("from the cut until a reader has the frame, {beside}"),
            format!("{} µs, 99 % within {} µs", us(middle), us(late)),
        ]);
    }
    Ok(())
}

/// What one reader has seen of a frame.
struct Seen {
    cpu: Duration,
    /// The number of the frame, and when it was there.
    arrived: (u64, u64),
    /// Its cut and its length, if this reader looks at what it reads.
    looked_at: Option<(u64, usize)>,
}

impl Phase {
    fn run(&mut self, daemon: &Daemon, intervals: u32) -> anyhow::Result<()> {
        let is_over = Arc::new(AtomicBool::new(false));
        let socket = daemon.socket();
        thread::scope(|scope| {
            let spawn = || thread::Builder::new().stack_size(STACK_BYTES);
            let mut readers = Vec::new();
            for index in 0..self.readers {
                let (socket, is_over) = (&socket, &is_over);
                readers.push(spawn().spawn_scoped(scope, move || read(socket, index == 0, is_over))?);
            }
            for _ in self.readers..self.threads {
                let is_over = &is_over;
                spawn().spawn_scoped(scope, move || {
                    while !is_over.load(Ordering::Relaxed) {
                        thread::sleep(INTERVAL);
                    }
                })?;
            }
            let waking = spawn().spawn_scoped(scope, || bare_waits(&is_over))?;
            thread::sleep(INTERVAL * SETTLING);
            let measured = service(daemon, intervals);
            is_over.store(true, Ordering::Relaxed);
            self.service_ns.extend(measured?);
            self.waking.extend(waking.join().map_err(|_| anyhow!("a thread has failed"))?);
            let mut seen = Vec::new();
            for reader in readers {
                let frames = reader.join().map_err(|_| anyhow!("a reader has failed"))??;
                seen.extend(frames.into_iter().skip(SETTLING as usize));
            }
            self.tell(&seen);
            Ok(())
        })
    }

    fn tell(&mut self, seen: &[Seen]) {
        let cuts: std::collections::HashMap<u64, u64> =
            seen.iter().filter_map(|seen| Some((seen.arrived.0, seen.looked_at?.0))).collect();
        self.lengths.extend(seen.iter().filter_map(|seen| Some(seen.looked_at?.1)));
        self.lengths.sort_unstable();
        self.reading.extend(seen.iter().map(|seen| seen.cpu));
        self.arriving.extend(seen.iter().filter_map(|seen| {
            let cut_ns = cuts.get(&seen.arrived.0)?;
            Some(Duration::from_nanos(seen.arrived.1.saturating_sub(*cut_ns)))
        }));
    }
}

/// CPU time of the service in each of these intervals. They are looked at in their middles or thereabouts, whenever a phase begins.
fn service(daemon: &Daemon, intervals: u32) -> anyhow::Result<Vec<u64>> {
    let mut before_ns = daemon.cpu_ns()?;
    let mut costs = Vec::new();
    for _ in 0..intervals {
        thread::sleep(INTERVAL);
        let now_ns = daemon.cpu_ns()?;
        costs.push(now_ns - std::mem::replace(&mut before_ns, now_ns));
    }
    Ok(costs)
}

fn subscribe(socket: &Path) -> anyhow::Result<(Client, Reader)> {
    let mut client = Client::connect(socket, PATIENCE)?;
    let wanted = Subscribe::default();
    let (_, reader) = client.subscribe(&wanted).context("the service refuses a reader")?;
    Ok((client, reader))
}

/// Reads until told to stop. One of the readers looks at what it reads.
fn read(socket: &Path, looks: bool, is_over: &AtomicBool) -> anyhow::Result<Vec<Seen>> {
    let (_connection, mut reader) = subscribe(socket)?;
    let (mut bytes, mut seen) = (Vec::new(), Vec::new());
    while !is_over.load(Ordering::Relaxed) {
        let before = thread_cpu();
        if reader.wait(2 * INTERVAL)? != Next::Frame {
            continue;
        }
        let copied = reader.copy(&mut bytes)?;
        let (at_ns, cpu) = (monotonic_ns(), thread_cpu() - before);
        let Some(copied) = copied else { continue };
        let cut_ns = if looks { Frame::decode(&bytes)?.figure(Column::END_NS) } else { None };
        let looked_at = cut_ns.map(|cut_ns| (cut_ns, bytes.len()));
        seen.push(Seen { cpu, arrived: (copied.sequence, at_ns), looked_at });
    }
    Ok(seen)
}

/// Prints a line, then reads that number of frames, then prints another: for strace.
///
/// # Errors
/// When there is no service.
pub fn follow(socket: &Path, frames: u32) -> anyhow::Result<()> {
    let (_connection, mut reader) = subscribe(socket)?;
    let mut bytes = Vec::new();
    reader.latest(&mut bytes)?;
    bytes.reserve(1 << 20);
    println!("{BEGIN}");
    for _ in 0..frames {
        while reader.wait(2 * INTERVAL)? != Next::Frame {}
        reader.copy(&mut bytes)?;
    }
    println!("{END}");
    Ok(())
}

/// From the call that publishes a frame until a reader has copied it, in a ring of this process: its frames tell when that was.
///
/// # Errors
/// When there is no memory for a ring.
pub fn measure_ring(frames: u32, results: &mut Results, table: &mut Table) -> anyhow::Result<()> {
    let mut ring = Ring::create("bench", Size { bytes: 1 << 20, frames: 64 })?;
    let mut reader = Reader::open(ring.fd())?;
    let reading = thread::spawn(move || -> anyhow::Result<Vec<Duration>> {
        let (mut bytes, mut seen) = (Vec::new(), Vec::new());
        for _ in 0..frames {
            while reader.wait(2 * INTERVAL)? != Next::Frame {}
            let copied = reader.copy(&mut bytes)?;
            let now_ns = monotonic_ns();
            let begin = bytes.first_chunk().filter(|_| copied.is_some()).context("a frame is missing")?;
            seen.push(Duration::from_nanos(now_ns - u64::from_ne_bytes(*begin)));
        }
        Ok(seen)
    });
    let mut frame = vec![0; FRAME_BYTES];
    for _ in 0..frames {
        thread::sleep(INTERVAL / 10);
        frame[..8].copy_from_slice(&monotonic_ns().to_ne_bytes());
        ring.publish(&frame)?;
    }
    let seen = reading.join().map_err(|_| anyhow!("a reader has failed"))??;
    let us = |part| digits(part_of(&seen, part).as_secs_f64() * 1e6);
    table.row([
        "from publishing a frame of 16 KiB until a reader has copied it".to_owned(),
        format!("{} µs, 99 % within {} µs", us(500), us(990)),
    ]);
    results.add_any(&serde_json::json!({ "from_publishing_to_having_read_ns": seen }))
}

/// The length of a frame of some 60 processes that ran.
const FRAME_BYTES: usize = 16 << 10;

const BEGIN: &str = "reading begins";
const END: &str = "reading ends";

/// The system calls of a reader, by strace.
///
/// # Errors
/// When strace does not run.
pub fn count_calls(frames: u32, results: &mut Results, table: &mut Table) -> anyhow::Result<()> {
    let daemon = Daemon::start(0.1)?;
    let file = std::env::temp_dir().join("calls");
    let status = std::process::Command::new("strace")
        .arg("-o")
        .arg(&file)
        .arg(std::env::current_exe()?)
        .args(["service", "--frames", &frames.to_string(), "--follow"])
        .arg(daemon.socket())
        .stdout(std::process::Stdio::null())
        .status()
        .context("cannot run strace")?;
    anyhow::ensure!(status.success(), "strace: {status}");
    let text = std::fs::read_to_string(&file)?;
    let of_frames = text.split(BEGIN).nth(1).and_then(|rest| rest.split(END).next());
    let lines: Vec<&str> = of_frames.context("strace has seen no frames")?.lines().skip(1).collect();
    // The last line is the beginning of the one that says that reading ends.
    let lines = &lines[..lines.len().saturating_sub(1)];
    let count = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
    let (waits, wakes) = (count("FUTEX_WAIT"), count("FUTEX_WAKE"));
    let a_frame = |count: usize| digits(count as f64 / f64::from(frames));
    table.row([
        "a reader's system calls for a frame, by strace".to_owned(),
        format!("{}: {} waits by futex, {} wakes", a_frame(lines.len()), a_frame(waits), a_frame(wakes)),
    ]);
    results.add_any(&serde_json::json!({ "frames": frames, "system_calls": lines }))
}

/// CPU time of a thread for being woken by another, once an interval, and nothing else.
fn bare_waits(is_over: &AtomicBool) -> Vec<Duration> {
    let word = AtomicU32::new(0);
    let (mut waits, waking) = (Vec::new(), AtomicBool::new(true));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(INTERVAL);
                word.fetch_add(1, Ordering::Release);
                // It fails only for an address that is none.
                let _ = futex::wake(&word, Flags::empty(), 1);
            }
            waking.store(false, Ordering::Relaxed);
            word.fetch_add(1, Ordering::Release);
            let _ = futex::wake(&word, Flags::empty(), 1);
        });
        while waking.load(Ordering::Relaxed) {
            let seen = word.load(Ordering::Acquire);
            let before = thread_cpu();
            if futex::wait(&word, Flags::empty(), seen, None).is_ok() {
                waits.push(thread_cpu() - before);
            }
        }
    });
    waits
}

fn middle(numbers: &[u64]) -> u64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// The duration that this part of them, in thousandths, does not exceed.
fn part_of(durations: &[Duration], part: usize) -> Duration {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    sorted.get((sorted.len() * part / 1000).min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// CPU time of this thread.
fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
