//! What `cpuledger record` and `top --record` say of a recording that others delete while it is written. Any user can run it.

mod recorder;

use std::fs;
use std::process::Stdio;

use cpuledger_recording::Recording;
use recorder::{Recorder, Said, cpuledger, segments};
use rustix::process::Signal;

/// The figures in the last line that was said.
fn seconds_before(words: &str, line: &str) -> f64 {
    let before = line.split(words).next().expect("it is there");
    before.rsplit(' ').next().expect("a number").parse().expect("a number")
}

#[test]
fn a_recording_that_is_deleted_goes_on_and_the_end_says_what_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let books = folder.path().join("books");
    let mut recorder = Recorder::start(&books, &["--source", "procfs", "-d", "0.05", "--min-free", "0"]);
    let recorded = || Recording::open(&books).map_or(0, |mut recording| recording.len());
    recorder.wait_for(|| recorded() >= 3);
    fs::remove_dir_all(&books).expect("it is there");
    let lost = format!("{}/all: deleted or moved while it was written: ", books.display());
    recorder.said.wait_for(&lost);
    recorder.wait_for(|| recorded() >= 3);
    recorder.signal(Signal::INT);
    assert_eq!(recorder.wait(), Some(1), "{}", recorder.said.text());
    recorder.said.wait_for(" were deleted or moved while it was written\n");
    let said = recorder.said.text();
    let [_, event, end] = said.lines().collect::<Vec<_>>()[..] else { panic!("three lines: {said}") };
    let lost_s = seconds_before(" s are lost", event);
    assert!(
        lost_s >= 0.15
            && end.ends_with(&format!("; {lost_s:.3} s were deleted or moved while it was written")),
        "{said}"
    );
    // What is there, and what is not, is what was recorded.
    let mut recording = Recording::open(&books).expect("a recording");
    let (mut there_s, mut next) = (0.0, recording.first());
    while let Some(place) = next {
        there_s += recording.entry(place).expect("it is there").length_ns() as f64 / 1e9;
        next = recording.next(place);
    }
    let all_s = seconds_before(" s, to ", end);
    assert!((there_s + lost_s - all_s).abs() < 0.002, "{there_s} s are there: {said}");
    assert!(segments(&books.join("all"))[0].ends_with(".seg"), "it is closed");
}

#[test]
fn the_end_does_not_say_that_what_was_deleted_can_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let books = folder.path().join("books");
    let mut recorder = Recorder::start(&books, &["--source", "procfs", "-d", "0.05", "--min-free", "0"]);
    recorder.wait_for(|| Recording::open(&books).is_ok_and(|mut recording| !recording.is_empty()));
    // The end comes before the next interval, or just behind it.
    recorder.signal(Signal::STOP);
    fs::remove_dir_all(&books).expect("it is there");
    recorder.signal(Signal::INT);
    recorder.signal(Signal::CONT);
    assert_eq!(recorder.wait(), Some(1));
    recorder.said.wait_for(" were deleted or moved while it was written\n");
    assert!(!recorder.said.text().contains("can be read"), "{}", recorder.said.text());
}

#[test]
fn top_says_that_its_recording_was_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let books = folder.path().join("books");
    let mut top = cpuledger();
    top.args(["top", "-b", "-d", "0.05", "--format", "json", "--source", "procfs", "--record"]).arg(&books);
    let mut top = top.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let said = Said::of(&mut top);
    let recorder = Recorder { child: top, said };
    recorder.wait_for(|| Recording::open(&books).is_ok_and(|mut recording| !recording.is_empty()));
    fs::remove_dir_all(&books).expect("it is there");
    recorder.said.wait_for(" deleted or moved while it was written: ");
    recorder.signal(Signal::TERM);
    recorder.said.wait_for(" s were deleted or moved while it was written\n");
}
