//! Segments from any bytes, as they are and with checksums that are right.

use cpuledger_recording::{Recording, Step, When};
use cpuledger_report::{Accumulator, Dimension};

/// The bytes as a segment. What only checksums keep out is tried, too.
///
/// # Panics
/// If a record is met twice, or is neither read nor lost.
pub fn segment(bytes: &[u8]) {
    read(bytes.to_vec());
    let mut repaired = bytes.to_vec();
    repair(&mut repaired);
    if repaired != bytes {
        read(repaired);
    }
}

fn read(bytes: Vec<u8>) {
    let mut recording = match Recording::of_bytes(bytes) {
        Ok(recording) => recording,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let (mut next, mut met, mut last) = (recording.first(), 0, None);
    let mut places = Vec::new();
    while let Some(place) = next {
        assert!(last.is_none_or(|last| place > last), "steps go forward");
        last = Some(place);
        places.push(place);
        next = match recording.step(place).expect("bytes can be read") {
            Step::Record(record, next) => {
                met += 1;
                recording.at(When::Realtime(record.entry.end_realtime_ns));
                assert_eq!(record.frame.length_ns().unwrap_or(0), record.entry.length_ns());
                next
            }
            Step::Loss(loss, next) => {
                assert!(!loss.to_string().is_empty());
                met += loss.intervals;
                next
            }
        };
    }
    assert_eq!(met, recording.len(), "each record is read or lost");
    if let Some((records, sums)) = recording.sums(&places) {
        assert_eq!(records, places.len());
        let mut accumulator = Accumulator::new(&Dimension::OF_SERIES);
        if accumulator.add_sums(&sums, records) {
            assert!(accumulator.report(Dimension::Command, 3).rows.len() <= 3);
        }
    }
    recording.losses().expect("bytes can be read");
    recording.gaps().expect("bytes can be read");
    recording.refresh().expect("bytes can be read");
}

/// Makes checksums right, where the layout of `docs/format/recording.md` has them.
pub fn repair(bytes: &mut [u8]) {
    const RECORD: usize = 64;
    if bytes.len() >= 256 && bytes.starts_with(b"cpuledsg") {
        put_checksum(bytes, 252, 0..252);
    }
    let mut at = 0;
    while at + RECORD <= bytes.len() {
        if bytes[at..].starts_with(b"cRec") {
            let from = at + RECORD;
            let length = u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + 12 + byte])) as usize;
            if let Some(end) = from.checked_add(length).filter(|end| *end <= bytes.len()) {
                put_checksum(bytes, at + 8, from..end);
            }
            put_checksum(bytes, at + 4, at + 8..from);
        }
        at += 1;
    }
    let Some(at) = bytes.len().checked_sub(80).filter(|at| bytes[*at..].starts_with(b"cEnd")) else { return };
    let number = |from: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + from + byte]));
    let (begin, length) = (number(16), number(24));
    let sums =
        bytes[..at].windows(4).rposition(|four| four == b"cSum").filter(|sums| (sums + 8) as u64 <= begin);
    if let Some(sums) = sums.filter(|_| begin <= at as u64) {
        put_checksum(bytes, sums + 4, sums + 8..begin as usize);
    }
    if let Some(end) = begin.checked_add(length).filter(|end| *end <= at as u64) {
        put_checksum(bytes, at + 8, begin as usize..end as usize);
    }
    put_checksum(bytes, at + 4, at + 8..at + 80);
}

fn put_checksum(bytes: &mut [u8], at: usize, of: std::ops::Range<usize>) {
    let checksum = crc32c::crc32c(&bytes[of]);
    bytes[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
}
