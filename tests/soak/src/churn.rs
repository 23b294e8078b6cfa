//! Attaching and detaching without end, by a process of its own that is looked at.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::Findings;
use crate::process::{Demand, Limits};

/// Before a line that is a finding.
pub const FINDING: &str = "finding: ";

/// What is attached in a round.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A ledger, for two intervals.
    Ledger,
    /// A walk, with its hook of exits.
    Walk,
    /// A taskstats listener.
    Listener,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Ledger, Kind::Walk, Kind::Listener];

    /// In a line of the process.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ledger => "ledger",
            Kind::Walk => "walk",
            Kind::Listener => "listener",
        }
    }
}

/// The process, and what it has done.
#[derive(Debug)]
pub struct Churn {
    child: Child,
    lines: BufReader<ChildStdout>,
    rounds: [u64; Kind::ALL.len()],
    limits: Limits,
}

impl Churn {
    /// Starts it.
    ///
    /// # Errors
    /// If this program cannot be started again.
    pub fn start(seed: u64) -> Result<Churn> {
        let own = std::env::current_exe().context("where this program is")?;
        let mut child = Command::new(own)
            .args(["--attach", "--seed", &seed.to_string()])
            // What is given back is given back to the system, so that what is kept is seen.
            .envs([
                ("MALLOC_ARENA_MAX", "1"),
                ("MALLOC_MMAP_THRESHOLD_", "65536"),
                ("MALLOC_TRIM_THRESHOLD_", "65536"),
            ])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the process that attaches and detaches")?;
        let lines = BufReader::new(child.stdout.take().context("a pipe")?);
        Ok(Churn { child, lines, rounds: [0; Kind::ALL.len()], limits: Limits::default() })
    }

    /// Has it attach one of them, use it, and detach it.
    ///
    /// # Errors
    /// When one cannot be attached.
    pub fn once(&mut self, is_warm: bool, findings: &Findings) -> Result<()> {
        self.child.stdin.as_ref().context("a pipe")?.write_all(b"+").context("begin a round")?;
        while let Some(line) = self.line(findings)? {
            if let Some(kind) = Kind::ALL.iter().position(|kind| kind.name() == line) {
                self.rounds[kind] += 1;
                let who = "the process that attaches and detaches";
                return self.limits.look(who, self.child.id(), Demand::default(), is_warm, findings);
            }
        }
        bail!("the process that attaches and detaches has ended by itself")
    }

    /// Ends it; it asks the kernel once more whether anything is left.
    ///
    /// # Errors
    /// If it fails.
    pub fn end(&mut self, findings: &Findings) -> Result<()> {
        drop(self.child.stdin.take());
        while self.line(findings)?.is_some() {}
        let status = self.child.wait().context("wait for the process that attaches and detaches")?;
        ensure!(status.success(), "the process that attaches and detaches ends with {status}");
        Ok(())
    }

    /// The next line that is no finding; `None`: it has ended.
    fn line(&mut self, findings: &Findings) -> Result<Option<String>> {
        let mut line = String::new();
        while self.lines.read_line(&mut line).context("hear of a round")? > 0 {
            match line.trim_end().strip_prefix(FINDING) {
                Some(finding) => findings.add(finding.to_owned()),
                None => return Ok(Some(line.trim_end().to_owned())),
            }
            line.clear();
        }
        Ok(None)
    }

    /// Whether any of each was.
    pub fn has_attached(&self) -> bool {
        self.rounds.iter().all(|rounds| *rounds > 0)
    }

    /// What it took.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Display for Churn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [ledgers, walks, listeners] = self.rounds;
        write!(formatter, "attached and detached {ledgers} ledgers, {walks} walks, {listeners} listeners")
    }
}
