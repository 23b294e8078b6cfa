//! Readers: `cpuledger top` on the ledger, each interval checked. One lives as long as the run, one is killed again and again.

use std::collections::VecDeque;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cpuledger_load::BpfHeld;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use crate::Findings;
use crate::process::{Demand, Limits};

/// The kernel frees BPF objects some grace periods after their last file is closed.
pub const GONE_WITHIN: Duration = Duration::from_secs(60);
/// Timeout after which a silent reader that is not stopped counts as hanging.
const SILENT_FOR: Duration = Duration::from_secs(60);

/// A running `top`. It is killed when dropped.
#[derive(Debug)]
struct Top {
    child: Child,
    lines: Receiver<String>,
}

impl Top {
    fn start(cpuledger: &Path, delay: &str) -> Result<Top> {
        // Killed with this program, if that is; Ctrl-C is for this program alone.
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(cpuledger)
            .process_group(0)
            .args(["top", "--batch", "--source", "ledger", "--delay", delay, "--format", "json"])
            .args(["--iterations", "1000000000"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {}", cpuledger.display()))?;
        let stdout = child.stdout.take().context("a pipe")?;
        Ok(Top { child, lines: lines_of(stdout) })
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        // Not a stale pid: it has not been waited for.
        kill_process(Pid::from_child(&self.child), signal).context("signal a reader")
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Read at once: a reader that waits for its pipe takes no cuts.
fn lines_of(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// What is looked at in an interval; the rest is read over.
#[derive(Debug, Deserialize)]
struct Line {
    start_ns: u64,
    end_ns: u64,
    online_cpus: u64,
    capacity_ns: u64,
    attributed_ns: u64,
    idle_ns: u64,
    unattributed_ns: u64,
    processes: Vec<Row>,
    exited: Vec<Dead>,
}

#[derive(Debug, Deserialize)]
struct Row {
    cpu_ns: u64,
}

#[derive(Debug, Deserialize)]
struct Dead {
    pid: i32,
    tid: i32,
}

/// How long a dead process is remembered, in nanoseconds.
const REMEMBERED_NS: u64 = 30_000_000_000;

/// What the intervals of a reader have told.
#[derive(Debug, Clone, Default)]
struct Told {
    intervals: u64,
    attributed_ns: u64,
    unattributed_ns: u64,
    exited: u64,
    longest_ns: u64,
    most_deaths: u64,
    last_cut_ns: Option<u64>,
    /// Ends of intervals, and how many processes died in each.
    deaths: VecDeque<(u64, u64)>,
}

impl Told {
    fn take(&mut self, who: &str, line: &str, findings: &Findings) {
        let interval: Line = match serde_json::from_str(line) {
            Ok(interval) => interval,
            Err(error) => {
                let begin = line.get(..200).unwrap_or(line);
                return findings.add(format!("{who} writes what is no interval, {error}: {begin}"));
            }
        };
        let Line { start_ns, end_ns, capacity_ns, attributed_ns, unattributed_ns, .. } = interval;
        let booked = attributed_ns + interval.idle_ns + unattributed_ns;
        let sum: u64 = interval.processes.iter().map(|row| row.cpu_ns).sum();
        if booked != capacity_ns || sum != attributed_ns {
            findings.add(format!(
                "{who}: capacity {capacity_ns}, booked {booked}; attributed {attributed_ns}, rows {sum} (ns)"
            ));
        }
        // No CPU comes or goes here.
        if capacity_ns != interval.online_cpus * (end_ns - start_ns) {
            findings.add(format!("{who}: a capacity of {capacity_ns} ns from {start_ns} to {end_ns}"));
        }
        if self.last_cut_ns.replace(end_ns).is_some_and(|cut_ns| cut_ns != start_ns) {
            findings.add(format!("{who}: an interval begins at {start_ns}, not where the last ended"));
        }
        self.intervals += 1;
        self.longest_ns = self.longest_ns.max(end_ns - start_ns);
        self.attributed_ns += attributed_ns;
        self.unattributed_ns += unattributed_ns;
        self.exited += interval.exited.len() as u64;
        self.most_deaths = self.most_deaths.max(interval.exited.len() as u64);
        let processes = interval.exited.iter().filter(|dead| dead.pid == dead.tid).count();
        self.deaths.push_back((end_ns, processes as u64));
        while self.deaths.front().is_some_and(|(cut_ns, _)| cut_ns + REMEMBERED_NS < end_ns) {
            self.deaths.pop_front();
        }
    }

    fn demand(&self) -> Demand {
        Demand {
            remembered: self.deaths.iter().map(|(_, processes)| processes).sum(),
            in_an_interval: self.most_deaths,
        }
    }
}

/// Takes what a reader has written; where it has ended by itself, that is an error.
fn take_lines(who: &str, top: &Top, told: &mut Told, heard: &mut Instant, findings: &Findings) -> Result<()> {
    loop {
        match top.lines.try_recv() {
            Ok(line) => {
                *heard = Instant::now();
                told.take(who, &line, findings);
            }
            Err(TryRecvError::Empty) => break,
            Err(TryRecvError::Disconnected) => bail!("{who} has ended by itself"),
        }
    }
    if heard.elapsed() > SILENT_FOR {
        *heard = Instant::now();
        findings.add(format!("{who} has said nothing for {} s", SILENT_FOR.as_secs()));
    }
    Ok(())
}

/// The reader that lives as long as the run.
#[derive(Debug)]
pub struct Steady {
    top: Top,
    told: Told,
    heard: Instant,
    limits: Limits,
}

impl Steady {
    /// Starts it.
    ///
    /// # Errors
    /// If there is no such binary.
    pub fn start(cpuledger: &Path) -> Result<Steady> {
        let top = Top::start(cpuledger, "0.5")?;
        Ok(Steady { top, told: Told::default(), heard: Instant::now(), limits: Limits::default() })
    }

    /// Checks its intervals, its memory and its files.
    ///
    /// # Errors
    /// If it has ended.
    pub fn look(&mut self, is_warm: bool, findings: &Findings) -> Result<()> {
        take_lines("the steady reader", &self.top, &mut self.told, &mut self.heard, findings)?;
        let (pid, demand) = (self.top.child.id(), self.told.demand());
        self.limits.look("the steady reader", pid, demand, is_warm, findings)
    }

    /// For the line of progress.
    pub fn brief(&self) -> String {
        format!("{} intervals, {} exits", self.told.intervals, self.told.exited)
    }

    /// What it took.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether it has told of any interval.
    pub fn has_told(&self) -> bool {
        self.told.intervals > 0
    }

    /// Ends it by SIGTERM and waits until nothing of it is in the kernel.
    ///
    /// # Errors
    /// Without bpftool.
    pub fn end(&mut self, findings: &Findings) -> Result<()> {
        let held = BpfHeld::by(self.top.child.id());
        if held.links.is_empty() {
            findings.add("the steady reader has nothing attached".to_owned());
        }
        self.top.signal(Signal::TERM)?;
        let status = self.top.child.wait().context("wait for a reader")?;
        if !status.success() {
            findings.add(format!("the steady reader ends with {status}"));
        }
        assert_gone("the steady reader", &held, findings)
    }
}

/// Nothing of it is in the kernel any more, or it is a finding.
///
/// # Errors
/// Without bpftool.
fn assert_gone(who: &str, held: &BpfHeld, findings: &Findings) -> Result<()> {
    let left = held.left_after(GONE_WITHIN)?;
    if left != BpfHeld::default() {
        findings.add(format!("{who} has left {left:?}"));
    }
    Ok(())
}

impl fmt::Display for Steady {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { intervals, attributed_ns, unattributed_ns, exited, longest_ns, .. } = &self.told;
        write!(
            formatter,
            "{intervals} intervals of at most {:.1} s, {:.1} CPU s attributed, {unattributed_ns} ns not, {exited} exits",
            *longest_ns as f64 / 1e9,
            *attributed_ns as f64 / 1e9,
        )
    }
}

/// What is done to the victim next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stop,
    Continue,
    Kill,
}

/// The reader that is stopped, continued and killed.
#[derive(Debug)]
pub struct Victim {
    cpuledger: PathBuf,
    top: Top,
    told: Told,
    heard: Instant,
    next: (Fate, Instant),
    stops: u64,
    kills: u64,
}

impl Victim {
    /// Starts it.
    ///
    /// # Errors
    /// If there is no such binary.
    pub fn start(cpuledger: &Path) -> Result<Victim> {
        Ok(Victim {
            cpuledger: cpuledger.to_owned(),
            top: Top::start(cpuledger, "0.1")?,
            told: Told::default(),
            heard: Instant::now(),
            next: (Fate::Stop, after(1000..3000)),
            stops: 0,
            kills: 0,
        })
    }

    /// Checks its intervals, and does to it what is its turn.
    ///
    /// # Errors
    /// If it has ended by itself.
    pub fn torment(&mut self, findings: &Findings) -> Result<()> {
        take_lines("the victim", &self.top, &mut self.told, &mut self.heard, findings)?;
        let (fate, at) = self.next;
        if Instant::now() < at {
            return Ok(());
        }
        self.next = match fate {
            Fate::Stop => {
                self.top.signal(Signal::STOP)?;
                self.stops += 1;
                let is_last = fastrand::u8(..3) == 0;
                (if is_last { Fate::Kill } else { Fate::Continue }, after(100..4000))
            }
            Fate::Continue => {
                self.top.signal(Signal::CONT)?;
                (if fastrand::bool() { Fate::Stop } else { Fate::Kill }, after(500..4000))
            }
            Fate::Kill => {
                self.kill(findings)?;
                self.top = Top::start(&self.cpuledger, "0.1")?;
                self.told.last_cut_ns = None;
                self.heard = Instant::now();
                (Fate::Stop, after(1000..4000))
            }
        };
        Ok(())
    }

    fn kill(&mut self, findings: &Findings) -> Result<()> {
        let held = BpfHeld::by(self.top.child.id());
        self.top.signal(Signal::KILL)?;
        self.top.child.wait().context("wait for the victim")?;
        self.kills += 1;
        assert_gone("the killed reader", &held, findings)
    }

    /// For the line of progress.
    pub fn brief(&self) -> String {
        format!("stopped {} times, killed {} times", self.stops, self.kills)
    }

    /// Kills it for the last time.
    ///
    /// # Errors
    /// Without bpftool.
    pub fn end(&mut self, findings: &Findings) -> Result<()> {
        self.kill(findings)
    }
}

/// A random instant, this range of milliseconds from now.
fn after(milliseconds: std::ops::Range<u64>) -> Instant {
    Instant::now() + Duration::from_millis(fastrand::u64(milliseconds))
}

impl fmt::Display for Victim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { intervals, unattributed_ns, longest_ns, .. } = &self.told;
        write!(
            formatter,
            "stopped {} times and killed {} times over {intervals} intervals of at most {:.1} s, {unattributed_ns} ns not attributed",
            self.stops,
            self.kills,
            *longest_ns as f64 / 1e9
        )
    }
}
