//! Processes or threads that are made and end without pause.

use std::path::PathBuf;
use std::time::Duration;

use crate::Error;
use crate::running::{Running, number, value};

const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// What a [`Storm`] shall do.
#[derive(Clone, Debug, Default)]
pub struct StormPlan {
    /// How many loops run at once; 0 means one.
    pub workers: usize,
    /// What each process executes; `/bin/true` if not stated.
    pub exec: Option<PathBuf>,
    /// How long; without it, until stopped.
    pub seconds: Option<u32>,
    /// Create and join threads instead of processes.
    pub threads: bool,
}

/// A storm at work. Dropping it ends it.
#[derive(Debug)]
pub struct Storm {
    running: Running,
    workers: Vec<i32>,
}

/// What a storm has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stormed {
    /// Processes or threads made and gone.
    pub made: u64,
    /// Of the processes, those that could not be made or did not exit with 0.
    pub failed: u64,
    /// CPU time of the workers and of all that they made, as the kernel's `RUSAGE_CHILDREN` says it.
    pub cpu_ns: u64,
    /// CPU time of the processes made, without the workers; not known for threads.
    pub made_cpu_ns: Option<u64>,
}

impl Storm {
    /// Starts the storm and returns when all workers exist.
    ///
    /// # Errors
    /// [`Error::GaveUp`] with the program's reason.
    pub fn start(plan: &StormPlan) -> Result<Storm, Error> {
        let mut arguments =
            vec!["storm".to_string(), "--workers".to_string(), plan.workers.max(1).to_string()];
        if let Some(seconds) = plan.seconds {
            arguments.extend(["--seconds".to_string(), seconds.to_string()]);
        }
        if plan.threads {
            arguments.push("--threads".to_string());
        }
        let mut arguments: Vec<_> = arguments.into_iter().map(std::ffi::OsString::from).collect();
        if let Some(exec) = &plan.exec {
            arguments.extend(["--exec".into(), exec.into()]);
        }
        let mut running = Running::start(arguments)?;
        let line = running.expect_line(ANSWER_LIMIT)?;
        match parse_ready(&line) {
            Some(workers) => Ok(Storm { running, workers }),
            None => Err(running.unexpected(&line)),
        }
    }

    /// The pid of the workers' parent.
    pub fn pid(&self) -> i32 {
        self.running.pid()
    }

    /// The pids of the workers: each is the parent (or the process) of what it makes.
    pub fn workers(&self) -> &[i32] {
        &self.workers
    }

    /// Ends the storm now and tells what it has done.
    ///
    /// # Errors
    /// [`Error::GaveUp`] or [`Error::System`].
    pub fn stop(mut self) -> Result<Stormed, Error> {
        self.running.release();
        self.result(ANSWER_LIMIT)
    }

    /// Waits for the end of a storm with a stated duration and tells what it has done.
    ///
    /// # Errors
    /// [`Error::Late`] if it goes on for longer than `limit`.
    pub fn finish(mut self, limit: Duration) -> Result<Stormed, Error> {
        self.result(limit)
    }

    fn result(&mut self, limit: Duration) -> Result<Stormed, Error> {
        let line = self.running.expect_line(limit)?;
        let stormed = parse_stormed(&line).ok_or_else(|| self.running.unexpected(&line))?;
        self.running.end(ANSWER_LIMIT)?;
        Ok(stormed)
    }
}

fn parse_ready(line: &str) -> Option<Vec<i32>> {
    line.strip_prefix("ready ")?;
    value(line, "workers")?.split(',').map(|pid| pid.parse().ok()).collect()
}

fn parse_stormed(line: &str) -> Option<Stormed> {
    line.strip_prefix("stormed ")?;
    let made_cpu_ns = match value(line, "made_cpu_ns")? {
        "-" => None,
        ns => Some(ns.parse().ok()?),
    };
    let (made, failed, cpu_ns) = (number(line, "made")?, number(line, "failed")?, number(line, "cpu_ns")?);
    Some(Stormed { made, failed, cpu_ns, made_cpu_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_not_zero() {
        let threads =
            parse_stormed("stormed made=5 failed=0 cpu_ns=1000 made_cpu_ns=-").expect("well formed");
        assert_eq!(threads.made_cpu_ns, None);
        let processes =
            parse_stormed("stormed made=5 failed=1 cpu_ns=1000 made_cpu_ns=0").expect("well formed");
        assert_eq!((processes.failed, processes.made_cpu_ns), (1, Some(0)));
        assert_eq!(parse_stormed("ready workers=1"), None);
    }
}
