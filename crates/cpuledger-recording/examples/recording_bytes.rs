//! What a recording takes, beside other ways to compress it: `cargo run --release -p cpuledger-recording --example recording_bytes -- DIR`.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use cpuledger_model::frame::{ChainWriter, Column, Frame, Link};
use cpuledger_recording::{Options, Recording, When, Writer};
use zstd::bulk::Compressor;

type Failed = Box<dyn std::error::Error>;

const SECOND_NS: u64 = 1_000_000_000;
const DAY: u64 = 86_400;
const JUMPS: u64 = 2000;
const GROUP: usize = 16;
const LEVELS: [i32; 4] = [1, 3, 6, 12];

fn main() -> Result<(), Failed> {
    let path = std::env::args().nth(1).ok_or("which recording?")?;
    let mut recording = Recording::open(Path::new(&path))?;
    let (mut frames, mut place) = (Vec::new(), recording.first());
    while let Some(here) = place {
        frames.extend(recording.read(here)?.map(|record| record.frame));
        place = recording.next(here);
    }
    let mut encoded = Vec::new();
    for frame in &frames {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes)?;
        encoded.push(bytes);
    }
    let count = encoded.len().max(1);
    let each = |bytes: usize| bytes / count;
    println!("{count} frames of {} bytes", each(encoded.iter().map(Vec::len).sum()));
    println!(
        "| level | each alone | first of 16 as dictionary | the one before as dictionary | stream of 16 | links |"
    );
    println!("|---:|---:|---:|---:|---:|---:|");
    for level in LEVELS {
        let ways = [
            alone(&encoded, level)?,
            first(&encoded, level)?,
            before(&encoded, level)?,
            stream(&encoded, level)?,
            links(&frames, level)?,
        ];
        print!("| {level} |");
        ways.iter().for_each(|bytes| print!(" {} |", each(*bytes)));
        println!();
    }
    let folder = tempfile::tempdir()?;
    let mut writer = Writer::open(folder.path(), Options::default())?;
    let mut times = Vec::new();
    for frame in &frames {
        let begin = Instant::now();
        writer.append(frame)?;
        times.push(begin.elapsed().as_nanos());
    }
    times.sort_unstable();
    let bytes = writer.bytes();
    writer.close()?;
    println!(
        "written: {} bytes a record, in {} µs (median)",
        each(bytes as usize),
        times[times.len() / 2] / 1000
    );
    let begin = Instant::now();
    let mut recording = Recording::open(folder.path())?;
    let place = recording.first().ok_or("it is empty")?;
    recording.read(place)?;
    println!("opened, and the first read, in {} µs", begin.elapsed().as_micros());
    day(frames)
}

/// A day of these frames again and again: how soon it is open, and how long a jump in it takes.
fn day(mut frames: Vec<Frame>) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut writer = Writer::open(folder.path(), Options::default())?;
    let count = frames.len();
    for second in 0..DAY {
        let frame = &mut frames[second as usize % count];
        for (column, value) in [
            (Column::START_NS, second * SECOND_NS),
            (Column::END_NS, (second + 1) * SECOND_NS),
            (Column::END_REALTIME_NS, (second + 1) * SECOND_NS),
        ] {
            frame.set_figure(column, Some(value));
        }
        writer.append(frame)?;
    }
    println!("a day: {} bytes", writer.bytes());
    writer.close()?;
    let begin = Instant::now();
    let mut recording = Recording::open(folder.path())?;
    println!("opened in {} µs", begin.elapsed().as_micros());
    let mut times = Vec::new();
    for jump in 0..JUMPS {
        // Far from the one before, and in each place of a group.
        let second = jump * 30_011 % DAY;
        let begin = Instant::now();
        let place =
            recording.at(When::Realtime(second * SECOND_NS)).first().copied().ok_or("it is in the day")?;
        let record = recording.read(place)?.ok_or("it is whole")?;
        times.push(begin.elapsed().as_micros());
        assert_eq!(record.entry.start_ns, second * SECOND_NS);
    }
    times.sort_unstable();
    println!(
        "a jump: {} µs (median), {} µs (most of {JUMPS})",
        times[times.len() / 2],
        times[times.len() - 1]
    );
    Ok(())
}

fn alone(frames: &[Vec<u8>], level: i32) -> Result<usize, Failed> {
    let mut compressor = Compressor::new(level)?;
    frames.iter().map(|frame| Ok(compressor.compress(frame)?.len())).sum()
}

fn first(frames: &[Vec<u8>], level: i32) -> Result<usize, Failed> {
    let mut sum = 0;
    for group in frames.chunks(GROUP) {
        sum += alone(&group[..1], level)?;
        let mut compressor = Compressor::with_dictionary(level, &group[0])?;
        for frame in &group[1..] {
            sum += compressor.compress(frame)?.len();
        }
    }
    Ok(sum)
}

fn before(frames: &[Vec<u8>], level: i32) -> Result<usize, Failed> {
    let mut sum = alone(&frames[..frames.len().min(1)], level)?;
    for two in frames.windows(2) {
        sum += Compressor::with_dictionary(level, &two[0])?.compress(&two[1])?.len();
    }
    Ok(sum)
}

fn stream(frames: &[Vec<u8>], level: i32) -> Result<usize, Failed> {
    let mut sum = 0;
    for group in frames.chunks(GROUP) {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level)?;
        for frame in group {
            encoder.write_all(frame)?;
            encoder.flush()?;
        }
        sum += encoder.finish()?.len();
    }
    Ok(sum)
}

fn links(frames: &[Frame], level: i32) -> Result<usize, Failed> {
    let (mut writer, mut link, mut sum) = (ChainWriter::default(), Link::default(), 0);
    let mut compressor = Compressor::new(level)?;
    for group in frames.chunks(GROUP) {
        writer.restart();
        for frame in group {
            writer.write(frame, &mut link)?;
            sum += compressor.compress(&link.plain)?.len() + link.dense.len();
        }
    }
    Ok(sum)
}
