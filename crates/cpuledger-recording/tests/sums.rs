//! What segments say that their intervals add up to.

mod frames;

use std::fs;
use std::path::{Path, PathBuf};

use cpuledger_recording::{Options, Place, Recording, Writer};
use cpuledger_report::{Accumulator, Dimension, Report, Sums};
use frames::Machine;

const ROWS: usize = 10;

/// A recording of 65 intervals, which is closed.
fn recorded(folder: &Path) -> PathBuf {
    let mut writer = Writer::open(folder, Options::default()).expect("a writer");
    Machine::new(5, 4).seconds(65).iter().for_each(|frame| writer.append(frame).expect("written"));
    writer.close().expect("closed");
    folder.join("all/0000000000000000.seg")
}

fn places(recording: &mut Recording) -> Vec<Place> {
    std::iter::successors(recording.first(), |place| recording.next(*place)).collect()
}

fn of_intervals(recording: &mut Recording, places: &[Place]) -> Report {
    let mut accumulator = Accumulator::new(&[Dimension::Command]);
    for place in places {
        let record = recording.read(*place).expect("read").expect("whole");
        accumulator.add(&record.frame, record.entry.instants());
    }
    accumulator.report(Dimension::Command, ROWS)
}

#[test]
fn a_closed_segment_has_the_sums_of_all_its_intervals() {
    let folder = tempfile::tempdir().expect("a folder");
    recorded(folder.path());
    let mut recording = Recording::open(folder.path()).expect("opened");
    let places = places(&mut recording);
    let (records, bytes) = recording.sums(&places).expect("all of a segment");
    assert_eq!(records, places.len());
    let mut accumulator = Accumulator::new(&[Dimension::Command]);
    assert!(accumulator.add_sums(&bytes, records));
    let expected = of_intervals(&mut recording, &places);
    assert_eq!(accumulator.report(Dimension::Command, ROWS), expected);
    assert!(expected.balance.intervals == 65 && !expected.rows.is_empty());
    for part in [&places[1..], &places[..64], &[]] {
        assert_eq!(recording.sums(part), None);
    }
}

#[test]
fn what_is_not_whole_has_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = fs::read(recorded(folder.path())).expect("bytes");
    let at = whole.windows(4).rposition(|four| four == b"cSum").expect("sums");
    let sums_of = |bytes: &[u8]| {
        let mut recording = Recording::of_bytes(bytes.to_vec()).expect("a segment");
        let places = places(&mut recording);
        assert_eq!(places.len(), 65);
        (recording.sums(&places), recording.losses().expect("read").len())
    };
    assert!(matches!(sums_of(&whole), (Some(_), 0)));
    // A killed writer has written nothing behind its records.
    assert_eq!(sums_of(&whole[..at]).0, None);
    let end = whole.len() - 80;
    let index = u64::from_le_bytes(std::array::from_fn(|byte| whole[end + 16 + byte])) as usize;
    for damaged in at..index {
        let mut bytes = whole.clone();
        bytes[damaged] ^= 0x40;
        assert_eq!(sums_of(&bytes), (None, 0), "at {}", damaged - at);
    }
    // Sums of another version, with the right checksum.
    let mut bytes = whole.clone();
    bytes[at + 8..at + 12].copy_from_slice(&(Sums::VERSION + 1).to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[at + 8..index]);
    bytes[at + 4..at + 8].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(sums_of(&bytes), (None, 0));
    // With a damaged index, records are looked for up to the sums.
    let mut bytes = whole;
    bytes[index + 8] ^= 1;
    assert!(matches!(sums_of(&bytes), (Some(_), 0)));
}
