//! The process that attaches and detaches, round after round: what is left would be left there.

use std::io::{Read, Write, stdin, stdout};

use anyhow::{Context, Result};
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::source::{Exits, Source};
use cpuledger::source::{netlink::Netlink, walk::Walk};
use cpuledger::{FieldSet, Interval, Request, Scope, Snapshot};
use cpuledger_load::BpfHeld;
use cpuledger_model::make;

use crate::churn::{FINDING, Kind};
use crate::reader::GONE_WITHIN;

/// Length of an interval.
const INTERVAL_NS: u64 = 20_000_000;
/// Number of ledgers to attach before asking the kernel whether any of them is left.
const ASKED_AFTER: u64 = 32;

/// What is kept from round to round.
#[derive(Debug, Default)]
struct Attaching {
    rounds: u64,
    /// What was attached since the kernel was asked last.
    held: BpfHeld,
}

/// One round for each byte of standard input, until that is closed; on standard output a line for each, with its kind, and one for each
/// finding before it.
///
/// # Errors
/// When something cannot be attached.
pub fn run() -> Result<()> {
    let mut attaching = Attaching::default();
    let mut byte = [0];
    while stdin().read(&mut byte).context("read a word")? == 1 {
        let kind = attaching.round()?;
        writeln!(stdout(), "{}", kind.name()).context("tell of a round")?;
    }
    attaching.assert_gone()
}

fn tell(finding: &str) -> Result<()> {
    writeln!(stdout(), "{FINDING}{finding}").context("tell of a finding")
}

impl Attaching {
    fn round(&mut self) -> Result<Kind> {
        let kind = match fastrand::u8(..4) {
            0 | 1 => Kind::Ledger,
            2 => Kind::Walk,
            _ => Kind::Listener,
        };
        match kind {
            Kind::Ledger => self.ledger()?,
            Kind::Walk => self.walk()?,
            Kind::Listener => self.listener()?,
        }
        self.rounds += 1;
        if self.rounds.is_multiple_of(ASKED_AFTER) {
            self.assert_gone()?;
        }
        Ok(kind)
    }

    /// Asks whether the kernel has nothing left.
    fn assert_gone(&mut self) -> Result<()> {
        let left = std::mem::take(&mut self.held).left_after(GONE_WITHIN)?;
        if left == BpfHeld::default() {
            Ok(())
        } else {
            tell(&format!("what was detached has left {left:?}"))
        }
    }

    fn hold(&mut self) {
        let BpfHeld { programs, maps, links } = BpfHeld::by(std::process::id());
        self.held.programs.extend(programs);
        self.held.maps.extend(maps);
        self.held.links.extend(links);
    }

    fn ledger(&mut self) -> Result<()> {
        let mut ledger = Ledger::open(Options::default()).context("attach the ledger")?;
        let mut interval = Interval::default();
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
        for _ in 0..2 {
            let cut_ns = ledger.start_ns() + INTERVAL_NS;
            ledger.close(cut_ns, &wanted, &mut interval).context("close an interval")?;
            let imbalance = interval.imbalance_ns();
            if imbalance != Some(0) {
                tell(&format!("a new ledger's interval is out of balance by {imbalance:?} ns"))?;
            }
        }
        self.hold();
        Ok(())
    }

    fn walk(&mut self) -> Result<()> {
        let mut walk = Walk::open().context("load the walk")?;
        walk.watch_exits().context("attach the exit hook")?;
        let request = Request::new(Scope::Tasks, FieldSet::ALL);
        walk.snapshot(&request, &mut Snapshot::default()).context("walk")?;
        walk.exits(&mut Exits::default()).context("read exits")?;
        self.hold();
        Ok(())
    }

    fn listener(&mut self) -> Result<()> {
        // Kernels without taskstats have none.
        let Ok(mut netlink) = Netlink::open() else { return Ok(()) };
        let _ = netlink.watch_exits();
        let request = Request::new(Scope::Processes, FieldSet::ALL);
        netlink.snapshot(&request, &mut Snapshot::default()).context("ask for taskstats")?;
        Ok(())
    }
}
