//! A file system that is full: recording pauses, says so, and goes on when there is room. The service goes on in any case. Needs root.

mod recorder;
mod service;

use std::fs;
use std::time::Duration;

use cpuledger_load::scene::alone;
use cpuledger_model::make;
use cpuledger_recording::Recording;
use cpuledger_service::client::Client;
use cpuledger_service::ring::Next;
use cpuledger_service::varlink::Subscribe;
use recorder::{Recorder, Said, Small, intervals, segments};
use rustix::process::Signal;
use service::{Service, TIMEOUT};

#[test]
fn a_full_file_system_pauses_and_goes_on_root() {
    let _alone = alone();
    let Some(small) = Small::mount() else { return };
    let folder = small.path().join("books");
    let mut recorder = Recorder::start(&folder, &["--interval", "0.02", "--min-free", "0"]);
    let recorded = || Recording::open(&folder).map_or(0, |mut recording| recording.len());
    recorder.wait_for(|| recorded() >= 5);
    small.fill();
    recorder.said.wait_for("recording pauses: No space left on device");
    std::thread::sleep(Duration::from_millis(200));
    small.empty();
    recorder.said.wait_for(": recording goes on; ");
    let before = recorded();
    recorder.wait_for(|| recorded() >= before + 5);
    recorder.signal(Signal::INT);
    assert_eq!(recorder.wait(), Some(1), "intervals are missing");
    recorder.said.wait_for(" missing\n");
    let said = recorder.said.text();
    // What the file has of its last page may take a small interval or two.
    let pauses = said.matches("recording pauses").count();
    assert!(pauses <= 3 && pauses == said.matches("recording goes on").count(), "{said}");
    let missing = said.lines().last().and_then(|line| line.split("; ").nth(1)).expect("how many").to_owned();
    let missing: u64 = missing.split(' ').next().expect("a number").parse().expect("a number");
    let recorded = intervals(&folder);
    let mut recording = Recording::open(&folder).expect("a recording");
    let losses = recording.losses().expect("it reads");
    let lost: u64 = losses.iter().map(|loss| loss.intervals).sum();
    assert_eq!((losses.len(), lost), (pauses, missing), "readers know how many: {said}");
    assert_eq!(recording.gaps().expect("it reads").len(), pauses);
    assert!(said.contains(&format!("recorded {} intervals", recorded.len())), "{said}");
}

#[test]
fn what_is_to_stay_free_pauses_it_root() {
    let _alone = alone();
    let Some(small) = Small::mount() else { return };
    let folder = small.path().join("books");
    let options = ["--interval", "0.02", "--min-free", "1MiB", "--duration", "0.2"];
    let mut recorder = Recorder::start(&folder, &options);
    assert_eq!(recorder.wait(), Some(1));
    recorder.said.wait_for(" and 1048576 are to stay so");
    recorder.said.wait_for("recorded 0 intervals, 0.000 s");
}

impl Service {
    /// Its process id, for signals.
    fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }
}

#[test]
fn the_service_records_and_goes_on_when_it_cannot_root() {
    let _alone = alone();
    let Some(small) = Small::mount() else { return };
    let folder = small.path().join("books");
    // There is no directory above it at first: it cannot be opened.
    let missing = small.path().join("missing");
    let text = |directory: &std::path::Path| {
        format!("[record]\nenabled = true\ndirectory = \"{}\"\nmin_free = \"0\"\n", directory.display())
    };
    let mut service = Service::start(&text(&missing.join("books")));
    let said = Said::of(&mut service.child);
    said.wait_for("recording pauses: ");
    fs::create_dir(&missing).expect("a folder");
    said.wait_for("recording goes on");
    let configuration = service.folder.path().join("config.toml");
    fs::write(&configuration, text(&folder)).expect("a file");
    rustix::process::kill_process(service.pid(), Signal::HUP).expect("it lives");
    said.wait_for(&format!("records to {}: intervals of 200 ms for 7 d; at most 2 GiB", folder.display()));
    assert!(segments(&missing.join("books/200ms")).iter().all(|name| name.ends_with(".seg")), "it is closed");

    let mut client = Client::connect(&service.socket(), TIMEOUT).expect("it listens");
    let wanted = make!(Subscribe { interval_ns: Some(200_000_000) });
    let (_, mut reader) = client.subscribe(&wanted).expect("root may");
    let mut bytes = Vec::new();
    // Intervals follow each other whatever the disk does.
    let mut follow = |intervals: u32| {
        for _ in 0..intervals {
            assert_eq!(reader.wait(TIMEOUT).expect("a futex"), Next::Frame);
            let copied = reader.copy(&mut bytes).expect("a frame").expect("it is there");
            assert_eq!(copied.missed, 0);
        }
    };
    follow(3);
    small.fill();
    said.wait_for(&format!("{}/200ms: recording pauses: No space left", folder.display()));
    follow(5);
    small.empty();
    said.wait_for(&format!("{}: recording goes on; ", folder.display()));
    follow(3);
    rustix::process::kill_process(service.pid(), Signal::TERM).expect("it lives");
    said.wait_for("has recorded ");
    assert_eq!(service.child.wait().expect("it ends").code(), Some(0));
    assert!(intervals(&folder).len() >= 6);
    let mut recording = Recording::open(&folder.join("200ms")).expect("a recording");
    let losses = recording.losses().expect("it reads");
    assert!((1..=3).contains(&losses.len()), "{losses:?}");
    // The reader is behind after the file system was filled, so its five intervals may be older than the pause.
    assert!(losses.iter().map(|loss| loss.intervals).sum::<u64>() >= 1, "{losses:?}");
}

#[test]
fn the_service_says_that_its_recording_was_deleted_and_goes_on_root() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let books = folder.path().join("books");
    let text = format!("[record]\nenabled = true\ndirectory = \"{}\"\nmin_free = \"0\"\n", books.display());
    let mut service = Service::start(&text);
    let said = Said::of(&mut service.child);
    let wait_for_record = || {
        let begin = std::time::Instant::now();
        while !Recording::open(&books).is_ok_and(|mut recording| !recording.is_empty()) {
            assert!(begin.elapsed() < Duration::from_secs(60), "{}", said.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait_for_record();
    fs::remove_dir_all(&books).expect("it is there");
    said.wait_for(&format!("{}/200ms: deleted or moved while it was written: ", books.display()));
    wait_for_record();
    rustix::process::kill_process(service.pid(), Signal::TERM).expect("it lives");
    said.wait_for(" s were deleted or moved while it was written\n");
    assert_eq!(service.child.wait().expect("it ends").code(), Some(0));
    assert!(said.text().contains(&format!(" intervals to {}; ", books.display())), "{}", said.text());
}
