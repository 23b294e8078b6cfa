//! What a recording takes, beside other ways to compress it: `cargo run --release -p cpuledger-recording --example recording_bytes -- DIR`.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use cpuledger_model::frame::{ChainWriter, Column, Frame, Kind, Link, Section};
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
    if let Ok(folder) = std::env::var("CPULEDGER_DUMP") {
        for (number, bytes) in encoded.iter().enumerate() {
            std::fs::write(format!("{folder}/{number}"), bytes)?;
        }
    }
    let count = encoded.len().max(1);
    let each = |bytes: usize| bytes / count;
    println!("{count} frames of {} bytes", each(encoded.iter().map(Vec::len).sum()));
    println!(
        "| level | each alone | first of 16 as dictionary | the one before as dictionary | stream of 16 | stream of all, long | differences | links |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|");
    for level in LEVELS {
        let ways = [
            alone(&encoded, level)?,
            first(&encoded, level)?,
            before(&encoded, level)?,
            stream(&encoded, level, GROUP)?,
            stream(&encoded, level, usize::MAX)?,
            differences(&frames, level)?,
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

/// Of so many frames each, with matches as far back as 128 MiB.
fn stream(frames: &[Vec<u8>], level: i32, group: usize) -> Result<usize, Failed> {
    let mut sum = 0;
    for group in frames.chunks(group) {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level)?;
        encoder.long_distance_matching(true)?;
        encoder.window_log(27)?;
        for frame in group {
            encoder.write_all(frame)?;
            encoder.flush()?;
        }
        sum += encoder.finish()?.len();
    }
    Ok(sum)
}

/// Columns of differences: from what the same task had last in the group or, for a new one, from the row before, seven bits a byte.
fn differences(frames: &[Frame], level: i32) -> Result<usize, Failed> {
    let mut compressor = Compressor::new(level)?;
    let mut sum = 0;
    for group in frames.chunks(GROUP) {
        let mut known: HashMap<(u16, u64, u64, u64), HashMap<u16, u64>> = HashMap::new();
        let mut texts: HashMap<Vec<u8>, u64> = HashMap::new();
        for frame in group {
            let mut bytes = Vec::new();
            for section in Section::ALL {
                let table = frame.table(section);
                put(&mut bytes, table.len() as u64);
                let number = |column: Column, row| match column.kind() {
                    Kind::Signed => table.get_signed(column, row).map(i64::cast_unsigned),
                    _ => table.get(column, row),
                };
                let key = |row| {
                    let of = |column| number(column, row).unwrap_or(0);
                    (section.id(), of(Column::PID), of(Column::TID), of(Column::START_TIME_NS))
                };
                for column in Column::known().filter(|column| table.has(*column)) {
                    put(&mut bytes, column.id().into());
                    let mut before = 0;
                    for row in 0..table.len() {
                        let value = match column.kind() {
                            Kind::Text => frame.text_of(section, column, row).map(|text| {
                                let next = texts.len() as u64 + 1;
                                *texts.entry(text.to_vec()).or_insert_with(|| {
                                    bytes.push(text.len() as u8);
                                    bytes.extend_from_slice(text);
                                    next
                                })
                            }),
                            _ => number(column, row),
                        };
                        let last =
                            known.get(&key(row)).and_then(|columns| columns.get(&column.id())).copied();
                        let value = value.map_or(0, |value| value.wrapping_add(1));
                        let difference = value.wrapping_sub(last.unwrap_or(before)).cast_signed();
                        put(&mut bytes, ((difference << 1) ^ (difference >> 63)).cast_unsigned());
                        before = value;
                        known.entry(key(row)).or_default().insert(column.id(), value);
                    }
                }
            }
            sum += compressor.compress(&bytes)?.len();
        }
    }
    Ok(sum)
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
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
