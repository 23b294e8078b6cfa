//! What is left of a recording that was cut off or damaged is read, and what is lost is said.

mod frames;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cpuledger_model::frame::Frame;
use cpuledger_model::make;
use cpuledger_recording::{Cause, Options, Recording, Writer};
use frames::{Machine, frames_of, walk};

const RECORDS: usize = 70;
const FEW: usize = 16;

/// The one segment of a recording of that number of records, with its frames, and where the records end.
fn segment(records: usize) -> (Vec<u8>, Vec<Frame>, Vec<u64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let frames = Machine::new(17, 4).seconds(records);
    let mut writer = Writer::open(folder.path(), Options::default()).expect("a writer");
    let mut ends = Vec::new();
    for frame in &frames {
        writer.append(frame).expect("written");
        ends.push(writer.bytes());
    }
    writer.close().expect("closed");
    let bytes = fs::read(the_file(&folder.path().join("all"))).expect("the segment");
    (bytes, frames, ends)
}

fn the_file(folder: &Path) -> PathBuf {
    let mut files = fs::read_dir(folder).expect("a folder");
    let file = files.next().expect("a file").expect("a file").path();
    assert!(files.next().is_none(), "there is one");
    file
}

fn lost_in_all(recording: &mut Recording) -> u64 {
    recording.losses().expect("read").iter().map(|loss| loss.intervals).sum()
}

#[test]
fn a_file_that_ends_at_any_byte_is_read_up_to_there() {
    let (bytes, frames, ends) = segment(FEW);
    for length in 0..bytes.len() {
        let mut recording = Recording::of_bytes(bytes[..length].to_vec()).expect("any bytes");
        let whole = ends.iter().filter(|end| **end <= length as u64).count();
        assert!(frames_of(&mut recording) == frames[..whole], "{length}");
        let losses = recording.losses().expect("read");
        if whole < FEW {
            assert_eq!(losses.len(), 1, "{length}");
            assert!(losses[0].is_least && losses[0].cause == Cause::CutOff, "{losses:?}");
            let last = whole
                .checked_sub(1)
                .map(|last| frames[last].figure(cpuledger_model::frame::Column::END_REALTIME_NS));
            assert_eq!(losses[0].from_realtime_ns, last.flatten());
        }
    }
}

#[test]
fn one_flipped_bit_costs_what_needs_it_and_is_said() {
    let (bytes, frames, ends) = segment(RECORDS);
    let mut random = Machine::new(19, 0);
    let mut whole = 0;
    for _ in 0..2000 {
        let (place, bit) = (random.below(bytes.len() as u64) as usize, random.below(8));
        let mut damaged = bytes.clone();
        damaged[place] ^= 1 << bit;
        // Closed, and as it was before it was closed.
        let is_closed = random.below(2) == 0;
        if !is_closed {
            damaged.truncate(*ends.last().expect("there are some") as usize);
        }
        let mut recording = Recording::of_bytes(damaged).expect("any bytes");
        let met = walk(&mut recording);
        let hit = ends.iter().filter(|end| **end <= place as u64).count();
        let read: BTreeMap<u64, &Frame> =
            met.records.iter().map(|record| (record.entry.sequence, &record.frame)).collect();
        assert_eq!(read.len(), met.records.len(), "each is met once");
        for (nth, frame) in frames.iter().enumerate() {
            // Each record of a group of 16 needs those before it.
            let is_lost = nth >= hit && place >= 256 && nth / 16 == hit / 16;
            let expected = if is_lost { None } else { Some(&frame) };
            assert!(
                read.get(&(nth as u64)) == expected,
                "byte {place}, bit {bit}: record {nth}, closed: {is_closed}"
            );
        }
        let lost = met.lost_in_place + lost_in_all(&mut recording);
        if is_closed || hit + 1 < RECORDS {
            assert_eq!(lost + read.len() as u64, RECORDS as u64, "byte {place}, closed: {is_closed}");
        } else {
            assert!(hit == RECORDS || lost > 0, "byte {place}");
        }
        whole += usize::from(lost == 0);
    }
    assert!(whole < 400, "most flips hit a record: {whole}");
}

#[test]
fn without_an_index_a_damaged_record_is_known_before_it_is_wanted() {
    let (mut bytes, frames, ends) = segment(FEW);
    bytes.truncate(*ends.last().expect("there are some") as usize);
    let end = ends[5] as usize;
    bytes[end - 1] ^= 1;
    let mut recording = Recording::of_bytes(bytes).expect("any bytes");
    assert_eq!(recording.len(), FEW as u64 - 1);
    let losses = recording.losses().expect("read");
    assert_eq!(losses[0].cause, Cause::Damaged);
    assert_eq!((losses[0].intervals, losses[0].is_least), (1, false));
    let at = |nth: u64| Some(frames::EPOCH + nth * frames::SECOND);
    assert_eq!((losses[0].from_realtime_ns, losses[0].to_realtime_ns), (at(5), at(6)));
    // Those behind it need it.
    let met = walk(&mut recording);
    assert_eq!((met.records.len(), met.lost_in_place as usize), (5, frames.len() - 6));
}

#[test]
fn the_next_writer_starts_a_new_segment() {
    let (bytes, frames, ends) = segment(RECORDS);
    let mut more = Machine::new(17, 4);
    more.seconds(RECORDS);
    let later = more.seconds(3);
    let mut random = Machine::new(23, 0);
    for _ in 0..1000 {
        let last = *ends.last().expect("there are some");
        let length = random.below(last + 1);
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("all")).expect("made");
        fs::write(folder.path().join("all/0000000000000000.open"), &bytes[..length as usize])
            .expect("written");
        let mut writer = Writer::open(folder.path(), Options::default()).expect("a writer");
        later.iter().for_each(|frame| writer.append(frame).expect("written"));
        writer.close().expect("closed");
        let kept = fs::read(folder.path().join("all/0000000000000000.cut")).expect("it is left");
        assert!(kept == bytes[..length as usize], "nothing is appended to it");
        let whole = ends.iter().filter(|end| **end <= length).count();
        let mut recording = Recording::open(folder.path()).expect("a recording");
        let read = frames_of(&mut recording);
        assert!(read[..whole] == frames[..whole] && read[whole..] == later, "{length}");
        let is_torn = length != 256 && whole.checked_sub(1).is_none_or(|last| ends[last] != length);
        let losses = recording.losses().expect("read");
        if is_torn && length > 256 && whole > 0 {
            assert_eq!(losses.len(), 1, "{length}: {losses:?}");
            assert_eq!((losses[0].intervals, losses[0].cause), (1, Cause::CutOff));
            assert!(!losses[0].is_least, "the next segment tells how many");
            assert!(losses[0].from_realtime_ns.is_some() && losses[0].to_realtime_ns.is_some());
        }
        let gaps = recording.gaps().expect("read").len();
        assert_eq!(gaps, usize::from(whole > 0 && whole < RECORDS), "{length}");
    }
}

/// Set for the process that writes until it is killed.
const WRITES: &str = "CPULEDGER_RECORDING_WRITES";

#[test]
fn a_killed_writer_loses_at_most_the_last_interval() {
    if let Some(folder) = std::env::var_os(WRITES) {
        let mut writer = Writer::open(Path::new(&folder), make!(Options { segment_length: Duration::ZERO }))
            .expect("a writer");
        let mut machine = Machine::new(29, 50);
        loop {
            writer.append(&machine.second()).expect("written");
            println!("{}", machine.now_ns);
        }
    }
    let own = std::env::current_exe().expect("this test");
    let mut random = Machine::new(31, 0);
    for round in 0..50 {
        let folder = tempfile::tempdir().expect("a folder");
        let output = tempfile::NamedTempFile::new().expect("a file");
        let mut child = std::process::Command::new(&own)
            .args(["--exact", "a_killed_writer_loses_at_most_the_last_interval", "--nocapture"])
            .env(WRITES, folder.path())
            .stdout(output.reopen().expect("the file"))
            .spawn()
            .expect("a writer");
        std::thread::sleep(Duration::from_micros(3000 + random.below(60_000)));
        child.kill().expect("killed");
        child.wait().expect("waited for");
        let told = fs::read_to_string(output.path()).expect("text");
        // A line that was cut off tells nothing.
        let lines = told.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let told = lines.filter_map(|line| line.trim().parse::<u64>().ok()).next_back().unwrap_or(0)
            / frames::SECOND;
        let Ok(mut recording) = Recording::open(folder.path()) else {
            assert_eq!(told, 0, "round {round}");
            continue;
        };
        let read = frames_of(&mut recording);
        assert!(read == Machine::new(29, 50).seconds(read.len()), "round {round}");
        assert!((told..=told + 1).contains(&(read.len() as u64)), "{told} were written, {} read", read.len());
        let losses = recording.losses().expect("read");
        assert!(losses.is_empty() || losses.len() == 1 && losses[0].intervals <= 1, "{losses:?}");
        Writer::open(folder.path(), Options::default()).expect("the lock is free").close().expect("closed");
    }
}
