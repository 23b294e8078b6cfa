//! Families in which it is not obvious which process accounts for which.

use std::time::Duration;

use crate::Error;
use crate::running::{Running, number, value};

const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// A family that waits to begin, or has begun. Dropping it ends it.
#[derive(Debug)]
pub struct Kin {
    running: Running,
}

/// What one member said when it had burned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinsman {
    /// Its role in the family.
    pub role: String,
    /// Its tid.
    pub tid: i32,
    /// Its pid.
    pub pid: i32,
    /// Its parent's pid at that time.
    pub ppid: i32,
    /// Its CPU time, by its own clock. What comes after, a write and mostly an exit, is on top.
    pub ns: u64,
}

/// The reports of many short-lived children that are not waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brood {
    /// How many.
    pub children: u64,
    /// The sum of their CPU times by their own clocks, each taken just before its exit.
    pub ns: u64,
}

impl Kin {
    /// Starts a family of that kind, in which each burner burns for that time; `cpuledger-load kin --help` lists the kinds.
    ///
    /// # Errors
    /// [`Error::GaveUp`] with the program's reason.
    pub fn start(kind: &str, cpu_ms: u64) -> Result<Kin, Error> {
        Kin::start_with(kind, cpu_ms, 0)
    }

    /// As [`Kin::start`], for a kind with many children.
    ///
    /// # Errors
    /// [`Error::GaveUp`] with the program's reason.
    pub fn start_with(kind: &str, cpu_ms: u64, children: u64) -> Result<Kin, Error> {
        let (cpu_ms, children) = (cpu_ms.to_string(), children.to_string());
        let arguments = ["kin", "--kind", kind, "--cpu-ms", &cpu_ms, "--children", &children];
        let mut running = Running::start(arguments)?;
        let line = running.expect_line(ANSWER_LIMIT)?;
        match line.starts_with("ready ") {
            true => Ok(Kin { running }),
            false => Err(running.unexpected(&line)),
        }
    }

    /// The pid of the first process.
    pub fn pid(&self) -> i32 {
        self.running.pid()
    }

    /// Lets it begin.
    ///
    /// # Errors
    /// [`Error::GaveUp`] if it is gone.
    pub fn begin(&mut self) -> Result<(), Error> {
        self.running.give_word()
    }

    /// Waits until this number of further members has burned.
    ///
    /// # Errors
    /// [`Error::GaveUp`] with the program's reason.
    pub fn burned(&mut self, members: usize) -> Result<Vec<Kinsman>, Error> {
        let mut burned = Vec::with_capacity(members);
        while burned.len() < members {
            let line = self.running.expect_line(ANSWER_LIMIT)?;
            burned.push(parse(&line).ok_or_else(|| self.running.unexpected(&line))?);
        }
        Ok(burned)
    }

    /// Waits until all children of a brood are gone.
    ///
    /// # Errors
    /// [`Error::Late`] if they go on for longer than `limit`.
    pub fn brood(&mut self, limit: Duration) -> Result<Brood, Error> {
        let line = self.running.expect_line(limit)?;
        parse_brood(&line).ok_or_else(|| self.running.unexpected(&line))
    }
}

fn parse(line: &str) -> Option<Kinsman> {
    line.strip_prefix("burned ")?;
    Some(Kinsman {
        role: value(line, "role")?.to_string(),
        tid: number(line, "tid")?,
        pid: number(line, "pid")?,
        ppid: number(line, "ppid")?,
        ns: number(line, "ns")?,
    })
}

fn parse_brood(line: &str) -> Option<Brood> {
    line.strip_prefix("brood ")?;
    Some(Brood { children: number(line, "children")?, ns: number(line, "ns")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burned_line_names_the_role() {
        let role = "orphan".to_string();
        let kinsman = Kinsman { role, tid: 7, pid: 5, ppid: 1, ns: 20_000_123 };
        assert_eq!(parse("burned role=orphan tid=7 pid=5 ppid=1 ns=20000123"), Some(kinsman));
        assert_eq!(parse("brood children=1 ns=2"), None);
    }
}
