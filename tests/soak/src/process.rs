//! What a process takes of the machine, and whether it stays so.

use std::fs;

use anyhow::{Context, Result};

use crate::Findings;

/// Maximum growth of memory after the warm-up, besides a tenth: allocators keep what they had, and no two storms are equal.
const MEMORY_SLACK_KIB: u64 = 2048;
/// Additional memory for each process that died in the last 30 s, beyond the number in the warm-up. A reader remembers each in a
/// table and a queue, which grow by doubling, and are copied meanwhile.
const BYTES_A_DEAD: u64 = 512;
/// Maximum number of dead processes that are remembered.
const MOST_DEAD: u64 = 1 << 16;
/// Each death in an interval is a slot, a row and a line at the same time, in lists that grow by doubling.
const BYTES_A_DEATH: u64 = 2048;
/// Where more die in an interval than ever in the warm-up, a larger ledger may take over: two of 64 MiB at most.
const MOST_LOCKED_KIB: u64 = 2 * 64 * 1024;
/// What is read in passing.
const FILES_SLACK: u64 = 4;

/// What a process has at one time.
#[derive(Debug, Clone, Copy, Default)]
struct Holding {
    /// Its own memory.
    anonymous_kib: u64,
    /// All of its memory, what it shares in proportion: with the mapped records of the kernel half.
    pss_kib: u64,
    /// What its BPF maps lock.
    locked_kib: u64,
    files: u64,
}

/// What was asked of a process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demand {
    /// Processes that died within the time for which they are remembered.
    pub remembered: u64,
    /// Deaths in the interval with most of them.
    pub in_an_interval: u64,
}

impl Demand {
    fn most(self, other: Demand) -> Demand {
        Demand {
            remembered: self.remembered.max(other.remembered).min(MOST_DEAD),
            in_an_interval: self.in_an_interval.max(other.in_an_interval),
        }
    }

    fn beyond(self, other: Demand) -> Demand {
        Demand {
            remembered: self.remembered.saturating_sub(other.remembered),
            in_an_interval: self.in_an_interval.saturating_sub(other.in_an_interval),
        }
    }
}

/// Each of its figures: what it is, how to know it, and the limit: by what it was in the warm-up, and what was asked beyond that.
type Figure = (&'static str, fn(&Holding) -> u64, fn(u64, Demand) -> u64);

static FIGURES: [Figure; 4] = [
    ("KiB of its own", |holding| holding.anonymous_kib, |warm, more| memory(warm) + more_kib(more)),
    ("KiB in all", |holding| holding.pss_kib, |warm, more| memory(warm) + more_kib(more) + locked(0, more)),
    ("KiB locked", |holding| holding.locked_kib, |warm, more| locked(memory(warm), more)),
    ("files", |holding| holding.files, |warm, _| warm + FILES_SLACK),
];

fn memory(warm_kib: u64) -> u64 {
    warm_kib + warm_kib / 10 + MEMORY_SLACK_KIB
}

fn more_kib(more: Demand) -> u64 {
    (more.remembered * BYTES_A_DEAD + more.in_an_interval * BYTES_A_DEATH) / 1024
}

fn locked(usual_kib: u64, more: Demand) -> u64 {
    if more.in_an_interval > 0 { usual_kib.max(MOST_LOCKED_KIB) } else { usual_kib }
}

/// The most of each figure.
#[derive(Debug, Clone, Copy, Default)]
struct Most {
    figures: [u64; FIGURES.len()],
    demand: Demand,
}

impl Most {
    fn take(&mut self, holding: &Holding, demand: Demand) {
        for (most, (_, figure, _)) in self.figures.iter_mut().zip(&FIGURES) {
            *most = (*most).max(figure(holding));
        }
        self.demand = self.demand.most(demand);
    }
}

/// The most that a process has had, while it warmed up and since.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    warm: Most,
    since: Most,
    told: [bool; FIGURES.len()],
}

impl Limits {
    /// Looks at the process, with the load on it so far. More than after the warm-up is a finding, reported once.
    ///
    /// # Errors
    /// If the process is not there.
    pub fn look(
        &mut self,
        who: &str,
        pid: u32,
        demand: Demand,
        is_warm: bool,
        findings: &Findings,
    ) -> Result<()> {
        let holding = Holding::of(pid).with_context(|| format!("{who} is gone"))?;
        if !is_warm {
            self.warm.take(&holding, demand);
            return Ok(());
        }
        self.since.take(&holding, demand);
        let more = self.since.demand.beyond(self.warm.demand);
        for (index, (name, figure, limit)) in FIGURES.iter().enumerate() {
            let (now, warm) = (figure(&holding), self.warm.figures[index]);
            let most = limit(warm, more);
            if now > most && !std::mem::replace(&mut self.told[index], true) {
                findings.add(format!("{who} has {now} {name}: {warm} in the warm-up, so at most {most}"));
            }
        }
        Ok(())
    }
}

impl Limits {
    /// For the line of progress: the most of its own memory, and of files.
    pub fn brief(&self) -> String {
        let [own, .., files] = &self.warm.figures;
        let [own_since, .., files_since] = &self.since.figures;
        format!("{} KiB, {} files", own.max(own_since), files.max(files_since))
    }
}

impl std::fmt::Display for Limits {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let figures = self.warm.figures.iter().zip(&self.since.figures);
        for (index, ((warm, since), (name, ..))) in figures.zip(&FIGURES).enumerate() {
            write!(formatter, "{}{warm} then {since} {name}", if index > 0 { ", " } else { "" })?;
        }
        let (warm, since) = (self.warm.demand, self.since.demand);
        if since.in_an_interval == 0 {
            return Ok(());
        }
        write!(
            formatter,
            ", {} then {} dead remembered, {} then {} deaths in an interval",
            warm.remembered, since.remembered, warm.in_an_interval, since.in_an_interval
        )
    }
}

impl Holding {
    fn of(pid: u32) -> Result<Holding> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).context("read its status")?;
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).context("read its memory")?;
        let mut holding = Holding {
            anonymous_kib: number_after(&status, "RssAnon:").context("no RssAnon")?,
            pss_kib: number_after(&rollup, "Pss:").context("no Pss")?,
            ..Holding::default()
        };
        for file in fs::read_dir(format!("/proc/{pid}/fdinfo")).context("read its files")?.flatten() {
            holding.files += 1;
            // A process that has just closed it has nothing of it.
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            if text.contains("map_id:") {
                holding.locked_kib += number_after(&text, "memlock:").unwrap_or(0) / 1024;
            }
        }
        Ok(holding)
    }
}

fn number_after(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}
