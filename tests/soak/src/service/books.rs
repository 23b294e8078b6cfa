//! The recording at the end: whether it is whole, and whether all that reads it counts the same.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cpuledger::{Interval, framing};
use cpuledger_recording::{Recording, Step};
use serde_json::Value;

use super::honest::look_at;
use crate::Findings;

/// What was recorded.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Recorded {
    pub intervals: u64,
    pub capacity_ns: u64,
    pub attributed_ns: u64,
    pub unattributed_ns: u64,
    pub exited: u64,
    /// From its begin to its end.
    pub length_ns: u64,
}

/// Reads it record by record: each balances, and begins where the one before ended.
///
/// # Errors
/// When it cannot be read.
pub fn read(folder: &Path, findings: &Findings) -> Result<Recorded> {
    let mut recording = Recording::open(folder).context("open the recording")?;
    let (mut recorded, mut begin_ns, mut end_ns) = (Recorded::default(), None, None);
    let mut interval = Interval::default();
    let mut next = recording.first();
    while let Some(place) = next {
        match recording.step(place).context("read the recording")? {
            Step::Record(record, behind) => {
                framing::read(&record.frame, &mut interval)?;
                look_at("the recording", &interval, end_ns, findings);
                let sum: u64 = interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
                if sum != interval.attributed_ns {
                    let attributed = interval.attributed_ns;
                    findings
                        .add(format!("the recording: the rows have {sum} ns of {attributed} ns attributed"));
                }
                recorded.intervals += 1;
                recorded.capacity_ns += interval.capacity_ns;
                recorded.attributed_ns += interval.attributed_ns;
                recorded.unattributed_ns += interval.unattributed_ns.unwrap_or_default();
                recorded.exited += interval.exited.as_ref().map_or(0, Vec::len) as u64;
                begin_ns = begin_ns.or(Some(interval.start_ns));
                end_ns = Some(interval.end_ns);
                next = behind;
            }
            Step::Loss(loss, behind) => {
                findings.add(format!("the recording is damaged: {loss:?}"));
                next = behind;
            }
        }
    }
    recorded.length_ns = end_ns.unwrap_or_default() - begin_ns.unwrap_or_default();
    Ok(recorded)
}

/// Compares what `report` and `export` count of it.
///
/// # Errors
/// When one cannot be run.
pub fn compare(cpuledger: &Path, folder: &Path, recorded: &Recorded, findings: &Findings) -> Result<()> {
    let report = Command::new(cpuledger).args(["report", "--format", "json"]).arg(folder).output()?;
    ensure!(report.status.success(), "report: {}", String::from_utf8_lossy(&report.stderr));
    let report: Value = serde_json::from_slice(&report.stdout).context("the report is JSON")?;
    let own = [
        ("intervals", recorded.intervals),
        ("capacity_ns", recorded.capacity_ns),
        ("attributed_ns", recorded.attributed_ns),
        ("unattributed_ns", recorded.unattributed_ns),
    ];
    for (name, number) in own {
        if report[name] != number {
            findings.add(format!("report says {name} {}, recorded were {number}", report[name]));
        }
    }
    let tables = folder.with_file_name("tables");
    let export = Command::new(cpuledger).args(["export", "-o"]).arg(&tables).arg(folder).output()?;
    let said = String::from_utf8_lossy(&export.stderr);
    ensure!(export.status.success(), "export: {said}");
    let counted = counted(&said).with_context(|| format!("export does not count: {said}"))?;
    if counted != recorded.intervals {
        findings.add(format!("export counts {counted} intervals, recorded were {}", recorded.intervals));
    }
    Ok(())
}

/// How many intervals there are by what `export` says.
fn counted(said: &str) -> Option<u64> {
    let words: Vec<&str> = said.lines().last()?.split_whitespace().collect();
    let place = words.iter().position(|word| word.starts_with("interval"))?;
    words.get(place.checked_sub(1)?)?.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_export_counts_is_in_its_last_line() {
        let said = "a note\ncpuledger: 8,123 intervals and 264 rows in 3 files (0.1 s)\n";
        assert_eq!(counted(said), Some(8123));
        assert_eq!(counted("nothing\n"), None);
    }
}
