//! Many threads that never run.

use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::Error;
use crate::running::{Running, number, value};

/// Making a hundred thousand threads takes seconds; on a loaded machine, many more.
const START_LIMIT: Duration = Duration::from_secs(600);

/// Processes whose threads all sleep until this is dropped.
#[derive(Debug)]
pub struct Sleepers {
    running: Running,
    processes: Vec<SleepingProcess>,
}

/// One of the processes of [`Sleepers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepingProcess {
    /// Its pid.
    pub pid: i32,
    /// How many threads it has, the leader included.
    pub threads: usize,
}

impl Sleepers {
    /// Starts `threads` threads in all, spread evenly over `processes` processes, and returns when all exist.
    ///
    /// # Errors
    /// [`Error::GaveUp`] with the limit that is in the way; [`crate::RaisedLimits`] can move two of them.
    pub fn start(threads: usize, processes: usize) -> Result<Sleepers, Error> {
        let (threads, processes) = (threads.to_string(), processes.to_string());
        let mut running = Running::start(["sleepers", "--threads", &threads, "--processes", &processes])?;
        let line = running.expect_line(START_LIMIT)?;
        match parse(&line) {
            Some(processes) => Ok(Sleepers { running, processes }),
            None => Err(running.unexpected(&line)),
        }
    }

    /// The processes; the first is the program itself and the parent of the others.
    pub fn processes(&self) -> &[SleepingProcess] {
        &self.processes
    }

    /// Waits until all of them sleep: when they exist, the last ones may still be on their way, on a busy machine for long.
    ///
    /// # Errors
    /// [`Error::System`] if they are gone.
    pub fn settle(&self) -> Result<(), Error> {
        let deadline = Instant::now() + START_LIMIT;
        for process in &self.processes {
            let failed = || Error::system("read the state of a sleeper");
            for task in fs::read_dir(format!("/proc/{}/task", process.pid)).map_err(failed())? {
                let stat = task.map_err(failed())?.path().join("stat");
                let sleeps =
                    |text: String| text.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'));
                while !fs::read_to_string(&stat).map(sleeps).map_err(failed())? && Instant::now() < deadline {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
        Ok(())
    }

    /// The threads of all processes.
    pub fn threads(&self) -> usize {
        self.processes.iter().map(|process| process.threads).sum()
    }

    /// Ends them all and waits until they are gone, as drop does, but tells if they did not end well.
    ///
    /// # Errors
    /// [`Error::GaveUp`] or [`Error::System`].
    pub fn stop(mut self) -> Result<(), Error> {
        self.running.release();
        self.running.end(START_LIMIT)
    }
}

fn parse(line: &str) -> Option<Vec<SleepingProcess>> {
    line.strip_prefix("ready ")?;
    let threads: usize = number(line, "threads")?;
    let pids: Vec<i32> =
        value(line, "pids")?.split(',').map(|pid| pid.parse().ok()).collect::<Option<_>>()?;
    let share = |index| threads / pids.len() + usize::from(index < threads % pids.len());
    Some(
        pids.iter().enumerate().map(|(index, &pid)| SleepingProcess { pid, threads: share(index) }).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_spread_evenly_the_first_get_one_more() {
        let processes =
            parse("ready pid=10 threads=8 processes=3 pids=10,11,12").expect("the line is well formed");
        let pairs: Vec<_> = processes.iter().map(|p| (p.pid, p.threads)).collect();
        assert_eq!(pairs, [(10, 3), (11, 3), (12, 2)]);
    }
}
