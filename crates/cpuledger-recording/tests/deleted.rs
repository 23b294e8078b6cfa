//! What others delete or move while it is written is noticed with the next interval, and recorded anew from there.

mod frames;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cpuledger_model::make;
use cpuledger_recording::{Deleted, Kind, Options, Recording, Tier, Writer};
use frames::{Machine, SECOND, walk};

/// A writer that has written five seconds.
struct Scene {
    folder: tempfile::TempDir,
    machine: Machine,
    writer: Writer,
}

impl Scene {
    fn new(lengths_s: &[u64]) -> Scene {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("books");
        let tiers = lengths_s.iter().map(|length| Tier::new(Duration::from_secs(*length), None));
        let options = make!(Options { tiers: tiers.collect() });
        let mut scene = Scene {
            writer: Writer::open(&path, options).expect("a writer"),
            machine: Machine::new(5, 3),
            folder,
        };
        scene.write(5);
        scene
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("books")
    }

    fn write(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.writer.append(&self.machine.second()).expect("written");
        }
    }

    /// What was deleted, with its seconds.
    fn deleted(&mut self) -> Vec<(PathBuf, u64)> {
        let all = self.writer.take_deleted().into_iter();
        all.map(|Deleted { path, length_ns, .. }| (path, length_ns / SECOND)).collect()
    }
}

/// The seconds that a recording has, each with its number.
fn seconds(path: &Path) -> Vec<(u64, u64)> {
    let mut recording = Recording::open(path).expect("a recording");
    let records = walk(&mut recording).records;
    records.iter().map(|record| (record.entry.start_ns / SECOND, record.entry.sequence)).collect()
}

#[test]
fn a_segment_that_is_deleted_is_followed_by_another() {
    let mut scene = Scene::new(&[0]);
    let open = scene.path().join("all/0000000000000000.open");
    fs::remove_file(&open).expect("it is there");
    scene.write(3);
    assert_eq!(scene.deleted(), [(open.clone(), 5)]);
    assert_eq!(seconds(&scene.path()), [(5, 5), (6, 6), (7, 7)]);
    // Another file in its place is not it.
    let open = scene.path().join("all/0000000000000005.open");
    fs::rename(&open, scene.folder.path().join("elsewhere")).expect("it is there");
    fs::write(&open, "").expect("a file");
    scene.write(1);
    assert_eq!(scene.deleted(), [(open, 3)]);
    scene.writer.close().expect("closed");
    assert_eq!(scene.deleted(), []);
    assert_eq!(seconds(&scene.path()), [(8, 8)]);
}

#[test]
fn directories_that_are_deleted_or_moved_are_made_again() {
    type Act = fn(&Path, &Path);
    let acts: [(Act, u64); 4] = [
        (|books, _| fs::remove_dir_all(books.join("all")).expect("it is there"), 0),
        (|books, _| fs::remove_dir_all(books).expect("it is there"), 0),
        (|books, elsewhere| fs::rename(books, elsewhere).expect("it is there"), 5),
        (|books, elsewhere| fs::rename(books.join("all"), elsewhere).expect("it is there"), 5),
    ];
    for (place, (act, elsewhere_s)) in acts.into_iter().enumerate() {
        let mut scene = Scene::new(&[0]);
        let (books, elsewhere) = (scene.path(), scene.folder.path().join("elsewhere"));
        act(&books, &elsewhere);
        scene.write(2);
        assert_eq!(scene.deleted(), [(books.join("all"), 5)], "{place}");
        assert_eq!(seconds(&books), [(5, 5), (6, 6)], "{place}");
        if elsewhere_s > 0 {
            assert_eq!(seconds(&elsewhere).len() as u64, elsewhere_s, "it can be read there: {place}");
            let mut moved = Recording::open(&elsewhere).expect("a recording");
            assert!(!moved.is_being_written().expect("read"), "{place}");
            assert_eq!(moved.losses().expect("read"), []);
        }
        // It has one writer, as before.
        let error = Writer::open(&books, Options::default()).expect_err("it is in use");
        assert_eq!(error.kind(), Kind::InUse);
        scene.writer.close().expect("closed");
        assert_eq!(scene.deleted(), [], "{place}");
    }
}

#[test]
fn what_is_deleted_last_is_noticed_at_the_end_and_not_made_again() {
    let mut scene = Scene::new(&[0]);
    scene.writer.close().expect("closed");
    scene.write(2);
    fs::remove_dir_all(scene.path()).expect("it is there");
    scene.writer.close().expect("nothing is to be closed");
    let all = scene.path().join("all");
    // Both segments, of which one was closed.
    assert_eq!(scene.deleted(), [(all, 7)]);
    drop(scene.writer);
    assert!(!scene.folder.path().join("books").exists());
}

#[test]
fn without_the_directory_above_it_pauses() {
    let mut scene = Scene::new(&[0]);
    let above = scene.folder.path().to_owned();
    fs::remove_dir_all(&above).expect("it is there");
    let frame = scene.machine.second();
    assert_eq!(scene.writer.append(&frame).expect_err("it cannot be made").kind(), Kind::Io);
    assert_eq!(scene.deleted(), [(scene.path().join("all"), 5)]);
    let frame = scene.machine.second();
    scene.writer.append(&frame).expect_err("it cannot be made");
    fs::create_dir(&above).expect("a folder");
    scene.write(2);
    assert_eq!(scene.deleted(), []);
    // Two intervals are missing, and so are their numbers.
    assert_eq!(seconds(&scene.path()), [(7, 7), (8, 8)]);
}

#[test]
fn what_is_merged_is_not_lost_with_a_directory() {
    let mut scene = Scene::new(&[1, 60]);
    scene.write(57);
    fs::remove_dir_all(scene.path()).expect("it is there");
    scene.write(60);
    scene.writer.close().expect("closed");
    let books = scene.path();
    assert_eq!(scene.deleted(), [(books.join("1s"), 62), (books.join("1m"), 60)]);
    // The second minute has all of its seconds, of which two were in the directory that was deleted.
    let mut minutes = Recording::open(&books.join("1m")).expect("a recording");
    let minutes: Vec<(u64, u64)> = walk(&mut minutes)
        .records
        .iter()
        .map(|record| (record.entry.start_ns / SECOND, record.entry.end_ns / SECOND))
        .collect();
    assert_eq!(minutes, [(60, 120), (120, 122)]);
    assert_eq!(seconds(&books.join("1s")).len(), 60);
}

#[test]
fn a_lock_that_is_deleted_is_taken_again() {
    let mut scene = Scene::new(&[0]);
    fs::remove_file(scene.path().join("lock")).expect("it is there");
    scene.write(1);
    let error = Writer::open(&scene.path(), Options::default()).expect_err("it is in use");
    assert_eq!((error.kind(), scene.deleted()), (Kind::InUse, Vec::new()));
}
