//! What is in the files: intervals, rows, bytes.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use cpuledger::Interval;
use cpuledger::framing::{self, Circumstances};
use cpuledger_model::frame::{Frame, Section};
use cpuledger_recording::{Options, Recording, Writer};

use super::took::{Pids, Took};

/// The sections whose rows are tasks.
const ROWS: [Section; 3] = [Section::Processes, Section::Tasks, Section::Exited];

fn each(books: &Path, mut look: impl FnMut(&Frame) -> anyhow::Result<()>) -> anyhow::Result<u64> {
    let mut recording = Recording::open(books)?;
    let (mut intervals, mut next) = (0, recording.first());
    while let Some(place) = next {
        let record = recording.read(place)?.context("a record is damaged")?;
        look(&record.frame)?;
        intervals += 1;
        next = recording.next(place);
    }
    Ok(intervals)
}

fn bytes_below(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// Of a recording: processes, threads and the dead.
///
/// # Errors
/// When it cannot be read.
pub fn of_recording(books: &Path, took: Took) -> anyhow::Result<Took> {
    let mut rows = 0;
    let intervals = each(books, |frame| {
        rows += ROWS.iter().map(|section| frame.table(*section).len() as u64).sum::<u64>();
        Ok(())
    })?;
    Ok(Took { intervals, rows, bytes: bytes_below(&books.join("all"))?, ..took })
}

/// Of a recording as if it had only these processes, with their threads; of the dead only whole processes.
///
/// # Errors
/// When it cannot be read, or written again.
pub fn of_processes(books: &Path, copy: &Path, pids: &Pids) -> anyhow::Result<Took> {
    let mut writer = Writer::open(copy, Options::default())?;
    let (mut interval, mut common) = (Interval::default(), Frame::new());
    let mut rows = 0;
    let intervals = each(books, |frame| {
        framing::read(frame, &mut interval)?;
        let Interval { processes, tasks, exited, .. } = &mut interval;
        for rows in [processes, tasks] {
            rows.retain(|row| pids.contains(&row.task.pid.0));
        }
        let of_process = |dead: &cpuledger::interval::Exited| {
            dead.ends_process == Some(true) && pids.contains(&dead.exit.process.tid.0)
        };
        exited.iter_mut().for_each(|dead| dead.retain(of_process));
        let of = Circumstances::of_frame(frame);
        framing::write(&interval, &of, &mut common);
        rows += ROWS.iter().map(|section| common.table(*section).len() as u64).sum::<u64>();
        Ok(writer.append(&common)?)
    })?;
    writer.close()?;
    Ok(Took {
        subject: "of that: the processes that atop has, too".to_owned(),
        sleeping_threads: 0,
        intervals,
        rows,
        bytes: writer.written_bytes(),
        seconds: 1.0,
        cpu_ns: 0,
        writer_cpu_ns: 0,
        memory_bytes: 0,
        start_memory_bytes: 0,
    })
}

/// Of a file of atop, and the processes in it. Its first sample is since the boot, and one as the others.
///
/// # Errors
/// When atop cannot read it.
pub fn of_atop(raw: &Path, took: Took) -> anyhow::Result<(Took, Pids)> {
    let output = Command::new("atop").arg("-r").arg(raw).args(["-P", "PRG"]).output()?;
    ensure!(output.status.success(), "atop cannot read {}", raw.display());
    let text = String::from_utf8_lossy(&output.stdout);
    let (mut intervals, mut rows, mut pids) = (0, 0, Pids::new());
    for line in text.lines() {
        match line.split(' ').next() {
            Some("SEP") => intervals += 1,
            Some("PRG") => {
                rows += 1;
                pids.extend(line.split(' ').nth(6).and_then(|pid| pid.parse::<i32>().ok()));
            }
            _ => {}
        }
    }
    ensure!(intervals > 0 && !pids.is_empty(), "atop has recorded nothing");
    let bytes = fs::metadata(raw)?.len();
    Ok((Took { intervals, rows, bytes, ..took }, pids))
}
