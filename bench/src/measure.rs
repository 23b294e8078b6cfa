//! Timing: subjects run alternately, so that a machine that drifts drifts for all of them.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use rustix::time::{ClockId, clock_gettime};

/// Something whose wall or CPU time is taken.
pub struct Subject<'a> {
    /// Its name in the table.
    pub name: String,
    /// Runs it once and says how long it took.
    pub run: Box<dyn FnMut() -> anyhow::Result<Duration> + 'a>,
}

impl<'a> Subject<'a> {
    /// A whole process.
    pub fn command(name: &str, program: &'a str, arguments: &'a [&'a str]) -> Subject<'a> {
        Subject { name: name.to_owned(), run: Box::new(move || time_command(program, arguments)) }
    }

    /// The same by its CPU time.
    pub fn command_by_cpu_time(name: &str, program: &'a str, arguments: &'a [&'a str]) -> Subject<'a> {
        Subject { name: name.to_owned(), run: Box::new(move || cpu_of_command(program, arguments)) }
    }
}

/// Runs each subject `rounds` times, one after another in each round and every other time in the reverse order, after one round that
/// does not count. Returns the durations by subject.
///
/// # Errors
/// When a subject fails.
pub fn alternate(subjects: &mut [Subject<'_>], rounds: usize) -> anyhow::Result<Vec<Vec<Duration>>> {
    let mut durations = vec![Vec::with_capacity(rounds); subjects.len()];
    for round in 0..=rounds {
        for at in 0..durations.len() {
            let at = if round % 2 == 0 { at } else { durations.len() - 1 - at };
            let (subject, durations) = (&mut subjects[at], &mut durations[at]);
            let duration = (subject.run)().with_context(|| format!("{} failed", subject.name))?;
            if round > 0 {
                durations.push(duration);
            }
        }
    }
    Ok(durations)
}

/// The middle of the durations, the upper one of two.
pub fn median(durations: &[Duration]) -> Duration {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// The middle of the figures, the upper one of two; not a number of none.
pub fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Bytes read at once.
const ROOM_BYTES: usize = 256 * 1024;

/// Wall time of a whole process whose output goes into a pipe that is read to its end.
///
/// # Errors
/// When it cannot be started or ends with an error.
pub fn time_command(program: &str, arguments: &[&str]) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    let mut command = Command::new(program);
    let mut child = command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {command:?}"))?;
    // Nothing is kept, so that the reader does not hold up the writer.
    let mut room = vec![0; ROOM_BYTES];
    if let Some(mut pipe) = child.stdout.take() {
        while pipe.read(&mut room)? > 0 {}
    }
    let status = child.wait()?;
    let elapsed = begin.elapsed();
    ensure!(status.success(), "{command:?}: {status}");
    Ok(elapsed)
}

/// Wall time of a whole process whose output goes to /dev/null: no reader of it takes CPU time from it.
///
/// # Errors
/// When it cannot be started or ends with an error.
pub fn time_unread(command: &mut Command) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {command:?}"))?;
    let elapsed = begin.elapsed();
    ensure!(status.success(), "{command:?}: {status}");
    Ok(elapsed)
}

/// CPU time of all threads of a process, by the scheduler's clock.
pub fn cpu_ns(pid: u32) -> anyhow::Result<u64> {
    let mut sum_ns = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let schedstat = std::fs::read_to_string(task?.path().join("schedstat"))?;
        sum_ns += schedstat.split(' ').next().unwrap_or_default().parse::<u64>()?;
    }
    Ok(sum_ns)
}

/// Of that: the time of the threads of this name; 0 where there is none.
pub fn cpu_ns_of_thread(pid: u32, name: &str) -> anyhow::Result<u64> {
    let mut sum_ns = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let path = task?.path();
        if std::fs::read_to_string(path.join("comm"))?.trim_end() == name {
            let schedstat = std::fs::read_to_string(path.join("schedstat"))?;
            sum_ns += schedstat.split(' ').next().unwrap_or_default().parse::<u64>()?;
        }
    }
    Ok(sum_ns)
}

/// CPU time of this thread.
pub fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// CPU time of a whole process whose output goes into a pipe that is read to its end.
///
/// # Errors
/// When it cannot be started or ends with an error.
pub fn cpu_of_command(program: &str, arguments: &[&str]) -> anyhow::Result<Duration> {
    let sum = |parts: [u64; 2]| Duration::from_nanos(parts.iter().sum());
    let before = sum(children_cpu_ns()?);
    time_command(program, arguments)?;
    Ok(sum(children_cpu_ns()?) - before)
}

/// User and system time of all children that were waited for.
pub fn children_cpu_ns() -> anyhow::Result<[u64; 2]> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok([usage.user_time(), usage.system_time()]
        .map(|time| (time.tv_sec() * 1_000_000 + time.tv_usec()).unsigned_abs() * 1_000))
}
