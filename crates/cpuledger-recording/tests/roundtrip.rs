//! What is read is what was written: by time, forwards and backwards, and while it is written.

mod frames;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_model::make;
use cpuledger_recording::{Kind, Options, Recording, Tier, When, Writer};
use frames::{EPOCH, Machine, SECOND, frames_of, walk};
use proptest::prelude::*;

fn write(folder: &Path, options: Options, frames: &[Frame]) {
    let mut writer = Writer::open(folder, options).expect("a writer");
    frames.iter().for_each(|frame| writer.append(frame).expect("it is written"));
    writer.close().expect("it is closed");
}

fn short_segments(seconds: u64) -> Options {
    make!(Options { segment_length: Duration::from_secs(seconds) })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(seed in any::<u64>(), count in 1usize..300, processes in 0usize..30, segment in 1u64..200) {
        let folder = tempfile::tempdir().expect("a folder");
        let frames = Machine::new(seed, processes).seconds(count);
        write(folder.path(), short_segments(segment), &frames);
        let mut recording = Recording::open(folder.path()).expect("a recording");
        prop_assert_eq!(recording.len(), count as u64);
        prop_assert!(recording.losses().expect("read").is_empty() && recording.gaps().expect("read").is_empty());
        prop_assert!(frames_of(&mut recording) == frames);
        let mut backwards = Vec::new();
        let mut place = recording.last();
        while let Some(here) = place {
            backwards.push(recording.read(here).expect("read").expect("whole").frame);
            place = recording.previous(here);
        }
        backwards.reverse();
        prop_assert!(backwards == frames);
        for (nth, frame) in frames.iter().enumerate() {
            for inside in [0, SECOND / 2, SECOND - 1] {
                let place = recording.at(When::Realtime(EPOCH + nth as u64 * SECOND + inside)).first().copied().expect("there is one");
                prop_assert!(recording.read(place).expect("read").expect("whole").frame == *frame);
            }
        }
        prop_assert_eq!(recording.at(When::Realtime(EPOCH + count as u64 * SECOND)).first().copied(), None);
        prop_assert_eq!(recording.span_realtime_ns(), Some((EPOCH, EPOCH + count as u64 * SECOND)));
    }
}

#[test]
fn segments_are_files_of_their_own_with_few_permissions() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new");
    let frames = Machine::new(3, 9).seconds(200);
    write(&path, short_segments(60), &frames);
    let files: Vec<_> =
        std::fs::read_dir(path.join("all")).expect("a folder").map(|file| file.expect("a file")).collect();
    assert_eq!(files.len(), 4, "60 seconds each");
    for file in &files {
        assert_eq!(file.metadata().expect("there").permissions().mode() & 0o777, 0o640);
        assert!(file.file_name().to_string_lossy().ends_with(".seg"), "{file:?}");
        let mut alone = Recording::open(&file.path()).expect("it stands alone");
        assert!(alone.losses().expect("read").is_empty());
        assert!(frames_of(&mut alone).iter().all(|frame| frames.contains(frame)));
    }
    assert_eq!(std::fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o750);
}

#[test]
fn what_is_being_written_is_read_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let frames = Machine::new(5, 9).seconds(150);
    let mut writer = Writer::open(folder.path(), short_segments(60)).expect("a writer");
    writer.append(&frames[0]).expect("written");
    let mut recording = Recording::open(folder.path()).expect("a recording");
    for (nth, frame) in frames.iter().enumerate().skip(1) {
        assert_eq!(recording.len(), nth as u64);
        writer.append(frame).expect("written");
        assert!(recording.refresh().expect("read"), "places are valid");
        let last = recording.last().expect("there is one");
        assert!(recording.read(last).expect("read").expect("whole").frame == *frame);
    }
    writer.close().expect("closed");
    recording.refresh().expect("read");
    assert!(recording.losses().expect("read").is_empty());
    assert!(frames_of(&mut recording) == frames);
    // Without the first segment, places are others.
    let (first, _) = recording.segments().next().expect("there are some");
    std::fs::remove_file(first).expect("it is ours");
    assert!(!recording.refresh().expect("read"));
    assert!(recording.refresh().expect("read"));
    assert!(frames_of(&mut recording) == frames[60..]);
}

#[test]
fn one_writer_at_a_time_and_the_next_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let frames = Machine::new(7, 9).seconds(20);
    let mut first = Writer::open(folder.path(), Options::default()).expect("a writer");
    let second = Writer::open(folder.path(), Options::default()).expect_err("another has it");
    assert_eq!(second.kind(), Kind::InUse);
    assert!(second.to_string().contains("another process records here"), "{second}");
    frames[..10].iter().for_each(|frame| first.append(frame).expect("written"));
    drop(first);
    write(folder.path(), Options::default(), &frames[10..]);
    let mut recording = Recording::open(folder.path()).expect("a recording");
    assert_eq!(recording.segments().count(), 2);
    assert!(recording.losses().expect("read").is_empty() && recording.gaps().expect("read").is_empty());
    assert!(frames_of(&mut recording) == frames);
}

#[test]
fn gaps_and_boots_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut machine = Machine::new(9, 9);
    let mut frames = machine.seconds(5);
    machine.now_ns += 3 * SECOND;
    frames.extend(machine.seconds(5));
    machine.boot_id = "another boot".into();
    frames.extend(machine.seconds(5));
    write(folder.path(), Options::default(), &frames);
    let mut recording = Recording::open(folder.path()).expect("a recording");
    assert_eq!(recording.segments().count(), 2, "a segment is of one boot");
    let gaps = recording.gaps().expect("read");
    let told: Vec<_> = gaps
        .iter()
        .map(|gap| (gap.from_realtime_ns - EPOCH, gap.to_realtime_ns - EPOCH, gap.is_boot))
        .collect();
    assert_eq!(told, [(5 * SECOND, 8 * SECOND, false), (13 * SECOND, 13 * SECOND, true)]);
    // What is in the gap is found behind it.
    let place = recording.at(When::Realtime(EPOCH + 6 * SECOND)).first().copied().expect("there is one");
    assert_eq!(recording.entry(place).expect("there").start_ns, 8 * SECOND);
}

#[test]
fn a_minute_is_the_merge_of_its_seconds() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut machine = Machine::new(11, 20);
    machine.now_ns = 30 * SECOND;
    let mut frames = machine.seconds(30 + 60 + 20);
    machine.now_ns += 5 * SECOND;
    frames.extend(machine.seconds(100));
    let tiers = [0, 60].map(|seconds| Tier::new(Duration::from_secs(seconds), None));
    write(folder.path(), make!(Options { tiers: tiers.into() }), &frames);
    let tiers = Recording::tiers(folder.path()).expect("tiers");
    assert_eq!(tiers.iter().map(|(length, _)| length.as_secs()).collect::<Vec<_>>(), [0, 60]);
    let mut minutes = Recording::open(&tiers[1].1).expect("minutes");
    let minutes = walk(&mut minutes).records;
    let lengths: Vec<u64> = minutes.iter().map(|minute| minute.entry.length_ns() / SECOND).collect();
    assert_eq!(lengths, [30, 60, 20, 35, 60, 5], "a minute is of the clock, and ends where there is a gap");
    for minute in &minutes {
        let of = |frame: &&Frame| {
            frame.figure(Column::START_NS) >= Some(minute.entry.start_ns)
                && frame.figure(Column::END_NS) <= Some(minute.entry.end_ns)
        };
        let mut seconds = frames.iter().filter(of).cloned();
        let first = seconds.next().expect("it has seconds");
        let merged = seconds.fold(first, |merged, second| merged.merge(&second).expect("neighbours"));
        assert!(minute.frame == merged, "{:?}", minute.entry);
    }
    let sum = |frames: &mut dyn Iterator<Item = &Frame>| {
        frames.filter_map(|frame| frame.figure(Column::CAPACITY_NS)).sum::<u64>()
    };
    assert_eq!(sum(&mut minutes.iter().map(|minute| &minute.frame)), sum(&mut frames.iter()));
}

/// All of a directory with directories, as a killed writer leaves it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let (entry, is_folder) = entry.map(|entry| (entry.path(), entry.path().is_dir())).expect("a name");
        let copied = to.join(entry.file_name().expect("a name"));
        if is_folder {
            copy(&entry, &copied);
        } else {
            fs::copy(&entry, &copied).expect("it is copied");
        }
    }
}

/// What the records of a tier say in all, and how many there are.
fn sums(path: &Path) -> (u64, u64, u64) {
    let mut recording = Recording::open(path).expect("a tier");
    let frames = frames_of(&mut recording);
    let capacity = |frame: &Frame| frame.figure(Column::CAPACITY_NS).expect("it is known");
    let used = |frame: &Frame| -> u64 {
        let table = frame.table(Section::Processes);
        (0..table.len()).filter_map(|row| table.get(Column::CPU_NS, row)).sum()
    };
    (frames.len() as u64, frames.iter().map(capacity).sum(), frames.iter().map(used).sum())
}

#[test]
fn the_minute_of_a_killed_writer_is_made_from_its_seconds() {
    let tiers = [0, 60].map(|seconds| Tier::new(Duration::from_secs(seconds), None));
    let options = make!(Options { tiers: tiers.into() });
    for killed_after in [1, 59, 60, 61, 100, 150] {
        let [first, second, third] = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
        let mut machine = Machine::new(killed_after, 9);
        let mut writer = Writer::open(first.path(), options.clone()).expect("a writer");
        (0..killed_after).for_each(|_| writer.append(&machine.second()).expect("it is written"));
        copy(first.path(), second.path());
        // Killed before it has written anything, and again after a while.
        let killed_at_once = Writer::open(second.path(), options.clone()).expect("a writer");
        copy(second.path(), third.path());
        drop(killed_at_once);
        let mut writer = Writer::open(third.path(), options.clone()).expect("a writer");
        machine.now_ns += 5 * SECOND;
        (0..70).for_each(|_| writer.append(&machine.second()).expect("it is written"));
        writer.close().expect("it is closed");
        drop(writer);
        let [seconds, minutes] = ["all", "1m"].map(|tier| sums(&third.path().join(tier)));
        assert_eq!((seconds.1, seconds.2), (minutes.1, minutes.2), "after {killed_after} s");
        assert_eq!(seconds.0, killed_after + 70);
        // Once more: nothing is added twice.
        Writer::open(third.path(), options.clone()).expect("a writer").close().expect("it is closed");
        assert_eq!(sums(&third.path().join("1m")), minutes);
    }
}

#[test]
fn a_clock_that_is_set_ends_the_minute() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut frames = Machine::new(12, 5).seconds(60);
    for (nth, frame) in (1..).zip(&mut frames).skip(20) {
        frame.set_figure(Column::END_REALTIME_NS, Some(EPOCH + (3600 + nth) * SECOND));
    }
    let minutes = Tier::new(Duration::from_secs(60), None);
    write(folder.path(), make!(Options { tiers: vec![minutes] }), &frames);
    let mut recording = Recording::open(folder.path()).expect("a recording");
    let lengths: Vec<u64> =
        walk(&mut recording).records.iter().map(|record| record.entry.length_ns() / SECOND).collect();
    assert_eq!(lengths, [20, 40]);
}

#[test]
fn retention_deletes_the_oldest_closed_segments() {
    let frames = Machine::new(13, 9).seconds(600);
    let bytes_of = |path: &Path| -> u64 {
        let files = std::fs::read_dir(path.join("all")).expect("a folder");
        files.map(|file| file.expect("a file").metadata().expect("there").len()).sum()
    };
    let whole = tempfile::tempdir().expect("a folder");
    write(whole.path(), short_segments(60), &frames);
    let all_bytes = bytes_of(whole.path());

    let by_age = tempfile::tempdir().expect("a folder");
    let keep = Tier::new(Duration::ZERO, Some(Duration::from_secs(150)));
    write(by_age.path(), make!(Options { tiers: vec![keep], ..short_segments(60) }), &frames);
    let mut recording = Recording::open(by_age.path()).expect("a recording");
    let span = recording.span_realtime_ns().expect("it has some");
    assert_eq!(span.1, EPOCH + 600 * SECOND);
    let seconds = (span.1 - span.0) / SECOND;
    assert!((150..150 + 2 * 60).contains(&seconds), "{seconds}");

    let by_bytes = tempfile::tempdir().expect("a folder");
    let most_bytes = Some(all_bytes / 3);
    write(by_bytes.path(), make!(Options { most_bytes, ..short_segments(60) }), &frames);
    let left = bytes_of(by_bytes.path());
    assert!(left <= all_bytes / 3 + all_bytes / 10 && left > all_bytes / 6, "{left} of {all_bytes}");
    let mut recording = Recording::open(by_bytes.path()).expect("a recording");
    assert!(recording.losses().expect("read").is_empty(), "what was deleted is not lost");

    // Nothing is free enough: only the open segment is left, and nothing is written.
    let by_free = tempfile::tempdir().expect("a folder");
    write(by_free.path(), short_segments(60), &frames[..300]);
    let mut writer = Writer::open(
        by_free.path(),
        make!(Options { least_free_bytes: Some(u64::MAX), ..short_segments(60) }),
    )
    .expect("a writer");
    let error = writer.append(&frames[300]).expect_err("there is no room");
    assert_eq!(error.kind(), Kind::Paused);
    assert!(error.to_string().contains("recording pauses"), "{error}");
    assert_eq!((writer.bytes(), bytes_of(by_free.path())), (0, 0));
}

#[test]
fn links_are_not_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let elsewhere = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("all")).expect("a link");
    Writer::open(folder.path(), Options::default()).expect_err("a link is not our directory");
    std::fs::remove_file(folder.path().join("all")).expect("removed");
    std::fs::write(elsewhere.path().join("victim"), "whole").expect("written");
    std::fs::create_dir(folder.path().join("all")).expect("made");
    let link = folder.path().join("all").join("0000000000000000.open");
    std::os::unix::fs::symlink(elsewhere.path().join("victim"), link).expect("a link");
    let mut writer = Writer::open(folder.path(), Options::default());
    if let Ok(writer) = &mut writer {
        let _ = writer.append(&Machine::new(1, 1).second());
    }
    drop(writer);
    assert_eq!(std::fs::read(elsewhere.path().join("victim")).expect("there"), b"whole");
}

#[test]
fn a_frame_without_times_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = Writer::open(folder.path(), Options::default()).expect("a writer");
    assert_eq!(writer.append(&Frame::new()).expect_err("no times").kind(), Kind::Frame);
}

#[test]
fn a_recording_may_be_read_by_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Recording>();
    is_send::<Writer>();
}
