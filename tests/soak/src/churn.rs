//! Attaching and detaching without end, in this process: what is left would be left here.

use std::fmt;

use anyhow::{Context, Result};
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::source::{Exits, Source};
use cpuledger::source::{netlink::Netlink, walk::Walk};
use cpuledger::{FieldSet, Interval, Request, Scope, Snapshot};

use crate::Findings;
use crate::process::Limits;

/// Length of an interval.
const INTERVAL_NS: u64 = 20_000_000;

/// What was attached and detached so far.
#[derive(Debug, Default)]
pub struct Churn {
    ledgers: u64,
    walks: u64,
    sockets: u64,
    limits: Limits,
    snapshot: Snapshot,
    interval: Interval,
}

impl Churn {
    /// Attaches one of them, uses it, and detaches it.
    ///
    /// # Errors
    /// When one cannot be attached.
    pub fn once(&mut self, is_warm: bool, findings: &Findings) -> Result<()> {
        match fastrand::u8(..4) {
            0 | 1 => self.ledger(findings)?,
            2 => self.walk()?,
            _ => self.socket()?,
        }
        self.limits.look("the process that attaches and detaches", std::process::id(), is_warm, findings)
    }

    /// Whether any ledger and any walk was.
    pub fn has_attached(&self) -> bool {
        self.ledgers > 0 && self.walks > 0
    }

    fn ledger(&mut self, findings: &Findings) -> Result<()> {
        let mut ledger = Ledger::open(Options::default()).context("attach the ledger")?;
        let wanted = Wanted { fields: FieldSet::ALL, pids: &[], all: false };
        for _ in 0..2 {
            let cut_ns = ledger.start_ns() + INTERVAL_NS;
            ledger
                .close(cut_ns, &wanted, &mut self.snapshot, &mut self.interval)
                .context("close an interval")?;
            let imbalance = self.interval.imbalance_ns();
            if imbalance != Some(0) {
                findings.add(format!("a new ledger's interval is out of balance by {imbalance:?} ns"));
            }
        }
        self.ledgers += 1;
        Ok(())
    }

    fn walk(&mut self) -> Result<()> {
        let mut walk = Walk::open().context("load the walk")?;
        walk.watch_exits().context("attach the exit hook")?;
        let request = Request { scope: Scope::Tasks, fields: FieldSet::ALL };
        walk.snapshot(&request, &mut self.snapshot).context("walk")?;
        walk.exits(&mut Exits::default()).context("read exits")?;
        self.walks += 1;
        Ok(())
    }

    fn socket(&mut self) -> Result<()> {
        // Kernels without taskstats have none.
        let Ok(mut netlink) = Netlink::open() else { return Ok(()) };
        let _ = netlink.watch_exits();
        let request = Request { scope: Scope::Processes, fields: FieldSet::ALL };
        netlink.snapshot(&request, &mut self.snapshot).context("ask for taskstats")?;
        self.sockets += 1;
        Ok(())
    }
}

impl fmt::Display for Churn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Churn { ledgers, walks, sockets, limits, .. } = self;
        write!(
            formatter,
            "attached and detached {ledgers} ledgers, {walks} walks, {sockets} listeners, {limits}"
        )
    }
}
