//! What a record costs its reader is bounded by its length, whatever it says.

mod crafted;
mod frames;

use std::time::{Duration, Instant};

use cpuledger_model::frame::{ChainWriter, Column, Frame, Link, Section};
use cpuledger_recording::{Options, Recording, Writer};
use crafted::{Said, add_index, add_record, header};
use frames::{SECOND, frames_of, walk};

/// A second in which that many processes were the same in all that is told of them.
fn alike(section: Section, rows: usize) -> Frame {
    let mut frame = Frame::new();
    for (column, value) in [(Column::START_NS, 0), (Column::END_NS, SECOND), (Column::KNOWS_EXITS, 1)] {
        frame.set_figure(column, Some(value));
    }
    let table = frame.table_mut(section);
    table.reset(rows);
    for column in [Column::PID, Column::TID] {
        table.fill_signed(column, (0..rows).map(|_| Some(7)));
    }
    table.fill(Column::EUID, (0..rows).map(|_| Some(0)));
    table.fill(Column::CPU_NS, (0..rows).map(|_| Some(0)));
    frame
}

/// Its link, as a record has it.
fn pack(link: &Link) -> (Said, Vec<u8>) {
    let mut packed = zstd::bulk::compress(&link.plain, 19).expect("it is compressed");
    let compressed_bytes = packed.len();
    packed.extend_from_slice(&link.dense);
    (Said { plain_bytes: link.plain.len(), compressed_bytes, ..Said::default() }, packed)
}

fn lost_and_read(segment: Vec<u8>) -> (u64, usize) {
    let met = walk(&mut Recording::of_bytes(segment).expect("any bytes"));
    (met.lost_in_place, met.records.len())
}

#[test]
fn a_short_record_of_a_million_rows_is_damaged() {
    for section in [Section::Processes, Section::Tasks, Section::Exited, Section::Cpus, Section::Cgroups] {
        for (rows, expected) in [(1_000_000, (1, 0)), (200, (0, 1))] {
            let mut link = Link::default();
            ChainWriter::default().write(&alike(section, rows), &mut link).expect("it is short");
            let (said, packed) = pack(&link);
            assert!(packed.len() < 2000, "{section:?}: {} bytes", packed.len());
            let mut segment = header();
            add_record(&mut segment, said, &packed);
            assert_eq!(lost_and_read(segment), expected, "{section:?}: {rows} rows");
        }
    }
}

/// A row of an earlier link takes no byte at all.
#[test]
fn a_short_record_of_many_rows_of_an_earlier_one_is_damaged() {
    for (rows, expected) in [(100_000, (1, 1)), (1000, (0, 2))] {
        let mut writer = ChainWriter::default();
        let (mut segment, mut last) = (header(), None);
        for (sequence, rows) in [(0, 1), (1, rows)] {
            let mut frame = alike(Section::Blocked, rows);
            frame.set_figure(Column::START_NS, Some(sequence * SECOND));
            frame.set_figure(Column::END_NS, Some((sequence + 1) * SECOND));
            let mut link = Link::default();
            writer.write(&frame, &mut link).expect("it is short");
            let (said, packed) = pack(&link);
            let at = segment.len() as u64;
            let back = last.map_or(0, |last: u64| at - last);
            add_record(&mut segment, Said { sequence, back, ..said }, &packed);
            last = Some(at);
        }
        assert_eq!(lost_and_read(segment), expected, "{rows} rows");
    }
}

#[test]
fn what_decompresses_to_more_than_its_length_allows_is_damaged() {
    for plain_bytes in [200 << 20, 4 << 20] {
        let packed = zstd::bulk::compress(&vec![0; plain_bytes], 3).expect("it is compressed");
        assert!(packed.len() < 10_000);
        let mut segment = header();
        let said = Said { plain_bytes, compressed_bytes: packed.len(), ..Said::default() };
        add_record(&mut segment, said, &packed);
        assert_eq!(lost_and_read(segment), (1, 0));
    }
}

#[test]
fn an_index_of_more_records_than_the_file_can_have_is_not_looked_at() {
    const RECORDS: u32 = 1 << 20;
    let mut index = b"cIdx".to_vec();
    // Each record is one byte behind the one before.
    let rows = RECORDS as usize;
    let mut plain = [1_u8, 0, 0, 0, 0, 0, 0, 0].repeat(rows);
    plain.resize(6 * 8 * rows, 0);
    index.append(&mut zstd::bulk::compress(&plain, 3).expect("it is compressed"));
    let mut segment = header();
    add_index(&mut segment, &index, RECORDS);
    assert!(segment.len() < 10_000);
    assert!(frames_of(&mut Recording::of_bytes(segment).expect("any bytes")).is_empty());
}

/// What the writer makes is read: where much is the same, it makes a record longer.
#[test]
fn a_record_that_is_written_is_long_enough_for_its_rows() {
    for (rows, least) in [(100, 0), (20_000, 19_000)] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = Writer::open(folder.path(), Options::default()).expect("a writer");
        let frame = alike(Section::Exited, rows);
        writer.append(&frame).expect("written");
        assert!(writer.bytes() > least, "{rows} rows: {} bytes", writer.bytes());
        writer.close().expect("closed");
        let read = frames_of(&mut Recording::open(folder.path()).expect("a recording"));
        assert!(read == [frame], "{rows} rows");
    }
}

/// Between each two records is a byte that belongs to none.
#[test]
fn what_is_damaged_everywhere_is_looked_at_once() {
    const RECORDS: u64 = 100_000;
    let mut segment = header();
    for sequence in 0..RECORDS {
        segment.push(0);
        add_record(&mut segment, Said { sequence, ..Said::default() }, &[]);
    }
    let begin = Instant::now();
    let mut recording = Recording::of_bytes(segment).expect("any bytes");
    assert_eq!(recording.len(), RECORDS);
    // With what may be missing at its end.
    assert_eq!(recording.losses().expect("read").len() as u64, RECORDS + 1);
    assert_eq!(walk(&mut recording).lost_in_place, RECORDS);
    // It takes a second or two; where each byte was looked for in 256 KiB, and each loss among all, it took minutes.
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}
