//! Threads and children that use a stated amount of CPU time, then say exactly how much.

use std::time::Duration;

use crate::Error;
use crate::running::{Running, number, value};

const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// What a [`Burn`] shall do. With neither threads nor children, the program's leader burns.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurnPlan {
    /// CPU time of each burner, in milliseconds.
    pub cpu_ms: u32,
    /// Burning threads beside the leader, which only waits for them.
    pub threads: usize,
    /// Burning child processes, one thread each.
    pub children: usize,
    /// Ignore SIGCHLD, so that the kernel reaps the children and adds their time to no process.
    pub ignore_sigchld: bool,
}

/// A burn at work. Dropping it kills what is left of it.
#[derive(Debug)]
pub struct Burn {
    running: Running,
}

/// What one burner said just before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Burned {
    /// Its tid.
    pub tid: i32,
    /// Its pid.
    pub pid: i32,
    /// Its parent's pid at that time.
    pub ppid: i32,
    /// Its name.
    pub comm: String,
    /// Its CPU time, by its own clock. What its end costs comes on top: a write and an exit, some 10 µs to
    /// 100 µs.
    pub ns: u64,
}

impl Burn {
    /// Starts burning at once.
    ///
    /// # Errors
    /// [`Error::Start`] or [`Error::NoProgram`].
    pub fn start(plan: &BurnPlan) -> Result<Burn, Error> {
        let mut arguments: Vec<String> = vec!["burn".into()];
        arguments.extend(["--cpu-ms".into(), plan.cpu_ms.to_string()]);
        arguments.extend(["--threads".into(), plan.threads.to_string()]);
        arguments.extend(["--children".into(), plan.children.to_string()]);
        arguments.extend(plan.ignore_sigchld.then(|| "--ignore-sigchld".into()));
        Ok(Burn { running: Running::start(arguments)? })
    }

    /// The pid of the program itself, the parent of the children.
    pub fn pid(&self) -> i32 {
        self.running.pid()
    }

    /// Waits until all have burned and the program is gone.
    ///
    /// # Errors
    /// [`Error::Late`] if none finishes for `limit`.
    pub fn finish(mut self, limit: Duration) -> Result<Vec<Burned>, Error> {
        let mut burned = Vec::new();
        while let Some(line) = self.running.line(limit)? {
            burned.push(parse(&line).ok_or_else(|| self.running.unexpected(&line))?);
        }
        self.running.end(ANSWER_LIMIT)?;
        Ok(burned)
    }
}

impl Drop for Burn {
    fn drop(&mut self) {
        if let Err(error) = self.running.kill() {
            eprintln!("a burn is left behind: {error}");
        }
    }
}

fn parse(line: &str) -> Option<Burned> {
    line.strip_prefix("burned ")?;
    Some(Burned {
        tid: number(line, "tid")?,
        pid: number(line, "pid")?,
        ppid: number(line, "ppid")?,
        comm: value(line, "comm")?.to_string(),
        ns: number(line, "ns")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burned_line_names_the_burner() {
        let burned = parse("burned tid=7 pid=5 ppid=1 comm=burn-thread-2 ns=20000123");
        let comm = "burn-thread-2".to_string();
        assert_eq!(burned, Some(Burned { tid: 7, pid: 5, ppid: 1, comm, ns: 20_000_123 }));
        assert_eq!(parse("burned tid=7 pid=5"), None);
    }
}
