//! Recordings of any frames through all that shows them: figures, too, are others'.

use std::fs;

use cpuledger_export::{Format, Options, Progress, export};
use cpuledger_model::frame::{ChainWriter, Column, Frame, Link, Section};

/// The bytes as a segment, or as a frame that is one's only record.
///
/// # Panics
/// If a text has a control.
pub fn shown(bytes: &[u8]) {
    let segment = match Frame::decode(bytes) {
        Ok(frame) => segment_of(frame),
        Err(_) => {
            let mut repaired = bytes.to_vec();
            super::segment::repair(&mut repaired);
            Some(repaired)
        }
    };
    let Some(segment) = segment else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("one.seg");
    fs::write(&path, segment).expect("room");
    for text in cpuledger_cli::fuzzing::shown(&path) {
        let text = String::from_utf8(text).expect("text is UTF-8");
        assert!(!text.contains(|letter: char| letter.is_control() && letter != '\n'), "{text:?}");
    }
    for format in [Format::Csv, Format::Arrow] {
        // What cannot be exported is an error, and an answer.
        let _ =
            export(&path, &folder.path().join(format.ending()), &Options::all(format), &Progress::default());
    }
}

/// A segment of this frame, which is made one of an interval as far as it has its times.
fn segment_of(mut frame: Frame) -> Option<Vec<u8>> {
    let source = frame.intern(b"ledger");
    frame.set_figure(Column::SOURCE, Some(source));
    let start_ns = frame.figure(Column::START_NS)?;
    let end_ns = frame.figure(Column::END_NS)?;
    frame.set_figure(Column::KNOWS_EXITS, Some(1));
    for section in [Section::Processes, Section::Tasks] {
        let table = frame.table_mut(section);
        for row in 0..table.len() {
            for column in [Column::PID, Column::TID] {
                let pid = table.get_signed(column, row).unwrap_or(row as i64 + 1);
                table.set_signed(column, row, Some(pid));
            }
            let start = table.get(Column::START_TIME_NS, row).unwrap_or(0);
            table.set(Column::START_TIME_NS, row, Some(start));
        }
    }
    let mut link = Link::default();
    ChainWriter::default().write(&frame, &mut link).ok()?;
    let mut segment = header();
    let mut record = vec![0; 64];
    record[..4].copy_from_slice(b"cRec");
    let mut packed = zstd::bulk::compress(&link.plain, 1).ok()?;
    let compressed = packed.len() as u32;
    packed.extend_from_slice(&link.dense);
    // Long enough for all that it tells.
    packed.resize(packed.len().max(link.weight as usize), 0);
    for (at, value) in [(12, packed.len() as u32), (16, link.plain.len() as u32), (20, compressed)] {
        record[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    let end_realtime_ns = frame.figure(Column::END_REALTIME_NS).unwrap_or(0);
    for (at, value) in [(32, start_ns), (40, end_ns), (48, end_realtime_ns)] {
        record[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    segment.append(&mut record);
    segment.append(&mut packed);
    super::segment::repair(&mut segment);
    Some(segment)
}

fn header() -> Vec<u8> {
    let mut bytes = vec![0; 256];
    bytes[..8].copy_from_slice(b"cpuledsg");
    for (at, value) in [(8, 2_u16), (10, 2), (12, 256), (14, 64)] {
        bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}
