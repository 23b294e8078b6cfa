//! One monitor at work: when it refreshes, by what it prints, and what CPU time it has had by then.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::pty::openpty;
use nix::sys::signal::{Signal, kill};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use crate::measure::children_cpu_ns;

/// How a refresh is known.
#[derive(Debug, Clone, Copy)]
pub enum Mark {
    /// By a line with these words.
    Line(&'static str),
    /// By output after silence: a full-screen program writes what has changed.
    Burst,
}

/// What is run, and watched.
#[derive(Debug)]
pub struct Monitor {
    /// As the table shows it.
    pub name: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Whether it wants a terminal: to draw on, or to print each line at once.
    pub has_terminal: bool,
    /// Its refreshes.
    pub mark: Mark,
}

/// How long it is watched.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Between two refreshes, as it was told.
    pub delay: Duration,
    /// Refreshes that count.
    pub refreshes: usize,
    /// Timeout after which fewer refreshes do, down to one.
    pub patience: Duration,
}

/// CPU time, from one refresh to another.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Until the first that counts: loading, and the first one or two refreshes.
    pub start_ns: Option<u64>,
    /// CPU time of each refresh that counts.
    pub refreshing_ns: Vec<u64>,
    /// From each to the next.
    pub elapsed_ns: Vec<u64>,
    /// Of its whole life.
    pub user_ns: u64,
    /// Likewise.
    pub system_ns: u64,
}

impl Watched {
    /// CPU time of one refresh: the median.
    pub fn refresh_ms(&self) -> f64 {
        middle(&self.refreshing_ns) / 1e6
    }

    /// CPU time before what counts.
    pub fn start_ms(&self) -> f64 {
        self.start_ns.map_or(f64::NAN, |start_ns| start_ns as f64 / 1e6)
    }

    /// Percent of a CPU that such a refresh is, as often as they come.
    pub fn share(&self) -> f64 {
        middle(&self.refreshing_ns) * 100.0 / middle(&self.elapsed_ns)
    }
}

/// The median, the upper one of two.
fn middle(numbers: &[u64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).map_or(f64::NAN, |&number| number as f64)
}

/// Refreshes that do not count: tools that show rates have nothing to show at first, and others read what never changes.
const FIRST: usize = 1;

/// How long it may take to appear, and to go.
const START_LIMIT: Duration = Duration::from_secs(60);
const END_LIMIT: Duration = Duration::from_secs(10);

/// Runs it for the planned number of refreshes, and ends it. A monitor that does not refresh in time has none.
///
/// # Errors
/// When it cannot be run, or ends by itself.
pub fn watch(monitor: &Monitor, plan: &Plan) -> anyhow::Result<Watched> {
    let before = children_cpu_ns()?;
    let (mut child, output) = start(monitor)?;
    let refreshes = follow(&child, output, monitor.mark, plan);
    let ended = end(&mut child);
    let refreshes = refreshes.with_context(|| format!("cannot watch {}", monitor.name))?;
    ended?;
    let after = children_cpu_ns()?;
    let counted = refreshes.get(FIRST..).unwrap_or_default();
    Ok(Watched {
        start_ns: counted.first().map(|refresh| refresh.cpu_ns),
        refreshing_ns: counted.windows(2).map(|pair| pair[1].cpu_ns - pair[0].cpu_ns).collect(),
        elapsed_ns: counted.windows(2).map(|pair| (pair[1].at - pair[0].at).as_nanos() as u64).collect(),
        user_ns: after[0] - before[0],
        system_ns: after[1] - before[1],
    })
}

/// A refresh has begun to be shown.
#[derive(Debug, Clone, Copy)]
struct Refresh {
    at: Instant,
    cpu_ns: u64,
}

fn start(monitor: &Monitor) -> anyhow::Result<(Child, File)> {
    let (program, arguments) = monitor.words.split_first().context("a monitor has a name")?;
    let mut command = Command::new(program);
    command.args(arguments).env("TERM", "xterm").env("LC_ALL", "C").env("S_COLORS", "never");
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let output = if monitor.has_terminal {
        let terminal = openpty(None, None)?;
        command.stdin(terminal.slave.try_clone()?).stdout(terminal.slave);
        File::from(terminal.master)
    } else {
        let (read, write) = std::io::pipe()?;
        command.stdout(write);
        File::from(OwnedFd::from(read))
    };
    let child = command.spawn().with_context(|| {
        format!("cannot run {program}; scripts/install-packages bench installs htop, atop and sysstat")
    })?;
    Ok((child, output))
}

/// Takes notes of its refreshes until there are enough.
fn follow(child: &Child, output: File, mark: Mark, plan: &Plan) -> anyhow::Result<Vec<Refresh>> {
    let pid = Pid::from_raw(child.id().cast_signed());
    let (sender, receiver) = channel();
    let silence = plan.delay / 3;
    // Ends when the monitor does, as it alone holds the other end.
    std::thread::spawn(move || read(output, mark, silence, pid, &sender));
    let begin = Instant::now();
    let mut refreshes = Vec::new();
    while refreshes.len() < FIRST + 1 + plan.refreshes {
        let limit = if refreshes.len() < FIRST + 2 { START_LIMIT } else { plan.patience };
        match next(&receiver, limit.saturating_sub(begin.elapsed()))? {
            Some(refresh) => refreshes.push(refresh),
            None => break,
        }
    }
    Ok(refreshes)
}

fn next(receiver: &Receiver<Refresh>, limit: Duration) -> anyhow::Result<Option<Refresh>> {
    match receiver.recv_timeout(limit) {
        Ok(refresh) => Ok(Some(refresh)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => anyhow::bail!("it has ended by itself"),
    }
}

/// Reads all that is written, and tells of each refresh.
fn read(mut output: File, mark: Mark, silence: Duration, pid: Pid, sender: &Sender<Refresh>) {
    let mut room = vec![0; 64 * 1024];
    // The end of a line that has begun.
    let mut line = Vec::new();
    let mut last_output: Option<Instant> = None;
    // A terminal that is closed on the other side is an error, a pipe an end.
    while let Ok(length @ 1..) = output.read(&mut room) {
        let at = Instant::now();
        let refreshes = match mark {
            Mark::Line(words) => {
                line.extend_from_slice(&room[..length]);
                let whole = line.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
                let lines: Vec<u8> = line.drain(..whole).collect();
                String::from_utf8_lossy(&lines).lines().filter(|line| line.contains(words)).count()
            }
            Mark::Burst => usize::from(last_output.is_none_or(|last| at - last > silence)),
        };
        last_output = Some(at);
        if refreshes > 0 {
            let Some(cpu_ns) = cpu_ns(pid) else { return };
            if sender.send(Refresh { at, cpu_ns }).is_err() {
                // Enough was seen; what else it writes until it ends is read, so that it is not held up.
                continue;
            }
        }
    }
}

/// CPU time of a process, what runs now included.
fn cpu_ns(pid: Pid) -> Option<u64> {
    let now = clock_gettime(clock_getcpuclockid(pid).ok()?).ok()?;
    Some(now.tv_sec().unsigned_abs() * 1_000_000_000 + now.tv_nsec().unsigned_abs())
}

/// Asks it to end, then makes it: atop has to switch process accounting off.
fn end(child: &mut Child) -> anyhow::Result<()> {
    let begin = Instant::now();
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM)?;
    while child.try_wait()?.is_none() {
        if begin.elapsed() > END_LIMIT {
            child.kill()?;
            child.wait()?;
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, has_terminal: bool, mark: Mark) -> Monitor {
        let words = ["sh", "-c", script].map(str::to_owned).to_vec();
        Monitor { name: "a shell".to_owned(), words, has_terminal, mark }
    }

    const PLAN: Plan =
        Plan { delay: Duration::from_millis(300), refreshes: 2, patience: Duration::from_secs(30) };

    #[test]
    fn refreshes_are_seen_and_what_they_take() {
        // Burns some milliseconds, then shows something.
        let script = "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo top - $i; echo more; sleep 0.3; done";
        for (has_terminal, mark) in
            [(false, Mark::Line("top - ")), (true, Mark::Line("top - ")), (true, Mark::Burst)]
        {
            let watched = watch(&shell(script, has_terminal, mark), &PLAN).expect("it refreshes");
            assert_eq!((watched.refreshing_ns.len(), watched.elapsed_ns.len()), (2, 2), "{watched:?}");
            assert!(watched.share() < 100.0, "{watched:?}");
            // Where the machine is busy, one burst may look like two.
            if matches!(mark, Mark::Line(_)) {
                assert!(watched.elapsed_ns.iter().sum::<u64>() > 100_000_000, "{watched:?}");
                assert!(watched.refresh_ms() > 1.0, "{watched:?}");
            }
            assert!(watched.start_ns > Some(1_000_000), "{watched:?}");
        }
    }

    #[test]
    fn a_monitor_that_ends_or_is_silent_is_not_measured() {
        let ended = watch(&shell("echo top -", false, Mark::Line("top - ")), &PLAN);
        assert!(format!("{:#}", ended.expect_err("it ends")).contains("ended by itself"));
    }
}
