//! A recording as long as wanted, made of real intervals: these again and again, each time with processes of their own.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_recording::{Options, Recording, Writer};

const SECOND_NS: u64 = 1_000_000_000;

/// Seconds of a day.
pub const DAY: u64 = 86_400;

/// When it begins, CLOCK_REALTIME: 2026-03-01 00:00:00 UTC.
pub const BEGIN_NS: u64 = 1_772_323_200 * SECOND_NS;

/// Which day.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The recording whose intervals make the day
    #[arg(long)]
    pub from: PathBuf,
    /// Where the day is, or is made; a temporary directory if none is named
    #[arg(long)]
    pub day: Option<PathBuf>,
}

/// A day of seconds. If it is in a temporary directory, it ends with this.
pub struct Day {
    path: PathBuf,
    is_temporary: bool,
}

impl Day {
    /// That of these intervals, made if it is not there yet.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn of(frames: &[Frame], arguments: &Arguments) -> anyhow::Result<Day> {
        let temporary = || std::env::temp_dir().join(format!("cpuledger-day-{}", std::process::id()));
        let path = arguments.day.clone().unwrap_or_else(temporary);
        let day = Day { path, is_temporary: arguments.day.is_none() };
        if !day.path.exists() {
            write(frames, &day.path, DAY, Options::default())?;
        }
        Ok(day)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Day {
    fn drop(&mut self) {
        if self.is_temporary {
            // What is left is in a temporary directory.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// The intervals of the recording that is named.
///
/// # Errors
/// When it cannot be read, or has none.
pub fn real_frames(arguments: &Arguments) -> anyhow::Result<Vec<Frame>> {
    let path = &arguments.from;
    let mut recording = Recording::open(path)?;
    let (mut frames, mut next) = (Vec::new(), recording.first());
    while let Some(place) = next {
        frames.extend(recording.read(place)?.map(|record| record.frame));
        next = recording.next(place);
    }
    ensure!(!frames.is_empty(), "{} has no interval", path.display());
    Ok(frames)
}

/// Writes intervals of a second each: the real ones in turn.
///
/// # Errors
/// When they cannot be written.
pub fn write(frames: &[Frame], path: &Path, intervals: u64, options: Options) -> anyhow::Result<()> {
    let mut writer = Writer::open(path, options)?;
    let boottime_ns = |frame: &Frame| frame.figure(Column::END_BOOTTIME_NS).unwrap_or_default();
    let first_ns = boottime_ns(&frames[0]).saturating_sub(SECOND_NS);
    for second in 0..intervals {
        let turn = second / frames.len() as u64;
        let mut frame = frames[(second % frames.len() as u64) as usize].clone();
        for (column, ns) in [
            (Column::START_NS, first_ns + second * SECOND_NS),
            (Column::END_NS, first_ns + (second + 1) * SECOND_NS),
            (Column::END_BOOTTIME_NS, first_ns + (second + 1) * SECOND_NS),
            (Column::END_REALTIME_NS, BEGIN_NS + (second + 1) * SECOND_NS),
        ] {
            frame.set_figure(column, Some(ns));
        }
        shift_starts(&mut frame, turn * frames.len() as u64 * SECOND_NS);
        writer.append(&frame).with_context(|| format!("interval {second}"))?;
    }
    Ok(writer.close()?)
}

/// In each turn the processes are other ones.
fn shift_starts(frame: &mut Frame, by_ns: u64) {
    for section in [Section::Processes, Section::Tasks, Section::Exited] {
        let table = frame.table_mut(section);
        for column in [Column::START_TIME_NS, Column::PROCESS_START_NS, Column::ACCOUNTING_START_NS] {
            if table.has(column) {
                for row in 0..table.len() {
                    let start = table.get(column, row);
                    table.set(column, row, start.map(|start| start + by_ns));
                }
            }
        }
    }
}
