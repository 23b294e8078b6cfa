//! A file system that is full: recording pauses, says so, and goes on when there is room.

mod frames;

use std::fs;
use std::path::Path;
use std::time::Duration;

use cpuledger_load::not_run;
use cpuledger_model::make;
use cpuledger_recording::{Kind, Options, Recording, Tier, Writer};
use frames::{Machine, frames_of};
use rustix::mount::{MountFlags, UnmountFlags};

/// A small file system, until it is dropped.
struct Small(tempfile::TempDir);

impl Small {
    /// `None`: this process may not mount.
    fn mount() -> Option<Small> {
        let folder = tempfile::tempdir().expect("a folder");
        let flags = MountFlags::NODEV | MountFlags::NOSUID;
        match rustix::mount::mount("none", folder.path(), "tmpfs", flags, Some(c"size=256k")) {
            Ok(()) => Some(Small(folder)),
            Err(error) => {
                not_run(&format!("it may not mount a tmpfs: {error}"));
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.path(), UnmountFlags::DETACH);
    }
}

#[test]
fn a_full_file_system_pauses_the_recording_root() {
    let Some(small) = Small::mount() else { return };
    let filler = small.path().join("filler");
    let folder = small.path().join("recording");
    let mut writer = Writer::open(&folder, Options::default()).expect("a writer");
    let mut machine = Machine::new(37, 40);
    let (mut kept, mut refused) = (Vec::new(), 0);
    let mut add = |writer: &mut Writer, kept: &mut Vec<_>, refused: &mut u64| {
        let frame = machine.second();
        match writer.append(&frame) {
            Ok(()) => kept.push(frame),
            Err(error) => {
                assert_eq!(error.kind(), Kind::Paused, "{error}");
                assert!(error.to_string().contains("recording pauses: No space left"), "{error}");
                *refused += 1;
            }
        }
    };
    for _ in 0..20 {
        add(&mut writer, &mut kept, &mut refused);
    }
    assert_eq!(refused, 0);
    // As full as it gets.
    let left = writer.free_bytes().expect("it says so");
    fs::write(&filler, vec![1; usize::try_from(left).expect("it is small")]).expect("it fits");
    while refused < 30 {
        add(&mut writer, &mut kept, &mut refused);
    }
    let mut recording = Recording::open(&folder).expect("a recording");
    assert!(frames_of(&mut recording) == kept);
    assert!(recording.losses().expect("read").is_empty(), "nothing is torn");
    fs::remove_file(&filler).expect("removed");
    for _ in 0..20 {
        add(&mut writer, &mut kept, &mut refused);
    }
    assert_eq!(refused, 30, "it goes on at once");
    writer.close().expect("closed");
    let mut recording = Recording::open(&folder).expect("a recording");
    assert!(frames_of(&mut recording) == kept);
    let losses = recording.losses().expect("read");
    assert_eq!(losses.iter().map(|loss| loss.intervals).sum::<u64>(), 30, "{losses:?}");
    assert!(losses[0].to_string().contains("not written"), "{}", losses[0]);
}

/// A minute, or what the length is, that cannot be written is lost as a whole, and not as its last interval.
#[test]
fn what_was_merged_and_has_no_room_is_said_with_its_length_root() {
    let Some(small) = Small::mount() else { return };
    let tiers = vec![Tier::new(Duration::from_secs(10), None)];
    let options = make!(Options { tiers });
    let mut writer = Writer::open(&small.path().join("recording"), options).expect("a writer");
    let left = writer.free_bytes().expect("it says so");
    fs::write(small.path().join("filler"), vec![1; usize::try_from(left).expect("it is small")])
        .expect("it fits");
    let (mut machine, mut refused) = (Machine::new(37, 40), 0);
    for _ in 0..35 {
        refused += u64::from(writer.append(&machine.second()).is_err());
    }
    let lost = writer.take_lost();
    let [lost] = &lost[..] else { panic!("{lost:?}") };
    assert!((3..=4).contains(&refused), "{refused}");
    assert!((21..=35).contains(&lost.intervals), "{lost:?}");
    assert_eq!(lost.length_ns, lost.intervals * 1_000_000_000);
    assert!(lost.to_string().contains("/10s: could not be written: "), "{lost}");
    assert!(writer.take_lost().is_empty());
    // What is left of it.
    assert!(writer.close().is_err());
    assert_eq!(writer.take_lost().iter().map(|more| more.intervals).sum::<u64>() + lost.intervals, 35);
}

#[test]
fn no_room_for_the_index_leaves_the_records_root() {
    let Some(small) = Small::mount() else { return };
    let folder = small.path().join("recording");
    let mut writer = Writer::open(&folder, Options::default()).expect("a writer");
    let mut machine = Machine::new(43, 40);
    let mut kept = Vec::new();
    loop {
        let frame = machine.second();
        if writer.append(&frame).is_err() {
            break;
        }
        kept.push(frame);
    }
    let error = writer.close().expect_err("there is no room");
    assert_eq!(error.kind(), Kind::Paused);
    let mut recording = Recording::open(&folder).expect("a recording");
    assert!(frames_of(&mut recording) == kept, "{} frames", kept.len());
    assert!(folder.join("all/0000000000000000.cut").exists());
}

#[test]
fn with_room_for_the_index_alone_a_segment_is_closed_without_sums_root() {
    let Some(small) = Small::mount() else { return };
    let folder = small.path().join("recording");
    let mut writer = Writer::open(&folder, Options::default()).expect("a writer");
    let mut machine = Machine::new(53, 3000);
    writer.append(&machine.second()).expect("there is room");
    let left = usize::try_from(writer.free_bytes().expect("it says so")).expect("it is small");
    fs::write(small.path().join("filler"), vec![1; left - (8 << 10)]).expect("it fits");
    writer.close().expect("the index has room");
    assert!(folder.join("all/0000000000000000.seg").exists());
    let mut recording = Recording::open(&folder).expect("a recording");
    let first = recording.first().expect("an interval");
    assert_eq!((recording.len(), recording.sums(&[first])), (1, None));
    assert!(recording.losses().expect("read").is_empty());
}

#[test]
fn old_segments_make_room_root() {
    let Some(small) = Small::mount() else { return };
    let folder = small.path().join("recording");
    let options = make!(Options { segment_bytes: 16 << 10, least_free_bytes: Some(128 << 10) });
    let mut writer = Writer::open(&folder, options).expect("a writer");
    let mut machine = Machine::new(47, 40);
    for _ in 0..2000 {
        writer.append(&machine.second()).expect("there is room");
        assert!(writer.free_bytes().expect("it says so") > 96 << 10);
    }
    writer.close().expect("closed");
    let mut recording = Recording::open(&folder).expect("a recording");
    assert!(recording.losses().expect("read").is_empty());
    let (begin, end) = recording.span_realtime_ns().expect("it has some");
    assert_eq!(end, frames::EPOCH + machine.now_ns);
    assert!(begin > frames::EPOCH && recording.len() > 60, "the oldest are gone");
}
