//! How many rows a second are exported: `cargo run --release -p cpuledger-export --example export_rate -- RECORDING INTERVALS [FORMAT]`.
//!
//! A recording of that many intervals of 1 s is made of the frames of the given one, over and over, and exported in each format, or in one.

use std::path::Path;
use std::time::Instant;

use cpuledger_export::{Format, Options, Progress, export};
use cpuledger_model::frame::{Column, Frame};
use cpuledger_recording::{Recording, Step, Writer};

const SECOND_NS: u64 = 1_000_000_000;

fn frames(path: &Path) -> Result<Vec<Frame>, Box<dyn std::error::Error>> {
    let mut recording = Recording::open(path)?;
    let (mut frames, mut next) = (Vec::new(), recording.first());
    while let Some(place) = next {
        next = match recording.step(place)? {
            Step::Record(record, next) => {
                frames.push(record.frame);
                next
            }
            Step::Loss(_, next) => next,
        };
    }
    Ok(frames)
}

/// One after the other from midnight on. The counters in them do not matter here.
fn stretch(frames: &mut [Frame], intervals: u64, to: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut writer = Writer::open(to, cpuledger_recording::Options::default())?;
    for nth in 0..intervals {
        let place = nth as usize % frames.len();
        let frame = &mut frames[place];
        let end_ns = (nth + 1) * SECOND_NS;
        frame.set_figure(Column::START_NS, Some(end_ns - SECOND_NS));
        frame.set_figure(Column::END_NS, Some(end_ns));
        frame.set_figure(Column::END_REALTIME_NS, Some(1_700_006_400 * SECOND_NS + end_ns));
        writer.append(frame)?;
    }
    Ok(writer.close()?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (from, intervals) = (arguments.next().ok_or("which?")?, arguments.next().ok_or("how many?")?);
    let folder = tempfile::tempdir()?;
    let day = folder.path().join("day");
    stretch(&mut frames(Path::new(&from))?, intervals.parse()?, &day)?;
    let only = arguments.next();
    for format in [Format::Parquet, Format::Arrow, Format::Csv, Format::JsonLines] {
        if only.as_ref().is_some_and(|only| only != format.ending()) {
            continue;
        }
        let to = folder.path().join(format.ending());
        let options = Options::all(format);
        let begin = Instant::now();
        let summary = export(&day, &to, &options, &Progress::default())?;
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "{}: {} rows in {seconds:.2} s: {:.0} rows/s; {} intervals out of balance",
            format.ending(),
            summary.rows,
            summary.rows as f64 / seconds,
            summary.unbalanced
        );
    }
    Ok(())
}
